//! The gate: a loaded plan, the pinned tools, and the decision of each call.

mod call;
mod conversation;
mod decision;

pub use call::{Call, CallError, CallMessage};
pub use conversation::Conversation;
pub use decision::{Decision, Permit, Position, Question};

use crate::tools::{Lock, ToolDefinition};

/// A plan together with the tools that are pinned under it. Shared by all
/// conversations.
#[derive(Debug)]
pub struct Gate {}

/// Whether a decision counts against budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// A new call: counts.
    First,
    /// The same call again after a destination was approved: does not count.
    AfterApproval,
    /// The same call again after a human approved exactly this call, once: asks about
    /// the call as a whole are lifted, nothing else is. Does not count.
    ApprovedOnce,
}

impl Gate {
    /// Pins `tools` as the tools of `server`: the first listing of a server. With a
    /// `lock`, tools that the lock lacks stay unpinned and tools that differ from it
    /// are changed.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        let _ = (server, tools, lock);
    }

    /// Notes a later listing of the same server: new tools stay unpinned, tools whose
    /// definition differs from the pinned one are denied until they are pinned again.
    pub fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        let _ = (server, tools);
    }

    /// A fresh conversation: no budget used, nothing approved, nothing recorded.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        Conversation {}
    }

    /// Judges a call. `now_ms` is a monotonic clock in milliseconds; it only matters
    /// to rates. Does not touch the heap.
    pub fn decide<'a>(
        &'a self,
        conversation: &'a mut Conversation,
        call: &Call<'a>,
        attempt: Attempt,
        now_ms: u64,
    ) -> Decision<'a> {
        let _ = (conversation, attempt, now_ms);
        Decision::blocked(call)
    }

    /// Records what a call returned, before the agent sees it: the `result` member of
    /// the answer (or its `error` member), whole.
    pub fn record(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tool: &str,
        result: &serde_json::Value,
    ) {
        let _ = (conversation, server, tool, result);
    }

    /// Records text that reached the agent by another way than a tool's result, such
    /// as a resource, a prompt or a log message. It is untrusted.
    pub fn record_untrusted(
        &self,
        conversation: &mut Conversation,
        origin: &str,
        value: &serde_json::Value,
    ) {
        let _ = (conversation, origin, value);
    }
}
