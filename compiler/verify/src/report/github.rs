//! Findings as workflow commands, which GitHub shows beside the lines.

use super::{file_of, human};
use crate::{Report, Severity};
use bouncer_compiler::diagnostic::SourceMap;
use std::fmt::Write as _;

/// One line a finding: `::error file=…,line=…,col=…,title=…::message`.
#[must_use]
pub fn github(report: &Report, sources: &SourceMap) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        // Writing to a string does not fail.
        let _ = write!(out, "::{level} ");
        if let Some(place) = finding.places.first() {
            let file = property(file_of(place.at, sources));
            let _ = write!(
                out,
                "file={file},line={},col={},",
                place.at.line, place.at.column
            );
        }
        let title = format!("{} {}", finding.code, finding.kind.name());
        let mut message = finding.message.clone();
        if let Some(help) = &finding.help {
            let _ = write!(message, "\nhelp: {help}");
        }
        if let Some(example) = &finding.example {
            let _ = write!(message, "\nexample: {}", human::example(example, sources));
        }
        let _ = writeln!(out, "title={}::{}", property(&title), data(&message));
    }
    out
}

/// The text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    data(&shown).replace(':', "%3A").replace(',', "%2C")
}
