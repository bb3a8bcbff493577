//! One checkpoint in front of many servers: an MCP server that has all their tools, as
//! `<server>__<tool>`.
//!
//! Each server has a mediator of its own, as if it were alone, and all of them share one
//! gate and one conversation: what was read through one server is known when something is
//! sent through another. In front of the mediators stands a router that knows which
//! request belongs to whom, and judges nothing.

pub(crate) mod backend;
pub(crate) mod catalogue;
pub(crate) mod directory;
pub(crate) mod from_client;
pub(crate) mod from_server;
pub(crate) mod initialize;
pub(crate) mod introduction;
pub(crate) mod lists;
mod named;
pub(crate) mod router;
pub(crate) mod routes;
pub(crate) mod run;
pub(crate) mod targets;
pub(crate) mod task_requests;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
pub(crate) mod timeouts;
