//! Contracts of user files over contracts of packs, tool by tool.
//!
//! A user entry replaces the pack's entry whole, or merges with it by `extends: pack`.
//! Replacing is easy to get wrong, so what it drops is warned about.

use crate::diagnostic::{Code, Diagnostic, Sink, quote};
use crate::policy::{Contract, Layer};
use crate::read::{Entry, File, Pack};
use std::collections::{BTreeMap, HashMap};

/// The contracts in force, sorted by key, then layer; and those of packs that an entry of
/// the user replaces, sorted by key.
pub(super) fn contracts(
    files: &mut [File],
    packs: Vec<Pack>,
    sink: &mut Sink,
) -> (Vec<Contract>, Vec<Contract>) {
    let base = unique(packs.into_iter().flat_map(|pack| pack.tools), sink);
    let users = files.iter_mut().flat_map(|f| std::mem::take(&mut f.tools));
    let users = unique(users, sink);
    let mut out: BTreeMap<(String, Layer), Contract> = BTreeMap::new();
    let mut replaced = Vec::new();
    for (key, entry) in &base {
        if !users.contains_key(key) {
            let contract = entry.clone().into_contract(Layer::Pack);
            out.insert((key.clone(), Layer::Pack), contract);
        }
    }
    for (key, entry) in users {
        let entry = match entry.extends {
            Some(span) => match base.get(&key) {
                Some(pack) => extend(entry, pack),
                None => {
                    let message = format!("no pack in force has a contract for {}", quote(&key));
                    sink.push(
                        Diagnostic::new(Code::EXTENDS, span, message)
                            .help("check the name and `packs:`, or write the contract out"),
                    );
                    continue;
                }
            },
            None => entry,
        };
        if let Some(pack) = base.get(&key) {
            replaced.push(pack.clone().into_contract(Layer::Pack));
        }
        // An entry that is read only in part drops what its author has written wrongly.
        if sink.errors() == 0
            && let Some(pack) = covered(&key, &base)
        {
            warn_dropped(&entry, pack, sink);
        }
        let of_pack = covered(&key, &base).and_then(|pack| pack.effects);
        let mut contract = entry.into_contract(Layer::User);
        if !contract.effects_complete {
            // What a pack knows of a tool stays true when the user says something else of it.
            contract.effects = of_pack.unwrap_or_default();
        }
        out.insert((key, Layer::User), contract);
    }
    replaced.sort_by(|a: &Contract, b| a.key.cmp(&b.key));
    (out.into_values().collect(), replaced)
}

/// The entries by tool; one tool in two files is a mistake.
fn unique(entries: impl Iterator<Item = Entry>, sink: &mut Sink) -> HashMap<String, Entry> {
    let mut out: HashMap<String, Entry> = HashMap::new();
    for entry in entries {
        if let Some(first) = out.get(&entry.key) {
            let message = format!("the tool {} stands in two files", quote(&entry.key));
            sink.push(
                Diagnostic::new(Code::TOOL_TWICE, entry.span, message)
                    .here("and again here")
                    .also(first.span, "first here")
                    .help("keep the entry in one file"),
            );
            continue;
        }
        out.insert(entry.key.clone(), entry);
    }
    out
}

/// The pack's entry that a user entry stands before: that of the same key, or that of
/// the bare name where the user wrote `<server>__<tool>`.
fn covered<'b>(key: &str, base: &'b HashMap<String, Entry>) -> Option<&'b Entry> {
    base.get(key).or_else(|| {
        key.match_indices("__")
            .find_map(|(at, _)| base.get(key.get(at + 2..)?))
    })
}

/// The user's entry over the pack's: lists are united, what is said once is the user's.
fn extend(user: Entry, pack: &Entry) -> Entry {
    let outputs = match (user.outputs, &pack.outputs) {
        (Some(mut own), Some(other)) => {
            own.label = own.label.or(other.label);
            own.private = own.private.or(other.private);
            own.text = own.text.or(other.text);
            for field in &other.fields {
                if !own.fields.iter().any(|f| f.path == field.path) {
                    own.fields.push(field.clone());
                }
            }
            Some(own)
        }
        (own, other) => own.or_else(|| other.clone()),
    };
    Entry {
        exfiltrating: user.exfiltrating.or(pack.exfiltrating),
        on_tainted: user.on_tainted.or(pack.on_tainted),
        optional_sinks: user.optional_sinks.or(pack.optional_sinks),
        sinks: united(user.sinks, &pack.sinks, |a, b| a.path == b.path),
        trusted: united(user.trusted, &pack.trusted, |a, b| a.form == b.form),
        write_params: united(user.write_params, &pack.write_params, |a, b| {
            a.path == b.path
        }),
        prefixes: united(user.prefixes, &pack.prefixes, |a, b| a.prefix == b.prefix),
        resolve_symlinks: user.resolve_symlinks.or(pack.resolve_symlinks),
        base: user.base.or_else(|| pack.base.clone()),
        // Two patterns for one argument both have to match.
        arg_patterns: united(user.arg_patterns, &pack.arg_patterns, |a, b| {
            a.path == b.path && a.pattern == b.pattern
        }),
        confirm: user.confirm.or(pack.confirm),
        max_calls: user.max_calls.or(pack.max_calls),
        rates: user.rates.or_else(|| pack.rates.clone()),
        outputs,
        dispatches: user.dispatches.or_else(|| pack.dispatches.clone()),
        effects: user.effects,
        key: user.key,
        span: user.span,
        at: user.at,
        extends: user.extends,
    }
}

fn united<T: Clone>(mut own: Vec<T>, other: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    for item in other {
        if !own.iter().any(|o| same(o, item)) {
            own.push(item.clone());
        }
    }
    own
}

/// Warns about each protection of the pack that the user's entry does not have.
fn warn_dropped(user: &Entry, pack: &Entry, sink: &mut Sink) {
    let mut dropped = Vec::new();
    if pack.exfiltrating == Some(true) {
        if user.exfiltrating != Some(true) {
            dropped.push("the sink gate (`exfiltrating: true`)".to_owned());
        } else if user.optional_sinks == Some(true) && pack.optional_sinks != Some(true) {
            dropped.push("the gate on calls that name no sink (`optional_sinks: true`)".to_owned());
        } else if !user.sinks.is_empty() {
            let missing = pack
                .sinks
                .iter()
                .filter(|sink| !user.sinks.iter().any(|own| own.path == sink.path))
                .count();
            if missing > 0 || pack.sinks.is_empty() {
                dropped.push("some of its `sink_params`".to_owned());
            }
        }
    }
    if pack.confirm == Some(true) && user.confirm != Some(true) {
        dropped.push("the question before every call (`confirm: true`)".to_owned());
    }
    if pack.dispatches.is_some() && user.dispatches.is_none() {
        dropped.push("the look into the call within (`dispatches`)".to_owned());
    }
    if pack.max_calls.is_some() && user.max_calls.is_none() {
        dropped.push("the budget (`max_calls`)".to_owned());
    }
    if pack.rates.is_some() && user.rates.is_none() {
        dropped.push("the `rate`".to_owned());
    }
    let confines = |e: &Entry| !e.write_params.is_empty() && !e.prefixes.is_empty();
    if confines(pack) && !confines(user) {
        dropped.push("the path confinement (`write_params`)".to_owned());
    }
    if !pack.arg_patterns.is_empty() && user.arg_patterns.is_empty() {
        dropped.push("the `arg_patterns`".to_owned());
    }
    if dropped.is_empty() {
        return;
    }
    let message = format!(
        "this entry replaces the pack's contract for {} and drops {}",
        quote(&pack.key),
        dropped.join(", ")
    );
    let help = if user.extends.is_some() || user.key != pack.key {
        "restate what the pack says, if it is not meant to be dropped"
    } else {
        "add `extends: pack` to keep the pack's entry, or restate what it says"
    };
    sink.push(
        Diagnostic::new(Code::PROTECTION_DROPPED, user.span, message)
            .also(pack.span, "the pack's contract")
            .help(help),
    );
}
