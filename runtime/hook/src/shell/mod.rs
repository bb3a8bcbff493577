//! Reads a shell command conservatively: which programs it starts, with which words,
//! and which files it opens. Knows nothing of policies, and runs nothing.
//!
//! It is no shell. What it does not understand for certain it says it cannot read, and
//! the caller puts that to a human. What it must never do is overlook a command.

mod builds;
mod command;
mod git;
mod meaning;
mod options;
mod reach;
mod reader;
mod runs;
mod scripts;
mod table;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use meaning::read;

/// How the directory is asked for at which a project of git begins.
pub const TOP: &str = "$(git rev-parse --show-toplevel)";

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes; expansions stand there as written.
    pub text: String,
    /// Part of it is only known when the command runs: a variable, a substitution.
    pub dynamic: bool,
    /// It has an unquoted pattern, which stands for files.
    pub pattern: bool,
    /// The pattern can stand for files whose names begin with a full stop.
    pub hidden: bool,
    /// It may turn out to be several words, or an option.
    pub open: bool,
    /// It may turn out to be several words.
    pub split: bool,
    /// It has an unquoted pattern in braces.
    pub braces: bool,
    /// It holds a command between brackets, which arithmetic would run.
    pub code: bool,
}

/// A file that a command opens by redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// It is written, not read.
    pub write: bool,
    /// The file.
    pub target: Word,
}

/// One simple command: words and redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Its words; assignments first.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The here document or here string that it reads.
    pub input: Option<Word>,
    /// It reads what another command prints.
    pub piped: bool,
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
