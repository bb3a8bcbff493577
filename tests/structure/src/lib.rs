//! Which source file knows which, read from the sources themselves.
//!
//! A file knows another if it names something that is defined there: in a `use`, in a path in
//! an expression or a type, as `Type::function` where the `impl` stands elsewhere, or as
//! `self.method()` of a type of its own. Names are followed through globs, renames and `pub use`
//! to the file that defines the thing. Not seen: methods of values whose type only the compiler
//! knows, and what a macro makes of its arguments beyond the paths that stand in them.
//!
//! Test code does not count: whatever `#[cfg(test)]` leaves out of a build.

mod attributes;
mod circles;
mod graph;
mod lines;

mod names;
mod tokens;
mod tree;
mod workspace;

pub use circles::{Circle, circles, circles_of_folders};
pub use graph::{Graph, Step, Steps};

pub use lines::{Counts, Function, count};
pub use tree::{Error, Tree};
pub use workspace::{Package, packages};
