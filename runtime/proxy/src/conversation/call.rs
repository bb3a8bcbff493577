//! A call on its way, and verdicts of the proxy's own.

use crate::conversation::envelope::Id;
use bouncer_engine::gate::{CallMessage, VerdictRecord};
use bouncer_plan::Stage;
use std::cell::Cell;
use std::time::Instant;

/// Who makes a call, or asks for something else that is judged: where it goes on to, and who is
/// told that it does not.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asker<'a> {
    /// The client, of the server.
    Client,
    /// The server, of the client.
    Server,
    /// The server, in an answer to the client: it is noted that it may.
    Answer(&'a Cell<bool>),
}

/// A call and what surrounds it.
#[derive(Debug)]
pub(crate) struct CallContext<'a> {
    pub id: Option<Id<'a>>,
    pub asker: Asker<'a>,
    pub call: &'a CallMessage<'a>,
    /// Counts the calls of the conversation.
    pub number: u64,
    pub received: Instant,
}

/// A denial for a reason of the proxy's own.
pub(crate) fn proxy_denial(reason: &str) -> VerdictRecord {
    VerdictRecord::denial(Stage::Default, "proxy", reason.to_owned())
}
