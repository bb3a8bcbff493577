//! Stands between an MCP client and one MCP server that speaks over standard input
//! and output.
//!
//! Newline-delimited JSON-RPC in both directions. What need not be understood passes
//! byte for byte; a `tools/call` is judged and can only be written upstream with a
//! [`Permit`](bouncer_engine::gate::Permit); everything that reaches the agent is recorded
//! first. Knows nothing of how a plan is made or loaded.

mod board;
mod calls;
mod conduct;
mod denial;
mod desk;
mod elicit;
mod envelope;
mod from_client;
mod from_server;
mod gateway;
mod hiding;
mod inspect;
mod interpreter;
mod judging;
mod line;
mod link;
mod listing;
mod mediator;
mod metrics;
mod outbox;
mod own;
mod process;
mod reload;
mod remote;
mod run;
mod session;
mod stop;
mod table;
#[cfg(feature = "otel")]
mod traces;
#[cfg(unix)]
mod unix;
mod upstream;

pub use board::{Board, Place};
pub use desk::Desk;
pub use gateway::{
    Gateway, HttpGateway, Limits, Listen, Opened, Opener, Page, Patience, Said, Site, TlsFiles,
    Tokens,
};
pub use inspect::{InspectError, inspect};
pub use link::Endpoint;
pub use mediator::Settings;
pub use metrics::Metrics;
pub use process::ServerCommand;
pub use reload::{Change, Changes, Watcher, changes};
pub use remote::HttpServer;
pub use run::{Proxy, conversation_id};
#[cfg(feature = "otel")]
pub use traces::Traces;

#[cfg(test)]
mod tests;
