//! One conversation as the gate sees it: what it has read, and how its calls are judged.
//!
//! Knows no transport, no store and no human.

pub(crate) mod call;
pub(crate) mod envelope;
pub(crate) mod gated;
pub(crate) mod guarded;
pub(crate) mod judge;
pub(crate) mod related;
pub(crate) mod settings;
mod unmatched;
