//! Servers that are reached at a URL, in each client's spelling; and how such an entry is
//! kept in an entry that starts bouncer: as JSON in a variable of its environment, so that
//! what is secret in it stands on no command line.

use super::error::ConfigError;
use serde_json::{Map, Value};

/// The variable that holds the original.
pub const VARIABLE: &str = "BOUNCER_UPSTREAM";
/// The option that names it.
pub const OPTION: &str = "--upstream-env";

/// The members that say where a server is and what is sent along.
pub const MEMBERS: [&str; 8] = [
    "type",
    "url",
    "serverUrl",
    "httpUrl",
    "headers",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
];
/// Members about a log-in that the client does by itself.
const LOGINS: [&str; 6] = [
    "oauth",
    "auth",
    "authorization",
    "headersHelper",
    "scopes",
    "oauth_resource",
];

/// A server that is reached over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Where.
    pub url: String,
    /// What is sent along. `${NAME}` stands for a variable of the environment.
    pub headers: Vec<(String, String)>,
    /// Variables that the headers name, which a client has to pass on.
    pub variables: Vec<String>,
    /// Why bouncer cannot stand before it, whatever the server says.
    pub unreachable: Option<&'static str>,
}

impl Remote {
    /// Reads an entry; `None` if it has no address.
    ///
    /// # Errors
    /// If a member is not what it has to be.
    pub fn read(entry: &Map<String, Value>) -> Result<Option<Self>, ConfigError> {
        let url = ["url", "serverUrl", "httpUrl"]
            .iter()
            .find_map(|key| entry.get(*key));
        let Some(url) = url.and_then(Value::as_str) else {
            return Ok(None);
        };
        let mut remote = Self {
            url: url.to_owned(),
            ..Self::default()
        };
        for key in ["headers", "http_headers"] {
            remote.headers.extend(texts(entry, key)?);
        }
        let mut variable = |name: String, before: &str, variable: String| {
            let value = format!("{before}${{{variable}}}");
            remote.headers.push((name, value));
            remote.variables.push(variable);
        };
        for (name, of) in texts(entry, "env_http_headers")? {
            variable(name, "", of);
        }
        match entry.get("bearer_token_env_var") {
            None | Some(Value::Null) => {}
            Some(Value::String(of)) => {
                variable("Authorization".to_owned(), "Bearer ", of.clone());
            }
            Some(_) => {
                return Err(ConfigError::Wrong(
                    "bearer_token_env_var".to_owned(),
                    "a string",
                ));
            }
        }
        let transport = entry.get("type").and_then(Value::as_str);
        if transport.is_some_and(|name| name.eq_ignore_ascii_case("sse")) {
            remote.unreachable = Some(
                "it speaks the older transport `sse`, which bouncer does not, nor do newer clients: ask its makers for a Streamable HTTP address",
            );
        } else if LOGINS.iter().any(|key| entry.contains_key(*key)) {
            remote.unreachable = Some(
                "the client logs in there, which bouncer does not do; with a token of your own in its `headers` instead, `bouncer init` guards it",
            );
        }
        Ok(Some(remote))
    }

    /// Reads what a variable holds.
    ///
    /// # Errors
    /// If it is no such entry. The message has nothing of its contents.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let map: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| ConfigError::WrongWhole("a JSON object"))?;
        Self::read(&map)?.ok_or(ConfigError::NoUrl(None))
    }

    /// Whether something that is sent along looks like a proof of who asks.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.headers.iter().any(|(name, _)| {
            let name = name.to_ascii_lowercase();
            let words = ["auth", "cookie", "key", "token", "secret"];
            words.iter().any(|word| name.contains(word))
        })
    }

    /// Whether some part is a placeholder that is filled in where the entry is started.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        let mut values = self.headers.iter().map(|(_, value)| value);
        self.url.contains("${") || values.any(|value| value.contains("${"))
    }
}

/// The members of an entry that are kept.
#[must_use]
pub fn kept(entry: &Map<String, Value>) -> Map<String, Value> {
    let members = entry.iter();
    let members = members.filter(|(key, _)| MEMBERS.contains(&key.as_str()));
    members
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn texts(entry: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let wrong = || ConfigError::Wrong(key.to_owned(), "an object of strings");
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
