//! What the variables of a script are, as far as it says: which have plain texts, so that
//! words with them can be read, and which can only be numbers.

use super::{Simple, Word, assignment};
use std::collections::HashMap;

/// Commands that one may become for the values of its variables, at most.
const MAX_VALUES: usize = 64;

/// Commands that set the variables behind them.
const SETTERS: [&str; 16] = [
    "read",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "select",
    "integer",
    "float",
    "vared",
];

/// Commands that may set any.
const ANY: [&str; 4] = ["eval", "source", ".", "trap"];

/// Variables that are numbers whatever happens.
const NUMBERS: [&str; 10] = [
    "RANDOM",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "PPID",
    "UID",
    "EUID",
    "BASHPID",
    "SHLVL",
    "OPTIND",
];

/// Variables that shells change by themselves, or treat in a way of their own.
const OWN: [&str; 16] = [
    "PWD",
    "OLDPWD",
    "REPLY",
    "OPTARG",
    "IFS",
    "_",
    "PATH",
    "HOME",
    "path",
    "status",
    "pipestatus",
    "argv",
    "match",
    "dirstack",
    "aliases",
    "functions",
];

#[derive(Default)]
struct Assigned {
    values: Vec<Word>,
    /// It may have other values as well.
    unknown: bool,
}

/// The variables of one script.
#[derive(Default)]
pub(super) struct Variables {
    names: HashMap<String, Assigned>,
    /// Something may set any of them.
    any: bool,
}

impl Variables {
    /// Those of these commands.
    pub(super) fn of(commands: &[Simple]) -> Self {
        let mut variables = Self::default();
        for command in commands {
            variables.add(command);
        }
        variables
    }

    fn add(&mut self, command: &Simple) {
        let count = command
            .words
            .iter()
            .take_while(|word| assignment(word).is_some())
            .count();
        let (assigned, rest) = command.words.split_at(count);
        // With a program behind it, a value is only the program's.
        let own = rest.is_empty();
        for (at, word) in assigned.iter().enumerate() {
            let Some((name, value)) = assignment(word) else {
                continue;
            };
            let adds = !word.text.starts_with(&format!("{name}="));
            let again = assigned.iter().enumerate().any(|(other, word)| {
                other != at && assignment(word).is_some_and(|(n, _)| n == name)
            });
            let entry = self.names.entry(name.to_owned()).or_default();
            entry.unknown |= !own || adds || again;
            let cut = word.text.len() - value.len();
            entry.values.push(behind(word, cut));
        }
        if let Some(first) = rest.first() {
            self.any |= ANY.contains(&first.text.as_str());
        }
        let setter = rest
            .iter()
            .position(|word| SETTERS.contains(&word.text.as_str()));
        let named = setter.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
        for word in named {
            let name = word.text.split('=').next().unwrap_or_default();
            self.names.entry(name.to_owned()).or_default().unknown = true;
            self.any |= word.dynamic && word.split;
        }
        self.any |= rest
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if matches!(a.text.as_str(), "command" | "builtin") && ANY.contains(&b.text.as_str())));
    }

    /// Whether a variable can only be a number.
    pub(super) fn is_number(&self, name: &str) -> bool {
        self.number(name, 0)
    }

    fn number(&self, name: &str, depth: usize) -> bool {
        let Some(assigned) = self.names.get(name) else {
            return NUMBERS.contains(&name);
        };
        !self.any
            && !assigned.unknown
            && depth < 8
            && assigned
                .values
                .iter()
                .all(|value| self.is_number_text(value, depth + 1))
    }

    /// Whether a word can only be a number.
    pub(super) fn is_number_word(&self, word: &Word) -> bool {
        !self.any && self.is_number_text(word, 0)
    }

    fn is_number_text(&self, word: &Word, depth: usize) -> bool {
        let mut rest = word.text.trim_start_matches('-');
        if rest.is_empty() {
            return false;
        }
        while !rest.is_empty() {
            let marks = ["$(number)", "$(nproc)", "$?", "$#", "$$", "$!"];
            let token = marks.iter().find_map(|mark| rest.strip_prefix(mark));
            if let Some(after) = token.filter(|_| word.dynamic) {
                rest = after;
            } else if let Some(after) = rest.strip_prefix("$((").filter(|_| word.dynamic) {
                let Some(end) = after.find("))") else {
                    return false;
                };
                rest = after.get(end + 2..).unwrap_or_default();
            } else if let Some(after) = rest.strip_prefix('$').filter(|_| word.dynamic) {
                let braced = after.starts_with('{');
                let after = after.trim_start_matches('{');
                let end = after
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(after.len());
                let (name, after) = after.split_at(end);
                if !self.number(name, depth) {
                    return false;
                }
                rest = if braced {
                    match after.strip_prefix('}') {
                        Some(after) => after,
                        None => return false,
                    }
                } else {
                    after
                };
            } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            } else {
                return false;
            }
        }
        true
    }

    /// The texts that a variable may have, if all are known.
    fn texts(&self, name: &str, quoted: bool) -> Option<Vec<&Word>> {
        let assigned = self.names.get(name)?;
        let split = self.names.contains_key("IFS");
        let plain = |word: &&Word| {
            let single = quoted
                || !(word.text.is_empty()
                    || split
                    || word.text.contains([' ', '\t', '\n', '*', '?', '[']) && !word.pattern);
            !word.dynamic && !word.code && single
        };
        let known = !self.any && !assigned.unknown && !OWN.contains(&name);
        let all: Vec<&Word> = assigned.values.iter().collect();
        (known && all.len() <= MAX_VALUES && all.iter().all(plain)).then_some(all)
    }

    /// The commands that one stands for, with the values of variables put in.
    pub(super) fn filled(&self, command: &Simple) -> Vec<Simple> {
        let mut all = vec![command.clone()];
        let words = command
            .words
            .iter()
            .chain(command.redirects.iter().map(|redirect| &redirect.target))
            .chain(&command.input);
        let mut names: Vec<(&str, bool)> = Vec::new();
        for variable in words.flat_map(|word| &word.variables) {
            match names.iter_mut().find(|(name, _)| *name == variable.name) {
                Some((_, quoted)) => *quoted &= variable.quoted,
                None => names.push((&variable.name, variable.quoted)),
            }
        }
        for (name, quoted) in names {
            let Some(values) = self.texts(name, quoted) else {
                continue;
            };
            if values.is_empty() || values.len() * all.len() > MAX_VALUES {
                continue;
            }
            all = all
                .iter()
                .flat_map(|command| values.iter().map(move |value| put(command, name, value)))
                .collect();
        }
        all
    }
}

/// The rest of a word.
fn behind(word: &Word, cut: usize) -> Word {
    let mut rest = word.clone();
    rest.text = word.text.get(cut..).unwrap_or_default().to_owned();
    for variable in &mut rest.variables {
        variable.start = variable.start.saturating_sub(cut);
        variable.end = variable.end.saturating_sub(cut);
    }
    rest
}

fn put(command: &Simple, name: &str, value: &Word) -> Simple {
    let mut command = command.clone();
    let words = command
        .words
        .iter_mut()
        .chain(
            command
                .redirects
                .iter_mut()
                .map(|redirect| &mut redirect.target),
        )
        .chain(&mut command.input);
    for word in words {
        put_into(word, name, value);
    }
    command
}

fn put_into(word: &mut Word, name: &str, value: &Word) {
    while let Some(at) = word
        .variables
        .iter()
        .position(|variable| variable.name == name && variable.set)
    {
        let variable = word.variables.remove(at);
        let (start, end) = (variable.start, variable.end);
        if word.text.get(start..end).is_none() {
            return;
        }
        word.text.replace_range(start..end, &value.text);
        for later in &mut word.variables {
            if later.start >= end {
                later.start = later.start - end + start + value.text.len();
                later.end = later.end - end + start + value.text.len();
            }
        }
        word.pattern |= value.pattern;
        word.split |= value.pattern;
    }
    if word.variables.is_empty() && !word.opaque {
        word.dynamic = false;
        word.split = word.pattern;
        word.open = word.pattern && word.text.starts_with(['*', '?', '[']);
    }
}
