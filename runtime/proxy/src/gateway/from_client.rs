//! What the client says, and which server it is for.
//!
//! Only ids, progress tokens and names are rewritten, in place; everything else of a
//! message, above all a call's arguments, goes on byte for byte. Calls are judged behind
//! this: by their server's own mediator, under the tool's own name.

use crate::conversation::call::{Asker, CallContext, proxy_denial};
use crate::conversation::envelope::{
    FromClient, Id, PassThrough, classify, without_null_arguments,
};
use crate::conversation::judge::Judge;
use crate::gateway::catalogue::{Route, shown_prefix};
use crate::gateway::lists::List;
use crate::gateway::named;
use crate::gateway::router::{Backend, BackendState, Router};
use crate::gateway::routes::{Request, Routed};
use crate::gateway::task_requests::{TaskDirection, related};
use crate::gateway::tasks::TaskRole;
use crate::wire::line::{Line, LineReader};
use bouncer_audit::Outcome;
use bouncer_engine::gate::{CallMessage, VerdictRecord};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR};
use bouncer_mcp::params::cancelled_id;
use bouncer_mcp::params::progress_token;
use bouncer_mcp::splice::{Edit, splice, whole_member};
use bouncer_plan::Stage;
use bouncer_system::log::{note, quoted, visible};
use std::rc::Rc;
use std::time::Instant;
use tokio::io::AsyncRead;

/// When an agent is to try again whose server is starting.
const RETRY: std::time::Duration = std::time::Duration::from_secs(5);

/// Calls that wait for their servers to start, in bytes.
const MAX_KEPT: usize = 64 * 1024 * 1024;

impl<J: Judge + 'static> Router<J> {
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
                    self.unrouted.refuse_one(b"", None, PARSE_ERROR, &why).await;
                }
                Ok(None) => return,
                Err(error) => {
                    let error = error.to_string();
                    return note(format_args!(
                        "the client cannot be read: {}",
                        visible(&error)
                    ));
                }
            }
        }
    }

    async fn on_client_line(self: &Rc<Self>, frames: &mut FrameReader, line: &[u8]) {
        let stripped = without_null_arguments(frames, line);
        let line = stripped.as_deref().unwrap_or(line);
        match classify(frames, None, line) {
            FromClient::Call { id, call } if call.is_request() => {
                self.on_judged(frames, id, line).await;
            }
            FromClient::Call { id, call } => {
                if self.may_open(id.as_ref(), line).await {
                    self.on_call(frames, id, &call).await;
                }
            }
            FromClient::Request {
                id,
                method,
                params,
                line: pass,
            } => {
                if self.may_open(Some(&id), line).await {
                    self.client().room().await;
                    self.on_request(frames, &id, &method, params, pass.bytes());
                }
            }
            FromClient::Notification {
                method,
                params,
                line,
            } => self.on_notification(frames, &method, params, &line),
            FromClient::Answer { id, result, line } => self.on_answer(frames, &id, result, &line),
            // What is refused is refused, and logged, as in front of one server.
            FromClient::Blank | FromClient::Batch { .. } | FromClient::Refused(_) => {
                self.unrouted.on_client_line(frames, line).await;
            }
        }
    }

    /// Whether a request may be opened under its id; if not it is answered.
    async fn may_open(&self, id: Option<&Id<'_>>, line: &[u8]) -> bool {
        let Some(id) = id else {
            return true;
        };
        let why = {
            let routes = self.routes.borrow();
            if routes.is_taken(&id.key) {
                "the message is not forwarded: its id is in use"
            } else if !routes.has_room() {
                "the message is not forwarded: too many requests are open"
            } else {
                return true;
            }
        };
        let unrouted = &self.unrouted;
        unrouted
            .refuse_one(line, Some(id.raw), INVALID_REQUEST, why)
            .await;
        false
    }

    /// A request that its server's mediator judges, though it is no call.
    async fn on_judged(self: &Rc<Self>, frames: &mut FrameReader, id: Option<Id<'_>>, line: &[u8]) {
        let Ok(frame) = frames.read(line) else { return };
        let method = frame.method().and_then(text).unwrap_or_default();
        let Some(id) = id else {
            return self.drop_notification(&method);
        };
        if self.may_open(Some(&id), line).await {
            self.client().room().await;
            self.on_request(frames, &id, &method, frame.params(), line);
        }
    }

    fn drop_notification(&self, method: &str) {
        note(format_args!(
            "{} of the client is dropped: it is not known which server it is for",
            quoted(method, 100)
        ));
    }

    async fn on_call(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        id: Option<Id<'_>>,
        call: &CallMessage<'_>,
    ) {
        self.note_ready();
        let route = self.catalogue.borrow().find(call.tool()).cloned();
        let Some(route) = route else {
            return match self.why_not_now(call.tool()) {
                Some((backend, why)) => match id {
                    Some(id) if self.has_time(backend) && self.keeps(call.message().len()) => {
                        self.call_when_up(&id, Rc::clone(backend), call.message());
                    }
                    id => self.block(id, call, &why).await,
                },
                None => self.block_unknown(id, call).await,
            };
        };
        if let Err(why) = self.forward_call(frames, id.as_ref(), call, &route) {
            self.block(id, call, &why).await;
        }
    }

    /// Blocks a call for a reason of the gateway's own, and logs it.
    async fn block(&self, id: Option<Id<'_>>, call: &CallMessage<'_>, why: &str) {
        self.block_as(id, call, &proxy_denial(why)).await;
    }

    async fn block_as(&self, id: Option<Id<'_>>, call: &CallMessage<'_>, why: &VerdictRecord) {
        self.client().room().await;
        let context = CallContext {
            id,
            asker: Asker::Client,
            call,
            number: self.records.next_call(),
            received: Instant::now(),
        };
        self.unrouted.block(&context, why, Outcome::Blocked);
    }

    /// Blocks a call of a tool that no server has.
    async fn block_unknown(&self, id: Option<Id<'_>>, call: &CallMessage<'_>) {
        let why = self.no_such_tool(call.tool());
        let unknown = VerdictRecord::denial(Stage::Pinning, "pinning.unknown", why);
        self.block_as(id, call, &unknown).await;
    }

    /// Why a tool of that name cannot be called just now, if it may belong to a server
    /// that is not up.
    fn why_not_now(&self, tool: &str) -> Option<(&Rc<Backend>, String)> {
        let of = |backend: &&Rc<Backend>| {
            tool.starts_with(&shown_prefix(&backend.name)) && !backend.is_up()
        };
        let backend = self.backends.iter().find(of)?;
        let name = quoted(&backend.name, 200);
        let why = match backend.state.get() {
            BackendState::Down => backend.why_down(),
            _ => format!(
                "the server {name} is still starting; try again in {} s",
                RETRY.as_secs()
            ),
        };
        Some((backend, why))
    }

    /// What an agent is told that calls a tool that no server has.
    fn no_such_tool(&self, tool: &str) -> String {
        let tool = quoted(tool, 200);
        let mut why = format!("no such tool: no server has one that is called {tool}");
        let starting = |backend: &&Rc<Backend>| !backend.is_up();
        let names = self.backends.iter().filter(starting);
        let names: Vec<String> = names.map(|backend| quoted(&backend.name, 200)).collect();
        if names.is_empty() {
            why += "; list the tools again";
        } else {
            why += &format!(
                "; {} not up yet, list the tools again then",
                names.join(", ")
            );
        }
        why
    }

    /// Whether a call may wait for a server that is starting, as lists do.
    fn has_time(&self, backend: &Backend) -> bool {
        let starts = matches!(
            backend.state.get(),
            BackendState::Starting | BackendState::Greeted
        );
        let until = self.lists_until.get();
        starts && until.is_some_and(|until| until > tokio::time::Instant::now())
    }

    /// Whether there is room for another call that waits for its server.
    fn keeps(&self, length: usize) -> bool {
        self.kept.get() + length <= MAX_KEPT
    }

    /// Goes on with a call once its server is up, or is not going to be in time.
    fn call_when_up(self: &Rc<Self>, id: &Id<'_>, backend: Rc<Backend>, line: &[u8]) {
        self.routes.borrow_mut().start_answering(&id.key);
        self.kept.set(self.kept.get() + line.len());
        let (router, line) = (Rc::clone(self), line.to_vec());
        tokio::task::spawn_local(async move {
            let until = router.lists_until.get();
            let until = until.unwrap_or_else(tokio::time::Instant::now);
            let starts = || {
                matches!(
                    backend.state.get(),
                    BackendState::Starting | BackendState::Greeted
                )
            };
            router.wait(until, || !starts()).await;
            router.client().room().await;
            router.kept.set(router.kept.get() - line.len());
            router.call_later(&line).await;
            router.changed();
        });
    }

    async fn call_later(&self, line: &[u8]) {
        // The line was read before; reading it again is simpler than owning its parts.
        let mut frames = FrameReader::new(self.settings.max_message);
        let FromClient::Call { id: Some(id), call } = classify(&mut frames, None, line) else {
            return;
        };
        if !self.routes.borrow_mut().end_answering(&id.key) {
            let context = CallContext {
                id: Some(id),
                asker: Asker::Client,
                call: &call,
                number: self.records.next_call(),
                received: Instant::now(),
            };
            return self.unrouted.log_cancelled(&context);
        }
        let route = self.catalogue.borrow().find(call.tool()).cloned();
        let Some(route) = route else {
            return match self.why_not_now(call.tool()) {
                Some((_, why)) => self.block(Some(id), &call, &why).await,
                // It is up, and does not have that tool.
                None => self.block_unknown(Some(id), &call).await,
            };
        };
        if let Err(why) = self.forward_call(&mut frames, Some(&id), &call, &route) {
            self.block(Some(id), &call, &why).await;
        }
    }

    fn forward_call<'a>(
        &self,
        frames: &mut FrameReader,
        id: Option<&Id<'a>>,
        call: &CallMessage<'a>,
        route: &Route,
    ) -> Routed<()> {
        self.name_again(route);
        let line = call.message();
        let read = |why: bouncer_mcp::frame::Unreadable| why.to_string();
        let params = frames
            .read(line)
            .map_err(read)?
            .params()
            .unwrap_or_default();
        let [name, meta, task] = frames
            .members(params, ["name", "_meta", "task"])
            .map_err(read)?;
        let own = serde_json::to_vec(&route.name).map_err(|error| error.to_string())?;
        let mut edits = vec![(name.unwrap_or_default(), own)];
        let backend = self.backend(route.server)?;
        let wanted = call.is_task() && !self.sessionless.get();
        if let (true, Some(task)) = (self.sessionless.get(), task) {
            // In this version nobody asks for a task, and who does as before is not heard.
            let whole = whole_member(params, task).ok_or("the message cannot be rewritten")?;
            edits.push((whole, Vec::new()));
        }
        if let Some(why) = self.why_no_task(backend).filter(|_| wanted) {
            return Err(why);
        }
        match id {
            Some(id) => {
                let task_role = self.task_role(frames, meta, (&route.name, wanted));
                self.forward(frames, id, (backend, task_role), line, meta, edits)
            }
            None => {
                let line = splice(line, edits).ok_or("the message cannot be rewritten")?;
                self.push(backend, &line)
            }
        }
    }

    /// Whoever calls a tool is about to read what it names, not what another's tool names.
    fn name_again(&self, route: &Route) {
        let Some(backend) = self.backends.get(route.server) else {
            return;
        };
        let tools = backend.tools.borrow();
        if let Some(tool) = tools.iter().find(|tool| tool.name == route.name)
            && memchr::memmem::find(&tool.definition, b"_meta").is_some()
        {
            let named = named::in_tool(&tool.definition);
            self.directory.borrow_mut().name(backend.index, named);
        }
    }

    /// Sends a request to a server, under a number of its own.
    pub(crate) fn forward<'a>(
        &self,
        frames: &mut FrameReader,
        id: &Id<'a>,
        (backend, task_role): (&Backend, TaskRole),
        line: &'a [u8],
        meta: Option<&'a [u8]>,
        mut edits: Vec<Edit<'a>>,
    ) -> Routed<()> {
        let token = progress_token(frames, meta).map_err(|why| why.to_string())?;
        let direction = TaskDirection::Server(backend.index);
        let about = related(frames, meta, |id| self.translated(direction, id));
        match about.map_err(|why| why.to_string())? {
            Some((edit, true)) => edits.push(edit),
            Some((_, false)) => {
                return Err("it is about a task that the server does not have".to_owned());
            }
            None => {}
        }
        let number = self.routes.borrow_mut().open(Request {
            server: backend.index,
            key: id.key.clone(),
            id: id.raw.into(),
            token: token.map(Into::into),
            task_role,
        });
        let digits = number.to_string().into_bytes();
        edits.push((id.raw, digits.clone()));
        edits.extend(token.map(|token| (token, digits)));
        let pushed = splice(line, edits)
            .ok_or_else(|| "the message cannot be rewritten".to_owned())
            .and_then(|line| self.push(backend, &line));
        if pushed.is_err() {
            self.routes.borrow_mut().close(backend.index, number);
        }
        pushed
    }

    fn push(&self, backend: &Backend, line: &[u8]) -> Routed<()> {
        if backend.push(line) {
            return Ok(());
        }
        let name = quoted(&backend.name, 200);
        Err(format!(
            "the server {name} does not read what is sent to it"
        ))
    }

    pub(crate) fn backend(&self, index: usize) -> Routed<&Rc<Backend>> {
        match self.backends.get(index) {
            Some(backend) if backend.is_up() => Ok(backend),
            Some(backend) => Err(backend.why_down()),
            None => Err("the server does not run at the moment".to_owned()),
        }
    }

    fn on_request(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        id: &Id<'_>,
        method: &str,
        params: Option<&[u8]>,
        line: &[u8],
    ) {
        match method {
            "initialize" => return self.on_initialize(id, params),
            "ping" => return self.answer(id.raw, b"{}"),
            _ => {}
        }
        let tasks = matches!(
            method,
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/list"
        ) || (self.sessionless.get() && method == "tasks/update");
        let known = tasks
            || matches!(
                method,
                "tools/list"
                    | "logging/setLevel"
                    | "prompts/get"
                    | "completion/complete"
                    | "resources/read"
                    | "resources/subscribe"
                    | "resources/unsubscribe"
            );
        let list = List::of_method(method);
        if !known && list.is_none() {
            let why = format!("{} does not go through the gateway", quoted(method, 200));
            return self.answer_error(id.raw, METHOD_NOT_FOUND, &why);
        }
        if self.hello.borrow().is_none() {
            let why = "the client has not introduced itself with `initialize`";
            return self.answer_error(id.raw, INVALID_REQUEST, why);
        }
        self.note_ready();
        match (method, list) {
            (_, Some(list)) => self.list(id, list),
            ("tools/list", _) => self.list_tools(id),
            ("logging/setLevel", _) => self.on_set_level(id, params),
            _ if tasks => {
                if let Err((code, why)) = self.on_tasks(frames, id, method, params, line) {
                    self.answer_error(id.raw, code, &why);
                }
            }
            _ => {
                if let Err((code, why)) = self.on_routed(frames, id, method, params, line) {
                    self.answer_error(id.raw, code, &why);
                }
            }
        }
    }

    /// The client is done with its introduction: it says so, or goes on as if.
    fn note_ready(&self) {
        if self.hello.borrow().is_some() {
            self.ready
                .send_if_modified(|ready| !std::mem::replace(ready, true));
        }
    }

    /// Every server gets the level, also those that start later.
    fn on_set_level(self: &Rc<Self>, id: &Id<'_>, params: Option<&[u8]>) {
        let Some(params) = params.and_then(|raw| serde_json::from_slice(raw).ok()) else {
            let why = "`logging/setLevel` needs `level`";
            return self.answer_error(id.raw, INVALID_PARAMS, why);
        };
        let params: serde_json::Value = params;
        *self.level.borrow_mut() = Some(params.clone());
        for backend in self
            .backends
            .iter()
            .filter(|m| m.is_up() && m.offers("logging"))
        {
            self.set_level(backend, params.clone());
        }
        self.answer(id.raw, b"{}");
    }

    fn on_notification(
        &self,
        frames: &mut FrameReader,
        method: &str,
        params: Option<&[u8]>,
        pass: &PassThrough<'_>,
    ) {
        let line = pass.bytes();
        match method {
            "notifications/initialized" => self.note_ready(),
            "notifications/cancelled" => {
                let cancelled = cancelled_id(frames, params);
                let route = cancelled.and_then(|key| self.routes.borrow_mut().cancel(&key));
                self.changed();
                let Some((server, number)) = route else {
                    return;
                };
                let raw = params.and_then(|p| frames.members(p, ["requestId"]).ok()?[0]);
                let digits = number.to_string().into_bytes();
                let mut edits = Vec::from_iter(raw.map(|raw| (raw, digits)));
                let direction = TaskDirection::Server(server);
                let Ok(about) = self.related_edit(frames, params, direction) else {
                    return;
                };
                edits.extend(about);
                let line = raw.and_then(|_| splice(line, edits));
                if let (Some(line), Some(backend)) = (line, self.backends.get(server)) {
                    backend.push(&line);
                }
            }
            "notifications/progress" => {
                let token = params.and_then(|p| frames.members(p, ["progressToken"]).ok()?[0]);
                let Some((token, number)) = token.and_then(|raw| Some((raw, Key::number(raw)?)))
                else {
                    return;
                };
                let request = self.routes.borrow().find_server(number).cloned();
                let Some(request) = request else {
                    return;
                };
                let direction = TaskDirection::Server(request.server);
                let about = self.related_edit(frames, params, direction).ok();
                let line = request.token.zip(about).and_then(|(raw, about)| {
                    let mut edits = vec![(token, raw.into())];
                    edits.extend(about);
                    splice(line, edits)
                });
                if let (Some(line), Some(backend)) = (line, self.backends.get(request.server)) {
                    backend.push(&line);
                }
            }
            "notifications/roots/list_changed" => {
                for backend in self.backends.iter().filter(|backend| backend.is_up()) {
                    backend.push(line);
                }
            }
            _ => self.drop_notification(method),
        }
    }

    fn on_answer(
        &self,
        frames: &mut FrameReader,
        id: &Id<'_>,
        result: Option<&[u8]>,
        pass: &PassThrough<'_>,
    ) {
        let request = Key::number(id.raw).and_then(|n| self.routes.borrow_mut().close_server(n));
        let Some(request) = request else {
            return note(format_args!(
                "an answer of the client that nobody waits for is dropped"
            ));
        };
        let direction = TaskDirection::Server(request.server);
        let about = self.related_edit(frames, result, direction);
        let line = match about {
            Ok(about) => {
                let mut edits = vec![(id.raw, request.id.into_vec())];
                edits.extend(about);
                splice(pass.bytes(), edits)
            }
            // Whoever asked must not wait for ever.
            Err(_) => {
                let why = "the client's answer cannot be read";
                Some(jsonrpc::error(&request.id, INTERNAL_ERROR, why, None))
            }
        };
        if let (Some(line), Some(backend)) = (line, self.backends.get(request.server)) {
            backend.push(&line);
        }
    }
}
