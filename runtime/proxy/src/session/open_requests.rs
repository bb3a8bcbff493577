//! Who waits for what: open requests in both directions, calls that wait for a
//! human, and tasks whose results come later.
//!
//! Everything here is bounded: what a peer can add without being answered has a limit.

use bouncer_mcp::id::Key;
use serde_json::Value;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use tokio::sync::{Notify, oneshot};

/// Requests of the client that are open at once.
const MAX_REQUESTS: usize = 16 * 1024;
/// Cancelled requests that may still be answered.
const MAX_CANCELLED: usize = 1024;
/// Requests of the server that are open at once.
const MAX_SERVER_REQUESTS: usize = 4096;
/// Calls that wait at once: for a human, or for the tools to be listed.
const MAX_WAITING: usize = 256;
/// What they may hold together, in bytes.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Tasks whose tool is remembered.
const MAX_TASKS: usize = 4096;
/// The longest id of a task, in bytes; a longer one is not remembered.
const MAX_TASK_ID: usize = 1024;

/// What an open request of the client was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A call of a tool.
    Call { tool: String },
    /// `tasks/result` of a task that a call of a tool made.
    TaskResult { tool: String },
    /// `tasks/get` of such a task: the result is in there once it is done.
    TaskState { tool: String },
    /// `tools/list`.
    ListTools,
    /// `initialize`.
    Initialize,
    /// Another method.
    Other { method: String },
}

/// An open request of the client.
#[derive(Clone, Debug)]
pub(crate) struct OpenRequest {
    /// The id as the client spelled it.
    pub raw: Box<[u8]>,
    pub kind: RequestKind,
    /// Under which its progress is told.
    token: Option<Key>,
}

/// A call that is not decided yet.
#[derive(Debug, Default)]
pub(crate) struct PendingCall {
    bytes: usize,
    cancelled: Cell<bool>,
    woken: Notify,
}

impl PendingCall {
    /// The client took the call back.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
        self.woken.notify_one();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// Returns once the call is taken back.
    pub(crate) async fn cancelled(&self) {
        while !self.cancelled.get() {
            self.woken.notified().await;
        }
    }
}

/// What the answer to one of the proxy's own requests was: a result, or nothing usable.
pub(crate) type OwnAnswer = Option<Value>;

/// What the client said about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientTraits {
    /// It can show a form to a human.
    pub asks_humans: bool,
    /// How it calls itself.
    pub name: Option<String>,
    /// `_meta` for the proxy's own requests, for versions without a handshake.
    pub request_meta: Option<Value>,
}

/// All requests that somebody waits for, in both directions.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    requests: HashMap<Key, OpenRequest>,
    /// Progress tokens of calls that go on as tasks.
    task_tokens: VecDeque<Key>,
    cancelled: VecDeque<Key>,
    server_requests: HashSet<Key>,
    own_upstream: HashMap<String, oneshot::Sender<OwnAnswer>>,
    own_client: HashMap<String, oneshot::Sender<OwnAnswer>>,
    waiting: HashMap<Key, Rc<PendingCall>>,
    /// Undecided calls, those without an id included.
    pub undecided: usize,
    undecided_bytes: usize,
    tasks: HashMap<String, Option<String>>,
    task_order: VecDeque<String>,
    pub client: ClientTraits,
}

impl OpenRequests {
    /// Whether `key` is in use between the client and this proxy.
    pub(crate) fn is_taken(&self, key: &Key) -> bool {
        let own =
            |key: &Key| matches!(key, Key::Text(text) if self.own_upstream.contains_key(text));
        self.requests.contains_key(key) || self.waiting.contains_key(key) || own(key)
    }

    /// Whether another request of the client may be opened.
    pub(crate) fn has_room(&self) -> bool {
        self.requests.len() < MAX_REQUESTS
    }

    /// Notes a request that is forwarded; `token` is what its progress is told under.
    pub(crate) fn open(&mut self, key: Key, raw: &[u8], kind: RequestKind, token: Option<Key>) {
        let raw = raw.into();
        self.requests.insert(key, OpenRequest { raw, kind, token });
    }

    /// Whether progress that is told under `token` is that of something under way.
    pub(crate) fn progresses(&self, token: &Key) -> bool {
        let mut open = self
            .requests
            .values()
            .filter_map(|open| open.token.as_ref());
        open.any(|open| open == token) || self.task_tokens.contains(token)
    }

    /// A call goes on as a task: so does its progress.
    pub(crate) fn goes_on(&mut self, open: &OpenRequest) {
        let Some(token) = &open.token else { return };
        self.task_tokens.push_back(token.clone());
        if self.task_tokens.len() > MAX_TASKS {
            self.task_tokens.pop_front();
        }
    }

    /// The request that an answer of the server closes, also if it spells a number as a text.
    pub(crate) fn close_answered(&mut self, key: &Key) -> Option<OpenRequest> {
        self.close(key)
            .or_else(|| key.spelled().and_then(|key| self.close(&key)))
    }

    /// The request that has that id, which is closed.
    fn close(&mut self, key: &Key) -> Option<OpenRequest> {
        // The client may use the id again: an old cancellation must not meet the new request.
        self.cancelled.retain(|cancelled| cancelled != key);
        self.requests.remove(key)
    }

    /// An answer was lost, and it is not known whose it was: closes the request it must
    /// have been for, if just one is open. Requests of the proxy's own are given up.
    pub(crate) fn close_only(&mut self) -> Option<OpenRequest> {
        self.own_upstream.clear();
        let mut keys = self.requests.keys();
        let (first, second) = (keys.next().cloned()?, keys.next());
        second.is_none().then(|| self.close(&first))?
    }

    /// Closes all requests.
    pub(crate) fn close_all(&mut self) -> Vec<OpenRequest> {
        self.cancelled.clear();
        self.requests.drain().map(|(_, open)| open).collect()
    }

    /// Takes back a request. A call that waits here is stopped: `true`, and nothing
    /// of it reaches the server. A forwarded one may still be answered.
    pub(crate) fn cancel(&mut self, key: &Key) -> bool {
        if let Some(waiting) = self.waiting.remove(key) {
            waiting.cancel();
            return true;
        }
        if self.requests.contains_key(key) {
            self.cancelled.push_back(key.clone());
            if self.cancelled.len() > MAX_CANCELLED
                && let Some(oldest) = self.cancelled.pop_front()
            {
                self.requests.remove(&oldest);
            }
        }
        false
    }

    /// Registers a call of that many bytes that cannot be decided yet. `None`: too much
    /// waits already.
    pub(crate) fn wait(&mut self, key: Option<&Key>, bytes: usize) -> Option<Rc<PendingCall>> {
        let sum = self.undecided_bytes.saturating_add(bytes);
        if self.undecided >= MAX_WAITING || (self.undecided > 0 && sum > MAX_WAITING_BYTES) {
            return None;
        }
        self.undecided += 1;
        self.undecided_bytes = sum;
        let waiting = Rc::new(PendingCall {
            bytes,
            ..PendingCall::default()
        });
        if let Some(key) = key {
            self.waiting.insert(key.clone(), Rc::clone(&waiting));
        }
        Some(waiting)
    }

    /// Ends the wait of a call.
    pub(crate) fn decided(&mut self, key: Option<&Key>, waiting: &Rc<PendingCall>) {
        self.undecided = self.undecided.saturating_sub(1);
        self.undecided_bytes = self.undecided_bytes.saturating_sub(waiting.bytes);
        // After a cancellation the client may have used the id again.
        if let Some(key) = key
            && self
                .waiting
                .get(key)
                .is_some_and(|w| Rc::ptr_eq(w, waiting))
        {
            self.waiting.remove(key);
        }
    }

    /// Notes a request of the server. `false`: the id is in use, or too many are open.
    pub(crate) fn open_server_request(&mut self, key: Key) -> bool {
        let own = matches!(&key, Key::Text(text) if self.own_client.contains_key(text));
        !own && self.server_requests.len() < MAX_SERVER_REQUESTS && self.server_requests.insert(key)
    }

    /// Whether a request of the server is open.
    pub(crate) fn has_server_request(&self, key: &Key) -> bool {
        self.server_requests.contains(key)
    }

    /// Whether an answer of the client closes a request of the server.
    pub(crate) fn close_server_request(&mut self, key: &Key) -> bool {
        self.server_requests.remove(key)
    }

    /// Expects the answer to a request of the proxy's own to the server.
    pub(crate) fn expect_upstream(&mut self, id: &str) -> oneshot::Receiver<OwnAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.own_upstream.insert(id.to_owned(), sender);
        receiver
    }

    /// Who expects this answer of the server.
    pub(crate) fn expected_upstream(&mut self, key: &Key) -> Option<oneshot::Sender<OwnAnswer>> {
        match key {
            Key::Text(text) => self.own_upstream.remove(text),
            _ => None,
        }
    }

    /// Expects the answer to a question put to the client.
    pub(crate) fn expect_client(&mut self, id: &str) -> oneshot::Receiver<OwnAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.own_client.insert(id.to_owned(), sender);
        receiver
    }

    /// Who expects this answer of the client.
    pub(crate) fn expected_client(&mut self, key: &Key) -> Option<oneshot::Sender<OwnAnswer>> {
        match key {
            Key::Text(text) => self.own_client.remove(text),
            _ => None,
        }
    }

    /// No answer of the client is expected any more.
    pub(crate) fn forget_clients(&mut self) {
        self.own_client.clear();
    }

    /// No answer is expected any more.
    pub(crate) fn forget_client(&mut self, id: &str) {
        self.own_client.remove(id);
    }

    /// No answer is expected any more.
    pub(crate) fn forget_upstream_id(&mut self, id: &str) {
        self.own_upstream.remove(id);
    }

    /// Nothing will come from the server any more.
    pub(crate) fn forget_upstream(&mut self) {
        self.own_upstream.clear();
    }

    /// Remembers which tool a task belongs to. A server that gives one id to tasks of
    /// two tools has its results treated as nobody's.
    pub(crate) fn note_task(&mut self, task: &str, tool: &str) {
        if task.len() > MAX_TASK_ID {
            return;
        }
        if let Some(known) = self.tasks.get_mut(task) {
            if known.as_deref() != Some(tool) {
                *known = None;
            }
            return;
        }
        self.tasks.insert(task.to_owned(), Some(tool.to_owned()));
        self.task_order.push_back(task.to_owned());
        if self.task_order.len() > MAX_TASKS
            && let Some(oldest) = self.task_order.pop_front()
        {
            self.tasks.remove(&oldest);
        }
    }

    /// The tool that a task belongs to, if it is known.
    pub(crate) fn task_tool(&self, task: &str) -> Option<&str> {
        self.tasks.get(task).and_then(Option::as_deref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: i128) -> Key {
        Key::Whole(number)
    }

    #[test]
    fn old_cancellations_are_forgotten_but_not_reused_ids() {
        let mut requests = OpenRequests::default();
        let kind = RequestKind::ListTools;
        requests.open(key(-1), b"-1", kind.clone(), None);
        requests.cancel(&key(-1));
        requests.close(&key(-1));
        requests.open(key(-1), b"-1", kind.clone(), None);
        for number in 0..=MAX_CANCELLED as i128 {
            requests.open(key(number), b"0", kind.clone(), None);
            requests.cancel(&key(number));
        }
        assert!(requests.close(&key(0)).is_none());
        assert!(requests.close(&key(1)).is_some());
        assert!(requests.close(&key(-1)).is_some());
    }

    #[test]
    fn a_task_of_two_tools_is_nobodys() {
        let mut requests = OpenRequests::default();
        requests.note_task("t", "a");
        requests.note_task("t", "a");
        assert_eq!(requests.task_tool("t"), Some("a"));
        requests.note_task("t", "b");
        requests.note_task("t", "a");
        assert_eq!(requests.task_tool("t"), None);
        for number in 0..MAX_TASKS {
            requests.note_task(&format!("n{number}"), "a");
        }
        assert!(requests.tasks.len() <= MAX_TASKS);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut requests = OpenRequests::default();
        let large = requests.wait(None, 2 * MAX_WAITING_BYTES).unwrap();
        assert!(requests.wait(None, 1).is_none());
        requests.decided(None, &large);
        for _ in 0..MAX_WAITING {
            assert!(requests.wait(None, 1).is_some());
        }
        assert!(requests.wait(None, 1).is_none());
    }
}
