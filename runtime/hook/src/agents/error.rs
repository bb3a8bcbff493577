//! Why a message of an agent cannot be read.

use std::fmt;

/// Why a message of an agent cannot be read. The tool that it is about is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It is not JSON as every reader takes it.
    Json(String),
    /// A member is not a string.
    NotText(&'static str),
    /// A member is missing, or empty.
    Missing(&'static str),
    /// Nothing says what the tool returned.
    NoResult(&'static str),
    /// The tool's name may mean tools of very many servers.
    ManyServers,
    /// An argument that says where the tool works is not one directory.
    Directory(&'static str),
    /// The event is neither before nor after a tool runs.
    Event,
    /// A member that is not known, in a form that is our own.
    Unknown {
        /// The member.
        member: String,
        /// Those that are known, in back-ticks.
        known: String,
    },
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(why) => f.write_str(why),
            Self::NotText(name) => write!(f, "`{name}` is not a string"),
            Self::Missing(name) => write!(f, "`{name}` is missing"),
            Self::NoResult(why) => f.write_str(why),
            Self::ManyServers => f.write_str("which server `tool_name` means cannot be told"),
            Self::Directory(name) => write!(f, "`{name}` is not one plain directory"),
            Self::Event => f.write_str("`event` is neither `before` nor `after`"),
            Self::Unknown { member, known } => {
                write!(f, "unknown member `{member}`; known are {known}")
            }
        }
    }
}

impl std::error::Error for MessageError {}
