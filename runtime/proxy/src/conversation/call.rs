//! A call on its way, and verdicts of the proxy's own.

use crate::conversation::envelope::Id;
use bouncer_engine::gate::{CallMessage, VerdictRecord};
use bouncer_plan::Stage;
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

/// A denial for a reason of the proxy's own.
pub(crate) fn own(reason: &str) -> VerdictRecord {
    VerdictRecord::denial(Stage::Default, "proxy", reason.to_owned())
}
