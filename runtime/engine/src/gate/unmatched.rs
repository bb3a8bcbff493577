//! Which names of a plan mean no tool that there is, for people to be told. Decides nothing.

use super::link::full_name;
use bouncer_plan::format::ContractLayer;
use bouncer_plan::{Corrupt, Tables, glob, requests};

/// The patterns of rules, and the keys of the user's own contracts, that mean none of
/// `tools`, each a server and a name. In order, each once.
///
/// What speaks of requests, or of a client's own tools, is left out: no server lists those.
/// Looks at each pattern with each tool; for the start and for reloads.
pub(super) fn unmatched<'t>(
    tables: &Tables<'_>,
    tools: impl Iterator<Item = (Option<&'t str>, &'t str)>,
) -> Result<Vec<String>, Corrupt> {
    let tools: Vec<(String, &str)> = tools
        .map(|(server, name)| (full_name(server, name), name))
        .collect();
    let mut unmatched = Vec::new();
    for group in tables.groups {
        let pattern = tables.text(&group.pattern)?;
        let met = |(full, _): &(String, &str)| glob::matches(group.kind, pattern, full);
        if !tools.iter().any(met) {
            unmatched.push(pattern.to_owned());
        }
    }
    for contract in tables.contracts {
        let key = tables.text(&contract.key)?;
        let met = |(full, name): &(String, &str)| full == key || *name == key;
        if contract.layer == ContractLayer::User && !tools.iter().any(met) {
            unmatched.push(key.to_owned());
        }
    }
    unmatched.retain(|name| !requests::is_request(name) && !is_of_a_client(name));
    unmatched.sort();
    unmatched.dedup();
    Ok(unmatched)
}

/// Whether a pattern speaks of what a client brings along, and no server lists.
fn is_of_a_client(pattern: &str) -> bool {
    pattern.starts_with("agent__")
}
