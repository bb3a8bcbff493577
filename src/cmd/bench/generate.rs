//! Calls made from a plan: its tools, its paths, and the literals it knows.

use super::Sample;
use bouncer_engine::gate::Gate;
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Tables;
use bouncer_plan::format::{LiteralKind, LiteralSet, Range, Str};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Tools of the plan that calls are made for; of more, these are taken evenly.
const MAX_TOOLS: usize = 1000;
/// A value that no literal is likely to equal.
const ORDINARY: &str = "an ordinary value of a few words";

/// Two calls a tool: one with ordinary values, one with values that the plan knows. The
/// tools are pinned, as they would be after a listing.
pub fn calls(gate: &mut Gate) -> Vec<Sample> {
    let tools = tools(gate.plan().tables());
    let step = tools.len().div_ceil(MAX_TOOLS).max(1);
    let chosen: Vec<Tool> = tools.into_values().step_by(step).collect();
    let mut listed: BTreeMap<Option<String>, BTreeSet<String>> = BTreeMap::new();
    for tool in &chosen {
        listed
            .entry(tool.server.clone())
            .or_default()
            .insert(tool.name.clone());
    }
    for (server, names) in listed {
        let definitions: Vec<ToolDefinition> = names
            .into_iter()
            .filter_map(|name| ToolDefinition::from_json(json!({ "name": name })).ok())
            .collect();
        gate.pin(server.as_deref(), &definitions, None);
    }
    chosen
        .into_iter()
        .flat_map(|tool| {
            let arguments = [tool.arguments(false), tool.arguments(true)];
            arguments.map(|arguments| Sample {
                server: tool.server.clone(),
                tool: tool.name.clone(),
                arguments: Some(arguments),
            })
        })
        .collect()
}

/// A tool that the plan names, and what it looks at.
#[derive(Default)]
struct Tool {
    server: Option<String>,
    name: String,
    /// By path: a value that the plan knows, if there is one.
    known: BTreeMap<Vec<String>, Option<String>>,
}

impl Tool {
    fn arguments(&self, known: bool) -> String {
        let mut root = Map::new();
        for (path, value) in &self.known {
            let value = value.as_deref().filter(|_| known).unwrap_or(ORDINARY);
            insert(&mut root, path, value);
        }
        Value::Object(root).to_string()
    }
}

/// Puts a value at a path, unless something else stands in the way.
fn insert(object: &mut Map<String, Value>, path: &[String], value: &str) {
    match path {
        [] => {}
        [last] => {
            object.entry(last.clone()).or_insert_with(|| json!(value));
        }
        [first, rest @ ..] => {
            let inner = object
                .entry(first.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// The tools of contracts and of rules' patterns; a glob becomes one name.
fn tools(tables: &Tables<'_>) -> BTreeMap<String, Tool> {
    let paths = paths(tables);
    let text = |string: &Str| tables.text(string).unwrap_or_default().to_owned();
    let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
    let tool = |pattern: &str| -> Option<Tool> {
        let full = pattern.replace(['*', '?'], "x");
        (!full.is_empty() && !full.contains('[')).then(|| {
            let (server, name) = match full.split_once("__") {
                Some((server, name)) => (Some(server.to_owned()), name.to_owned()),
                None => (None, full),
            };
            Tool {
                server,
                name,
                known: BTreeMap::new(),
            }
        })
    };
    for group in tables.groups {
        let pattern = text(&group.pattern);
        let Some(fresh) = tool(&pattern) else {
            continue;
        };
        let known = &mut tools.entry(pattern).or_insert(fresh).known;
        for dimension in part(tables.dimensions, &group.dimensions) {
            if let Some(path) = paths.get(dimension.path.get() as usize) {
                let literal = literal(tables, dimension.literals.get());
                let slot = known.entry(path.clone()).or_default();
                *slot = slot.take().or(literal);
            }
        }
    }
    for contract in tables.contracts {
        let key = text(&contract.key);
        let Some(fresh) = tool(&key) else { continue };
        let known = &mut tools.entry(key).or_insert(fresh).known;
        let trusted = literal(tables, contract.trusted.get());
        for sink in part(tables.sinks, &contract.sinks) {
            let path = text(&sink.name).split('.').map(str::to_owned).collect();
            known.insert(path, trusted.clone());
        }
        for constraint in part(tables.constraints, &contract.constraints) {
            if let Some(path) = paths.get(constraint.path.get() as usize) {
                let prefix = part(tables.lists, &constraint.prefixes);
                let value = match prefix {
                    [start, length, ..] => text(&Str {
                        start: *start,
                        length: *length,
                    }),
                    _ => ORDINARY.to_owned(),
                };
                known.insert(path.clone(), Some(value));
            }
        }
    }
    tools
}

/// The records of a range.
fn part<'t, T>(table: &'t [T], range: &Range) -> &'t [T] {
    let start = range.start.get() as usize;
    let end = start.saturating_add(range.length.get() as usize);
    table.get(start..end).unwrap_or_default()
}

/// A value that a literal set holds.
fn literal(tables: &Tables<'_>, set: u32) -> Option<String> {
    let set: &LiteralSet = tables.literal_sets.get(set as usize)?;
    let slots = part(tables.literal_slots, &set.slots);
    let used = slots.iter().find(|slot| slot.kind != LiteralKind::Empty)?;
    let key = tables.text(&used.key).ok()?;
    Some(match used.kind {
        LiteralKind::AtDomain => format!("someone@{key}"),
        LiteralKind::Below => format!("host.{key}"),
        LiteralKind::String
        | LiteralKind::Number
        | LiteralKind::Bool
        | LiteralKind::Null
        | LiteralKind::Folded => key.to_owned(),
        LiteralKind::Empty => return None,
    })
}

/// The steps of each path, from the trie.
fn paths(tables: &Tables<'_>) -> Vec<Vec<String>> {
    let mut paths = vec![Vec::new(); tables.paths.len()];
    let mut steps: Vec<Vec<String>> = vec![Vec::new(); tables.path_nodes.len()];
    for (index, node) in tables.path_nodes.iter().enumerate() {
        let here = steps.get(index).cloned().unwrap_or_default();
        // Children come after their parents.
        for edge in part(tables.path_edges, &node.edges) {
            let mut path = here.clone();
            path.push(tables.text(&edge.key).unwrap_or_default().to_owned());
            if let Some(slot) = steps.get_mut(edge.child.get() as usize) {
                *slot = path;
            }
        }
        if let Some(slot) = paths.get_mut(node.path.get() as usize) {
            *slot = here;
        }
    }
    paths
}
