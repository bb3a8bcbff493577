//! What people can see of a running proxy: counters, spans of calls, and how its servers and
//! tools stand.
//!
//! The proxy writes, others read; nothing here decides anything or holds up a call.

pub(crate) mod metrics;
pub(crate) mod status;
#[cfg(feature = "otel")]
pub(crate) mod traces;
