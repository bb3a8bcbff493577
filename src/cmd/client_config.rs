//! Finds out how to reach an upstream server: from an MCP client's configuration, or
//! from a command line.

use super::gateway::expand;
use super::init::server_command;
use crate::clients::remote::Remote;
use crate::clients::{Document, Kind};
use bouncer_compiler::diagnostic::escape;
use bouncer_proxy::{Endpoint, HttpServer, ServerCommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the upstream's command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// An entry of `mcpServers` in a client's configuration.
    Entry {
        /// The configuration file.
        config: PathBuf,
        /// The entry's name.
        name: String,
    },
    /// A command line: the program and its arguments.
    Command(Vec<OsString>),
    /// A server of this name, already read.
    Launch {
        /// How to start it.
        command: ServerCommand,
        /// Its name.
        name: String,
    },
    /// A server that is reached at a URL, already read.
    Remote {
        /// Where it is, and what is sent along.
        remote: Remote,
        /// Its name.
        name: String,
    },
    /// A variable of the environment, in which `init` keeps the entry of a server that is
    /// reached at a URL.
    Variable(String),
}

impl Upstream {
    /// From the options that several subcommands share: an entry of a configuration,
    /// or else a command line.
    #[must_use]
    pub fn new(config: Option<PathBuf>, name: Option<String>, command: Vec<OsString>) -> Self {
        match (config, name) {
            (Some(config), Some(name)) => Self::Entry { config, name },
            _ => Self::Command(command),
        }
    }

    /// How the server is reached.
    ///
    /// # Errors
    /// What is wrong with the configuration or the command line, and where.
    pub fn endpoint(&self) -> Result<Endpoint, String> {
        match self {
            Self::Launch { command, .. } => Ok(Endpoint::Command(command.clone())),
            Self::Remote { remote, .. } => at_url(remote),
            Self::Variable(name) => {
                let shown = escape(name);
                let text = std::env::var(name).map_err(|_| {
                    format!("there is no variable `{shown}`, or it is not UTF-8: `bouncer init` writes it into the entry's `env`")
                })?;
                Remote::parse(&text)
                    .and_then(|remote| at_url(&remote))
                    .map_err(|why| format!("the variable `{shown}`: {why}"))
            }
            Self::Command(words) => {
                let (program, args) = words
                    .split_first()
                    .ok_or("no server is named: give its command behind `--`, or `--config` and `--upstream-name`")?;
                Ok(Endpoint::Command(ServerCommand {
                    program: program.clone(),
                    args: args.to_vec(),
                    ..ServerCommand::default()
                }))
            }
            Self::Entry { config, name } => {
                let shown = config.display();
                let text = std::fs::read_to_string(config)
                    .map_err(|error| format!("cannot read `{shown}`: {error}"))?;
                entry(config, &text, name, config.parent())
                    .map_err(|why| format!("`{shown}`: {why}"))
            }
        }
    }

    /// The server's name, where one is known.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Entry { name, .. } | Self::Launch { name, .. } | Self::Remote { name, .. } => {
                Some(name)
            }
            Self::Command(_) | Self::Variable(_) => None,
        }
    }
}

/// With variables of the environment in the place of `${NAME}`.
fn at_url(remote: &Remote) -> Result<Endpoint, String> {
    let look_up = |name: &str| std::env::var_os(name);
    let filled = |text: &str, what: &str| {
        let text = expand(text, &look_up).map_err(|why| format!("`{what}`: {why}"))?;
        // Without the value: it may be a secret.
        text.into_string()
            .map_err(|_| format!("`{what}` is not UTF-8"))
    };
    let headers = remote
        .headers
        .iter()
        .map(|(name, value)| {
            let value = filled(value, &format!("headers.{}", escape(name)))?;
            Ok((name.clone(), value))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let url = filled(&remote.url, "url")?;
    HttpServer::new(&url, &headers).map(Endpoint::Url)
}

fn entry(path: &Path, text: &str, name: &str, base: Option<&Path>) -> Result<Endpoint, String> {
    let entries = Document::parse(path, text)?.entries();
    let entry = entries
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let names: Vec<String> = entries
                .iter()
                .map(|entry| format!("`{}`", escape(&entry.name)))
                .collect();
            if names.is_empty() {
                return "it has no servers: there is no `mcpServers`, `servers`, `context_servers` or `mcp_servers`"
                    .to_owned();
            }
            format!("it has no server `{name}`; it has: {}", names.join(", "))
        })?;
    let place = escape(&entry.place()).to_string();
    match &entry.kind {
        Kind::Plain(launch) | Kind::Wrapped { launch, .. } | Kind::Stashed(launch) => {
            let mut command = server_command(launch);
            command.cwd = command
                .cwd
                .map(|cwd| base.unwrap_or_else(|| Path::new("")).join(cwd));
            Ok(Endpoint::Command(command))
        }
        Kind::Bouncer { .. } => Err(format!("`{place}` starts bouncer itself")),
        Kind::Remote(remote) | Kind::Fronted { remote, .. } => {
            at_url(remote).map_err(|why| format!("`{place}`: {why}"))
        }
        Kind::Other(why) => Err(format!("`{place}`: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<ServerCommand, String> {
        let file = Path::new("/etc/mcp/client.json");
        match entry(file, text, "fs", file.parent())? {
            Endpoint::Command(command) => Ok(command),
            Endpoint::Url(_) => Err("reached over HTTP".to_owned()),
        }
    }

    #[test]
    fn prefers_what_init_stashed() {
        let found = command(
            r#"{"mcpServers":{"fs":{"command":"bouncer","args":["run"],
               "x-bouncer-upstream":{"command":"npx","args":["-y","x"],"env":{"A":"1"},"cwd":"d"}}}}"#,
        )
        .unwrap();
        assert_eq!(found.program, "npx");
        assert_eq!(found.args, ["-y", "x"]);
        assert_eq!(found.env, [("A".into(), "1".into())]);
        assert_eq!(found.cwd.unwrap(), Path::new("/etc/mcp/d"));
        let found = command(r#"{"mcpServers":{"fs":{"command":"srv"}}}"#).unwrap();
        assert_eq!((found.program, found.args.len()), ("srv".into(), 0));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, part) in [
            ("{", "Unterminated object"),
            ("{}", "mcpServers"),
            (r#"{"mcpServers":{"x":{}}}"#, "no server `fs`; it has: `x`"),
            (
                r#"{"mcpServers":{"fs":{}}}"#,
                "`mcpServers.fs`: `command` is missing",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":1}}}"#,
                "`mcpServers.fs`: `command`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a","args":"b"}}}"#,
                "fs`: `args`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a","env":{"A":1}}}}"#,
                "fs`: `env`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a"},"fs":{"command":"b"}}}"#,
                "duplicate key",
            ),
            (
                r#"{"mcpServers":{"fs":{"url":"ftp://x"}}}"#,
                "`mcpServers.fs`: `url` is neither",
            ),
            (
                r#"{"mcpServers":{"fs":{"url":"http://x","headers":{"A":1}}}}"#,
                "fs`: `headers`",
            ),
            (
                r#"{"mcpServers":{"fs":{"x-bouncer-upstream":1}}}"#,
                "x-bouncer-upstream`",
            ),
        ] {
            let error = command(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Upstream::Command(vec![]).endpoint().is_err());
        let http =
            r#"{"mcpServers":{"fs":{"type":"http","url":"http://x/mcp","headers":{"A":"b"}}}}"#;
        assert_eq!(command(http).unwrap_err(), "reached over HTTP");
    }
}
