//! The corpus of `tests/corpus`: policies, conversations under them, and the verdicts
//! that follow from what a verdict means. One file a topic.
//!
//! A file is JSON lines. `{"policy": …}` begins a case: the text of the policy, which
//! layers lie below it (`packs`, `heuristics`) and what the case is about (`note`). The
//! lines after it are a trace as `bouncer replay` reads it, each call with what it
//! should get. Every case is played by the compiled gate, by the reference evaluator
//! (unless the case says `"reference": false`, since that one walks every way of
//! picking leaves); the suite of the command has that play them too.
//!
//! `errors.jsonl` holds policies that must not compile instead, each with the code,
//! the line and a part of the message.

use crate::engine::{Engine, compiled, definitions, reference};
use crate::recorded::cases::{Case, cases, files};
use crate::recorded::folder;
use crate::reference::RefCall;
use bouncer_compiler::diagnostic::{Severity, human};
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options, load};
use bouncer_engine::gate::Attempt;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt::Write;

/// A line of a trace, whatever its type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    r#type: String,
    server: Option<String>,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    tools: Vec<Value>,
    arguments: Option<Box<RawValue>>,
    arguments_raw: Option<String>,
    expect: Option<String>,
    expect_contract: Option<String>,
    #[serde(default)]
    at_ms: u64,
    content: Option<Value>,
    structured: Option<Value>,
    error: Option<Value>,
    #[serde(default)]
    param: String,
    #[serde(default)]
    destination: String,
}

impl Case {
    fn policy(&self) -> Policy {
        let input = Input {
            name: "policy.yaml",
            text: &self.header.policy,
        };
        match load(&[input], &self.options()) {
            Ok(loaded) => loaded.policy,
            Err(errors) => panic!("{}: {}", self.at, human(&errors, false)),
        }
    }

    /// Plays the trace and returns how many calls there were. Differences go to `wrong`.
    fn play(
        &self,
        who: &str,
        fresh: &dyn Fn() -> Box<dyn Engine>,
        wrong: &mut String,
    ) -> (usize, usize) {
        let mut engine = fresh();
        let (mut calls, mut expectations) = (0, 0);
        for text in &self.trace {
            let line: Line = serde_json::from_str(text)
                .unwrap_or_else(|error| panic!("{}: {error}: {text}", self.at));
            let server = line.server.as_deref();
            match line.r#type.as_str() {
                "conversation" => engine = fresh(),
                "tools" => engine.pin(server, &definitions(&line.tools), None),
                "approve" => engine.approve(server, &line.tool, &line.param, &line.destination),
                "user" => {
                    let content = line.content.as_ref().and_then(Value::as_str);
                    engine.record_user(content.unwrap_or_default());
                }
                "result" => engine.record(server, &line.tool, &result_of(&line)),
                "call" => {
                    let arguments = line
                        .arguments_raw
                        .as_deref()
                        .or(line.arguments.as_ref().map(|raw| raw.get()));
                    let call = RefCall {
                        server,
                        tool: &line.tool,
                        arguments: arguments.map(str::as_bytes),
                    };
                    let answer = engine.decide(&call, Attempt::First, line.at_ms);
                    calls += 1;
                    expectations += usize::from(line.expect.is_some());
                    let (verdict, stage) = (answer.verdict.name(), answer.stage.name());
                    let differs = |want: &Option<String>, got: &str| {
                        want.as_deref().is_some_and(|want| want != got)
                    };
                    if differs(&line.expect, verdict) || differs(&line.expect_contract, stage) {
                        self.complain(who, text, &format!("{verdict} ({stage})"), wrong);
                    }
                }
                other => panic!("{}: unknown type `{other}`", self.at),
            }
        }
        (calls, expectations)
    }
}

/// The result of a call as a server would send it.
fn result_of(line: &Line) -> Value {
    let mut result = json!({});
    match &line.content {
        Some(Value::String(text)) => result["content"] = json!([{ "type": "text", "text": text }]),
        Some(blocks) => result["content"] = blocks.clone(),
        None => {}
    }
    if let Some(structured) = &line.structured {
        result["structuredContent"] = structured.clone();
    }
    if let Some(error) = &line.error {
        result["error"] = error.clone();
    }
    result
}

#[test]
fn every_engine_answers_the_corpus_as_expected() {
    let mut wrong = String::new();
    let mut expectations = 0;
    for case in files().iter().flat_map(|file| cases(file)) {
        let policy = case.policy();
        let (calls, expected) = case.play("the gate", &|| compiled(&policy), &mut wrong);
        assert!(calls > 0, "{}: no calls", case.at);
        expectations += expected;
        if case.header.reference {
            case.play("the reference", &|| reference(&policy), &mut wrong);
        }
    }
    println!("{expectations} expectations");
    assert!(expectations > 1900, "only {expectations} expectations");
    assert!(
        wrong.is_empty(),
        "{} lines:\n{wrong}",
        wrong.lines().count()
    );
}

/// A policy that must not compile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bad {
    policy: String,
    code: String,
    line: Option<u32>,
    contains: Option<String>,
}

#[test]
fn mistakes_in_policies_do_not_compile() {
    let text = std::fs::read_to_string(folder("corpus").join("errors.jsonl")).unwrap();
    let mut wrong = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let bad: Bad = serde_json::from_str(line).unwrap();
        let short: String = bad.policy.chars().take(120).collect();
        let mut complain = |what: &str| {
            let _ = writeln!(wrong, "errors.jsonl:{number}: {what}: {short:?}");
        };
        let input = Input {
            name: "policy.yaml",
            text: &bad.policy,
        };
        let Err(errors) = load(&[input], &Options::default()) else {
            complain("compiles");
            continue;
        };
        let fits = errors.list().iter().any(|error| {
            error.severity == Severity::Error
                && error.code.name() == bad.code
                && bad
                    .line
                    .is_none_or(|line| errors.sources().pos(error.span()).line == line)
        });
        let shown = human(&errors, false);
        if !fits
            || bad
                .contains
                .as_ref()
                .is_some_and(|part| !shown.contains(part))
        {
            complain(&shown);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
