//! One conversation of a client that comes over HTTP, and which of its streams hears
//! what.
//!
//! Behind it stands a gateway as for a client on standard streams: it reads lines and
//! writes lines. Here lines become answers to the requests that they belong to.

use crate::gateway::router::QuestionOrigins;
use crate::http::modern::RoundTrips;
use crate::http::stream::{self, Channel, EventId, History, Receiver, Sender};
use crate::wire::line::{Line, LineReader};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc;
use bouncer_system::log::note;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Messages that nobody has heard yet.
const MAX_PARKED: usize = 1000;
/// Their bytes.
const MAX_PARKED_BYTES: usize = 1024 * 1024;
/// JSON-RPC: of the range for implementations.
const UNHEARD: i32 = -32000;

/// A request that waits for its answer.
#[derive(Debug)]
struct WaitingRequest {
    sender: Sender,
    token: Option<Key>,
    /// Counts the requests, to tell which is the newest.
    number: u64,
}

#[derive(Debug, Default)]
struct Streams {
    count: u64,
    waiting: HashMap<Key, WaitingRequest>,
    /// By progress tokens.
    tokens: HashMap<Key, Key>,
    /// What hears all that belongs to no request.
    listener: Option<Sender>,
    parked: VecDeque<Vec<u8>>,
    parked_bytes: usize,
    /// What was said, for clients whose connection breaks.
    kept: Rc<RefCell<History>>,
}

/// Takes note of a line that is refused, and of why.
type Refused = Box<dyn Fn(&[u8], &str)>;

/// One conversation over HTTP, with all streams that its client listens to.
pub(super) struct HttpSession {
    /// Whose it is.
    pub principal: Rc<str>,
    pub channel: Rc<Channel>,
    limit: usize,
    /// Logs what is refused before it gets any further.
    refused: Refused,
    streams: RefCell<Streams>,
    /// Instead of the streams, for clients that have no sessions.
    pub rounds: Option<Rc<RoundTrips>>,
    /// What questions are about, where that is known.
    origins: QuestionOrigins,
    used: Cell<Instant>,
    /// Nobody will answer any more.
    over: Cell<bool>,
    settled: Notify,
}

/// A request under that id waits already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken;

impl HttpSession {
    pub(super) fn new(
        principal: Rc<str>,
        limit: usize,
        refused: Refused,
        rounds: Option<RoundTrips>,
        origins: &QuestionOrigins,
    ) -> Rc<Self> {
        Rc::new(Self {
            principal,
            channel: Rc::default(),
            limit,
            refused,
            streams: RefCell::default(),
            rounds: rounds.map(Rc::new),
            origins: Rc::clone(origins),
            used: Cell::new(Instant::now()),
            over: Cell::new(false),
            settled: Notify::new(),
        })
    }

    /// Notes that the client is there.
    pub(super) fn touch(&self) {
        self.used.set(Instant::now());
    }

    /// Since when nothing was heard of the client; `None` while it waits or listens.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let streams = self.streams.borrow();
        let listens = streams.listener.as_ref().is_some_and(Sender::is_open);
        let waits = || streams.waiting.values().any(|w| w.sender.is_open());
        let rounds = self.rounds.as_ref();
        let rounds = rounds.is_some_and(|rounds| rounds.listens() || rounds.waiting() > 0);
        (!rounds && !listens && !waits()).then(|| self.used.get())
    }

    /// Logs a message that is refused before it gets any further.
    pub(super) fn note_refused(&self, line: &[u8], why: &str) {
        (self.refused)(line, why);
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }

    /// How many requests are open whose clients still wait.
    pub(super) fn open(&self) -> usize {
        let streams = self.streams.borrow();
        let waits = |waiting: &&WaitingRequest| waiting.sender.is_open();
        let rounds = self.rounds.as_ref().map_or(0, |rounds| rounds.waiting());
        streams.waiting.values().filter(waits).count() + rounds
    }

    /// Waits until no client waits for an answer.
    pub(super) async fn settled(&self) {
        while !self.over.get() && self.open() > 0 {
            self.settled.notified().await;
        }
        // One wake-up is stored for one waiter: pass it on.
        self.settled.notify_one();
    }

    /// Takes a request's place: what answers it comes out here.
    pub(super) fn wait(&self, key: Key, token: Option<Key>) -> Result<Receiver, Taken> {
        let mut streams = self.streams.borrow_mut();
        if streams.waiting.contains_key(&key) {
            return Err(Taken);
        }
        let (sender, receiver) = stream::channel(&self.channel.queued);
        streams.count += 1;
        let number = streams.count;
        let sender = sender.keeping(&streams.kept, begin(number));
        if let Some(token) = &token {
            streams.tokens.insert(token.clone(), key.clone());
        }
        let waiting = WaitingRequest {
            sender,
            token,
            number,
        };
        streams.waiting.insert(key, waiting);
        Ok(receiver)
    }

    /// Opens the stream for all that belongs to no request; an older one ends.
    pub(super) fn listen(&self) -> Receiver {
        let (sender, receiver) = stream::channel(&self.channel.queued);
        let mut streams = self.streams.borrow_mut();
        streams.count += 1;
        let sender = sender.keeping(&streams.kept, begin(streams.count));
        for line in std::mem::take(&mut streams.parked) {
            sender.send(line, false);
        }
        streams.parked_bytes = 0;
        streams.listener = Some(sender);
        receiver
    }

    /// Opens the stream again whose connection broke after that event, with what was said since.
    /// `None`: some of that is not known any more, or it never was a stream.
    pub(super) fn resume(&self, last: EventId) -> Option<Receiver> {
        let mut streams = self.streams.borrow_mut();
        if last.stream == 0 || last.stream > streams.count {
            return None;
        }
        let missed = streams.kept.borrow().after(last)?;
        let (sender, receiver) = stream::channel(&self.channel.queued);
        let at = missed.last().and_then(|message| message.id).unwrap_or(last);
        let over = missed.last().is_some_and(|message| message.last);
        let sender = sender.keeping(&streams.kept, at);
        for message in missed {
            sender.queue(message);
        }
        let is_it = |sender: &Sender| sender.at().is_some_and(|at| at.stream == last.stream);
        let waiting = streams.waiting.values_mut();
        match waiting
            .map(|waiting| &mut waiting.sender)
            .find(|sender| is_it(sender))
        {
            Some(waiting) => *waiting = sender,
            None if over => {}
            None => match &mut streams.listener {
                Some(listener) if is_it(listener) => *listener = sender,
                // Nobody says anything in it any more.
                _ => return None,
            },
        }
        Some(receiver)
    }

    /// Says a line to the gateway.
    pub(super) async fn say(&self, line: &[u8]) {
        self.touch();
        self.channel.said.room().await;
        self.channel.said.push(line);
    }

    /// Passes what the client says, and spreads what the gateway says, until that ends.
    pub(super) async fn carry<R, W>(self: Rc<Self>, heard: R, saying: W)
    where
        R: AsyncRead + Unpin + 'static,
        W: AsyncWrite + Unpin + 'static,
    {
        let drain = tokio::task::spawn_local({
            let session = Rc::clone(&self);
            async move { session.channel.said.drain(saying).await }
        });
        // The gateway's own messages may be longer than a server's.
        let limit = self.limit.saturating_mul(3);
        let mut frames = FrameReader::new(limit);
        let mut lines = LineReader::new(heard, limit);
        loop {
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_line(&mut frames, line),
                Ok(Some(Line::TooLong)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        drain.abort();
        self.over.set(true);
        // Whoever waits or listens sees its stream end.
        *self.streams.borrow_mut() = Streams::default();
        if let Some(rounds) = &self.rounds {
            rounds.end();
        }
        self.settled.notify_one();
    }

    fn on_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        let Ok(frame) = frames.read(line) else {
            return note(format_args!("a message that cannot be read is dropped"));
        };
        if let Some(rounds) = &self.rounds {
            rounds.on_line(&self.channel, frames, &frame, line);
            self.touch();
            return self.settled.notify_one();
        }
        let Some(method) = frame.method().and_then(text) else {
            if let Some(key) = frame.id().and_then(Key::parse) {
                self.answer(&key, line);
            }
            return;
        };
        let token = match (method.as_str(), frame.params()) {
            ("notifications/progress", Some(params)) => {
                let token = frames.members(params, ["progressToken"]).ok();
                token.and_then(|[token]| Key::parse(token?))
            }
            _ => None,
        };
        let unrelated =
            method.ends_with("/list_changed") || method == "notifications/resources/updated";
        // Not in the answer to another request: who reads a question there takes it for one
        // about that.
        let about = frame.id().and_then(Key::number);
        let about = about.and_then(|id| self.origins.borrow_mut().remove(&id));
        let about = about.map(|about| about.key);
        let rest =
            self.streams
                .borrow_mut()
                .spread(line, (about.as_ref(), token.as_ref()), unrelated);
        if let (Err(Unheard), Some(id)) = (rest, frame.id()) {
            // Whoever asked must not wait for ever.
            let why = "the client does not listen to requests";
            self.channel
                .said
                .push(&jsonrpc::error(id, UNHEARD, why, None));
        }
    }

    fn answer(&self, key: &Key, line: &[u8]) {
        let mut streams = self.streams.borrow_mut();
        let Some(waiting) = streams.waiting.remove(key) else {
            return;
        };
        if let Some(token) = &waiting.token {
            streams.tokens.remove(token);
        }
        // A client that left gets no answer.
        waiting.sender.send(line.to_vec(), true);
        drop(streams);
        self.touch();
        self.settled.notify_one();
    }
}

/// Before the first event of a stream.
const fn begin(stream: u64) -> EventId {
    EventId { stream, number: 0 }
}

/// Nobody listens, and too much waits to be heard.
struct Unheard;

impl Streams {
    /// Gives a request or a notification to the stream that it belongs to: that of the
    /// request that it is about, or whose progress it tells.
    fn spread(
        &mut self,
        line: &[u8],
        (about, token): (Option<&Key>, Option<&Key>),
        unrelated: bool,
    ) -> Result<(), Unheard> {
        let of_token = token.and_then(|token| self.tokens.get(token));
        if let Some(waiting) = about.or(of_token).and_then(|key| self.waiting.get(key)) {
            if waiting.sender.send(line.to_vec(), false) || about.is_none() {
                return Ok(());
            }
            return Err(Unheard);
        }
        let open = || self.waiting.values().filter(|w| w.sender.is_open());
        let mut all = open();
        // What comes while one request is open most likely is about it.
        let only = match (all.next(), all.next()) {
            (Some(only), None) if !unrelated => Some(only),
            _ => None,
        };
        let newest = || open().max_by_key(|waiting| waiting.number);
        let sender = only
            .map(|waiting| &waiting.sender)
            .or_else(|| self.listener.as_ref().filter(|sender| sender.is_open()))
            .or_else(|| newest().map(|waiting| &waiting.sender));
        if sender.is_some_and(|sender| sender.send(line.to_vec(), false)) {
            return Ok(());
        }
        if self.parked.len() >= MAX_PARKED || self.parked_bytes + line.len() > MAX_PARKED_BYTES {
            return Err(Unheard);
        }
        self.parked_bytes += line.len();
        self.parked.push_back(line.to_vec());
        Ok(())
    }
}
