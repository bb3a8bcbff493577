//! Findings for people.

use super::file_of;
use crate::{Example, Finding, Report, Severity};
use bouncer_compiler::diagnostic::{self, Diagnostic, Label, SourceMap, escape};
use std::fmt::Write as _;

/// Findings that are listed behind one that is shown.
const MOST_LISTED: usize = 8;

/// All findings, each with its source underlined; `colour` adds terminal colours.
#[must_use]
pub fn human(report: &Report, sources: &SourceMap, colour: bool) -> String {
    let mut out = String::new();
    let mut rest = report.findings.as_slice();
    while let Some((finding, after)) = rest.split_first() {
        // Notes of one code about one place are told once: the others are listed.
        let alike = after
            .iter()
            .take_while(|other| {
                finding.severity == Severity::Note
                    && other.code == finding.code
                    && other.places.first().map(|place| place.at)
                        == finding.places.first().map(|place| place.at)
            })
            .count();
        let (same, next) = after.split_at(alike);
        rest = next;
        let shown = finding.example.as_ref().map(|e| example(e, sources));
        let mut diagnostic = of(finding, sources);
        if !same.is_empty() {
            let more = others(same, sources);
            diagnostic.help = Some(match diagnostic.help {
                Some(help) => format!("{help}\n{more}"),
                None => more,
            });
        }
        let text = diagnostic::human_one(&diagnostic, sources, shown.as_deref(), colour);
        out.push_str(&text);
        out.push_str("\n\n");
    }
    out
}

/// Findings that are like one that is shown, in a line: by their other place where they
/// have one.
fn others(same: &[Finding], sources: &SourceMap) -> String {
    let mut out = format!("{} more of this kind here: ", same.len());
    for (number, finding) in same.iter().enumerate() {
        if number == MOST_LISTED {
            let _ = write!(out, ", …");
            break;
        }
        if number > 0 {
            out.push_str(", ");
        }
        match finding.places.get(1) {
            Some(place) => {
                let _ = write!(
                    out,
                    "{}:{}",
                    escape(file_of(place.at, sources)),
                    place.at.line
                );
            }
            None => out.push_str(&finding.message),
        }
    }
    out.push_str(" (`--format json` shows each)");
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
    for text in &example.private {
        let _ = write!(out, "\nafter reading {:?}, which is private", escape(text));
    }
    for text in &example.typed {
        let _ = write!(out, "\nafter the user typed {:?}", escape(text));
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
