//! What a server's mediator says to the client: it is recorded already, and only has to
//! get the ids, tokens and names that the client knows.

use crate::conversation::judge::Judge;
use crate::conversation::related::RelatedRequests;
use crate::gateway::named;
use crate::gateway::router::{Backend, QuestionOrigin, Router};
use crate::gateway::routes::Request;
use crate::gateway::task_requests::TaskDirection;
use crate::gateway::tasks::TaskRole;
use crate::wire::line::{Line, LineReader};
use bouncer_mcp::frame::{Frame, FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR};
use bouncer_mcp::params::cancelled_id;
use bouncer_mcp::params::progress_token;
use bouncer_mcp::splice::{splice, whole_member};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;
use tokio::io::AsyncRead;

impl<J: Judge + 'static> Router<J> {
    /// Reads what comes from a server until there is no more.
    pub(crate) async fn pump_backend<R: AsyncRead + Unpin>(
        self: Rc<Self>,
        backend: Rc<Backend>,
        source: R,
    ) {
        // The mediator's own messages, such as questions, may be longer than a server's.
        let limit = self.settings.max_message.saturating_mul(2);
        let mut frames = FrameReader::new(limit);
        let mut lines = LineReader::new(source, limit);
        loop {
            self.client().room().await;
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_backend_line(&mut frames, &backend, line),
                Ok(Some(Line::TooLong)) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn on_backend_line(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        backend: &Rc<Backend>,
        line: &[u8],
    ) {
        let Ok(frame) = frames.read(line) else {
            return self.tell(
                backend,
                format_args!("says what cannot be read; it is dropped"),
            );
        };
        if let (Some(method), Some(id)) = (frame.method().and_then(text), frame.id())
            && method.starts_with("tasks/")
        {
            // Tasks of the client would be anyone's who guesses their ids.
            let why = "tasks of the client do not go through the gateway";
            backend.push(&jsonrpc::error(id, METHOD_NOT_FOUND, why, None));
            return;
        }
        if let (Some(b"\"ping\""), Some(id)) = (frame.method(), frame.id()) {
            // It asks whether the gateway is there; clients may not be, or not answer.
            let answer = jsonrpc::answer(id, "result", &json!({}));
            backend.push(&answer);
            return;
        }
        let passed = match (frame.method().and_then(text), frame.id()) {
            (Some(method), Some(id)) => {
                self.on_backend_request(frames, backend, &frame, &method, id)
            }
            (Some(method), None) => {
                return self.on_backend_notification(frames, backend, &frame, &method, line);
            }
            (None, Some(id)) => {
                return self.on_backend_answer(frames, backend, &frame, id, line);
            }
            (None, None) => None,
        };
        match passed.and_then(|edits| splice(line, edits)) {
            Some(line) => self.client().push(&line),
            None => self.tell(
                backend,
                format_args!(
                    "asks something that is dropped: its id is in use or none, or too much is open"
                ),
            ),
        }
    }

    /// What has to change in a request of the server.
    fn on_backend_request<'a>(
        &self,
        frames: &mut FrameReader,
        backend: &Backend,
        frame: &Frame<'a>,
        method: &str,
        id: &'a [u8],
    ) -> Option<Vec<(&'a [u8], Vec<u8>)>> {
        if self.hello.borrow().is_none() {
            self.tell(
                backend,
                format_args!(
                    "asks {} before the client came",
                    bouncer_system::log::quoted(method, 100)
                ),
            );
            return None;
        }
        let meta = match frame.params() {
            Some(params) => frames.members(params, ["_meta"]).ok()?[0],
            None => None,
        };
        let token = progress_token(frames, meta).ok()?;
        let task = match frame.params().filter(|params| params.starts_with(b"{")) {
            Some(params) => {
                let [task] = frames.members(params, ["task"]).ok()?;
                // The client was not told that it may be asked for one.
                task.map(|task| whole_member(params, task))
            }
            None => None,
        };
        let direction = TaskDirection::Client(backend.index);
        let about = self.related_edit(frames, frame.params(), direction).ok()?;
        let number = self.routes.borrow_mut().open_server(Request {
            server: backend.index,
            key: Key::parse(id)?,
            id: id.into(),
            token: token.map(Into::into),
            task_role: TaskRole::No,
        })?;
        self.note_origin(backend, id, number);
        let digits = number.to_string().into_bytes();
        let mut edits = vec![(id, digits.clone())];
        edits.extend(token.map(|token| (token, digits)));
        edits.extend(about);
        if let Some(task) = task {
            edits.push((task?, Vec::new()));
        }
        Some(edits)
    }

    /// Notes which request of the client a question is about, if that is known.
    fn note_origin(&self, backend: &Backend, id: &[u8], question: u64) {
        if !self.tells_origins.get() {
            return;
        }
        let find = |id: String| {
            let of = |open: &RefCell<RelatedRequests>| open.borrow().borrow().get(&id).cloned();
            of(&backend.questions).or_else(|| of(&backend.asks))
        };
        let related = text(id).and_then(find);
        let about = related.and_then(|related| {
            let Key::Whole(whole) = related.request else {
                return None;
            };
            let routes = self.routes.borrow();
            let request = routes.find(backend.index, u64::try_from(whole).ok()?)?;
            Some(QuestionOrigin {
                key: request.key.clone(),
                name: related.name,
                of: related.of,
            })
        });
        if let Some(about) = about {
            self.origins.borrow_mut().insert(question, about);
        }
    }

    fn on_backend_notification(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        backend: &Rc<Backend>,
        frame: &Frame<'_>,
        method: &str,
        line: &[u8],
    ) {
        let direction = TaskDirection::Client(backend.index);
        let Ok(about) = self.related_edit(frames, frame.params(), direction) else {
            return self.tell(
                backend,
                format_args!("says what cannot be read; it is dropped"),
            );
        };
        let with = |edit: (&[u8], Vec<u8>)| {
            let mut edits = vec![edit];
            edits.extend(about.clone());
            splice(line, edits)
        };
        let mut part = |key| {
            frame
                .params()
                .and_then(|p| frames.members(p, [key]).ok()?[0])
        };
        let line = match method {
            "notifications/tools/list_changed" => {
                // A client hears of it once it is known what changed.
                if backend.is_up() || backend.refreshing.get() {
                    let (router, backend) = (Rc::clone(self), Rc::clone(backend));
                    tokio::task::spawn_local(async move { router.refresh_tools(&backend).await });
                }
                None
            }
            "notifications/cancelled" => {
                let raw = part("requestId");
                let key = cancelled_id(frames, frame.params());
                key.and_then(|key| self.routes.borrow_mut().cancel_server(backend.index, &key))
                    .zip(raw)
                    .and_then(|(number, raw)| with((raw, number.to_string().into())))
            }
            "notifications/progress" => {
                let raw = part("progressToken");
                let token = raw
                    .and_then(Key::number)
                    .and_then(|number| self.token_of(backend, number));
                // Progress of what nobody waits for any more, or of another's request.
                raw.zip(token)
                    .and_then(|(raw, token)| with((raw, token.into())))
            }
            "notifications/tasks/status" => {
                let edit = self.status_edit(frames, backend, frame.params());
                edit.and_then(with)
            }
            _ => splice(line, about.into_iter().collect()),
        };
        // A server has nothing to tell to a client that is not there yet.
        if let Some(line) = line.filter(|_| self.hello.borrow().is_some()) {
            self.client().push(&line);
        }
    }

    /// The client's progress token of a call, also of one that goes on as a task.
    fn token_of(&self, backend: &Backend, number: u64) -> Option<Box<[u8]>> {
        let routes = self.routes.borrow();
        if let Some(request) = routes.find(backend.index, number) {
            return request.token.clone();
        }
        let tasks = self.tasks.borrow();
        tasks.token(backend.index, number, Instant::now())
    }

    fn on_backend_answer(
        &self,
        frames: &mut FrameReader,
        backend: &Backend,
        frame: &Frame<'_>,
        id: &[u8],
        line: &[u8],
    ) {
        let Some(number) = Key::number(id) else {
            // An error about something that the server could not read.
            return self.client().push(line);
        };
        let own = self.routes.borrow_mut().close_own(backend.index, number);
        if let Some(own) = own {
            let reply = match (frame.result(), frame.error()) {
                (Some(result), _) => Ok(result.to_vec()),
                (None, error) => Err(error.unwrap_or_default().to_vec()),
            };
            // Whoever asked may have given up already.
            let _ = own.send(reply);
            return;
        }
        let request = self.routes.borrow_mut().close(backend.index, number);
        let Some(request) = request else {
            return;
        };
        if let Some(result) = frame.result() {
            let named = named::in_result(result);
            self.directory.borrow_mut().name(backend.index, named);
        }
        match self.tasked_edits(frames, backend, (&request, number), frame) {
            Ok(mut edits) => {
                edits.push((id, request.id.into()));
                if let Some(line) = splice(line, edits) {
                    self.client().push(&line);
                }
            }
            Err(why) => self.answer_error(&request.id, INTERNAL_ERROR, &why),
        }
    }
}
