//! Compiles policies to plans, in one direction:
//! read, resolve, lower, build, emit.
//!
//! The compiler knows the plan format of `bouncer-runtime`; the runtime knows
//! nothing of this crate.

pub mod condition;
pub mod diagnostic;
pub mod packs;
pub mod policy;
mod read;
pub mod regex_dialect;
mod resolve;

pub use resolve::{Input, Loaded, Options, load};
