//! Why a plan is refused.

use std::fmt;

/// Why a plan is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError {
    kind: LoadErrorKind,
    what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadErrorKind {
    NotAPlan,
    Version(u32),
    Endian,
    Truncated,
    Digest,
    Layout,
    Content,
}

impl LoadError {
    pub(super) const fn not_a_plan() -> Self {
        Self {
            kind: LoadErrorKind::NotAPlan,
            what: "header",
        }
    }
    pub(super) const fn version(found: u32) -> Self {
        Self {
            kind: LoadErrorKind::Version(found),
            what: "header",
        }
    }
    pub(super) const fn endian() -> Self {
        Self {
            kind: LoadErrorKind::Endian,
            what: "header",
        }
    }
    pub(super) const fn truncated(what: &'static str) -> Self {
        Self {
            kind: LoadErrorKind::Truncated,
            what,
        }
    }
    pub(super) const fn digest() -> Self {
        Self {
            kind: LoadErrorKind::Digest,
            what: "header",
        }
    }
    pub(super) const fn layout(what: &'static str) -> Self {
        Self {
            kind: LoadErrorKind::Layout,
            what,
        }
    }
    pub(super) const fn content(what: &'static str) -> Self {
        Self {
            kind: LoadErrorKind::Content,
            what,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LoadErrorKind::NotAPlan => f.write_str(
                "this is not a plan: it does not start with `BNCRPLAN`; make one with `bouncer compile`",
            ),
            LoadErrorKind::Version(found) => write!(
                f,
                "the plan has format {found}, this program reads format {}; compile the policy again with this version",
                super::format::VERSION
            ),
            LoadErrorKind::Endian => f.write_str("the plan's endianness marker is damaged"),
            LoadErrorKind::Truncated => write!(f, "the plan ends inside its {}", self.what),
            LoadErrorKind::Digest => f.write_str(
                "the plan's digest does not fit its bytes: it is damaged or was edited; compile the policy again",
            ),
            LoadErrorKind::Layout => write!(f, "the plan's section `{}` is missing or misplaced", self.what),
            LoadErrorKind::Content => write!(f, "the plan's section `{}` refers to something that is not there", self.what),
        }
    }
}

impl std::error::Error for LoadError {}
