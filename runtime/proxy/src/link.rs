//! A connection to one server, however it is reached.
//!
//! Lines go in and lines come out; who is at the other end matters only when it ends.

use super::process::{Server, ServerCommand};
use super::remote::{HttpServer, Remote};
use super::stop::Stop;
use super::unix::{Input, Output};
use std::fmt;
use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// It is started, and speaks over its standard streams.
    Command(ServerCommand),
    /// It runs already, and speaks over HTTP.
    Url(HttpServer),
}

/// See the module.
pub(super) struct Link {
    /// What it hears.
    pub input: Output,
    /// What it says.
    pub output: Input,
    /// Who it is.
    pub far: Far,
}

/// The other end.
pub(super) enum Far {
    /// A child of this process.
    Process(Server),
    /// A server somewhere else.
    Remote(Remote),
    /// Somebody who ends by themselves.
    #[cfg(test)]
    Nobody,
}

/// How a connection ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// The status of a process.
    pub status: Option<ExitStatus>,
    /// What is to be said of a server elsewhere.
    pub why: Option<String>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.why, self.status) {
            (Some(why), _) => f.write_str(why),
            (None, Some(status)) => write!(f, "has ended ({status})"),
            (None, None) => f.write_str("has ended"),
        }
    }
}

impl Endpoint {
    /// Connects. A server elsewhere is not spoken to before the first message.
    ///
    /// # Errors
    /// If a command cannot be started.
    pub(super) fn connect(&self, max_message: usize) -> io::Result<Link> {
        match self {
            Self::Command(command) => {
                let (process, input, output) = Server::start(command)?;
                Ok(Link {
                    input: Box::pin(input),
                    output: Box::pin(output),
                    far: Far::Process(process),
                })
            }
            Self::Url(server) => {
                let (remote, input, output) = Remote::connect(server, max_message);
                Ok(Link {
                    input: Box::pin(input),
                    output: Box::pin(output),
                    far: Far::Remote(remote),
                })
            }
        }
    }
}

impl Far {
    /// Waits for the other end to end by itself, then makes it; see [`Server::end`].
    pub(super) async fn end<F>(self, grace: Duration, stop: &mut Stop<F>) -> Ended
    where
        F: Future,
        F::Output: Copy,
    {
        match self {
            Self::Process(process) => Ended {
                status: process.end(grace, stop).await,
                why: None,
            },
            Self::Remote(remote) => Ended {
                status: None,
                why: remote.end(grace, stop).await,
            },
            #[cfg(test)]
            Self::Nobody => Ended::default(),
        }
    }
}
