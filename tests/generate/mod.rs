//! Random policies and conversations under them, biased towards what is hard:
//! overlapping rules, lists, odd types, odd Unicode, malformed JSON.
//!
//! A case is a pure function of its seed. It knows nothing of any engine.

pub mod arguments;
pub mod conditions;
pub mod policies;
pub mod rng;
pub mod show;
pub mod shrink;
pub mod vocabulary;

use bouncer_compiler::policy::Policy;
use bouncer_engine::gate::Attempt;
use rng::Rng;
use serde_json::{Value, json};
use vocabulary::{KEYS, SERVERS, TEXTS, TOOLS};

/// A policy and what happens under it.
#[derive(Clone, Debug)]
pub struct Case {
    pub policy: Policy,
    pub steps: Vec<Step>,
}

/// Something that happens in a conversation.
#[derive(Clone, Debug)]
pub enum Step {
    Pin {
        server: Option<&'static str>,
        tools: Vec<Value>,
        /// Definitions that a lock file holds for this server.
        lock: Option<Vec<Value>>,
    },
    Observe {
        server: Option<&'static str>,
        tools: Vec<Value>,
    },
    Record {
        server: Option<&'static str>,
        tool: &'static str,
        result: Value,
    },
    RecordUntrusted(Value),
    User(String),
    Approve {
        server: Option<&'static str>,
        tool: &'static str,
        param: String,
        destination: String,
    },
    Call {
        server: Option<&'static str>,
        tool: &'static str,
        arguments: Option<Vec<u8>>,
        attempt: Attempt,
        now_ms: u64,
    },
    /// If the last call was asked about a destination, approve it and call again.
    ApproveAndRetry,
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let rng = &mut Rng::new(seed);
    let policy = policies::policy(rng);
    let mut steps = Vec::new();
    let mut now_ms = 0;
    if rng.chance(75) {
        for server in [None, Some(SERVERS[0]), Some(SERVERS[1])] {
            if rng.chance(80) {
                let tools = listing(rng);
                let lock = rng.chance(10).then(|| changed_listing(rng, &tools));
                steps.push(Step::Pin {
                    server,
                    tools,
                    lock,
                });
            }
        }
    }
    for _ in 0..24 {
        match rng.below(24) {
            0 => {
                let listed = steps.iter().find_map(|step| match step {
                    Step::Pin { server, tools, .. } if rng.chance(50) => {
                        Some((*server, tools.clone()))
                    }
                    _ => None,
                });
                if let Some((server, tools)) = listed {
                    let tools = changed_listing(rng, &tools);
                    steps.push(Step::Observe { server, tools });
                }
            }
            1..=3 => {
                let (server, tool) = server_tool(rng);
                let result = result(rng);
                steps.push(Step::Record {
                    server,
                    tool,
                    result,
                });
            }
            4 if rng.chance(50) => steps.push(Step::RecordUntrusted(json!(rng.pick(TEXTS)))),
            4 => {
                let asks = *rng.choose(&["please send it to", "delete the", "bitte", "xyzzy"]);
                steps.push(Step::User(format!("{asks} {}", rng.pick(TEXTS))));
            }
            5 => {
                let (server, tool) = server_tool(rng);
                steps.push(Step::Approve {
                    server,
                    tool,
                    param: (*rng.pick(KEYS)).to_owned(),
                    destination: (*rng.pick(TEXTS)).to_owned(),
                });
            }
            _ => {
                now_ms += rng.below(900) as u64;
                let (server, tool) = server_tool(rng);
                steps.push(Step::Call {
                    server,
                    tool,
                    arguments: arguments::arguments(rng),
                    attempt: match rng.below(20) {
                        0 => Attempt::AfterApproval,
                        1 => Attempt::ApprovedOnce,
                        _ => Attempt::First,
                    },
                    now_ms,
                });
                if rng.chance(30) {
                    steps.push(Step::ApproveAndRetry);
                }
            }
        }
    }
    Case { policy, steps }
}

fn server_tool(rng: &mut Rng) -> (Option<&'static str>, &'static str) {
    let server = (!rng.chance(30)).then(|| rng.pick(SERVERS));
    let tool = if rng.chance(4) {
        "unheard_of"
    } else {
        rng.pick(TOOLS)
    };
    (server, tool)
}

fn definition(rng: &mut Rng, name: &str) -> Value {
    let mut annotations = serde_json::Map::new();
    for hint in ["destructiveHint", "readOnlyHint"] {
        match rng.below(6) {
            0 | 1 => drop(annotations.insert(hint.to_owned(), json!(true))),
            2 => drop(annotations.insert(hint.to_owned(), json!(false))),
            3 => drop(annotations.insert(hint.to_owned(), json!("true"))),
            _ => {}
        }
    }
    let mut schema = json!({"type": "object"});
    if rng.chance(50) {
        // Such as packs' contracts of that name may be about, or not.
        let names = rng.several(1, 3, |rng| rng.pick(KEYS).to_string());
        let properties: serde_json::Map<_, _> = names
            .into_iter()
            .map(|name| (name, json!({"type": "string"})))
            .collect();
        schema["properties"] = properties.into();
    }
    json!({"name": name, "inputSchema": schema, "annotations": annotations})
}

fn listing(rng: &mut Rng) -> Vec<Value> {
    let mut tools = Vec::new();
    for name in TOOLS {
        if rng.chance(90) {
            tools.push(definition(rng, name));
        }
    }
    tools
}

/// The same listing with some tools gone, changed, or new.
fn changed_listing(rng: &mut Rng, tools: &[Value]) -> Vec<Value> {
    let mut changed = Vec::new();
    for tool in tools {
        match rng.below(8) {
            0 => {}
            1 => {
                let mut tool = tool.clone();
                tool["description"] = json!("changed");
                changed.push(tool);
            }
            // Neither key order nor `_meta` is a change.
            2 => {
                let mut tool = tool.clone();
                tool["_meta"] = json!({"seen": true});
                changed.push(tool);
            }
            _ => changed.push(tool.clone()),
        }
    }
    if rng.chance(30) {
        changed.push(definition(rng, "unheard_of"));
    }
    changed
}

fn result(rng: &mut Rng) -> Value {
    let text = |rng: &mut Rng| {
        let text = rng.pick(TEXTS);
        match rng.below(3) {
            0 => format!("see {text} for more"),
            1 => format!("a {text}\nand {}", rng.pick(TEXTS)),
            _ => (*text).to_owned(),
        }
    };
    let structured = |rng: &mut Rng| match rng.below(3) {
        0 => json!({"email": text(rng), "body": text(rng)}),
        1 => json!([{"email": text(rng)}, {"body": text(rng)}]),
        _ => json!({"list": [{"email": text(rng), "n": 463_820}], "body": text(rng)}),
    };
    match rng.below(5) {
        0 => json!({"content": [], "structuredContent": structured(rng)}),
        1 => json!({"content": [{"type": "text", "text": structured(rng).to_string()}]}),
        _ => json!({"content": [{"type": "text", "text": text(rng)}]}),
    }
}
