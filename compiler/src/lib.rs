//! Compiles policies to plans, in one direction:
//! read, resolve, lower, build, emit.
//!
//! The compiler knows the plan format of `bouncer-runtime`; the runtime knows
//! nothing of this crate.

pub mod build;
pub mod condition;
mod emit;
pub mod lower;
pub mod policy;
pub mod regex_dialect;

pub use emit::compile;
pub use lower::CompileError;
