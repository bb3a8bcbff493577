//! Small languages on the command line: `sed`, `awk`, conditions. What is not plainly
//! harmless in them is unread.

use super::Word;
use super::command::Command;
use super::options::{Style, parse};
use super::reach::paths;
use super::reader::Unread;
use super::variables::Variables;
use crate::disk::Below;

/// Reads a command of `sed`.
pub(super) fn sed(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = command.program.clone();
    let runs = || format!("`{name}` may run commands or write files of its own");
    let table =
        "nErsuz e= i? in-place? expression= quiet silent regexp-extended null-data separate";
    let parsed = parse(&name, table, Style::Usual, false, args)?;
    let in_place = parsed.has(&["i", "in-place"])
        || parsed
            .values
            .iter()
            .any(|(option, _, _)| matches!(option.as_str(), "i" | "in-place"));
    // The copy has the name with the ending, or the ending is a pattern for it.
    let endings = ["", "~", ".bak", ".orig", ".old", ".tmp", ".backup"];
    let named = parsed.values.iter().any(|(option, _, value)| {
        matches!(option.as_str(), "i" | "in-place") && !endings.contains(&value.text.as_str())
    });
    if named {
        return Err(format!("`{name}` keeps copies under other names"));
    }
    let mut scripts: Vec<&Word> = parsed
        .values
        .iter()
        .filter(|(option, _, _)| matches!(option.as_str(), "e" | "expression"))
        .map(|(_, _, value)| value)
        .collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() {
        // Some take the word behind `-i` for the ending of copies.
        let count = if in_place && files.first().is_some_and(|word| word.text.is_empty()) {
            2
        } else {
            1
        };
        let (first, rest) = files.split_at(count.min(files.len()));
        scripts.extend(first);
        files = rest;
        let writes = |word: &&Word| {
            let text = word
                .text
                .trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            text.starts_with("w/") || text.starts_with("w ")
        };
        if in_place && files.iter().any(writes) {
            return Err(runs());
        }
    }
    if scripts
        .iter()
        .any(|word| word.dynamic || !plain_sed(&word.text))
    {
        return Err(runs());
    }
    if in_place {
        command.writes.extend(paths(&name, files)?);
    } else {
        command
            .reads
            .extend(files.iter().map(|word| word.text.clone()));
    }
    Ok(())
}

/// Whether a script only prints, deletes, adds and replaces.
fn plain_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let peek = |at: usize| chars.get(at).copied();
    // The end of a part, behind its limit.
    let part = |mut at: usize, limit: char| -> Option<usize> {
        let mut brackets = false;
        loop {
            match peek(at)? {
                '\\' => {
                    peek(at + 1)?;
                    at += 1;
                }
                // Whether a limit between brackets counts depends on who made it.
                c if c == limit => return (!brackets).then_some(at + 1),
                '[' => brackets = true,
                ']' => brackets = false,
                _ => {}
            }
            at += 1;
        }
    };
    while let Some(c) = peek(at) {
        match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '0'..='9' | ',' | '$' | '!' | '~' | '+' => {
                at += 1
            }
            '/' => match part(at + 1, '/') {
                Some(end) => at = end + usize::from(peek(end) == Some('I')),
                None => return false,
            },
            's' | 'y' => {
                let Some(limit) = peek(at + 1).filter(|c| c.is_ascii_punctuation() && *c != '\\')
                else {
                    return false;
                };
                let Some(end) = part(at + 2, limit).and_then(|middle| part(middle, limit)) else {
                    return false;
                };
                at = end;
                while peek(at).is_some_and(|c| "gpiI0123456789".contains(c)) {
                    at += 1;
                }
                if !matches!(peek(at), None | Some(' ' | ';' | '\n' | '}')) {
                    return false;
                }
            }
            'p' | 'd' | 'q' | '=' | 'D' | 'N' | 'n' | 'h' | 'H' | 'g' | 'G' | 'x' | 'l' | 'P' => {
                at += 1;
                if !matches!(peek(at), None | Some(' ' | ';' | '\n' | '}' | '0'..='9')) {
                    return false;
                }
            }
            'a' | 'i' | 'c' => {
                while let Some(c) = peek(at).filter(|c| *c != '\n') {
                    at += if c == '\\' { 2 } else { 1 };
                }
            }
            _ => return false,
        }
    }
    true
}

/// Reads a command of `awk`.
pub(super) fn awk(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = command.program.clone();
    let parsed = parse(
        &name,
        "- F= v= field-separator= assign= version",
        Style::Leading,
        false,
        args,
    )?;
    let Some((script, files)) = parsed.operands.split_first() else {
        return Ok(());
    };
    let text = script.text.replace("||", "");
    let mut compares = true;
    for (at, _) in text.match_indices('>') {
        let behind = text
            .get(at + 1..)
            .unwrap_or_default()
            .trim_start_matches('=')
            .trim_start();
        // A number, and nothing that would make a longer text of it.
        let number = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let ends = number.trim_start().starts_with(['{', ')', '&', ';', '}']);
        compares &= number.len() < behind.len() && (ends || number.trim_start().is_empty());
    }
    let runs = ["system", "|", "getline", "/inet", "@", "ARGV", "ENVIRON"];
    if script.dynamic || !compares || runs.iter().any(|part| text.contains(part)) {
        return Err(format!(
            "`{name}` may run commands or write files of its own"
        ));
    }
    command
        .reads
        .extend(files.iter().map(|word| word.text.clone()));
    Ok(())
}

/// Reads `test`, `[` and `[[`. Some shells work out numbers in `[[`, and run what they find
/// there.
pub(super) fn condition(words: &[Word], variables: &Variables) -> Result<(), Unread> {
    let Some((name, args)) = words.split_first() else {
        return Ok(());
    };
    let name = name.text.as_str();
    if !matches!(name, "test" | "[" | "[[") {
        return Ok(());
    }
    for (at, word) in args.iter().enumerate() {
        match word.text.as_str() {
            "-v" | "-R" => return Err("it asks whether a computed name is set".to_owned()),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" if name == "[[" => {
                let sides = [
                    at.checked_sub(1).and_then(|at| args.get(at)),
                    args.get(at + 1),
                ];
                let number = |word: Option<&Word>| {
                    word.is_some_and(|word| {
                        variables.is_number_word(word) || variables.is_number(&word.text)
                    })
                };
                if !sides.into_iter().all(number) {
                    return Err("it works out numbers".to_owned());
                }
            }
            // What it turns out to be could be one of these.
            _ if name != "[[" && word.split && word.dynamic && !variables.is_number_word(word) => {
                return Err("a condition is put together when it runs".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads `printf`: it may set a variable, and some shells work out its numbers.
pub(super) fn printf(args: &[Word]) -> Result<(), Unread> {
    let mut args = args;
    if args.first().is_some_and(|word| word.text == "--") {
        args = args.get(1..).unwrap_or_default();
    }
    let Some((format, rest)) = args.split_first() else {
        return Ok(());
    };
    let numbers = format.text.split('%').skip(1).any(|part| {
        let kind = part.trim_start_matches(|c: char| c.is_ascii_digit() || "+- #.*".contains(c));
        !kind.is_empty() && !kind.starts_with(['s', 'b', 'q'])
    });
    let option = format.text.starts_with('-')
        && format
            .text
            .trim_matches('-')
            .chars()
            .next()
            .is_some_and(|c| c == 'v');
    if option || format.open || (numbers && rest.iter().any(|word| word.dynamic)) {
        return Err("`printf` is put together when it runs".to_owned());
    }
    Ok(())
}

/// Reads a command of `tar`: packing and listing. What unpacking writes is not known, but
/// that it lies in the folder.
pub(super) fn tar(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = command.program.clone();
    let unread = || format!("what `{name}` writes is not known, or it may run programs");
    let Some((first, rest)) = args.split_first() else {
        return Ok(());
    };
    let letters = first.text.strip_prefix('-').unwrap_or(&first.text);
    let known = |c: char| "cxtvzjJapkhf".contains(c);
    let packs = letters.contains('c');
    let modes = letters.chars().filter(|c| "cxt".contains(*c)).count();
    if first.dynamic || !letters.chars().all(known) || modes != 1 || letters.contains('x') {
        return Err(unread());
    }
    let mut rest = rest;
    if letters.contains('f') {
        let (archive, after) = rest.split_first().ok_or_else(unread)?;
        if !letters.ends_with('f') && first.text.starts_with('-') {
            return Err(unread());
        }
        rest = after;
        // With a colon it lies on another machine.
        if archive.text.contains(':') || archive.dynamic || archive.pattern {
            return Err(unread());
        }
        match (archive.text.as_str(), packs) {
            ("-", _) => {}
            (text, true) => command.writes.push(text.to_owned()),
            (text, false) => command.reads.push(text.to_owned()),
        }
    }
    let parsed = parse(
        &name,
        "- C=r exclude= X=r exclude-vcs",
        Style::Usual,
        false,
        rest,
    )?;
    if packs {
        let left = parsed
            .values
            .iter()
            .filter(|(option, _, _)| option == "exclude");
        command.below = Some(Below {
            hidden: true,
            ignored: true,
            own: true,
            exclude: left
                .map(|(_, _, word)| word.text.trim_start_matches("./").to_owned())
                .collect(),
            ..Below::default()
        });
    }
    let directories = parsed.values.iter().filter(|(option, _, _)| option == "C");
    command
        .reads
        .extend(directories.map(|(_, _, word)| word.text.clone()));
    command
        .reads
        .extend(parsed.operands.iter().map(|word| word.text.clone()));
    Ok(())
}
