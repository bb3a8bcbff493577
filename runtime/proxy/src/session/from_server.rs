//! The pump from the server to the client.
//!
//! Everything an agent may get to read is recorded before it is passed on.

use crate::conversation::call::{Asker, CallContext};
use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::session::mediator::Mediator;
use crate::session::open_requests::{OpenRequest, RequestKind};
use crate::upstream::proxy_message::ProxyMessage;
use crate::wire::line::{Line, LineReader};
use bouncer_engine::gate::{Attempt, CallMessage};
use bouncer_mcp::frame::{
    Frame, FrameReader, Unreadable, ids_of_garbage, is_batch, is_blank, text,
};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR};
use bouncer_mcp::params::cancelled_id;
use bouncer_mcp::splice::splice;
use bouncer_mcp::version::{INPUT_REQUIRED, TASK};
use bouncer_system::log::{note, quoted, visible};
use serde_json::Value;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::AsyncRead;

/// Whether a result asks for something first.
fn asks(outcome: &Value) -> bool {
    outcome.get("resultType").and_then(Value::as_str) == Some(INPUT_REQUIRED)
}

/// What is asked for in an answer: the method, the parameters, and all of it.
type AskedFor<'a> = (String, Option<&'a [u8]>, &'a [u8]);

/// What an answer of the version without an introduction asks for, itself or in the result of
/// a task.
fn asked_for<'a>(frames: &mut FrameReader, outcome: &'a [u8]) -> Result<Vec<AskedFor<'a>>, String> {
    let mut all = Vec::new();
    let mut around = Some(outcome);
    for _ in 0..2 {
        let Some(object) = around.filter(|raw| raw.starts_with(b"{")) else {
            break;
        };
        let unread = |why: String| format!("the server asks what cannot be read: {why}");
        let read = frames.members(object, ["inputRequests", "result"]);
        let [asked, inner] = read.map_err(|why| unread(why.to_string()))?;
        around = inner;
        let Some(asked) = asked else { continue };
        let asked: BTreeMap<String, &RawValue> = match serde_json::from_slice(asked) {
            Ok(asked) => asked,
            // No client takes it for requests.
            Err(_) => continue,
        };
        for request in asked.into_values() {
            let whole = request.get().as_bytes();
            let read = frames.members(whole, ["method", "params"]);
            let [method, params] = read.map_err(|why| unread(why.to_string()))?;
            all.extend(method.and_then(text).map(|method| (method, params, whole)));
        }
    }
    Ok(all)
}

/// The id of the task that a result is, in either version.
fn made_task(outcome: &Value) -> Option<&str> {
    let own = match outcome.get("resultType").and_then(Value::as_str) {
        Some(TASK) => outcome.get("taskId"),
        _ => outcome.pointer("/task/taskId"),
    };
    own.and_then(Value::as_str)
}

/// An answer under the id that was asked with, if the server spelled another: a text for a
/// number.
fn as_asked(frames: &mut FrameReader, line: &[u8], open: &OpenRequest) -> Option<Vec<u8>> {
    let id = frames.read(line).ok()?.id()?;
    let differs = Key::parse(id)? != Key::parse(&open.raw)?;
    differs.then(|| splice(line, vec![(id, open.raw.to_vec())]))?
}

impl<J: Judge + 'static> Mediator<J> {
    /// Reads the server's lines until there are no more.
    pub(crate) async fn pump_server<R: AsyncRead + Unpin>(self: Rc<Self>, source: R) {
        let mut frames = FrameReader::new(self.settings.max_message);
        let mut lines = LineReader::new(source, self.settings.max_message);
        loop {
            self.client.room().await;
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_server_line(&mut frames, line).await,
                Ok(Some(Line::TooLong)) => self.on_overlong_line(),
                Ok(None) => return,
                Err(error) => {
                    note(format_args!(
                        "the server cannot be read: {}",
                        visible(&error.to_string())
                    ));
                    return;
                }
            }
        }
    }

    async fn on_server_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        if is_blank(line) {
            return;
        }
        if !is_batch(line) {
            self.on_server_message(frames, line);
            return;
        }
        // Batches were only part of one protocol version, and their parts are whole
        // messages: each goes on its own.
        match serde_json::from_slice::<Vec<&RawValue>>(line) {
            Ok(parts) => {
                for part in parts {
                    self.client.room().await;
                    self.on_server_message(frames, part.get().as_bytes());
                }
            }
            Err(_) => self.on_garbage(line, "a batch that is not JSON"),
        }
    }

    fn on_server_message(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        let frame = match frames.read(line) {
            Ok(frame) => frame,
            Err(why) => return self.on_garbage(line, &why.to_string()),
        };
        let answers = frame.result().is_some() || frame.error().is_some();
        match (frame.method(), answers) {
            (Some(method), false) => match text(method) {
                Some(method) => self.on_server_request(frames, &method, &frame, line),
                None => self.on_garbage(line, &Unreadable::Method.to_string()),
            },
            (None, true) => self.on_server_answer(frames, &frame, line),
            _ => self.on_garbage(line, &Unreadable::Shape.to_string()),
        }
    }

    /// A request or a notification of the server.
    fn on_server_request(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        method: &str,
        frame: &Frame<'_>,
        line: &[u8],
    ) {
        if let Some(raw) = frame.id() {
            let opened = Key::parse(raw)
                .is_some_and(|key| self.requests.borrow_mut().open_server_request(key));
            if !opened {
                note(format_args!(
                    "a request of the server is dropped: its id is in use or none, or too many are open"
                ));
                return;
            }
        } else if method == "notifications/cancelled"
            && let Some(key) = cancelled_id(frames, frame.params())
        {
            self.requests.borrow_mut().close_server_request(&key);
        }
        if let Some(params) = frame.params()
            && !self.record_params(method, params)
        {
            note(format_args!(
                "{} of the server is dropped: it cannot be recorded",
                quoted(method, 100)
            ));
            return;
        }
        if method == "notifications/progress" && !self.is_progress(frames, frame.params()) {
            return;
        }
        let server = self.server.as_deref();
        match CallMessage::of_request(server, method, frame.params(), line, frames) {
            Ok(None) => self.client.push(line),
            Ok(Some(call)) => {
                let id = frame.id().zip(frame.id().and_then(Key::parse));
                return self.on_server_call(id.map(|(raw, key)| Id { raw, key }), &call);
            }
            Err(why) => {
                note(format_args!(
                    "{} of the server is dropped: {}",
                    quoted(method, 100),
                    visible(&why.to_string())
                ));
                return self.refuse_server(frame, line, &why.to_string());
            }
        }
        if method == "notifications/tools/list_changed" {
            self.list_tools(true);
        }
    }

    /// Whether it is the progress of something that the client waits for: what is told of
    /// another's request, or too late, confuses clients.
    fn is_progress(&self, frames: &mut FrameReader, params: Option<&[u8]>) -> bool {
        let token = params.and_then(|params| frames.members(params, ["progressToken"]).ok());
        let token = token.and_then(|[token]| Key::parse(token?));
        token.is_some_and(|token| self.requests.borrow().progresses(&token))
    }

    /// Logs and answers a request of the server that cannot be judged.
    fn refuse_server(&self, frame: &Frame<'_>, line: &[u8], why: &str) {
        self.log_refused(line, why);
        if let Some(raw) = frame.id()
            && let Some(key) = Key::parse(raw)
            && self.requests.borrow_mut().close_server_request(&key)
        {
            let error = jsonrpc::error(raw, jsonrpc::INVALID_PARAMS, why, None);
            self.upstream.say(&ProxyMessage::refused(error));
        }
    }

    /// Whether everything that an answer asks for may be asked for. If not, the client was
    /// told.
    fn may_ask(&self, frames: &mut FrameReader, open: &OpenRequest, outcome: &[u8]) -> bool {
        let asked = match asked_for(frames, outcome) {
            Ok(asked) => asked,
            Err(why) => {
                self.fail(open, &why);
                return false;
            }
        };
        let Some(key) = Key::parse(&open.raw) else {
            return true;
        };
        let server = self.server.as_deref();
        asked.iter().all(|(method, params, whole)| {
            let read = CallMessage::of_request(server, method, *params, whole, frames);
            match read {
                Ok(None) => true,
                Err(why) => {
                    self.fail(open, &format!("the server asks what cannot be read: {why}"));
                    false
                }
                Ok(Some(call)) => {
                    let may = Cell::new(false);
                    let id = Id {
                        raw: &open.raw,
                        key: key.clone(),
                    };
                    let context = CallContext {
                        id: Some(id),
                        asker: Asker::Answer(&may),
                        call: &call,
                        number: self.records.next_call(),
                        received: Instant::now(),
                    };
                    self.attempt(&context, Attempt::First);
                    may.get()
                }
            }
        })
    }

    /// Records what a message of the server tells; `false` if it cannot be read.
    fn record_params(&self, method: &str, params: &[u8]) -> bool {
        let Ok(params) = serde_json::from_slice::<Value>(params) else {
            return false;
        };
        // Progress comes often and mostly says numbers.
        let told = if method == "notifications/progress" {
            params.get("message").cloned()
        } else {
            Some(params)
        };
        if let Some(told) = told {
            self.judge
                .borrow_mut()
                .record_untrusted(method, &Arc::new(told));
        }
        true
    }

    fn on_server_answer(&self, frames: &mut FrameReader, frame: &Frame<'_>, line: &[u8]) {
        let Some(key) = frame.id().and_then(Key::parse) else {
            // An error about something the server could not read.
            return match frame.error().map(serde_json::from_slice::<Value>) {
                Some(Ok(error)) => {
                    self.judge
                        .borrow_mut()
                        .record_untrusted("error", &Arc::new(error));
                    self.client.push(line);
                }
                _ => self.on_garbage(line, &Unreadable::Id.to_string()),
            };
        };
        let expected = self.requests.borrow_mut().expected_upstream(&key);
        if let Some(expected) = expected {
            let result = frame
                .result()
                .and_then(|raw| serde_json::from_slice(raw).ok());
            // Whoever asked may have given up already.
            let _ = expected.send(result);
            return;
        }
        let open = self.requests.borrow_mut().close_answered(&key);
        let Some(open) = open else {
            note(format_args!(
                "an answer of the server that nobody waits for is dropped"
            ));
            return;
        };
        let both = frame.result().is_some() && frame.error().is_some();
        let outcome = frame.result().or(frame.error()).filter(|_| !both);
        match outcome.map(serde_json::from_slice::<Value>) {
            Some(Ok(outcome)) => {
                let outcome = Arc::new(outcome);
                if made_task(&outcome).is_some() {
                    self.requests.borrow_mut().goes_on(&open);
                }
                self.record_answer(&open.kind, &outcome);
                if let Some(result) = frame.result()
                    && ["/inputRequests", "/result/inputRequests"]
                        .iter()
                        .any(|at| outcome.pointer(at).is_some())
                    && !self.may_ask(frames, &open, result)
                {
                    return;
                }
                let shown = match (&open.kind, frame.result()) {
                    (RequestKind::ListTools, Some(result)) => {
                        let judge = self.judge.borrow();
                        let hides = |tool: &str| judge.hides(tool);
                        self.hidden_tools
                            .without_hidden(frames, line, result, hides)
                    }
                    _ => None,
                };
                let line = shown.as_deref().unwrap_or(line);
                match as_asked(frames, line, &open) {
                    Some(line) => self.client.push(&line),
                    None => self.client.push(line),
                }
            }
            _ => self.fail(&open, "the server's answer cannot be read"),
        }
    }

    fn record_answer(&self, kind: &RequestKind, outcome: &Arc<Value>) {
        match kind {
            // What a server asks for is nobody's result.
            RequestKind::Call { .. } | RequestKind::TaskResult { .. } if asks(outcome) => {
                self.judge
                    .borrow_mut()
                    .record_untrusted(INPUT_REQUIRED, outcome);
            }
            RequestKind::Call { tool } => {
                if let Some(task) = made_task(outcome) {
                    self.requests.borrow_mut().note_task(task, tool);
                }
                self.judge.borrow_mut().record(tool, outcome);
            }
            RequestKind::TaskResult { tool } => self.judge.borrow_mut().record(tool, outcome),
            RequestKind::TaskState { tool } => {
                let mut state = Value::clone(outcome);
                let result = state
                    .as_object_mut()
                    .and_then(|state| state.remove("result"));
                let mut judge = self.judge.borrow_mut();
                match result {
                    Some(asked) if asks(&asked) => {
                        judge.record_untrusted(INPUT_REQUIRED, &Arc::new(asked));
                    }
                    Some(result) => judge.record(tool, &Arc::new(result)),
                    None => {}
                }
                // All else is the server's own word.
                judge.record_untrusted("tasks/get", &Arc::new(state));
            }
            RequestKind::ListTools => self.note_shown_tools(outcome),
            RequestKind::Initialize => self.judge.borrow_mut().record_introduction(outcome),
            RequestKind::Other { method } => {
                self.judge.borrow_mut().record_untrusted(method, outcome)
            }
        }
    }

    /// A line that cannot be read: whoever it was meant for is told.
    fn on_garbage(&self, line: &[u8], why: &str) {
        note(format_args!("a line of the server is dropped: {why}"));
        for id in ids_of_garbage(line) {
            let Some(key) = Key::parse(id) else {
                continue;
            };
            let (expected, open) = {
                let mut requests = self.requests.borrow_mut();
                (
                    requests.expected_upstream(&key),
                    requests.close_answered(&key),
                )
            };
            // Dropping the sender tells the listing.
            drop(expected);
            if let Some(open) = open {
                self.fail(&open, &format!("the server's answer cannot be read: {why}"));
            }
        }
    }

    /// A line past the limit, of which nothing is known. If just one request is open it
    /// was most likely its answer.
    fn on_overlong_line(&self) {
        let limit = self.settings.limit();
        note(format_args!(
            "a line of the server is dropped: it is longer than {limit}"
        ));
        let open = self.requests.borrow_mut().close_only();
        if let Some(open) = open {
            self.fail(
                &open,
                &format!("the server's answer is longer than {limit}"),
            );
        }
    }

    fn fail(&self, open: &OpenRequest, why: &str) {
        self.client
            .push(&jsonrpc::error(&open.raw, INTERNAL_ERROR, why, None));
    }
}
