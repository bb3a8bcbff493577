//! Which of the built-in files the user's files choose.

use super::{File, agreed, nearest};
use crate::diagnostic::{Code, Diagnostic, Sink, quote};
use crate::packs::Builtin;
use std::collections::BTreeSet;

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
