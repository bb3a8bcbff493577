//! Judges an agent's own tools, beyond MCP: what agents tell a hook before and after such
//! a tool runs ([`agents`]), the calls that it stands for ([`actions`], [`shell`]), and the
//! memory that several processes share ([`store`]).
//!
//! Whatever goes wrong here blocks the tool: a hook that fails open is no gate. Knows
//! neither the protocol of MCP nor how a plan is made.

pub mod actions;
pub mod agents;
pub mod budgets;
pub mod judge;
pub mod shell;
pub mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdicts;

/// The server under which a policy knows the agent's own tools.
pub const SERVER: &str = "agent";
