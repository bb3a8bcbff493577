//! Why a client's configuration, or one entry of it, is not what bouncer can work with.

use std::fmt;

/// Why a configuration cannot be used. The messages have nothing of values, which may be
/// secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// It cannot be parsed.
    Syntax(String),
    /// A key stands twice in one object. Clients differ in which of them they take.
    DuplicateKey(String),
    /// A key cannot be decoded.
    UnreadableKey,
    /// The file's text is no JSON object.
    NoJsonObject,
    /// Something that should be there is not: what it is, and where.
    NotThere(&'static str, String),
    /// A member is missing.
    Missing(String),
    /// A member is not what it has to be: its place, and what it should be.
    Wrong(String, &'static str),
    /// The whole is not what it has to be.
    WrongWhole(&'static str),
    /// The entry starts no server.
    StartsNothing(String),
    /// The entry has no URL.
    NoUrl(Option<String>),
    /// Nothing stands behind `--`.
    NoCommandBehind,
    /// The entry's environment does not hold what it was.
    NotKept(&'static str),
    /// Bouncer does not stand before the entry.
    NotWrapped(String),
    /// Something is wrong inside of a member.
    Inside(String, Box<ConfigError>),
    /// There is no home directory to look for configurations in.
    NoHome,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(why) => f.write_str(why),
            Self::DuplicateKey(key) => write!(f, "duplicate key `{key}`"),
            Self::UnreadableKey => f.write_str("a key cannot be read"),
            Self::NoJsonObject => f.write_str("there is no JSON object in it"),
            Self::NotThere("", place) => write!(f, "there is no `{place}`"),
            Self::NotThere(what, place) => write!(f, "there is no {what} `{place}`"),
            Self::Missing(name) => write!(f, "`{name}` is missing"),
            Self::Wrong(place, wanted) => write!(f, "`{place}` is not {wanted}"),
            Self::WrongWhole(wanted) => write!(f, "it is not {wanted}"),
            Self::StartsNothing(place) => write!(f, "`{place}` starts no server"),
            Self::NoUrl(Some(place)) => write!(f, "`{place}` has no URL"),
            Self::NoUrl(None) => f.write_str("it has no `url`"),
            Self::NoCommandBehind => f.write_str("there is no command behind `--`"),
            Self::NotKept(variable) => write!(f, "its `env` has no `{variable}`"),
            Self::NotWrapped(place) => write!(f, "bouncer does not stand before `{place}`"),
            Self::Inside(place, error) => write!(f, "`{place}`: {error}"),
            Self::NoHome => f.write_str("there is no home directory: name a file with `--config`"),
        }
    }
}

impl std::error::Error for ConfigError {}
