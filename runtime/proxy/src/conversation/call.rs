//! A call on its way, and what was found about it.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Approval;
use bouncer_engine::gate::{CallMessage, Grounds};
use bouncer_plan::{Stage, Verdict};
use std::time::Instant;

/// A call and what surrounds it.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub id: Option<Id<'a>>,
    pub call: &'a CallMessage<'a>,
    /// Counts the calls of the conversation.
    pub number: u64,
    pub received: Instant,
}

/// What was found about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub verdict: Verdict,
    pub stage: Stage,
    pub code: &'static str,
    pub reason: String,
    /// `file:line:column`.
    pub at: Option<String>,
    pub grounds: Option<Grounds>,
    /// Pieces of what was read that have been forgotten.
    pub forgotten: u64,
    pub approval: Approval,
    /// The id under which a human is asked out of band.
    pub filed: Option<String>,
}

impl Finding {
    /// A denial for a reason of the proxy's own.
    pub(crate) fn own(reason: &str) -> Self {
        Self {
            verdict: Verdict::Deny,
            stage: Stage::Default,
            code: "proxy",
            reason: reason.to_owned(),
            at: None,
            grounds: None,
            forgotten: 0,
            approval: Approval::Never,
            filed: None,
        }
    }

    /// The denial that an ask ends in, and why it did.
    pub(crate) fn because(&self, why: &str) -> Self {
        Self {
            verdict: Verdict::Deny,
            reason: format!("{}; {why}", self.reason),
            approval: Approval::Never,
            ..self.clone()
        }
    }
}
