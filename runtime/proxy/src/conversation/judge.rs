//! What a proxy needs of the gate.
//!
//! A seam for tests only: an implementation hands out [`Permit`]s, and only a
//! decision of the gate makes one.

use bouncer_engine::gate::{
    Attempt, Call, ObservedPass, Permit, Surveyed, Unvouched, VerdictRecord,
};
use bouncer_engine::tools::ToolDefinition;
use serde_json::Value;
use std::sync::Arc;

/// A verdict that outlives the gate's borrow, and what lets the call through, if anything.
#[derive(Debug)]
pub(crate) struct Judgement<'a> {
    pub record: VerdictRecord,
    pub pass: Option<Pass<'a>>,
}

/// What lets a call through.
#[derive(Debug)]
pub(crate) enum Pass<'a> {
    /// The policy allows it.
    Permit(Permit<'a>),
    /// The policy would stop it, but is only observed.
    Observed(ObservedPass<'a>),
}

impl Pass<'_> {
    /// The message that was judged; `None` for a hypothetical call.
    pub(crate) const fn message(&self) -> Option<&[u8]> {
        match self {
            Self::Permit(permit) => permit.message(),
            Self::Observed(pass) => pass.message(),
        }
    }
}

/// Judges the calls of one conversation and remembers what it has seen.
pub(crate) trait Judge {
    /// Judges a call, and lets `then` act on the judgement. A permit lives no longer than
    /// that, so it cannot be kept for later; `then` must not come back to the judge.
    fn judge<R>(
        &mut self,
        call: &Call<'_>,
        attempt: Attempt,
        then: impl FnOnce(Judgement<'_>) -> R,
    ) -> R;
    /// Remembers that a human vouched for a destination; `false` if it was known.
    fn approve(&mut self, tool: &str, unvouched: &Unvouched<String>) -> bool;
    /// Forgets it: it was for one call.
    fn withdraw(&mut self, tool: &str, unvouched: &Unvouched<String>);
    /// The first listing.
    fn pin(&mut self, tools: &[ToolDefinition]);
    /// A later listing.
    fn observe(&mut self, tools: &[ToolDefinition]);
    /// What a call returned.
    fn record(&mut self, tool: &str, result: &Arc<Value>);
    /// How the server introduced itself.
    fn record_introduction(&mut self, introduction: &Value);
    /// Other text that reaches the agent.
    fn record_untrusted(&mut self, origin: &str, value: &Arc<Value>);
    /// Changes whenever the policy does: what a human answered before then was about
    /// another one.
    fn generation(&self) -> u64 {
        0
    }
    /// Whether a call of the tool could only be judged once others have finished counting, or
    /// what was read has been taken apart.
    fn is_held_up(&self, _tool: &str) -> bool {
        false
    }
    /// Whether a tool is not to be shown, because every call of it is denied.
    fn hides(&self, _tool: &str) -> bool {
        false
    }
    /// How tools stand, for people to look at.
    fn survey(&self, _tools: &mut dyn Iterator<Item = &str>) -> Vec<Surveyed> {
        Vec::new()
    }
    /// Tells people of names in the policy that mean none of the listed tools, once for
    /// each policy.
    fn tell_unmatched(&self) {}
}
