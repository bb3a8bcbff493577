//! Finds out how to reach an upstream server: from an MCP client's configuration, or
//! from a command line.

use super::endpoint::{EndpointError, expand, server_command};
use bouncer_compiler::diagnostic::escape;
use bouncer_proxy::{Endpoint, HttpServer, ServerCommand};
use bouncer_setup::clients::remote::Remote;
use bouncer_setup::clients::{Document, Kind};
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
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        match self {
            Self::Launch { command, .. } => Ok(Endpoint::Command(command.clone())),
            Self::Remote { remote, .. } => at_url(remote),
            Self::Variable(name) => {
                let text =
                    std::env::var(name).map_err(|_| EndpointError::NoVariable(name.clone()))?;
                Remote::parse(&text)
                    .map_err(EndpointError::from)
                    .and_then(|remote| at_url(&remote))
                    .map_err(|why| EndpointError::Variable(name.clone(), Box::new(why)))
            }
            Self::Command(words) => {
                let (program, args) = words.split_first().ok_or(EndpointError::NothingNamed)?;
                Ok(Endpoint::Command(ServerCommand {
                    program: program.clone(),
                    args: args.to_vec(),
                    ..ServerCommand::default()
                }))
            }
            Self::Entry { config, name } => {
                let text = bouncer_system::private::read_to_string(config)
                    .map_err(|error| EndpointError::File(config.clone(), error))?;
                entry(config, &text, name, config.parent()).map_err(|why| why.at(config.display()))
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
fn at_url(remote: &Remote) -> Result<Endpoint, EndpointError> {
    let look_up = |name: &str| std::env::var_os(name);
    let filled = |text: &str, what: &str| {
        let text = expand(text, &look_up).map_err(|why| why.at(what))?;
        // Without the value: it may be a secret.
        text.into_string()
            .map_err(|_| EndpointError::NotUtf8(what.to_owned()))
    };
    let headers = remote
        .headers
        .iter()
        .map(|(name, value)| {
            let value = filled(value, &format!("headers.{}", escape(name)))?;
            Ok((name.clone(), value))
        })
        .collect::<Result<Vec<_>, EndpointError>>()?;
    let url = filled(&remote.url, "url")?;
    HttpServer::new(&url, &headers)
        .map(Endpoint::Url)
        .map_err(|why| EndpointError::Url(why.to_string()))
}

fn entry(
    path: &Path,
    text: &str,
    name: &str,
    base: Option<&Path>,
) -> Result<Endpoint, EndpointError> {
    let entries = Document::parse(path, text)?.entries();
    let entry = entries
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| match entries.is_empty() {
            true => EndpointError::NoneListed,
            false => {
                let names = entries.iter().map(|entry| entry.name.clone());
                EndpointError::NotListed(name.to_owned(), names.collect())
            }
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
        Kind::Bouncer { .. } => Err(EndpointError::Ourselves.at(place)),
        Kind::Remote(remote) | Kind::Fronted { remote, .. } => {
            at_url(remote).map_err(|why| why.at(place))
        }
        Kind::Other(why) => Err(EndpointError::Config(why.clone()).at(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<ServerCommand, String> {
        let file = Path::new("/etc/mcp/client.json");
        match entry(file, text, "fs", file.parent()) {
            Ok(Endpoint::Command(command)) => Ok(command),
            Ok(Endpoint::Url(_)) => Err("reached over HTTP".to_owned()),
            Err(error) => Err(error.to_string()),
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
