//! What the plan decides, against everything else that knows it: the reference evaluator, the
//! recorded answers of the predecessors, the corpus, and `verify`. One binary, which is built
//! without HTTP, SQLite and the command.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::path::Path;

#[path = "../reference/mod.rs"]
mod reference;

#[path = "../generate/mod.rs"]
mod generate;

mod corpus;
mod dispatch;
mod engine;
mod equivalence;
#[cfg(unix)]
mod links;
mod recorded;
mod vectors;
mod verify_brute;
mod verify_claims;
mod verify_domain;
mod verify_growth;
mod verify_overlap;
mod verify_replay;
mod verify_session;

/// How many cases a test tries: a twentieth, or all of them if `BOUNCER_THOROUGH` is set, as
/// CI does.
fn share(all: u64) -> u64 {
    let thorough = std::env::var_os("BOUNCER_THOROUGH").is_some();
    if thorough { all } else { all / 20 }
}

/// The top of the repository.
fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
