//! Which tools write, delete or run something without a bound and without a question:
//! found by judging a call of each, as an agent could make it.

use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use serde_json::{Map, Value, json};

/// Words of a name that say that a tool changes something or runs something.
const VERBS: [&str; 30] = [
    "append",
    "clear",
    "copy",
    "create",
    "delete",
    "drop",
    "edit",
    "eval",
    "evaluate",
    "exec",
    "execute",
    "insert",
    "kill",
    "merge",
    "move",
    "overwrite",
    "patch",
    "push",
    "put",
    "remove",
    "rename",
    "replace",
    "reset",
    "run",
    "save",
    "set",
    "shell",
    "update",
    "upload",
    "write",
];

/// A place that no bound would hold.
const ELSEWHERE: &str = "/bouncer-doctor/elsewhere";

/// The names of those tools. `changes`: what heuristics say of a tool.
pub(super) fn unbounded<'t>(
    plan: &Plan,
    server: &str,
    tools: &[&'t ToolDefinition],
    changes: &dyn Fn(&ToolDefinition) -> bool,
) -> Vec<&'t str> {
    let mut gate = Gate::new(plan.clone());
    let pinned: Vec<ToolDefinition> = tools.iter().map(|tool| (*tool).clone()).collect();
    gate.pin(Some(server), &pinned, None);
    let passes = |tool: &ToolDefinition| {
        let arguments = arguments(tool).to_string();
        let mut conversation = gate.conversation();
        let call = Call::hypothetical(Some(server), &tool.name, Some(arguments.as_bytes()));
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        decision.verdict() == Verdict::Allow
    };
    let acting = tools.iter().filter(|tool| acts(tool, changes));
    let found = acting.filter(|tool| passes(tool));
    found.map(|tool| tool.name.as_str()).collect()
}

/// Whether a tool changes or runs something, by its own word, by its name, or by what
/// heuristics make of it.
fn acts(tool: &ToolDefinition, changes: &dyn Fn(&ToolDefinition) -> bool) -> bool {
    if tool.read_only_hint == Some(true) {
        return false;
    }
    let named = words(&tool.name)
        .iter()
        .any(|word| VERBS.contains(&word.as_str()));
    tool.destructive_hint == Some(true) || named || changes(tool)
}

/// `moveFile` and `move-file` are `move` and `file`.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            out.push(String::new());
        }
        small = c.is_lowercase();
        if let Some(last) = out.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    out
}

/// Arguments of the shape that the tool wants.
fn arguments(tool: &ToolDefinition) -> Value {
    let schema = tool.input_schema();
    let properties = schema.and_then(|schema| schema.get("properties"));
    let mut out = Map::new();
    for (name, schema) in properties.and_then(Value::as_object).into_iter().flatten() {
        out.insert(name.clone(), value(schema));
    }
    Value::Object(out)
}

fn value(schema: &Value) -> Value {
    let listed = schema.get("enum").and_then(|values| values.get(0));
    if let Some(value) = listed.or_else(|| schema.get("const")) {
        return value.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => match schema.get("items") {
            // One level is enough to meet a bound.
            Some(items) if items.get("type") == Some(&json!("object")) => json!([{}]),
            Some(items) => json!([value(items)]),
            None => json!([]),
        },
        Some("object") => json!({}),
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        _ => json!(ELSEWHERE),
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolDefinition, Value, json};

    fn acts(tool: &ToolDefinition) -> bool {
        super::acts(tool, &|tool| {
            bouncer_engine::tools::guessed_effects(tool, "").intersects(bouncer_plan::Effects::HARD)
        })
    }

    fn tool(json: Value) -> ToolDefinition {
        ToolDefinition::from_json(json).unwrap()
    }

    #[test]
    fn names_and_hints_say_who_acts() {
        for name in [
            "write_file",
            "moveFile",
            "git-reset",
            "runCommand",
            "kubectl_exec",
        ] {
            assert!(acts(&tool(json!({ "name": name }))), "{name}");
        }
        for name in ["read_file", "list", "runbook_list", "settings"] {
            assert!(!acts(&tool(json!({ "name": name }))), "{name}");
        }
        let hinted = json!({"name": "x", "annotations": {"destructiveHint": true}});
        assert!(acts(&tool(hinted)));
        let reads = json!({"name": "run_query", "annotations": {"readOnlyHint": true}});
        assert!(!acts(&tool(reads)));
    }
}
