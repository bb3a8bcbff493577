//! All integration tests, in one binary.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../reference/mod.rs"]
mod reference;

#[path = "../generate/mod.rs"]
mod generate;

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
mod dispatch;
mod documents;
mod e2e;
mod engine;
mod equivalence;
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
mod newer_peer;
mod operations;
mod page;
mod policy_tests;
mod reload;
mod schema;
mod tasks;
mod tasks_newer;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "otel")]
mod traces;
mod vectors;
mod verify_brute;
mod verify_claims;
mod verify_domain;
mod verify_gaps;
mod verify_growth;
mod verify_replay;
