//! What the commands of a script are: wrappers such as `env` and `xargs` taken off,
//! scripts inside scripts read, and which hosts and files are named.

use super::builds::{build, package_tool, project, query};
use super::command::Command;
use super::dialect::Dialect;
use super::git::git;
use super::listed;
use super::options::{Style, parse};
use super::reach::{files, guess, hosts, is_stream, leaves, machines, paths, values};
use super::reader::{self, Unread};
use super::runs::{Runs, Shell, interpreter, is_wrapper, setting, shell, starts_more, wrapped};
use super::scripts::{awk, condition, printf, sed, tar};
use super::search::below;
use super::table::{self, Operands, SYSTEM};
use super::tools::{self, tool_command};
use super::variables::Variables;
use super::{Simple, Word, assignable, assignment};
use std::collections::HashSet;

/// A script with more commands is asked about, though all of them are judged.
const MAX_COMMANDS: usize = 200;

/// What was read of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The commands, in no particular order.
    pub commands: Vec<Command>,
    /// Why part of the script could not be read, if so.
    pub unread: Option<String>,
    /// Part of it is only known when it runs.
    pub dynamic: bool,
    /// The functions that it defines.
    functions: HashSet<String>,
}

/// Where a list of words stands.
#[derive(Clone, Copy, Default)]
struct Place<'w> {
    /// The here document or here string that it reads.
    input: Option<&'w Word>,
    /// Words that are not seen here are added to it.
    fed: bool,
    /// A program stands in front that starts programs only.
    wrapped: bool,
    depth: usize,
}

/// Reads a script.
#[must_use]
pub fn read(text: &str) -> Script {
    let mut script = Script::default();
    if let Err(why) = script.add(text, 0) {
        script.unread = Some(why);
    }
    if let Err(why) = listed::join(&mut script.commands) {
        script.unread.get_or_insert(why);
    }
    script
}

/// Options and other words of a program of which no table knows how it takes them.
fn plain_words(words: &[Word]) -> (Vec<String>, Vec<String>) {
    let args = words.iter().skip(1).map(|word| word.text.clone());
    args.partition(|text| text.len() > 1 && text.starts_with('-'))
}

/// A command of which some option is not known, under each verb that it may have.
fn with_verbs(command: &Command, args: &[Word]) -> Vec<Command> {
    let verbs = tools::may_be_verbs(args);
    let with = |verb| Command {
        verb,
        ..command.clone()
    };
    verbs.into_iter().map(with).collect()
}

/// Whether a word may run the words behind it as a command of the shell itself.
fn shell_word(name: &str) -> bool {
    matches!(
        name,
        "eval"
            | "exec"
            | "command"
            | "builtin"
            | "."
            | "source"
            | "trap"
            | "alias"
            | "noglob"
            | "nocorrect"
            | "time"
            | "coproc"
            | "-"
    )
}

/// The name under which a program is known.
fn known_as(text: &str) -> &str {
    SYSTEM
        .iter()
        .find_map(|directory| text.strip_prefix(directory))
        .filter(|name| !name.contains('/') && !name.is_empty())
        .unwrap_or(text)
}

impl Script {
    /// Adds what each shell reads in a text.
    fn add(&mut self, text: &str, depth: usize) -> Result<(), Unread> {
        // What comes behind what cannot be read may still be worth a denial.
        let mut unread = None;
        let mut seen = HashSet::new();
        for dialect in Dialect::ALL {
            let read = reader::commands(text, depth, dialect);
            unread = unread.or(read.unread);
            self.functions.extend(read.functions);
            let variables = Variables::of(&read.commands);
            for simple in &read.commands {
                for simple in variables.filled(simple) {
                    if !seen.insert(simple.clone()) {
                        continue;
                    }
                    if let Err(why) = self.simple(&simple, &variables, depth) {
                        unread.get_or_insert(why);
                    }
                }
            }
        }
        if seen.len() > MAX_COMMANDS {
            unread.get_or_insert("it has very many commands".to_owned());
        }
        unread.map_or(Ok(()), Err)
    }

    fn simple(
        &mut self,
        simple: &Simple,
        variables: &Variables,
        depth: usize,
    ) -> Result<(), Unread> {
        let mut base = Command {
            piped: simple.piped,
            handed: simple.handed,
            ..Command::default()
        };
        let mut unread = None;
        let all = simple.words.iter().chain(&simple.input);
        for word in all.chain(simple.redirects.iter().map(|redirect| &redirect.target)) {
            self.dynamic |= word.dynamic;
            // Bash works out what stands between brackets, and runs what it finds there.
            if word.code {
                unread.get_or_insert("a word holds a command between brackets".to_owned());
            }
            if let Some(name) = word
                .worked_out
                .iter()
                .find(|name| !variables.is_number(name))
            {
                unread.get_or_insert(format!("it works out what stands in `{name}`"));
            }
        }
        if let Err(why) = condition(&simple.words, variables) {
            unread.get_or_insert(why);
        }
        for redirect in &simple.redirects {
            let target = &redirect.target;
            // What a pattern stands for is looked up on the disk.
            let odd = redirect.write || target.text.starts_with(['=', '~']);
            if target.dynamic || target.pattern && odd {
                unread.get_or_insert(
                    "where it reads or writes is put together when it runs".to_owned(),
                );
                continue;
            }
            let mut parts = target
                .text
                .split('/')
                .filter(|part| !part.is_empty() && *part != ".");
            match (parts.next(), parts.next(), parts.next()) {
                (Some("dev"), Some("tcp" | "udp"), host) if target.text.starts_with('/') => {
                    base.connects = true;
                    base.sends = true;
                    base.destinations.push(host.unwrap_or_default().to_owned());
                }
                _ if is_stream(&target.text) => {}
                _ if redirect.write => base.writes.push(target.text.clone()),
                _ => base.reads.push(target.text.clone()),
            }
        }
        let assigned = simple
            .words
            .iter()
            .take_while(|word| assignment(word).is_some());
        let count = assigned.clone().count();
        let words = simple.words.get(count..).unwrap_or_default();
        // Only for `read` itself, as the idiom has it.
        let read = words.first().is_some_and(|word| word.text == "read");
        base.env = assigned
            .filter_map(setting)
            .filter(|name| !(read && name == "IFS"))
            .collect();
        let place = Place {
            input: simple.input.as_ref(),
            depth,
            ..Place::default()
        };
        let done = self.command(base, words, place);
        unread.map_or(done, Err)
    }

    /// Adds what a list of words starts.
    fn command(
        &mut self,
        mut base: Command,
        words: &[Word],
        place: Place<'_>,
    ) -> Result<(), Unread> {
        if place.depth > 32 {
            return Err("it nests very deep".to_owned());
        }
        let Some((program, args)) = words.split_first() else {
            base.known = true;
            self.commands.push(base);
            return Ok(());
        };
        let bracket = matches!(program.text.as_str(), "[" | "[[" | "((");
        if program.dynamic
            || ((program.pattern || program.open) && !bracket)
            || program.text.starts_with('~')
        {
            return Err("a program's name is put together when it runs".to_owned());
        }
        let keyword = matches!(
            program.text.as_str(),
            "!" | "if"
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
                | "foreach"
                | "repeat"
                | "end"
        );
        if keyword
            || program.text.is_empty()
            || program.text.starts_with(['-', '+'])
            || program.text.contains(['{', '}'])
        {
            return Err(format!("`{}` stands where a program should", program.text));
        }
        let name = known_as(&program.text).to_owned();
        base.known = false;
        base.program.clone_from(&name);
        base.words = words.iter().map(|word| word.text.clone()).collect();
        self.dynamic |= place.fed;
        base.dynamic = place.fed || args.iter().any(|word| word.dynamic);
        let function = self.functions.contains(&name) && !place.wrapped;
        let asks = matches!(args, [word] if matches!(word.text.as_str(), "--version" | "--help"));
        if asks && !function && !place.fed && !name.contains('/') && !shell_word(&name) {
            base.known = true;
            base.flags = args.iter().map(|word| word.text.clone()).collect();
            self.commands.push(base);
            return Ok(());
        }
        if name.contains('/') {
            return self.path(base, words, place);
        }
        if starts_more(&name, args) {
            base.known = true;
            base.runs.push(".".to_owned());
            return self.wrapper(base, args, place);
        }
        if tools::is_tool(&name) {
            if place.fed {
                return Err(format!("`{name}` is handed what another command prints"));
            }
            tool_command(&mut base, args)?;
            if base.verb.is_empty() {
                let (flags, operands) = plain_words(words);
                base.described(&flags, operands);
                self.commands.extend(with_verbs(&base, args));
            }
            self.commands.push(base);
            return Ok(());
        }
        let Some(row) = table::program(&name) else {
            if function {
                // Its body is judged by itself; what it does with its words is not seen.
                base.known = true;
                base.reads.extend(args.iter().map(|word| word.text.clone()));
                guess(&mut base, args);
                self.commands.push(base);
                return Ok(());
            }
            if place.fed {
                return Err(format!("`{name}` is handed what another command prints"));
            }
            if table::runs_commands(&name) {
                return Err(format!("`{name}` runs commands of its own"));
            }
            let (flags, operands) = plain_words(words);
            base.described(&flags, operands);
            guess(&mut base, args);
            self.commands.push(base);
            return Ok(());
        };
        base.known = true;
        let (flags, operands) = plain_words(words);
        let fallback = base.clone();
        let done = self.row(base, row, args, place);
        let done = if place.fed && !row.harmless {
            done.and(Err(format!(
                "`{name}` is handed what another command prints"
            )))
        } else {
            done
        };
        if done.is_err() {
            // Where it leads is judged all the same.
            let mut guessed = Command {
                known: false,
                flags,
                operands,
                ..fallback
            };
            if matches!(row.operands, Operands::Hosts | Operands::Remote) {
                (guessed.connects, guessed.sends) = (true, true);
                let words = args.iter().filter(|word| !word.text.starts_with('-'));
                guessed
                    .destinations
                    .extend(words.map(|word| word.text.clone()));
            }
            guess(&mut guessed, args);
            if name == "git" || matches!(row.operands, Operands::Verb) {
                self.commands.extend(with_verbs(&guessed, args));
            }
            self.commands.push(guessed);
        }
        done
    }

    /// A program that is named by its path: code of the project, or of elsewhere. Under a
    /// name that is known it is read as that as well.
    fn path(&mut self, mut base: Command, words: &[Word], place: Place<'_>) -> Result<(), Unread> {
        let path = base.program.clone();
        let bare = path.rsplit('/').next().unwrap_or_default().to_owned();
        if place.fed {
            return Err(format!("`{path}` is handed what another command prints"));
        }
        base.runs.push(path.clone());
        let known = table::program(&bare).is_some_and(|row| {
            matches!(
                row.operands,
                Operands::Own | Operands::Script | Operands::Hosts | Operands::Remote
            )
        });
        if table::runs_commands(&bare) {
            return Err(format!("`{path}` runs commands of its own"));
        }
        // A program of the project that is called as one of the system's is not taken for it.
        let surroundings = ["bin/", ".bin/"].iter().any(|place| {
            ["venv/", ".venv/", "node_modules/"]
                .iter()
                .any(|folder| path.contains(&format!("{folder}{place}")))
        });
        if !known || !surroundings {
            base.known = table::program(&bare).is_none() || surroundings;
            let (flags, operands) = plain_words(words);
            base.described(&flags, operands);
            guess(&mut base, words.get(1..).unwrap_or_default());
            self.commands.push(base);
            return Ok(());
        }
        let from = self.commands.len();
        let mut renamed = words.to_vec();
        if let Some(first) = renamed.first_mut() {
            first.text.clone_from(&bare);
        }
        let done = self.command(base, &renamed, place);
        for command in self.commands.iter_mut().skip(from) {
            if command.program == bare {
                command.program.clone_from(&path);
            }
        }
        done
    }

    /// Adds a program of the table.
    fn row(
        &mut self,
        mut base: Command,
        row: &table::Program,
        args: &[Word],
        place: Place<'_>,
    ) -> Result<(), Unread> {
        let name = base.program.clone();
        match row.operands {
            Operands::Own => return self.own(base, args, place),
            Operands::Script => return self.script(base, row, args, place),
            Operands::Build | Operands::Verb => build(&mut base, row, args)?,
            Operands::Project => project(&mut base, args),
            Operands::Query => query(&mut base, row, args)?,
            operands => {
                let parsed = parse(&name, row.options, row.style, row.harmless, args)?;
                base.described(&parsed.shown, parsed.texts());
                values(&mut base, &parsed)?;
                base.below = below(&name, &parsed);
                match operands {
                    Operands::Hosts => hosts(&mut base, &parsed)?,
                    Operands::Remote => {
                        machines(&mut base, &parsed)?;
                        self.commands.push(base);
                        return Err(format!("what `{name}` does on another machine is not seen"));
                    }
                    _ => {
                        files(&mut base, operands, &parsed)?;
                        listed::described(&mut base, operands, &parsed, place.fed);
                    }
                }
            }
        }
        self.commands.push(base);
        Ok(())
    }

    /// Programs that are read by code of their own.
    fn own(&mut self, mut base: Command, args: &[Word], place: Place<'_>) -> Result<(), Unread> {
        let name = base.program.clone();
        match name.as_str() {
            "command"
                if matches!(
                    args.first().map(|word| word.text.as_str()),
                    Some("-v" | "-V")
                ) => {}
            _ if is_wrapper(&name) => return self.wrapper(base, args, place),
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" => {
                let script = shell(&name, args)?;
                if let Shell::File(file) = script {
                    base.scripts.push(file.text.clone());
                    guess(&mut base, args);
                }
                self.commands.push(base);
                return match (script, place.input) {
                    (Shell::Text(text), _) => self.add(&text.text, place.depth + 1),
                    (Shell::Input, Some(script)) if !script.dynamic => {
                        self.add(&script.text, place.depth + 1)
                    }
                    (Shell::File(file), _) if file.text != "-" => Ok(()),
                    _ => Err(format!("`{name}` takes its commands from elsewhere")),
                };
            }
            "eval" => {
                if args.iter().any(|word| word.dynamic || word.pattern) {
                    return Err("`eval` runs what is put together when it runs".to_owned());
                }
                let text: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
                self.commands.push(base);
                return self.add(&text.join(" "), place.depth + 1);
            }
            "source" | "." => match args.first() {
                Some(file) if !file.dynamic && !file.pattern && !file.text.starts_with('-') => {
                    base.scripts.push(file.text.clone());
                }
                _ => return Err(format!("`{name}` takes its commands from elsewhere")),
            },
            "export" | "declare" | "typeset" | "readonly" | "local" => {
                let parsed = parse(&name, "xrgp", Style::Usual, false, args)?;
                base.env
                    .extend(parsed.operands.iter().filter_map(|word| setting(word)));
            }
            "unset" => base.env.extend(args.iter().map(|word| word.text.clone())),
            "read" => {
                let parsed = parse(&name, "rs p= t= n= d= u=", Style::Usual, false, args)?;
                let names = parsed.operands.iter().map(|word| word.text.clone());
                let names: Vec<String> = names.collect();
                if !names.iter().all(|name| assignable(name)) {
                    return Err("`read` sets what is put together when it runs".to_owned());
                }
                base.env.extend(names);
            }
            "set" => {
                let plain = |word: &Word| {
                    let letters = word.text.trim_start_matches(['-', '+']);
                    letters.chars().all(|c| "euxvfo".contains(c))
                        || matches!(letters, "pipefail" | "errexit" | "nounset" | "xtrace")
                };
                let options = args.iter().take_while(|word| word.text != "--");
                if !options.clone().all(|word| !word.dynamic && plain(word)) {
                    return Err("`set` has words that are not known".to_owned());
                }
            }
            "printf" => {
                printf(args)?;
                base.listed = args.iter().map(|word| word.text.clone()).collect();
            }
            "cd" | "pushd" => {
                base.operands = args.iter().map(|word| word.text.clone()).collect();
                let to = args
                    .iter()
                    .find(|word| !word.text.starts_with('-') || word.text == "-");
                let top = to.is_some_and(|word| word.text == super::TOP);
                if !top && to.is_some_and(|word| word.dynamic || word.pattern) {
                    return Err("it goes to a directory that is only known when it runs".to_owned());
                }
                // Of two, some shells put the second in the place of the first in `$PWD`.
                let words = args.iter().filter(|word| !word.text.starts_with('-'));
                if words.count() > 1 {
                    return Err(format!("`{name}` has more than one word"));
                }
                base.directory = Some(to.map_or_else(|| "~".to_owned(), |word| word.text.clone()));
            }
            "git" => git(&mut base, args)?,
            "sed" | "gsed" => sed(&mut base, args)?,
            "awk" | "gawk" | "mawk" | "nawk" => awk(&mut base, args)?,
            "tar" | "bsdtar" | "gtar" => tar(&mut base, args)?,
            "find" | "gfind" => {
                base.lists = Some(listed::found(args));
                self.find(&mut base, args, place.depth)?;
            }
            "dd" => {
                for word in args {
                    match word.text.split_once('=').filter(|_| !word.split) {
                        Some(("of", to)) if !word.dynamic => base.writes.push(to.to_owned()),
                        Some(("if", from)) => base.reads.push(from.to_owned()),
                        Some(("bs" | "count" | "status" | "seek" | "skip" | "conv", _)) => {}
                        _ => return Err("`dd` has a word that is not known".to_owned()),
                    }
                }
            }
            "npx" => {
                let mut rest = args.iter();
                let tool = rest.find(|word| !matches!(word.text.as_str(), "--no-install" | "--no"));
                let text = |word: Option<&Word>| {
                    let plain = word.filter(|word| !word.dynamic);
                    plain.map_or_else(String::new, |word| word.text.clone())
                };
                if !package_tool(&text(tool), &text(rest.next())) {
                    return Err("`npx` fetches and runs what is not known".to_owned());
                }
                guess(&mut base, args);
            }
            "bouncer" => {
                let words = args.iter().filter(|word| !word.text.starts_with('-'));
                base.reads.extend(words.map(|word| word.text.clone()));
            }
            "hostname" if !args.is_empty() => base.known = false,
            _ => {}
        }
        if base.flags.is_empty() && base.operands.is_empty() {
            let words: Vec<Word> = std::iter::once(Word::default())
                .chain(args.iter().cloned())
                .collect();
            let (flags, operands) = plain_words(&words);
            base.described(&flags, operands);
        }
        self.commands.push(base);
        Ok(())
    }

    fn wrapper(&mut self, base: Command, args: &[Word], place: Place<'_>) -> Result<(), Unread> {
        let name = base.program.clone();
        let mut inner = Command {
            words: Vec::new(),
            program: String::new(),
            ..base.clone()
        };
        let rest = wrapped(&name, args, &mut inner.env)?;
        let feeds = name.ends_with("xargs");
        // `sudo` and the like are worth a rule of their own.
        let mut outer = base;
        let count = outer.words.len() - rest.len();
        outer.words.truncate(count);
        if !rest.is_empty() {
            (outer.writes, outer.reads) = (Vec::new(), Vec::new());
        }
        if feeds {
            outer.listed = listed::handed(place.input);
            outer.handed |= !outer.listed.is_empty();
        }
        self.commands.push(outer);
        if rest.is_empty() {
            return Ok(());
        }
        let inside = Place {
            fed: place.fed || feeds,
            input: place.input.filter(|_| !feeds),
            wrapped: true,
            depth: place.depth + 1,
        };
        self.command(inner, rest, inside)
    }

    /// An interpreter with a file, or with a module that is a program of its own.
    fn script(
        &mut self,
        mut base: Command,
        row: &table::Program,
        args: &[Word],
        place: Place<'_>,
    ) -> Result<(), Unread> {
        match interpreter(&base.program, row.options, args)? {
            Runs::File(file, rest) => {
                base.scripts.push(file.text.clone());
                base.operands = rest.iter().map(|word| word.text.clone()).collect();
                guess(&mut base, rest);
            }
            Runs::Module("pip", rest) => {
                let program = Word {
                    text: "pip".to_owned(),
                    ..Word::default()
                };
                let words: Vec<Word> = std::iter::once(program)
                    .chain(rest.iter().cloned())
                    .collect();
                return self.command(base, &words, place);
            }
            Runs::Module(module, rest) => {
                let files: Vec<&Word> = rest
                    .iter()
                    .filter(|word| !word.text.starts_with('-'))
                    .collect();
                // Which of them it writes, and of which it runs code, is not known here.
                let named = paths(&base.program, &files)?;
                base.runs.push(".".to_owned());
                base.runs
                    .extend(named.iter().filter(|path| leaves(path)).cloned());
                base.writes.extend(named);
                if rest.iter().any(|word| word.text == "-") {
                    return Err(format!("`{module}` takes its code from elsewhere"));
                }
                guess(&mut base, rest);
            }
            Runs::Nothing => {}
        }
        self.commands.push(base);
        Ok(())
    }

    /// `find`: what it starts, and that it does nothing else.
    fn find(&mut self, base: &mut Command, args: &[Word], depth: usize) -> Result<(), Unread> {
        let mut roots: Vec<&Word> = Vec::new();
        let mut rest = args;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            match word.text.as_str() {
                "-H" | "-L" | "-P" | "(" | ")" | "!" | "," | "-o" | "-a" | "-not" | "-and"
                | "-or" | "-print" | "-print0" | "-prune" | "-empty" | "-readable"
                | "-writable" | "-executable" | "-depth" | "-xdev" | "-mount" | "-true"
                | "-false" | "-quit" | "-ls" | "-follow" | "-E" => {}
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex"
                | "-type" | "-size" | "-mtime" | "-mmin" | "-newer" | "-maxdepth" | "-mindepth"
                | "-perm" | "-user" | "-group" | "-regextype" | "-atime" | "-ctime" | "-cmin"
                | "-amin" | "-links" | "-printf" | "-samefile" | "-newermt" => {
                    let (value, after) = after.split_first().ok_or("`find` has no value")?;
                    if value.split {
                        return Err("words of `find` are put together when it runs".to_owned());
                    }
                    rest = after;
                }
                "-delete" => base.writes.extend(if roots.is_empty() {
                    vec![".".to_owned()]
                } else {
                    paths("find", &roots)?
                }),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = rest.iter().position(|word| word.text == ";");
                    let plus = rest
                        .windows(2)
                        .position(|pair| matches!(pair, [a, b] if a.text == "{}" && b.text == "+"));
                    let end = match (end, plus.map(|at| at + 1)) {
                        (Some(end), Some(plus)) => end.min(plus),
                        (end, plus) => end.or(plus).ok_or("`find -exec` has no end")?,
                    };
                    let (inner, after) = rest.split_at(end);
                    rest = after.get(1..).unwrap_or_default();
                    let command = Command {
                        env: base.env.clone(),
                        ..Command::default()
                    };
                    let inside = Place {
                        fed: true,
                        wrapped: true,
                        depth: depth + 1,
                        input: None,
                    };
                    if inner.first().is_some_and(|word| word.text.contains("{}")) {
                        return Err("`find` is handed the program's name".to_owned());
                    }
                    let from = self.commands.len();
                    self.command(command, inner, inside)?;
                    // It reads what is found here, nothing else.
                    let mut read = false;
                    for command in self.commands.iter_mut().skip(from) {
                        read |= std::mem::take(&mut command.named_elsewhere)
                            || !listed::names_only(&command.program);
                    }
                    if read {
                        base.deep = true;
                        base.below = base.lists.clone();
                    }
                }
                text if text.starts_with('-') || word.open => {
                    return Err(format!("`find {text}` is not known"));
                }
                text => {
                    roots.push(word);
                    base.reads.push(text.to_owned());
                }
            }
        }
        if roots.is_empty() {
            base.reads.push(".".to_owned());
        }
        Ok(())
    }
}
