//! An explanation from one line of the audit log. Trusts nothing that stands in it.

use super::changes;
use super::{CallName, Explanation};
use crate::output::Failure;
use crate::source;
use bouncer_engine::gate::{Grounds, ReadBefore};
use serde::Deserialize;
use std::path::Path;

/// What of a line matters here.
#[derive(Debug, Deserialize)]
struct Line {
    call: Option<u64>,
    server: Option<String>,
    tool: Option<String>,
    judged_as: Option<String>,
    verdict: String,
    contract: String,
    code: String,
    reason: String,
    at: Option<String>,
    outcome: Option<String>,
    grounds: Option<Grounds>,
    #[serde(default)]
    read: ReadBefore,
}

fn is_event(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "event")]
        _event: String,
    }
    serde_json::from_str::<Event>(line).is_ok()
}

/// Explains the line with this number; else the last one, or, unless `last` was asked
/// for, the last that is not an allow.
pub(super) fn explain(
    path: &Path,
    number: Option<usize>,
    last: bool,
) -> Result<Explanation, Failure> {
    let text = source::read_text(path)?;
    let fail = |why: String| Failure::Message(format!("`{}`{why}", path.display()));
    // Lines without a verdict are about no call.
    let mut lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !is_event(line))
        .collect();
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str::<Line>(line)
            .map_err(|error| fail(format!(", line {}: {error}", index + 1)))
    };
    let line = match number {
        Some(number) => match lines.into_iter().find(|(index, _)| index + 1 == number) {
            Some(line) => parse(line)?,
            None => return Err(fail(format!(" has no line {number}"))),
        },
        None if last => match lines.pop() {
            Some(line) => parse(line)?,
            None => return Err(fail(" is empty".to_owned())),
        },
        None => {
            let mut found = None;
            while found.is_none() {
                let Some(line) = lines.pop() else {
                    let help = "nothing in it was denied or asked about; name a line with `--line`";
                    return Err(fail(format!(": {help}")));
                };
                // A process that was stopped can leave half a line behind.
                found = parse(line).ok().filter(|line| line.verdict != "allow");
            }
            found.ok_or_else(|| fail(" is empty".to_owned()))?
        }
    };
    let changes = changes::in_words(
        &line.code,
        &line.verdict,
        line.judged_as
            .as_deref()
            .or(line.tool.as_deref())
            .unwrap_or_default(),
        line.at.as_deref(),
        line.grounds.as_ref(),
    );
    Ok(Explanation {
        call: CallName {
            server: line.server,
            tool: line.tool,
            number: line.call,
        },
        verdict: line.verdict,
        contract: line.contract,
        code: line.code,
        reason: line.reason,
        at: line.at,
        outcome: line.outcome,
        grounds: line.grounds,
        read: line.read,
        rules: Vec::new(),
        changes,
    })
}
