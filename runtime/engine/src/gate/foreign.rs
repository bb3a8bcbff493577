//! Whether a pack's contract speaks for the tool that a server lists under its name.
//!
//! A pack is written for one server's tools. Another server may use the same name for a tool
//! with other arguments: then the contract's sinks are not where that tool sends to, and what
//! its own schema shows counts instead. Knows nothing of calls.

use crate::tools::{Derived, ToolDefinition};
use bouncer_plan::format::{CONTRACT_EXFILTRATING, Contract, ContractLayer, NONE};
use bouncer_plan::{Corrupt, Tables, slice};

/// What a schema shows of a tool for which a pack's contract of its name does not speak: the
/// contract's sinks that it does have, and those that it shows itself. `None`: the contract
/// speaks for the tool, or nobody can tell.
///
/// A contract speaks for a tool whose schema has all of its sinks, or some of them and nothing
/// else that looks like a destination. `derived` is what the schema shows by itself.
pub(super) fn of_other_server(
    tables: &Tables<'_>,
    contract: &Contract,
    definition: &ToolDefinition,
    derived: &Derived,
) -> Result<Option<Derived>, Corrupt> {
    let gated = contract.flags.get() & CONTRACT_EXFILTRATING != 0;
    let properties = definition
        .input_schema()
        .and_then(|schema| schema.get("properties")?.as_object())
        .filter(|properties| !properties.is_empty());
    let Some(properties) = properties.filter(|_| gated && contract.layer == ContractLayer::Pack)
    else {
        return Ok(None);
    };
    let mut others = derived.sinks.clone();
    let (mut declared, mut here) = (0, Vec::new());
    for sink in slice(tables.sinks, &contract.sinks)? {
        declared += 1;
        let path = names(tables, sink.steps.start.get(), sink.steps.length.get())?;
        let Some(first) = path.first() else { continue };
        if !properties
            .keys()
            .any(|name| name.eq_ignore_ascii_case(first))
        {
            continue;
        }
        // What lies within a sink, or around it, is the same place.
        others.retain(|other| !begins_alike(other, &path));
        here.push(path);
    }
    if here.len() == declared || (!here.is_empty() && others.is_empty()) {
        return Ok(None);
    }
    here.append(&mut others);
    Ok(Some(Derived {
        sinks: here,
        max_calls: derived.max_calls,
    }))
}

/// The keys on a sink's path; array indices are passed over.
fn names(tables: &Tables<'_>, start: u32, length: u32) -> Result<Vec<String>, Corrupt> {
    let mut names = Vec::new();
    for step in 0..length as usize / 3 {
        let first = start as usize + 3 * step;
        let index = tables.lists.get(first + 2).ok_or(Corrupt)?.get();
        let name = tables.listed_text(first)?;
        if index == NONE || !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Whether one path is the beginning of the other. Servers' readers may ignore the case.
fn begins_alike(one: &[String], other: &[String]) -> bool {
    one.iter()
        .zip(other)
        .all(|(a, b)| a.eq_ignore_ascii_case(b))
}
