//! Many agents, many servers, one gateway between them: servers over HTTP that misbehave
//! on purpose, agents that call and vanish, and what must hold of all of it afterwards.
//!
//! Shared by the test suite and by `benches/load`. Everything is by hand over sockets, so
//! that both sides can also do what no library would.

#![allow(dead_code)]

pub mod agents;
pub mod farm;
pub mod gateway;
pub mod http;
pub mod ledger;
