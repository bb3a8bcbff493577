//! Why bouncer cannot be put into a configuration, or taken out of it.

use crate::clients::ConfigError;
use bouncer_reader::shown::escape;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a configuration cannot be changed.
#[derive(Debug)]
pub enum SetupError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// The file system does not let us.
    File(io::Error),
    /// A path cannot stand in a configuration.
    NotUtf8(PathBuf),
    /// A placeholder that only the client can fill in: its name.
    OnlyTheClient(String),
    /// A placeholder that has no end.
    Unclosed,
    /// There is no entry that a gateway could take the place of.
    NothingForGateway,
    /// An entry starts no server.
    StartsNothing,
    /// The gateway's policy is there already, and says something else.
    PolicyExists(PathBuf),
    /// A gateway took the place of servers that nobody knows any more.
    ServersLost {
        /// The gateway's entry.
        gateway: String,
        /// The configuration.
        file: PathBuf,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::NotUtf8(path) => write!(f, "`{}` is not UTF-8", path.display()),
            Self::OnlyTheClient(name) => {
                write!(f, "only the client can fill in its `${{{}}}`", escape(name))
            }
            Self::Unclosed => f.write_str("a `${` in it is not closed"),
            Self::NothingForGateway => f.write_str("there is no server to put behind a gateway"),
            Self::StartsNothing => f.write_str("an entry starts no server"),
            Self::PolicyExists(path) => write!(
                f,
                "`{0}` exists already, and says something else: move it away, or name the servers in it \
                 (`servers:`) and write an entry that starts `bouncer gateway --policy {0}`",
                path.display()
            ),
            Self::ServersLost { gateway, file } => write!(
                f,
                "the file was changed since a gateway took the place of its servers in `{}`, so they cannot be put \
                 back; the copy beside it, `{}.bouncer-backup-…`, has them",
                escape(gateway),
                file.display()
            ),
        }
    }
}

impl std::error::Error for SetupError {}

impl From<ConfigError> for SetupError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<io::Error> for SetupError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
