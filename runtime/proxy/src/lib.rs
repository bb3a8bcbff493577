//! Stands between an MCP client and one MCP server that speaks over standard input
//! and output.
//!
//! Newline-delimited JSON-RPC in both directions. What need not be understood passes
//! byte for byte; a `tools/call` is judged and can only be written upstream with a
//! [`Permit`](bouncer_engine::gate::Permit); everything that reaches the agent is recorded
//! first. Knows nothing of how a plan is made or loaded.

mod approval;
mod conversation;
mod gateway;
mod http;
mod page;
mod session;
mod telemetry;
mod upstream;
mod wire;

pub use approval::out_of_band::Approvals;
pub use conversation::guarded::Guarded;
pub use conversation::settings::Settings;
pub use gateway::run::Gateway;
pub use gateway::timeouts::Timeouts;
pub use http::config::{ConversationOpener, Limits, Listen, NewConversation};
pub use http::run::HttpGateway;
pub use http::tls::TlsFiles;
pub use http::tokens::Tokens;
pub use page::{Page, PageContent, PageResponse};
pub use session::reload::{Change, Changes, Watcher, changes};
pub use session::run::{Proxy, conversation_id};
pub use telemetry::metrics::Metrics;
pub use telemetry::status::{ConversationStatus, GatewayStatus};
#[cfg(feature = "otel")]
pub use telemetry::traces::Traces;
pub use upstream::connection::Endpoint;
pub use upstream::http::HttpServer;
pub use upstream::inspect::{InspectError, inspect};
pub use upstream::process::ServerCommand;
