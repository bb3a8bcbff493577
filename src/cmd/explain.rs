//! `bouncer explain`: what a diagnostic's code means, or a verdict's.

use crate::cli::ExplainArgs;
use crate::output::{Failure, Outcome};
use bouncer_compiler::diagnostic;
use bouncer_engine::gate::explain_verdict;
use std::io::Write;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    let Some(code) = &args.code else {
        for code in diagnostic::all_codes() {
            let title = diagnostic::explain(code.name()).map_or("", |page| page.title);
            writeln!(stdout, "{code}  {title}")?;
        }
        return Ok(0);
    };
    match diagnostic::explain(code) {
        Some(page) => {
            writeln!(stdout, "{page}")?;
            Ok(0)
        }
        // A word from a log.
        None => match explain_verdict(code) {
            Some(text) => {
                writeln!(stdout, "{code}\n\n{text}")?;
                Ok(0)
            }
            None => Err(Failure::Message(format!(
                "there is no code `{code}`; `bouncer explain` lists those of diagnostics, docs/operations.md those of verdicts"
            ))),
        },
    }
}
