//! `bouncer schema`: the JSON Schema of policy files.

use crate::output::Outcome;
use std::io::Write;

/// Runs the command.
pub fn run() -> Outcome {
    writeln!(std::io::stdout(), "{:#}", bouncer_compiler::schema())?;
    Ok(0)
}
