//! What an audit log says about the tools that a policy is suggested for.

use super::{comment, full_name};
use crate::output::Failure;
use crate::source;
use bouncer_verify::ListedTool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Lines of each kind that are told.
const SHOWN: usize = 30;

type Counts = BTreeMap<(String, String), u64>;

/// What was asked about, candidates for trust, and what was denied; of these tools only.
pub(super) fn told(path: &Path, tools: &[ListedTool]) -> Result<String, Failure> {
    let text = source::read_text(path)?;
    // A listing that names no server is taken for whichever server has the tool.
    let known = |server: Option<&str>, name: &str| {
        tools.iter().any(|(of, tool)| {
            tool.name == name && of.as_deref().is_none_or(|of| Some(of) == server)
        })
    };
    let mut asked = Counts::new();
    let mut others = Counts::new();
    let mut denied = Counts::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let get = |key: &str| line.get(key).and_then(Value::as_str);
        let (Some(tool), Some(code)) = (get("tool"), get("code")) else {
            continue;
        };
        if !known(get("server"), tool) {
            continue;
        }
        let full = full_name(get("server"), tool);
        let destination = line.pointer("/grounds/value").and_then(Value::as_str);
        match (code, destination) {
            ("sink_gate.unproven" | "sink_gate.observed", Some(to)) => {
                *asked.entry((full, to.to_owned())).or_default() += 1;
            }
            (_, _) if get("verdict") == Some("ask") => {
                let reason = get("reason").unwrap_or_default().to_owned();
                *others.entry((full, reason)).or_default() += 1;
            }
            (_, _) if get("verdict") == Some("deny") => {
                let reason = get("reason").unwrap_or_default().to_owned();
                *denied.entry((full, reason)).or_default() += 1;
            }
            _ => {}
        }
    }
    let mut out = String::new();
    list(
        &mut out,
        "Asked about in the log. Those that you know belong in `trusted_destinations`:",
        &asked,
    );
    list(
        &mut out,
        "Asked about in the log, for what the policy says. What you always approve wants a rule:",
        &others,
    );
    list(&mut out, "Denied in the log, or would have been:", &denied);
    Ok(out)
}

fn list(out: &mut String, head: &str, counts: &Counts) {
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    // Writing to a string cannot fail.
    if !rows.is_empty() {
        let _ = writeln!(out, "\n# {head}");
    }
    for ((tool, what), count) in rows.into_iter().take(SHOWN) {
        let _ = writeln!(out, "#   {count}x {}: {}", comment(tool), comment(what));
    }
}
