//! `rules-decisions.jsonl`: first match wins over ordered rules.

use super::{Tally, direction, policy, read, verdict};
use crate::engine::{Make, compiled, definitions, reference};
use crate::reference::{RefCall, json, leaves, text};
use bouncer_compiler::Options;
use bouncer_compiler::policy::{Op, Rule, Scalar, Subject};
use bouncer_engine::gate::Attempt;
use serde_json::{Value, json};

fn compare(make: Make<'_>, expected: &str) {
    let mut tally = Tally::default();
    for case in read("rules-decisions.jsonl") {
        judge(&case, make, &mut tally);
    }
    tally.check(expected);
}

fn judge(case: &Value, make: Make<'_>, tally: &mut Tally) {
    let refused = case["expected"]["error"] == json!(true);
    // JSON is YAML.
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let policy = match policy(&case["config"].to_string(), &options) {
        Ok(policy) => policy,
        Err(_) if refused => return tally.count("both refuse to compile"),
        Err(error) => return tally.count(format!("does not compile: {error}")),
    };
    if refused {
        return tally.count("only the predecessor refuses: JavaScript knows no such regex or glob");
    }
    let tool = case["tool"].as_str().unwrap();
    let mut engine = make(&policy);
    let definition = json!({"name": tool, "annotations": case["annotations"]});
    engine.pin(None, &definitions(&[definition]), None);
    let bytes = case["args"].to_string().into_bytes();
    let call = RefCall {
        server: None,
        tool,
        arguments: Some(&bytes),
    };
    let ours = engine.decide(&call, Attempt::First, 0);
    let rules = &policy.rules.as_ref().unwrap().rules;
    let our_rule = rules
        .iter()
        .position(|rule| Some((rule.at.line, rule.at.column)) == ours.at);
    let theirs = verdict(&case["expected"]["action"]);
    let their_rule = case["expected"]["rule_index"]
        .as_u64()
        .map(|index| usize::try_from(index).unwrap());
    if ours.verdict == theirs && our_rule == their_rule {
        return tally.count("same");
    }
    let deciding: Vec<&Rule> = [our_rule, their_rule]
        .into_iter()
        .flatten()
        .map(|index| &rules[index])
        .collect();
    let direction = direction(ours.verdict, theirs);
    match explanation(&deciding, tool, &bytes) {
        Some((class, may_be_laxer)) if direction != "laxer" || may_be_laxer => {
            tally.count(format!("{direction}: {class}"));
        }
        _ => tally.unexplained(
            &format!("{direction}, {} by rule {our_rule:?}", ours.verdict),
            case,
        ),
    }
}

/// What the deciding rules look at that the predecessor saw otherwise.
fn explanation(rules: &[&Rule], tool: &str, bytes: &[u8]) -> Option<(&'static str, bool)> {
    let root = json::parse(bytes).unwrap();
    let mut classes: Vec<(&'static str, bool)> = Vec::new();
    for rule in rules {
        if tool.contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
            classes.push(("`*` in a glob also matches a line break", false));
        }
        crate::reference::condition::each_test(&rule.condition, &mut |test| {
            let Subject::Arg(path, _) = &test.subject else {
                unreachable!("the predecessor only has arguments");
            };
            if leaves::has_variant(&root, path) {
                classes.push(("keys that differ in case are one to some readers", false));
            }
            for node in leaves::nodes(&root, path) {
                match node {
                    json::Json::Array(_) => {
                        classes.push(("lists are judged per element", true));
                    }
                    json::Json::Object(_) => {
                        classes.push(("objects give their leaves", false));
                    }
                    json::Json::Str(value) => {
                        let text = !matches!(
                            test.op,
                            Op::Equals(Scalar::Number(_) | Scalar::Bool(_) | Scalar::Null)
                        );
                        if value.contains(['\u{1c}', '\u{1d}', '\u{1e}', '\u{1f}', '\u{85}']) {
                            classes.push(("white space is what any reader strips", false));
                        }
                        if text && text::forms(value).iter().any(|f| *f != text::plain(value)) {
                            classes.push(("restrictive tests see through disguises", false));
                        } else if !text {
                            classes.push(("`equals` also compares texts", false));
                        }
                    }
                    json::Json::Null => {}
                    json::Json::Number(_) | json::Json::Bool(_) => {
                        classes.push(("numbers and bools are texts, too", false));
                    }
                }
            }
        });
    }
    classes.sort_unstable();
    classes.first().copied()
}

const EXPECTED: &str = "
   23  both refuse to compile
    8  does not compile: B0304 a regular expression that does not compile
    5  does not compile: B0306 an argument path that cannot be read
   26  does not compile: B0402 `equals` with a list or a mapping
   27  does not compile: B0406 a tool glob that cannot be read
    3  laxer: lists are judged per element
 1410  same
    4  stricter: `*` in a glob also matches a line break
    2  stricter: `equals` also compares texts
    1  stricter: keys that differ in case are one to some readers
    2  stricter: lists are judged per element
   20  stricter: numbers and bools are texts, too
    5  stricter: objects give their leaves
   18  stricter: restrictive tests see through disguises
    8  stricter: white space is what any reader strips
";

#[test]
fn reference_answers_as_the_predecessor() {
    compare(&reference, EXPECTED);
}

#[test]
fn gate_answers_as_the_predecessor() {
    compare(&compiled, EXPECTED);
}
