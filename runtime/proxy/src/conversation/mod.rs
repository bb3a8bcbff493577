//! One conversation as the gate sees it: what it has read, and how its calls are judged.
//!
//! Knows no transport, no store and no human.

pub(crate) mod envelope;
pub(crate) mod gated;
