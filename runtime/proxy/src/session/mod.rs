//! One client, one server, and what stands between them: calls are judged here, everything
//! else passes and is recorded.
//!
//! Knows neither who starts the server nor how many others there are.

pub(crate) mod ask;
pub(crate) mod calls;
pub(crate) mod context;
pub(crate) mod denial;
pub(crate) mod from_client;
pub(crate) mod from_server;
pub(crate) mod hiding;
pub(crate) mod judging;
pub(crate) mod list_tools;
pub(crate) mod listing;
pub(crate) mod mediator;
pub(crate) mod open_requests;
pub(crate) mod relay;
pub(crate) mod reload;
pub(crate) mod run;
#[cfg(test)]
pub(crate) mod tests;
