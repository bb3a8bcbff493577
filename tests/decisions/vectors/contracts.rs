//! `contracts-decisions.jsonl` and `contracts-route.jsonl`: contracts of single tools.

use super::{Tally, direction, read_with_arguments, verdict};
use crate::engine::{Answer, Engine, Make, compiled, definitions, reference};
use crate::reference::json::{self, Json};
use crate::reference::{RefCall, leaves, shared, text};
use bouncer_compiler::Options;
use bouncer_compiler::policy::{Contract, Policy, TrustedForm};
use bouncer_engine::gate::Attempt;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::{Value, json};

fn load(yaml: &str, packs: bool, heuristics: bool) -> Result<Policy, String> {
    super::policy(yaml, &Options { packs, heuristics })
}

/// An engine with the case's tools pinned, its outputs recorded, its approvals given.
fn prepared(case: &Value, policy: &Policy, make: Make<'_>) -> Box<dyn Engine> {
    let mut engine = make(policy);
    let tools: Vec<Value> = case["schemas"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, schema)| json!({"name": name, "inputSchema": schema}))
        .collect();
    engine.pin(None, &definitions(&tools), None);
    for output in case["prior_outputs"].as_array().unwrap() {
        record(engine.as_mut(), output);
    }
    for approval in case["approvals"].as_array().into_iter().flatten() {
        let part = |name: &str| approval[name].as_str().unwrap();
        engine.approve(None, part("tool"), part("param"), part("destination"));
    }
    engine
}

fn record(engine: &mut dyn Engine, output: &Value) {
    let result = json!({"content": [{"type": "text", "text": output}]});
    engine.record(None, "somewhere", &result);
}

fn decide(engine: &mut dyn Engine, tool: &str, arguments: &[u8], attempt: Attempt) -> Answer {
    let call = RefCall {
        server: None,
        tool,
        arguments: Some(arguments),
    };
    engine.decide(&call, attempt, 0)
}

fn decisions(make: Make<'_>, expected: &str) {
    let mut tally = Tally::default();
    for (case, arguments) in read_with_arguments("contracts-decisions.jsonl") {
        let flag = |name: &str| case[name] == json!(true);
        let policy = load(
            case["policy_yaml"].as_str().unwrap(),
            flag("use_packs"),
            flag("use_heuristics"),
        );
        let policy = match policy {
            Ok(policy) => policy,
            Err(error) => {
                tally.count(format!("does not compile: {error}"));
                continue;
            }
        };
        let mut engine = prepared(&case, &policy, make);
        let calls = case["calls"].as_array().unwrap();
        let expected = case["expected"].as_array().unwrap();
        for ((call, expected), bytes) in calls.iter().zip(expected).zip(&arguments) {
            let tool = call["tool"].as_str().unwrap();
            let attempt = if call["count_budget"] == json!(false) {
                Attempt::AfterApproval
            } else {
                Attempt::First
            };
            let ours = decide(engine.as_mut(), tool, bytes, attempt);
            let seen = Seen {
                policy: &policy,
                tool,
                arguments: &json::parse(bytes).unwrap(),
                ours: &ours,
                theirs: verdict(&expected["verdict"]),
                contract: expected["contract"].as_str().unwrap(),
            };
            classify(&seen, expected["ask_key"].as_str(), &mut tally, &case);
            if call["approve_after"] == json!(true)
                && let Some((param, destination)) = &ours.question
            {
                engine.approve(None, tool, param, destination);
            }
            for output in call["output_after"].as_array().into_iter().flatten() {
                record(engine.as_mut(), output);
            }
        }
    }
    tally.check(expected);
}

/// A call and both answers.
struct Seen<'a> {
    policy: &'a Policy,
    tool: &'a str,
    arguments: &'a Json,
    ours: &'a Answer,
    theirs: Verdict,
    contract: &'a str,
}

fn classify(seen: &Seen<'_>, ask_key: Option<&str>, tally: &mut Tally, case: &Value) {
    let direction = direction(seen.ours.verdict, seen.theirs);
    let same_key = || {
        let ours = seen.ours.question.as_ref().map(|(param, destination)| {
            format!("{}\u{1f}{param}\u{1f}{}", seen.tool, python(destination))
        });
        ours.as_deref() == ask_key
    };
    if direction == "same verdict" && seen.ours.stage.name() == seen.contract {
        let question = seen.ours.question.as_ref();
        if same_key() {
            return tally.count("same");
        } else if question
            .is_some_and(|(_, text)| ["null", "true", "false"].contains(&text.as_str()))
        {
            return tally
                .count("same verdict: `null` and `true` are asked about, not `None` and `True`");
        }
    }
    match CLASSES.iter().find(|class| (class.holds)(seen)) {
        Some(class) if direction != "laxer" || class.may_be_laxer => {
            tally.count(format!("{direction}: {}", class.name));
        }
        _ => tally.unexplained(
            &format!(
                "{direction}, {} {} instead of {} {} on {} {:?}",
                seen.ours.verdict,
                seen.ours.stage,
                seen.theirs,
                seen.contract,
                seen.tool,
                seen.arguments
            ),
            case,
        ),
    }
}

/// A class of difference.
struct Class {
    name: &'static str,
    may_be_laxer: bool,
    holds: fn(&Seen<'_>) -> bool,
}

const fn stricter(name: &'static str, holds: fn(&Seen<'_>) -> bool) -> Class {
    Class {
        name,
        may_be_laxer: false,
        holds,
    }
}

/// Whether a text that is no destination as a whole is searched for some, and holds one.
fn carries_recipient(name: &str, value: &Json) -> bool {
    match value {
        Json::Str(value) => {
            shared::may_name_recipients(name, value)
                && !shared::is_destination_shaped(value)
                && !shared::tokens(&text::folded(value)).is_empty()
        }
        Json::Array(items) => items.iter().any(|item| carries_recipient(name, item)),
        Json::Object(members) => {
            let mut members = members.iter();
            members.any(|(name, value)| carries_recipient(name, value))
        }
        _ => false,
    }
}

const CLASSES: &[Class] = &[
    // Nobody can have named a destination before anything was read, and readers send nothing.
    Class {
        name: "a guess says less of tools that only read or fetch, and before anything was read",
        may_be_laxer: true,
        holds: |seen| !has_gate(seen) && seen.ours.verdict < seen.theirs,
    },
    stricter(
        "names that some readers take for others are malformed",
        |seen| seen.ours.stage == Stage::Malformed && json::has_odd_names(seen.arguments),
    ),
    stricter(
        "every stage is judged, not only the first that objects",
        |seen| seen.contract == "pinning" && seen.ours.stage != Stage::Pinning,
    ),
    stricter("objects are no values for a constraint", |seen| {
        seen.ours.stage == Stage::Constraint && constrained(seen).any(leaves::holds_object)
    }),
    Class {
        name: "lists are judged per element by constraints",
        may_be_laxer: true,
        holds: |seen| {
            (seen.ours.stage == Stage::Constraint || seen.contract == "constraint")
                && constrained(seen).any(|node| matches!(node, Json::Array(_)))
        },
    },
    stricter(
        "a constraint sees `null` and `true`, not `None` and `True`",
        |seen| {
            seen.ours.stage == Stage::Constraint
                && constrained(seen).any(|node| matches!(node, Json::Null | Json::Bool(_)))
        },
    ),
    stricter("keys that differ in case are one to some readers", |seen| {
        contract(seen).is_some_and(|contract| {
            let sinks = contract.sinks.iter().map(|sink| &sink.path);
            let params = contract.write_params.iter().map(|param| &param.path);
            let patterns = contract.arg_patterns.iter().map(|pattern| &pattern.path);
            let mut paths = sinks.chain(params).chain(patterns);
            paths.any(|path| leaves::has_variant(seen.arguments, path))
        })
    }),
    stricter("a path is outside if any reading of it is", |seen| {
        seen.ours.stage == Stage::Constraint
            && contract(seen).is_some_and(|contract| {
                contract.write_params.iter().any(|param| {
                    leaves::leaves(seen.arguments, &param.path)
                        .iter()
                        .any(|leaf| {
                            let text = leaf.text();
                            text.contains(['\\', '%', '\0']) || text.starts_with('~')
                        })
                })
            })
    }),
    stricter("`.` as a prefix means below here", |seen| {
        seen.ours.stage == Stage::Constraint
            && contract(seen).is_some_and(|contract| {
                contract
                    .prefixes
                    .iter()
                    .any(|prefix| matches!(prefix.prefix.as_str(), "." | "./"))
            })
    }),
    stricter("a path may not climb beyond its prefix", |seen| {
        seen.ours.stage == Stage::Constraint
            && contract(seen).is_some_and(|contract| {
                contract
                    .prefixes
                    .iter()
                    .any(|prefix| prefix.prefix.contains(".."))
            })
    }),
    Class {
        name: "a verb inside another word is no verb",
        may_be_laxer: true,
        holds: |seen| {
            seen.contract == "budget"
                && contract(seen).is_none()
                && seen.ours.stage != Stage::Budget
        },
    },
    stricter("packs and heuristics set budgets of their own", |seen| {
        seen.ours.stage == Stage::Budget && seen.contract != "budget"
    }),
    stricter("an exfiltrating call without a destination asks", |seen| {
        seen.ours.stage == Stage::SinkGate
            && seen.ours.question.is_none()
            && seen.ours.verdict == Verdict::Ask
    }),
    stricter("what a call does is judged beside its contract", |seen| {
        seen.ours.stage == Stage::Effect && contract(seen).is_some()
    }),
    stricter(
        "a declared sink without a leaf makes every argument a sink",
        |seen| {
            seen.ours.stage == Stage::SinkGate
                && contract(seen).is_some_and(|contract| {
                    contract
                        .sinks
                        .iter()
                        .any(|sink| !leaves::nodes(seen.arguments, &sink.path).is_empty())
                        && contract
                            .sinks
                            .iter()
                            .all(|sink| leaves::leaves(seen.arguments, &sink.path).is_empty())
                })
        },
    ),
    stricter("trusted destinations are compared byte for byte", |seen| {
        seen.ours.stage == Stage::SinkGate
            && contract(seen).is_some_and(|contract| {
                texts(seen.arguments).iter().any(|text| {
                    let exact = |other: &str| other.eq_ignore_ascii_case(text);
                    let exacts = contract.trusted.iter().filter_map(|t| match &t.form {
                        TrustedForm::Exact(exact) => Some(exact.as_str()),
                        _ => None,
                    });
                    exacts.clone().any(|t| python(t) == python(text)) && !exacts.clone().any(exact)
                })
            })
    }),
    stricter(
        "undeclared recipients are searched for what was read",
        |seen| {
            seen.ours.stage == Stage::SinkGate
                && contract(seen).is_some_and(|contract| !contract.sinks.is_empty())
                && carries_recipient("", seen.arguments)
        },
    ),
    stricter(
        "taint is seen through disguises, and numbers are found by their digits",
        |seen| {
            seen.ours.stage == Stage::SinkGate
                && seen.ours.verdict == Verdict::Deny
                && seen.theirs == Verdict::Ask
        },
    ),
    stricter(
        "a derived sink without a leaf makes every argument a sink",
        |seen| {
            seen.ours.stage == Stage::SinkGate
                && contract(seen).is_none()
                && matches!(seen.arguments, Json::Object(members)
                if members.iter().any(|(_, value)| is_empty(value)))
        },
    ),
    stricter("object keys are destinations", |seen| {
        seen.ours.stage == Stage::SinkGate
            && matches!(seen.arguments, Json::Object(members)
                if members.iter().any(|(_, value)| leaves::holds_object(value)))
    }),
    stricter(
        "destination-shaped arguments are sinks, declared or not",
        |seen| {
            seen.ours.stage == Stage::SinkGate
                && texts(seen.arguments)
                    .iter()
                    .any(|text| shared::is_destination_shaped(text))
        },
    ),
    stricter(
        "a tool without a sink gate is judged by what it does and by what was read",
        |seen| !has_gate(seen),
    ),
    stricter("a contract asks about every call", |seen| {
        seen.ours.stage == Stage::Default && seen.ours.verdict == Verdict::Ask
    }),
];

/// Whether a contract says where the tool sends things.
fn has_gate(seen: &Seen<'_>) -> bool {
    contract(seen).is_some_and(|contract| contract.exfiltrating)
}

/// The values that the contract's constraints look at.
fn constrained<'a>(seen: &Seen<'a>) -> impl Iterator<Item = &'a Json> {
    let arguments = seen.arguments;
    contract(seen)
        .map(|contract| {
            let params = contract.write_params.iter().map(|param| &param.path);
            let patterns = contract.arg_patterns.iter().map(|pattern| &pattern.path);
            params
                .chain(patterns)
                .flat_map(|path| leaves::nodes(arguments, path))
                .collect::<Vec<_>>()
        })
        .unwrap_or_default()
        .into_iter()
}

fn contract<'a>(seen: &Seen<'a>) -> Option<&'a Contract> {
    seen.policy
        .contracts
        .iter()
        .filter(|contract| contract.key == seen.tool)
        .min_by_key(|contract| contract.layer)
}

/// An array without a leaf.
fn is_empty(node: &Json) -> bool {
    matches!(node, Json::Array(items) if items.iter().all(is_empty))
}

/// All leaves' texts.
fn texts(arguments: &Json) -> Vec<String> {
    leaves::leaves(arguments, &Default::default())
        .iter()
        .map(leaves::Leaf::text)
        .collect()
}

/// The predecessor's normal form.
fn python(text: &str) -> String {
    text::plain(&text.to_lowercase())
}

/// The proxy's loop: ask about one destination, remember the answer, judge again.
fn route(make: Make<'_>, expected: &str) {
    let mut tally = Tally::default();
    for (case, arguments) in read_with_arguments("contracts-route.jsonl") {
        let policy = match load(case["policy_yaml"].as_str().unwrap(), false, true) {
            Ok(policy) => policy,
            Err(error) => {
                tally.count(format!("does not compile: {error}"));
                continue;
            }
        };
        let mut engine = prepared(&case, &policy, make);
        let calls = case["calls"].as_array().unwrap();
        let answers = case["expected"]["calls"].as_array().unwrap();
        for ((call, expected), bytes) in calls.iter().zip(answers).zip(&arguments) {
            let tool = call["tool"].as_str().unwrap();
            let mut human = call["answers"].as_array().into_iter().flatten();
            let mut asked = 0;
            let mut ours = decide(engine.as_mut(), tool, bytes, Attempt::First);
            while ours.verdict == Verdict::Ask
                && !call["answers"].is_null()
                && let Some((param, destination)) = ours.question.clone()
            {
                asked += 1;
                if human.next() != Some(&json!(true)) {
                    break;
                }
                engine.approve(None, tool, &param, &destination);
                ours = decide(engine.as_mut(), tool, bytes, Attempt::AfterApproval);
            }
            let seen = Seen {
                policy: &policy,
                tool,
                arguments: &json::parse(bytes).unwrap(),
                ours: &ours,
                theirs: verdict(&expected["verdict"]),
                contract: "",
            };
            // What the human does not approve is not executed.
            let outcome = if ours.verdict == Verdict::Allow {
                Verdict::Allow
            } else {
                Verdict::Deny
            };
            if outcome == seen.theirs {
                tally.count(if expected["asked"] == json!(asked) {
                    "same"
                } else {
                    "same outcome, other questions"
                });
            } else {
                let direction = direction(outcome, seen.theirs);
                if direction == "laxer" && asked > 0 {
                    // Only "yes" leads on from a question to here.
                    tally.count("laxer: the human vouched for every destination, the predecessor gave up asking");
                    continue;
                }
                match CLASSES.iter().find(|class| (class.holds)(&seen)) {
                    Some(class) if direction != "laxer" => {
                        tally.count(format!("{direction}: {}", class.name));
                    }
                    _ => tally.unexplained(
                        &format!(
                            "{direction}, {outcome} {} asked {asked}, not {expected}, on {call}",
                            ours.stage
                        ),
                        &case,
                    ),
                }
            }
            // What the predecessor forwarded was read, whatever became of it here.
            if let Some(output) = call
                .get("upstream")
                .filter(|_| expected["forwarded"] == json!(1))
            {
                record(engine.as_mut(), output);
            }
        }
    }
    tally.check(expected);
}

const DECISIONS: &str = "
    2  does not compile: B0102 a key stands twice
    5  does not compile: B0108 the policy is empty
    7  does not compile: B0201 unknown key
   31  does not compile: B0202 a value of the wrong type
    5  does not compile: B0205 a number that does not fit
    6  does not compile: B0303 an empty path prefix
    4  does not compile: B0304 a regular expression that does not compile
   74  laxer: a guess says less of tools that only read or fetch, and before anything was read
    2  laxer: lists are judged per element by constraints
 1894  same
   11  same verdict: `null` and `true` are asked about, not `None` and `True`
    2  same verdict: a derived sink without a leaf makes every argument a sink
   67  same verdict: a tool without a sink gate is judged by what it does and by what was read
    3  same verdict: a verb inside another word is no verb
    7  same verdict: destination-shaped arguments are sinks, declared or not
    1  same verdict: keys that differ in case are one to some readers
    2  same verdict: lists are judged per element by constraints
    1  same verdict: names that some readers take for others are malformed
   12  same verdict: object keys are destinations
    1  same verdict: objects are no values for a constraint
    3  same verdict: trusted destinations are compared byte for byte
    3  same verdict: what a call does is judged beside its contract
    6  stricter: `.` as a prefix means below here
    2  stricter: a constraint sees `null` and `true`, not `None` and `True`
    9  stricter: a declared sink without a leaf makes every argument a sink
   14  stricter: a derived sink without a leaf makes every argument a sink
    1  stricter: a path is outside if any reading of it is
    1  stricter: a path may not climb beyond its prefix
  111  stricter: a tool without a sink gate is judged by what it does and by what was read
  112  stricter: an exfiltrating call without a destination asks
   59  stricter: destination-shaped arguments are sinks, declared or not
   14  stricter: every stage is judged, not only the first that objects
    2  stricter: keys that differ in case are one to some readers
    1  stricter: lists are judged per element by constraints
   19  stricter: object keys are destinations
    3  stricter: objects are no values for a constraint
    1  stricter: packs and heuristics set budgets of their own
   16  stricter: taint is seen through disguises, and numbers are found by their digits
   38  stricter: trusted destinations are compared byte for byte
    5  stricter: undeclared recipients are searched for what was read
   49  stricter: what a call does is judged beside its contract
";

const ROUTES: &str = "
    3  laxer: the human vouched for every destination, the predecessor gave up asking
  336  same
   36  same outcome, other questions
    7  stricter: a declared sink without a leaf makes every argument a sink
  126  stricter: an exfiltrating call without a destination asks
   13  stricter: destination-shaped arguments are sinks, declared or not
   18  stricter: object keys are destinations
";

#[test]
fn reference_decides_as_the_predecessor() {
    decisions(&reference, DECISIONS);
}

#[test]
fn gate_decides_as_the_predecessor() {
    decisions(&compiled, DECISIONS);
}

#[test]
fn reference_routes_as_the_predecessor() {
    route(&reference, ROUTES);
}

#[test]
fn gate_routes_as_the_predecessor() {
    route(&compiled, ROUTES);
}
