//! The gateway for agents that come over HTTP: many at a time, each with a conversation
//! of its own.
//!
//! A conversation belongs to whoever opened it. It has its own provenance, budgets and
//! approvals, and its own sessions with the servers, so that nothing of one is ever
//! seen by another.

mod answers;
pub(crate) mod config;
pub(crate) mod doorway;
mod early;
pub(crate) mod guard;
mod modern;
mod registry;
mod requests;
pub(crate) mod run;
mod serving;
mod session;
mod stateless;
mod stream;
pub(crate) mod tls;
pub(crate) mod tokens;
