//! Programs that start others: wrappers, interpreters, and settings that name programs. What
//! such a program would do with words that cannot be told for certain is unread.

use super::Word;
use super::reader::Unread;

/// The variable that a word assigns to.
pub(super) fn assignment(word: &Word) -> Option<&str> {
    let (name, _) = word.text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    let first = chars.next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ((first.is_ascii_alphabetic() || first == '_') && chars.all(plain)).then_some(name)
}

/// The words behind a wrapper and its options. Variables that it sets go to `env`.
pub(super) fn wrapped<'w>(
    name: &str,
    args: &'w [Word],
    env: &mut Vec<String>,
) -> Result<&'w [Word], Unread> {
    // Options without a value, and options with one.
    let (flags, values): (&[&str], &[&str]) = match name {
        "nice" => (&[], &["-n", "--adjustment"]),
        "ionice" => (&["-t"], &["-c", "-n"]),
        "stdbuf" => (&[], &["-i", "-o", "-e"]),
        "timeout" | "gtimeout" => (&["--foreground", "--preserve-status", "-v"], &["-k", "-s"]),
        "time" => (&["-p", "-l", "-v"], &[]),
        "env" => (
            &["-i", "-", "-0", "--ignore-environment"],
            &["-u", "--unset"],
        ),
        "sudo" => (
            &["-n", "-E", "-H", "-k", "-S", "-b"],
            &["-u", "-g", "-p", "-h"],
        ),
        "doas" => (&["-n"], &["-u"]),
        "xargs" | "gxargs" => (
            &["-0", "-r", "-t", "-p", "-x", "--null", "--no-run-if-empty"],
            &["-n", "-P", "-I", "-L", "-s", "-d", "-E", "-a"],
        ),
        "caffeinate" => (&["-d", "-i", "-m", "-s", "-u"], &["-t", "-w"]),
        "command" => (&["-p"], &[]),
        "exec" => (&["-c", "-l"], &["-a"]),
        "setsid" => (&["-f", "-w", "-c"], &[]),
        _ => (&[], &[]),
    };
    let mut rest = args;
    while let Some((word, after)) = rest.split_first() {
        let text = word.text.as_str();
        if text == "--" {
            rest = after;
            break;
        }
        if (name == "env" || name == "sudo")
            && let Some(variable) = assignment(word)
        {
            env.push(variable.to_owned());
            rest = after;
            continue;
        }
        if !text.starts_with('-') {
            break;
        }
        if word.dynamic || word.pattern {
            return Err(format!(
                "an option of `{name}` is put together when it runs"
            ));
        }
        let attached = values.iter().any(|option| {
            text.len() > option.len()
                && text.starts_with(option)
                && (!option.starts_with("--") || text.as_bytes().get(option.len()) == Some(&b'='))
        });
        let number =
            name == "nice" && text.len() > 1 && text.bytes().skip(1).all(|b| b.is_ascii_digit());
        rest = if values.contains(&text) {
            after
                .get(1..)
                .ok_or_else(|| format!("`{name} {text}` has no value"))?
        } else if flags.contains(&text) || attached || number {
            after
        } else {
            return Err(format!("`{name} {text}` is not known"));
        };
    }
    if name.ends_with("xargs")
        && let Some(program) = rest.first()
    {
        let taken = args.get(..args.len() - rest.len()).unwrap_or_default();
        let replaced = taken.iter().enumerate().filter_map(|(at, word)| {
            let mark = word.text.strip_prefix("-I")?;
            if mark.is_empty() {
                taken.get(at + 1).map(|word| word.text.as_str())
            } else {
                Some(mark)
            }
        });
        if replaced.into_iter().any(|mark| program.text.contains(mark)) {
            return Err("`xargs` is handed the program's name".to_owned());
        }
    }
    if name == "timeout" || name == "gtimeout" {
        rest = rest.get(1..).unwrap_or_default();
    }
    Ok(rest)
}

/// Code on the command line of an interpreter can do anything.
pub(super) fn interpreter(
    name: &str,
    args: &[Word],
    input: Option<&Word>,
    piped: bool,
) -> Result<(), Unread> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let code: &[&str] = match base {
        "python" | "pypy" => &["-c"],
        "node" | "nodejs" | "bun" => &[
            "-e",
            "-p",
            "--eval",
            "--print",
            "-pe",
            "-r",
            "--require",
            "--import",
        ],
        "deno" => &["eval", "repl"],
        "perl" => &["-e", "-E"],
        "ruby" => &["-e"],
        "php" => &["-r", "-R", "-B", "-E"],
        "lua" | "luajit" | "Rscript" | "R" => &["-e"],
        "awk" | "gawk" | "mawk" | "nawk" => {
            let runs = |word: &Word| {
                let text = word.text.as_str();
                word.dynamic
                    || ["system", "|", "getline", "/inet", "@load"]
                        .iter()
                        .any(|part| text.contains(part))
            };
            if args.iter().any(runs) {
                return Err(format!("`{name}` may run commands of its own"));
            }
            return Ok(());
        }
        "sed" | "gsed" => {
            if sed_scripts(args)
                .is_none_or(|scripts| !scripts.iter().all(|script| plain_sed(script)))
            {
                return Err(format!("`{name}` may run commands of its own"));
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    let inline = args.iter().any(|word| {
        let text = word.text.as_str();
        let short = |option: &str| {
            option.len() == 2
                && !text.starts_with("--")
                && text.starts_with('-')
                && option.chars().nth(1).is_some_and(|c| text.contains(c))
        };
        code.iter().any(|option| {
            text == *option || short(option) || text.starts_with(&format!("{option}="))
        })
    });
    let from_input = args.iter().all(|word| word.text.starts_with('-'))
        && (piped || input.is_some() || args.iter().any(|word| word.text == "-"));
    if inline || from_input {
        return Err(format!("`{name}` runs code that is not read"));
    }
    Ok(())
}

/// The scripts among the arguments of `sed`; `None` where they cannot be told.
fn sed_scripts(args: &[Word]) -> Option<Vec<&str>> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            _ if word.dynamic => return None,
            "-e" | "--expression" => scripts.push(rest.next()?.text.as_str()),
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-i" | "--in-place" | "--quiet" => {}
            text if text.starts_with("-i") && text.contains(['.', '~']) => {}
            text if text.starts_with('-') && text.len() > 1 => return None,
            text => operands.push(text),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    Some(scripts)
}

/// GNU's `e` runs commands and its `w` writes files: only substitutions without such
/// flags, and printing, deleting and quitting are plain.
fn plain_sed(script: &str) -> bool {
    let counted = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' '))
    };
    if let Some(rest) = script.strip_prefix('s') {
        let mut chars = rest.chars();
        let Some(limit) = chars
            .next()
            .filter(|c| c.is_ascii_punctuation() && *c != '\\')
        else {
            return false;
        };
        let (mut parts, mut flags, mut escaped) = (1, String::new(), false);
        for c in chars {
            if parts == 3 {
                flags.push(c);
            } else if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == limit {
                parts += 1;
            }
        }
        return parts == 3 && flags.chars().all(|c| "gpiI0123456789".contains(c));
    }
    let Some(last) = script
        .chars()
        .last()
        .filter(|c| matches!(c, 'p' | 'd' | 'q'))
    else {
        return false;
    };
    let address = script.strip_suffix(last).unwrap_or_default();
    let pattern = address
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix(['/']))
        .is_some_and(|inside| !inside.contains(['/', '\\', '\n']));
    counted(address) || pattern
}

/// Settings of git can name programs.
pub(super) fn git_settings(name: &str, args: &[Word]) -> Result<(), Unread> {
    if name != "git" {
        return Ok(());
    }
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if matches!(
            text,
            "--exec" | "-x" | "--upload-pack" | "--receive-pack" | "filter-branch" | "bisect"
        ) || text.starts_with("--config-env")
            || text.starts_with("--exec-path=")
            || text.starts_with("--exec=")
            || text.starts_with("--upload-pack=")
            || text.starts_with("--receive-pack=")
            || text.starts_with("ext::")
        {
            return Err(format!("`git {text}` can start programs"));
        }
        if text == "-c" || text == "config" {
            let rest: Vec<String> = rest
                .clone()
                .map(|word| word.text.to_ascii_lowercase())
                .collect();
            let setting = rest.iter().any(|text| {
                [
                    "alias.",
                    "core.",
                    "diff.",
                    "filter.",
                    "merge.",
                    "pager",
                    "editor",
                    "gpg.",
                    "ssh",
                    "credential",
                    "protocol",
                    "http.",
                    "url.",
                    "include",
                    "remote.",
                    "submodule",
                    "sequence",
                    "man.",
                    "browser",
                ]
                .iter()
                .any(|part| text.contains(part))
            });
            let reads = rest
                .iter()
                .any(|text| matches!(text.as_str(), "--get" | "--list" | "-l"));
            if setting && (!reads || text == "-c") {
                return Err(format!("`git {text}` can name programs to start"));
            }
        }
    }
    Ok(())
}
