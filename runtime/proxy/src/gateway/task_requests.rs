//! Requests about tasks, and what is said with regard to one: which server it is for, and
//! the id that the other side knows.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::gateway::router::{Backend, Router};
use crate::gateway::routes::Request;
use crate::gateway::tasks::{Task, TaskRole};
use bouncer_mcp::frame::{Frame, FrameReader, Unreadable, text};
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS};
use bouncer_mcp::splice::{Edit, whole_member};
use bouncer_mcp::version::TASKS_EXTENSION;
use bouncer_mcp::version::{
    CAPABILITIES_META, MODERN, RELATED_TASK_META, TASK, TASK_METHODS, VERSIONS, has_tasks,
};
use bouncer_system::log::quoted;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// Where a message goes that may be about a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TaskDirection {
    /// To that server.
    Server(usize),
    /// From that server to the client.
    Client(usize),
}

/// What has to change in `_meta` of a message with regard to a task, and whether the task is
/// known there. What is not known is left out.
pub(crate) fn related<'a>(
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
    let whole = whole_member(meta, value).ok_or(Unreadable::Shape)?;
    Ok(Some(((whole, Vec::new()), false)))
}

impl<J: Judge + 'static> Router<J> {
    /// Why calls of this client do not become tasks of that server, if so.
    pub(crate) fn why_no_task(&self, backend: &Backend) -> Option<String> {
        if let Some(why) = self.why_no_tasks() {
            return Some(why);
        }
        (!backend.offers("tasks/requests/tools/call")).then(|| {
            let name = quoted(&backend.name, 200);
            format!("the server {name} does not take calls as tasks: call without `task`")
        })
    }

    /// Why this client has no tasks, if so.
    fn why_no_tasks(&self) -> Option<String> {
        let newest = VERSIONS.first().copied().unwrap_or_default();
        let version = self.hello.borrow().as_ref().map(|hello| hello.version);
        (version != Some(newest)).then(|| {
            format!("tasks are of version {newest} of the protocol, and the client speaks another")
        })
    }

    /// What a call of the client has to do with tasks. Servers of the newer version only
    /// make one for a client that says, with this call, that it can take one.
    pub(crate) fn task_role(
        &self,
        frames: &mut FrameReader,
        meta: Option<&[u8]>,
        (tool, wanted): (&str, bool),
    ) -> TaskRole {
        let tool = tool.to_owned();
        if wanted {
            return TaskRole::Wanted { tool };
        }
        let mut declared = || {
            let [said] = frames.members(meta?, [CAPABILITIES_META]).ok()?;
            serde_json::from_slice::<Value>(said?).ok()
        };
        match self.sessionless.get() && declared().is_some_and(|said| has_tasks(&said)) {
            true => TaskRole::Able { tool },
            false => TaskRole::No,
        }
    }

    /// The id that the other side knows a task by.
    pub(crate) fn translated(&self, direction: TaskDirection, id: &str) -> Option<String> {
        let (tasks, now) = (self.tasks.borrow(), Instant::now());
        match direction {
            TaskDirection::Client(server) => tasks.shown(server, id, now).map(str::to_owned),
            TaskDirection::Server(server) => {
                let task = tasks.find(id, now)?;
                (task.server == server).then(|| task.own.clone())
            }
        }
    }

    /// See [`related`]; without a word on whether the task is known.
    pub(crate) fn related_edit<'a>(
        &self,
        frames: &mut FrameReader,
        holder: Option<&'a [u8]>,
        direction: TaskDirection,
    ) -> Result<Option<Edit<'a>>, Unreadable> {
        let Some(holder) = holder.filter(|holder| holder.starts_with(b"{")) else {
            return Ok(None);
        };
        let [meta] = frames.members(holder, ["_meta"])?;
        let edit = related(frames, meta, |id| self.translated(direction, id))?;
        Ok(edit.map(|(edit, _)| edit))
    }

    /// A request of the client about tasks.
    pub(crate) fn on_tasks<'a>(
        &self,
        frames: &mut FrameReader,
        id: &Id<'a>,
        method: &str,
        params: Option<&'a [u8]>,
        line: &'a [u8],
    ) -> Result<(), (i32, String)> {
        let newer = self.sessionless.get();
        if newer && !TASK_METHODS.contains(&method) {
            let why = format!("version {MODERN} of the protocol has no `{method}`");
            return Err((METHOD_NOT_FOUND, why));
        }
        if let Some(why) = self.why_no_tasks().filter(|_| !newer) {
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
        let [raw, meta, responses] = frames
            .members(params, ["taskId", "_meta", "inputResponses"])
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
        let backend = self.backend(task.server).map_err(failed)?;
        if !newer && method == "tasks/cancel" && !backend.offers("tasks/cancel") {
            let name = quoted(&backend.name, 200);
            let why = format!("the server {name} does not cancel tasks");
            return Err((METHOD_NOT_FOUND, why));
        }
        let task_role = match method {
            "tasks/result" => TaskRole::Fetched,
            "tasks/update" | "tasks/cancel" if newer => TaskRole::Told {
                own: task.own.clone(),
            },
            _ => TaskRole::Described {
                own: task.own.clone(),
            },
        };
        let mut edits = vec![(raw, json!(task.own).to_string().into_bytes())];
        if method == "tasks/update" {
            let asked = self.replies(&task, responses);
            edits.push(asked.map_err(|why| (INVALID_PARAMS, why))?);
        }
        // Slices of the parameters are slices of the line.
        self.forward(frames, id, (backend, task_role), line, meta, edits)
            .map_err(failed)
    }

    /// What a task is told: what it asked for when the client last looked. Replies to what
    /// nobody asked are left out; the others are as they were spelled.
    fn replies<'a>(&self, task: &Task, responses: Option<&'a [u8]>) -> Result<Edit<'a>, String> {
        let read = |raw: &'a [u8]| {
            let all: BTreeMap<String, &RawValue> = serde_json::from_slice(raw).ok()?;
            Some((raw, all))
        };
        let Some((raw, all)) = responses.and_then(read) else {
            return Err("`tasks/update` needs `inputResponses`, an object".to_owned());
        };
        let tasks = self.tasks.borrow();
        let asked = all.iter().filter(|(name, _)| tasks.asks(task, name));
        let asked: Vec<String> = asked
            .map(|(name, response)| format!("{}:{response}", json!(name)))
            .collect();
        Ok((raw, format!("{{{}}}", asked.join(",")).into_bytes()))
    }

    /// What has to change in a server's answer with regard to tasks; or why the client must
    /// not have it.
    pub(crate) fn tasked_edits<'a>(
        &self,
        frames: &mut FrameReader,
        backend: &Backend,
        (request, number): (&Request, u64),
        frame: &Frame<'a>,
    ) -> Result<Vec<Edit<'a>>, String> {
        let wanted = request.task_role != TaskRole::No;
        let result = frame.result().filter(|result| result.starts_with(b"{"));
        let Some(result) = result.filter(|_| wanted || !self.tasks.borrow().is_empty()) else {
            return Ok(Vec::new());
        };
        let unread = |why: Unreadable| format!("the server's answer cannot be read: {why}");
        let [task, id, kind] = frames
            .members(result, ["task", "taskId", "resultType"])
            .map_err(unread)?;
        let is_task = kind.and_then(text).as_deref() == Some(TASK);
        let now = Instant::now();
        let read = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap_or_default();
        let mut edits = Vec::new();
        match (&request.task_role, task, id) {
            // A server may answer at once, all the same.
            (TaskRole::Wanted { tool }, Some(task), _) => {
                let [raw] = match task.starts_with(b"{") {
                    true => frames.members(task, ["taskId"]).map_err(unread)?,
                    false => [None],
                };
                let token = request.token.clone().map(|token| (number, token));
                let owner = (backend.index, backend.name.as_str());
                let mut tasks = self.tasks.borrow_mut();
                let shown = tasks.note(owner, tool, &read(task), token, now)?;
                edits.extend(raw.map(|raw| (raw, json!(shown).to_string().into_bytes())));
            }
            (TaskRole::Able { tool }, _, id) if is_task => {
                if !backend.offers(TASKS_EXTENSION) {
                    return Err("the server's answer is of a kind that is not known".to_owned());
                }
                let owner = (backend.index, backend.name.as_str());
                let mut tasks = self.tasks.borrow_mut();
                let shown = tasks.note(owner, tool, &read(result), None, now)?;
                edits.extend(id.map(|raw| (raw, json!(shown).to_string().into_bytes())));
            }
            (TaskRole::Told { own }, _, Some(raw)) if text(raw).as_ref() == Some(own) => {
                let tasks = self.tasks.borrow();
                let shown = tasks.shown(backend.index, own, now);
                let shown = shown.ok_or("the task is not known any more")?;
                edits.push((raw, json!(shown).to_string().into_bytes()));
            }
            (TaskRole::Described { own }, _, id) => {
                let raw = id.filter(|raw| text(raw).as_ref() == Some(own));
                let raw = raw.ok_or("the server's answer is about another task")?;
                let mut tasks = self.tasks.borrow_mut();
                tasks.update(backend.index, own, &read(result), now);
                let shown = tasks.shown(backend.index, own, now);
                let shown = shown.ok_or("the task is not known any more")?;
                edits.push((raw, json!(shown).to_string().into_bytes()));
            }
            _ => {}
        }
        let direction = TaskDirection::Client(backend.index);
        let related = self.related_edit(frames, Some(result), direction);
        edits.extend(related.map_err(unread)?);
        Ok(edits)
    }

    /// The edit of a server's word on how a task is; `None`: the client has no such task.
    pub(crate) fn status_edit<'a>(
        &self,
        frames: &mut FrameReader,
        backend: &Backend,
        params: Option<&'a [u8]>,
    ) -> Option<Edit<'a>> {
        let params = params?;
        let raw = frames.members(params, ["taskId"]).ok()?[0]?;
        let own = text(raw)?;
        let shown = self.translated(TaskDirection::Client(backend.index), &own)?;
        let heard: Value = serde_json::from_slice(params).ok()?;
        let mut tasks = self.tasks.borrow_mut();
        tasks.update(backend.index, &own, &heard, Instant::now());
        Some((raw, json!(shown).to_string().into_bytes()))
    }
}
