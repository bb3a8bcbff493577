//! The state of an installation: which MCP clients there are, whether bouncer stands before
//! their servers, and what has to be changed so that it does, or no longer does.
//!
//! Knows nothing of the proxy, of how a policy is compiled, or of terminals: callers hand over
//! what only they can find out, and show what is returned.

pub mod clients;
pub mod doctor;
mod error;
mod gateway;
pub use gateway::good_names;

pub mod init;
mod options;
mod standing;
pub mod uninstall;

pub use error::SetupError;
pub use standing::{INSTEAD, standing};

use clients::file;

/// How the lock of a file's servers is called, after the file.
pub const LOCK: &str = ".bouncer.lock";

/// A configuration file, and what it is to become.
#[derive(Clone, Debug)]
pub struct Change {
    /// What was read.
    pub read: file::Read,
    /// What is to be written.
    pub new: String,
}
