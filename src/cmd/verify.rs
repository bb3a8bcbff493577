//! `bouncer verify`: what a policy does, proved, with calls that show it.

use crate::cli::{Deny, Format, Picture, VerifyArgs};
use crate::output::{ERROR, Failure, Outcome, USAGE, colour_of_stdout, error_line};
use crate::progress;
use crate::source::{self, CompileFailure};
use bouncer_compiler::Loaded;
use bouncer_compiler::diagnostic::{self, Diagnostics, SourceMap};
use bouncer_compiler::policy::{Assertion, Policy};
use bouncer_verify::report::{self, Counts};
use bouncer_verify::{ListedTool, Options, Report, Share};
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Outcome {
    let format = if args.json { Format::Json } else { args.format };
    let tools = source::tools(&args.tools)?;
    let loaded = match source::load(&args.policies, &args.layers) {
        Ok(loaded) => loaded,
        Err(failure) => return Err(broken(*failure, format)),
    };
    if let Some(Picture::Effects) = args.table {
        return table(args, &loaded, &tools, format);
    }
    let assertions = assertions(&args.assertions, &loaded.policy)?;
    let options = Options {
        assertions,
        budget: args.budget.unwrap_or(Options::default().budget),
        all: args.all,
    };
    let mut line = progress::Line::new("questions");
    let found = bouncer_verify::run_telling(&loaded, &tools, &options, &mut |progress| {
        line.show(progress);
    });
    drop(line);
    let report = match found {
        Ok(report) => report,
        Err(errors) => return Err(broken(source::build_failure(&errors, &loaded), format)),
    };
    print(&report, loaded.warnings.sources(), format)?;
    let counts = report::counts(&report);
    if format == Format::Human {
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(
            anstream::stderr(),
            "{}",
            summary(args, &report, counts, loaded.warnings.sources())
        );
    }
    let denied = counts.errors > 0 || args.deny == Some(Deny::Warnings) && counts.warnings > 0;
    Ok(if denied { ERROR } else { 0 })
}

/// The picture of a policy by effect.
fn table(args: &VerifyArgs, loaded: &Loaded, tools: &[ListedTool], format: Format) -> Outcome {
    if matches!(format, Format::Sarif | Format::Github) {
        error_line(
            "`--table` is printed for people and as JSON: findings alone have other formats",
        );
        return Err(Failure::Code(USAGE));
    }
    let options = Options {
        budget: args.budget.unwrap_or(Options::default().budget),
        ..Options::default()
    };
    let mut line = progress::Line::new("tools");
    let made = bouncer_verify::effects_table(&loaded.policy, tools, &options, &mut |progress| {
        line.show(progress);
    });
    drop(line);
    let sources = loaded.warnings.sources();
    match made {
        Ok(made) if format == Format::Json => {
            writeln!(io::stdout(), "{:#}", report::effects_json(&made, sources))?;
        }
        Ok(made) => write!(
            anstream::stdout(),
            "{}",
            report::effects_human(&made, sources)
        )?,
        Err(errors) => return Err(broken(source::build_failure(&errors, loaded), format)),
    }
    Ok(0)
}

/// Parses `--assert`. What cannot be read is a mistake on the command line.
fn assertions(texts: &[String], policy: &Policy) -> Result<Vec<Assertion>, Failure> {
    let mut out = Vec::new();
    let mut failed = false;
    for text in texts {
        match bouncer_verify::assertion(text, policy) {
            Ok(assertion) => out.push(assertion),
            Err(errors) => {
                failed = true;
                for error in errors {
                    let column = text
                        .get(..error.start)
                        .map_or(1, |before| before.chars().count() + 1);
                    let place = format!("`--assert`, column {column}: {}", error.message);
                    error_line(&match error.help {
                        Some(help) => {
                            format!("{place}\n  {}\n  help: {help}", diagnostic::escape(text))
                        }
                        None => format!("{place}\n  {}", diagnostic::escape(text)),
                    });
                }
            }
        }
    }
    if failed {
        Err(Failure::Code(USAGE))
    } else {
        Ok(out)
    }
}

fn print(report: &Report, sources: &SourceMap, format: Format) -> io::Result<()> {
    match format {
        Format::Human => write!(
            anstream::stdout(),
            "{}",
            report::human(report, sources, colour_of_stdout())
        ),
        Format::Json => writeln!(io::stdout(), "{:#}", report::json(report, sources)),
        Format::Sarif => writeln!(io::stdout(), "{:#}", report::sarif(report, sources)),
        Format::Github => write!(io::stdout(), "{}", report::github(report, sources)),
    }
}

/// Reports policies that do not compile, in the format that is asked for.
fn broken(failure: CompileFailure, format: Format) -> Failure {
    let CompileFailure::Policy(diagnostics) = failure else {
        return failure.report();
    };
    let sources = diagnostics.sources();
    let printed = match format {
        Format::Human => {
            source::print_diagnostics(&diagnostics);
            Ok(())
        }
        Format::Json => {
            let value = without_findings(&diagnostics);
            writeln!(io::stdout(), "{value:#}")
        }
        Format::Sarif | Format::Github => {
            let report = report::of_diagnostics(diagnostics.list(), sources);
            print(&report, sources, format)
        }
    };
    match printed {
        Ok(()) => Failure::Code(ERROR),
        Err(error) => error.into(),
    }
}

fn without_findings(diagnostics: &Diagnostics) -> serde_json::Value {
    serde_json::json!({
        "findings": [],
        "error": "the policy does not compile",
        "diagnostics": diagnostic::json(diagnostics),
    })
}

/// One line: what was looked at and what was found.
fn summary(args: &VerifyArgs, report: &Report, counts: Counts, sources: &SourceMap) -> String {
    let names: Vec<String> = args
        .policies
        .iter()
        .map(|path| source::display_name(path))
        .collect();
    let mut line = format!("verified {}: ", diagnostic::visible(&names.join(", ")));
    let parts: Vec<String> = [
        (counts.errors, "error"),
        (counts.warnings, "warning"),
        (counts.notes, "note"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
    .collect();
    line.push_str(&if parts.is_empty() {
        "nothing found".to_owned()
    } else {
        parts.join(", ")
    });
    if report.proved > 0 {
        let plural = if report.proved == 1 { "" } else { "s" };
        line.push_str(&format!("; {} assertion{plural} proved", report.proved));
    }
    let Share { covered, all } = report.tools;
    if all > 0 {
        let arguments = report.arguments;
        line.push_str(&format!(
            "; {covered} of {all} tools and {} of {} arguments covered",
            arguments.covered, arguments.all
        ));
    }
    if report.folded > 0 {
        let plural = if report.folded == 1 { "" } else { "s" };
        line.push_str(&format!(
            "; {} usual order{plural} of rules not shown (`--all`)",
            report.folded
        ));
    }
    for accepted in &report.accepted {
        let codes: Vec<&str> = accepted.codes.iter().map(|code| code.name()).collect();
        let file = sources.file(accepted.at.file).map_or("", |file| &file.name);
        line.push_str(&format!(
            "\n  accepted at {}:{}: {} {}, because {}",
            diagnostic::visible(file),
            accepted.at.line,
            accepted.findings,
            codes.join(" or "),
            diagnostic::visible(&accepted.reason)
        ));
    }
    line
}
