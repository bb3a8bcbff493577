//! What can go wrong with the store.

use super::status::Status;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The store cannot be used. Nothing counts as approved then.
#[derive(Debug)]
pub enum StoreError {
    /// The file or its directory.
    File(PathBuf, io::Error),
    /// It was removed or replaced, and cannot be opened anew.
    Gone(PathBuf),
    /// The database: locked for too long, damaged, or not a database.
    Database(rusqlite::Error),
    /// The file was written by another version of this program.
    Version(i64),
    /// The system gives no random numbers.
    Random(String),
    /// The arguments have no canonical form.
    Arguments,
    /// A human has just denied the same request.
    Denied(String),
    /// Too many requests of one conversation wait for a human.
    Full,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Gone(path) => write!(
                f,
                "`{}` was removed or replaced while it was in use",
                path.display()
            ),
            Self::Database(error) => write!(f, "the approvals cannot be read or written: {error}"),
            Self::Version(version) => write!(
                f,
                "the approvals have format {version}, which this version does not know: name another file with `--approvals`"
            ),
            Self::Random(error) => write!(f, "there are no random numbers: {error}"),
            Self::Arguments => f.write_str("the arguments cannot be put into one form"),
            Self::Denied(id) => write!(f, "a human has denied it as request `{id}`"),
            Self::Full => {
                f.write_str("too many calls of this conversation wait for a human already")
            }
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// A request cannot be decided.
#[derive(Debug)]
pub enum DecideError {
    /// There is no request with this id.
    Unknown(String),
    /// It was decided before, or has expired.
    Already(String, Status),
    /// The store cannot be used.
    Store(StoreError),
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(id) => {
                write!(f, "there is no request with the id `{}`", id.escape_debug())
            }
            Self::Already(id, status) => {
                write!(f, "request `{id}` is {} already", status.name())
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DecideError {}

impl From<StoreError> for DecideError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for DecideError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}
