//! Findings for programs.

use super::{counts, file_of};
use crate::{Example, Report, Share};
use bouncer_compiler::diagnostic::SourceMap;
use bouncer_compiler::policy::Pos;
use serde_json::{Value, json};

/// One object: `findings`, `coverage` (shares of tools and of their arguments), `counts`.
///
/// A finding has `code`, `kind`, `severity`, `message`, `positions` (`file`, `line`,
/// `column`, `label`; the first is the rule at fault), `help`, and `example`: `server`,
/// `tool`, `arguments`, `untrusted` and `private` (texts read before), `typed` (by the user),
/// `earlier_calls`, `verdict`,
/// `contract`, `decided_at`.
#[must_use]
pub fn json(report: &Report, sources: &SourceMap) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let positions: Vec<Value> = finding
                .places
                .iter()
                .map(|place| {
                    let mut value = position(place.at, sources);
                    if let Some(object) = value.as_object_mut() {
                        object.insert("label".to_owned(), place.label.as_str().into());
                    }
                    value
                })
                .collect();
            json!({
                "code": finding.code.name(),
                "kind": finding.kind.name(),
                "severity": finding.severity.name(),
                "message": finding.message,
                "positions": positions,
                "help": finding.help,
                "example": finding.example.as_ref().map(|e| example_json(e, sources)),
            })
        })
        .collect();
    let costs: Vec<Value> = report
        .costs
        .iter()
        .map(|cost| {
            json!({
                "server": cost.server,
                "tool": cost.tool,
                "automata_bytes": cost.automata,
                "build_ms": cost.build.as_secs_f64() * 1000.0,
                "scanned_per_byte": cost.scanned_per_byte,
                "argument": cost.argument,
            })
        })
        .collect();
    let accepted: Vec<Value> = report
        .accepted
        .iter()
        .map(|accepted| {
            json!({
                "position": position(accepted.at, sources),
                "codes": accepted.codes.iter().map(|code| code.name()).collect::<Vec<_>>(),
                "findings": accepted.findings,
                "reason": accepted.reason,
            })
        })
        .collect();
    let counts = counts(report);
    json!({
        "findings": findings,
        "accepted": accepted,
        "usual_orders": report.folded,
        "coverage": { "tools": share(report.tools), "arguments": share(report.arguments) },
        "costs": costs,
        "counts": { "errors": counts.errors, "warnings": counts.warnings, "notes": counts.notes },
    })
}

/// A call and its verdict.
#[must_use]
pub fn example_json(example: &Example, sources: &SourceMap) -> Value {
    // Numbers that no JSON value holds exactly stay readable as text.
    let arguments: Value = serde_json::from_str(&example.arguments)
        .unwrap_or_else(|_| Value::String(example.arguments.clone()));
    json!({
        "server": example.server,
        "tool": example.tool,
        "arguments": arguments,
        "arguments_raw": example.arguments,
        "untrusted": example.untrusted,
        "private": example.private,
        "typed": example.typed,
        "earlier_calls": example.earlier_calls,
        "verdict": example.verdict.name(),
        "contract": example.contract,
        "decided_at": example.decided_at.map(|at| position(at, sources)),
    })
}

fn position(at: Pos, sources: &SourceMap) -> Value {
    json!({ "file": file_of(at, sources), "line": at.line, "column": at.column })
}

fn share(share: Share) -> Value {
    json!({ "covered": share.covered, "all": share.all })
}
