//! How a server is reached: what can be wrong about it, and variables of the environment in
//! its address or its command.

use bouncer_compiler::diagnostic::escape;
use bouncer_proxy::ServerCommand;
use bouncer_setup::clients::{ConfigError, Launch};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a server cannot be reached. What variables hold, and URLs, are never part of a message.
#[derive(Debug)]
pub enum EndpointError {
    /// A `${` has no end.
    Unclosed,
    /// What stands between `${` and `}` is no name of a variable.
    NoName(String),
    /// The variable is not set.
    NotSet(String),
    /// The variable that `init` wrote into the entry is not there.
    NoVariable(String),
    /// The variable holds something else.
    Variable(String, Box<Self>),
    /// A text is not UTF-8.
    NotUtf8(String),
    /// A member is not a text.
    NotText(String),
    /// A member that should list names and values has something else.
    NoPair(String),
    /// The policy names no servers.
    NoServers,
    /// The plan contradicts itself. Cannot happen to one that was loaded.
    Corrupt,
    /// The plan's record of the server cannot be read.
    Record(serde_json::Error),
    /// There is no `command`.
    NoCommand,
    /// No server is named on the command line.
    NothingNamed,
    /// The URL cannot be used.
    Url(String),
    /// A file cannot be read.
    File(PathBuf, io::Error),
    /// The client's configuration cannot be used.
    Config(ConfigError),
    /// The configuration has no servers.
    NoneListed,
    /// The configuration has no server of that name: the name, and those that it has.
    NotListed(String, Vec<String>),
    /// The entry starts bouncer itself.
    Ourselves,
    /// Something is wrong at a place: of a file, an entry, a member.
    At(String, Box<Self>),
    /// The same of a server.
    Server(String, Box<Self>),
}

impl EndpointError {
    /// The same, and where.
    pub fn at(self, place: impl fmt::Display) -> Self {
        Self::At(place.to_string(), Box::new(self))
    }
}

impl From<ConfigError> for EndpointError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => f.write_str("`${` is not closed: write `${NAME}`"),
            Self::NoName(name) => write!(
                f,
                "`${{{}}}` does not name a variable of the environment: write `${{NAME}}`",
                escape(name)
            ),
            Self::NotSet(name) => write!(
                f,
                "the variable `{name}` is not set in the environment: set it, or write its value"
            ),
            Self::NoVariable(name) => write!(
                f,
                "there is no variable `{}`, or it is not UTF-8: `bouncer init` writes it into the entry's `env`",
                escape(name)
            ),
            Self::Variable(name, error) => write!(f, "the variable `{}`: {error}", escape(name)),
            Self::NotUtf8(what) => write!(f, "`{what}` is not UTF-8"),
            Self::NotText(what) => write!(f, "`{what}` is not a text"),
            Self::NoPair(key) => write!(f, "`{key}` has an entry that is no pair"),
            Self::NoServers => f.write_str(
                "the policy names no servers: add `servers:`, a mapping of names to `{command: ..., args: [...]}`",
            ),
            Self::Corrupt => f.write_str("the plan's tables contradict themselves"),
            Self::Record(error) => error.fmt(f),
            Self::NoCommand => f.write_str("it has no `command`"),
            Self::NothingNamed => f.write_str(
                "no server is named: give its command behind `--`, or `--config` and `--upstream-name`",
            ),
            Self::Url(why) => f.write_str(why),
            Self::File(path, error) => write!(f, "cannot read `{}`: {error}", path.display()),
            Self::Config(error) => error.fmt(f),
            Self::NoneListed => f.write_str(
                "it has no servers: there is no `mcpServers`, `servers`, `context_servers` or `mcp_servers`",
            ),
            Self::NotListed(name, names) => {
                let names: Vec<String> = names
                    .iter()
                    .map(|name| format!("`{}`", escape(name)))
                    .collect();
                write!(f, "it has no server `{name}`; it has: {}", names.join(", "))
            }
            Self::Ourselves => f.write_str("starts bouncer itself"),
            // Reads as one sentence.
            Self::At(place, error) if matches!(**error, Self::Ourselves) => {
                write!(f, "`{place}` {error}")
            }
            Self::At(place, error) => write!(f, "`{place}`: {error}"),
            Self::Server(name, error) => write!(f, "server `{}`: {error}", escape(name)),
        }
    }
}

impl std::error::Error for EndpointError {}

/// How a server is started, from its entry.
pub fn server_command(launch: &Launch) -> ServerCommand {
    let env = launch.env.iter();
    ServerCommand {
        program: launch.program.clone().into(),
        args: launch.args.iter().map(Into::into).collect(),
        env: env
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: launch.cwd.as_ref().map(PathBuf::from),
    }
}

/// Puts variables of the environment in the place of `${NAME}`. What they hold is never
/// part of a message.
pub fn expand(
    text: &str,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Result<OsString, EndpointError> {
    let mut out = OsString::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push(before);
        let (name, tail) = after.split_once('}').ok_or(EndpointError::Unclosed)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(EndpointError::NoName(name.to_owned()));
        }
        let value = look_up(name).ok_or_else(|| EndpointError::NotSet(name.to_owned()))?;
        out.push(value);
        rest = tail;
    }
    out.push(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_their_places() {
        let look_up = |name: &str| (name == "A_1").then(|| OsString::from("${x}"));
        assert_eq!(
            expand("p${A_1}q${A_1}$r}", &look_up).unwrap(),
            "p${x}q${x}$r}"
        );
        assert_eq!(expand("$A_1 $$ {}", &look_up).unwrap(), "$A_1 $$ {}");
        for (text, named) in [
            ("${B}", "`B`"),
            ("${A_1", "not closed"),
            ("${}", "${}"),
            ("${a b}", "a b"),
        ] {
            let why = expand(text, &look_up).unwrap_err().to_string();
            assert!(why.contains(named), "{why}");
        }
    }
}
