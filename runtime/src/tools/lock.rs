//! `tools.lock`: the tool definitions a user has accepted.

use super::ToolDefinition;
use std::fmt;

/// Accepted tool definitions, by server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The tools, sorted by server, then name.
    pub tools: Vec<LockedTool>,
}

/// One accepted tool.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedTool {
    /// The server, where the lock names one.
    pub server: Option<String>,
    /// Its definition.
    pub definition: ToolDefinition,
}

/// Why a lock file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockError(pub String);

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LockError {}
