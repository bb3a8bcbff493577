//! The JSON Schema of policies against the compiler: what compiles is valid, and what is
//! refused for its keys or types is not.

use super::command::bouncer;
use super::findings::invalid;
use bouncer_compiler::{Document, schema};
use serde_json::{Value, json};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Codes of mistakes that a schema can see: unknown and missing keys, types, words,
/// versions, empty conditions.
const SEEN: [&str; 8] = [
    "B0201", "B0202", "B0203", "B0204", "B0205", "B0207", "B0401", "B0402",
];

/// Numbers that the compiler refuses for their spelling, which JSON Schema does not see.
const SPELT: [&str; 3] = ["max_calls: 2.0\n", "max_calls: 1e3\n", "max_calls: 010\n"];

/// A policy as JSON, if it is one document of YAML.
fn value(text: &str) -> Option<Value> {
    let document = Document::parse("p.yaml", text).ok()?;
    serde_json::from_str(&document.root().json()).ok()
}

#[test]
fn the_command_prints_it() {
    let output = bouncer().arg("schema").output().unwrap();
    assert!(output.status.success());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, schema());
}

#[test]
fn policies_that_compile_are_valid_and_mistakes_are_not() {
    let mut good: Vec<(String, Value)> = Vec::new();
    let mut bad: Vec<(String, Value)> = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/corpus")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        for (number, line) in (1..).zip(std::fs::read_to_string(&path).unwrap().lines()) {
            if !line.starts_with("{\"policy\"") {
                continue;
            }
            let case: Value = serde_json::from_str(line).unwrap();
            let Some(document) = value(case["policy"].as_str().unwrap()) else {
                continue;
            };
            let at = format!("{name}:{number}: {}", case["policy"]);
            match case["code"].as_str() {
                None => good.push((at, document)),
                Some(code) if SEEN.contains(&code) => bad.push((format!("{code} {at}"), document)),
                Some(_) => {}
            }
        }
    }
    for name in [
        "policy.yaml",
        "demo.yaml",
        "border-patrol.yaml",
        "bouncer.yaml",
    ] {
        let text = std::fs::read_to_string(root().join("examples").join(name)).unwrap();
        good.push((name.to_owned(), value(&text).unwrap()));
    }
    assert!(
        good.len() > 100 && bad.len() > 40,
        "{} {}",
        good.len(),
        bad.len()
    );
    let (good, bad) = (good.as_slice(), bad.as_slice());
    let documents: Vec<Value> = good
        .iter()
        .chain(bad)
        .map(|(_, document)| document.clone())
        .collect();
    let errors = invalid(&schema(), &documents);
    let mut wrong = Vec::new();
    for ((at, _), error) in good.iter().zip(&errors) {
        if !error.is_null() {
            wrong.push(format!("compiles and is invalid: {at}: {error}"));
        }
    }
    for ((at, _), error) in bad.iter().zip(errors.iter().skip(good.len())) {
        let spelling = SPELT
            .iter()
            .any(|end| at.ends_with(&format!("{}\"", end.escape_debug())));
        if error.is_null() != spelling {
            wrong.push(format!(
                "is refused and valid, or the other way round: {at}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each key of the schema, put where it belongs with a value of its own type, is one that
/// the compiler knows.
#[test]
fn every_key_of_the_schema_is_known_to_the_compiler() {
    let schema = schema();
    let keys = |definition: &str| -> Vec<String> {
        let properties = schema["definitions"][definition]["properties"]
            .as_object()
            .unwrap();
        properties
            .keys()
            .filter(|key| *key != "<<")
            .cloned()
            .collect()
    };
    let refused = |text: &str| {
        let input = bouncer_compiler::Input { name: "p", text };
        let loaded = bouncer_compiler::load(&[input], &bouncer_compiler::Options::default());
        match loaded {
            Ok(_) => false,
            Err(errors) => errors.list().iter().any(|e| e.code.name() == "B0201"),
        }
    };
    for (definition, place) in [
        ("native", "version: 1\nKEY: 1\n"),
        ("ruleFile", "rules: []\nKEY: 1\n"),
        ("contract", "version: 1\ntools: {t: {KEY: 1}}\n"),
        ("nativeRule", "version: 1\nrules: [{KEY: 1}]\n"),
        ("rule", "rules: [{KEY: 1}]\n"),
        (
            "nativeTests",
            "version: 1\nrules: [{tool: t, action: ask, match: {a: {KEY: 1}}}]\n",
        ),
        (
            "tests",
            "rules: [{tool: t, action: ask, match: {a: {KEY: 1}}}]\n",
        ),
    ] {
        let keys = keys(definition);
        assert!(keys.len() >= 4, "{definition}");
        for key in keys {
            assert!(!refused(&place.replace("KEY", &key)), "{definition}: {key}");
        }
        assert!(refused(&place.replace("KEY", "zzz")), "{definition}");
    }
    assert_eq!(
        schema["$schema"],
        json!("http://json-schema.org/draft-07/schema#")
    );
}
