//! A whole verification: what is proved, what is looked for without proof, what the
//! compiler itself warned about, and what the authors accepted with a reason.

use super::show::Judge;
use super::{
    Finding, Kind, ListedTool, Options, Place, Report, Severity, coverage, dropped, smells,
    suppress,
};
use bouncer_compiler::diagnostic::{self, Code, Diagnostic};
use bouncer_compiler::{CompileError, Loaded, Progress};

/// Verifies a loaded policy: [`super::verify`], the lints, the warnings of loading, and
/// the suppressions in the files' comments.
///
/// # Errors
/// If the policy does not compile.
pub fn run(
    loaded: &Loaded,
    tools: &[ListedTool],
    options: &Options,
) -> Result<Report, Vec<CompileError>> {
    run_telling(loaded, tools, options, &mut |_| {})
}

/// The same; `progress` is told after each question.
///
/// # Errors
/// If the policy does not compile.
pub fn run_telling(
    loaded: &Loaded,
    tools: &[ListedTool],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, Vec<CompileError>> {
    let policy = &loaded.policy;
    let mut report = super::verify_telling(policy, tools, options, progress)?;
    let judge = Judge::new(policy, tools);
    dropped::check(policy, tools, &judge, &mut report.findings);
    smells::check(policy, tools, &judge, &mut report.findings);
    let (covered, arguments) = coverage::check(policy, tools, &judge, &mut report.findings);
    report.tools = covered;
    report.arguments = arguments;
    let sources = loaded.warnings.sources();
    for finding in &mut report.findings {
        // What a policy does not say stands nowhere: at its start it can be accepted.
        if finding.places.is_empty() && finding.kind == Kind::Coverage {
            finding.places = suppress::start(sources);
        }
    }
    for warning in loaded.warnings.list() {
        // A lock knows better than names which tools there are.
        if warning.code == Code::NO_SUCH_TOOL && !tools.is_empty() {
            continue;
        }
        let Some(finding) = of_warning(warning, sources) else {
            continue;
        };
        // What was proved says more than what was suspected while reading.
        let at = finding.places.first().map(|place| place.at);
        let proved = report.findings.iter().any(|other| {
            other.kind == finding.kind && other.places.first().map(|place| place.at) == at
        });
        if !proved {
            report.findings.push(finding);
        }
    }
    report.accepted = suppress::apply(&mut report.findings, sources, !tools.is_empty());
    sort(&mut report.findings);
    Ok(report)
}

/// By place, then code; what has no place comes last.
fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key = |f: &Finding| {
            let at = f.places.first().map(|place| place.at);
            (at.is_none(), at, f.code)
        };
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    findings.dedup();
}

/// A warning of loading as a finding. What this module finds more exactly is left out.
fn of_warning(warning: &Diagnostic, sources: &diagnostic::SourceMap) -> Option<Finding> {
    let kind = match warning.code {
        Code::PROTECTION_DROPPED => return None,
        Code::ALWAYS_TRUE
        | Code::HALF_CONFINEMENT
        | Code::SINKS_WITHOUT_GATE
        | Code::NO_SUCH_VALUE
        | Code::OTHER_LANGUAGE => Kind::Vacuous,
        Code::TEXT_UNSAID | Code::PLAIN_HTTP => Kind::Coverage,
        Code::NO_SUCH_TOOL => Kind::Coverage,
        _ => Kind::PatternSmell,
    };
    Some(Finding {
        code: warning.code,
        kind,
        severity: match warning.severity {
            diagnostic::Severity::Error => Severity::Error,
            diagnostic::Severity::Warning => Severity::Warning,
            diagnostic::Severity::Note => Severity::Note,
        },
        message: warning.message.clone(),
        places: warning
            .labels
            .iter()
            .map(|label| Place {
                at: sources.pos(label.span),
                label: label.text.clone(),
            })
            .collect(),
        help: warning.help.clone(),
        example: None,
    })
}
