//! All conversations: who has which, how many there may be, and when they end.

use crate::conversation::settings::Settings;
use crate::conversation_id;
use crate::gateway::run::{RouterParts, connectors, router_parts, serve};
use crate::gateway::timeouts::Timeouts;
use crate::http::config::{ConversationOpener, Limits};
use crate::http::guard::Guard;
use crate::http::modern::RoundTrips;
use crate::http::session::HttpSession;
use crate::http::stream::InFlight;
use crate::session::context::ConversationRecords;
use crate::session::judging::{malformed, unreadable};
use crate::session::reload::{Change, Changes, Watcher, changes};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::GatewayStatus;
use crate::upstream::adapter::VersionOrder;
use crate::upstream::connection::{Endpoint, UpstreamConnector};
use bouncer_audit::Audit;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_system::log::{note, quoted, visible};
use bouncer_system::random;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tokio::io::{duplex, split};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// What is buffered between a conversation and its gateway, in bytes.
const PIPE: usize = 64 * 1024;

/// All sessions of one gateway, and what a new one begins with.
pub(super) struct SessionRegistry {
    pub guard: Guard,
    pub limits: Limits,
    pub settings: Settings,
    opener: ConversationOpener,
    /// Requests that wait for an answer, by principal.
    open: RefCell<HashMap<String, Rc<Cell<usize>>>>,
    judging: RefCell<PolicyInForce>,
    /// For clients with sessions, and for those without.
    servers: [Vec<(String, UpstreamConnector)>; 2],
    timeouts: Timeouts,
    metrics: Metrics,
    status: Option<GatewayStatus>,
    /// Tell conversations of changes.
    watchers: RefCell<Vec<Watcher>>,
    sessions: RefCell<HashMap<String, Rc<HttpSession>>>,
    running: RefCell<JoinSet<()>>,
    /// Counts the messages that were refused before it was known whose they are.
    refused: Cell<u64>,
    /// The gateway takes no more requests.
    pub draining: Cell<bool>,
    /// The exit code, once all conversations are told to end.
    told: watch::Sender<Option<u8>>,
}

/// What conversations begin to be judged by.
pub(super) struct PolicyInForce {
    pub plan: Plan,
    pub lock: Option<Lock>,
    /// Where is logged what belongs to no conversation.
    pub audit: Audit,
}

impl PolicyInForce {
    /// Takes a change over for conversations to come. Gives the word for it, the sentence
    /// and what else a line of the log has.
    fn take(&mut self, change: &Change) -> (&'static str, String, Vec<(&'static str, Value)>) {
        match change {
            Change::Plan(plan) => {
                let (before, now) = (self.plan.short_digest(), plan.short_digest());
                self.plan = (**plan).clone();
                self.audit.set_plan(&now);
                let why = format!("plan {now} judges from now on, in the place of {before}");
                ("reloaded", why, vec![("before", before.into())])
            }
            Change::Lock(lock) => {
                let why = format!("{} accepted tools were read anew", lock.tools.len());
                self.lock = Some(lock.clone());
                ("reloaded", why, Vec::new())
            }
            Change::Failed(why) => {
                let why = format!("{why}; what was in force before goes on");
                ("reload_failed", why, Vec::new())
            }
        }
    }
}

/// Why there is no conversation.
#[derive(Debug)]
pub(super) enum NotOpened {
    /// There are too many.
    Full,
    /// The principal has too many.
    TooMany,
    /// It cannot be opened; said on standard error.
    Failed,
}

impl SessionRegistry {
    pub(super) fn new(
        guard: Guard,
        limits: Limits,
        opener: ConversationOpener,
        judging: PolicyInForce,
        servers: Vec<(String, Endpoint)>,
        (settings, timeouts): (Settings, Timeouts),
        (metrics, status): (Metrics, Option<GatewayStatus>),
    ) -> Self {
        let servers = [
            connectors(servers.clone(), &settings, VersionOrder::OlderFirst),
            connectors(servers, &settings, VersionOrder::NewerFirst),
        ];
        Self {
            guard,
            limits,
            settings,
            opener,
            open: RefCell::default(),
            judging: RefCell::new(judging),
            servers,
            timeouts,
            metrics,
            status,
            watchers: RefCell::default(),
            sessions: RefCell::default(),
            running: RefCell::default(),
            refused: Cell::new(0),
            draining: Cell::new(false),
            told: watch::Sender::new(None),
        }
    }

    /// Opens a conversation; its key is nobody's but the client's.
    pub(super) fn open(&self, principal: &str) -> Result<(String, Rc<HttpSession>), NotOpened> {
        let key = random::secret().map_err(|error| failed(&error.to_string()))?;
        let session = self.open_as(principal, key.clone(), None)?;
        Ok((key, session))
    }

    /// Opens a conversation of a client that has no sessions.
    pub(super) fn open_named(
        &self,
        principal: &str,
        key: String,
    ) -> Result<Rc<HttpSession>, NotOpened> {
        let rounds = RoundTrips::new(self.settings.ask_timeout);
        self.open_as(principal, key, Some(rounds))
    }

    fn open_as(
        &self,
        principal: &str,
        key: String,
        rounds: Option<RoundTrips>,
    ) -> Result<Rc<HttpSession>, NotOpened> {
        self.forget_ended();
        {
            let sessions = self.sessions.borrow();
            let own = sessions
                .values()
                .filter(|session| &*session.principal == principal);
            if own.count() >= self.limits.per_principal {
                return Err(NotOpened::TooMany);
            }
            if sessions.len() >= self.limits.conversations {
                return Err(NotOpened::Full);
            }
        }
        // The key may be a secret; the name stands in the log.
        let name = format!("{principal}/{}", conversation_id());
        let (opened, lock) = {
            let judging = self.judging.borrow();
            let opened = (self.opener)(&name, &judging.plan).map_err(|why| failed(&why))?;
            (opened, judging.lock.clone())
        };
        let [older_first, newer_first] = &self.servers;
        let servers = if rounds.is_some() {
            newer_first
        } else {
            older_first
        };
        let RouterParts {
            router,
            connectors,
            session: conversation,
        } = router_parts(
            opened.gate,
            lock,
            ConversationRecords::counted(
                opened.audit,
                opened.approvals,
                self.metrics.clone(),
                opened.status,
            ),
            servers.clone(),
            &self.settings,
            &self.timeouts,
        );
        router.sessionless.set(rounds.is_some());
        let rounds = rounds.map(|rounds| rounds.told_by(&router.origins));
        router.tells_origins.set(true);
        let (watcher, changes) = changes();
        self.watchers.borrow_mut().push(watcher);
        let metrics = self.metrics.clone();
        let refused = {
            let router = Rc::clone(&router);
            Box::new(move |line: &[u8], why: &str| router.unrouted.log_refused(line, why))
        };
        let limit = self.settings.max_message;
        let session = HttpSession::new(principal.into(), limit, refused, rounds, &router.origins);
        let (near, far) = duplex(PIPE);
        let ((heard, saying), (client_in, client_out)) = (split(near), split(far));
        let told = self.told();
        let carried = Rc::clone(&session);
        self.running.borrow_mut().spawn_local(async move {
            metrics.conversation(true);
            let carry = tokio::task::spawn_local(carried.carry(heard, saying));
            let follow = tokio::task::spawn_local(router.follow(changes, conversation));
            serve(&router, connectors.into_iter(), client_in, client_out, told).await;
            // With it goes the last of what listens for changes.
            follow.abort();
            metrics.conversation(false);
            // It ends with the pipe.
            let _ = carry.await;
        });
        self.sessions
            .borrow_mut()
            .insert(key.clone(), Rc::clone(&session));
        note(format_args!("conversation {} begins", quoted(&name, 200)));
        Ok(session)
    }

    /// Takes over changes for all conversations, and for those to come.
    pub(super) async fn follow(&self, mut changes: Changes) {
        while let Some(change) = changes.next().await {
            if let Some(status) = &self.status {
                match &change {
                    Change::Plan(plan) => status.set_plan((**plan).clone()),
                    Change::Failed(why) => status.set_failure(why),
                    Change::Lock(_) => {}
                }
            }
            let judging = &mut *self.judging.borrow_mut();
            let (word, why, more) = judging.take(&change);
            self.metrics.plan(&judging.plan.short_digest());
            let told = |watcher: &Watcher| watcher.report(change.clone());
            self.watchers.borrow_mut().retain(told);
            if !self.watchers.borrow().is_empty() {
                // Each conversation says so, and writes it down.
                continue;
            }
            note(format_args!("{}", visible(&why)));
            self.metrics.reload(word == "reloaded");
            if let Err(error) = judging.audit.event(word, &why, &more) {
                self.metrics.audit_error();
                let error = error.to_string();
                note(format_args!(
                    "the audit log cannot be written: {}",
                    visible(&error)
                ));
            }
        }
    }

    /// The conversation with that key, if it is that principal's.
    pub(super) fn find(&self, key: &str, principal: &str) -> Option<Rc<HttpSession>> {
        let sessions = self.sessions.borrow();
        let session = sessions.get(key)?;
        (&*session.principal == principal && !session.is_over()).then(|| Rc::clone(session))
    }

    /// Ends a conversation as if its client had left.
    pub(super) fn close(&self, key: &str) {
        if let Some(session) = self.sessions.borrow_mut().remove(key) {
            session.channel.said.finish();
        }
    }

    /// How many requests of a principal wait for an answer.
    pub(super) fn open_requests(&self, principal: &str) -> usize {
        self.open
            .borrow()
            .get(principal)
            .map_or(0, |open| open.get())
    }

    /// Counts a request of a principal as open, as long as the ticket exists.
    pub(super) fn ticket(&self, principal: &str) -> InFlight {
        let mut open = self.open.borrow_mut();
        if let Some(count) = open.get(principal) {
            return InFlight::new(count);
        }
        // As many as there are tokens.
        InFlight::new(open.entry(principal.to_owned()).or_default())
    }

    /// Logs a message that is refused, where it is not known which conversation it belongs
    /// to.
    pub(super) fn note_refused(&self, principal: &str, line: &[u8], why: &str) {
        self.refused.set(self.refused.get() + 1);
        let why = format!("{why}; it came from {}", quoted(principal, 200));
        let judging = &mut *self.judging.borrow_mut();
        let record = malformed(&why);
        let entry = unreadable(self.refused.get(), None, line, &record);
        let written = judging.audit.write(&entry);
        self.metrics.line(&entry, written.is_ok());
        if let Err(error) = written {
            let error = error.to_string();
            note(format_args!(
                "the audit log cannot be written: {}",
                visible(&error)
            ));
        }
    }

    fn forget_ended(&self) {
        self.sessions
            .borrow_mut()
            .retain(|_, session| !session.is_over());
        // Changes may be rare, and conversations many.
        self.watchers.borrow_mut().retain(Watcher::is_heard);
        let mut running = self.running.borrow_mut();
        while running.try_join_next().is_some() {}
    }

    /// Ends conversations of whose clients nothing is heard, for ever.
    pub(super) async fn sweep(&self) {
        let pause = (self.limits.idle / 8).max(std::time::Duration::from_millis(50));
        loop {
            sleep(pause).await;
            self.forget_ended();
            let idle: Vec<String> = {
                let sessions = self.sessions.borrow();
                let long = |session: &Rc<HttpSession>| {
                    session
                        .idle_since()
                        .is_some_and(|since| since + self.limits.idle <= Instant::now())
                };
                let idle = sessions.iter().filter(|(_, session)| long(session));
                idle.map(|(key, _)| key.clone()).collect()
            };
            for key in idle {
                self.close(&key);
            }
        }
    }

    /// Waits until nobody waits for an answer.
    pub(super) async fn settled(&self) {
        let sessions: Vec<Rc<HttpSession>> = self.sessions.borrow().values().cloned().collect();
        for session in sessions {
            session.settled().await;
        }
    }

    /// Ends all conversations, and waits until they have.
    pub(super) async fn end(&self, code: u8) {
        self.told.send_replace(Some(code));
        let mut running = self.running.take();
        while running.join_next().await.is_some() {}
        self.sessions.borrow_mut().clear();
    }

    fn told(&self) -> impl Future<Output = u8> + use<> {
        let mut told = self.told.subscribe();
        async move {
            match told.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(code)) => *code,
                _ => std::future::pending().await,
            }
        }
    }
}

fn failed(why: &str) -> NotOpened {
    note(format_args!(
        "a conversation cannot be opened: {}",
        visible(why)
    ));
    NotOpened::Failed
}
