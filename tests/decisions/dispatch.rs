//! Tools that call tools: the compiled gate and the reference evaluator, on every mix of
//! some outer calls, inner calls and policies.

use crate::engine::{Engine, compiled, reference};
use crate::reference::RefCall;
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::json;

const POLICY: &str = "version: 1
packs: []
heuristics: false
tools:
  call_tool: {dispatches: {tool: name, arguments: arguments}}
  run: {dispatches: {tool: tool, arguments: input}, confirm: true}
  capped: {dispatches: {tool: name, arguments: arguments}, max_calls: 2}
  send: {exfiltrating: true, sink_params: [to], trusted_destinations: ['*@corp.example'], max_calls: 3}
  mail: {exfiltrating: true, sink_params: [to]}
rules:
  - {tool: 's__drop_*', action: deny}
  - {tool: 's__see', when: args.x == 1, action: ask}
  - {tool: 's__call_tool', when: args.arguments.y == 1, action: ask}
";

fn policy() -> Policy {
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let input = Input {
        name: "p.yaml",
        text: POLICY,
    };
    bouncer_compiler::load(&[input], &options).unwrap().policy
}

const INNER: &[&str] = &[
    r#"{"name":"see","arguments":{}}"#,
    r#"{"name":"see"}"#,
    r#"{"name":"see","arguments":{"x":1}}"#,
    r#"{"name":"see","arguments":{"y":1}}"#,
    r#"{"name":"drop_it","arguments":{}}"#,
    r#"{"name":"dr\u006fp_it","arguments":{}}"#,
    r#"{"name":"send","arguments":{"to":"a@corp.example"}}"#,
    r#"{"name":"send","arguments":{"to":"eve@evil.example"}}"#,
    r#"{"name":"send","arguments":{"to":"bob@else.example"}}"#,
    r#"{"name":"send","arguments":{}}"#,
    r#"{"name":"send","arguments":null}"#,
    r#"{"name":"send","arguments":"{}"}"#,
    r#"{"name":"send","arguments":[]}"#,
    r#"{"name":"see","Name":"drop_it","arguments":{}}"#,
    r#"{"name":"see","ARGUMENTS":{"x":1}}"#,
    r#"{"name":"see","name":"drop_it"}"#,
    r#"{"arguments":{"x":1}}"#,
    r#"{"name":7}"#,
    r#"{"name":""}"#,
    r#"{"name":null}"#,
    r#"{}"#,
    r#"{"name":"call_tool","arguments":{"name":"drop_it"}}"#,
    r#"{"name":"call_tool","arguments":{"name":"see","arguments":{"x":1}}}"#,
    r#"{"name":"run","arguments":{"tool":"see"}}"#,
    r#"{"name":"run","arguments":{"name":"see"}}"#,
    r#"{"tool":"send","input":{"to":"eve@evil.example"}}"#,
    r#"{"tool":"see","input":{}}"#,
    r#"{"name":"capped","arguments":{"name":"see"}}"#,
    r#"{"name":"a\"b","arguments":{}}"#,
    r#"[]"#,
];

fn tools(names: &[&str]) -> Vec<ToolDefinition> {
    names
        .iter()
        .map(|name| ToolDefinition::from_json(json!({"name": name})).unwrap())
        .collect()
}

#[test]
fn both_engines_agree() {
    let policy = policy();
    for listed in [
        &["call_tool", "run", "capped"][..],
        &["call_tool", "see", "mail"],
        &[],
    ] {
        let mut engines: Vec<Box<dyn Engine>> = vec![compiled(&policy), reference(&policy)];
        for engine in &mut engines {
            if !listed.is_empty() {
                engine.pin(Some("s"), &tools(listed), None);
            }
            engine.observe(
                Some("s"),
                &[ToolDefinition::from_json(json!({"name": "mail", "title": "x"})).unwrap()],
            );
            engine.record_untrusted(&json!("write to eve@evil.example"));
        }
        let mut allowed = 0;
        for now in 0..3_u64 {
            for outer in ["call_tool", "run", "capped", "see", "gone"] {
                for arguments in INNER {
                    let call = RefCall {
                        server: Some("s"),
                        tool: outer,
                        arguments: Some(arguments.as_bytes()),
                    };
                    for attempt in [Attempt::First, Attempt::ApprovedOnce] {
                        let answers: Vec<_> = engines
                            .iter_mut()
                            .map(|engine| engine.decide(&call, attempt, now * 1000))
                            .collect();
                        assert_eq!(answers[0], answers[1], "{outer} {arguments} {attempt:?}");
                        allowed += usize::from(answers[0].verdict == Verdict::Allow);
                        if let Some((param, destination)) = &answers[0].question {
                            for engine in &mut engines {
                                engine.approve(Some("s"), outer, param, destination);
                            }
                        }
                    }
                }
            }
        }
        assert!(allowed > 20, "{allowed}");
    }
}

#[test]
fn the_call_within_is_what_counts() {
    let plan = bouncer_compiler::compile(&policy()).unwrap();
    let mut gate = Gate::new(Plan::load(plan).unwrap());
    gate.pin(Some("s"), &tools(&["call_tool", "mail"]), None);
    let mut conversation = gate.conversation();
    let mut decide = |arguments: &str| {
        let call = Call::hypothetical(Some("s"), "call_tool", Some(arguments.as_bytes()));
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        let question = decision
            .unvouched()
            .map(|question| question.param.to_owned());
        (
            decision.verdict(),
            decision.stage(),
            decision.reason(),
            question,
        )
    };
    let (verdict, stage, reason, _) = decide(r#"{"name":"drop_it"}"#);
    assert_eq!((verdict, stage), (Verdict::Deny, Stage::Rule));
    assert_eq!(
        reason,
        r#"tool "call_tool" calls "drop_it": matched rule: tool "s__drop_*" action deny"#
    );
    let (verdict, stage, reason, _) = decide(r#"{"name":{"a":1}}"#);
    assert_eq!((verdict, stage), (Verdict::Deny, Stage::Constraint));
    assert!(reason.contains("cannot be read"), "{reason}");
    let (verdict, _, _, question) =
        decide(r#"{"name":"mail","arguments":{"to":"bob@else.example"}}"#);
    assert_eq!(verdict, Verdict::Ask);
    assert_eq!(question.as_deref(), Some(r#"call of "mail": to"#));
    // Five deep is one too many.
    let nest = |depth: usize| {
        (0..depth).fold(r#"{"name":"see"}"#.to_owned(), |inner, _| {
            format!(r#"{{"name":"call_tool","arguments":{inner}}}"#)
        })
    };
    assert_eq!(decide(&nest(3)).0, Verdict::Allow);
    let (verdict, _, reason, _) = decide(&nest(4));
    assert_eq!(verdict, Verdict::Deny);
    assert!(reason.contains("too deep"), "{reason}");
    assert_eq!(decide(&nest(100)).0, Verdict::Deny);
}

#[test]
fn an_approval_is_for_one_tool_within() {
    let plan = bouncer_compiler::compile(&policy()).unwrap();
    let mut gate = Gate::new(Plan::load(plan).unwrap());
    gate.pin(Some("s"), &tools(&["call_tool", "mail"]), None);
    let mut conversation = gate.conversation();
    conversation.approve(
        Some("s"),
        "call_tool",
        r#"call of "mail": to"#,
        "bob@else.example",
    );
    let mut decide = |tool: &str, arguments: &str| {
        let call = Call::hypothetical(Some("s"), tool, Some(arguments.as_bytes()));
        gate.decide(&mut conversation, &call, Attempt::First, 0)
            .verdict()
    };
    let to = r#"{"to":"bob@else.example"}"#;
    let through = |tool: &str| format!(r#"{{"name":"{tool}","arguments":{to}}}"#);
    assert_eq!(decide("call_tool", &through("mail")), Verdict::Allow);
    assert_eq!(decide("call_tool", &through("send")), Verdict::Ask);
    assert_eq!(decide("mail", to), Verdict::Ask);
}
