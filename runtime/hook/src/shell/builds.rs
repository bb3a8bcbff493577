//! Build tools, and `gh`: what they are told to do is read, what the project's own code then
//! does is not.

use super::Word;
use super::command::Command;
use super::options::{Role, parse};
use super::reach::{guess, is_stream, paths, place, values};
use super::reader::Unread;
use super::table::{Operands, Program};

/// Build tools: what they run is the project's code, but not what stands in their words.
pub(super) fn build(base: &mut Command, row: &Program, args: &[Word]) -> Result<(), Unread> {
    let name = base.program.clone();
    let mut args = args;
    if name == "cargo"
        && args
            .first()
            .is_some_and(|word| word.text.starts_with('+') && !word.dynamic)
    {
        args = args.get(1..).unwrap_or_default();
    }
    // What stands behind is for the program that it starts.
    let end = args
        .iter()
        .position(|word| word.text == "--")
        .unwrap_or(args.len());
    let (own, behind) = args.split_at(end);
    let parsed = parse(&name, row.options, row.style, false, own)?;
    values(base, &parsed)?;
    for (option, role, value) in &parsed.values {
        let input = *role == Role::Read && matches!(value.text.as_str(), "-" | "/dev/stdin");
        if input
            || value.text.starts_with("/proc/")
            || value.text.starts_with("/dev/") && !is_stream(&value.text)
        {
            return Err(format!("`{name}` takes its commands from elsewhere"));
        }
        if value.text.contains("://")
            || (value.dynamic && *role == Role::Read)
            || (option == "C" && value.dynamic)
        {
            return Err(format!("`{name}` takes its commands from elsewhere"));
        }
    }
    // Where a `Makefile` lies is seen from the directory that `-C` names.
    let valued = |names: [&str; 3]| {
        let mut found = parsed
            .values
            .iter()
            .filter(move |(option, _, _)| names.contains(&option.as_str()));
        found.next_back().map(|(_, _, value)| value.text.as_str())
    };
    if row.operands == Operands::Build {
        let directory = valued(["C", "directory", ""]).unwrap_or_default();
        if let Some(file) = valued(["f", "file", "makefile"]) {
            base.scripts.push(place(directory, file));
        }
        if !directory.is_empty() {
            base.reads.push(directory.to_owned());
        }
    }
    let mut operands = parsed.operands.iter();
    if row.operands == Operands::Verb {
        let verb = operands.next().map_or("", |word| word.text.as_str());
        if !verb.is_empty()
            && !row
                .verbs
                .split_ascii_whitespace()
                .any(|known| known == verb)
        {
            return Err(format!("`{name} {verb}` is not known"));
        }
        let installs = matches!(name.as_str(), "npm" | "pnpm" | "yarn" | "pip" | "pip3")
            && matches!(verb, "install" | "i" | "ci");
        if installs
            && operands
                .clone()
                .any(|word| word.dynamic || !(word.text == "." || word.text.starts_with(".[")))
        {
            return Err(format!("`{name}` installs what runs code of its own"));
        }
    } else if operands
        .clone()
        .any(|word| word.text.contains('=') || word.dynamic)
    {
        return Err(format!("`{name}` is told what to run in its words"));
    }
    // A version behind a name is fetched, and run.
    if name == "go"
        && operands
            .clone()
            .any(|word| word.text.contains('@') || word.dynamic)
    {
        return Err("`go` fetches and runs what is not known".to_owned());
    }
    let words: Vec<Word> = operands.map(|word| (*word).clone()).collect();
    let verb = parsed
        .operands
        .first()
        .map_or("", |word| word.text.as_str());
    if row.operands == Operands::Verb {
        match (name.as_str(), verb) {
            ("cargo", "new" | "init") => {
                let words: Vec<&Word> = words.iter().collect();
                base.writes.extend(paths(&name, &words)?);
            }
            ("npm" | "pnpm" | "yarn", "pack") if words.is_empty() => {
                base.deep = true;
                base.reads.push(".".to_owned());
            }
            // `owner/name` and `host:owner/name` are fetched from there.
            ("npm" | "pnpm" | "yarn", "pack" | "view" | "info" | "explain")
                if words.iter().any(|word| {
                    let package = word.text.strip_prefix('@').unwrap_or(&word.text);
                    word.dynamic
                        || word.text.contains(':')
                        || package.contains('/') && !word.text.starts_with(['@', '.'])
                }) =>
            {
                return Err(format!("`{name} {verb}` fetches from where its words say"));
            }
            _ => {}
        }
    }
    guess(base, &words);
    guess(base, behind);
    if name == "go" && parsed.has(&["w", "u"]) && base.words.iter().any(|word| word == "env") {
        return Err("`go env` changes what other commands run".to_owned());
    }
    Ok(())
}

/// What `gh` only shows comes from where the project lies; the rest is sent there.
pub(super) fn github(base: &mut Command, args: &[Word]) {
    let verbs: Vec<&str> = args.iter().take(2).map(|word| word.text.as_str()).collect();
    let shows = matches!(
        verbs.as_slice(),
        ["pr", "list" | "view" | "status" | "checks" | "diff"]
            | ["issue", "list" | "view" | "status"]
            | ["run", "list" | "view" | "watch"]
            | ["repo", "view"]
            | ["release", "list" | "view"]
            | ["auth", "status"]
            | ["--version", ..]
    );
    let plain = |word: &Word| {
        !word.dynamic
            && word.text.matches('/').count() < 2
            && !matches!(word.text.as_str(), "-w" | "--web" | "-t" | "--show-token")
    };
    if !(shows && args.iter().all(plain)) {
        base.connects = true;
        base.sends = true;
        base.destinations.push("github.com".to_owned());
    }
}
