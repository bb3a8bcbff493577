//! What is wrong with a pattern, and where.

/// What is wrong with a pattern, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    /// What is wrong; lower case, input in back-ticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// First byte in the pattern.
    pub start: usize,
    /// One past the last byte in the pattern; never before `start`.
    pub end: usize,
}

impl RegexError {
    pub(super) fn new(message: impl Into<String>, start: usize, end: usize) -> RegexError {
        RegexError {
            message: message.into(),
            help: None,
            start,
            end: end.max(start),
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> RegexError {
        self.help = Some(help.into());
        self
    }
}
