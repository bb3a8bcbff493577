//! Where clients keep their configurations. What Linux, macOS and Windows have different about
//! it stands here, and nowhere else.

use super::{Client, ConfigError};
use std::path::{Path, PathBuf};

/// The directories in which clients keep their files.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// Where applications keep their settings.
    pub config: PathBuf,
    /// Where desktop applications keep their settings.
    pub desktop: PathBuf,
    /// Where Codex keeps its files.
    pub codex: PathBuf,
    /// The project: the current directory.
    pub here: PathBuf,
}

impl Places {
    /// As this machine and the environment have them.
    ///
    /// # Errors
    /// If there is no home directory.
    pub fn of_this_machine() -> Result<Self, ConfigError> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some(PathBuf::from(value))
        };
        let home = variable("HOME")
            .or_else(|| variable("USERPROFILE"))
            .ok_or(ConfigError::NoHome)?;
        let dot_config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let (config, desktop) = if cfg!(target_os = "macos") {
            let support = home.join("Library/Application Support");
            (home.join(".config"), support)
        } else if cfg!(windows) {
            let roaming = variable("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"));
            (roaming.clone(), roaming)
        } else {
            (dot_config.clone(), dot_config)
        };
        Ok(Self {
            codex: variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            here: std::env::current_dir().unwrap_or_default(),
            home,
            config,
            desktop,
        })
    }

    /// Where a client looks for its servers, whether or not the files are there.
    #[must_use]
    pub fn of(&self, client: Client) -> Vec<PathBuf> {
        let zed = if cfg!(windows) { "Zed" } else { "zed" };
        match client {
            Client::ClaudeDesktop => {
                vec![self.desktop.join("Claude/claude_desktop_config.json")]
            }
            Client::ClaudeCode => {
                vec![self.here.join(".mcp.json"), self.home.join(".claude.json")]
            }
            Client::Cursor => vec![
                self.here.join(".cursor/mcp.json"),
                self.home.join(".cursor/mcp.json"),
            ],
            Client::Vscode => vec![
                self.here.join(".vscode/mcp.json"),
                self.desktop.join("Code/User/mcp.json"),
            ],
            Client::Windsurf => vec![self.home.join(".codeium/windsurf/mcp_config.json")],
            Client::Zed => vec![
                self.here.join(".zed/settings.json"),
                self.config.join(zed).join("settings.json"),
            ],
            Client::Codex => vec![
                self.here.join(".codex/config.toml"),
                self.codex.join("config.toml"),
            ],
            Client::Gemini => vec![
                self.here.join(".gemini/settings.json"),
                self.home.join(".gemini/settings.json"),
            ],
            Client::Opencode => {
                // The same place on every system.
                let own = self.home.join(".config/opencode");
                let names = ["opencode.json", "opencode.jsonc"];
                let all = [&self.here, &own].into_iter();
                all.flat_map(|place| names.map(|name| place.join(name)))
                    .collect()
            }
        }
    }

    /// The configuration files that there are, of one client or of all.
    #[must_use]
    pub fn found(&self, only: Option<Client>) -> Vec<(Client, PathBuf)> {
        let mut out: Vec<(Client, PathBuf)> = Vec::new();
        for client in Client::ALL {
            if only.is_some_and(|only| only != client) {
                continue;
            }
            for path in self.of(client) {
                // In the home directory the project's file and the user's are one.
                if path.is_file() && !out.iter().any(|(_, seen)| same(seen, &path)) {
                    out.push((client, path));
                }
            }
        }
        out
    }
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}
