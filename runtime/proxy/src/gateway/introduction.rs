//! How a client introduced itself.

use bouncer_mcp::version::{TASKS, VERSIONS};
use serde_json::{Value, json};

/// How the client introduced itself.
#[derive(Debug)]
pub(crate) struct Hello {
    /// The version that the gateway speaks with the client, and offers to servers.
    pub version: &'static str,
    /// What servers are told of the client.
    pub params: Value,
}

impl Hello {
    pub(crate) fn new(params: &Value) -> Option<Self> {
        let wanted = params.get("protocolVersion")?.as_str()?;
        let version = *VERSIONS
            .iter()
            .find(|version| **version == wanted)
            .or_else(|| VERSIONS.first())?;
        let mut capabilities = params.get("capabilities")?.as_object()?.clone();
        // Servers do not ask for tasks of the client: their ids would have to be kept apart.
        capabilities.remove("tasks");
        // Of the newer version's, only what each request says counts.
        if let Some(extensions) = capabilities.get_mut("extensions") {
            extensions.as_object_mut().map(|all| all.remove(TASKS));
        }
        let unknown = || json!({"name": "unknown", "version": "0"});
        Some(Self {
            version,
            params: json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": params.get("clientInfo").cloned().unwrap_or_else(unknown),
            }),
        })
    }
}
