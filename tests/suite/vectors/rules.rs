//! `rules-decisions.jsonl`: first match wins over ordered rules.

use super::{Tally, direction, read, verdict};
use crate::engine::{Make, definitions, reference};
use crate::reference::{RefCall, json, leaves, text};
use bouncer_compiler::policy::{
    Cond, Fallback, Op, Path, Pattern, Policy, Pos, Quantifier, Rule, RuleSet, Scalar, Segment,
    Subject, Test, ToolGlob, View,
};
use bouncer_runtime::gate::Attempt;
use serde_json::{Value, json};

/// Reads a predecessor's configuration.
fn policy(config: &Value) -> Result<Policy, String> {
    let mut rules = Vec::new();
    for (index, rule) in config["rules"].as_array().unwrap().iter().enumerate() {
        let at = Pos {
            file: 0,
            line: u32::try_from(index).unwrap() + 1,
            column: 1,
        };
        let mut tests = Vec::new();
        for (path, condition) in rule["match"].as_object().unwrap() {
            for (key, value) in condition.as_object().unwrap() {
                let pattern = |value: &Value| -> Result<Op, String> {
                    let written = value.as_str().ok_or("not a string")?.to_owned();
                    Ok(Op::Matches(Pattern {
                        regex: translated(&written)?,
                        written,
                    }))
                };
                let (negated, op) = match key.as_str() {
                    "equals" => (false, Op::Equals(scalar(value)?)),
                    "contains" => (false, Op::Contains(value.as_str().unwrap().to_owned())),
                    "regex" => (false, pattern(value)?),
                    "notRegex" => (true, pattern(value)?),
                    _ => return Err(format!("unknown key `{key}`")),
                };
                let test = Cond::Test(Test {
                    quantifier: Quantifier::Pick,
                    subject: Subject::Arg(argument(path), View::Value),
                    op,
                    at,
                });
                tests.push(if negated {
                    Cond::Not(Box::new(test))
                } else {
                    test
                });
            }
        }
        rules.push(Rule {
            tools: vec![ToolGlob {
                pattern: {
                    let glob = rule["tool"].as_str().unwrap();
                    if glob.contains('?') {
                        return Err("`?` in a glob".to_owned());
                    }
                    glob.to_owned()
                },
                native: false,
                at,
            }],
            condition: Cond::All(tests),
            action: verdict(&rule["action"]),
            reason: None,
            at,
        });
    }
    let fallback = |key: &str| Fallback {
        action: verdict(&config["defaults"][key]),
        at: None,
    };
    Ok(Policy {
        files: vec!["policy.yaml".to_owned()],
        rules: Some(RuleSet {
            rules,
            on_destructive_hint: fallback("onDestructiveHint"),
            on_unknown: fallback("onUnknown"),
        }),
        ..Policy::default()
    })
}

fn scalar(value: &Value) -> Result<Scalar, String> {
    Ok(match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Number(number) => Scalar::Number(number.to_string()),
        Value::String(text) => Scalar::Str(text.clone()),
        Value::Array(_) | Value::Object(_) => return Err("`equals` takes a scalar".to_owned()),
    })
}

fn argument(written: &str) -> Path {
    let path = written.strip_prefix("args.").unwrap_or(written);
    Path(
        path.split('.')
            .map(|key| Segment::Key(key.to_owned()))
            .collect(),
    )
}

fn translated(pattern: &str) -> Result<String, String> {
    let regex = pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\d", "[0-9]")
        .replace(r"\w", "[0-9A-Za-z_]");
    regex::Regex::new(&regex)
        .map(|_| regex)
        .map_err(|error| error.to_string())
}

fn compare(make: Make<'_>, expected: &str) {
    let mut tally = Tally::default();
    for case in read("rules-decisions.jsonl") {
        judge(&case, make, &mut tally);
    }
    tally.check(expected);
}

fn judge(case: &Value, make: Make<'_>, tally: &mut Tally) {
    let refused = case["expected"]["error"] == json!(true);
    let policy = match policy(&case["config"]) {
        Ok(policy) => policy,
        Err(_) if refused => return tally.count("both refuse to compile"),
        Err(error) => return tally.count(format!("does not compile: {}", kind(&error))),
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

fn kind(error: &str) -> &'static str {
    if error.contains("scalar") {
        "`equals` with a list or an object"
    } else if error.contains("glob") {
        "`?` in a glob was a quantifier by accident"
    } else {
        "a regex that is not regular, or that Rust reads otherwise"
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

#[test]
#[ignore = "until regexes are translated"]
fn reference_answers_as_the_predecessor() {
    compare(&reference, "");
}
