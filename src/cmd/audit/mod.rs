//! `bouncer audit`: reads the audit log.

mod export;
pub(crate) mod filter;
pub(crate) mod lines;
mod show;
pub(crate) mod stats;

use crate::cli::{AuditArgs, AuditCommand, Layers, LogArgs, LogFilter, PolicySource};
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_audit::{self, Audit, Link, Remark};
use bouncer_compiler::diagnostic::escape;
use filter::Filter;
use lines::Line;
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: AuditArgs) -> Outcome {
    match args.command {
        AuditCommand::Tail {
            lines,
            follow,
            filter,
            log,
            json,
        } => tail(&path(&log)?, &read(&filter)?, lines, follow, json),
        AuditCommand::Verify { anchor, log, json } => verify(&path(&log)?, &anchor, json),
        AuditCommand::Stats { filter, log, json } => stats(&path(&log)?, &read(&filter)?, json),
        AuditCommand::Export { filter, log, .. } => export::as_test(&path(&log)?, &read(&filter)?),
        AuditCommand::Query { filter, log, json } => query(&path(&log)?, &read(&filter)?, json),
    }
}

/// The log that the arguments name.
fn path(args: &LogArgs) -> Result<PathBuf, Failure> {
    let mut path = args.audit.clone();
    if args.plan.is_some() || !args.policy.is_empty() {
        let source = PolicySource {
            plan: args.plan.clone(),
            map_plan: false,
            policy: args.policy.clone(),
            layers: Layers {
                no_packs: false,
                no_heuristics: false,
            },
        };
        let plan = source::plan(&source)?;
        path = source::beside(&plan, &source, |meta| &meta.audit_path);
    }
    path.or_else(Audit::default_path).ok_or_else(|| {
        let why = "there is no home directory for the audit log: name a file with `--audit`";
        Failure::Message(why.to_owned())
    })
}

fn read(filter: &LogFilter) -> Result<Filter, Failure> {
    Filter::new(filter).map_err(Failure::of)
}

fn tail(log: &Path, filter: &Filter, count: usize, follow: bool, json: bool) -> Outcome {
    let mut stdout = anstream::stdout().lock();
    let files = lines::files(log)?;
    // Newest files first, until there is enough.
    let mut last: VecDeque<String> = VecDeque::new();
    let mut seq = 0;
    for (age, file) in files.iter().rev().enumerate() {
        let mut of_file = VecDeque::new();
        lines::each(file, &mut |text| {
            if age == 0 {
                seq = lines::seq(text).unwrap_or(seq);
            }
            if Line::parse(text).is_some_and(|line| filter.matches(&line)) {
                of_file.push_back(text.to_owned());
                if of_file.len() > count {
                    of_file.pop_front();
                }
            }
            Ok(())
        })?;
        while let Some(line) = of_file.pop_back().filter(|_| last.len() < count) {
            last.push_front(line);
        }
        if last.len() >= count && age > 0 || count == 0 {
            break;
        }
    }
    for line in last {
        show::line(&mut stdout, &line, json)?;
    }
    if follow {
        stdout.flush()?;
        lines::follow(log, seq, &mut |text| {
            if Line::parse(text).is_some_and(|line| filter.matches(&line)) {
                show::line(&mut stdout, text, json)?;
                stdout.flush()?;
            }
            Ok(())
        })?;
    }
    Ok(0)
}

fn query(log: &Path, filter: &Filter, json: bool) -> Outcome {
    let mut stdout = anstream::stdout().lock();
    let mut unreadable = 0_u64;
    for file in lines::files(log)? {
        lines::each(&file, &mut |text| {
            match Line::parse(text) {
                Some(line) if filter.matches(&line) => show::line(&mut stdout, text, json)?,
                Some(_) => {}
                None => unreadable += 1,
            }
            Ok(())
        })?;
    }
    warn_unreadable(unreadable);
    Ok(0)
}

fn stats(log: &Path, filter: &Filter, json: bool) -> Outcome {
    let mut stats = stats::Stats::default();
    let mut unreadable = 0_u64;
    for file in lines::files(log)? {
        lines::each(&file, &mut |text| {
            match Line::parse(text) {
                Some(line) if filter.matches(&line) => stats.add(&line),
                Some(_) => {}
                None => unreadable += 1,
            }
            Ok(())
        })?;
    }
    let mut stdout = anstream::stdout().lock();
    stats.print(&mut stdout, json)?;
    warn_unreadable(unreadable);
    Ok(0)
}

/// What a log holds, and whether it is as it was written.
pub(crate) fn evidence(log: &Path) -> Result<serde_json::Value, Failure> {
    let mut stats = stats::Stats::default();
    let mut unreadable = 0_u64;
    for file in lines::files(log)? {
        lines::each(&file, &mut |text| {
            match Line::parse(text) {
                Some(line) => stats.add(&line),
                None => unreadable += 1,
            }
            Ok(())
        })?;
    }
    let chain =
        bouncer_audit::verify(log, &[]).map_err(|error| Failure::file("verify", log, &error))?;
    Ok(serde_json::json!({
        "counts": stats.value(),
        "unreadable": unreadable,
        "chain": chain,
    }))
}

fn warn_unreadable(count: u64) {
    if count > 0 {
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(
            anstream::stderr(),
            "\u{1b}[1;33mwarning\u{1b}[0m: {count} lines cannot be read: look with `bouncer audit verify`"
        );
    }
}

fn verify(log: &Path, anchors: &[String], json: bool) -> Outcome {
    let anchors: Vec<Link> = anchors
        .iter()
        .map(|text| {
            Link::parse(text).ok_or_else(|| {
                let text = escape(text);
                Failure::Message(format!(
                    "`{text}` is no anchor: give what `bouncer audit verify` printed, SEQ:HASH"
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    let report = bouncer_audit::verify(log, &anchors)
        .map_err(|error| Failure::file("verify", log, &error))?;
    let mut stdout = anstream::stdout().lock();
    let code = if report.fault_count > 0 { ERROR } else { 0 };
    if json {
        let text = serde_json::to_string_pretty(&report);
        writeln!(stdout, "{}", text.unwrap_or_default())?;
        return Ok(code);
    }
    let place = |remark: &Remark| {
        let file = escape(&remark.file.display().to_string());
        match remark.line {
            0 => file,
            line => format!("{file}:{line}"),
        }
    };
    for note in &report.notes {
        writeln!(
            stdout,
            "\u{1b}[33mnote\u{1b}[0m    {}: {}",
            place(note),
            escape(&note.what)
        )?;
    }
    for fault in &report.faults {
        writeln!(
            stdout,
            "\u{1b}[31mbroken\u{1b}[0m  {}: {}",
            place(fault),
            escape(&fault.what)
        )?;
    }
    let more = report.fault_count - report.faults.len() as u64;
    if more > 0 {
        writeln!(stdout, "and {more} more")?;
    }
    let (lines, files) = (report.lines, report.files.len());
    if code == 0 {
        writeln!(
            stdout,
            "\u{1b}[32mclean\u{1b}[0m: {} in {} {} as {} written",
            stats::count(lines, "line"),
            stats::count(files as u64, "file"),
            if lines == 1 { "is" } else { "are" },
            if lines == 1 { "it was" } else { "they were" },
        )?;
    }
    if let (0, Some(anchor)) = (code, &report.anchor) {
        writeln!(stdout, "anchor {anchor}")?;
    }
    Ok(code)
}
