//! Makes a server of the protocol without an introduction (2026-07-28) look like one of an
//! older version, so that all that is judged, recorded and routed is the same for both.
//!
//! Stands behind the permit: what arrives here has been judged, and what goes out to the
//! server is what arrived, with what the newer version wants on top (`_meta`), never a
//! request of its own making but for discovery and subscriptions. A result that asks for
//! something first becomes requests of the server, and their answers the same request
//! again, byte for byte, with what was asked for. The server's own state never leaves this
//! module. Knows nothing of policies.
//!
//! A server that speaks an older version is handed over: its lines do not come through
//! here any more.

mod answers;
mod begin;
mod compose;
mod listens;
mod requests;
mod rounds;
mod switch;
#[cfg(test)]
mod tests;

use crate::conversation::related::Questions;
use crate::upstream::adapter::begin::{Beginning, Newer};
use crate::upstream::adapter::compose::Speaker;
use crate::upstream::adapter::listens::Listens;
use crate::upstream::adapter::rounds::Round;
use crate::upstream::process::{Server, ServerCommand};
use crate::wire::line::{Line, LineReader};
use crate::wire::outbox::Outbox;
use crate::wire::unix::{Input, Output};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::id::Key;
use bouncer_system::log::{note, visible};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, duplex};
use tokio::task::{JoinSet, spawn_local};

/// What is buffered between the interpreter and its client's side, in bytes.
const PIPE: usize = 64 * 1024;
/// What requests may be kept to be made again, in bytes.
const MAX_KEPT: usize = 64 * 1024 * 1024;

/// Which version a server is spoken to in first. Servers may speak both, and need not do
/// the same in both: what a client gets is what it would get without a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// As a client with an introduction does.
    #[default]
    OlderFirst,
    /// As a client without one does.
    NewerFirst,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// How long a server may take to say whether it speaks the newer version.
    pub discover: Duration,
    /// How long a client may take to give what a server asks for.
    pub answers: Duration,
    /// The pause before a stream of changes is opened again; it doubles.
    pub first_pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            discover: Duration::from_secs(10),
            answers: Duration::from_secs(600),
            first_pause: Duration::from_millis(500),
        }
    }
}

/// A process, for whoever ends it.
pub(crate) type Child = Rc<RefCell<Option<Server>>>;

/// The server's end of a connection.
pub(crate) struct Ends {
    pub input: Output,
    pub output: Input,
    /// How it can be started again, if it does not survive a question.
    pub again: Option<(ServerCommand, Child)>,
}

/// How to begin.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub order: Order,
    pub pace: Pace,
    pub max_message: usize,
    /// Is set once the server is known to speak only older versions.
    pub older: Rc<Cell<bool>>,
}

/// Puts an interpreter before a server. Gives what it hears, what it says, and what its
/// questions are about.
pub(crate) fn interpret(server: Ends, manner: Manner) -> (Output, Input, Questions) {
    let (near, far) = duplex(PIPE);
    let handover = Rc::default();
    let (speaking, hearing) = switch::switch(near, &handover);
    let questions = Questions::default();
    let shared = Rc::clone(&questions);
    spawn_local(async move {
        let begun = Beginning::new(far, server, &manner, handover).run().await;
        if let Some(newer) = begun {
            let limit = manner.max_message;
            Interpreter::new(&newer, manner, shared)
                .run(newer, limit)
                .await;
        }
    });
    (Box::pin(speaking), Box::pin(hearing), questions)
}

/// A request of the client.
struct Request {
    /// How the client spelled its id.
    raw: Vec<u8>,
    method: String,
    /// The request itself, if it may have to be made again.
    line: Option<Rc<[u8]>>,
    /// How often the server has asked for something already.
    rounds: u32,
    /// How often it did without a question.
    empty_rounds: u32,
    /// What its client can do, where the answer is held against that.
    able: Option<Value>,
    at: At,
}

/// Where a request is.
enum At {
    /// At the server, under that number.
    Server(u64),
    /// The client is asked for something.
    Client(Round),
    /// It is about to be made again.
    Pause,
}

/// See the module.
pub(crate) struct Interpreter {
    manner: Manner,
    /// What the server hears.
    up: Outbox,
    /// What the client's side hears.
    down: Outbox,
    speaker: Speaker,
    requests: RefCell<HashMap<Key, Request>>,
    /// Which request a number stands for.
    numbers: RefCell<HashMap<u64, Key>>,
    last: Cell<u64>,
    kept: Cell<usize>,
    /// Which question an id stands for: the request, and the server's name for it.
    asked: RefCell<BTreeMap<String, (Key, String)>>,
    questions: Questions,
    prefix: String,
    listens: RefCell<Listens>,
    /// What waits for its time.
    timers: RefCell<JoinSet<()>>,
}

impl Interpreter {
    fn new(newer: &Newer, manner: Manner, questions: Questions) -> Rc<Self> {
        Rc::new(Self {
            // Only clients without an introduction know tasks as this version has them.
            speaker: Speaker::new(&newer.hello, manner.order == Order::NewerFirst),
            listens: RefCell::new(Listens::new(&newer.capabilities)),
            manner,
            up: Outbox::default(),
            down: Outbox::default(),
            requests: RefCell::default(),
            numbers: RefCell::default(),
            last: Cell::new(0),
            kept: Cell::new(0),
            asked: RefCell::default(),
            questions,
            prefix: bouncer_system::random::unguessable(),
            timers: RefCell::default(),
        })
    }

    /// Goes on until the server has said its last.
    async fn run(self: Rc<Self>, newer: Newer, limit: usize) {
        let Newer {
            lines,
            back,
            input,
            output,
            early,
            answer,
            ..
        } = newer;
        self.down.push(&answer);
        let up = spawn_local({
            let this = Rc::clone(&self);
            async move { this.up.drain(input).await }
        });
        let down = spawn_local({
            let this = Rc::clone(&self);
            async move { this.down.drain(back).await }
        });
        let client = spawn_local(Rc::clone(&self).pump_client(lines, limit));
        let mut frames = FrameReader::new(limit);
        for line in early {
            self.on_server_line(&mut frames, &line);
        }
        self.pump_server(frames, output).await;
        client.abort();
        self.timers.borrow_mut().abort_all();
        self.down.finish();
        // Ends at once if nobody reads any more.
        let _ = down.await;
        up.abort();
    }

    async fn pump_client<R: AsyncRead + Unpin>(
        self: Rc<Self>,
        mut lines: LineReader<R>,
        limit: usize,
    ) {
        let mut frames = FrameReader::new(limit);
        loop {
            self.up.room().await;
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_client_line(&mut frames, line),
                Ok(Some(Line::TooLong)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        self.stop_listening();
        self.up.finish();
    }

    async fn pump_server(self: &Rc<Self>, mut frames: FrameReader, mut lines: LineReader<Input>) {
        loop {
            self.down.room().await;
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_server_line(&mut frames, line),
                Ok(Some(Line::TooLong)) => self.on_overlong_line(),
                Ok(None) => return,
                Err(error) => {
                    let error = error.to_string();
                    return note(format_args!(
                        "the server cannot be read: {}",
                        visible(&error)
                    ));
                }
            }
            while self.timers.borrow_mut().try_join_next().is_some() {}
        }
    }

    fn next_number(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Does something after a while.
    fn later(self: &Rc<Self>, pause: Duration, then: impl FnOnce(Rc<Self>) + 'static) {
        let this = Rc::downgrade(self);
        self.timers.borrow_mut().spawn_local(async move {
            tokio::time::sleep(pause).await;
            if let Some(this) = this.upgrade() {
                then(this);
            }
        });
    }
}
