//! Diagnostics as data: what went wrong, where, and how to fix it.
//!
//! Errors and warnings are collected, never printed here. A code is stable and has
//! a page ([`explain`]); renderers turn diagnostics into text for people, one-line
//! text or JSON. Knows nothing of what the policies mean.

mod codes;
mod compile;
mod explain;
mod page;
mod pages;
mod quote;
mod render;
mod source;

pub use codes::Code;
pub use compile::{of_compile_errors, token_at};
pub use explain::{all_codes, explain};
pub use page::Page;
pub use quote::{escape, is_invisible, plain, quote, visible};
pub use render::{human, human_one, json, short};
pub use source::{Source, SourceMap, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is compiled.
    Error,
    /// Compiles, but probably means something else than its author thinks.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A stretch of source, and what to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The stretch.
    pub span: Span,
    /// What to say about it; may be empty.
    pub text: String,
}

/// A change of the source that would fix the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What to replace.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of problem.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// What is wrong: lower case, outside text quoted.
    pub message: String,
    /// Where. The first is the place itself, others explain it.
    pub labels: Vec<Label>,
    /// How to fix it.
    pub help: Option<String>,
    /// A change that fixes it.
    pub suggestion: Option<Suggestion>,
}

impl Diagnostic {
    /// A diagnostic at `span`; its severity is that of the code.
    #[must_use]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            labels: vec![Label {
                span,
                text: String::new(),
            }],
            help: None,
            suggestion: None,
        }
    }

    /// Says `text` below the underlined place.
    #[must_use]
    pub fn here(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Says how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Offers a change that fixes it.
    #[must_use]
    pub fn suggest(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.suggestion = Some(Suggestion {
            span,
            replacement: replacement.into(),
        });
        self
    }

    /// The place itself.
    #[must_use]
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::default(), |l| l.span)
    }
}

/// How many diagnostics one run keeps; more are counted only.
pub const MOST: usize = 100;

/// The diagnostics of one run, with the sources they point into.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    omitted: usize,
    sources: SourceMap,
}

impl Diagnostics {
    /// Sorts by file and place, drops repetitions and keeps the first [`MOST`].
    #[must_use]
    pub fn new(mut list: Vec<Diagnostic>, sources: SourceMap) -> Self {
        list.sort_by(|a, b| {
            let key = |d: &Diagnostic| (d.span(), d.code);
            key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
        });
        list.dedup();
        let omitted = list.len().saturating_sub(MOST);
        list.truncate(MOST);
        Self {
            list,
            omitted,
            sources,
        }
    }

    /// The diagnostics, sorted by file and place.
    #[must_use]
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many more there were.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The files that the diagnostics point into.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Collects the diagnostics of a run while it goes on.
///
/// Bounded: a hostile file with a million mistakes costs no more memory than
/// one with a few thousand.
#[derive(Debug, Default)]
pub struct Sink {
    list: Vec<Diagnostic>,
    dropped: usize,
    errors: usize,
}

/// What a [`Sink`] keeps before sorting.
const KEPT: usize = 4096;

impl Sink {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() < KEPT {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether more are only counted: suggestions for them are not worth the time.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= KEPT
    }

    /// How many errors there were so far.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Ends the run.
    #[must_use]
    pub fn finish(self, sources: SourceMap) -> Diagnostics {
        let mut diagnostics = Diagnostics::new(self.list, sources);
        diagnostics.omitted += self.dropped;
        diagnostics
    }
}
