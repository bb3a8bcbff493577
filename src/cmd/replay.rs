//! `bouncer replay`: whole conversations against a policy.

use super::player::{Expected, Player};
use crate::cli::ReplayArgs;
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::visible;
use bouncer_engine::gate::Decision;
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Outcome {
    let plan = source::plan(&args.source)?;
    let mut tally = Tally::default();
    let several = args.traces.len() > 1;
    for path in &args.traces {
        let text = source::read_text(path)?;
        let name = path.display().to_string();
        let mut player = Player::remembering(&plan, args.provenance_limit);
        for (number, line) in (1_u64..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let mut printed = Ok(());
            player
                .line(line, |tool, decision, expected| {
                    printed = report(
                        &name, several, args.json, &mut tally, number, tool, decision, expected,
                    );
                })
                .map_err(|why| Failure::Message(format!("`{name}`, line {number}: {why}")))?;
            printed?;
        }
    }
    if !args.json {
        let mut stderr = anstream::stderr();
        let _ = writeln!(
            stderr,
            "{} calls: {} allow, {} ask, {} deny; {} expectations, {} failed",
            tally.calls,
            tally.verdicts[0],
            tally.verdicts[1],
            tally.verdicts[2],
            tally.expectations,
            tally.failed
        );
    }
    Ok(if tally.failed > 0 { ERROR } else { 0 })
}

/// Counts over all traces.
#[derive(Default)]
struct Tally {
    calls: u64,
    verdicts: [u64; 3],
    expectations: u64,
    failed: u64,
}

#[expect(
    clippy::too_many_arguments,
    reason = "one call site; a struct would only rename them"
)]
fn report(
    name: &str,
    several: bool,
    json: bool,
    tally: &mut Tally,
    number: u64,
    tool: &str,
    decision: &Decision<'_>,
    expected: &Expected,
) -> io::Result<()> {
    tally.calls += 1;
    if let Some(count) = tally.verdicts.get_mut(decision.verdict() as usize) {
        *count += 1;
    }
    let wrong = expected.missed(decision);
    tally.expectations += u64::from(expected.verdict.is_some() || expected.contract.is_some());
    let failed = wrong.iter().any(Option::is_some);
    tally.failed += u64::from(failed);
    let mut stdout = io::stdout().lock();
    let record = decision.record();
    if json {
        let mut object = serde_json::json!({
            "line": number,
            "tool": tool,
            "verdict": record.verdict.name(),
            "contract": record.stage.name(),
            "reason": record.reason,
            "at": record.at,
        });
        if let Some(map) = object.as_object_mut() {
            if several {
                map.insert("trace".to_owned(), name.into());
            }
            if let Some(unvouched) = record.unvouched() {
                map.insert("question".to_owned(), unvouched);
            }
            if let Some(want) = &expected.verdict {
                map.insert("expect".to_owned(), want.as_str().into());
            }
            if expected.verdict.is_some() || expected.contract.is_some() {
                map.insert("ok".to_owned(), (!failed).into());
            }
        }
        return writeln!(stdout, "{object}");
    }
    let prefix = if several {
        format!("{name}:{number}")
    } else {
        format!("line {number}")
    };
    write!(
        stdout,
        "{}: {}: {} ({}): {}",
        visible(&prefix),
        visible(tool),
        record.verdict,
        record.stage,
        visible(&record.reason)
    )?;
    if let Some(at) = &record.at {
        write!(stdout, " [{}]", visible(at))?;
    }
    for want in wrong.into_iter().flatten() {
        write!(stdout, " -- EXPECTED {want}")?;
    }
    writeln!(stdout)
}
