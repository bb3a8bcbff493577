//! Everything becomes rows: rules are split into conjunctions of atoms over
//! dimensions, grouped by tool pattern.
//!
//! A *dimension* is a path seen through a view. A test of a dimension raises up to four
//! kinds of atoms (see [`Mode`]); a row requires some atoms and is killed by others.
//! The same rows decide at run time and are what proofs are made over. Knows the
//! resolved policy; knows nothing of automata or bytes.

mod class;
mod formula;
mod groups;
mod paths;
mod patterns;

pub use class::class;
pub use formula::{Literal, rows};
pub use groups::{Atom, Dimension, DimensionKey, Group, LoweredTest, Quant, Row};
pub use paths::{PathTable, Step, display as paths_display, names, steps};
pub(crate) use patterns::{pattern, pattern_lists, patterns_of, sorted_contracts};

use crate::policy::{Policy, Pos};
use std::fmt;

/// The lowered rules of a policy, and the paths that it names.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// All argument paths, of rules and constraints.
    pub paths: PathTable,
    /// Rules by tool pattern: exact names first, each part sorted by pattern.
    pub groups: Vec<Group>,
    /// How many of `groups` are exact names.
    pub exact_groups: usize,
}

/// In which reading a test has to hold for its atom to be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Plain form, own type, not through an object: what a permissive rule may rest on.
    Plain,
    /// Any form, or it cannot be evaluated: what a restrictive rule rests on.
    Any,
    /// Every form, and it can be evaluated: rules out the negation in a restrictive rule.
    All,
    /// `Any`, or the leaf is unfit: rules out the negation in a permissive rule.
    Maybe,
}

/// Why a policy cannot be lowered or built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// Where.
    pub at: Option<Pos>,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CompileError {}

/// Lowers a policy.
///
/// # Errors
/// All rules whose conditions are too large, or ask something of a subject that it
/// does not have.
pub fn lower(policy: &Policy) -> Result<Lowered, Vec<CompileError>> {
    let paths = PathTable::of(policy);
    let mut groups = groups::GroupBuilder::new(&paths);
    let mut errors = Vec::new();
    for (index, rule) in policy.rules.iter().flat_map(|set| &set.rules).enumerate() {
        match rows(&rule.condition, rule.at) {
            Ok(rows) => errors.extend(groups.add_rule(index as u32, rule, &rows)),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let (groups, exact_groups) = groups.finish();
    Ok(Lowered {
        paths,
        groups,
        exact_groups,
    })
}
