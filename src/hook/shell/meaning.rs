//! What the commands of a script are: wrappers such as `env` and `xargs` taken off,
//! scripts inside scripts read, and which hosts and files are named.

use super::reader::{self, Unread};
use super::{Simple, Word};
use bouncer_runtime::address;

/// Commands in one script, at most.
const MAX_COMMANDS: usize = 200;

/// A program that a script starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name, without directories; empty for an assignment by itself.
    pub program: String,
    /// The program and its arguments as words.
    pub words: Vec<String>,
    /// Some argument is only known when the command runs.
    pub dynamic: bool,
    /// Variables that are set for it, or for what follows.
    pub env: Vec<String>,
    /// It reads what another command prints.
    pub piped: bool,
    /// It can reach the network.
    pub connects: bool,
    /// Hosts and other destinations that it names.
    pub destinations: Vec<String>,
    /// Files that it writes, and that it reads by redirection.
    pub writes: Vec<String>,
    /// Files that it reads by redirection.
    pub reads: Vec<String>,
    /// The directory that it changes to, for `cd`.
    pub directory: Option<String>,
}

/// What was read of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The commands, in no particular order.
    pub commands: Vec<Command>,
    /// Why part of the script could not be read, if so.
    pub unread: Option<String>,
}

/// Reads a script.
#[must_use]
pub fn read(text: &str) -> Script {
    let mut script = Script::default();
    if let Err(why) = script.add(text, 0) {
        script.unread = Some(why);
    }
    script
}

/// Programs that reach the network, with what they reach if they name nothing.
const NETWORK: [(&str, &str); 49] = [
    ("aria2c", ""),
    ("aws", "amazonaws.com"),
    ("az", "azure.com"),
    ("curl", ""),
    ("curlie", ""),
    ("dig", ""),
    ("doggo", ""),
    ("drill", ""),
    ("ftp", ""),
    ("gcloud", "googleapis.com"),
    ("gh", "github.com"),
    ("glab", "gitlab.com"),
    ("grpcurl", ""),
    ("gsutil", "googleapis.com"),
    ("host", ""),
    ("http", ""),
    ("https", ""),
    ("httpie", ""),
    ("lftp", ""),
    ("links", ""),
    ("lynx", ""),
    ("mail", ""),
    ("mailx", ""),
    ("mosquitto_pub", ""),
    ("msmtp", ""),
    ("mutt", ""),
    ("nc", ""),
    ("ncat", ""),
    ("netcat", ""),
    ("nslookup", ""),
    ("ping", ""),
    ("ping6", ""),
    ("rclone", ""),
    ("rsync", ""),
    ("s3cmd", "amazonaws.com"),
    ("scp", ""),
    ("sendmail", ""),
    ("sftp", ""),
    ("socat", ""),
    ("ssh", ""),
    ("swaks", ""),
    ("telnet", ""),
    ("tftp", ""),
    ("traceroute", ""),
    ("w3m", ""),
    ("websocat", ""),
    ("wget", ""),
    ("wscat", ""),
    ("xh", ""),
];

/// Programs that cannot reach the network, so that an address among their words is text.
const LOCAL: [&str; 30] = [
    "[", "[[", "basename", "cat", "cd", "cut", "diff", "dirname", "echo", "egrep", "export",
    "fgrep", "file", "grep", "head", "jq", "ls", "mkdir", "printf", "pwd", "rg", "rm", "sort",
    "stat", "tail", "test", "touch", "tr", "uniq", "wc",
];

/// Options of `curl` and `wget` whose value is no destination.
const VALUES: [&str; 36] = [
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--json",
    "--post-file",
    "-o",
    "--output",
    "-O",
    "-H",
    "--header",
    "-X",
    "--request",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-b",
    "--cookie",
    "-c",
    "--cookie-jar",
    "-m",
    "--max-time",
    "--retry",
    "-w",
    "--write-out",
    "-T",
    "--upload-file",
    "--connect-timeout",
    "--cacert",
    "--cert",
    "--key",
];

/// Programs whose operands are files that they change.
const WRITERS: [&str; 14] = [
    "chmod", "chown", "ln", "mkdir", "mv", "rm", "rmdir", "shred", "tee", "touch", "truncate",
    "unlink", "cp", "install",
];

impl Script {
    fn add(&mut self, text: &str, depth: usize) -> Result<(), Unread> {
        for simple in reader::commands(text, depth)? {
            self.simple(&simple, depth)?;
        }
        if self.commands.len() > MAX_COMMANDS {
            return Err("it has very many commands".to_owned());
        }
        Ok(())
    }

    fn simple(&mut self, simple: &Simple, depth: usize) -> Result<(), Unread> {
        let mut base = Command {
            piped: simple.piped,
            ..Command::default()
        };
        for redirect in &simple.redirects {
            let target = &redirect.target;
            if target.dynamic || target.pattern {
                return Err("where it reads or writes is put together when it runs".to_owned());
            }
            let mut parts = target.text.trim_start_matches('/').split('/');
            match (parts.next(), parts.next(), parts.next()) {
                (Some("dev"), Some("tcp" | "udp"), host) => {
                    base.connects = true;
                    base.destinations.extend(host.map(str::to_owned));
                }
                (Some("dev"), Some("null" | "stdout" | "stderr" | "stdin" | "tty" | "fd"), _) => {}
                _ if redirect.write => base.writes.push(target.text.clone()),
                _ => base.reads.push(target.text.clone()),
            }
        }
        let assigned = simple
            .words
            .iter()
            .take_while(|word| assignment(word).is_some());
        base.env = assigned.filter_map(assignment).map(str::to_owned).collect();
        let words = simple.words.get(base.env.len()..).unwrap_or_default();
        self.command(base, words, simple.input.as_ref(), depth)
    }

    /// Adds what a list of words starts.
    fn command(
        &mut self,
        mut base: Command,
        words: &[Word],
        input: Option<&Word>,
        depth: usize,
    ) -> Result<(), Unread> {
        let Some((program, args)) = words.split_first() else {
            self.commands.push(base);
            return Ok(());
        };
        let bracket = matches!(program.text.as_str(), "[" | "[[");
        if program.dynamic || (program.pattern && !bracket) || program.text.starts_with('~') {
            return Err("a program's name is put together when it runs".to_owned());
        }
        let keyword = matches!(
            program.text.as_str(),
            "{" | "}"
                | "!"
                | "if"
                | "then"
                | "elif"
                | "else"
                | "fi"
                | "while"
                | "until"
                | "for"
                | "do"
                | "done"
                | "case"
                | "esac"
                | "select"
                | "function"
                | "coproc"
        );
        if keyword || program.text.starts_with('-') || program.text.contains(['{', '}']) {
            return Err(format!("`{}` stands where a program should", program.text));
        }
        // Bash works out what stands between brackets, and runs what it finds there.
        let index = |word: &Word| word.text.contains("[$(") || word.text.contains("[`");
        if words.iter().any(index) {
            return Err("a word holds a command between brackets".to_owned());
        }
        // What `xargs` and `find` put in is not known here.
        let fed = base.dynamic;
        base.program = program
            .text
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        base.words = words.iter().map(|word| word.text.clone()).collect();
        base.dynamic |= args.iter().any(|word| word.dynamic);
        let name = base.program.clone();
        match name.as_str() {
            "nohup" | "setsid" | "builtin" | "exec" | "caffeinate" | "unbuffer" | "busybox"
            | "toybox" | "command" | "nice" | "ionice" | "stdbuf" | "timeout" | "gtimeout"
            | "time" | "env" | "sudo" | "doas" | "xargs" | "gxargs" => {
                // `command -v` only looks a name up.
                if name == "command"
                    && args
                        .iter()
                        .any(|arg| matches!(arg.text.as_str(), "-v" | "-V"))
                {
                    self.commands.push(base);
                    return Ok(());
                }
                let mut inner = base.clone();
                let rest = wrapped(&name, args, &mut inner.env)?;
                if name == "xargs" || name == "gxargs" {
                    inner.dynamic = true;
                }
                // `sudo` and the like are worth a rule of their own.
                let mut outer = base;
                outer.words = outer
                    .words
                    .into_iter()
                    .take(words.len() - rest.len())
                    .collect();
                (outer.writes, outer.reads) = (Vec::new(), Vec::new());
                self.commands.push(outer);
                return self.command(inner, rest, input, depth + 1);
            }
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "eval" | "source" | "."
                if fed =>
            {
                return Err(format!("`{name}` is handed what another command prints"));
            }
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => {
                return self.shell(base, args, input, depth);
            }
            "eval" => {
                if args.iter().any(|word| word.dynamic || word.pattern) {
                    return Err("`eval` runs what is put together when it runs".to_owned());
                }
                let text: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
                self.commands.push(base);
                return self.add(&text.join(" "), depth + 1);
            }
            "source" | "."
                if args.iter().any(|word| {
                    word.dynamic
                        || word.pattern
                        || word.text.starts_with("/dev/")
                        || word.text.starts_with("/proc/")
                }) =>
            {
                return Err(format!("`{name}` takes its commands from elsewhere"));
            }
            "export" | "declare" | "typeset" | "readonly" | "local" => {
                base.env
                    .extend(args.iter().filter_map(assignment).map(str::to_owned));
            }
            "find" | "gfind" | "fd" | "fdfind" => self.find(&base, args, depth)?,
            "parallel" | "watch" | "script" | "flock" | "su" | "runuser" | "trap" | "alias"
            | "expect" | "entr" | "at" | "batch" | "crontab" | "chroot" | "unshare" | "nsenter"
            | "osascript" | "tclsh" | "emacs" | "ed" | "ex" | "gdb" | "lldb" | "strace"
            | "ltrace" | "systemd-run" | "mapfile" | "readarray" | "compgen" | "complete"
            | "hash" | "enable" | "bind"
                if !args.is_empty() =>
            {
                return Err(format!("`{name}` runs commands of its own"));
            }
            _ => {}
        }
        interpreter(&name, args, input, base.piped)?;
        git_settings(&name, args)?;
        files(&mut base, args)?;
        destinations(&mut base, args);
        if name == "cd" || name == "pushd" {
            let to = args.iter().find(|word| !word.text.starts_with('-'));
            if to.is_some_and(|word| word.dynamic || word.pattern) {
                return Err("it goes to a directory that is only known when it runs".to_owned());
            }
            base.directory = Some(to.map_or_else(|| "~".to_owned(), |word| word.text.clone()));
        }
        self.commands.push(base);
        Ok(())
    }

    fn shell(
        &mut self,
        base: Command,
        args: &[Word],
        input: Option<&Word>,
        depth: usize,
    ) -> Result<(), Unread> {
        let name = base.program.clone();
        let mut rest = args.iter();
        let mut operand = None;
        while let Some(word) = rest.next() {
            if word.dynamic || word.pattern {
                return Err(format!("what `{name}` runs is put together when it runs"));
            }
            let text = word.text.as_str();
            if !text.starts_with(['-', '+']) || text == "-" {
                operand = Some(text);
                break;
            }
            match text {
                "--login" | "--norc" | "--noprofile" | "--posix" | "--" => {}
                "-o" | "-O" | "+o" | "+O" => {
                    rest.next();
                }
                _ if text.starts_with("--") => {
                    return Err(format!("`{name} {text}` is not known"));
                }
                _ if text.starts_with('-') && text.contains('c') => {
                    let script = rest.next().filter(|word| !word.dynamic).ok_or_else(|| {
                        format!("what `{name} -c` runs is put together when it runs")
                    })?;
                    self.commands.push(base);
                    return self.add(&script.text, depth + 1);
                }
                _ => {}
            }
        }
        match (operand, input) {
            // A file of commands; that it cannot be seen into is true of all programs.
            (Some(file), _) if file != "-" && !file.starts_with("/dev/") => {
                self.commands.push(base);
                Ok(())
            }
            (_, Some(script)) if !script.dynamic => {
                self.commands.push(base);
                self.add(&script.text, depth + 1)
            }
            _ => Err(format!("`{name}` takes its commands from elsewhere")),
        }
    }

    /// The commands that `find` starts.
    fn find(&mut self, base: &Command, args: &[Word], depth: usize) -> Result<(), Unread> {
        let mut rest = args;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            match word.text.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"
                | "--exec-batch" => {
                    let end = rest
                        .iter()
                        .position(|word| matches!(word.text.as_str(), ";" | "+"));
                    let (inner, after) = rest.split_at(end.unwrap_or(rest.len()));
                    let command = Command {
                        dynamic: true,
                        env: base.env.clone(),
                        ..Command::default()
                    };
                    self.command(command, inner, None, depth + 1)?;
                    rest = after;
                }
                text if text.starts_with("--exec") => {
                    return Err(format!("`{}` runs commands of its own", base.program));
                }
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    return Err("`find` writes a file".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The variable that a word assigns to.
fn assignment(word: &Word) -> Option<&str> {
    let (name, _) = word.text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    let first = chars.next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ((first.is_ascii_alphabetic() || first == '_') && chars.all(plain)).then_some(name)
}

/// The words behind a wrapper and its options. Variables that it sets go to `env`.
fn wrapped<'w>(name: &str, args: &'w [Word], env: &mut Vec<String>) -> Result<&'w [Word], Unread> {
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
fn interpreter(name: &str, args: &[Word], input: Option<&Word>, piped: bool) -> Result<(), Unread> {
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
fn git_settings(name: &str, args: &[Word]) -> Result<(), Unread> {
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

/// The files that a program changes, as far as its words say.
fn files(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = command.program.as_str();
    let in_place = matches!(name, "sed" | "gsed" | "perl" | "ruby")
        && args
            .iter()
            .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"));
    if name == "dd" {
        let to = args.iter().filter_map(|word| word.text.strip_prefix("of="));
        command.writes.extend(to.map(str::to_owned));
        return Ok(());
    }
    if !in_place && !WRITERS.contains(&name) {
        return Ok(());
    }
    let mut operands = Vec::new();
    let mut options = true;
    for word in args {
        let text = word.text.as_str();
        if options && text == "--" {
            options = false;
        } else if options && text.len() > 1 && text.starts_with('-') {
            // `--target-directory=DIR` and the like.
            operands.extend(text.split_once('=').map(|(_, value)| value.to_owned()));
        } else if word.dynamic {
            return Err(format!(
                "which files `{name}` changes is put together when it runs"
            ));
        } else {
            operands.push(text.to_owned());
        }
    }
    if matches!(name, "chmod" | "chown") || in_place {
        operands = operands.split_off(operands.len().min(1));
    }
    let target = args
        .iter()
        .any(|word| word.text.starts_with("-t") || word.text.starts_with("--target"));
    if matches!(name, "cp" | "install") && !target && !operands.is_empty() {
        operands = operands.split_off(operands.len() - 1);
    }
    command.writes.extend(operands);
    Ok(())
}

/// The hosts that a command names.
fn destinations(command: &mut Command, args: &[Word]) {
    let name = command.program.as_str();
    let git = name == "git";
    let verb = args
        .iter()
        .find(|word| !word.text.starts_with('-'))
        .map(|word| word.text.as_str());
    let network = NETWORK.iter().find(|(program, _)| *program == name);
    let pushes = git && matches!(verb, Some("push" | "send-email" | "request-pull"));
    let git_local = git
        && !matches!(
            verb,
            Some(
                "push"
                    | "send-email"
                    | "request-pull"
                    | "clone"
                    | "fetch"
                    | "pull"
                    | "remote"
                    | "ls-remote"
                    | "submodule"
                    | "archive"
            )
        );
    if LOCAL.contains(&name) || git_local {
        return;
    }
    if let Some((_, implied)) = network {
        command.connects = true;
        if !implied.is_empty() {
            command.destinations.push((*implied).to_owned());
        }
    }
    command.connects |= pushes;
    if name == "openssl" {
        command.connects |= args.iter().any(|word| word.text == "s_client");
    }
    let curl = matches!(name, "curl" | "wget");
    let mut skip = false;
    for word in args {
        let text = word.text.as_str();
        if std::mem::take(&mut skip) && !text.contains("://") {
            continue;
        }
        if text.contains("://") {
            command.connects = true;
            urls(text, &mut command.destinations);
            continue;
        }
        if network.is_none() && !pushes && !command.connects {
            // `git clone git@host:path`
            if git && text.contains(':') {
                command.connects = true;
                host(text, &mut command.destinations);
            }
            continue;
        }
        if curl && VALUES.contains(&text) {
            skip = true;
            continue;
        }
        if text.starts_with('-') {
            if let Some((_, value)) = text
                .split_once('=')
                .filter(|(_, value)| value.contains('.'))
            {
                host(value, &mut command.destinations);
            }
            continue;
        }
        let shaped = text.contains(['.', ':', '@', '$']) || text == "localhost";
        let first = matches!(
            name,
            "ssh"
                | "sftp"
                | "telnet"
                | "nc"
                | "ncat"
                | "netcat"
                | "ping"
                | "ping6"
                | "ftp"
                | "host"
                | "dig"
                | "nslookup"
                | "mail"
                | "mailx"
                | "sendmail"
                | "traceroute"
        );
        // A port or a count; as an address it would be one of no machine.
        let port = text.parse::<u16>().is_ok();
        if (word.dynamic || shaped || first) && !port {
            host(text, &mut command.destinations);
        }
    }
    if pushes && command.destinations.is_empty() {
        let remote = args
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .nth(1);
        let remote = remote.map_or("origin", |word| word.text.as_str());
        command.destinations.push(format!("git remote {remote}"));
    }
}

/// The hosts of all addresses that stand in a word.
fn urls(text: &str, out: &mut Vec<String>) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let scheme = before
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .map_or(before, |at| before.get(at..).unwrap_or(before))
            .trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let end = after
            .find(|c: char| c.is_whitespace() || "\"'<>".contains(c))
            .unwrap_or(after.len());
        let address = after.get(..end).unwrap_or(after);
        let mut found = String::new();
        match address::host(&format!("{scheme}://{address}"), &mut found) {
            Ok(()) if !found.is_empty() && !address.contains(['$', '{', '\\']) => out.push(found),
            _ => out.push(format!("{scheme}://{address}")),
        }
        rest = after;
    }
}

/// The host of `user@host:path`, `host:port`, `host/path` or `host`.
fn host(text: &str, out: &mut Vec<String>) {
    let behind = text.rsplit_once('@').map_or(text, |(_, behind)| behind);
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    let authority = behind.get(..end).unwrap_or(behind);
    let mut found = String::new();
    match address::host(&format!("x://{authority}"), &mut found) {
        Ok(()) if !found.is_empty() && !authority.contains(['$', '{', '\\']) => out.push(found),
        _ => {
            let name = authority.split(':').next().unwrap_or_default();
            out.push(if name.is_empty() { text } else { name }.to_owned());
        }
    }
}
