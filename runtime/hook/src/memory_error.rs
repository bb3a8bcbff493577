//! Why what is remembered cannot be used.

use std::fmt;
use std::path::PathBuf;

/// Why the memory cannot be used.
#[derive(Debug)]
pub enum MemoryError {
    /// The file system does not let us.
    File(PathBuf, std::io::Error),
    /// The database cannot be opened or set up.
    Open(PathBuf, rusqlite::Error),
    /// Another version of bouncer made the file.
    OtherVersion(PathBuf),
    /// What stands in it cannot be read or written now.
    Database(rusqlite::Error),
    /// One conversation has used more tools than are counted.
    TooManyUses,
    /// Something else has changed what is remembered.
    Changed,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Open(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::OtherVersion(path) => write!(
                f,
                "`{}`: it is of another version of bouncer",
                path.display()
            ),
            Self::Database(error) => error.fmt(f),
            Self::Changed => f.write_str("what is remembered was changed by somebody else"),
            Self::TooManyUses => f.write_str("this conversation has used very many tools"),
        }
    }
}

impl std::error::Error for MemoryError {}

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}
