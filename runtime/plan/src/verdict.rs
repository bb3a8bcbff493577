//! The words of a decision: verdict, the stage that decided, provenance labels.
//!
//! Plain data without behaviour beyond order, names and a stable byte for the
//! plan format. It may not know of plans, calls or conversations.

use std::fmt;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// What happens to a call. Ordered by strictness: `Allow < Ask < Deny`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    TryFromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(u8)]
pub enum Verdict {
    /// The call is forwarded unchanged.
    Allow = 0,
    /// A human has to approve first; nobody to ask means the call is blocked.
    Ask = 1,
    /// The call is blocked.
    Deny = 2,
}

impl Verdict {
    /// The verdict whose stable byte is `byte`, if there is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Allow),
            1 => Some(Self::Ask),
            2 => Some(Self::Deny),
            _ => None,
        }
    }

    /// The name as policies and audit lines write it: `allow`, `ask` or `deny`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The part of the policy that decided a call, in the order of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// The arguments are not one well-formed JSON object within the limits.
    Malformed = 0,
    /// The tool is not in the pinned set, or its definition changed.
    Pinning = 1,
    /// `max_calls` or a rate is used up.
    Budget = 2,
    /// A write path or an argument pattern of the tool's contract.
    Constraint = 3,
    /// The first matching rule, or the rules' defaults.
    Rule = 4,
    /// A destination that nothing vouches for.
    SinkGate = 5,
    /// What the call does, and what was read before it.
    Effect = 6,
    /// Nothing had an opinion.
    Default = 7,
}

impl Stage {
    /// All of them, in the order of evaluation.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::Pinning,
        Self::Budget,
        Self::Constraint,
        Self::Rule,
        Self::SinkGate,
        Self::Effect,
        Self::Default,
    ];

    /// The name as audit lines write it, for example `sink_gate`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Pinning => "pinning",
            Self::Budget => "budget",
            Self::Constraint => "constraint",
            Self::Rule => "rule",
            Self::SinkGate => "sink_gate",
            Self::Effect => "effect",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who may have written a recorded value.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    TryFromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(u8)]
pub enum Label {
    /// The server's own record, such as the user's contacts.
    Trusted = 0,
    /// A fact the server states that an outsider can influence but not phrase.
    Observed = 1,
    /// Anybody may have written it. The default.
    Untrusted = 2,
}

impl Label {
    /// The label whose stable byte is `byte`, if there is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Trusted),
            1 => Some(Self::Observed),
            2 => Some(Self::Untrusted),
            _ => None,
        }
    }

    /// The name as policies write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Observed => "observed",
            Self::Untrusted => "untrusted",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
