//! The predecessor's building blocks where this project has a counterpart: what
//! heuristics derive from a schema, and which texts count as the same.

use bouncer_compiler::{Input, Options, load};
use bouncer_engine::gate::Attempt;
use bouncer_engine::tools::{Heuristics, ToolDefinition};
use bouncer_plan::Verdict;
use bouncer_reader::text;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn cases(function: &str) -> Vec<Value> {
    include_str!("../../vectors/contracts-primitives.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|case| case["fn"] == function)
        .collect()
}

fn heuristics() -> Heuristics {
    let input = Input {
        name: "empty.yaml",
        text: "{}\n",
    };
    let options = Options {
        packs: false,
        heuristics: true,
    };
    load(&[input], &options).unwrap().policy.heuristics.unwrap()
}

#[test]
fn heuristics_derive_what_the_predecessor_did_or_more() {
    let heuristics = heuristics();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases("derive_policy") {
        let definition = json!({ "name": case["name"], "inputSchema": case["schema"] });
        let ours = heuristics.derive(&ToolDefinition::from_json(definition).unwrap());
        let theirs = &case["out"];
        let sinks = theirs["sink_params"].as_array().unwrap();
        for sink in sinks {
            let sink = sink.as_str().unwrap();
            let found = ours
                .sinks
                .iter()
                .any(|path| path.first().is_none_or(|key| key == sink));
            assert!(found, "{sink} is no sink any more: {case}");
        }
        let budget = ours.max_calls.map(u64::from);
        let class = match (theirs["max_calls"].as_u64(), budget) {
            (Some(_), None) => {
                let name = case["name"].as_str().unwrap();
                assert!(!has_verb(name), "a verb of its own lost its budget: {case}");
                "laxer: a verb inside another word is no verb"
            }
            (Some(theirs), Some(ours)) if ours > theirs => panic!("a larger budget: {case}"),
            (None, Some(_)) => "stricter: more verbs destroy",
            _ if ours.sinks.len() > sinks.len() => "stricter: more names are destinations",
            _ => "same",
        };
        *classes.entry(class).or_default() += 1;
    }
    println!("{classes:#?}");
    assert_eq!(classes.values().sum::<usize>(), 520);
    assert_eq!(classes, EXPECTED.iter().copied().collect());
}

const EXPECTED: [(&str, usize); 3] = [
    ("laxer: a verb inside another word is no verb", 160),
    ("same", 270),
    ("stricter: more names are destinations", 90),
];

/// Whether a word of the name, split at separators and humps, is or begins with a verb
/// that destroys.
fn has_verb(name: &str) -> bool {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            ' '
        });
    }
    let whole = name.to_ascii_lowercase();
    spaced.split(' ').chain([whole.as_str()]).any(|word| {
        ["rm", "drop"].contains(&word) || word.starts_with("delete") || word.starts_with("remove")
    })
}

/// What the predecessor took for the same text is the same here, so taint that it saw
/// is seen.
#[test]
fn texts_that_were_alike_are_alike() {
    let fold = |input: &str| {
        let mut folded = String::new();
        text::fold(input, &mut folded);
        folded
    };
    let cases = cases("normalize");
    assert_eq!(cases.len(), 254);
    for case in cases {
        let (input, output) = (case["in"].as_str().unwrap(), case["out"].as_str().unwrap());
        assert_eq!(fold(input), fold(output), "{case}");
    }
}

/// Judges one call of `tool`, after an untrusted output.
fn judge(policy: &str, tool: &str, arguments: &Value, read: Option<&str>) -> Verdict {
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let input = Input {
        name: "policy.yaml",
        text: policy,
    };
    let policy = load(&[input], &options).unwrap().policy;
    let mut gate = crate::engine::compiled(&policy);
    if let Some(read) = read {
        gate.record_untrusted(&json!(read));
    }
    let raw = arguments.to_string();
    let call = crate::reference::RefCall {
        server: None,
        tool,
        arguments: Some(raw.as_bytes()),
    };
    gate.decide(&call, Attempt::First, 0).verdict
}

#[test]
fn every_destination_that_the_predecessor_saw_is_judged() {
    let policy = "send: { exfiltrating: true, sink_params: [to] }\n";
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases("scalar_dests") {
        let arguments = json!({ "to": case["in"] });
        let seen = case["out"].as_array().unwrap();
        let alone = judge(policy, "send", &arguments, None);
        assert!(alone >= Verdict::Ask, "{case}");
        for destination in seen {
            let destination = destination.as_str().unwrap();
            let mut canonical = String::new();
            text::canonical(destination, &mut canonical);
            let known = canonical.chars().count() >= 6;
            let verdict = judge(policy, "send", &arguments, Some(destination));
            let class = match (known, verdict) {
                (true, Verdict::Deny) => "denied where it was read",
                (false, _) => "too short to be found",
                _ => panic!("{destination:?} is not seen: {case}"),
            };
            *classes.entry(class).or_default() += 1;
        }
        if seen.is_empty() {
            *classes.entry("no destination: asked").or_default() += 1;
        }
    }
    println!("{classes:#?}");
    let expected = [
        ("denied where it was read", 66),
        ("no destination: asked", 5),
        ("too short to be found", 14),
    ];
    assert_eq!(classes, expected.into());
}

#[test]
fn a_path_is_judged_as_what_it_normalises_to_or_stricter() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for prefix in [".", "/out", "out", "/etc", "a"] {
        let policy = format!(
            "write: {{ write_params: [p], allowed_path_prefixes: [{}] }}\n",
            json!(prefix)
        );
        for case in cases("normpath") {
            let ours = judge(&policy, "write", &json!({ "p": case["in"] }), None);
            let theirs = judge(&policy, "write", &json!({ "p": case["out"] }), None);
            assert!(ours >= theirs, "{prefix}: {case}");
            let class = if ours == theirs { "same" } else { "stricter" };
            *counts.entry(class).or_default() += 1;
        }
    }
    println!("{counts:#?}");
    assert_eq!(counts, [("same", 209), ("stricter", 1)].into());
}

#[test]
fn a_scalar_is_matched_as_the_text_it_was_to_the_predecessor_where_json_spells_it_so() {
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases("py_str_repr") {
        let shown = case["str"].as_str().unwrap();
        let pattern = regex::escape(shown);
        let policy = format!("t: {{ arg_patterns: {{ a: {} }} }}\n", json!(pattern));
        let verdict = judge(&policy, "t", &json!({ "a": case["in"] }), None);
        let class = match (&case["in"], verdict) {
            (Value::String(_), Verdict::Allow) => "the same text",
            (Value::Number(n), Verdict::Allow) if n.to_string() == shown => "the same number",
            (Value::String(_) | Value::Number(_), _) => {
                "stricter: white space, and Python's numbers"
            }
            // Python's words for these, and its way to write containers, are no JSON.
            (_, Verdict::Deny) => "stricter: Python's spelling matches nothing",
            _ => panic!("{case}"),
        };
        *classes.entry(class).or_default() += 1;
    }
    println!("{classes:#?}");
    let expected = [
        ("stricter: Python's spelling matches nothing", 4),
        ("stricter: white space, and Python's numbers", 2),
        ("the same number", 5),
        ("the same text", 11),
    ];
    assert_eq!(classes, expected.into());
}
