//! The built-in packs against the tools that real servers list
//! (`tests/fixtures/tools/`, made by `update.py` there).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_compiler::policy::{Contract, Path, Segment};
use bouncer_compiler::{Options, load, packs};
use bouncer_engine::tools::ToolDefinition;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Servers whose domain no pack covers: their tools are for the heuristics.
const WITHOUT_PACK: [&str; 3] = ["everything", "sequential-thinking", "time"];

/// A saved `tools/list` answer.
struct Listed {
    server: String,
    package: String,
    tools: Vec<ToolDefinition>,
}

fn listed() -> Vec<Listed> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tools");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let text = |key: &str| json[key].as_str().unwrap().to_owned();
        let tools = json["tools"].as_array().unwrap().iter().cloned();
        all.push(Listed {
            server: text("server"),
            package: format!("{}@{}", text("package"), text("version")),
            tools: tools
                .map(|tool| ToolDefinition::from_json(tool).unwrap())
                .collect(),
        });
    }
    assert!(all.len() > 20, "the saved tool lists are missing");
    all
}

fn contracts() -> BTreeMap<String, Contract> {
    let loaded = load(&[], &Options::default()).expect("the packs compile");
    let contracts = loaded.policy.contracts.into_iter();
    contracts
        .map(|contract| (contract.key.clone(), contract))
        .collect()
}

/// `checked` of every entry, as the packs say it. The compiler does not keep it.
fn checked() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for pack in packs::all() {
        let mut tool = "";
        for line in pack.text.lines() {
            if let Some(value) = line.strip_prefix("    checked: ") {
                let value = value.trim_matches('"').to_owned();
                let before = all.insert(tool.to_owned(), value);
                assert!(before.is_none(), "`{tool}` stands in two packs");
            } else if let Some(name) = line.strip_prefix("  ").and_then(|l| l.strip_suffix(':'))
                && !name.starts_with([' ', '#'])
            {
                tool = name;
            }
        }
    }
    all
}

fn arguments(tool: &ToolDefinition) -> BTreeSet<&str> {
    let properties = tool
        .input_schema()
        .and_then(|schema| schema["properties"].as_object());
    properties
        .into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
        .collect()
}

fn argument(path: &Path) -> &str {
    match path.0.first() {
        Some(Segment::Key(key)) => key,
        _ => panic!("a path that names no argument: {path:?}"),
    }
}

#[test]
fn entries_are_checked_against_what_they_name() {
    let (listed, contracts, checked) = (listed(), contracts(), checked());
    let keys: Vec<_> = contracts.keys().collect();
    assert_eq!(
        keys,
        checked.keys().collect::<Vec<_>>(),
        "every entry says `checked`"
    );
    for (tool, package) in checked.iter().filter(|(_, package)| *package != "none") {
        let server = listed.iter().find(|server| server.package == *package);
        let server = server.unwrap_or_else(|| panic!("`{tool}`: no saved list of {package}"));
        let found = server.tools.iter().any(|listed| listed.name == *tool);
        assert!(found, "{package} lists no `{tool}`");
    }
}

#[test]
fn every_tool_of_the_covered_servers_has_an_entry() {
    let contracts = contracts();
    for server in listed()
        .iter()
        .filter(|s| !WITHOUT_PACK.contains(&s.server.as_str()))
    {
        for tool in &server.tools {
            assert!(
                contracts.contains_key(&tool.name),
                "{}: `{}`",
                server.package,
                tool.name
            );
        }
    }
}

#[test]
fn declared_arguments_exist() {
    let listed = listed();
    for (name, contract) in contracts() {
        let tools: Vec<_> = listed
            .iter()
            .flat_map(|s| &s.tools)
            .filter(|t| t.name == name)
            .collect();
        if tools.is_empty() {
            continue;
        }
        let known: BTreeSet<&str> = tools.iter().flat_map(|tool| arguments(tool)).collect();
        let written = contract.write_params.iter().map(|param| &param.path);
        for path in written.chain(contract.arg_patterns.iter().map(|pattern| &pattern.path)) {
            assert!(known.contains(argument(path)), "`{name}` has no {path:?}");
        }
        for tool in tools.iter().filter(|_| !contract.sinks.is_empty()) {
            let arguments = arguments(tool);
            let any = contract
                .sinks
                .iter()
                .any(|sink| arguments.contains(argument(&sink.path)));
            assert!(any, "none of the sinks of `{name}` is an argument of it");
        }
    }
}

/// What the shipped heuristics make of real tools without any pack: they end, and find
/// what the packs gate, but for sinks that only a person can see.
#[test]
fn heuristics_on_real_tools() {
    let loaded = load(&[], &Options::default()).unwrap();
    let heuristics = loaded
        .policy
        .heuristics
        .expect("the heuristics are shipped");
    let mut without_pack = Vec::new();
    for server in listed() {
        for tool in &server.tools {
            let derived = heuristics.derive(tool);
            assert!(
                derived.sinks.iter().all(|sink| !sink.is_empty()),
                "`{}`",
                tool.name
            );
            let found = !derived.sinks.is_empty() || derived.max_calls.is_some();
            if found && WITHOUT_PACK.contains(&server.server.as_str()) {
                without_pack.push(tool.name.clone());
            }
            for word in ["send_email", "slack_post_message", "fetch", "addPermission"] {
                assert!(tool.name != word || !derived.sinks.is_empty(), "`{word}`");
            }
        }
    }
    assert_eq!(without_pack, ["gzip-file-as-resource"], "takes a URL");
}
