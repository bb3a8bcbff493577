//! What several files say about the same option: they have to agree.

use crate::diagnostic::{Code, Diagnostic, Sink, Span, quote};
use crate::packs::Builtin;
use crate::read::{File, nearest};
use std::collections::BTreeSet;

/// The value that all agree on; reports those that differ from the first.
pub(super) fn agreed<T: PartialEq>(
    said: impl Iterator<Item = (T, Span)>,
    option: &str,
    sink: &mut Sink,
) -> Option<(T, Span)> {
    let mut first: Option<(T, Span)> = None;
    for (value, span) in said {
        match &first {
            None => first = Some((value, span)),
            Some((other, at)) if *other != value => {
                let message = format!("two files set `{option}` differently");
                sink.push(
                    Diagnostic::new(Code::FILES_DIFFER, span, message)
                        .here("this is another value")
                        .also(*at, "than here")
                        .help("set it in one file"),
                );
            }
            Some(_) => {}
        }
    }
    first
}

/// The packs in force, by name: those that the files choose, or all.
pub(super) fn packs<'b>(
    files: &[File],
    builtin: &'b [Builtin],
    sink: &mut Sink,
) -> Vec<&'b Builtin> {
    let known: Vec<&str> = builtin.iter().map(|pack| pack.name).collect();
    let lists = || files.iter().filter_map(|file| file.packs.as_ref());
    for (name, span) in lists().flat_map(|(names, _)| names) {
        if known.contains(&name.as_str()) {
            continue;
        }
        let message = format!("there is no pack {}", quote(name));
        let mut diagnostic = Diagnostic::new(Code::UNKNOWN_PACK, *span, message);
        diagnostic = match nearest(name, &known) {
            Some(meant) => diagnostic
                .here(format!("did you mean `{meant}`?"))
                .suggest(*span, meant),
            None => diagnostic.help(format!("the packs are {}", known.join(", "))),
        };
        sink.push(diagnostic);
    }
    let sets = lists().map(|(names, span)| {
        let names: BTreeSet<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        (names, *span)
    });
    match agreed(sets, "packs", sink) {
        None => builtin.iter().collect(),
        Some((names, _)) => builtin
            .iter()
            .filter(|pack| names.contains(pack.name))
            .collect(),
    }
}

/// Whether the files want heuristics; they do unless one says otherwise.
pub(super) fn heuristics(files: &[File], sink: &mut Sink) -> bool {
    let said = files.iter().filter_map(|file| file.heuristics);
    agreed(said, "heuristics", sink).is_none_or(|(on, _)| on)
}

/// Whether tools that are always denied are hidden; they are not unless one says so.
pub(super) fn hide_denied(files: &[File], sink: &mut Sink) -> bool {
    let said = files.iter().filter_map(|file| file.hide_denied);
    agreed(said, "hide_denied", sink).is_some_and(|(on, _)| on)
}

/// How much a conversation remembers of what it reads, in MiB.
pub(super) fn provenance_limit(files: &[File], sink: &mut Sink) -> Option<u16> {
    let said = files.iter().filter_map(|file| file.provenance_limit);
    agreed(said, "provenance_limit", sink).map(|(limit, _)| limit)
}

/// Where the files want the audit log.
pub(super) fn audit(files: &[File], sink: &mut Sink) -> Option<String> {
    let said = files
        .iter()
        .filter_map(|file| file.audit.as_ref())
        .map(|(path, span)| (path, *span));
    agreed(said, "audit.path", sink).map(|(path, _)| path.clone())
}

/// Where the files want approvals kept, and how long a human has to decide.
pub(super) fn approval(files: &[File], sink: &mut Sink) -> (Option<String>, Option<u64>) {
    let paths = files
        .iter()
        .filter_map(|file| file.approval_path.as_ref())
        .map(|(path, span)| (path, *span));
    let path = agreed(paths, "approval.path", sink).map(|(path, _)| path.clone());
    let times = files.iter().filter_map(|file| file.approval_timeout_ms);
    let time = agreed(times, "approval.timeoutSeconds", sink).map(|(time, _)| time);
    (path, time)
}
