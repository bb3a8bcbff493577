//! What the server says.

use crate::upstream::adapter::rounds::read_questions;
use crate::upstream::adapter::{At, Interpreter};
use bouncer_mcp::frame::{Frame, FrameReader, ids_of_garbage, is_blank, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::splice::splice;
use bouncer_mcp::version::{COMPLETE, INPUT_REQUIRED, TASK, TASK_ABLE, has_tasks};
use bouncer_system::log::{note, quoted};
use serde_json::{Value, json};
use std::rc::Rc;

/// Notifications that say that a list changed.
const CHANGES: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

impl Interpreter {
    pub(super) fn on_server_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        if is_blank(line) {
            return;
        }
        let frame = match frames.read(line) {
            Ok(frame) => frame,
            Err(why) => return self.on_garbage(line, &why.to_string()),
        };
        let method = frame.method().map(text);
        match (method, frame.id()) {
            (None, _) => self.on_answer(frames, &frame, line),
            (Some(Some(method)), None) => self.on_notification(frames, &method, &frame, line),
            (Some(Some(method)), Some(_)) => note(format_args!(
                "{} of a server is dropped: in the version that it speaks there are no requests of servers",
                quoted(&method, 100)
            )),
            (Some(None), _) => self.on_garbage(line, "its method is no text"),
        }
    }

    fn on_notification(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        method: &str,
        frame: &Frame<'_>,
        line: &[u8],
    ) {
        let mut part = |key| {
            frame
                .params()
                .and_then(|p| frames.members(p, [key]).ok()?[0])
        };
        if CHANGES.contains(&method) {
            // Nothing else of it is of any use.
            let plain = json!({"jsonrpc": "2.0", "method": method});
            return self.down.push(plain.to_string().as_bytes());
        }
        match method {
            "notifications/resources/updated" => {
                let uri = part("uri").and_then(text);
                if let Some(uri) = uri.filter(|uri| self.listens.borrow().wants(uri)) {
                    let plain = json!({"jsonrpc": "2.0", "method": method, "params": {"uri": uri}});
                    self.down.push(plain.to_string().as_bytes());
                }
            }
            "notifications/subscriptions/acknowledged" => {
                let meta = part("_meta").and_then(|raw| serde_json::from_slice(raw).ok());
                self.on_acknowledged(meta.as_ref().unwrap_or(&Value::Null));
            }
            "notifications/cancelled" => {
                let number = part("requestId").and_then(number);
                if let Some(number) = number {
                    self.on_listen_ended(number, true);
                }
            }
            // Nobody listens to a task: how it is is asked.
            "notifications/tasks" => {}
            // Recorded and routed like those of older servers.
            _ => self.down.push(line),
        }
    }

    fn on_answer(self: &Rc<Self>, frames: &mut FrameReader, frame: &Frame<'_>, line: &[u8]) {
        let Some(id) = frame.id().filter(|id| Key::parse(id).is_some()) else {
            // An error about something that the server could not read.
            return self.down.push(line);
        };
        let Some(number) = number(id) else {
            return dropped();
        };
        if self.listens.borrow().is_open(number) {
            // Only errors of the connection are worth another try.
            let lasting = frame.error().is_some_and(|error| {
                let code = frames.members(error, ["code"]).ok().and_then(|[code]| code);
                code != Some(b"-32603")
            });
            return self.on_listen_ended(number, !lasting);
        }
        let Some(key) = self.numbers.borrow().get(&number).cloned() else {
            return dropped();
        };
        let result = match (frame.result(), frame.error()) {
            (Some(result), None) => result,
            (None, Some(_)) => return self.pass_answer(&key, id, line),
            _ => return self.fail(&key, "the server's answer is neither a result nor an error"),
        };
        let kind = match frames.members(result, ["resultType"]) {
            Ok([kind]) => kind.map(text),
            Err(why) => {
                let why = format!("the server's answer cannot be read: {why}");
                return self.fail(&key, &why);
            }
        };
        // Servers that forget to say what it is mean that it is all.
        let kind = kind.unwrap_or_else(|| Some(COMPLETE.to_owned()));
        match kind.as_deref() {
            Some(COMPLETE) => match self.may_ask_in_task(frames, &key, result) {
                Ok(()) => self.pass_answer(&key, id, line),
                Err(why) => self.fail(&key, &format!("the server {why}")),
            },
            Some(TASK) if self.takes_task(&key) => {
                self.pass_answer(&key, id, line);
            }
            Some(INPUT_REQUIRED) => {
                if let Err(why) = self.on_input_required(frames, &key, result) {
                    self.fail(&key, &format!("the server {why}"));
                }
            }
            _ => self.fail(&key, "the server's answer is of a kind that is not known"),
        }
    }

    /// Whether a request may be answered by a task: its client said so with it.
    fn takes_task(&self, key: &Key) -> bool {
        let requests = self.requests.borrow();
        requests.get(key).is_some_and(|request| {
            request.method == TASK_ABLE && request.able.as_ref().is_some_and(has_tasks)
        })
    }

    /// Holds what a task asks for against what the client can do, as everywhere else.
    fn may_ask_in_task(
        &self,
        frames: &mut FrameReader,
        key: &Key,
        result: &[u8],
    ) -> Result<(), String> {
        let able = {
            let requests = self.requests.borrow();
            let of_task = requests.get(key).filter(|r| r.method == "tasks/get");
            of_task.and_then(|request| request.able.clone())
        };
        let Some(able) = able else {
            return Ok(());
        };
        let read = frames.members(result, ["inputRequests"]);
        let [asked] = read.map_err(|why| format!("asks what cannot be read: {why}"))?;
        match asked {
            Some(asked) => read_questions(frames, asked, &able).map(drop),
            None => Ok(()),
        }
    }

    /// Passes an answer on, under the id that the client knows.
    fn pass_answer(&self, key: &Key, id: &[u8], line: &[u8]) {
        let Some(request) = self.remove(key) else {
            return;
        };
        if let Some(line) = splice(line, vec![(id, request.raw)]) {
            self.down.push(&line);
        }
    }

    /// A line that cannot be read: whoever it was meant for is told.
    fn on_garbage(self: &Rc<Self>, line: &[u8], why: &str) {
        note(format_args!("a line of the server is dropped: {why}"));
        for number in ids_of_garbage(line).into_iter().filter_map(number) {
            if self.listens.borrow().is_open(number) {
                self.on_listen_ended(number, true);
            }
            let key = self.numbers.borrow().get(&number).cloned();
            if let Some(key) = key {
                self.fail(&key, &format!("the server's answer cannot be read: {why}"));
            }
        }
    }

    /// A line past the limit, of which nothing is known. If just one request is open it
    /// was most likely its answer.
    pub(super) fn on_overlong_line(&self) {
        note(format_args!(
            "a line of the server is dropped: it is longer than the limit"
        ));
        let only = {
            let requests = self.requests.borrow();
            let at_server = |(_, request): &(&Key, &crate::upstream::adapter::Request)| {
                matches!(request.at, At::Server(_))
            };
            let mut open = requests.iter().filter(at_server);
            match (open.next(), open.next()) {
                (Some((key, _)), None) => Some(key.clone()),
                _ => None,
            }
        };
        if let Some(key) = only {
            self.fail(&key, "the server's answer is longer than the limit");
        }
    }
}

fn dropped() {
    note(format_args!(
        "an answer of the server that nobody waits for is dropped"
    ));
}

/// One of the interpreter's numbers.
pub(super) fn number(raw: &[u8]) -> Option<u64> {
    match Key::parse(raw)? {
        Key::Whole(whole) => u64::try_from(whole).ok(),
        // Some servers give subscriptions back as texts.
        Key::Text(text) => text.parse().ok(),
        Key::Number(_) => None,
    }
}
