//! bouncer as an MCP server of its own: what a policy would decide, whether one holds,
//! which are in force, what was decided. It looks and tells; it changes nothing.
//!
//! This file speaks the protocol over standard input and output. The official SDKs are
//! peers in the tests.

mod prompts;
mod resources;
#[cfg(test)]
mod tests;
mod tools;

use crate::cli::PolicySource;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

/// Longer messages are refused.
const MAX_MESSAGE: u64 = 8 << 20;
/// The protocol's versions that are spoken, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NO_RESOURCE: i32 = -32002;

/// The server.
#[derive(Debug)]
pub struct Server {
    /// The policy that is in force where a call names none.
    pub source: PolicySource,
    /// The audit log.
    pub audit: Option<PathBuf>,
}

/// An error of the protocol.
#[derive(Debug)]
struct Wrong {
    code: i32,
    message: String,
}

impl Wrong {
    fn params(message: impl Into<String>) -> Self {
        Self {
            code: INVALID_PARAMS,
            message: message.into(),
        }
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    jsonrpc: Option<String>,
    /// Also `null`, which is no id but is there.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// A member that is there, whatever its value.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Server {
    /// Serves one client until it closes its side.
    ///
    /// # Errors
    /// If standard input or output fail.
    pub fn run(&self) -> io::Result<()> {
        let mut input = io::stdin().lock();
        let mut output = io::stdout().lock();
        loop {
            let mut line = Vec::new();
            let length = (&mut input)
                .take(MAX_MESSAGE)
                .read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(());
            }
            if length as u64 == MAX_MESSAGE && line.last() != Some(&b'\n') {
                // What comes next has no beginning.
                let answer = error("null", INVALID_REQUEST, "the message is longer than 8 MiB");
                writeln!(output, "{answer}")?;
                return output.flush();
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(answer) = self.answer(&line) {
                writeln!(output, "{answer}")?;
                output.flush()?;
            }
        }
    }

    /// The answer to one message; a notification has none.
    #[must_use]
    pub fn answer(&self, line: &[u8]) -> Option<String> {
        let request: Request<'_> = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(problem) if problem.is_data() => {
                return Some(error("null", INVALID_REQUEST, "the message is no request"));
            }
            Err(problem) => return Some(error("null", PARSE_ERROR, &problem.to_string())),
        };
        // An answer to something that was never asked, or a notification.
        let id = request.id?.get();
        if id == "null" || id.starts_with(['{', '[', 't', 'f']) {
            return Some(error(
                "null",
                INVALID_REQUEST,
                "the id is neither a string nor a number",
            ));
        }
        if request.jsonrpc.as_deref() != Some("2.0") {
            return Some(error(id, INVALID_REQUEST, "`jsonrpc` is not `2.0`"));
        }
        let Some(method) = request.method else {
            return Some(error(id, INVALID_REQUEST, "the request has no method"));
        };
        let params = request.params.map_or("{}", RawValue::get);
        if !params.starts_with('{') {
            return Some(error(id, INVALID_PARAMS, "`params` is not an object"));
        }
        Some(match self.method(&method, params) {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Err(wrong) => error(id, wrong.code, &wrong.message),
        })
    }

    fn method(&self, method: &str, params: &str) -> Result<Value, Wrong> {
        let value: Value =
            serde_json::from_str(params).map_err(|error| Wrong::params(error.to_string()))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        match method {
            "initialize" => {
                let asked = text("protocolVersion").unwrap_or_default();
                let version = VERSIONS.into_iter().find(|version| *version == asked);
                Ok(json!({
                    "protocolVersion": version.unwrap_or(VERSIONS[0]),
                    "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
                    "serverInfo": {
                        "name": "bouncer",
                        "title": "bouncer",
                        "version": env!("CARGO_PKG_VERSION"),
                    },
                    "instructions": "Says what bouncer's policies decide about tool calls. \
                        Nothing here runs a call or changes a policy.",
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "tools/call" => {
                let name = text("name").ok_or_else(|| Wrong::params("`name` is missing"))?;
                self.call(name, params)
            }
            "prompts/list" => Ok(json!({ "prompts": prompts::list() })),
            "prompts/get" => {
                let name = text("name").ok_or_else(|| Wrong::params("`name` is missing"))?;
                prompts::get(name, value.get("arguments")).map_err(Wrong::params)
            }
            "resources/list" => Ok(json!({ "resources": resources::list() })),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" => {
                let uri = text("uri").ok_or_else(|| Wrong::params("`uri` is missing"))?;
                let found = self.resource(uri).ok_or_else(|| Wrong {
                    code: NO_RESOURCE,
                    message: format!("there is no resource `{uri}`"),
                })?;
                let text = found.map_err(Wrong::params)?.to_string();
                Ok(json!({ "contents": [
                    { "uri": uri, "mimeType": "application/json", "text": text }
                ] }))
            }
            _ => Err(Wrong {
                code: NO_METHOD,
                message: format!("there is no method `{method}`"),
            }),
        }
    }
}

/// An answer that is an error. `id` is raw JSON.
fn error(id: &str, code: i32, message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}
