//! Requests about tasks, and what is said with regard to one: which server it is for, and
//! the id that the other side knows.

use super::super::super::denial::{INTERNAL_ERROR, INVALID_PARAMS};
use super::super::super::envelope::{Id, PassThrough};
use super::super::super::era::{RELATED_TASK_META, VERSIONS};
use super::super::super::frame::{Frame, FrameReader, Unreadable, text};
use super::super::super::log::quoted;
use super::super::super::session::Judge;
use super::super::from_client::METHOD_NOT_FOUND;
use super::super::front::{Front, Member};
use super::super::routes::Request;
use super::super::splice::{Edit, member};
use super::Tasked;
use serde_json::{Value, json};
use std::time::Instant;

/// Where a message goes that may be about a task.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Heading {
    /// To that server.
    Server(usize),
    /// From that server to the client.
    Client(usize),
}

/// What has to change in `_meta` of a message with regard to a task, and whether the task is
/// known there. What is not known is left out.
pub(in super::super) fn related<'a>(
    frames: &mut FrameReader,
    meta: Option<&'a [u8]>,
    translate: impl Fn(&str) -> Option<String>,
) -> Result<Option<(Edit<'a>, bool)>, Unreadable> {
    let Some(meta) = meta.filter(|meta| meta.starts_with(b"{")) else {
        return Ok(None);
    };
    let [value] = frames.members(meta, [RELATED_TASK_META])?;
    let Some(value) = value else {
        return Ok(None);
    };
    let named = if value.starts_with(b"{") {
        let [raw] = frames.members(value, ["taskId"])?;
        raw.and_then(|raw| Some((raw, translate(&text(raw)?)?)))
    } else {
        None
    };
    if let Some((raw, id)) = named {
        return Ok(Some(((raw, json!(id).to_string().into_bytes()), true)));
    }
    let whole = member(meta, value).ok_or(Unreadable::Shape)?;
    Ok(Some(((whole, Vec::new()), false)))
}

impl<J: Judge + 'static> Front<J> {
    /// Why calls of this client do not become tasks of that server, if so.
    pub(in super::super) fn why_no_task(&self, member: &Member) -> Option<String> {
        if let Some(why) = self.why_no_tasks() {
            return Some(why);
        }
        (!member.offers("tasks/requests/tools/call")).then(|| {
            let name = quoted(&member.name, 200);
            format!("the server {name} does not take calls as tasks: call without `task`")
        })
    }

    /// Why this client has no tasks, if so.
    fn why_no_tasks(&self) -> Option<String> {
        let newest = VERSIONS.first().copied().unwrap_or_default();
        if self.sessionless.get() {
            return Some(format!(
                "`task` and `tasks/*` are of version {newest} of the protocol, and the tasks of newer versions do not go through the gateway"
            ));
        }
        let version = self.hello.borrow().as_ref().map(|hello| hello.version);
        (version != Some(newest)).then(|| {
            format!("tasks are of version {newest} of the protocol, and the client speaks another")
        })
    }

    /// The id that the other side knows a task by.
    pub(in super::super) fn translated(&self, heading: Heading, id: &str) -> Option<String> {
        let (tasks, now) = (self.tasks.borrow(), Instant::now());
        match heading {
            Heading::Client(server) => tasks.shown(server, id, now).map(str::to_owned),
            Heading::Server(server) => {
                let task = tasks.find(id, now)?;
                (task.server == server).then(|| task.own.clone())
            }
        }
    }

    /// See [`related`]; without a word on whether the task is known.
    pub(in super::super) fn related_edit<'a>(
        &self,
        frames: &mut FrameReader,
        holder: Option<&'a [u8]>,
        heading: Heading,
    ) -> Result<Option<Edit<'a>>, Unreadable> {
        let Some(holder) = holder.filter(|holder| holder.starts_with(b"{")) else {
            return Ok(None);
        };
        let [meta] = frames.members(holder, ["_meta"])?;
        let edit = related(frames, meta, |id| self.translated(heading, id))?;
        Ok(edit.map(|(edit, _)| edit))
    }

    /// A request of the client about tasks.
    pub(in super::super) fn on_tasks<'a>(
        &self,
        frames: &mut FrameReader,
        id: &Id<'a>,
        method: &str,
        params: Option<&'a [u8]>,
        pass: &'a PassThrough<'_>,
    ) -> Result<(), (i32, String)> {
        if let Some(why) = self.why_no_tasks() {
            return Err((METHOD_NOT_FOUND, why));
        }
        let unread = |why: Unreadable| (INVALID_PARAMS, why.to_string());
        let params = params.unwrap_or(b"{}");
        if method == "tasks/list" {
            let [cursor] = frames.members(params, ["cursor"]).map_err(unread)?;
            let cursor = cursor.map(text).map(Option::unwrap_or_default);
            let page = self
                .tasks
                .borrow_mut()
                .page(cursor.as_deref(), Instant::now());
            let page = page.ok_or((INVALID_PARAMS, "`cursor` is of no list".to_owned()))?;
            self.answer(id.raw, page.to_string().as_bytes());
            return Ok(());
        }
        let [raw, meta] = frames
            .members(params, ["taskId", "_meta"])
            .map_err(unread)?;
        let named = raw.and_then(|raw| Some((raw, text(raw)?)));
        let Some((raw, shown)) = named else {
            return Err((INVALID_PARAMS, format!("`{method}` needs `taskId`, a text")));
        };
        let found = self.tasks.borrow().find(&shown, Instant::now()).cloned();
        let Some(task) = found else {
            let why = format!(
                "this conversation has no task {}, or does not have it any more",
                quoted(&shown, 200)
            );
            return Err((INVALID_PARAMS, why));
        };
        let failed = |why: String| (INTERNAL_ERROR, why);
        let member = self.member(task.server).map_err(failed)?;
        if method == "tasks/cancel" && !member.offers("tasks/cancel") {
            let name = quoted(&member.name, 200);
            let why = format!("the server {name} does not cancel tasks");
            return Err((METHOD_NOT_FOUND, why));
        }
        let tasked = match method {
            "tasks/result" => Tasked::Fetched,
            _ => Tasked::Described {
                own: task.own.clone(),
            },
        };
        let edits = vec![(raw, json!(task.own).to_string().into_bytes())];
        let line = pass.bytes();
        // Slices of the parameters are slices of the line.
        self.forward(frames, id, (member, tasked), line, meta, edits)
            .map_err(failed)
    }

    /// What has to change in a server's answer with regard to tasks; or why the client must
    /// not have it.
    pub(in super::super) fn tasked_edits<'a>(
        &self,
        frames: &mut FrameReader,
        member: &Member,
        (request, number): (&Request, u64),
        frame: &Frame<'a>,
    ) -> Result<Vec<Edit<'a>>, String> {
        let wanted = request.tasked != Tasked::No;
        let result = frame.result.filter(|result| result.starts_with(b"{"));
        let Some(result) = result.filter(|_| wanted || !self.tasks.borrow().is_empty()) else {
            return Ok(Vec::new());
        };
        let unread = |why: Unreadable| format!("the server's answer cannot be read: {why}");
        let [task, id] = frames.members(result, ["task", "taskId"]).map_err(unread)?;
        let now = Instant::now();
        let read = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap_or_default();
        let mut edits = Vec::new();
        match (&request.tasked, task, id) {
            // A server may answer at once, all the same.
            (Tasked::Wanted { tool }, Some(task), _) => {
                let [raw] = match task.starts_with(b"{") {
                    true => frames.members(task, ["taskId"]).map_err(unread)?,
                    false => [None],
                };
                let token = request.token.clone().map(|token| (number, token));
                let whose = (member.index, member.name.as_str());
                let mut tasks = self.tasks.borrow_mut();
                let shown = tasks.note(whose, tool, &read(task), token, now)?;
                edits.extend(raw.map(|raw| (raw, json!(shown).to_string().into_bytes())));
            }
            (Tasked::Described { own }, _, id) => {
                let raw = id.filter(|raw| text(raw).as_ref() == Some(own));
                let raw = raw.ok_or("the server's answer is about another task")?;
                let mut tasks = self.tasks.borrow_mut();
                tasks.update(member.index, own, &read(result), now);
                let shown = tasks.shown(member.index, own, now);
                let shown = shown.ok_or("the task is not known any more")?;
                edits.push((raw, json!(shown).to_string().into_bytes()));
            }
            _ => {}
        }
        let heading = Heading::Client(member.index);
        let related = self.related_edit(frames, Some(result), heading);
        edits.extend(related.map_err(unread)?);
        Ok(edits)
    }

    /// The edit of a server's word on how a task is; `None`: the client has no such task.
    pub(in super::super) fn status_edit<'a>(
        &self,
        frames: &mut FrameReader,
        member: &Member,
        params: Option<&'a [u8]>,
    ) -> Option<Edit<'a>> {
        let params = params?;
        let raw = frames.members(params, ["taskId"]).ok()?[0]?;
        let own = text(raw)?;
        let shown = self.translated(Heading::Client(member.index), &own)?;
        let heard: Value = serde_json::from_slice(params).ok()?;
        let mut tasks = self.tasks.borrow_mut();
        tasks.update(member.index, &own, &heard, Instant::now());
        Some((raw, json!(shown).to_string().into_bytes()))
    }
}
