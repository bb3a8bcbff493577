//! Compiles policies to plans, in one direction:
//! read, resolve, lower, build, emit.
//!
//! `driver` calls the stages in that order, and they do not know each other's insides. The
//! compiler knows the plan's format; the engine knows nothing of this crate.

pub mod build;
pub mod condition;
pub mod diagnostic;
mod driver;
mod emit;
pub mod lower;
pub mod packs;
pub mod policy;
mod read;
mod resolve;
mod schema;

pub use driver::{
    Compiled, Progress, builtin_heuristics, compile, compile_files, compile_on, compile_timed,
    compile_with, load,
};
pub use lower::CompileError;
pub use read::{Document, Input, Item, Options, nearest, scalars};
pub use resolve::Loaded;
pub use schema::schema;

#[cfg(test)]
#[path = "../../tests/patience/mod.rs"]
mod patience;
