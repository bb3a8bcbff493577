//! Loads a compiled plan and decides tool calls.
//!
//! This crate knows nothing of YAML or of how a plan was made. It reads a plan
//! ([`plan`]), keeps what one agent's conversation has seen ([`gate::Conversation`],
//! [`provenance`]) and answers one question per call: allow, ask or deny
//! ([`gate::Gate::decide`]). With the `proxy` feature it also stands between an MCP
//! client and an MCP server, and keeps what humans approved ([`approvals`]).

pub mod address;
#[cfg(feature = "proxy")]
pub mod approvals;
pub mod audit;
pub mod gate;
pub mod json;
pub mod number;
pub mod path;
pub mod plan;
mod private;
pub mod provenance;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "sql")]
pub mod sql;
pub mod text;
pub mod tools;
mod verdict;

pub use verdict::{Label, Stage, Verdict};
