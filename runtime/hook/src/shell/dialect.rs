//! The shells as which a text is read. Where they differ each reading is judged.

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `bash`, also as `sh`.
    Bash,
    /// `dash`, also as `sh`.
    Dash,
    /// `zsh`.
    Zsh,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Dash, Self::Zsh];

    /// Whether a here document inside `$(…)` also ends at a line that begins with its end
    /// and has a closing parenthesis behind it.
    pub const fn ends_documents_early(self) -> bool {
        matches!(self, Self::Bash)
    }

    /// Whether it has `[[`, arrays, braces, `&>`, `((` and what else is no part of POSIX.
    pub const fn is_rich(self) -> bool {
        !matches!(self, Self::Dash)
    }
}
