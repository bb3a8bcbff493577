//! What a server's mediator says to the client: it is recorded already, and only has to
//! get the ids, tokens and names that the client knows.

use crate::conversation::judge::Judge;
use crate::conversation::related::Questions;
use crate::gateway::router::{About, Front, Member};
use crate::gateway::routes::Request;
use crate::gateway::task_requests::Heading;
use crate::gateway::tasks::Tasked;
use crate::wire::line::{Line, LineReader};
use bouncer_mcp::frame::{Frame, FrameReader, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR};
use bouncer_mcp::params::cancelled_id;
use bouncer_mcp::params::progress_token;
use bouncer_mcp::splice::{member as whole_member, splice};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;
use tokio::io::AsyncRead;

impl<J: Judge + 'static> Front<J> {
    /// Reads what comes from a server until there is no more.
    pub(crate) async fn pump_member<R: AsyncRead + Unpin>(
        self: Rc<Self>,
        member: Rc<Member>,
        source: R,
    ) {
        // The mediator's own messages, such as questions, may be longer than a server's.
        let limit = self.settings.max_message.saturating_mul(2);
        let mut frames = FrameReader::new(limit);
        let mut lines = LineReader::new(source, limit);
        loop {
            self.client().room().await;
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.on_member_line(&mut frames, &member, line),
                Ok(Some(Line::TooLong)) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn on_member_line(self: &Rc<Self>, frames: &mut FrameReader, member: &Rc<Member>, line: &[u8]) {
        let Ok(frame) = frames.read(line) else {
            return self.tell(
                member,
                format_args!("says what cannot be read; it is dropped"),
            );
        };
        if let (Some(method), Some(id)) = (frame.method().and_then(text), frame.id())
            && method.starts_with("tasks/")
        {
            // Tasks of the client would be anyone's who guesses their ids.
            let why = "tasks of the client do not go through the gateway";
            member.push(&jsonrpc::error(id, METHOD_NOT_FOUND, why, None));
            return;
        }
        let passed = match (frame.method().and_then(text), frame.id()) {
            (Some(method), Some(id)) => self.on_member_request(frames, member, &frame, &method, id),
            (Some(method), None) => {
                return self.on_member_notification(frames, member, &frame, &method, line);
            }
            (None, Some(id)) => {
                return self.on_member_answer(frames, member, &frame, id, line);
            }
            (None, None) => None,
        };
        match passed.and_then(|edits| splice(line, edits)) {
            Some(line) => self.client().push(&line),
            None => self.tell(
                member,
                format_args!(
                    "asks something that is dropped: its id is in use or none, or too much is open"
                ),
            ),
        }
    }

    /// What has to change in a request of the server.
    fn on_member_request<'a>(
        &self,
        frames: &mut FrameReader,
        member: &Member,
        frame: &Frame<'a>,
        method: &str,
        id: &'a [u8],
    ) -> Option<Vec<(&'a [u8], Vec<u8>)>> {
        if self.hello.borrow().is_none() {
            self.tell(
                member,
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
        let heading = Heading::Client(member.index);
        let about = self.related_edit(frames, frame.params(), heading).ok()?;
        let number = self.routes.borrow_mut().open_server(Request {
            server: member.index,
            key: Key::parse(id)?,
            id: id.into(),
            token: token.map(Into::into),
            tasked: Tasked::No,
        })?;
        self.note_about(member, id, number);
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
    fn note_about(&self, member: &Member, id: &[u8], question: u64) {
        if !self.tells_abouts.get() {
            return;
        }
        let find = |id: String| {
            let of = |open: &RefCell<Questions>| open.borrow().borrow().get(&id).cloned();
            of(&member.questions).or_else(|| of(&member.asks))
        };
        let related = text(id).and_then(find);
        let about = related.and_then(|related| {
            let Key::Whole(whole) = related.request else {
                return None;
            };
            let routes = self.routes.borrow();
            let request = routes.find(member.index, u64::try_from(whole).ok()?)?;
            Some(About {
                key: request.key.clone(),
                name: related.name,
                of: related.of,
            })
        });
        if let Some(about) = about {
            self.abouts.borrow_mut().insert(question, about);
        }
    }

    fn on_member_notification(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        member: &Rc<Member>,
        frame: &Frame<'_>,
        method: &str,
        line: &[u8],
    ) {
        let heading = Heading::Client(member.index);
        let Ok(about) = self.related_edit(frames, frame.params(), heading) else {
            return self.tell(
                member,
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
                if member.is_up() || member.refreshing.get() {
                    let (front, member) = (Rc::clone(self), Rc::clone(member));
                    tokio::task::spawn_local(async move { front.refresh_tools(&member).await });
                }
                None
            }
            "notifications/cancelled" => {
                let raw = part("requestId");
                let key = cancelled_id(frames, frame.params());
                key.and_then(|key| self.routes.borrow_mut().cancel_server(member.index, &key))
                    .zip(raw)
                    .and_then(|(number, raw)| with((raw, number.to_string().into())))
            }
            "notifications/progress" => {
                let raw = part("progressToken");
                let token = raw
                    .and_then(Key::number)
                    .and_then(|number| self.token_of(member, number));
                // Progress of what nobody waits for any more, or of another's request.
                raw.zip(token)
                    .and_then(|(raw, token)| with((raw, token.into())))
            }
            "notifications/tasks/status" => {
                let edit = self.status_edit(frames, member, frame.params());
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
    fn token_of(&self, member: &Member, number: u64) -> Option<Box<[u8]>> {
        let routes = self.routes.borrow();
        if let Some(request) = routes.find(member.index, number) {
            return request.token.clone();
        }
        let tasks = self.tasks.borrow();
        tasks.token(member.index, number, Instant::now())
    }

    fn on_member_answer(
        &self,
        frames: &mut FrameReader,
        member: &Member,
        frame: &Frame<'_>,
        id: &[u8],
        line: &[u8],
    ) {
        let Some(number) = Key::number(id) else {
            // An error about something that the server could not read.
            return self.client().push(line);
        };
        let own = self.routes.borrow_mut().close_own(member.index, number);
        if let Some(own) = own {
            let reply = match (frame.result(), frame.error()) {
                (Some(result), _) => Ok(result.to_vec()),
                (None, error) => Err(error.unwrap_or_default().to_vec()),
            };
            // Whoever asked may have given up already.
            let _ = own.send(reply);
            return;
        }
        let request = self.routes.borrow_mut().close(member.index, number);
        let Some(request) = request else {
            return;
        };
        match self.tasked_edits(frames, member, (&request, number), frame) {
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
