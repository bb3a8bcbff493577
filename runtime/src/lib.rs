//! Loads a compiled plan and decides tool calls.
//!
//! This crate knows nothing of YAML or of how a plan was made. It reads a plan
//! ([`plan`]), keeps what one agent's conversation has seen ([`gate::Conversation`],
//! [`provenance`]) and answers one question per call: allow, ask or deny
//! ([`gate::Gate::decide`]).
//! What was decided is written down ([`audit`]). It knows no network, no async runtime
//! and no process: those that stand between a client and a server embed it.

pub mod address;
pub mod audit;
mod block;
pub mod gate;
pub mod json;
pub mod moment;
pub mod number;
pub mod path;
pub mod plan;
pub mod private;
pub mod provenance;
#[cfg(feature = "sql")]
pub mod sql;
pub mod text;
pub mod tools;
mod verdict;

pub use verdict::{Label, Stage, Verdict};
