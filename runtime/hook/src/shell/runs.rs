//! Programs that start others: wrappers, interpreters, shells. What such a program would do
//! with words that cannot be told for certain is unread.

use super::options::{Style, parse};
use super::reader::Unread;
use super::{Word, assignment};

/// The variable that a word assigns to, unless its value is known to be harmless.
pub(super) fn setting(word: &Word) -> Option<String> {
    let (name, value) = assignment(word)?;
    (!harmless(name, value, word)).then(|| name.to_owned())
}

fn harmless(name: &str, value: &str, word: &Word) -> bool {
    // Only well-known directories are added to those where programs are looked for.
    let known = |part: &str| {
        matches!(
            part,
            "$PATH"
                | "${PATH}"
                | "/bin"
                | "/usr/bin"
                | "/usr/local/bin"
                | "/opt/homebrew/bin"
                | "/usr/local/go/bin"
                | "$HOME/.cargo/bin"
                | "$HOME/.local/bin"
                | "$HOME/go/bin"
                | "$HOME/.bun/bin"
                | "~/.cargo/bin"
                | "~/.local/bin"
                | "~/go/bin"
        )
    };
    if word.pattern {
        return false;
    }
    match name {
        "PATH" => value.split(':').all(known),
        _ if word.dynamic => false,
        "PAGER" | "GIT_PAGER" | "MANPAGER" | "GH_PAGER" | "AWS_PAGER" | "SYSTEMD_PAGER" => {
            matches!(value, "" | "cat" | "less" | "more" | "head" | "less -R")
        }
        "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => {
            matches!(value, "true" | ":" | "cat")
        }
        // Flags of the compiler that choose no program.
        "RUSTFLAGS" | "RUSTDOCFLAGS" => value.split_ascii_whitespace().all(|flag| {
            flag.strip_prefix(['-']).is_some_and(|flag| {
                flag.starts_with(['D', 'W', 'A', 'F'])
                    || matches!(
                        flag,
                        "g" | "O"
                            | "Copt-level=3"
                            | "Ctarget-cpu=native"
                            | "Cdebuginfo=1"
                            | "Cdebuginfo=0"
                    )
                    || flag.starts_with("Zsanitizer=")
                    || flag.starts_with("-cfg")
            }) || matches!(
                flag,
                "warnings" | "unused" | "dead_code" | "missing_docs" | "tokio_unstable"
            ) || flag.starts_with("clippy::")
        }),
        _ if name.ends_with("_URL") || name.ends_with("_URI") || name.ends_with("_HOST") => {
            let host = value.split_once("://").map_or(value, |(_, rest)| rest);
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let host = host.split(['/', '?']).next().unwrap_or_default();
            let host = host.split(':').next().unwrap_or_default();
            let own = [
                "GIT_", "PIP_", "UV_", "NPM_", "CARGO_", "DOCKER_", "GO", "SSH_", "ALL_", "HTTP",
            ];
            matches!(host, "localhost" | "127.0.0.1" | "")
                && !own.iter().any(|own| name.starts_with(own))
        }
        _ => false,
    }
}

/// Programs that start the program behind their options.
const WRAPPERS: &[(&str, &str)] = &[
    (
        "nohup setsid builtin unbuffer busybox toybox noglob nocorrect",
        "-",
    ),
    ("nice", "0123456789 n= adjustment="),
    ("ionice", "t c= n="),
    ("stdbuf", "- i= o= e="),
    (
        "timeout gtimeout",
        "v k= s= signal= kill-after= foreground preserve-status",
    ),
    ("time", "plv"),
    ("env", "i0 u= unset= ignore-environment"),
    ("sudo", "nEHkSb u= g= p= h="),
    ("doas", "n u="),
    (
        "xargs gxargs",
        "0rtpx n= P= I= L= s= d= E= a= null no-run-if-empty max-args= max-procs= delimiter=",
    ),
    ("caffeinate", "dimsu t= w="),
    ("command", "p"),
    ("exec", "cl a="),
];

/// Whether a program is a wrapper.
pub(super) fn is_wrapper(name: &str) -> bool {
    options(name).is_some()
}

fn options(name: &str) -> Option<&'static str> {
    let found = WRAPPERS
        .iter()
        .find(|(names, _)| names.split_ascii_whitespace().any(|known| known == name));
    found.map(|(_, options)| *options)
}

/// Package managers that start a program of the project's surroundings behind a verb.
const STARTERS: &[(&str, &str)] = &[
    ("uv poetry pipenv pdm rye hatch", "run"),
    ("bundle", "exec"),
];

/// Whether a package manager is told to start a program.
pub(super) fn starts_more(name: &str, args: &[Word]) -> bool {
    let verb = args.first().map_or("", |word| word.text.as_str());
    STARTERS
        .iter()
        .any(|(names, known)| verb == *known && names.split(' ').any(|known| known == name))
}

/// The words behind a wrapper and its options. Variables that it sets go to `env`.
pub(super) fn wrapped<'w>(
    name: &str,
    args: &'w [Word],
    env: &mut Vec<String>,
) -> Result<&'w [Word], Unread> {
    if starts_more(name, args) {
        let parsed = parse(
            name,
            "qv extra= group= no-dev frozen locked no-sync quiet verbose all-extras offline",
            Style::Leading,
            false,
            args.get(1..).unwrap_or_default(),
        )?;
        return Ok(args
            .get(args.len() - parsed.operands.len()..)
            .unwrap_or_default());
    }
    let table = options(name).unwrap_or("-");
    let parsed = parse(name, table, Style::Leading, false, args)?;
    let behind = |count: usize| args.get(args.len() - count..).unwrap_or_default();
    let mut rest = behind(parsed.operands.len());
    let unset = parsed
        .values
        .iter()
        .filter(|(option, _, _)| name == "env" && matches!(option.as_str(), "u" | "unset"));
    env.extend(unset.map(|(_, _, value)| value.text.clone()));
    if matches!(name, "env" | "sudo") {
        while let Some((word, after)) = rest.split_first() {
            if name == "env" && word.text == "-" {
                rest = after;
            } else if assignment(word).is_some() {
                env.extend(setting(word));
                rest = after;
            } else {
                break;
            }
        }
    }
    if name.ends_with("xargs")
        && let Some(program) = rest.first()
    {
        let mut marks = parsed.values.iter().filter(|(option, _, _)| option == "I");
        if marks.any(|(_, _, mark)| program.text.contains(&mark.text)) {
            return Err("`xargs` is handed the program's name".to_owned());
        }
    }
    if matches!(name, "timeout" | "gtimeout") {
        rest = rest.get(1..).unwrap_or_default();
    }
    Ok(rest)
}

/// Modules of Python that do what their names say, and run no code from the command line.
const MODULES: &[&str] = &[
    "pytest",
    "unittest",
    "venv",
    "json.tool",
    "compileall",
    "build",
    "mypy",
    "ruff",
    "black",
    "flake8",
    "isort",
    "pylint",
    "py_compile",
    "pip",
    "tokenize",
    "ast",
    "doctest",
    "pyright",
    "piptools",
];

/// What an interpreter runs.
pub(super) enum Runs<'w> {
    /// A file of the project.
    File(&'w Word, &'w [Word]),
    /// A module, as if it were a program.
    Module(&'w str, &'w [Word]),
    /// It only says something about itself.
    Nothing,
}

/// What an interpreter runs: only a plain file is read, code on the command line and on its
/// input is not.
pub(super) fn interpreter<'w>(
    name: &str,
    table: &str,
    args: &'w [Word],
) -> Result<Runs<'w>, Unread> {
    let unread = || format!("`{name}` runs code that is not read");
    let module = args.iter().position(|word| word.text == "-m");
    if name.starts_with("py")
        && let Some(at) = module
        && args
            .get(..at)
            .is_some_and(|before| before.iter().all(|word| word.text.starts_with('-')))
    {
        let before = args.get(..at).unwrap_or_default();
        parse(name, table, Style::Leading, false, before)?;
        let module = args.get(at + 1).ok_or_else(unread)?;
        if module.dynamic || !MODULES.contains(&module.text.as_str()) {
            return Err(format!("`{name} -m {}` is not known", module.text));
        }
        return Ok(Runs::Module(
            &module.text,
            args.get(at + 2..).unwrap_or_default(),
        ));
    }
    let parsed = parse(name, table, Style::Leading, false, args)?;
    if parsed.values.iter().any(|(option, _, _)| option == "m") {
        return Err(unread());
    }
    let behind = args
        .get(args.len() - parsed.operands.len()..)
        .unwrap_or_default();
    let Some((script, rest)) = behind.split_first() else {
        let version = parsed.has(&["version", "V", "v", "h", "help"]) && args.len() == 1;
        let tests = parsed.has(&["test"]) && name.starts_with("node");
        return if version || tests {
            Ok(Runs::Nothing)
        } else {
            Err(unread())
        };
    };
    // In a wide range of interpreters `data:…` and the like are addresses.
    if script.dynamic || script.pattern || script.text == "-" || script.text.contains(':') {
        return Err(unread());
    }
    let verbs = [
        "run", "test", "install", "x", "add", "repl", "exec", "eval", "inspect", "debug",
    ];
    if verbs.contains(&script.text.as_str()) {
        return Err(unread());
    }
    Ok(Runs::File(script, rest))
}

/// What a shell is handed.
pub(super) enum Shell<'w> {
    /// Commands on its command line.
    Text(&'w Word),
    /// A file of commands, and its own words.
    File(&'w Word),
    /// What comes on its input.
    Input,
}

/// Reads the words of a shell. Only options are taken that certainly change nothing about
/// where its commands come from.
pub(super) fn shell<'w>(name: &str, args: &'w [Word]) -> Result<Shell<'w>, Unread> {
    let together = || format!("what `{name}` runs is put together when it runs");
    let mut rest = args;
    while let Some((word, after)) = rest.split_first() {
        if word.dynamic || word.pattern {
            return Err(together());
        }
        match word.text.as_str() {
            "--login" | "--norc" | "--noprofile" | "--posix" | "-e" | "-u" | "-x" | "-l"
            | "-eu" | "-ex" | "-eux" => {}
            "-o" if after.first().is_some_and(|word| {
                matches!(word.text.as_str(), "pipefail" | "errexit" | "nounset")
            }) =>
            {
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            "-c" | "-lc" | "-ec" | "-euc" | "-exc" | "-euxc" => {
                return after
                    .first()
                    .filter(|word| {
                        !word.dynamic && !word.pattern && !word.text.starts_with(['-', '+'])
                    })
                    .map(Shell::Text)
                    .ok_or_else(together);
            }
            text if text.starts_with(['-', '+']) => {
                return Err(format!("`{name} {text}` is not known"));
            }
            _ => return Ok(Shell::File(word)),
        }
        rest = after;
    }
    Ok(Shell::Input)
}
