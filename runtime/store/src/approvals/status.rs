//! Where a request for approval stands.

/// How the store writes an approval that holds until the conversation ends: a word of its
/// own, so that nothing takes it for one that is used up.
pub(super) const LASTING: &str = "lasting";

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nobody has decided.
    Pending,
    /// A human said yes; not used yet.
    Approved,
    /// A human said no.
    Denied,
    /// The approval has let its call through.
    Used,
    /// Nobody decided, or nobody used the approval, in time.
    Expired,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Approved,
        Self::Denied,
        Self::Used,
        Self::Expired,
    ];

    /// One lower-case word; stable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }

    /// The status that the store writes as `name`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if name == LASTING {
            return Some(Self::Approved);
        }
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}
