//! bouncer itself: a policy file compiled to a plan, the plan loaded, the tools pinned.

use super::{Calls, Engine, timed};
use crate::cases::{Rule, Test};
use bouncer_compiler::{Input, Options};
use bouncer_plan::Verdict;
use bouncer_engine::gate::{Attempt, Call, CallMessage, Conversation, Gate};
use bouncer_mcp::frame::FrameReader;
use bouncer_plan::Plan;
use bouncer_engine::tools::ToolDefinition;
use std::fmt::Write;
use std::rc::Rc;

/// The rules as a policy file.
fn policy(rules: &[Rule]) -> String {
    let mut text = String::from("version: 1\npacks: []\nheuristics: false\nrules:\n");
    for rule in rules {
        let test = match &rule.test {
            Test::Equals(value) => format!(r#"when: 'args.query == "{value}"'"#),
            Test::Contains(part) => format!(r#"when: 'args.query contains "{part}"'"#),
            Test::Prefix(start) => format!(r#"when: 'args.path starts_with "{start}"'"#),
            Test::Both(exact, part) => {
                format!(r#"when: 'args.env == "{exact}" and args.query contains "{part}"'"#)
            }
            Test::Regex(pattern) => format!("match: {{args.query: {{regex: '{pattern}'}}}}"),
        };
        let _ = writeln!(text, "- {{tool: '{}', action: deny, {test}}}", rule.glob());
    }
    text
}

/// Compiles, loads and pins.
pub fn load(rules: &[Rule], calls: &Calls) -> Engine {
    let text = policy(rules);
    let (mut gate, load) = timed(|| {
        let input = Input {
            name: "policy.yaml",
            text: &text,
        };
        let loaded = bouncer_compiler::load(&[input], &Options::default());
        let policy = loaded
            .unwrap_or_else(|_| panic!("the policy is not read"))
            .policy;
        Gate::new(Plan::load(bouncer_compiler::compile(&policy).unwrap()).unwrap())
    });
    let mut names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let tools: Vec<ToolDefinition> = names
        .iter()
        .map(|name| ToolDefinition::from_json(serde_json::json!({"name": name})).unwrap())
        .collect();
    gate.pin(None, &tools, None);
    let gate = Rc::new(gate);
    let arguments = {
        let (gate, calls) = (Rc::clone(&gate), Rc::clone(calls));
        let mut conversation = gate.conversation();
        move |k: usize| {
            let call = &calls[k];
            let call = Call::hypothetical(None, &call.tool, Some(call.arguments.as_bytes()));
            denied(&gate, &mut conversation, &call)
        }
    };
    let message = {
        let (gate, calls) = (Rc::clone(&gate), Rc::clone(calls));
        let mut conversation = gate.conversation();
        let mut reader = FrameReader::new(1 << 20);
        move |k: usize| {
            let bytes = calls[k].message.as_bytes();
            let message = CallMessage::parse(None, bytes, &mut reader).unwrap();
            denied(&gate, &mut conversation, &message.call())
        }
    };
    Engine {
        name: "bouncer",
        load,
        // It judges bytes: there is no other form of a call.
        prepared: None,
        arguments: Box::new(arguments),
        message: Box::new(message),
    }
}

fn denied(gate: &Gate, conversation: &mut Conversation, call: &Call<'_>) -> bool {
    let decision = gate.decide(conversation, call, Attempt::First, 0);
    match decision.verdict() {
        Verdict::Allow => false,
        Verdict::Deny => true,
        Verdict::Ask => panic!("asked: {}", decision.reason()),
    }
}
