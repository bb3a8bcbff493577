//! Tool definitions as servers list them: parsing, digests, the lock file, and
//! the heuristics for tools that no contract names.
//!
//! Runs when tools are listed, never on the decision path, so it may allocate.

mod definition;
mod derived;
mod diff;
mod heuristics;
mod lock;
mod schema;
mod words;

pub use definition::{DefinitionError, ToolDefinition};
pub use derived::{Derived, guessed_effects};
pub use diff::{Difference, Weight, differences};
pub use heuristics::{AskedWords, Heuristics, LabelHeuristics};
pub use lock::{Change, Lock, LockError, LockedTool, MAX_FORMS};
