//! What a call is judged as: a new one, or one again; by itself, or within another.

use super::call::Call;

/// Whether a decision counts against budgets, and what a human has approved.
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

/// One call as it is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallAttempt<'a> {
    pub call: Call<'a>,
    /// The tool that would make it, if another does.
    pub outer: Option<&'a str>,
    pub attempt: Attempt,
    /// A monotonic clock in milliseconds.
    pub now_ms: u64,
}
