//! Reads a hook's message strictly. A message that could mean two things is no message: no
//! member stands there twice, and what is needed is there. Knows no agent.

use bouncer_reader::json::{Limits, Scratch, members};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// Longer messages are not read.
pub const MAX_MESSAGE: usize = 64 << 20;

/// Why a message cannot be used.
#[derive(Debug)]
pub enum MessageError {
    /// It is longer than [`MAX_MESSAGE`].
    TooLong,
    /// It cannot be read at all.
    Read(std::io::Error),
    /// It is not one clean JSON object.
    Malformed(String),
    /// A member that is needed is missing.
    Missing(&'static str),
    /// A member is not a string.
    NotText(&'static str),
    /// A member that names a directory does not name one plain directory.
    NotOneDirectory(&'static str),
    /// A member that is not known.
    UnknownMember {
        /// The member.
        name: String,
        /// Those that are known.
        known: &'static [&'static str],
    },
    /// The tool's name may mean very many servers.
    ServerUnclear,
    /// The event of the plain form is neither of the two that it has.
    UnknownEvent,
    /// Nothing says what the tool returned.
    NoResult {
        /// What could have said it.
        missing: &'static str,
    },
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the message is very long"),
            Self::Read(error) => error.fmt(f),
            Self::Malformed(why) => f.write_str(why),
            Self::Missing(name) => write!(f, "`{name}` is missing"),
            Self::NotText(name) => write!(f, "`{name}` is not a string"),
            Self::NotOneDirectory(name) => write!(f, "`{name}` is not one plain directory"),
            Self::UnknownMember { name, known } => {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "unknown member `{name}`; known are {}", known.join(", "))
            }
            Self::ServerUnclear => f.write_str("which server `tool_name` means cannot be told"),
            Self::UnknownEvent => f.write_str("`event` is neither `before` nor `after`"),
            Self::NoResult { missing } => f.write_str(missing),
        }
    }
}

impl std::error::Error for MessageError {}

impl From<serde_json::Error> for MessageError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// The raw bytes of a message's members, by the order in which they were asked for.
pub struct Members<'a, const N: usize>([Option<&'a [u8]>; N]);

/// Reads the members with these names. Others may be there.
///
/// # Errors
/// If the message is not one clean JSON object.
pub fn read<'a, const N: usize>(
    bytes: &'a [u8],
    names: [&str; N],
) -> Result<Members<'a, N>, MessageError> {
    let limits = Limits {
        max_bytes: MAX_MESSAGE,
        ..Limits::default()
    };
    let mut scratch = Scratch::new(&limits);
    let found = members(bytes, names, &limits, &mut scratch)
        .map_err(|error| MessageError::Malformed(error.to_string()))?;
    Ok(Members(found))
}

impl<'a, const N: usize> Members<'a, N> {
    /// A member's bytes; `null` is as if it were not there.
    #[must_use]
    pub fn raw(&self, at: usize) -> Option<&'a [u8]> {
        self.0
            .get(at)
            .copied()
            .flatten()
            .filter(|raw| *raw != b"null")
    }

    /// Whether the member is there, be it `null`.
    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(Option::is_some)
    }

    /// A member that is a string, if it is there.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self, at: usize, name: &'static str) -> Result<Option<String>, MessageError> {
        let Some(raw) = self.raw(at) else {
            return Ok(None);
        };
        let text = serde_json::from_slice(raw).map_err(|_| MessageError::NotText(name))?;
        Ok(Some(text))
    }

    /// A member that has to be a string that is not empty.
    ///
    /// # Errors
    /// If it is not.
    pub fn needed(&self, at: usize, name: &'static str) -> Result<String, MessageError> {
        self.text(at, name)?
            .filter(|text| !text.is_empty())
            .ok_or(MessageError::Missing(name))
    }

    /// A member, whatever it is.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn value(&self, at: usize) -> Result<Option<Value>, MessageError> {
        Ok(self.raw(at).map(serde_json::from_slice).transpose()?)
    }

    /// Arguments that are an object, or a text that holds one.
    ///
    /// # Errors
    /// If the text cannot be read.
    pub fn arguments(&self, at: usize) -> Result<Vec<u8>, MessageError> {
        let raw = self.raw(at).unwrap_or(b"{}");
        if raw.first() == Some(&b'"') {
            let text: String = serde_json::from_slice(raw)?;
            return Ok(text.into_bytes());
        }
        Ok(raw.to_vec())
    }
}

/// The directory that a tool's arguments say it works in.
///
/// # Errors
/// If they say several, or something that is no directory.
pub fn directory(input: Option<&[u8]>) -> Result<Option<PathBuf>, MessageError> {
    let Some(Ok(Value::Object(input))) = input.map(serde_json::from_slice::<Value>) else {
        return Ok(None);
    };
    let names = ["working_directory", "workdir", "cwd"];
    let mut found = names
        .iter()
        .filter_map(|name| Some((*name, input.get(*name)?)));
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some((_, Value::Null)), None) => Ok(None),
        (Some((_, Value::String(path))), None) => {
            Ok((!path.is_empty()).then(|| PathBuf::from(path)))
        }
        (Some((name, _)), _) => Err(MessageError::NotOneDirectory(name)),
    }
}
