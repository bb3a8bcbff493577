//! What the proxy itself says to an upstream server: a closed list of messages,
//! none of which is a call.

use bouncer_mcp::jsonrpc;
use serde_json::{Value, json};

/// A line of the proxy's own.
#[derive(Debug)]
pub(crate) struct ProxyMessage(String);

impl ProxyMessage {
    /// Asks for a page of the tools. `meta` are the members of `_meta` that protocol
    /// versions without a handshake want in every request.
    pub(crate) fn list_tools(id: &str, cursor: Option<&str>, meta: Option<&Value>) -> Self {
        let mut params = serde_json::Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), cursor.into());
        }
        if let Some(meta) = meta {
            params.insert("_meta".to_owned(), meta.clone());
        }
        let mut line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        if let (false, Some(line)) = (params.is_empty(), line.as_object_mut()) {
            line.insert("params".to_owned(), params.into());
        }
        Self(line.to_string())
    }

    /// Introduces bouncer itself as the client, to read a server's tools: with what clients can
    /// do, since some servers show tools only to those who can.
    pub(crate) fn initialize(id: &str) -> Self {
        let line = json!({
            "jsonrpc": "2.0", "id": id, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}},
                "clientInfo": {"name": "bouncer", "version": env!("CARGO_PKG_VERSION")},
            },
        });
        Self(line.to_string())
    }

    /// Ends the introduction.
    pub(crate) fn initialized() -> Self {
        Self(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
    }

    /// Answers what a server asks while its tools are read: that somebody is there, who has no
    /// folders to show, and does nothing else.
    pub(crate) fn reply(id: &[u8], method: &str) -> Self {
        let line = match method {
            "ping" => jsonrpc::answer(id, "result", &json!({})),
            "roots/list" => jsonrpc::answer(id, "result", &json!({"roots": []})),
            _ => {
                let why = "only the tools are read";
                jsonrpc::error(id, jsonrpc::METHOD_NOT_FOUND, why, None)
            }
        };
        Self::refused(line)
    }

    /// Tells the server that what it asked is refused: an answer, with an error.
    pub(crate) fn refused(error: Vec<u8>) -> Self {
        Self(String::from_utf8(error).unwrap_or_default())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
