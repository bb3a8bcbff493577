//! Finds out how to reach an upstream server: from an MCP client's configuration, or
//! from a command line.

use bouncer_runtime::json::{Limits, Scratch, validate_object};
use bouncer_runtime::proxy::{Endpoint, HttpServer, ServerCommand};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The member that `bouncer init` stashes the original entry under.
const SENTINEL: &str = "x-bouncer-upstream";

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
                entry(&text, name, config.parent()).map_err(|why| format!("`{shown}`: {why}"))
            }
        }
    }

    /// The server's name, where one is known.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Entry { name, .. } => Some(name),
            Self::Command(_) => None,
        }
    }
}

fn entry(text: &str, name: &str, base: Option<&Path>) -> Result<Endpoint, String> {
    let limits = Limits::default();
    let mut scratch = Scratch::new(&limits);
    validate_object(text.as_bytes(), &limits, &mut scratch).map_err(|error| error.to_string())?;
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let servers = root
        .get("mcpServers")
        .and_then(Value::as_object)
        .ok_or("there is no object `mcpServers`")?;
    let entry = servers.get(name).ok_or_else(|| {
        let names: Vec<String> = servers.keys().map(|name| format!("`{name}`")).collect();
        let known = names.join(", ");
        format!("`mcpServers` has no entry `{name}`; it has: {known}")
    })?;
    let place = format!("mcpServers.{name}");
    let (entry, place) = match entry.get(SENTINEL) {
        Some(upstream) => (upstream, format!("{place}.{SENTINEL}")),
        None => (entry, place),
    };
    let entry = entry
        .as_object()
        .ok_or_else(|| format!("`{place}` is not an object"))?;
    if let Some(url) = text_member(entry, "url", &place)? {
        if entry.contains_key("command") {
            return Err(format!("`{place}` has both `command` and `url`"));
        }
        let headers = texts_by_name(entry, "headers", &place)?;
        let server = HttpServer::new(url, &headers).map_err(|why| format!("`{place}`: {why}"))?;
        return Ok(Endpoint::Url(server));
    }
    let env = texts_by_name(entry, "env", &place)?;
    Ok(Endpoint::Command(ServerCommand {
        program: text_member(entry, "command", &place)?
            .ok_or_else(|| format!("`{place}.command` is missing"))?
            .into(),
        args: args(entry, &place)?,
        env: env
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: text_member(entry, "cwd", &place)?
            .map(|cwd| base.unwrap_or_else(|| Path::new("")).join(cwd)),
    }))
}

fn text_member<'a>(
    entry: &'a Map<String, Value>,
    key: &str,
    place: &str,
) -> Result<Option<&'a str>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{place}.{key}` is not a string")),
    }
}

fn args(entry: &Map<String, Value>, place: &str) -> Result<Vec<OsString>, String> {
    let wrong = || format!("`{place}.args` is not a list of strings");
    match entry.get("args") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(OsString::from).ok_or_else(wrong))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

fn texts_by_name(
    entry: &Map<String, Value>,
    key: &str,
    place: &str,
) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("`{place}.{key}` is not an object of strings");
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(members)) => members
            .iter()
            .map(|(name, value)| {
                let value = value.as_str().ok_or_else(wrong)?;
                Ok((name.clone(), value.to_owned()))
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<ServerCommand, String> {
        match entry(text, "fs", Some(Path::new("/etc/mcp")))? {
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
            ("{", "unexpected end"),
            ("{}", "mcpServers"),
            (r#"{"mcpServers":{"x":{}}}"#, "no entry `fs`; it has: `x`"),
            (
                r#"{"mcpServers":{"fs":{}}}"#,
                "`mcpServers.fs.command` is missing",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":1}}}"#,
                "`mcpServers.fs.command`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a","args":"b"}}}"#,
                "fs.args`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a","env":{"A":1}}}}"#,
                "fs.env`",
            ),
            (
                r#"{"mcpServers":{"fs":{"command":"a"},"fs":{"command":"b"}}}"#,
                "duplicate key",
            ),
            (
                r#"{"mcpServers":{"fs":{"url":"http://x","command":"y"}}}"#,
                "both `command` and `url`",
            ),
            (
                r#"{"mcpServers":{"fs":{"url":"ftp://x"}}}"#,
                "`mcpServers.fs`: `url` is neither",
            ),
            (
                r#"{"mcpServers":{"fs":{"url":"http://x","headers":{"A":1}}}}"#,
                "fs.headers`",
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
