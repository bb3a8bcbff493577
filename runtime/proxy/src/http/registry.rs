//! All conversations: who has which, how many there may be, and when they end.

use crate::conversation::settings::Settings;
use crate::conversation_id;
use crate::gateway::run::{Switchboard, reached, serve, switchboard};
use crate::gateway::timeouts::Patience;
use crate::http::config::{Limits, Opener};
use crate::http::guard::Guard;
use crate::http::modern::Modern;
use crate::http::session::Seat;
use crate::http::stream::Ticket;
use crate::session::context::Office;
use crate::session::judging::{malformed, unreadable};
use crate::session::reload::{Change, Changes, Watcher, changes};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::status::Board;
use crate::upstream::adapter::Order;
use crate::upstream::connection::{Endpoint, Reach};
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

/// See the module.
pub(super) struct Hall {
    pub guard: Guard,
    pub limits: Limits,
    pub settings: Settings,
    opener: Opener,
    /// Requests that wait for an answer, by principal.
    open: RefCell<HashMap<String, Rc<Cell<usize>>>>,
    judging: RefCell<Judging>,
    /// For clients with sessions, and for those without.
    servers: [Vec<(String, Reach)>; 2],
    patience: Patience,
    metrics: Metrics,
    board: Option<Board>,
    /// Tell conversations of changes.
    watchers: RefCell<Vec<Watcher>>,
    seats: RefCell<HashMap<String, Rc<Seat>>>,
    running: RefCell<JoinSet<()>>,
    /// Counts the messages that were refused before it was known whose they are.
    refused: Cell<u64>,
    /// The gateway takes no more requests.
    pub draining: Cell<bool>,
    /// The exit code, once all conversations are told to end.
    told: watch::Sender<Option<u8>>,
}

/// What conversations begin to be judged by.
pub(super) struct Judging {
    pub plan: Plan,
    pub lock: Option<Lock>,
    /// Where is logged what belongs to no conversation.
    pub audit: Audit,
}

impl Judging {
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
pub(super) enum NoSeat {
    /// There are too many.
    Full,
    /// The principal has too many.
    TooMany,
    /// It cannot be opened; said on standard error.
    Failed,
}

impl Hall {
    pub(super) fn new(
        guard: Guard,
        limits: Limits,
        opener: Opener,
        judging: Judging,
        servers: Vec<(String, Endpoint)>,
        (settings, patience): (Settings, Patience),
        (metrics, board): (Metrics, Option<Board>),
    ) -> Self {
        let servers = [
            reached(servers.clone(), &settings, Order::OlderFirst),
            reached(servers, &settings, Order::NewerFirst),
        ];
        Self {
            guard,
            limits,
            settings,
            opener,
            open: RefCell::default(),
            judging: RefCell::new(judging),
            servers,
            patience,
            metrics,
            board,
            watchers: RefCell::default(),
            seats: RefCell::default(),
            running: RefCell::default(),
            refused: Cell::new(0),
            draining: Cell::new(false),
            told: watch::Sender::new(None),
        }
    }

    /// Opens a conversation; its key is nobody's but the client's.
    pub(super) fn open(&self, principal: &str) -> Result<(String, Rc<Seat>), NoSeat> {
        let key = random::secret().map_err(|error| failed(&error.to_string()))?;
        let seat = self.open_as(principal, key.clone(), None)?;
        Ok((key, seat))
    }

    /// Opens a conversation of a client that has no sessions.
    pub(super) fn open_named(&self, principal: &str, key: String) -> Result<Rc<Seat>, NoSeat> {
        let modern = Modern::new(self.settings.ask_timeout);
        self.open_as(principal, key, Some(modern))
    }

    fn open_as(
        &self,
        principal: &str,
        key: String,
        modern: Option<Modern>,
    ) -> Result<Rc<Seat>, NoSeat> {
        self.forget_ended();
        {
            let seats = self.seats.borrow();
            let own = seats.values().filter(|seat| &*seat.principal == principal);
            if own.count() >= self.limits.per_principal {
                return Err(NoSeat::TooMany);
            }
            if seats.len() >= self.limits.conversations {
                return Err(NoSeat::Full);
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
        let servers = if modern.is_some() {
            newer_first
        } else {
            older_first
        };
        let Switchboard {
            front,
            connectors,
            session,
        } = switchboard(
            opened.gate,
            lock,
            Office::counted(
                opened.audit,
                opened.desk,
                self.metrics.clone(),
                opened.place,
            ),
            servers.clone(),
            &self.settings,
            &self.patience,
        );
        front.sessionless.set(modern.is_some());
        let modern = modern.map(|modern| modern.told_by(&front.abouts));
        front.tells_abouts.set(true);
        let (watcher, changes) = changes();
        self.watchers.borrow_mut().push(watcher);
        let metrics = self.metrics.clone();
        let refused = {
            let front = Rc::clone(&front);
            Box::new(move |line: &[u8], why: &str| front.nobody.log_refused(line, why))
        };
        let limit = self.settings.max_message;
        let seat = Seat::new(principal.into(), limit, refused, modern, &front.abouts);
        let (near, far) = duplex(PIPE);
        let ((heard, saying), (client_in, client_out)) = (split(near), split(far));
        let told = self.told();
        let carried = Rc::clone(&seat);
        self.running.borrow_mut().spawn_local(async move {
            metrics.conversation(true);
            let carry = tokio::task::spawn_local(carried.carry(heard, saying));
            let follow = tokio::task::spawn_local(front.follow(changes, session));
            serve(&front, connectors.into_iter(), client_in, client_out, told).await;
            // With it goes the last of what listens for changes.
            follow.abort();
            metrics.conversation(false);
            // It ends with the pipe.
            let _ = carry.await;
        });
        self.seats
            .borrow_mut()
            .insert(key.clone(), Rc::clone(&seat));
        note(format_args!("conversation {} begins", quoted(&name, 200)));
        Ok(seat)
    }

    /// Takes over changes for all conversations, and for those to come.
    pub(super) async fn follow(&self, mut changes: Changes) {
        while let Some(change) = changes.next().await {
            if let Some(board) = &self.board {
                match &change {
                    Change::Plan(plan) => board.set_plan((**plan).clone()),
                    Change::Failed(why) => board.set_failure(why),
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
    pub(super) fn find(&self, key: &str, principal: &str) -> Option<Rc<Seat>> {
        let seats = self.seats.borrow();
        let seat = seats.get(key)?;
        (&*seat.principal == principal && !seat.is_over()).then(|| Rc::clone(seat))
    }

    /// Ends a conversation as if its client had left.
    pub(super) fn close(&self, key: &str) {
        if let Some(seat) = self.seats.borrow_mut().remove(key) {
            seat.channel.said.finish();
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
    pub(super) fn ticket(&self, principal: &str) -> Ticket {
        let mut open = self.open.borrow_mut();
        if let Some(count) = open.get(principal) {
            return Ticket::new(count);
        }
        // As many as there are tokens.
        Ticket::new(open.entry(principal.to_owned()).or_default())
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
        self.seats.borrow_mut().retain(|_, seat| !seat.is_over());
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
                let seats = self.seats.borrow();
                let long = |seat: &Rc<Seat>| {
                    seat.idle_since()
                        .is_some_and(|since| since + self.limits.idle <= Instant::now())
                };
                let idle = seats.iter().filter(|(_, seat)| long(seat));
                idle.map(|(key, _)| key.clone()).collect()
            };
            for key in idle {
                self.close(&key);
            }
        }
    }

    /// Waits until nobody waits for an answer.
    pub(super) async fn settled(&self) {
        let seats: Vec<Rc<Seat>> = self.seats.borrow().values().cloned().collect();
        for seat in seats {
            seat.settled().await;
        }
    }

    /// Ends all conversations, and waits until they have.
    pub(super) async fn end(&self, code: u8) {
        self.told.send_replace(Some(code));
        let mut running = self.running.take();
        while running.join_next().await.is_some() {}
        self.seats.borrow_mut().clear();
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

fn failed(why: &str) -> NoSeat {
    note(format_args!(
        "a conversation cannot be opened: {}",
        visible(why)
    ));
    NoSeat::Failed
}
