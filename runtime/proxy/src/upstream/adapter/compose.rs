//! A request of the client as the newer version wants it: under a number of its own, with
//! who speaks in `_meta`, and with what the server asked for before.
//!
//! Everything else, above all a call's arguments, stays as it is, byte for byte.

use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::splice::{Edit, member, splice};
use bouncer_mcp::version::{
    CAPABILITIES_META, CLIENT_META, LEVEL_META, MODERN, TASKS, VERSION_META,
};
use serde_json::{Map, Value, json};
use std::cell::RefCell;

/// Who speaks, as far as requests do not say it themselves.
pub(super) struct Speaker {
    capabilities: Value,
    client: Value,
    /// The client's side knows tasks as an extension: what requests say of it goes on.
    pub tasks: bool,
    /// The level of logging that the client wants.
    pub level: RefCell<Option<String>>,
}

/// What a request gets on top when it is made again.
#[derive(Debug, Default)]
pub(super) struct Extras<'a> {
    /// What the server asked for: its name for it, and the raw answer.
    pub responses: &'a [(String, Vec<u8>)],
    /// The server's own state, raw.
    pub state: Option<&'a [u8]>,
}

impl Speaker {
    /// From the parameters of the client's introduction.
    pub(super) fn new(hello: &Value, tasks: bool) -> Self {
        let mut capabilities = hello.get("capabilities").cloned().unwrap_or_default();
        without_tasks(&mut capabilities);
        let unknown = || json!({"name": "unknown", "version": "0"});
        Self {
            capabilities,
            client: hello.get("clientInfo").cloned().unwrap_or_else(unknown),
            tasks,
            level: RefCell::default(),
        }
    }

    /// `_meta` of a request of the interpreter's own.
    pub(super) fn meta(&self, more: Option<(&str, Value)>) -> Value {
        let mut meta = json!({
            VERSION_META: MODERN,
            CLIENT_META: self.client,
            CAPABILITIES_META: self.capabilities,
        });
        if let (Some((name, value)), Some(meta)) = (more, meta.as_object_mut()) {
            meta.insert(name.to_owned(), value);
        }
        meta
    }

    /// What the client can do, as a request says, or else as it introduced itself.
    pub(super) fn capabilities(&self, frames: &mut FrameReader, line: &[u8]) -> Value {
        let mut read = || {
            let params = frames.read(line).ok()?.params()?;
            let [meta] = frames.members(params, ["_meta"]).ok()?;
            let [own] = frames.members(meta?, [CAPABILITIES_META]).ok()?;
            serde_json::from_slice(own?).ok().filter(Value::is_object)
        };
        self.said(read())
    }

    /// What a request says that its client can do. Of tasks, only the extension, and only if
    /// the request itself says so: what a client introduced itself with does not count.
    fn said(&self, own: Option<Value>) -> Value {
        let mut capabilities = own.unwrap_or_else(|| self.capabilities.clone());
        let tasks = capabilities.pointer(EXTENSION).cloned();
        without_tasks(&mut capabilities);
        if let Some(tasks) = tasks.filter(|tasks| self.tasks && tasks.is_object()) {
            with_tasks(&mut capabilities, tasks);
        }
        capabilities
    }

    /// The request in `line`, under `number`. What answers to questions it carries of the
    /// client's own are left out: nobody asked.
    pub(super) fn compose(
        &self,
        frames: &mut FrameReader,
        line: &[u8],
        number: u64,
        extras: &Extras<'_>,
    ) -> Result<Vec<u8>, String> {
        let unread = |why: bouncer_mcp::frame::Unreadable| why.to_string();
        let method = frames.read(line).map_err(unread)?.method().and_then(text);
        let line = match method.as_deref() {
            // What a task asked for is answered by a request of its own.
            Some("tasks/update") => line.to_vec(),
            _ => unasked(frames, line)?,
        };
        let line = line.as_slice();
        let frame = frames.read(line).map_err(unread)?;
        let id = frame.id().ok_or("it has no id")?;
        let mut edits: Vec<Edit<'_>> = vec![(id, number.to_string().into_bytes())];
        let mut first = Map::new();
        let mut raw = Vec::new();
        if !extras.responses.is_empty() {
            raw.push(("inputResponses", object(extras.responses)));
        }
        if let Some(state) = extras.state {
            raw.push(("requestState", state.to_vec()));
        }
        let params = frame.params().filter(|params| params.starts_with(b"{"));
        let meta = match params {
            Some(params) => frames.members(params, ["_meta"]).map_err(unread)?[0],
            None => None,
        };
        match meta {
            Some(meta) if meta.starts_with(b"{") => edits.extend(self.completed(frames, meta)?),
            Some(_) => return Err("`_meta` is no object".to_owned()),
            None => {
                let level = self.level.borrow().clone();
                let level = level.map(|level| (LEVEL_META, json!(level)));
                first.insert("_meta".to_owned(), self.meta(level));
            }
        }
        let mut members: Vec<(String, Vec<u8>)> = first
            .into_iter()
            .map(|(name, value)| (name, value.to_string().into_bytes()))
            .collect();
        members.extend(raw.into_iter().map(|(name, raw)| (name.to_owned(), raw)));
        if !members.is_empty() {
            match (params, frame.params()) {
                (Some(params), _) => edits.push(opened(params, &members)),
                (None, None) => {
                    edits.push(opened(line, &[("params".to_owned(), object(&members))]))
                }
                (None, Some(_)) => return Err("`params` is no object".to_owned()),
            }
        }
        splice(line, edits).ok_or_else(|| "it cannot be rewritten".to_owned())
    }

    /// What `_meta` lacks.
    fn completed<'a>(
        &self,
        frames: &mut FrameReader,
        meta: &'a [u8],
    ) -> Result<Vec<Edit<'a>>, String> {
        let names = [VERSION_META, CAPABILITIES_META, CLIENT_META, LEVEL_META];
        let [version, capabilities, client, level] = frames
            .members(meta, names)
            .map_err(|why| format!("`_meta`: {why}"))?;
        let mut edits = Vec::new();
        let mut missing = Vec::new();
        let modern = json!(MODERN).to_string().into_bytes();
        match version {
            Some(raw) => edits.push((raw, modern)),
            None => {
                missing.push((VERSION_META.to_owned(), modern));
                // A client that names the version names the level too, if it wants one.
                if let (None, Some(wanted)) = (level, &*self.level.borrow()) {
                    missing.push((LEVEL_META.to_owned(), json!(wanted).to_string().into()));
                }
            }
        }
        let own = capabilities.and_then(|raw| serde_json::from_slice::<Value>(raw).ok());
        let said = self.said(own.filter(Value::is_object));
        let said = said.to_string().into_bytes();
        match capabilities {
            Some(raw) => edits.push((raw, said)),
            None => missing.push((CAPABILITIES_META.to_owned(), said)),
        }
        if client.is_none() {
            missing.push((CLIENT_META.to_owned(), self.client.to_string().into()));
        }
        if !missing.is_empty() {
            edits.push(opened(meta, &missing));
        }
        Ok(edits)
    }
}

/// Where capabilities say so.
const EXTENSION: &str = "/extensions/io.modelcontextprotocol~1tasks";

/// What a client or a server can do, with the extension.
pub(super) fn with_tasks(capabilities: &mut Value, tasks: Value) {
    if let Some(extensions) = capabilities
        .get_mut("extensions")
        .and_then(Value::as_object_mut)
    {
        extensions.insert(TASKS.to_owned(), tasks);
    }
}

/// What a client or a server can do, without tasks of any version.
pub(super) fn without_tasks(capabilities: &mut Value) {
    if !capabilities.is_object() {
        *capabilities = json!({});
    }
    if let Some(all) = capabilities.as_object_mut() {
        all.remove("tasks");
    }
    if let Some(extensions) = capabilities
        .get_mut("extensions")
        .and_then(Value::as_object_mut)
    {
        extensions.remove(TASKS);
    }
}

/// The beginning of an object, with members before those that it has.
fn opened<'a>(object: &'a [u8], members: &[(String, Vec<u8>)]) -> Edit<'a> {
    let (brace, rest) = object.split_at(1);
    let mut start = brace.to_vec();
    start.extend(list(members));
    if !rest.trim_ascii_start().starts_with(b"}") {
        start.push(b',');
    }
    (brace, start)
}

fn object(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut all = b"{".to_vec();
    all.extend(list(members));
    all.push(b'}');
    all
}

fn list(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (index, (name, raw)) in members.iter().enumerate() {
        if index > 0 {
            all.push(b',');
        }
        all.extend_from_slice(json!(name).to_string().as_bytes());
        all.push(b':');
        all.extend_from_slice(raw);
    }
    all
}

/// A request without answers to questions.
pub(crate) fn unasked(frames: &mut FrameReader, line: &[u8]) -> Result<Vec<u8>, String> {
    let mut line = line.to_vec();
    for name in ["inputResponses", "requestState"] {
        let unread = |why: bouncer_mcp::frame::Unreadable| why.to_string();
        let without = {
            let params = frames.read(&line).map_err(unread)?.params();
            let Some(params) = params.filter(|params| params.starts_with(b"{")) else {
                break;
            };
            let [value] = frames.members(params, [name]).map_err(unread)?;
            let Some(value) = value else {
                continue;
            };
            let whole = member(params, value).ok_or("it cannot be rewritten")?;
            splice(&line, vec![(whole, Vec::new())]).ok_or("it cannot be rewritten")?
        };
        line = without;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker() -> Speaker {
        told(false)
    }

    fn told(tasks: bool) -> Speaker {
        Speaker::new(
            &json!({
                "capabilities": {"roots": {}, "tasks": {}, "extensions": {TASKS: {}, "a/b": {}}},
                "clientInfo": {"name": "c", "version": "1"},
            }),
            tasks,
        )
    }

    fn composed(line: &str, extras: &Extras<'_>) -> (Vec<u8>, Value) {
        let mut frames = FrameReader::new(1 << 20);
        let line = speaker()
            .compose(&mut frames, line.as_bytes(), 7, extras)
            .unwrap();
        let value = serde_json::from_slice(&line).unwrap();
        (line, value)
    }

    #[test]
    fn says_who_speaks_and_leaves_the_rest() {
        let none = Extras::default();
        let capabilities = json!({"roots": {}, "extensions": {"a/b": {}}});
        for line in [
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{ }}}"#,
        ] {
            let (_, value) = composed(line, &none);
            assert_eq!(value["id"], 7);
            let meta = &value["params"]["_meta"];
            assert_eq!(meta[VERSION_META], MODERN, "{value}");
            assert_eq!(meta[CAPABILITIES_META], capabilities);
            assert_eq!(meta[CLIENT_META]["name"], "c");
        }
        let own = format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"t", "arguments":{{"a":1.0,"a\u0062":[ ]}},"_meta":{{"progressToken":5,"{VERSION_META}":"2020-01-01","{CAPABILITIES_META}":{{"sampling":{{}},"tasks":{{}}}}}}}}}}"#
        );
        let (line, value) = composed(&own, &none);
        assert!(
            String::from_utf8(line)
                .unwrap()
                .contains(r#""arguments":{"a":1.0,"a\u0062":[ ]}"#)
        );
        let meta = &value["params"]["_meta"];
        assert_eq!(meta[VERSION_META], MODERN);
        assert_eq!(meta[CAPABILITIES_META], json!({"sampling": {}}));
        assert_eq!(meta["progressToken"], 5);
    }

    #[test]
    fn tasks_are_only_said_where_they_are_known_and_by_the_request_itself() {
        let mut frames = FrameReader::new(1 << 20);
        let mut declares = |tasks: bool, capabilities: &str| {
            let line = format!(
                r#"{{"id":1,"method":"tools/call","params":{{"name":"t"{capabilities}}}}}"#
            );
            let composed = told(tasks).compose(&mut frames, line.as_bytes(), 7, &Extras::default());
            let value: Value = serde_json::from_slice(&composed.unwrap()).unwrap();
            let said = &value["params"]["_meta"][CAPABILITIES_META];
            assert_eq!(said.get("tasks"), None);
            assert_eq!(said["extensions"].get(TASKS), said.pointer(EXTENSION));
            bouncer_mcp::version::has_tasks(said)
        };
        let own = format!(
            r#","_meta":{{"{CAPABILITIES_META}":{{"tasks":{{}},"extensions":{{"{TASKS}":{{}}}}}}}}"#
        );
        assert!(declares(true, &own));
        assert!(!declares(false, &own));
        assert!(!declares(true, ""));
        assert!(!declares(true, r#","_meta":{"x":1}"#));
        let update =
            r#"{"id":1,"method":"tasks/update","params":{"taskId":"a","inputResponses":{"n":{}}}}"#;
        let composed = speaker().compose(&mut frames, update.as_bytes(), 7, &Extras::default());
        let value: Value = serde_json::from_slice(&composed.unwrap()).unwrap();
        assert_eq!(value["params"]["inputResponses"], json!({"n": {}}));
    }

    #[test]
    fn only_what_was_asked_for_is_answered() {
        let line = r#"{"id":1,"method":"tools/call","params":{"inputResponses" : {"x":1},"name":"t","requestSt\u0061te":"mine"}}"#;
        let (_, value) = composed(line, &Extras::default());
        assert_eq!(value["params"].get("inputResponses"), None);
        assert_eq!(value["params"].get("requestState"), None);
        assert_eq!(value["params"]["name"], "t");
        let responses = [("a\"b".to_owned(), br#"{"action":"accept"}"#.to_vec())];
        let extras = Extras {
            responses: &responses,
            state: Some(br#""s\u0074""#),
        };
        let (raw, value) = composed(line, &extras);
        assert_eq!(
            value["params"]["inputResponses"],
            json!({"a\"b": {"action": "accept"}})
        );
        assert_eq!(value["params"]["requestState"], "st");
        assert!(
            String::from_utf8(raw)
                .unwrap()
                .contains(r#""requestState":"s\u0074""#)
        );
        let only =
            r#"{"id":1,"method":"prompts/get","params":{"requestState":"a","inputResponses":{}}}"#;
        let (_, value) = composed(only, &Extras::default());
        assert_eq!(value["params"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_carry_it_is_not_sent() {
        let mut frames = FrameReader::new(1 << 20);
        for line in [
            r#"{"id":1,"method":"x","params":[]}"#,
            r#"{"id":1,"method":"x","params":{"_meta":1}}"#,
            r#"{"id":1,"method":"x","params":{"_meta":{"a":1,"a":2}}}"#,
        ] {
            let composed = speaker().compose(&mut frames, line.as_bytes(), 7, &Extras::default());
            assert!(composed.is_err(), "{line}");
        }
    }
}
