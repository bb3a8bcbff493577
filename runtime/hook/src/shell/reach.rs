//! What a command reaches, as far as its words say: hosts, and files that it reads and
//! changes.

use super::Word;
use super::command::Command;
use super::options::{Parsed, Role};
use super::reader::Unread;
use super::table::{NETWORK, Operands};
use bouncer_reader::address;

/// Whether a text is no more than the name of a file.
fn is_file_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-/~".contains(c))
}

/// A path seen from a directory.
pub(super) fn place(directory: &str, path: &str) -> String {
    if directory.is_empty() || path.starts_with(['/', '~']) {
        path.to_owned()
    } else {
        format!("{}/{path}", directory.trim_end_matches('/'))
    }
}

/// The files that words name, if they can be told. Patterns among them are looked up on the
/// disk later.
pub(super) fn paths(program: &str, words: &[&Word]) -> Result<Vec<String>, Unread> {
    // In some shells these stand for programs and for other users' homes.
    let odd = |word: &&Word| word.pattern && word.text.starts_with(['=', '~']);
    if words.iter().any(|word| word.dynamic || odd(word)) {
        return Err(format!(
            "which files `{program}` changes is put together when it runs"
        ));
    }
    let kept = words.iter().filter(|word| !is_stream(&word.text));
    Ok(kept.map(|word| word.text.clone()).collect())
}

/// Whether a path is no file: what it takes is thrown away, or shown.
pub(super) fn is_stream(path: &str) -> bool {
    matches!(
        path,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty"
    ) || path
        .strip_prefix("/dev/fd/")
        .is_some_and(|fd| !fd.is_empty() && fd.chars().all(|c| c.is_ascii_digit()))
}

/// The files that the values of options name.
pub(super) fn values(command: &mut Command, parsed: &Parsed<'_>) -> Result<(), Unread> {
    for (_, role, value) in &parsed.values {
        match role {
            Role::Read => command.reads.push(value.text.clone()),
            Role::Run => command.runs.push(value.text.clone()),
            Role::Write => command.writes.extend(paths(&command.program, &[value])?),
            _ => {}
        }
    }
    Ok(())
}

/// The last part of a path; `None` where it does not say what it is called.
fn last(path: &str) -> Option<&str> {
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    (!last.is_empty() && last != "." && last != ".." && !last.starts_with('~')).then_some(last)
}

/// The files that a program of the table reads and changes.
pub(super) fn files(
    command: &mut Command,
    operands: Operands,
    parsed: &Parsed<'_>,
) -> Result<(), Unread> {
    let name = command.program.clone();
    let words = parsed.operands.as_slice();
    // Pagers take commands of theirs behind a plus.
    if matches!(name.as_str(), "less" | "more" | "most")
        && words.iter().any(|word| word.text.starts_with('+'))
    {
        return Err(format!("`{name}` may run commands of its own"));
    }
    // Modules of these languages are other files.
    let loads = ["import", "include", "load"];
    if matches!(name.as_str(), "jq" | "jaq" | "gojq" | "yq")
        && words.iter().any(|word| {
            loads.iter().any(|part| word.text.contains(part)) && !is_file_name(&word.text)
        })
    {
        return Err(format!("`{name}` may read files of its own"));
    }
    // Compilers' tools take more words from a file that is named so.
    if operands == Operands::Reads {
        let files = words.iter().filter_map(|word| word.text.strip_prefix('@'));
        command.reads.extend(files.map(str::to_owned));
    }
    if matches!(operands, Operands::Reads | Operands::Pattern) {
        // One table has the options of many programs. What is a value to one of them is a
        // file to another, so it is taken for both. One character is a separator.
        let pattern = |option: &str| {
            matches!(
                option,
                "include" | "exclude" | "exclude-dir" | "glob" | "iglob"
            )
        };
        let values = parsed.values.iter().filter(|(option, role, value)| {
            *role == Role::Text
                && !pattern(option)
                && (value.text.chars().count() > 1 || value.text == "~")
        });
        command
            .reads
            .extend(values.map(|(_, _, value)| value.text.clone()));
    }
    match operands {
        Operands::Reads => command
            .reads
            .extend(words.iter().map(|word| word.text.clone())),
        Operands::Pattern => {
            let given = parsed.values.iter().any(|(option, role, _)| {
                *role == Role::First || (matches!(option.as_str(), "f" | "file") && name != "jq")
            });
            let skip = usize::from(!given && !parsed.has(&["files"]));
            let files = words.get(skip..).unwrap_or_default();
            command
                .reads
                .extend(files.iter().map(|word| word.text.clone()));
            let recursive = ["r", "R", "recursive", "dereference-recursive"];
            if files.is_empty() && (!command.piped || parsed.has(&recursive)) {
                command.reads.push(".".to_owned());
            }
        }
        Operands::Writes => {
            let written = paths(&name, words)?;
            // What is unpacked has the name without its ending.
            let stems = written.iter().filter_map(|path| {
                let (stem, ending) = path.rsplit_once('.')?;
                matches!(
                    ending,
                    "gz" | "tgz" | "bz2" | "tbz2" | "xz" | "txz" | "lzma" | "zst" | "Z" | "z"
                )
                .then(|| stem.to_owned())
            });
            let stems: Vec<String> = stems.collect();
            command.writes.extend(written);
            command.writes.extend(stems);
        }
        Operands::InOut => {
            if let Some((first, rest)) = words.split_first() {
                command.reads.push(first.text.clone());
                command.writes.extend(paths(&name, rest)?);
            }
        }
        Operands::Copies | Operands::Moves => copies(command, operands, parsed)?,
        _ => {}
    }
    Ok(())
}

fn texts(words: &[&Word]) -> Vec<String> {
    words.iter().map(|word| word.text.clone()).collect()
}

/// `cp`, `mv` and the like: where the directory is the last operand, or an option's value,
/// its files of the same names are written.
fn copies(command: &mut Command, operands: Operands, parsed: &Parsed<'_>) -> Result<(), Unread> {
    let name = command.program.clone();
    let mut words = parsed.operands.as_slice();
    let target = parsed
        .values
        .iter()
        .rev()
        .find(|(_, role, _)| *role == Role::Target)
        .map(|(_, _, word)| word);
    let linked = parsed.has(&[
        "s",
        "l",
        "symbolic-link",
        "link",
        "symbolic",
        "d",
        "directory",
    ]);
    let moved = operands == Operands::Moves
        || linked && name != "cp"
        || (name == "cp" && parsed.has(&["s", "l", "symbolic-link", "link"]));
    let to = match (target, words.split_last()) {
        (Some(target), _) => target,
        (None, Some((to, from))) => {
            words = from;
            to
        }
        (None, None) => return Ok(()),
    };
    let to = match paths(&name, &[to])?.pop() {
        Some(to) => to,
        None if moved => String::new(),
        None => return Ok(()),
    };
    if operands == Operands::Moves {
        command.replaced = match name.as_str() {
            "ln" if parsed.has(&["f", "force"]) => Some((texts(words), to.clone())),
            "mv" => Some((texts(words), to.clone())),
            _ => None,
        };
    }
    for word in words {
        if moved {
            command.writes.extend(paths(&name, &[word])?);
        } else {
            command.reads.push(word.text.clone());
        }
        if word.dynamic || moved && word.pattern && word.text.starts_with(['=', '~']) {
            return Err(format!(
                "which files `{name}` changes is put together when it runs"
            ));
        }
        let Some(last) = last(&word.text).filter(|_| moved || !word.text.ends_with('/')) else {
            return Err(format!("`{name}` takes whatever lies in a directory"));
        };
        if word.pattern {
            command.spread.push((word.text.clone(), to.clone()));
        } else {
            command.writes.push(place(&to, last));
        }
    }
    command.writes.push(to);
    Ok(())
}

/// A destination that cannot be told for certain. No list of hosts has it. The text stands
/// there by itself as well, so that it is found in what was read before.
fn unclear(text: &str) -> [String; 2] {
    [format!("(unclear) {text}"), text.to_owned()]
}

/// The one plain host of an address, or the whole as unclear.
fn host(word: &Word, out: &mut Vec<String>) {
    let text = word.text.as_str();
    let mut found = String::new();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bracketed = authority.starts_with("[:") && authority.contains(']');
    let scheme = text
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    let plain = ["http", "https", "ftp", "git", "ws", "wss"];
    let odd = scheme.is_some_and(|scheme| !plain.contains(&scheme.as_str()))
        || authority.contains(['$', '{', '}', ',', '*', '…'])
        || (authority.contains(['[', ']']) && !bracketed)
        || text.contains(char::is_whitespace)
        // Some have taken what stands behind for the host.
        || (text.contains('@') && !rest.get(authority.len()..).is_some_and(|behind| behind.starts_with('/')));
    match address::host(text, &mut found) {
        // Only the path may be put together when it runs.
        Ok(()) if !(found.is_empty() || odd || word.open && !word.text.starts_with("http")) => {
            out.push(found);
        }
        _ => out.extend(unclear(text)),
    }
}

/// The host of `[user@]host[:path]`, as programs around ssh have it.
fn login(text: &str, out: &mut Vec<String>) {
    let head = text.split(':').next().unwrap_or_default();
    let (user, name) = head.split_once('@').unwrap_or(("", head));
    let plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let mut found = String::new();
    if plain(user) && plain(name) && address::host(name, &mut found).is_ok() && !found.is_empty() {
        out.push(found);
    } else {
        out.extend(unclear(text));
    }
}

/// A repository of git that may lie elsewhere.
pub(super) fn remote(command: &mut Command, word: &Word) -> Result<(), Unread> {
    let text = word.text.as_str();
    if text.contains("::") {
        return Err(format!("`{text}` can start programs"));
    }
    if word.dynamic || word.pattern {
        command.connects = true;
        command.destinations.extend(unclear(text));
    } else if text.contains("://") {
        command.connects = true;
        if let Some(rest) = text.strip_prefix("ssh://") {
            login(
                rest.split('/').next().unwrap_or_default(),
                &mut command.destinations,
            );
        } else {
            host(word, &mut command.destinations);
        }
    } else if text.contains(':') {
        command.connects = true;
        login(text, &mut command.destinations);
    } else if text.contains('/') {
        command.reads.push(text.to_owned());
    }
    Ok(())
}

/// Where `curl`, `wget`, `ping` and the like go: every operand is a destination.
pub(super) fn hosts(command: &mut Command, parsed: &Parsed<'_>) -> Result<(), Unread> {
    let name = command.program.clone();
    command.connects = true;
    let fetches = matches!(name.as_str(), "curl" | "wget");
    command.sends |= matches!(name.as_str(), "nc" | "ncat" | "netcat" | "telnet");
    for (option, role, value) in &parsed.values {
        let text = value.text.as_str();
        match role {
            Role::Host => host(value, &mut command.destinations),
            Role::Data
                if matches!(option.as_str(), "w" | "write-out")
                    && (value.dynamic || text.contains("%output")) =>
            {
                return Err("`curl -w` may write a file".to_owned());
            }
            Role::Data => {
                let (_, file) = match option.as_str() {
                    "H" | "header" if !text.starts_with('@') => ("", ""),
                    "b" | "cookie" if !text.contains('=') => ("", text),
                    _ => text.split_once(['@', '<']).unwrap_or(("", "")),
                };
                if !file.is_empty() && file != "-" {
                    let file = file.split(';').next().unwrap_or_default();
                    command.reads.push(file.to_owned());
                }
            }
            _ => {}
        }
        if fetches && matches!(option.as_str(), "P" | "directory-prefix") {
            command.writes.extend(paths(&name, &[value])?);
        }
        let plain_method =
            matches!(option.as_str(), "X" | "request" | "method") && matches!(text, "GET" | "HEAD");
        let says = matches!(
            option.as_str(),
            "d" | "F" | "T" | "X" | "H" | "b" | "u" | "e" | "A" | "E"
        ) && name == "curl"
            || [
                "data",
                "form",
                "json",
                "upload",
                "post",
                "body",
                "request",
                "method",
                "header",
                "cookie",
                "user",
                "url-query",
                "referer",
            ]
            .iter()
            .any(|part| option.starts_with(part) && option.len() > 1);
        let harmless = matches!(option.as_str(), "H" | "header" | "A" | "user-agent")
            && !value.dynamic
            && !text.starts_with('@');
        command.sends |= says && !plain_method && !harmless;
    }
    // It makes names of files out of patterns of its own.
    let patterns = parsed
        .operands
        .iter()
        .any(|word| word.text.contains(['{', '[']))
        && !command.writes.is_empty();
    let marks = parsed
        .values
        .iter()
        .any(|(_, role, value)| *role == Role::Write && value.text.contains('#'));
    if patterns || marks {
        return Err(format!("what `{name}` writes is put together when it runs"));
    }
    let mut numbers = 0;
    for word in &parsed.operands {
        let text = word.text.as_str();
        let port = !fetches && !word.dynamic && text.parse::<u16>().is_ok();
        let server = name == "dig" && text.starts_with('@');
        let kind = name == "dig"
            && (text.starts_with('+')
                || matches!(text, "A" | "AAAA" | "MX" | "TXT" | "NS" | "CNAME" | "SOA"));
        if port {
            numbers += 1;
            continue;
        }
        if kind {
            continue;
        }
        if server {
            let word = Word {
                text: text.trim_start_matches('@').to_owned(),
                ..(*word).clone()
            };
            host(&word, &mut command.destinations);
        } else {
            host(word, &mut command.destinations);
        }
        command.sends |= word.dynamic || text.contains('?') && text.contains('=');
        let saves = name == "curl" && parsed.has(&["O", "remote-name"])
            || name == "wget"
                && !parsed
                    .values
                    .iter()
                    .any(|(option, _, _)| matches!(option.as_str(), "O" | "output-document"));
        if saves {
            let path = text.split_once("://").map_or(text, |(_, rest)| rest);
            let file = path
                .split_once('/')
                .and_then(|(_, path)| path.rsplit('/').next());
            let file = file.unwrap_or_default();
            if word.dynamic || word.text.contains(['{', '[']) {
                return Err(format!("what `{name}` writes is put together when it runs"));
            }
            let file = file.split(['?', '#']).next().unwrap_or_default();
            command
                .writes
                .push(if file.is_empty() { "index.html" } else { file }.to_owned());
        }
    }
    if numbers > 1 {
        return Err(format!("`{name}` has more than one number"));
    }
    command.sends |= command.dynamic || command.piped || !command.reads.is_empty();
    Ok(())
}

/// `ssh`, `scp`, `rsync`: they always send.
pub(super) fn machines(command: &mut Command, parsed: &Parsed<'_>) -> Result<(), Unread> {
    let ssh = command.program == "ssh";
    command.connects = true;
    command.sends = true;
    for (at, word) in parsed.operands.iter().enumerate() {
        let text = word.text.as_str();
        let local = !text.split('/').next().unwrap_or_default().contains(':');
        if ssh && at > 0 {
            break;
        }
        if !ssh && local && command.program != "sftp" {
            command.reads.push(text.to_owned());
            // Which of them is written depends on where they stand.
            if at + 1 == parsed.operands.len() {
                command.writes.extend(paths(&command.program, &[word])?);
            }
        } else if word.dynamic || text.contains("://") || text.contains("::") {
            command.destinations.extend(unclear(text));
        } else {
            login(text, &mut command.destinations);
        }
    }
    Ok(())
}

/// Whether a path leads out of the folder from which it is seen.
pub(super) fn leaves(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..")
}

/// What the words of a program say of which the table knows nothing, or which runs code of
/// the project: addresses, and paths that lead out of the project.
pub(super) fn guess(command: &mut Command, args: &[Word]) {
    let network = NETWORK.iter().find(|(names, _)| {
        names
            .split_ascii_whitespace()
            .any(|name| name == command.program)
    });
    if let Some((_, implied)) = network {
        command.connects = true;
        command.sends = true;
        if !implied.is_empty() {
            command.destinations.push((*implied).to_owned());
        }
    }
    for word in args {
        let text = word.text.as_str();
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        if text.contains("://") {
            command.connects = true;
            let value = if text.starts_with("http") {
                text
            } else {
                value
            };
            let address = Word {
                text: value.to_owned(),
                ..word.clone()
            };
            host(&address, &mut command.destinations);
        } else if network.is_some() && !text.starts_with('-') {
            host(word, &mut command.destinations);
        }
        if leaves(value) && value != "/dev/null" && !text.contains("://") {
            command.writes.push(value.to_owned());
        }
    }
    command.sends |= command.connects && (command.dynamic || command.piped);
}
