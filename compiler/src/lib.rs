//! Compiles policies to plans, in one direction:
//! read, resolve, lower, build, emit.
//!
//! The compiler knows the plan format of `bouncer-runtime`; the runtime knows
//! nothing of this crate.

pub mod build;
pub mod condition;
pub mod diagnostic;
mod emit;
pub mod lower;
pub mod packs;
pub mod policy;
mod read;
mod resolve;
mod schema;

pub use emit::{Progress, compile, compile_on, compile_timed, compile_with};
pub use lower::CompileError;
pub use read::{Document, Item, nearest, scalars};
pub use resolve::{Input, Loaded, Options, builtin_heuristics, load};
pub use schema::schema;
