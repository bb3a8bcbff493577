//! The versions of the protocol, and the words in which they differ.
//!
//! Versions before 2026-07-28 begin with an introduction; from then on every request says
//! in `_meta` who speaks, and in which version.

/// The version of the protocol that has neither an introduction nor sessions.
pub const MODERN: &str = "2026-07-28";
/// Versions of the protocol that have an introduction, newest first.
pub const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// `_meta`: the version that a request speaks.
pub const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta`: what the client of a request can do.
pub const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta`: who the client of a request is.
pub const CLIENT_META: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta`: the least important log messages that a request wants.
pub const LEVEL_META: &str = "io.modelcontextprotocol/logLevel";
/// `_meta`: who the server of an answer is.
pub const SERVER_META: &str = "io.modelcontextprotocol/serverInfo";
/// `_meta`: the subscription that a notification belongs to.
pub const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
/// Says which task a message is about, in 2025-11-25.
pub const RELATED_TASK_META: &str = "io.modelcontextprotocol/related-task";
/// Calls that are answered by a task, whose result is fetched later: an extension of the
/// version without an introduction.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// Where capabilities say that they have it, as a JSON pointer without its first slash.
pub const TASKS_EXTENSION: &str = "extensions/io.modelcontextprotocol~1tasks";

/// Headers and body do not agree.
pub const HEADER_MISMATCH: i32 = -32020;
/// The request needs something that the client cannot do.
pub const MISSING_CAPABILITY: i32 = -32021;
/// A version that is not spoken.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// The kind of result that asks for something first.
pub const INPUT_REQUIRED: &str = "input_required";
/// The kind of result that is one.
pub const COMPLETE: &str = "complete";
/// The kind of result that comes later.
pub const TASK: &str = "task";
/// The one request whose answer may come later.
pub const TASK_ABLE: &str = "tools/call";
/// What can be said about a task of the extension.
pub const TASK_METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];
/// Requests whose answer may ask for something first.
pub const ROUNDS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Whether these capabilities, of a client or of a server, have the extension.
#[must_use]
pub fn has_tasks(capabilities: &serde_json::Value) -> bool {
    let extensions = capabilities.get("extensions");
    extensions.is_some_and(|all| all.get(TASKS).is_some_and(serde_json::Value::is_object))
}
