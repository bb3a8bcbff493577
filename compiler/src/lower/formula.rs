//! Conditions as a disjunction of conjunctions of literals.

use super::CompileError;
use crate::policy::{Cond, Pos, Test};

/// How many rows one rule may become.
const MAX_ROWS: usize = 4096;

/// A test, or its negation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal<'p> {
    /// The test.
    pub test: &'p Test,
    /// Whether its negation is meant.
    pub negated: bool,
}

/// The conjunctions of a condition, in the order they were written. No conjunction: the
/// condition never holds; an empty one: it always does.
///
/// # Errors
/// If there are too many of them.
pub fn rows(condition: &Cond, at: Pos) -> Result<Vec<Vec<Literal<'_>>>, CompileError> {
    let rows = expand(condition, false).ok_or_else(|| CompileError {
        message: format!("the condition expands to more than {MAX_ROWS} rows"),
        help: Some(
            "an `and` of many `or`s multiplies: split the rule, or write `in [..]` instead of `or`"
                .to_owned(),
        ),
        at: Some(at),
    })?;
    Ok(rows)
}

/// `None` if there would be too many rows.
fn expand(condition: &Cond, negated: bool) -> Option<Vec<Vec<Literal<'_>>>> {
    match (condition, negated) {
        (Cond::Test(test), _) => Some(vec![vec![Literal { test, negated }]]),
        (Cond::Not(part), _) => expand(part, !negated),
        (Cond::All(parts), false) | (Cond::Any(parts), true) => {
            let mut rows = vec![Vec::new()];
            for part in parts {
                let choices = expand(part, negated)?;
                if rows.len().saturating_mul(choices.len()) > MAX_ROWS {
                    return None;
                }
                rows = rows
                    .iter()
                    .flat_map(|row| {
                        choices.iter().map(move |choice| {
                            let mut row: Vec<Literal<'_>> = row.clone();
                            for literal in choice {
                                if !row.contains(literal) {
                                    row.push(*literal);
                                }
                            }
                            row
                        })
                    })
                    .collect();
            }
            Some(rows)
        }
        (Cond::Any(parts), false) | (Cond::All(parts), true) => {
            let mut rows = Vec::new();
            for part in parts {
                rows.extend(expand(part, negated)?);
                if rows.len() > MAX_ROWS {
                    return None;
                }
            }
            Some(rows)
        }
    }
}
