//! The headers that repeat what a message of the newer protocol says, for those who do not
//! read bodies.
//!
//! Towards servers they are made of the body itself, so the two always agree. What agents say
//! is held against the body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::version::{TASK_METHODS, VERSION_META};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const PARAM: &str = "mcp-param-";
/// Where a schema says that a parameter is to be repeated.
const MARK: &str = "x-mcp-header";
/// Tools of which is kept what is to be repeated.
const MAX_TOOLS: usize = 10_000;

/// Headers of one request.
pub(super) type Head = Vec<(HeaderName, HeaderValue)>;

/// Which parameters of a tool are to be repeated: the header, and the way to the value.
/// `None` if its schema says so where it must not.
type Marks = Option<Vec<(HeaderName, Vec<String>)>>;

/// What is to be repeated of the calls of each tool that has anything to repeat.
#[derive(Debug, Default)]
pub(crate) struct Repeats(HashMap<String, Marks>);

/// The version that a message names, and its headers. `None`: it is of an older version.
pub(super) fn head(
    frames: &mut FrameReader,
    line: &[u8],
    repeats: &Repeats,
) -> Option<Result<(HeaderValue, Head), &'static str>> {
    let frame = frames.read(line).ok()?;
    let method = text(frame.method()?)?;
    let params = frame.params()?;
    let [meta, name, uri, task, arguments] = frames
        .members(params, ["_meta", "name", "uri", "taskId", "arguments"])
        .ok()?;
    let [version] = frames.members(meta?, [VERSION_META]).ok()?;
    let version = HeaderValue::from_str(&text(version?)?).ok()?;
    let named = match method.as_str() {
        "tools/call" | "prompts/get" => name.and_then(text),
        "resources/read" => uri.and_then(text),
        // By this, servers find the one of them that has it.
        method if TASK_METHODS.contains(&method) => task.and_then(text),
        _ => None,
    };
    let mut head = Head::new();
    head.push((METHOD, encoded(&method)?));
    if method == "tools/call"
        && let Some(marks) = named.as_ref().and_then(|tool| repeats.0.get(tool))
    {
        let Some(marks) = marks else {
            return Some(Err(
                "describes the tool with an `x-mcp-header` where none may be",
            ));
        };
        let arguments = arguments.and_then(|raw| serde_json::from_slice(raw).ok());
        head.extend(repeated(marks, &arguments.unwrap_or_default()));
    }
    if let Some(named) = named {
        head.push((NAME, encoded(&named)?));
    }
    Some(Ok((version, head)))
}

fn repeated(marks: &[(HeaderName, Vec<String>)], arguments: &Value) -> Head {
    let one = |(name, path): &(HeaderName, Vec<String>)| {
        Some((name.clone(), encoded(&value_at(path, arguments)?)?))
    };
    marks.iter().filter_map(one).collect()
}

/// The value that a header repeats, as a text. `None`: there is none to repeat.
fn value_at(path: &[String], arguments: &Value) -> Option<String> {
    let value = path
        .iter()
        .try_fold(arguments, |value, key| value.as_object()?.get(key))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// What a header says. `None` if it is coded in no way that there is.
pub(crate) fn decoded(header: &str) -> Option<String> {
    let coded = header.strip_prefix("=?base64?");
    match coded.and_then(|rest| rest.strip_suffix("?=")) {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

/// Whether a header says the same as the body; numbers may be spelled in another way.
fn agrees(header: &str, body: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    header == body || number(header).is_some_and(|header| number(body) == Some(header))
}

/// A text as a header: as it is, if every reader takes it alike.
fn encoded(text: &str) -> Option<HeaderValue> {
    let plain = text.chars().all(|c| (' '..='~').contains(&c))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text)))
    };
    value.ok()
}

impl Repeats {
    /// Whether anything is known of that tool that its headers have to say.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.0.contains_key(tool)
    }

    /// Holds the headers of a call against its arguments, as far as the tool is known.
    /// Err: the header that does not agree.
    pub(crate) fn check(
        &self,
        tool: &str,
        arguments: &Value,
        headers: &HeaderMap,
    ) -> Result<(), HeaderName> {
        let Some(Some(marks)) = self.0.get(tool) else {
            return Ok(());
        };
        for (name, path) in marks {
            let mut said = headers.get_all(name).iter();
            let agree = match (said.next(), said.next(), value_at(path, arguments)) {
                (None, None, None) => true,
                (Some(header), None, Some(body)) => {
                    let header = header.to_str().ok().and_then(|text| decoded(text.trim()));
                    header.is_some_and(|header| agrees(&header, &body))
                }
                _ => false,
            };
            if !agree {
                return Err(name.clone());
            }
        }
        Ok(())
    }

    /// Takes note of the tools of one page.
    pub(crate) fn note(&mut self, result: &[u8]) {
        let Ok(result) = serde_json::from_slice::<Value>(result) else {
            return;
        };
        let tools = result.get("tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let name = tool.get("name").and_then(Value::as_str);
            let Some((name, schema)) = name.zip(tool.get("inputSchema")) else {
                continue;
            };
            let marks = marks(schema);
            if marks.as_ref().is_some_and(Vec::is_empty) {
                self.0.remove(name);
            } else if self.0.len() < MAX_TOOLS {
                self.0.insert(name.to_owned(), marks);
            }
        }
    }
}

fn marks(schema: &Value) -> Marks {
    let mut found = Vec::new();
    let mut count = 0;
    properties(schema, &mut Vec::new(), &mut found)?;
    count_marks(schema, &mut count);
    // One that is not reached by names of properties alone counts too.
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    (count == found.len() && names.len() == found.len()).then_some(found)
}

fn properties(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<(HeaderName, Vec<String>)>,
) -> Option<()> {
    let all = schema.get("properties").and_then(Value::as_object);
    for (name, property) in all.into_iter().flatten() {
        path.push(name.clone());
        if let Some(mark) = property.as_object().and_then(|p| p.get(MARK)) {
            let kind = property.get("type").and_then(Value::as_str);
            if !matches!(kind, Some("string" | "integer" | "boolean")) {
                return None;
            }
            let header = mark.as_str().filter(|mark| !mark.is_empty())?;
            let header = HeaderName::try_from(format!("{PARAM}{header}")).ok()?;
            found.push((header, path.clone()));
        }
        properties(property, path, found)?;
        path.pop();
    }
    Some(())
}

/// Schemas in a schema, wherever they are. What only looks like one, such as an example,
/// counts too: that is never laxer.
fn count_marks(schema: &Value, count: &mut usize) {
    match schema {
        Value::Object(members) => {
            *count += usize::from(members.contains_key(MARK) && !is_names(members));
            for (name, member) in members {
                match member {
                    Value::Object(inner) if name == "properties" => {
                        for property in inner.values() {
                            count_marks(property, count);
                        }
                    }
                    _ => count_marks(member, count),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| count_marks(item, count)),
        _ => {}
    }
}

/// An object of properties in which one happens to have the name of the mark.
fn is_names(members: &Map<String, Value>) -> bool {
    members.get(MARK).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(line: &Value, tools: &Value) -> Option<Result<Vec<(String, String)>, &'static str>> {
        let mut repeats = Repeats::default();
        repeats.note(json!({"tools": tools}).to_string().as_bytes());
        let mut frames = FrameReader::new(1 << 20);
        let head = head(&mut frames, line.to_string().as_bytes(), &repeats)?;
        Some(head.map(|(_, head)| {
            let pair = |(name, value): &(HeaderName, HeaderValue)| {
                (name.to_string(), value.to_str().unwrap().to_owned())
            };
            head.iter().map(pair).collect()
        }))
    }

    fn call(name: &str, arguments: &Value) -> Value {
        json!({"id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments,
            "_meta": {VERSION_META: "2026-07-28"}}})
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let method = pair("mcp-method", "tools/call");
        for (name, header) in [
            ("echo", "echo"),
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("bé", "=?base64?YsOp?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            let said = said(&call(name, &json!({})), &json!([])).unwrap().unwrap();
            assert_eq!(said, [method.clone(), pair("mcp-name", header)]);
        }
        let read = json!({"id": 1, "method": "resources/read",
            "params": {"uri": "a://b", "_meta": {VERSION_META: "2026-07-28"}}});
        assert_eq!(
            said(&read, &json!([])).unwrap().unwrap(),
            [
                pair("mcp-method", "resources/read"),
                pair("mcp-name", "a://b")
            ]
        );
        for method in TASK_METHODS {
            let about = json!({"id": 1, "method": method,
                "params": {"taskId": "t 1", "_meta": {VERSION_META: "2026-07-28"}}});
            assert_eq!(
                said(&about, &json!([])).unwrap().unwrap(),
                [pair("mcp-method", method), pair("mcp-name", "t 1")]
            );
        }
        let old = json!({"id": 1, "method": "tools/call", "params": {"name": "x"}});
        assert!(said(&old, &json!([])).is_none());
    }

    #[test]
    fn marked_parameters_are_repeated() {
        let tools = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {
                "n": {"type": "integer", "x-mcp-header": "N"},
                "x-mcp-header": {"type": "string"}}},
            "yes": {"type": "boolean", "x-mcp-header": "Yes"}}}}]);
        let arguments = json!({"region": "über", "deep": {"n": 42}, "yes": null});
        let mut said = said(&call("t", &arguments), &tools).unwrap().unwrap();
        said.retain(|(name, _)| name.starts_with(PARAM));
        said.sort();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            said,
            [
                pair("mcp-param-n", "42"),
                pair("mcp-param-region", "=?base64?w7xiZXI=?=")
            ]
        );
    }

    #[test]
    fn what_agents_say_is_held_against_the_arguments() {
        let mut repeats = Repeats::default();
        let tools = json!({"tools": [{"name": "t", "inputSchema": {"properties": {
            "a": {"type": "string", "x-mcp-header": "A"}, "n": {"type": "integer", "x-mcp-header": "N"}}}}]});
        repeats.note(tools.to_string().as_bytes());
        let check = |pairs: &[(&'static str, &str)], arguments: Value| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, HeaderValue::from_str(value).unwrap());
            }
            repeats.check("t", &arguments, &headers).is_ok()
        };
        let (a, n) = ("mcp-param-a", "mcp-param-n");
        assert!(check(&[(a, "x"), (n, "42.0")], json!({"a": "x", "n": 42})));
        assert!(check(&[(a, "=?base64?SGVsbG8=?=")], json!({"a": "Hello"})));
        assert!(check(&[], json!({"a": null})));
        for (pairs, arguments) in [
            (&[][..], json!({"a": "x"})),
            (&[(a, "x")], json!({})),
            (&[(a, "x")], json!({"a": "y"})),
            (&[(a, "x"), (a, "x")], json!({"a": "x"})),
            (&[(a, "=?base64?SGVsbG8?=")], json!({"a": "Hello"})),
            (&[(a, "=?base64?SGVs!!!bG8=?=")], json!({"a": "Hello"})),
            (&[(a, "SGVsbG8=")], json!({"a": "Hello"})),
            (&[(n, "43")], json!({"n": 42})),
        ] {
            assert!(!check(pairs, arguments.clone()), "{pairs:?} {arguments}");
        }
        assert!(
            repeats
                .check("other", &json!({"a": "x"}), &HeaderMap::new())
                .is_ok()
        );
    }

    #[test]
    fn tools_that_mark_what_they_must_not_are_not_called() {
        for schema in [
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a\r\nb"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"}}}),
            json!({"properties": {"a": {"type": "array",
                "items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"x-mcp-header": "A"}),
        ] {
            let tools = json!([{"name": "t", "inputSchema": schema}]);
            assert!(
                said(&call("t", &json!({})), &tools).unwrap().is_err(),
                "{schema}"
            );
        }
    }
}
