//! What results of the protocol without sessions have that earlier ones do not.

use crate::http::modern::meta::Facts;
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::jsonrpc;
use bouncer_mcp::splice::splice;
use bouncer_mcp::version::{COMPLETE, TASK};
use serde_json::{Value, json};

/// An answer, with the id that the client knows, and what a result has to say of itself.
pub(super) fn answer(
    frames: &mut FrameReader,
    line: &[u8],
    id: &[u8],
    facts: &Facts,
    takes_task: bool,
) -> Option<Vec<u8>> {
    let frame = frames.read(line).ok()?;
    let raw_id = frame.id()?;
    let Some(result) = frame.result() else {
        return splice(line, vec![(raw_id, id.to_vec())]);
    };
    let [kind] = frames.members(result, ["resultType"]).unwrap_or_default();
    let known = |kind: &[u8]| match text(kind).as_deref() {
        Some(COMPLETE) => true,
        Some(TASK) => takes_task,
        _ => false,
    };
    if kind.is_some_and(|kind| !known(kind)) {
        // What servers ask for comes as requests of theirs, never as a result.
        let why = "the server's answer is of a kind that is not known";
        return Some(jsonrpc::error(id, jsonrpc::INTERNAL_ERROR, why, None));
    }
    let mut edits = vec![(raw_id, id.to_vec())];
    if facts.is_cacheable() {
        // What is kept elsewhere, and taken for another conversation, would not be recorded
        // there.
        let kept = frames.members(result, ["ttlMs", "cacheScope"]);
        let [ttl, scope] = kept.unwrap_or_default();
        edits.extend(ttl.map(|raw| (raw, b"0".to_vec())));
        edits.extend(scope.map(|raw| (raw, br#""private""#.to_vec())));
    }
    if result.starts_with(b"{") {
        let added = additions(frames, result, facts)?;
        let (brace, _) = result.split_at(1);
        edits.push((brace, added));
    }
    splice(line, edits)
}

/// The beginning of a result, with what it lacks.
fn additions(frames: &mut FrameReader, result: &[u8], facts: &Facts) -> Option<Vec<u8>> {
    let [kind, ttl, scope, meta] = frames
        .members(result, ["resultType", "ttlMs", "cacheScope", "_meta"])
        .ok()?;
    let mut members = Vec::new();
    if kind.is_none() {
        members.push(r#""resultType":"complete""#.to_owned());
    }
    if facts.is_cacheable() && ttl.is_none() {
        members.push(r#""ttlMs":0"#.to_owned());
    }
    if facts.is_cacheable() && scope.is_none() {
        members.push(r#""cacheScope":"private""#.to_owned());
    }
    if meta.is_none() {
        members.push(format!(r#""_meta":{}"#, own_meta()));
    }
    let mut start = format!("{{{}", members.join(",")).into_bytes();
    let inner = result.strip_prefix(b"{").unwrap_or_default();
    let is_empty = inner.trim_ascii_start().starts_with(b"}");
    if !members.is_empty() && !is_empty {
        start.push(b',');
    }
    Some(start)
}

fn own_meta() -> Value {
    json!({"io.modelcontextprotocol/serverInfo":
        {"name": "bouncer", "version": env!("CARGO_PKG_VERSION")}})
}

/// The answer to `server/discover`, from the gateway's introduction to older clients.
pub(in super::super) fn discovered(introduction: &Value, versions: &[&str]) -> Value {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": introduction.get("capabilities").cloned().unwrap_or_else(|| json!({})),
        "_meta": own_meta(),
        "ttlMs": 0,
        "cacheScope": "private",
    });
    if let Some(capabilities) = result
        .get_mut("capabilities")
        .and_then(Value::as_object_mut)
    {
        // Every request names its own level.
        capabilities.remove("logging");
        // Those of another version.
        capabilities.remove("tasks");
    }
    if let (Some(text), Some(result)) = (introduction.get("instructions"), result.as_object_mut()) {
        result.insert("instructions".to_owned(), text.clone());
    }
    result
}

/// The answer that asks the client for something.
pub(super) fn questions(id: &[u8], asked: &[(String, Value)], state: &str) -> Vec<u8> {
    let requests: serde_json::Map<String, Value> = asked.iter().cloned().collect();
    let result = json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
        "_meta": own_meta(),
    });
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    line.extend_from_slice(id);
    line.extend_from_slice(br#","result":"#);
    line.extend_from_slice(result.to_string().as_bytes());
    line.push(b'}');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_get_what_they_lack_and_nothing_else_changes() {
        let facts = |method: &str| Facts {
            method: method.to_owned(),
            capabilities: json!({}),
            client: None,
            level: None,
            conversation: String::new(),
        };
        let mut frames = FrameReader::new(1 << 20);
        let mut given = |line: &str, method: &str| -> Value {
            let tasks = method == "tasks";
            let facts = facts(method);
            let line = answer(&mut frames, line.as_bytes(), b"\"mine\"", &facts, tasks).unwrap();
            serde_json::from_slice(&line).unwrap()
        };
        let call = given(
            r#"{"jsonrpc":"2.0","id":"m1","result":{ "content":[1.0]}}"#,
            "tools/call",
        );
        assert_eq!(call["id"], "mine");
        assert_eq!(call["result"]["resultType"], "complete");
        assert_eq!(call["result"]["content"].to_string(), "[1.0]");
        assert_eq!(call["result"].get("ttlMs"), None);
        let list = given(r#"{"id":"m1","result":{}}"#, "tools/list");
        assert_eq!(list["result"]["cacheScope"], "private");
        let full = given(
            r#"{"id":"m1","result":{"resultType":"complete","ttlMs":5,"cacheScope":"public","_meta":{}}}"#,
            "tools/list",
        );
        assert_eq!(full["result"]["ttlMs"], 0);
        assert_eq!(full["result"]["cacheScope"], "private");
        assert_eq!(full["result"]["_meta"], json!({}));
        for kind in [r#""input_required""#, r#""task""#, "1"] {
            let line = format!(r#"{{"id":"m1","result":{{"resultType":{kind},"content":[]}}}}"#);
            let other = given(&line, "tools/call");
            assert_eq!(other["error"]["code"], -32603, "{other}");
        }
        let task = given(
            r#"{"id":"m1","result":{"resultType":"task","taskId":"a"}}"#,
            "tasks",
        );
        assert_eq!(task["result"]["taskId"], "a");
        let error = given(
            r#"{"id":"m1","error":{"code":1,"message":"x"}}"#,
            "tools/list",
        );
        assert_eq!(error["error"]["code"], 1);
    }
}
