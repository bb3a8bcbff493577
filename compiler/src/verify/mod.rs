//! Proofs over the rows and automata that decide, with calls that show each finding.
//!
//! Knows the resolved policy, the lowered rows and the tools of a lock; knows nothing
//! of files, terminals or output formats.

mod finding;

pub use finding::{Example, Finding, Kind, Place, Report, Severity, Share};
