//! What both directions share: the judge, the audit log, the open requests and the
//! two outboxes.
//!
//! Everything runs on one thread. No borrow of a cell lives across an `await`.

use crate::conversation::judge::Judge;
use crate::conversation::related::RelatedRequests;
use crate::conversation::settings::Settings;
use crate::session::context::ConversationRecords;
use crate::session::hidden_tools::HiddenTools;
use crate::session::listing::ToolListing;
use crate::session::open_requests::{OpenRequests, PendingCall};
use crate::upstream::writer::Upstream;
use crate::wire::outbox::Outbox;
use bouncer_mcp::{id, jsonrpc};
use bouncer_system::random;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;

/// Stands between one client and one server. Both pumps share it.
#[derive(Debug)]
pub(crate) struct Mediator<J> {
    pub server: Option<String>,
    pub settings: Settings,
    pub judge: RefCell<J>,
    pub records: Rc<ConversationRecords>,
    pub requests: RefCell<OpenRequests>,
    pub listing: ToolListing,
    pub hidden_tools: HiddenTools,
    pub upstream: Upstream,
    pub client: Outbox,
    settled: Notify,
    questions: Cell<u64>,
    /// What the proxy's own open questions are about.
    pub asks: RelatedRequests,
    /// What the server's open questions are about, where that is known.
    pub questions_about: RefCell<RelatedRequests>,
    /// Two prefixes, because each is seen by one side only.
    list_prefix: String,
    ask_prefix: String,
}

impl<J: Judge> Mediator<J> {
    pub(crate) fn new(
        judge: J,
        records: Rc<ConversationRecords>,
        server: Option<String>,
        settings: Settings,
    ) -> Rc<Self> {
        Rc::new(Self {
            server,
            settings,
            judge: RefCell::new(judge),
            records,
            requests: RefCell::default(),
            listing: ToolListing::default(),
            hidden_tools: HiddenTools::default(),
            upstream: Upstream::default(),
            client: Outbox::default(),
            settled: Notify::new(),
            questions: Cell::new(0),
            asks: RelatedRequests::default(),
            questions_about: RefCell::default(),
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

    /// ServerStreams the wait of a call; see [`OpenRequests::wait`].
    pub(crate) fn decided(&self, key: Option<&id::Key>, waiting: &Rc<PendingCall>) {
        self.requests.borrow_mut().decided(key, waiting);
        self.settled.notify_waiters();
    }

    /// Waits until no call waits.
    pub(crate) async fn idle(&self) {
        loop {
            let settled = self.settled.notified();
            if self.requests.borrow().undecided == 0 {
                return;
            }
            settled.await;
        }
    }

    /// Nobody will answer a question any more: those that are open are not approved.
    pub(crate) fn stop_asking(&self) {
        let mut requests = self.requests.borrow_mut();
        requests.client.asks_humans = false;
        requests.forget_clients();
    }

    /// The policy changed: the client is told to list the tools again if it would see
    /// others.
    pub(crate) fn tools_may_differ(&self) {
        let judge = self.judge.borrow();
        if self.hidden_tools.differs(|tool| judge.hides(tool)) {
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
            let mut requests = self.requests.borrow_mut();
            requests.forget_upstream();
            requests.close_all()
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
