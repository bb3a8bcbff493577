//! An MCP server over HTTP that speaks 2026-07-28 and nothing older, by hand: strict about
//! what is said to it, and some of what it says no library would.

use super::http_peer::{Seen, State, events, json_body, status};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

const VERSION: &str = "2026-07-28";
const META: &str = "io.modelcontextprotocol/";

/// The tools that it lists.
pub const TOOLS: [&str; 12] = [
    "echo", "ask", "ask_all", "loop", "able", "region", "hang", "change", "task", "both", "lines",
    "tell",
];

fn error(stream: &mut TcpStream, head: &str, id: &Value, error: &Value) -> std::io::Result<()> {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
    write!(
        stream,
        "HTTP/1.1 {head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What is wrong with the headers of a request, if anything is.
fn mismatch(seen: &Seen, message: &Value) -> Option<&'static str> {
    let params = &message["params"];
    if seen.header("mcp-session-id").is_some() {
        return Some("there are no sessions");
    }
    if seen.header("mcp-method") != message["method"].as_str() {
        return Some("Mcp-Method");
    }
    let named = match message["method"].as_str() {
        Some("tools/call" | "prompts/get") => params["name"].as_str(),
        Some("resources/read") => params["uri"].as_str(),
        _ => None,
    };
    if seen.header("mcp-name") != named {
        return Some("Mcp-Name");
    }
    let region = params["arguments"]["region"].as_str();
    if named == Some("region") && seen.header("mcp-param-region") != region {
        return Some("Mcp-Param-Region");
    }
    None
}

pub fn elicit(words: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": words,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
}

pub fn answer(seen: &Seen, stream: &mut TcpStream, state: &State) -> std::io::Result<()> {
    if seen.method != "POST" {
        return status(stream, "405 Method Not Allowed");
    }
    let message = seen.json();
    let (id, params) = (&message["id"], &message["params"]);
    let meta = &params["_meta"];
    let bad = "400 Bad Request";
    if seen.header("mcp-protocol-version") != Some(VERSION)
        || meta[format!("{META}protocolVersion")] != VERSION
    {
        let data = json!({"supported": [VERSION]});
        let unsupported = json!({"code": -32022, "message": "unsupported", "data": data});
        return error(stream, bad, id, &unsupported);
    }
    if let Some(what) = mismatch(seen, &message) {
        return error(stream, bad, id, &json!({"code": -32020, "message": what}));
    }
    let capabilities = &meta[format!("{META}clientCapabilities")];
    if !capabilities.is_object() {
        return error(
            stream,
            bad,
            id,
            &json!({"code": -32602, "message": "capabilities"}),
        );
    }
    if id.is_null() {
        return status(stream, "202 Accepted");
    }
    let result = |mut result: Value| {
        if result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
    };
    let text = |text: &str| result(json!({"content": [{"type": "text", "text": text}]}));
    match message["method"].as_str().unwrap() {
        "server/discover" => {
            let found = json!({"supportedVersions": [VERSION], "ttlMs": 0, "cacheScope": "public",
                "capabilities": {"tools": {"listChanged": true}, "prompts": {}}});
            json_body(stream, "", &result(found))
        }
        "tools/list" => {
            let marked = json!({"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"}}});
            let schema = |name: &str| match name {
                "region" => marked.clone(),
                _ => json!({"type": "object"}),
            };
            let tools: Vec<Value> = TOOLS
                .iter()
                .map(|name| json!({"name": name, "inputSchema": schema(name)}))
                .collect();
            let list = json!({"tools": tools, "ttlMs": 60_000, "cacheScope": "public"});
            json_body(stream, "", &result(list))
        }
        "prompts/list" => {
            let prompts =
                json!({"prompts": [{"name": "hello"}], "ttlMs": 0, "cacheScope": "public"});
            json_body(stream, "", &result(prompts))
        }
        "prompts/get" => {
            let name = &params["inputResponses"]["who"]["content"]["name"];
            let Some(name) = name.as_str() else {
                let asked = json!({"resultType": "input_required", "inputRequests": {"who": elicit("who?")}});
                return json_body(stream, "", &result(asked));
            };
            let said = json!({"messages": [{"role": "user",
                "content": {"type": "text", "text": format!("hello {name}")}}]});
            json_body(stream, "", &result(said))
        }
        "subscriptions/listen" => {
            events(stream)?;
            let tag = json!({format!("{META}subscriptionId"): id});
            let acknowledged = json!({"jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": tag, "notifications": params["notifications"]}});
            write!(stream, "data: {acknowledged}\n\n")?;
            *state.listener.lock().unwrap() = Some(stream.try_clone()?);
            // What comes next is for the other clone.
            hang(state)
        }
        "tools/call" => call(seen, stream, state, &text, &result),
        _ => {
            let unknown = json!({"code": -32601, "message": "method not found"});
            error(stream, "404 Not Found", id, &unknown)
        }
    }
}

fn hang(state: &State) -> std::io::Result<()> {
    loop {
        std::thread::sleep(Duration::from_millis(50));
        if state.gone.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
    }
}

fn call(
    seen: &Seen,
    stream: &mut TcpStream,
    state: &State,
    text: &dyn Fn(&str) -> String,
    result: &dyn Fn(Value) -> String,
) -> std::io::Result<()> {
    let message = seen.json();
    let params = &message["params"];
    let arguments = &params["arguments"];
    let responses = &params["inputResponses"];
    let asks = |requests: Value, state: &str| {
        result(
            json!({"resultType": "input_required", "inputRequests": requests, "requestState": state}),
        )
    };
    let body = match params["name"].as_str().unwrap() {
        "echo" | "region" => text(&params["arguments"].to_string()),
        // Asks once; what it says is the caller's to choose.
        "ask" => {
            let words = arguments["words"].as_str().unwrap_or("your name?");
            match responses["user"]["content"]["name"].as_str() {
                Some(name) if params["requestState"] == "the server's own" => {
                    text(&format!("hello {name}"))
                }
                _ => asks(json!({"user": elicit(words)}), "the server's own"),
            }
        }
        "ask_all" if responses.is_object() => {
            let names: Vec<&str> = responses
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            text(&names.join(" "))
        }
        "ask_all" => asks(
            json!({"a": elicit("a?"), "c": {"method": "roots/list"},
                "b": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}),
            "all",
        ),
        "loop" => asks(json!({"more": elicit("more?")}), "again"),
        "able" => {
            let capabilities = &params["_meta"][format!("{META}clientCapabilities")];
            if capabilities["sampling"].is_object() {
                text("able")
            } else {
                let data = json!({"requiredCapabilities": {"sampling": {}}});
                let missing = json!({"code": -32021, "message": "missing", "data": data});
                return error(stream, "400 Bad Request", &message["id"], &missing);
            }
        }
        "change" => {
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": {"_meta": {}}});
            if let Some(listener) = state.listener.lock().unwrap().as_mut() {
                write!(listener, "data: {changed}\n\n")?;
            }
            text("changed")
        }
        "task" => result(json!({"resultType": "task", "taskId": "1"})),
        // An answer of both kinds.
        "both" => json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []},
            "error": {"code": 1, "message": "m"}})
        .to_string(),
        // Several messages in a body that calls itself one.
        "lines" => {
            let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": "one"}});
            format!("{note}\n{}", text("two"))
        }
        "tell" => {
            events(stream)?;
            let token = &params["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1}});
            write!(stream, "data: {progress}\n\ndata: {}\n\n", text("told"))?;
            return Err(std::io::ErrorKind::Other.into());
        }
        _ => return hang(state),
    };
    json_body(stream, "", &body)
}
