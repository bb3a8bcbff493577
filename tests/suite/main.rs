//! All integration tests of the command and the proxy, in one binary. Tests of decisions
//! are in `tests/decisions`: they need neither.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, reason = "the tests of decisions use the rest")]
#[path = "../decisions/recorded/mod.rs"]
mod recorded;

#[path = "../load/mod.rs"]
mod load_rig;

mod adopt;
mod approvals;
mod audit;
mod budgets;
mod command;
mod complete;
mod corpus;
mod dependencies;
mod documents;
mod e2e;
mod faults;
mod findings;
mod findings_told;
mod gateway;
mod http_agents;
mod http_client;
mod http_newer;
mod http_peer;
mod http_stateless;
mod http_upstream;
mod load;
mod manners;
mod newer_peer;
mod operations;
mod page;
mod policy_tests;
mod reload;
mod report;
mod requests;
mod rude;
mod schema;
mod tasks;
mod tasks_newer;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "otel")]
mod traces;
mod vectors;
mod verify_gaps;
