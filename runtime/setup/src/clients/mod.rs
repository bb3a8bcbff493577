//! The configuration files of MCP clients: where they lie, how their entries read, and
//! how one is changed without touching anything around it. Knows nothing of policies.

mod document;
mod entry;
mod error;
pub mod file;
mod json;
mod places;
pub mod remote;
#[cfg(test)]
mod tests;
mod toml;

pub use document::Document;
pub use entry::{Entry, Kind, Launch};
pub use error::ConfigError;
pub use places::Places;

use std::path::Path;

/// An MCP client whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code: `.mcp.json` of the project, and `~/.claude.json`
    ClaudeCode,
    /// Cursor
    Cursor,
    /// VS Code
    Vscode,
    /// Windsurf
    Windsurf,
    /// Zed
    Zed,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
}

impl Client {
    /// Every client.
    pub const ALL: [Self; 9] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::Vscode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
    ];

    /// The client's name, for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
        }
    }

    /// The client's name on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The client in one line of help.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code: `.mcp.json` of the project, and `~/.claude.json`",
            other => other.name(),
        }
    }

    /// The client with this name on the command line.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.key() == key)
    }
}

/// The heading of a file.
#[must_use]
pub fn title(client: Option<Client>, path: &Path) -> String {
    let shown = path.display();
    match client {
        Some(client) => format!("{}: `{shown}`", client.name()),
        None => format!("`{shown}`"),
    }
}
