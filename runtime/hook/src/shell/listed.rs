//! Programs that print the names of files, and programs that read the files whose names
//! another prints. Knows nothing of how a script is read.

use super::Word;
use super::command::Command;
use super::options::Parsed;
use super::reader::Unread;
use super::table::Operands;
use crate::disk::Below;

/// Whether a program looks at names, sizes and dates only.
pub fn names_only(name: &str) -> bool {
    matches!(
        name,
        "ls" | "stat"
            | "du"
            | "df"
            | "find"
            | "gfind"
            | "tree"
            | "fd"
            | "fdfind"
            | "realpath"
            | "test"
            | "["
            | "cd"
            | "pushd"
            | "dirname"
            | "basename"
            | "readlink"
            | "exa"
            | "eza"
            | "lsd"
    )
}

/// Everything below a folder.
fn all() -> Below {
    Below {
        hidden: true,
        ignored: true,
        own: true,
        ..Below::default()
    }
}

/// Nothing below a folder.
pub(super) fn nothing() -> Below {
    Below {
        depth: Some(0),
        ..Below::default()
    }
}

fn valued(parsed: &Parsed<'_>, names: &[&str]) -> Vec<String> {
    let found = parsed
        .values
        .iter()
        .filter(|(option, _, _)| names.contains(&option.as_str()));
    found
        .map(|(_, _, value)| value.text.to_ascii_lowercase())
        .collect()
}

/// What a program of the table lists, and whether it reads files whose names it is handed.
pub(super) fn described(command: &mut Command, operands: Operands, parsed: &Parsed<'_>, fed: bool) {
    let name = command.program.clone();
    command.lists = match name.as_str() {
        "ls" | "exa" | "eza" | "lsd" | "tree" => Some(Below {
            hidden: name != "ls" || parsed.has(&["a", "A", "all", "almost-all", "f"]),
            depth: (name != "tree" && !parsed.has(&["R", "recursive", "T", "tree"])).then_some(1),
            ..all()
        }),
        "fd" | "fdfind" => {
            let more = parsed.has(&["u"]);
            let endings = valued(parsed, &["e", "extension"]);
            Some(Below {
                hidden: more || parsed.has(&["H", "hidden"]),
                ignored: more || parsed.has(&["I", "no-ignore"]),
                include: endings.iter().map(|ending| format!("*.{ending}")).collect(),
                depth: valued(parsed, &["d", "max-depth"])
                    .pop()
                    .and_then(|depth| depth.parse().ok()),
                ..all()
            })
        }
        // With these it prints the names of files that it reads itself.
        _ if operands == Operands::Pattern
            && parsed.has(&[
                "l",
                "L",
                "files-with-matches",
                "files-without-match",
                "files",
            ]) =>
        {
            Some(command.below.clone().unwrap_or_else(nothing))
        }
        _ => None,
    };
    if operands == Operands::Text || names_only(&name) {
        command.listed = parsed.texts();
    }
    let reads = matches!(
        operands,
        Operands::Reads | Operands::Pattern | Operands::InOut | Operands::Copies
    );
    if reads && !names_only(&name) {
        let words = || parsed.operands.iter().copied();
        let open = words().any(|word| word.dynamic && command.reads.contains(&word.text));
        command.fed = fed;
        command.named_elsewhere = fed || open;
    }
}

/// What `find` lists, as far as its tests of names say it.
pub(super) fn found(args: &[Word]) -> Below {
    let mut below = all();
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    let pairs = || texts.windows(2).enumerate();
    below.depth = pairs().find_map(|(_, pair)| match pair {
        ["-maxdepth", depth] => depth.parse().ok(),
        _ => None,
    });
    let negated = |at: usize| {
        at.checked_sub(1)
            .and_then(|at| texts.get(at))
            .is_some_and(|before| matches!(*before, "!" | "-not"))
    };
    let negates_group = pairs().any(|(_, pair)| matches!(pair, ["!" | "-not", "("]));
    let either = |text: &str| matches!(text, "-o" | "-or" | ",");
    if negates_group || args.iter().any(|word| word.dynamic) {
        return below;
    }
    let alternatives = texts.iter().any(|text| either(text));
    let mut start = 0;
    let mut include = Some(Vec::new());
    for part in texts.split(|text| either(text)) {
        let mut names = Vec::new();
        for (at, pair) in part.windows(2).enumerate() {
            let ["-name" | "-iname", name] = pair else {
                continue;
            };
            if !negated(start + at) {
                names.push(name.to_ascii_lowercase());
            } else if !alternatives {
                below.exclude.push(name.to_ascii_lowercase());
            }
        }
        start += part.len() + 1;
        if part.contains(&"-prune") {
            continue;
        }
        include = include.filter(|_| !names.is_empty()).map(|mut all| {
            all.extend(names);
            all
        });
    }
    below.include = include.unwrap_or_default();
    if !alternatives {
        let folders = pairs().filter_map(|(at, pair)| match pair {
            ["-path" | "-ipath" | "-wholename", path] if negated(at) => path.strip_suffix("/*"),
            _ => None,
        });
        let folders = folders.filter_map(|path| path.rsplit('/').next());
        let plain = folders.filter(|name| !name.is_empty() && !name.contains(['*', '?', '[']));
        below.exclude.extend(plain.map(str::to_ascii_lowercase));
    }
    below
}

/// The words of a here string or here document that `xargs` reads.
pub(super) fn handed(input: Option<&Word>) -> Vec<String> {
    let words = input.map(|word| word.text.split_whitespace());
    words.into_iter().flatten().map(str::to_owned).collect()
}

/// Where a program reads files whose names come from elsewhere, whatever is listed beside it
/// counts as read.
pub(super) fn join(commands: &mut [Command]) -> Result<(), Unread> {
    let Some(reader) = commands.iter().find(|command| command.named_elsewhere) else {
        return Ok(());
    };
    let name = reader.program.clone();
    let fed = commands
        .iter()
        .any(|command| command.named_elsewhere && command.fed);
    let mut told = false;
    for command in commands.iter_mut() {
        if !command.handed {
            continue;
        }
        told |= !command.listed.is_empty() || command.lists.is_some();
        command.deep |= command.lists.is_some() || !command.listed.is_empty();
        if command.lists.is_some() {
            command.below = command.lists.take();
        }
        let words = std::mem::take(&mut command.listed);
        let words = words.iter().flat_map(|text| text.split_whitespace());
        command.reads.extend(words.map(str::to_owned));
    }
    if fed && !told {
        return Err(format!("which files `{name}` reads is not known"));
    }
    Ok(())
}
