//! What both directions share: the judge, the audit log, the open requests and the
//! two outboxes.
//!
//! Everything runs on one thread. No borrow of a cell lives across an `await`.

use crate::conversation::judge::Judge;
use crate::conversation::related::Questions;
use crate::conversation::settings::Settings;
use crate::session::context::Office;
use crate::session::hiding::Hiding;
use crate::session::listing::Listing;
use crate::session::open_requests::{Table, Waiting};
use crate::upstream::writer::Upstream;
use crate::wire::outbox::Outbox;
use bouncer_mcp::{id, jsonrpc};
use bouncer_system::random;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mediator<J> {
    pub server: Option<String>,
    pub settings: Settings,
    pub judge: RefCell<J>,
    pub office: Rc<Office>,
    pub table: RefCell<Table>,
    pub listing: Listing,
    pub hiding: Hiding,
    pub upstream: Upstream,
    pub client: Outbox,
    settled: Notify,
    questions: Cell<u64>,
    /// What the proxy's own open questions are about.
    pub asks: Questions,
    /// Two prefixes, because each is seen by one side only.
    list_prefix: String,
    ask_prefix: String,
}

impl<J: Judge> Mediator<J> {
    pub(crate) fn new(
        judge: J,
        office: Rc<Office>,
        server: Option<String>,
        settings: Settings,
    ) -> Rc<Self> {
        Rc::new(Self {
            server,
            settings,
            judge: RefCell::new(judge),
            office,
            table: RefCell::default(),
            listing: Listing::default(),
            hiding: Hiding::default(),
            upstream: Upstream::default(),
            client: Outbox::default(),
            settled: Notify::new(),
            questions: Cell::new(0),
            asks: Questions::default(),
            list_prefix: random::unguessable(),
            ask_prefix: random::unguessable(),
        })
    }

    /// An id for a request of the proxy's own to the server.
    pub(crate) fn next_list_id(&self) -> String {
        self.next_id(&self.list_prefix)
    }

    /// An id for a question to the client.
    pub(crate) fn next_ask_id(&self) -> String {
        self.next_id(&self.ask_prefix)
    }

    fn next_id(&self, prefix: &str) -> String {
        self.questions.set(self.questions.get() + 1);
        format!("bouncer-{prefix}-{}", self.questions.get())
    }

    /// The server's name for messages.
    pub(crate) fn server_name(&self) -> &str {
        self.server.as_deref().unwrap_or("upstream")
    }

    /// Answers a client's request with an error.
    pub(crate) async fn answer_error(&self, id: &[u8], code: i32, message: &str) {
        self.client.room().await;
        self.client.push(&jsonrpc::error(id, code, message, None));
    }

    /// Ends the wait of a call; see [`Table::wait`].
    pub(crate) fn decided(&self, key: Option<&id::Key>, waiting: &Rc<Waiting>) {
        self.table.borrow_mut().decided(key, waiting);
        self.settled.notify_waiters();
    }

    /// Waits until no call waits.
    pub(crate) async fn idle(&self) {
        loop {
            let settled = self.settled.notified();
            if self.table.borrow().undecided == 0 {
                return;
            }
            settled.await;
        }
    }

    /// Nobody will answer a question any more: those that are open are not approved.
    pub(crate) fn stop_asking(&self) {
        let mut table = self.table.borrow_mut();
        table.client.asks_humans = false;
        table.forget_clients();
    }

    /// The policy changed: the client is told to list the tools again if it would see
    /// others.
    pub(crate) fn tools_may_differ(&self) {
        let judge = self.judge.borrow();
        if self.hiding.differs(|tool| judge.hides(tool)) {
            self.client
                .push(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        }
    }

    /// The client has said its last: waits for the calls that are under way.
    pub(crate) async fn last_calls(&self) {
        self.stop_asking();
        self.idle().await;
    }

    /// Nothing will come from the server any more: answers all that wait.
    pub(crate) fn fail_open_requests(&self) {
        let open = {
            let mut table = self.table.borrow_mut();
            table.forget_upstream();
            table.close_all()
        };
        for request in open {
            let message = self.gone();
            self.client.push(&jsonrpc::error(
                &request.raw,
                jsonrpc::INTERNAL_ERROR,
                &message,
                None,
            ));
        }
    }

    /// What a client is told when the upstream has ended.
    pub(crate) fn gone(&self) -> String {
        format!(
            "the upstream server {} has ended",
            bouncer_system::log::quoted(self.server_name(), 200)
        )
    }
}
