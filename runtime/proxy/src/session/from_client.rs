//! The pump from the client to the server.

use crate::conversation::envelope::{
    FromClient, Id, PassThrough, classify, without_null_arguments,
};
use crate::conversation::judge::Judge;
use crate::session::mediator::Mediator;
use crate::session::open_requests::{ClientTraits, RequestKind};
use crate::wire::line::{Line, LineReader};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR};
use bouncer_mcp::params::{cancelled_id, progress_key};
use bouncer_mcp::version::{CAPABILITIES_META, VERSION_META};
use bouncer_system::log::{note, visible};
use serde_json::Value;
use std::rc::Rc;
use tokio::io::AsyncRead;

impl<J: Judge + 'static> Mediator<J> {
    /// Reads the client's lines until there are no more.
    pub(crate) async fn pump_client<R: AsyncRead + Unpin>(self: Rc<Self>, source: R) {
        let mut frames = FrameReader::new(self.settings.max_message);
        let mut lines = LineReader::new(source, self.settings.max_message);
        loop {
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_client_line(&mut frames, line).await,
                Ok(Some(Line::TooLong)) => {
                    let limit = self.settings.limit();
                    let why = format!("the message is not forwarded: it is longer than {limit}");
                    self.refuse_one(b"", None, PARSE_ERROR, &why).await;
                }
                Ok(None) => return,
                Err(error) => {
                    note(format_args!(
                        "the client cannot be read: {}",
                        visible(&error.to_string())
                    ));
                    return;
                }
            }
        }
    }

    /// Takes one line of the client.
    pub(crate) async fn on_client_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        let stripped = without_null_arguments(frames, line);
        let line = stripped.as_deref().unwrap_or(line);
        match classify(frames, self.server.as_deref(), line) {
            FromClient::Blank => {}
            FromClient::Call { id, call } => {
                if self.may_open(id.as_ref(), line).await {
                    // The tools may be listed because of this very call.
                    if !self.listing.is_pinned() {
                        let params = frames.read(line).ok().and_then(|frame| frame.params());
                        self.note_request_meta(frames, params);
                    }
                    self.on_call(id, &call).await;
                }
            }
            FromClient::Request {
                id,
                method,
                params,
                line: pass,
            } => {
                if self.may_open(Some(&id), line).await {
                    self.on_request(frames, &id, method, params, &pass).await;
                }
            }
            FromClient::Notification {
                method,
                params,
                line,
            } => self.on_notification(frames, &method, params, &line).await,
            FromClient::Answer { id, result, line } => self.on_answer(&id, result, &line).await,
            FromClient::Batch { ids } => {
                let why = "batches are not forwarded: send each message on its own line";
                let answer = if ids.is_empty() {
                    jsonrpc::error(b"null", INVALID_REQUEST, why, None)
                } else {
                    jsonrpc::batch_error(&ids, why)
                };
                self.refuse(line, &answer, why).await;
            }
            FromClient::Refused(refusal) if refusal.answer => {
                note(format_args!(
                    "an answer of the client is dropped: {}",
                    refusal.why
                ));
            }
            FromClient::Refused(refusal) => {
                self.refuse_one(line, refusal.id, refusal.code, &refusal.why)
                    .await;
            }
        }
    }

    /// Whether a request may be opened under its id; if not it is answered.
    async fn may_open(&self, id: Option<&Id<'_>>, line: &[u8]) -> bool {
        let Some(id) = id else {
            return true;
        };
        let why = {
            let requests = self.requests.borrow();
            if requests.is_taken(&id.key) {
                "the message is not forwarded: its id is in use"
            } else if !requests.has_room() {
                "the message is not forwarded: too many requests are open"
            } else {
                return true;
            }
        };
        self.refuse_one(line, Some(id.raw), INVALID_REQUEST, why)
            .await;
        false
    }

    async fn on_request(
        &self,
        frames: &mut FrameReader,
        id: &Id<'_>,
        method: String,
        params: Option<&[u8]>,
        line: &PassThrough<'_>,
    ) {
        self.upstream.room().await;
        if self.upstream.is_closed() {
            self.answer_error(id.raw, INTERNAL_ERROR, &self.gone())
                .await;
            return;
        }
        let kind = match method.as_str() {
            "initialize" => {
                let traits = traits(params);
                if let Some(approvals) = &self.records.approvals {
                    approvals.set_client(traits.name.clone());
                }
                self.requests.borrow_mut().client = traits;
                RequestKind::Initialize
            }
            "tools/list" => RequestKind::ListTools,
            "tasks/result" => self
                .task_tool(frames, params)
                .map_or(RequestKind::Other { method }, |tool| {
                    RequestKind::TaskResult { tool }
                }),
            "tasks/get" => self
                .task_tool(frames, params)
                .map_or(RequestKind::Other { method }, |tool| {
                    RequestKind::TaskState { tool }
                }),
            _ => RequestKind::Other { method },
        };
        if !self.listing.is_pinned() && kind != RequestKind::Initialize {
            self.note_request_meta(frames, params);
        }
        self.requests
            .borrow_mut()
            .open(id.key.clone(), id.raw, kind, progress_key(frames, params));
        self.upstream.pass(line);
    }

    /// The tool whose task a request is about.
    fn task_tool(&self, frames: &mut FrameReader, params: Option<&[u8]>) -> Option<String> {
        let [task] = frames.members(params?, ["taskId"]).ok()?;
        let task = bouncer_mcp::frame::text(task?)?;
        self.requests.borrow().task_tool(&task).map(str::to_owned)
    }

    /// Remembers `_meta` of clients that have no handshake: the proxy's own requests
    /// need the same.
    fn note_request_meta(&self, frames: &mut FrameReader, params: Option<&[u8]>) {
        let meta = params
            .and_then(|params| frames.members(params, ["_meta"]).ok())
            .and_then(|[meta]| serde_json::from_slice::<Value>(meta?).ok());
        let Some(mut meta) = meta else {
            return;
        };
        if let Some(map) = meta.as_object_mut()
            && map.contains_key(VERSION_META)
        {
            map.retain(|key, _| key == VERSION_META || key == CAPABILITIES_META);
            self.requests.borrow_mut().client.request_meta = Some(meta);
        }
    }

    async fn on_notification(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        method: &str,
        params: Option<&[u8]>,
        line: &PassThrough<'_>,
    ) {
        if method == "notifications/cancelled"
            && let Some(key) = cancelled_id(frames, params)
            && self.requests.borrow_mut().cancel(&key)
        {
            // The server never saw that call.
            return;
        }
        self.upstream.room().await;
        self.upstream.pass(line);
        if method == "notifications/initialized" && !self.listing.is_pinned() {
            self.list_tools(false);
        }
    }

    async fn on_answer(&self, id: &Id<'_>, result: Option<&[u8]>, line: &PassThrough<'_>) {
        let expected = self.requests.borrow_mut().expected_client(&id.key);
        if let Some(expected) = expected {
            let result = result.and_then(|raw| serde_json::from_slice(raw).ok());
            // Whoever asked may have given up already.
            let _ = expected.send(result);
            return;
        }
        self.upstream.room().await;
        if self.requests.borrow_mut().close_server_request(&id.key) {
            self.upstream.pass(line);
        } else {
            note(format_args!(
                "an answer of the client that nobody waits for is dropped"
            ));
        }
    }
}

/// Characters of a client's name that are kept.
const MAX_NAME: usize = 200;

/// What `initialize` says about the client.
fn traits(params: Option<&[u8]>) -> ClientTraits {
    let params: Value = params
        .and_then(|raw| serde_json::from_slice(raw).ok())
        .unwrap_or_default();
    let asks_humans = params
        .pointer("/capabilities/elicitation")
        .and_then(Value::as_object)
        // Empty means forms; `url` alone means no forms.
        .is_some_and(|modes| {
            modes.is_empty() || modes.contains_key("form") || !modes.contains_key("url")
        });
    let said = |what: &str| params.pointer(&format!("/clientInfo/{what}"))?.as_str();
    let name = said("name").map(|name| match said("version") {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    });
    ClientTraits {
        name: name.map(|name| name.chars().take(MAX_NAME).collect()),
        asks_humans,
        request_meta: None,
    }
}
