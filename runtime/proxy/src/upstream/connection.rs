//! A connection to one server, however it is reached.
//!
//! Lines go in and lines come out; who is at the other end matters only when it ends.

use crate::conversation::related::Questions;
use crate::upstream::adapter::{Child, Ends, Manner, Order, Pace, interpret};
use crate::upstream::http::{HttpServer, Remote};
use crate::upstream::process::{Server, ServerCommand};
use crate::wire::stop::Stop;
use crate::wire::unix::{Input, Output};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// It is started, and speaks over its standard streams.
    Command(ServerCommand),
    /// It runs already, and speaks over HTTP.
    Url(HttpServer),
}

/// How a server is reached, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    endpoint: Endpoint,
    /// The longest message that is taken from it, in bytes.
    max_message: usize,
    /// Which version it is spoken to in first.
    pub order: Order,
    pub pace: Pace,
    /// It speaks only older versions of the protocol, as far as is known.
    older: Rc<Cell<bool>>,
}

/// See the module.
pub(crate) struct Link {
    /// What it hears.
    pub input: Output,
    /// What it says.
    pub output: Input,
    /// Who it is.
    pub far: Far,
    /// What its questions are about, where that is known.
    pub questions: Questions,
}

/// The other end.
pub(crate) enum Far {
    /// A child of this process.
    Process(Child),
    /// A server somewhere else.
    Remote(Remote),
    /// Somebody who ends by themselves.
    #[cfg(test)]
    Nobody,
}

/// How a connection ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
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

impl Reach {
    pub(crate) fn new(endpoint: Endpoint, max_message: usize) -> Self {
        Self {
            endpoint,
            max_message,
            order: Order::default(),
            pace: Pace::default(),
            older: Rc::default(),
        }
    }

    /// Connects. A server elsewhere is not spoken to before the first message.
    ///
    /// # Errors
    /// If a command cannot be started.
    pub(crate) fn connect(&self) -> io::Result<Link> {
        let (ends, far) = match &self.endpoint {
            Endpoint::Command(command) => {
                let (process, input, output) = Server::start(command)?;
                let child: Child = Rc::new(RefCell::new(Some(process)));
                let ends = Ends {
                    input: Box::pin(input),
                    output: Box::pin(output),
                    again: Some((command.clone(), Rc::clone(&child))),
                };
                (ends, Far::Process(child))
            }
            Endpoint::Url(server) => {
                let (remote, input, output) = Remote::connect(server, self.max_message);
                let ends = Ends {
                    input,
                    output,
                    again: None,
                };
                (ends, Far::Remote(remote))
            }
        };
        if self.order == Order::NewerFirst && self.older.get() {
            return Ok(Link {
                input: ends.input,
                output: ends.output,
                far,
                questions: Questions::default(),
            });
        }
        let manner = Manner {
            order: self.order,
            pace: self.pace,
            max_message: self.max_message,
            older: Rc::clone(&self.older),
        };
        let (input, output, questions) = interpret(ends, manner);
        Ok(Link {
            input,
            output,
            far,
            questions,
        })
    }

    /// What was known of the server may not be so any more.
    pub(crate) fn forget(&self) {
        self.older.set(false);
    }
}

impl Far {
    /// Waits for the other end to end by itself, then makes it; see [`Server::end`].
    pub(crate) async fn end<F>(self, grace: Duration, stop: &mut Stop<F>) -> Ended
    where
        F: Future,
        F::Output: Copy,
    {
        match self {
            Self::Process(child) => {
                let process = child.take();
                let status = match process {
                    Some(process) => process.end(grace, stop).await,
                    None => None,
                };
                Ended { status, why: None }
            }
            Self::Remote(remote) => Ended {
                status: None,
                why: remote.end(grace, stop).await,
            },
            #[cfg(test)]
            Self::Nobody => Ended::default(),
        }
    }
}
