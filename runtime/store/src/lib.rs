//! What several processes share, each in one SQLite file that only its owner may read:
//! approvals of humans, and budgets that are counted together.
//!
//! Whatever goes wrong here means no: not approved, not counted. Knows no protocol, no
//! policy and no async runtime.

pub mod approvals;
mod budgets;

pub use budgets::{BudgetsError, SharedBudgets};
