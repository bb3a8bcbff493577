//! Addresses of resources that a server names: in its tools and in its results.
//!
//! Some resources are listed nowhere: a tool or a result says which they are, and the server
//! that named one has it. Knows nothing of who asks.

use serde_json::Value;

/// How many of one tool or result are noted.
const MAX: usize = 256;

/// What a tool names in its `_meta`: every text that is an address there, such as the page of
/// a tool that has one.
pub(crate) fn in_tool(tool: &[u8]) -> Vec<String> {
    let tool: Value = serde_json::from_slice(tool).unwrap_or_default();
    let mut found = Vec::new();
    if let Some(meta) = tool.get("_meta") {
        addresses(meta, &mut found);
    }
    found
}

/// What a result names: links, what is embedded, and what its `_meta` says.
pub(crate) fn in_result(result: &[u8]) -> Vec<String> {
    // Most name nothing; reading them again would be for nothing.
    if memchr::memmem::find(result, b"uri").is_none()
        && memchr::memmem::find(result, b"_meta").is_none()
    {
        return Vec::new();
    }
    let result: Value = serde_json::from_slice(result).unwrap_or_default();
    let mut found = Vec::new();
    if let Some(meta) = result.get("_meta") {
        addresses(meta, &mut found);
    }
    let blocks = result.get("content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        let uri = match block.get("type").and_then(Value::as_str) {
            Some("resource_link") => block.get("uri"),
            Some("resource") => block.pointer("/resource/uri"),
            _ => None,
        };
        let uri = uri.and_then(Value::as_str).filter(|_| found.len() < MAX);
        found.extend(uri.map(str::to_owned));
    }
    found
}

fn addresses(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if found.len() < MAX && is_address(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| addresses(value, found)),
        Value::Object(members) => members.values().for_each(|value| addresses(value, found)),
        _ => {}
    }
}

fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        !scheme.is_empty() && !rest.is_empty() && scheme.bytes().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_named() {
        let tool = br#"{"name":"t","description":"http://no.example","_meta":
            {"ui":{"resourceUri":"ui://a/b","csp":["x"]},"ui/resourceUri":"ui://c","n":1}}"#;
        let mut found = in_tool(tool);
        found.sort();
        assert_eq!(found, ["ui://a/b", "ui://c"]);
        let result = br#"{"content":[{"type":"text","text":"uri://no"},
            {"type":"resource_link","uri":"a://1"},
            {"type":"resource","resource":{"uri":"b://2","text":""}}],"_meta":{"x":"c://3"}}"#;
        assert_eq!(in_result(result), ["c://3", "a://1", "b://2"]);
        assert!(in_result(br#"{"content":[]}"#).is_empty());
        assert!(in_tool(b"nonsense").is_empty());
    }
}
