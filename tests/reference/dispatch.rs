//! The call within a call.

use bouncer_compiler::policy::Dispatch;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Calls within calls within a call.
pub const MOST: usize = 4;

/// The tool that a call of a dispatching tool calls, and its arguments. `None`: they
/// cannot be read, or could be read in two ways.
pub fn inner(dispatches: &Dispatch, arguments: Option<&[u8]>) -> Option<(String, Option<Vec<u8>>)> {
    let members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(arguments.unwrap_or(b"{}")).ok()?;
    for wanted in [&dispatches.tool, &dispatches.arguments] {
        let alike = |key: &&String| key.to_lowercase() == wanted.to_lowercase();
        if members.keys().filter(alike).any(|key| key != wanted) {
            return None;
        }
    }
    let name = members.get(&dispatches.tool)?.get();
    // A name with escapes could be read as another.
    if name.contains('\\') {
        return None;
    }
    let name: String = serde_json::from_str(name).ok()?;
    let arguments = members.get(&dispatches.arguments);
    let readable = arguments.is_none_or(|raw| raw.get().starts_with('{'));
    (readable && !name.is_empty())
        .then(|| (name, arguments.map(|raw| raw.get().as_bytes().to_vec())))
}
