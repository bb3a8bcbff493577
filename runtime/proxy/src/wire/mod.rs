//! Lines in and lines out: how they are read and queued, and how the process is told
//! to stop.
//!
//! Knows nothing of messages. Everything else here stands on it.

pub(crate) mod line;
pub(crate) mod outbox;
pub(crate) mod stop;
#[cfg(unix)]
pub(crate) mod unix;
