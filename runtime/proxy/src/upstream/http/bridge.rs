//! Lines to requests, and answers to lines.
//!
//! Every request waits for its own answer, so that a slow one holds up no other; only
//! the introduction has to be over before anything else is sent.

use crate::upstream::http::fault::Fault;
use crate::upstream::http::headers::{MirroredHeaders, head};
use crate::upstream::http::shape::{Beginning, LineKind, Shape};
use crate::upstream::http::{HttpClient, HttpServer};
use crate::wire::line::{Line, LineReader};
use crate::wire::outbox::Outbox;
use bouncer_mcp::frame::{FrameReader, is_blank, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR};
use bouncer_system::log::{note, visible};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, Uri};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify, Semaphore, watch};
use tokio::task::{AbortHandle, JoinHandle, JoinSet, spawn_local};
use tokio::time::{sleep, timeout};

/// Requests that a server is asked at once; more wait.
const MAX_AT_ONCE: usize = 128;
/// What is under way or waits at once.
const MAX_WAITING: usize = 20_000;
/// How long a server may still work on a request that was taken back.
const AFTER_CANCEL: Duration = Duration::from_secs(5);
/// How long the server has to hear that the session is over.
const GOODBYE: Duration = Duration::from_millis(500);

/// One session with a server at a URL.
pub(super) struct Bridge {
    pub(super) server: HttpServer,
    pub(super) client: HttpClient,
    pub(super) limit: usize,
    pub(super) session: RefCell<Option<HeaderValue>>,
    pub(super) version: RefCell<Option<HeaderValue>>,
    /// What the gateway hears.
    pub(super) out: Outbox,
    pub(super) frames: RefCell<FrameReader>,
    /// What calls have to say in headers.
    pub(super) mirrored: RefCell<MirroredHeaders>,
    /// What the session began with, and whose turn it is to begin another.
    pub(super) beginning: RefCell<Beginning>,
    pub(super) renewing: Mutex<()>,
    /// Where the server said that it is instead.
    pub(super) moved: RefCell<Option<Uri>>,
    /// Where a server of the older transport wants to be spoken to, and who listens to it.
    pub(super) older: RefCell<Option<Uri>>,
    pub(super) reading: RefCell<Option<AbortHandle>>,
    slots: Semaphore,
    open: RefCell<HashMap<Key, AbortHandle>>,
    /// Why the server cannot be used any more.
    why: Rc<RefCell<Option<String>>>,
    lost: Notify,
    listening: Cell<bool>,
}

/// Nothing is sent before this is over.
type Barrier = watch::Receiver<()>;

impl Bridge {
    pub(super) fn new(server: HttpServer, client: HttpClient, limit: usize) -> Rc<Self> {
        Rc::new(Self {
            server,
            client,
            limit,
            session: RefCell::default(),
            version: RefCell::default(),
            out: Outbox::default(),
            frames: RefCell::new(FrameReader::new(limit)),
            mirrored: RefCell::default(),
            beginning: RefCell::default(),
            renewing: Mutex::new(()),
            moved: RefCell::default(),
            older: RefCell::default(),
            reading: RefCell::default(),
            slots: Semaphore::new(MAX_AT_ONCE),
            open: RefCell::default(),
            why: Rc::default(),
            lost: Notify::new(),
            listening: Cell::new(false),
        })
    }

    pub(super) fn why(&self) -> Rc<RefCell<Option<String>>> {
        Rc::clone(&self.why)
    }

    /// The server cannot be used any more.
    pub(super) fn lose(&self, why: String) {
        self.why.borrow_mut().get_or_insert(why);
        self.lost.notify_one();
    }

    /// Reads lines until there are no more, or the server is lost; then ends the session.
    /// Returns why it was lost.
    pub(super) async fn run<R, W>(
        self: Rc<Self>,
        lines: R,
        answers: W,
        hurry: Rc<Notify>,
    ) -> Option<String>
    where
        R: AsyncRead + Unpin + 'static,
        W: AsyncWrite + Unpin + 'static,
    {
        let drain = spawn_local({
            let bridge = Rc::clone(&self);
            async move { bridge.out.drain(answers).await }
        });
        let mut lines = LineReader::new(lines, self.limit.saturating_mul(2));
        let mut tasks = JoinSet::new();
        let mut barrier: Option<Barrier> = None;
        let mut listener: Option<JoinHandle<()>> = None;
        loop {
            tokio::select! {
                line = lines.next() => match line {
                    Ok(Some(Line::Whole(line))) => self.take(line, &mut tasks, &mut barrier),
                    Ok(Some(Line::TooLong)) => {}
                    Ok(None) | Err(_) => break,
                },
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {
                    if self.listening.get() && listener.is_none() {
                        listener = Some(spawn_local(Rc::clone(&self).listen()));
                    }
                }
                () = self.lost.notified() => break,
            }
        }
        if self.why.borrow().is_none() {
            tokio::select! {
                () = async { while tasks.join_next().await.is_some() {} } => {}
                () = hurry.notified() => {}
            }
        }
        tasks.abort_all();
        if let Some(listener) = listener {
            listener.abort();
        }
        if let Some(reading) = self.reading.take() {
            reading.abort();
        }
        if self.why.borrow().is_none() {
            // A server that does not hear it forgets the session by itself.
            let _ = timeout(GOODBYE, self.say_goodbye()).await;
        }
        self.out.finish();
        // Ends at once if nobody reads any more.
        let _ = drain.await;
        self.why.borrow().clone()
    }

    fn take(self: &Rc<Self>, line: &[u8], tasks: &mut JoinSet<()>, barrier: &mut Option<Barrier>) {
        if is_blank(line) {
            return;
        }
        let Some(shape) = self.shape(line) else {
            return note(format_args!(
                "a message for a server is dropped: it cannot be read"
            ));
        };
        if tasks.len() >= MAX_WAITING {
            if let Some((id, _)) = &shape.id {
                self.answer_error(id, "too much waits for the server already");
            }
            return;
        }
        if let (LineKind::Cancelled(key), None) = (&shape.kind, &*self.version.borrow()) {
            // In the newer version, hanging up is how a request is taken back.
            let task = key
                .as_ref()
                .and_then(|key| self.open.borrow_mut().remove(key));
            if let Some(task) = task {
                task.abort();
            }
            return;
        }
        let before = barrier.clone();
        let mut done = None;
        if matches!(shape.kind, LineKind::Initialize | LineKind::Initialized) {
            let (sender, receiver) = watch::channel(());
            done = Some(sender);
            *barrier = Some(receiver);
        }
        let key = shape.id.as_ref().map(|(_, key)| key.clone());
        let bridge = Rc::clone(self);
        let line = Bytes::copy_from_slice(line);
        let handle = tasks.spawn_local(async move {
            if let Some(mut before) = before {
                // An error means that it is over.
                let _ = before.changed().await;
            }
            bridge.deliver(line, &shape).await;
            drop(done);
            if let Some((_, key)) = &shape.id {
                bridge.open.borrow_mut().remove(key);
            }
        });
        if let Some(key) = key {
            self.open.borrow_mut().insert(key, handle);
        }
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let mut frames = self.frames.borrow_mut();
        let frame = frames.read(line).ok()?;
        let method = frame.method().and_then(text);
        let kind = match method.as_deref() {
            Some("initialize") => LineKind::Initialize,
            Some("notifications/initialized") => LineKind::Initialized,
            Some("notifications/cancelled") => {
                let key = bouncer_mcp::params::cancelled_id(&mut frames, frame.params());
                LineKind::Cancelled(key)
            }
            _ => LineKind::Other,
        };
        let id = method.as_ref().and(frame.id());
        let id = id.and_then(|raw| Some((raw.to_vec(), Key::parse(raw)?)));
        let older = self.version.borrow().is_some() || kind == LineKind::Initialize;
        let newer = match (older, &id) {
            (true, _) => None,
            (false, id) => match head(&mut frames, line, &self.mirrored.borrow()) {
                Some(Ok(newer)) => Some(newer),
                Some(Err(why)) => {
                    if let Some((id, _)) = id {
                        self.answer_error(id, why);
                    }
                    return None;
                }
                None => None,
            },
        };
        Some(Shape {
            id,
            kind,
            newer,
            looks: method.as_deref().is_some_and(looks),
            lists: method.as_deref() == Some("tools/list"),
            probes: method.as_deref() == Some("server/discover"),
        })
    }

    /// Sends one line, and passes on what comes back.
    async fn deliver(self: &Rc<Self>, line: Bytes, shape: &Shape) {
        let Some((id, key)) = &shape.id else {
            match self.tell(line, shape).await {
                Ok(()) if shape.kind == LineKind::Initialized => {
                    self.listening.set(self.older.borrow().is_none());
                }
                Ok(()) => {}
                Err(fault) => self.complain(&fault),
            }
            if let LineKind::Cancelled(Some(key)) = &shape.kind {
                sleep(AFTER_CANCEL).await;
                if let Some(task) = self.open.borrow_mut().remove(key) {
                    task.abort();
                }
            }
            return;
        };
        let Ok(_slot) = self.slots.acquire().await else {
            return;
        };
        if let Err(fault) = self.ask(line, shape, key).await {
            let mut why = fault.to_string();
            if matches!(fault, Fault::Broken(_) | Fault::Unanswered) && !shape.looks {
                why += "; whether it did what it was asked to is not known";
            }
            self.answer_error(id, &why);
            if !shape.probes || !matches!(fault, Fault::Refused(..) | Fault::Form) {
                self.complain(&fault);
            }
        }
    }

    /// What a fault means for the server as a whole.
    fn complain(&self, fault: &Fault) {
        match fault {
            // Whoever has only this one server waits for it to come back.
            Fault::Unreachable(_) if self.server.stays => {
                note(format_args!("a server {}", visible(&fault.to_string())));
            }
            Fault::Unreachable(_) | Fault::SessionOver => self.lose(fault.to_string()),
            _ => note(format_args!("a server {}", visible(&fault.to_string()))),
        }
    }

    fn answer_error(&self, id: &[u8], why: &str) {
        let why = format!("the server {why}");
        self.out
            .push(&jsonrpc::error(id, INTERNAL_ERROR, &why, None));
    }

    async fn say_goodbye(&self) {
        if self.session.borrow().is_none() {
            return;
        }
        let request = self.dress(self.request(Method::DELETE, Bytes::new()));
        // A server may not want to hear of it.
        let _ = self.client.request(request).await;
    }
}

/// Whether a request of that method changes nothing at the server.
fn looks(method: &str) -> bool {
    matches!(
        method,
        "ping"
            | "server/discover"
            | "tools/list"
            | "prompts/list"
            | "prompts/get"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "completion/complete"
    )
}
