//! What the commands of a script are: wrappers such as `env` and `xargs` taken off,
//! scripts inside scripts read, and which hosts and files are named.

use super::reach::{destinations, files};
use super::reader::{self, Unread};
use super::runs::{assignment, git_settings, interpreter, wrapped};
use super::{Simple, Word};

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
