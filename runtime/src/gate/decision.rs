//! The answer to a call, and the permit to forward it.

use super::Call;
use crate::{Stage, Verdict};

/// The answer to one call.
#[derive(Debug)]
pub struct Decision<'a> {
    verdict: Verdict,
    stage: Stage,
    message: Option<&'a [u8]>,
}

/// Where the deciding part of the policy was written. Counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The file's display name.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// The column in characters.
    pub column: u32,
}

/// What a human would be asked to vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The parameter (a path of the arguments).
    pub param: &'a str,
    /// The destination, exactly as it would be forwarded.
    pub destination: &'a str,
}

/// The right to forward one judged message. Only a decision that allows makes one.
#[derive(Debug)]
pub struct Permit<'a> {
    message: Option<&'a [u8]>,
}

impl<'a> Permit<'a> {
    /// A permit without a decision, for tests of those who need one.
    #[cfg(test)]
    pub(crate) const fn for_tests(call: &Call<'a>) -> Self {
        Self {
            message: call.message,
        }
    }

    /// The judged message; `None` for a hypothetical call.
    #[must_use]
    pub const fn message(&self) -> Option<&'a [u8]> {
        self.message
    }
}

impl<'a> Decision<'a> {
    pub(super) fn blocked(call: &Call<'a>) -> Self {
        Self {
            verdict: Verdict::Deny,
            stage: Stage::Malformed,
            message: call.message,
        }
    }

    /// Allow, ask or deny.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The part of the policy that decided.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Why, in words: deterministic, with values from outside quoted and escaped.
    #[must_use]
    pub fn reason(&self) -> String {
        String::new()
    }

    /// Where the deciding part of the policy was written, if anywhere.
    #[must_use]
    pub const fn position(&self) -> Option<Position<'a>> {
        None
    }

    /// For an ask of the sink gate: what to vouch for. `None`: nothing that a human
    /// could approve for the conversation.
    #[must_use]
    pub const fn question(&self) -> Option<Question<'a>> {
        None
    }

    /// The permit, if the verdict is allow.
    #[must_use]
    pub fn permit(self) -> Option<Permit<'a>> {
        (self.verdict == Verdict::Allow).then_some(Permit {
            message: self.message,
        })
    }
}
