//! Findings as text: for people with the source underlined, as JSON, as SARIF, and as
//! annotations of a CI run. Knows nothing of how findings are found.

mod github;
mod human;
mod json;
mod sarif;
mod table;
#[cfg(test)]
mod tests;

pub use github::github;
pub use human::{example, human};
pub use json::{example_json, json};
pub use sarif::sarif;
pub use table::{effects_human, effects_json};

use crate::{Finding, Kind, Place, Report, Severity};
use bouncer_compiler::diagnostic::{Diagnostic, SourceMap};
use bouncer_compiler::policy::Pos;

/// How many findings there are of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

/// Counts the findings of a report.
#[must_use]
pub fn counts(report: &Report) -> Counts {
    let of = |severity| {
        report
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .count()
    };
    Counts {
        errors: of(Severity::Error),
        warnings: of(Severity::Warning),
        notes: of(Severity::Note),
    }
}

/// The diagnostics of a policy that does not compile, as a report: for formats that hold
/// nothing but findings. Their kind is [`Kind::Undecided`]: nothing was analysed.
#[must_use]
pub fn of_diagnostics(list: &[Diagnostic], sources: &SourceMap) -> Report {
    let findings = list
        .iter()
        .map(|diagnostic| Finding {
            code: diagnostic.code,
            kind: Kind::PolicyError,
            severity: match diagnostic.severity {
                bouncer_compiler::diagnostic::Severity::Error => Severity::Error,
                bouncer_compiler::diagnostic::Severity::Warning => Severity::Warning,
                bouncer_compiler::diagnostic::Severity::Note => Severity::Note,
            },
            message: diagnostic.message.clone(),
            places: diagnostic
                .labels
                .iter()
                .map(|label| Place {
                    at: sources.pos(label.span),
                    label: label.text.clone(),
                })
                .collect(),
            help: diagnostic.help.clone(),
            example: None,
        })
        .collect();
    Report {
        findings,
        ..Report::default()
    }
}

/// The display name of the file that a position points into.
fn file_of(at: Pos, sources: &SourceMap) -> &str {
    sources.file(at.file).map_or("?", |source| &source.name)
}
