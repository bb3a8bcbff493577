//! Judges an agent's own tools, beyond MCP: what clients tell a hook before and after
//! such a tool runs, the calls that it stands for, and the memory that several
//! processes share. Knows nothing of MCP, nor of the YAML that a plan was made of.
//!
//! Whatever goes wrong here blocks the tool: a hook that fails open is no gate.

pub mod actions;
pub mod agents;
mod budgets;
mod commands;
pub mod digest;
#[cfg(test)]
mod digest_tests;
pub mod disk;
pub mod event;
mod files;
pub mod guarded;
mod hook;
mod judge;
pub mod judged;
pub mod memory;
mod memory_error;
pub mod message;
mod others;
pub mod plans;
pub mod shell;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdicts;

pub use hook::{Hook, HookError, Policy, own_directory};

/// The server under which a policy knows the agent's own tools.
pub const SERVER: &str = bouncer_engine::gate::AGENT;
