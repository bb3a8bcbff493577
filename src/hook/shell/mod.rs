//! Reads a shell command conservatively: which programs it starts, with which words,
//! and which files it opens. Knows nothing of policies, and runs nothing.
//!
//! It is no shell. What it does not understand for certain it says it cannot read, and
//! the caller puts that to a human. What it must never do is overlook a command.

mod meaning;
mod reach;
mod reader;
mod runs;
#[cfg(test)]
mod tests;

pub use meaning::{Command, read};

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes; expansions stand there as written.
    pub text: String,
    /// Part of it is only known when the command runs: a variable, a substitution.
    pub dynamic: bool,
    /// It has an unquoted pattern, which stands for files.
    pub pattern: bool,
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
