//! Decides tool calls by a compiled plan.
//!
//! Keeps what one agent's conversation has seen ([`gate::Conversation`], [`provenance`])
//! and answers one question per call: allow, ask or deny ([`gate::Gate::decide`]). It knows
//! no YAML, no file, no clock, no network and no async runtime: those that stand between a
//! client and a server embed it.

pub mod effects;
pub mod gate;
mod identifier;
pub mod provenance;
pub mod tools;
