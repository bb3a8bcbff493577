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

mod adopt;
mod approvals;
mod audit;
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
mod http_peer;
mod http_stateless;
mod http_upstream;
mod operations;
mod page;
mod policy_tests;
mod reload;
mod schema;
mod vectors;
mod verify_brute;
mod verify_claims;
mod verify_domain;
mod verify_gaps;
mod verify_growth;
mod verify_replay;
