//! What the client's side says.

use crate::upstream::adapter::compose::Extras;
use crate::upstream::adapter::{At, Interpreter, MAX_KEPT, Request};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use bouncer_mcp::params::cancelled_id;
use bouncer_mcp::version::{ROUNDS, TASK_ABLE};
use bouncer_system::log::note;
use serde_json::{Value, json};
use std::rc::Rc;

impl Interpreter {
    pub(super) fn on_client_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        // It was read before, when it was judged.
        let Ok(frame) = frames.read(line) else {
            return;
        };
        let Some(method) = frame.method().and_then(text) else {
            let id = frame.id().and_then(text);
            return self.on_response(id.as_deref(), frame.result());
        };
        match frame.id() {
            Some(id) => self.on_request(frames, method, id, frame.params(), line),
            None if method == "notifications/initialized" => self.start_listening(),
            None if method == "notifications/cancelled" => {
                if let Some(key) = cancelled_id(frames, frame.params()) {
                    self.on_cancelled(&key);
                }
            }
            // There are no others: neither changes of roots nor progress of questions.
            None => {}
        }
    }

    fn on_request(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        method: String,
        id: &[u8],
        params: Option<&[u8]>,
        line: &[u8],
    ) {
        let params = || -> Value {
            params
                .and_then(|raw| serde_json::from_slice(raw).ok())
                .unwrap_or_default()
        };
        match method.as_str() {
            "ping" => self.answer(id, &json!({})),
            "initialize" => {
                let why = "the client has introduced itself already";
                self.answer_error(id, INVALID_REQUEST, why);
            }
            "logging/setLevel" => match params().get("level").and_then(Value::as_str) {
                Some(level) => {
                    self.speaker.level.replace(Some(level.to_owned()));
                    self.answer(id, &json!({}));
                }
                None => self.answer_error(id, INVALID_PARAMS, "`level` is missing"),
            },
            "resources/subscribe" | "resources/unsubscribe" => {
                match params().get("uri").and_then(Value::as_str) {
                    Some(uri) => {
                        let wanted = method == "resources/subscribe";
                        match self.subscribe(uri, wanted) {
                            Ok(()) => self.answer(id, &json!({})),
                            Err(why) => self.answer_error(id, INTERNAL_ERROR, why),
                        }
                    }
                    None => self.answer_error(id, INVALID_PARAMS, "`uri` is missing"),
                }
            }
            _ => self.pass_request(frames, method, id, line),
        }
    }

    fn pass_request(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        method: String,
        id: &[u8],
        line: &[u8],
    ) {
        let Some(key) = Key::parse(id) else {
            return;
        };
        let number = self.next_number();
        let composed = self
            .speaker
            .compose(frames, line, number, &Extras::default());
        let composed = match composed {
            Ok(composed) => composed,
            Err(why) => {
                let why = format!("the message is not forwarded: {why}");
                return self.answer_error(id, INVALID_PARAMS, &why);
            }
        };
        let may_ask = ROUNDS.contains(&method.as_str());
        let keeps = may_ask && self.kept.get() + line.len() <= MAX_KEPT;
        if keeps {
            self.kept.set(self.kept.get() + line.len());
        }
        let about_tasks = matches!(method.as_str(), TASK_ABLE | "tasks/get");
        let able =
            (about_tasks && self.speaker.tasks).then(|| self.speaker.capabilities(frames, line));
        let request = Request {
            raw: id.to_vec(),
            method,
            able,
            line: keeps.then(|| line.into()),
            rounds: 0,
            empty_rounds: 0,
            at: At::Server(number),
        };
        self.requests.borrow_mut().insert(key.clone(), request);
        self.numbers.borrow_mut().insert(number, key);
        self.up.push(&composed);
    }

    /// Forgets a request.
    pub(super) fn remove(&self, key: &Key) -> Option<Request> {
        let request = self.requests.borrow_mut().remove(key)?;
        let length = request.line.as_ref().map_or(0, |line| line.len());
        self.kept.set(self.kept.get().saturating_sub(length));
        if let At::Server(number) = request.at {
            self.numbers.borrow_mut().remove(&number);
        }
        Some(request)
    }

    fn on_cancelled(&self, key: &Key) {
        let Some(request) = self.remove(key) else {
            return;
        };
        match request.at {
            At::Server(number) => self.cancel_upstream(number),
            At::Client(round) => self.withdraw(&round, "the request was taken back"),
            At::Pause => {}
        }
    }

    /// Tells the server that nobody waits for an answer any more.
    pub(super) fn cancel_upstream(&self, number: u64) {
        let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": number}});
        self.up.push(line.to_string().as_bytes());
    }

    /// An answer of the client to what the server asked for.
    fn on_response(self: &Rc<Self>, id: Option<&str>, result: Option<&[u8]>) {
        let asked = id.and_then(|id| self.asked.borrow_mut().remove(id));
        let (Some((key, name)), Some(id)) = (asked, id) else {
            return note(format_args!(
                "an answer of the client that nobody waits for is dropped"
            ));
        };
        self.questions.borrow_mut().remove(id);
        self.take_response(&key, id, name, result);
    }

    /// Ends a request with an error.
    pub(super) fn fail(&self, key: &Key, why: &str) {
        if let Some(request) = self.remove(key) {
            if let At::Client(round) = &request.at {
                self.withdraw(round, why);
            }
            self.answer_error(&request.raw, INTERNAL_ERROR, why);
        }
    }

    pub(super) fn answer(&self, id: &[u8], result: &Value) {
        let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
        line.extend_from_slice(id);
        line.extend_from_slice(format!(r#","result":{result}}}"#).as_bytes());
        self.down.push(&line);
    }

    pub(super) fn answer_error(&self, id: &[u8], code: i32, why: &str) {
        self.down.push(&jsonrpc::error(id, code, why, None));
    }
}
