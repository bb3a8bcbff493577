//! Reads a shell command conservatively: which programs it starts, with which words,
//! and which files it opens. Knows nothing of policies, and runs nothing.
//!
//! It is no shell. What it does not understand for certain it says it cannot read, and
//! the caller puts that to a human. What it must never do is overlook a command.

mod builds;
mod command;
mod dialect;
mod git;
mod listed;
mod meaning;
mod options;
mod reach;
mod reader;
mod runs;
mod scripts;
mod search;
mod table;
#[cfg(test)]
mod tests;
mod tools;
mod variables;

pub use command::Command;
pub use listed::names_only;
pub use meaning::read;

/// How the directory is asked for at which a project of git begins.
pub const TOP: &str = "$(git rev-parse --show-toplevel)";

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word {
    /// The word without its quotes; expansions stand there as written.
    pub text: String,
    /// Part of it is only known when the command runs: a variable, a substitution.
    pub dynamic: bool,
    /// It has an unquoted pattern, which stands for files.
    pub pattern: bool,
    /// It may turn out to be several words, or an option.
    pub open: bool,
    /// It may turn out to be several words.
    pub split: bool,
    /// It has an unquoted pattern in braces.
    pub braces: bool,
    /// It holds a command between brackets, which arithmetic would run.
    pub code: bool,
    /// More of it is only known when the command runs than variables by themselves.
    pub opaque: bool,
    /// The variables that stand in it by themselves.
    pub variables: Vec<Variable>,
    /// Variables whose values the shell works out as numbers, and commands that stand
    /// among these.
    pub worked_out: Vec<String>,
}

/// A variable in a word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it begins in the word's text.
    pub start: usize,
    /// Where it ends there.
    pub end: usize,
    /// It has certainly been set by then.
    pub set: bool,
    /// It stands in quotes.
    pub quoted: bool,
}

/// A file that a command opens by redirection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// It is written, not read.
    pub write: bool,
    /// The file.
    pub target: Word,
}

/// One simple command: words and redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Simple {
    /// Its words; assignments first.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The here document or here string that it reads.
    pub input: Option<Word>,
    /// It reads what another command prints.
    pub piped: bool,
    /// What it prints may be handed on to another: by a pipe or a substitution.
    pub handed: bool,
    /// It is the list of a `for`: a variable takes these values in turn.
    pub looped: bool,
}

/// Whether a variable can have this name.
fn assignable(name: &str) -> bool {
    let mut chars = name.chars();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(plain)
}

/// The variable that a word assigns to, and the value.
fn assignment(word: &Word) -> Option<(&str, &str)> {
    let (name, value) = word.text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    assignable(name).then_some((name, value))
}
