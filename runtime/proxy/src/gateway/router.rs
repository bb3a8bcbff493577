//! What the client's side and the servers' sides of the gateway share.
//!
//! Everything runs on one thread. No borrow of a cell lives across an `await`.

use crate::conversation::judge::Judge;
use crate::conversation::related::RelatedRequests;
use crate::conversation::settings::Settings;
use crate::gateway::catalogue::{Catalogue, Listed};
use crate::gateway::directory::Directory;
use crate::gateway::introduction::ClientIntroduction;
use crate::gateway::routes::{Reply, Routes};
use crate::gateway::tasks::Tasks;
use crate::gateway::timeouts::Timeouts;
use crate::session::context::ConversationRecords;
use crate::session::mediator::Mediator;
use crate::telemetry::status::ConversationStatus;
use crate::wire::outbox::Outbox;
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc;
use bouncer_system::log::{note, quoted, visible};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// What may be queued for one server before it counts as not reading, in bytes.
const MAX_QUEUED: usize = 64 * 1024 * 1024;

/// How much an agent is told of why a server does not run, in characters.
const MAX_TROUBLE: usize = 500;
/// In how many seconds an agent is to try again where nothing better is known.
const SOON: u64 = 5;

/// How often what people look at is brought up to date.
const SHOWN: Duration = Duration::from_millis(500);

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendState {
    /// Started; it has not introduced itself yet.
    Starting,
    /// It has introduced itself; its tools are not known yet.
    Greeted,
    /// Its tools can be called.
    Up,
    /// Not running.
    Down,
}

/// Whether the gateway goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It does.
    Running,
    /// The client has said its last.
    ClientGone,
    /// The process was told to stop; the exit code for that.
    Told(u8),
}

/// One of the servers behind the gateway.
#[derive(Debug)]
pub(crate) struct Backend {
    pub index: usize,
    pub name: String,
    pub state: Cell<BackendState>,
    /// What is said to it; `None` while it does not run.
    pub inbox: RefCell<Option<Rc<Outbox>>>,
    /// The result of its `initialize`.
    pub greeting: RefCell<Value>,
    pub tools: RefCell<Vec<Listed>>,
    /// It introduced itself in this run.
    pub greeted: Cell<bool>,
    /// What its open questions are about, where that is known.
    pub questions: RefCell<RelatedRequests>,
    /// The same of the questions that are asked before a call goes to it.
    pub asks: RefCell<RelatedRequests>,
    /// A listing of its tools is under way, and another is wanted.
    pub refreshing: Cell<bool>,
    pub again: Cell<bool>,
    /// What went wrong last, and when it is started again.
    pub trouble: RefCell<Option<String>>,
    pub next_start: Cell<Option<Instant>>,
}

impl Backend {
    pub(crate) fn new(index: usize, name: &str) -> Rc<Self> {
        Rc::new(Self {
            index,
            name: name.to_owned(),
            state: Cell::new(BackendState::Starting),
            inbox: RefCell::default(),
            greeting: RefCell::default(),
            tools: RefCell::default(),
            greeted: Cell::default(),
            questions: RefCell::default(),
            asks: RefCell::default(),
            refreshing: Cell::default(),
            again: Cell::default(),
            trouble: RefCell::default(),
            next_start: Cell::default(),
        })
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state.get() == BackendState::Up
    }

    /// Whether it said that it can do `what`.
    pub(crate) fn offers(&self, what: &str) -> bool {
        let greeting = self.greeting.borrow();
        greeting
            .pointer(&format!("/capabilities/{what}"))
            .is_some_and(Value::is_object)
    }

    /// Why it does not run, and when it is worth another try: for agents.
    pub(crate) fn why_down(&self) -> String {
        let name = quoted(&self.name, 200);
        let mut why = format!("the server {name} does not run at the moment");
        if let Some(trouble) = &*self.trouble.borrow() {
            let trouble: String = visible(trouble).chars().take(MAX_TROUBLE).collect();
            why += &format!(": it {trouble}");
        }
        let left = self.next_start.get().map_or(SOON, |next| {
            next.saturating_duration_since(Instant::now()).as_secs() + 1
        });
        why += &format!("; it is started again, try again in {left} s");
        why
    }

    /// Queues a line for it; `false` if it does not run, or does not read.
    pub(crate) fn push(&self, line: &[u8]) -> bool {
        match &*self.inbox.borrow() {
            Some(inbox) if !inbox.is_closed() && inbox.len() < MAX_QUEUED => {
                inbox.push(line);
                true
            }
            _ => false,
        }
    }
}

/// Makes the judge that one server's calls meet.
pub(crate) type JudgeFactory<J> = Box<dyn Fn(&str) -> J>;

/// One client of the gateway: its servers, and which request belongs to whom.
pub(crate) struct Router<J> {
    /// Judges what belongs to no server, and holds what the client hears.
    pub unrouted: Rc<Mediator<J>>,
    pub records: Rc<ConversationRecords>,
    pub judges: JudgeFactory<J>,
    pub backends: Vec<Rc<Backend>>,
    pub settings: Settings,
    pub timeouts: Timeouts,
    pub routes: RefCell<Routes>,
    pub tasks: RefCell<Tasks>,
    pub catalogue: RefCell<Catalogue>,
    pub directory: RefCell<Directory>,
    /// How the client introduced itself.
    pub hello: watch::Sender<Option<Rc<ClientIntroduction>>>,
    /// The client is done with its introduction.
    pub ready: watch::Sender<bool>,
    /// Counts what changes here, for those who wait for something to change.
    pub changes: watch::Sender<u64>,
    pub ending: watch::Sender<Ending>,
    /// When waiting for servers that start slowly has an end.
    pub lists_until: Cell<Option<Instant>>,
    /// The client has been shown a list of tools.
    pub shown: Cell<bool>,
    /// It has been shown other lists, by the capability that they belong to.
    pub shown_others: RefCell<HashSet<&'static str>>,
    /// Bytes of calls that wait for their servers to start.
    pub kept: Cell<usize>,
    /// Parameters of the last `logging/setLevel`.
    pub level: RefCell<Option<Value>>,
    /// What questions are about, by the numbers that the client knows them by; for clients
    /// that are asked in answers, and need to know which.
    pub origins: QuestionOrigins,
    pub tells_origins: Cell<bool>,
    /// The client speaks the version without judges, whatever it was introduced as.
    pub sessionless: Cell<bool>,
}

/// What a question to the client is about.
#[derive(Debug)]
pub(crate) struct QuestionOrigin {
    /// The client's request.
    pub key: Key,
    /// What the server calls the question.
    pub name: String,
    /// How many were asked together.
    pub of: usize,
}

/// See [`Router::abouts`].
pub(crate) type QuestionOrigins = Rc<RefCell<HashMap<u64, QuestionOrigin>>>;

impl<J> fmt::Debug for Router<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front")
            .field("members", &self.backends)
            .finish_non_exhaustive()
    }
}

impl<J: Judge + 'static> Router<J> {
    pub(crate) fn new(
        unrouted: J,
        judges: JudgeFactory<J>,
        records: Rc<ConversationRecords>,
        names: impl Iterator<Item = String>,
        settings: Settings,
        timeouts: Timeouts,
    ) -> Rc<Self> {
        let unrouted = Mediator::new(unrouted, Rc::clone(&records), None, settings.clone());
        unrouted.listing.settle();
        let backends = names
            .enumerate()
            .map(|(index, name)| Backend::new(index, &name));
        Rc::new(Self {
            unrouted,
            records,
            judges,
            backends: backends.collect(),
            settings,
            timeouts,
            routes: RefCell::default(),
            tasks: RefCell::default(),
            catalogue: RefCell::default(),
            directory: RefCell::default(),
            hello: watch::Sender::new(None),
            ready: watch::Sender::new(false),
            changes: watch::Sender::new(0),
            ending: watch::Sender::new(Ending::Running),
            lists_until: Cell::new(None),
            shown: Cell::new(false),
            shown_others: RefCell::default(),
            kept: Cell::default(),
            level: RefCell::default(),
            origins: QuestionOrigins::default(),
            tells_origins: Cell::default(),
            sessionless: Cell::default(),
        })
    }

    /// What the client hears.
    pub(crate) fn client(&self) -> &Outbox {
        &self.unrouted.client
    }

    /// Notes that something changed.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Waits until `holds`, or until `until`.
    pub(crate) async fn wait(&self, until: Instant, holds: impl Fn() -> bool) {
        let mut changes = self.changes.subscribe();
        let wait = async {
            while !holds() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // What did not happen in time is done without.
        let _ = tokio::time::timeout_at(until, wait).await;
    }

    /// Answers a request of the client with a result.
    pub(crate) fn answer(&self, id: &[u8], result: &[u8]) {
        let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
        line.extend_from_slice(id);
        line.extend_from_slice(br#","result":"#);
        line.extend_from_slice(result);
        line.push(b'}');
        self.client().push(&line);
    }

    /// Answers a request of the client with an error.
    pub(crate) fn answer_error(&self, id: &[u8], code: i32, message: &str) {
        self.client().push(&jsonrpc::error(id, code, message, None));
    }

    /// Ends a request that the gateway answers itself, unless the client took it back.
    pub(crate) fn end_answering(&self, id: (&[u8], &Key), result: Result<&[u8], (i32, String)>) {
        if self.routes.borrow_mut().end_answering(id.1) {
            match result {
                Ok(result) => self.answer(id.0, result),
                Err((code, message)) => self.answer_error(id.0, code, &message),
            }
        }
        self.changed();
    }

    /// Asks a server something of the gateway's own. `None`: it cannot be asked, or did
    /// not answer in time.
    pub(crate) async fn ask(
        &self,
        backend: &Backend,
        method: &str,
        params: Option<Value>,
        limit: Duration,
    ) -> Option<Reply> {
        let (number, reply) = self.routes.borrow_mut().open_own(backend.index);
        let mut line = json!({"jsonrpc": "2.0", "id": number, "method": method});
        if let (Some(params), Some(line)) = (params, line.as_object_mut()) {
            line.insert("params".to_owned(), params);
        }
        let reply = if backend.push(line.to_string().as_bytes()) {
            timeout(limit, reply).await.ok().and_then(Result::ok)
        } else {
            None
        };
        self.routes.borrow_mut().close_own(backend.index, number);
        reply
    }

    /// Makes the catalogue anew, and tells the client if that changes what it was shown.
    pub(crate) fn recatalogue(&self) {
        let tools: Vec<_> = self
            .backends
            .iter()
            .filter(|backend| backend.is_up())
            .map(|backend| (backend.index, backend.name.as_str(), backend.tools.borrow()))
            .collect();
        let tools = tools
            .iter()
            .map(|(index, name, tools)| (*index, *name, tools.as_slice()));
        let judges: Vec<J> = self
            .backends
            .iter()
            .map(|m| (self.judges)(&m.name))
            .collect();
        // Where nothing is blocked, nothing is hidden either.
        let hides = |server: usize, tool: &str| {
            let session = judges.get(server).filter(|_| !self.settings.observe);
            session.is_some_and(|session| session.hides(tool))
        };
        let changed = self.catalogue.borrow_mut().rebuild(tools, hides);
        if changed && self.shown.get() {
            self.client()
                .push(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        }
        if let Some(judge) = judges.first() {
            judge.tell_unmatched();
        }
        self.show(true);
        self.changed();
    }

    /// Shows people the servers and how their tools stand, where somebody may want to
    /// know.
    fn show(&self, anew: bool) {
        let Some(status) = &self.records.status else {
            return;
        };
        let lists: Vec<_> = self.backends.iter().map(|m| m.tools.borrow()).collect();
        let standing = self.backends.iter().zip(&lists).map(|(backend, tools)| {
            let mut names = tools.iter().map(|tool| tool.name.as_str());
            let standing = (self.judges)(&backend.name).survey(&mut names);
            let state = match backend.state.get() {
                BackendState::Starting | BackendState::Greeted => "starting",
                BackendState::Up => "up",
                BackendState::Down => "down",
            };
            (backend.name.clone(), state, standing)
        });
        let standing = standing.collect();
        let definitions: OnceCell<HashMap<(usize, &str), &[u8]>> = OnceCell::new();
        status.show(standing, anew, |server, tool| {
            let all = definitions.get_or_init(|| {
                let lists = lists.iter().enumerate();
                let tools = lists.flat_map(|(index, tools)| tools.iter().map(move |t| (index, t)));
                tools
                    .map(|(index, tool)| ((index, tool.name.as_str()), tool.definition.as_slice()))
                    .collect()
            });
            all.get(&(server, tool)).copied()
        });
    }

    /// Keeps what is shown up to date while somebody looks: pins change without a
    /// listing, too.
    pub(crate) async fn keep_showing(&self) {
        while self.records.status.is_some() {
            tokio::time::sleep(SHOWN).await;
            if self
                .records
                .status
                .as_ref()
                .is_some_and(ConversationStatus::is_watched)
            {
                self.show(false);
            }
        }
    }

    /// Tells the client that a server's prompts and resources came or went, if it was
    /// shown the lists that they belong to.
    pub(crate) fn announce_others(&self, backend: &Backend) {
        for capability in self.shown_others.borrow().iter() {
            if backend.offers(capability) {
                let notice = json!({
                    "jsonrpc": "2.0",
                    "method": format!("notifications/{capability}/list_changed"),
                });
                self.client().push(notice.to_string().as_bytes());
            }
        }
    }

    /// A server does not run any more: whoever waits for it is told.
    pub(crate) fn close_backend(&self, backend: &Backend) {
        let (requests, numbers) = self.routes.borrow_mut().close_all(backend.index);
        let message = gone(&backend.name);
        for request in requests {
            self.answer_error(&request.id, jsonrpc::INTERNAL_ERROR, &message);
        }
        for number in numbers {
            let notice = json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": number, "reason": message},
            });
            self.client().push(notice.to_string().as_bytes());
        }
        self.directory.borrow_mut().forget(backend.index);
        self.tasks.borrow_mut().forget(backend.index);
    }

    /// Says on standard error how a server is.
    pub(crate) fn tell(&self, backend: &Backend, what: fmt::Arguments<'_>) {
        note(format_args!("server {} {what}", quoted(&backend.name, 200)));
    }
}

/// What a client is told when a server has ended.
pub(crate) fn gone(server: &str) -> String {
    format!("the server {} has ended", quoted(server, 200))
}
