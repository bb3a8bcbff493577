//! The tools that a server lists: how they are read, and how many there may be.

use bouncer_engine::tools::ToolDefinition;
use bouncer_system::log::{note, quoted};
use serde_json::Value;
use std::collections::HashMap;

/// Pages of one listing.
pub(crate) const MAX_PAGES: usize = 1000;
/// Tools of one listing.
pub(crate) const MAX_TOOLS: usize = 10_000;
/// The longest cursor, in bytes.
pub(crate) const MAX_CURSOR: usize = 64 * 1024;
/// The tools of one page. One that is not even a tool does not remove the others.
pub(crate) fn read_tools(result: &Value) -> Vec<ToolDefinition> {
    let items = result.get("tools").and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| match ToolDefinition::from_json(item.clone()) {
            Ok(tool) => Some(tool),
            Err(error) => {
                note(format_args!("{error}; it stays unknown"));
                None
            }
        })
        .collect()
}

/// Drops tools that are listed twice with different definitions: there is no telling
/// which one a call would meet.
pub(crate) fn without_contradictions(tools: Vec<ToolDefinition>) -> Vec<ToolDefinition> {
    let mut digests: HashMap<String, Option<[u8; 32]>> = HashMap::new();
    for tool in &tools {
        let digest = digests
            .entry(tool.name.clone())
            .or_insert(Some(tool.digest));
        if *digest != Some(tool.digest) {
            *digest = None;
        }
    }
    tools
        .into_iter()
        .filter(|tool| {
            // The first of equal ones is kept.
            match digests.get_mut(&tool.name) {
                Some(digest @ Some(_)) => {
                    *digest = None;
                    true
                }
                _ => {
                    note(format_args!(
                        "tool {} is listed twice",
                        quoted(&tool.name, 200)
                    ));
                    false
                }
            }
        })
        .collect()
}
