//! What there is to know about a code, and how that is written.

use super::{Code, Severity};
use std::fmt;

/// What there is to know about a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The code.
    pub code: Code,
    /// Error, warning or note.
    pub severity: Severity,
    /// The problem in a few words.
    pub title: &'static str,
    /// What the diagnostic means.
    pub means: &'static str,
    /// Why it is a problem.
    pub why: &'static str,
    /// A policy that has the problem. A line `# file: NAME` starts the next file; one
    /// called `tools.json` is a list of tools that servers offer.
    pub example: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

impl fmt::Display for Page {
    /// Writes the page as Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}: {}", self.code, self.title)?;
        writeln!(f, "\n## What it means\n{}", self.means)?;
        writeln!(f, "\n## Why\n{}", self.why)?;
        writeln!(f, "\n## Example\n```yaml\n{}\n```", self.example.trim_end())?;
        writeln!(f, "\n## Fix\n{}", self.fix)
    }
}
