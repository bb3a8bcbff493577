//! What the two predecessors made of policy files, against what this compiler makes
//! of them: the same, or an error where they accepted nonsense. Every difference
//! belongs to a named class with a count, so that a new one fails the test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_compiler::policy::{
    Cond, Contract, Op, Path, Policy, Rule, Scalar, Segment, Subject, Transport, TrustedForm,
};
use bouncer_compiler::{Input, Options, load};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What became of one case.
enum Outcome {
    /// The same policy, or an error on both sides.
    Same,
    /// This compiler refuses what the predecessor accepted. Codes of the errors.
    Refused(Vec<&'static str>),
    /// Accepted by both, with a different meaning.
    Different(Value),
    /// Accepted here only.
    Laxer,
}

fn outcome(
    name: &str,
    text: &str,
    expected: Option<&Value>,
    read: fn(&Policy) -> Value,
) -> Outcome {
    let options = Options {
        packs: false,
        heuristics: false,
    };
    match (load(&[Input { name, text }], &options), expected) {
        (Err(_), None) => Outcome::Same,
        (Ok(_), None) => Outcome::Laxer,
        (Err(errors), Some(_)) => {
            let mut codes: Vec<_> = errors
                .list()
                .iter()
                .filter(|d| d.severity == bouncer_compiler::diagnostic::Severity::Error)
                .map(|d| d.code.name())
                .collect();
            codes.dedup();
            Outcome::Refused(codes)
        }
        (Ok(loaded), Some(expected)) => {
            let got = read(&loaded.policy);
            if got == *expected {
                Outcome::Same
            } else {
                Outcome::Different(got)
            }
        }
    }
}

/// Runs all cases of a file; `same` counts those without difference.
fn classes(
    file: &str,
    key: &str,
    expected: fn(&Value) -> Option<Value>,
    read: fn(&Policy) -> Value,
) -> BTreeMap<String, usize> {
    let path = format!("{}/../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut classes = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let note = case["note"].as_str().unwrap();
        let text = case[key].as_str().unwrap();
        let wanted = expected(&case["expected"]);
        let class = match outcome("case.yaml", text, wanted.as_ref(), read) {
            Outcome::Same => "same".to_owned(),
            Outcome::Refused(codes) => format!("refused: {}", codes.join(" ")),
            Outcome::Different(got) => panic!("{note}: got {got}, predecessor {wanted:?}"),
            Outcome::Laxer => panic!("{note}: accepted here only"),
        };
        println!("{class:30} {note}");
        *classes.entry(class).or_insert(0) += 1;
    }
    classes
}

fn assert_classes(got: &BTreeMap<String, usize>, wanted: &[(&str, usize, &str)]) {
    let wanted: BTreeMap<String, usize> = wanted
        .iter()
        .map(|(class, count, _)| ((*class).to_owned(), *count))
        .collect();
    assert_eq!(*got, wanted);
}

#[test]
fn contracts() {
    let expected = |case: &Value| case.get("policies").cloned();
    let got = classes("contracts-load.jsonl", "policy_yaml", expected, |policy| {
        let entries = policy
            .contracts
            .iter()
            .map(|c| (c.key.clone(), contract(c)));
        Value::Object(entries.collect())
    });
    assert_classes(&got, CONTRACT_CLASSES);
}

#[test]
fn rules() {
    let expected = |case: &Value| {
        let mut config = case.get("config")?.clone();
        // Checked here, but no part of the policy.
        config.as_object_mut()?.remove("approval");
        Some(config)
    };
    let got = classes("rules-load.jsonl", "yaml", expected, |policy| {
        let rules = policy.rules.as_ref().unwrap();
        let servers: Map<String, Value> = policy
            .servers
            .iter()
            .map(|s| (s.name.clone(), transport(&s.transport)))
            .collect();
        json!({
            "servers": servers,
            "rules": rules.rules.iter().map(rule).collect::<Vec<_>>(),
            "defaults": {
                "onDestructiveHint": rules.on_destructive_hint.action.name(),
                "onUnknown": rules.on_unknown.action.name(),
            },
            "audit": { "path": audit(policy.audit_path.as_deref()) },
        })
    });
    assert_classes(&got, RULES_CLASSES);
}

fn contract(contract: &Contract) -> Value {
    let texts = |paths: Vec<&Path>| -> Vec<String> { paths.iter().map(|p| key(p)).collect() };
    json!({
        "name": contract.key,
        "exfiltrating": contract.exfiltrating,
        "sink_params": texts(contract.sinks.iter().map(|s| &s.path).collect()),
        "trusted_destinations": contract.trusted.iter().map(|t| match &t.form {
            TrustedForm::Exact(text) => text.clone(),
            other => panic!("{other:?}"),
        }).collect::<Vec<_>>(),
        "write_params": texts(contract.write_params.iter().map(|w| &w.path).collect()),
        "allowed_path_prefixes": contract.prefixes.iter().map(|p| &p.prefix).collect::<Vec<_>>(),
        "arg_patterns": contract.arg_patterns.iter()
            .map(|p| json!([key(&p.path), p.pattern.written])).collect::<Vec<_>>(),
        "max_calls": contract.max_calls.map(|(count, _)| count),
    })
}

/// The one key of a contract's path.
fn key(path: &Path) -> String {
    match path.0.as_slice() {
        [Segment::Key(key)] => key.clone(),
        other => panic!("{other:?}"),
    }
}

fn transport(transport: &Transport) -> Value {
    match transport {
        Transport::Stdio {
            command, args, env, ..
        } => {
            let env: Map<String, Value> = env
                .iter()
                .map(|(k, v)| (k.clone(), v.clone().into()))
                .collect();
            json!({"command": command, "args": args, "env": env})
        }
        Transport::Http { url, headers } => {
            let headers: Map<String, Value> = headers
                .iter()
                .map(|(k, v)| (k.clone(), v.clone().into()))
                .collect();
            json!({"url": url, "headers": headers})
        }
    }
}

fn rule(rule: &Rule) -> Value {
    let mut out = json!({
        "tool": rule.tools[0].pattern,
        "match": matched(&rule.condition),
        "action": rule.action.name(),
    });
    if let Some(reason) = &rule.reason {
        out["reason"] = json!(reason);
    }
    out
}

fn matched(cond: &Cond) -> Value {
    let Cond::All(parts) = cond else {
        panic!("{cond:?}")
    };
    let mut out = json!({});
    for part in parts {
        let (test, negated) = match part {
            Cond::Test(test) => (test, false),
            Cond::Not(inner) => match &**inner {
                Cond::Test(test) => (test, true),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        let Subject::Arg(path, _) = &test.subject else {
            panic!("{test:?}")
        };
        let keys: Vec<_> = path
            .0
            .iter()
            .map(|s| match s {
                Segment::Key(key) => key.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        let (name, value) = match &test.op {
            Op::Matches(pattern) if negated => ("notRegex", json!(pattern.written)),
            Op::Matches(pattern) => ("regex", json!(pattern.written)),
            Op::Part(part, text) => (part.name(), json!(text)),
            Op::Equals(scalar) => ("equals", self::scalar(scalar)),
            other => panic!("{other:?}"),
        };
        out[keys.join(".")][name] = value;
    }
    out
}

fn scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Str(text) => json!(text),
        Scalar::Number(text) => serde_json::from_str(text).unwrap(),
        Scalar::Bool(value) => json!(value),
        Scalar::Null => Value::Null,
    }
}

fn audit(path: Option<&str>) -> String {
    match path.unwrap_or(".border-patrol/audit.jsonl") {
        absolute if absolute.starts_with('/') => absolute.to_owned(),
        relative => format!("<DIR>/{relative}"),
    }
}

/// Class, count, why.
const CONTRACT_CLASSES: &[(&str, usize, &str)] = &[
    ("same", 13, "the same contracts, or an error on both sides"),
    ("refused: B0102", 2, "of two equal keys, the last won"),
    (
        "refused: B0105",
        1,
        "an alias inside its own anchor was followed",
    ),
    ("refused: B0108", 3, "an empty file enforced nothing"),
    (
        "refused: B0109",
        4,
        "a false, zero or empty top enforced nothing",
    ),
    (
        "refused: B0111",
        4,
        "a tool's name became a number, bool, null or date",
    ),
    ("refused: B0201", 4, "an unknown key was ignored"),
    (
        "refused: B0202",
        19,
        "a value of the wrong type became nothing, or some text",
    ),
    (
        "refused: B0202 B0208",
        1,
        "the same, and `on` as a name became `True`",
    ),
    (
        "refused: B0205",
        4,
        "an odd number became no limit, or another number",
    ),
    (
        "refused: B0304",
        1,
        "look-ahead, which cannot run in linear time",
    ),
];
/// Class, count, why.
const RULES_CLASSES: &[(&str, usize, &str)] = &[
    ("same", 43, "the same rules, or an error on both sides"),
    ("refused: B0108", 3, "an empty file enforced nothing"),
    ("refused: B0201", 7, "an unknown key was ignored"),
    (
        "refused: B0304",
        1,
        "a regex that does not compile was found out only later",
    ),
    ("refused: B0306", 1, "a test on `__proto__` was dropped"),
    ("refused: B0402", 1, "`equals` with a list never matched"),
    ("refused: B0406", 1, "`?` in a glob was a quantifier"),
    (
        "refused: B0601",
        1,
        "of `command` and `url`, the second was ignored",
    ),
];
