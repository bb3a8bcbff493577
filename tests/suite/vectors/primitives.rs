//! The predecessor's building blocks where this project has a counterpart: what
//! heuristics derive from a schema, and which texts count as the same.

use bouncer_compiler::{Input, Options, load};
use bouncer_runtime::text;
use bouncer_runtime::tools::{Heuristics, ToolDefinition};
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
