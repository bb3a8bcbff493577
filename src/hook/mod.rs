//! Judges an agent's own tools, beyond MCP: what clients tell a hook before and after
//! such a tool runs, and the calls that it stands for.

pub mod shell;
