//! Findings for people.

use super::file_of;
use crate::diagnostic::{self, Diagnostic, Label, SourceMap, escape};
use crate::verify::{Example, Finding, Report, Severity};
use std::fmt::Write as _;

/// All findings, each with its source underlined; `colour` adds terminal colours.
#[must_use]
pub fn human(report: &Report, sources: &SourceMap, colour: bool) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let shown = finding.example.as_ref().map(|e| example(e, sources));
        let text = diagnostic::human_one(&of(finding, sources), sources, shown.as_deref(), colour);
        out.push_str(&text);
        out.push_str("\n\n");
    }
    out
}

/// A finding as a diagnostic.
fn of(finding: &Finding, sources: &SourceMap) -> Diagnostic {
    Diagnostic {
        code: finding.code,
        severity: match finding.severity {
            Severity::Error => diagnostic::Severity::Error,
            Severity::Warning => diagnostic::Severity::Warning,
            Severity::Note => diagnostic::Severity::Note,
        },
        message: finding.message.clone(),
        labels: finding
            .places
            .iter()
            .map(|place| Label {
                span: diagnostic::token_at(place.at, sources),
                text: place.label.clone(),
            })
            .collect(),
        help: finding.help.clone(),
        suggestion: None,
    }
}

/// A call and its verdict, on a few lines.
#[must_use]
pub fn example(example: &Example, sources: &SourceMap) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    if let Some(server) = &example.server {
        let _ = write!(out, "{} of {}", escape(&example.tool), escape(server));
    } else {
        out.push_str(&escape(&example.tool));
    }
    let _ = write!(out, " {}", escape(&example.arguments));
    for text in &example.untrusted {
        let _ = write!(
            out,
            "\nafter reading {:?} from an untrusted source",
            escape(text)
        );
    }
    match example.earlier_calls {
        0 => {}
        1 => out.push_str("\nafter the same call"),
        n => {
            let _ = write!(out, "\nafter {n} of the same calls");
        }
    }
    let _ = write!(out, "\n=> {} ({}", example.verdict.name(), example.contract);
    if let Some(at) = example.decided_at {
        let _ = write!(
            out,
            ", {}:{}:{}",
            escape(file_of(at, sources)),
            at.line,
            at.column
        );
    }
    out.push(')');
    out
}
