//! One server's entry in a client's configuration: what it starts, and whether bouncer
//! stands before it already.

use super::error::ConfigError;
use super::remote::{self, Remote};
use serde_json::{Map, Value};

/// The member under which the older `bouncer init` kept the original entry.
pub const SENTINEL: &str = "x-bouncer-upstream";

/// How a server is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: Vec<(String, String)>,
    /// The directory to start in.
    pub cwd: Option<String>,
}

impl Launch {
    /// Whether some part is a placeholder that only the client can fill in.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        let values = self.env.iter().map(|(_, value)| value);
        let mut texts = self.args.iter().chain(values).chain(&self.cwd);
        let open =
            |text: &str| text.contains("${") || text.contains("{env:") || text.contains("{file:");
        open(&self.program) || texts.any(|text| open(text))
    }
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Starts a server, with nothing between it and the client.
    Plain(Launch),
    /// Starts a server behind `bouncer run`.
    Wrapped {
        /// The server behind it.
        launch: Launch,
        /// What stands before the server's own command: `run`, its options, `--`.
        options: Vec<String>,
    },
    /// Wrapped by the older `bouncer init`: `bouncer run` with the original beside it.
    Stashed(Launch),
    /// Starts bouncer itself: a gateway, or its own server.
    Bouncer {
        /// The subcommand.
        subcommand: String,
        /// It only observes its policy.
        observes: bool,
    },
    /// Reached over the network.
    Remote(Remote),
    /// Starts `bouncer run` before a server that is reached over the network.
    Fronted {
        /// The server behind it.
        remote: Remote,
        /// `run` and its options.
        options: Vec<String>,
        /// The members that the entry had before.
        kept: Map<String, Value>,
    },
    /// None of these.
    Other(ConfigError),
}

/// An entry, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The keys that lead to the object that holds it.
    pub section: Vec<String>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The program and its arguments stand in an object of their own under `command`.
    pub nested: bool,
    /// The program and its arguments are one list, as opencode has them.
    pub listed: bool,
}

impl Entry {
    /// The place in the file, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}.{}", self.section.join("."), self.name)
    }

    /// How the server behind the entry is started, if one is.
    #[must_use]
    pub const fn launch(&self) -> Option<&Launch> {
        match &self.kind {
            Kind::Plain(launch) | Kind::Wrapped { launch, .. } | Kind::Stashed(launch) => {
                Some(launch)
            }
            Kind::Bouncer { .. } | Kind::Remote(_) | Kind::Fronted { .. } | Kind::Other(_) => None,
        }
    }

    /// The server behind the entry, if it is reached over the network.
    #[must_use]
    pub const fn remote(&self) -> Option<&Remote> {
        match &self.kind {
            Kind::Remote(remote) | Kind::Fronted { remote, .. } => Some(remote),
            _ => None,
        }
    }

    /// Reads an entry.
    #[must_use]
    pub fn read(section: Vec<String>, name: String, value: &Value) -> Self {
        let nested = value.get("command").is_some_and(Value::is_object);
        let mut kind = kind(value).unwrap_or_else(Kind::Other);
        let listed = value.get("command").is_some_and(Value::is_array);
        if let Kind::Remote(remote) = &mut kind
            && is_listed(&section)
        {
            remote.unreachable = Some(
                "entries of this client that have a URL are not changed: write the server into the policy of a `bouncer gateway`",
            );
        }
        Self {
            section,
            name,
            kind,
            nested,
            listed,
        }
    }
}

/// Whether entries stand where opencode keeps them.
pub fn is_listed(section: &[String]) -> bool {
    section == ["mcp"]
}

fn kind(value: &Value) -> Result<Kind, ConfigError> {
    let entry = value
        .as_object()
        .ok_or(ConfigError::WrongWhole("an object"))?;
    if let Some(stash) = entry.get(SENTINEL) {
        let stash = stash
            .as_object()
            .ok_or_else(|| ConfigError::Wrong(SENTINEL.to_owned(), "an object"))?;
        if let Some(remote) = Remote::read(stash)? {
            return Ok(Kind::Remote(remote));
        }
        return Ok(Kind::Stashed(launch(stash)?));
    }
    if !entry.contains_key("command") {
        let remote = Remote::read(entry)?.map(Kind::Remote);
        return remote.ok_or_else(|| ConfigError::Missing("command".to_owned()));
    }
    let launch = launch(entry)?;
    if !is_bouncer(&launch.program) && !starts_like_init(&launch.args) {
        return Ok(Kind::Plain(launch));
    }
    let subcommand = launch.args.first().cloned().unwrap_or_default();
    let behind = launch.args.iter().position(|arg| arg == "--");
    if let (true, Some(at)) = (subcommand == "run", behind) {
        let (options, rest) = launch.args.split_at(at + 1);
        let (program, args) = rest.split_first().ok_or(ConfigError::NoCommandBehind)?;
        return Ok(Kind::Wrapped {
            options: options.to_vec(),
            launch: Launch {
                program: program.clone(),
                args: args.to_vec(),
                ..launch
            },
        });
    }
    if subcommand == "run" && launch.args.iter().any(|arg| arg == remote::OPTION) {
        let held = launch.env.iter().find(|(name, _)| name == remote::VARIABLE);
        let (_, text) = held.ok_or(ConfigError::NotKept(remote::VARIABLE))?;
        let place = || format!("env.{}", remote::VARIABLE);
        let wrong = |why: ConfigError| ConfigError::Inside(place(), Box::new(why));
        return Ok(Kind::Fronted {
            remote: Remote::parse(text).map_err(wrong)?,
            kept: serde_json::from_str(text)
                .map_err(|error| wrong(ConfigError::Syntax(error.to_string())))?,
            options: launch.args,
        });
    }
    let observes = launch.args.iter().any(|arg| arg == "--observe");
    Ok(Kind::Bouncer {
        subcommand,
        observes,
    })
}

/// Whether a program is this one, by its name: `bouncer.sh` is another.
pub fn is_bouncer(program: &str) -> bool {
    // Also a path of the other system's kind.
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name == "bouncer" || name.eq_ignore_ascii_case("bouncer.exe")
}

/// Whether arguments begin as `init` writes them, whatever the program is called that they are
/// for (see its `--program`).
fn starts_like_init(args: &[String]) -> bool {
    matches!(args, [run, server, ..] if run == "run" && (server == "--server" || server.starts_with("--server=")))
}

fn launch(entry: &Map<String, Value>) -> Result<Launch, ConfigError> {
    if let Some(Value::Array(parts)) = entry.get("command") {
        return listed(entry, parts);
    }
    let (holder, program, place) = match entry.get("command") {
        Some(Value::Object(command)) => (command, "path", "command."),
        _ => (entry, "command", ""),
    };
    let text = |map: &Map<String, Value>, key: &str, place: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ConfigError::Wrong(format!("{place}{key}"), "a string")),
    };
    let program = text(holder, program, place)?
        .ok_or_else(|| ConfigError::Missing(format!("{place}{program}")))?;
    let wrong = || ConfigError::Wrong(format!("{place}args"), "a list of strings");
    let args = match holder.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(wrong()),
    };
    let not_texts = || ConfigError::Wrong(format!("{place}env"), "an object of strings");
    let env = match holder.get("env") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(members)) => members
            .iter()
            .map(|(name, value)| {
                let value = value.as_str().ok_or_else(not_texts)?;
                Ok((name.clone(), value.to_owned()))
            })
            .collect::<Result<_, ConfigError>>()?,
        Some(_) => return Err(not_texts()),
    };
    Ok(Launch {
        program,
        args,
        env,
        cwd: text(entry, "cwd", "")?,
    })
}

/// As opencode has it: `command` is a list, and the variables are called `environment`.
fn listed(entry: &Map<String, Value>, parts: &[Value]) -> Result<Launch, ConfigError> {
    let wrong = || ConfigError::Wrong("command".to_owned(), "a list of strings");
    let texts = parts.iter().map(|part| part.as_str().map(str::to_owned));
    let texts: Vec<String> = texts.collect::<Option<_>>().ok_or_else(wrong)?;
    let (program, args) = texts.split_first().ok_or_else(wrong)?;
    let not_texts = || ConfigError::Wrong("environment".to_owned(), "an object of strings");
    let env = match entry.get("environment") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(members)) => {
            let pairs = members.iter().map(|(name, value)| {
                let value = value.as_str().ok_or_else(not_texts)?;
                Ok((name.clone(), value.to_owned()))
            });
            pairs.collect::<Result<_, ConfigError>>()?
        }
        Some(_) => return Err(not_texts()),
    };
    Ok(Launch {
        program: program.clone(),
        args: args.to_vec(),
        env,
        cwd: None,
    })
}
