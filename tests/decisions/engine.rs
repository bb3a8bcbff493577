//! What tests drive: the reference evaluator and the compiled gate behind one face.

use crate::generate::{Case, Step};
use crate::reference::{RefCall, Reference, full_name};
use bouncer_compiler::policy::{Policy, Pos};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::{Lock, LockedTool, ToolDefinition};
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use std::sync::Arc;

/// What an engine answers to a call, as far as it may not differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    pub stage: Stage,
    /// Line and column of the part of the policy that decided.
    pub at: Option<(u32, u32)>,
    /// Parameter and destination that a human would be asked about.
    pub question: Option<(String, String)>,
}

/// A policy in force, with one conversation under it.
pub trait Engine {
    fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>);
    fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]);
    fn record(&mut self, server: Option<&str>, tool: &str, result: &serde_json::Value);
    fn record_untrusted(&mut self, value: &serde_json::Value);
    fn record_user(&mut self, message: &str);
    fn approve(&mut self, server: Option<&str>, tool: &str, param: &str, destination: &str);
    fn decide(&mut self, call: &RefCall<'_>, attempt: Attempt, now_ms: u64) -> Answer;
}

impl Engine for Reference {
    fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        Self::pin(self, server, tools, lock);
    }

    fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        Self::observe(self, server, tools);
    }

    fn record(&mut self, server: Option<&str>, tool: &str, result: &serde_json::Value) {
        Self::record(self, server, tool, result);
    }

    fn record_untrusted(&mut self, value: &serde_json::Value) {
        Self::record_untrusted(self, value);
    }

    fn record_user(&mut self, message: &str) {
        Self::record_user(self, message);
    }

    fn approve(&mut self, server: Option<&str>, tool: &str, param: &str, destination: &str) {
        Self::approve(self, &full_name(server, tool), param, destination);
    }

    fn decide(&mut self, call: &RefCall<'_>, attempt: Attempt, now_ms: u64) -> Answer {
        let decision = Self::decide(self, call, attempt, now_ms);
        Answer {
            verdict: decision.verdict,
            stage: decision.stage,
            at: decision.at.map(|Pos { line, column, .. }| (line, column)),
            question: decision.question,
        }
    }
}

/// The compiled policy behind the gate.
struct Compiled {
    gate: Gate,
    conversation: Conversation,
}

impl Engine for Compiled {
    fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        self.gate.pin(server, tools, lock);
    }

    fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.gate.observe(server, tools);
    }

    fn record(&mut self, server: Option<&str>, tool: &str, result: &serde_json::Value) {
        let result = Arc::new(result.clone());
        self.gate
            .record_shared(&mut self.conversation, server, tool, &result);
        // Some of what was read is taken apart on another thread, whenever that comes to run.
        let length = result.to_string().len();
        if length.is_multiple_of(3)
            && let Some(settling) = self.conversation.settle_elsewhere(0)
        {
            std::thread::spawn(|| settling.run());
        }
    }

    fn record_untrusted(&mut self, value: &serde_json::Value) {
        self.gate
            .record_untrusted(&mut self.conversation, None, "elsewhere", value);
    }

    fn record_user(&mut self, message: &str) {
        self.gate.record_user(&mut self.conversation, message);
    }

    fn approve(&mut self, server: Option<&str>, tool: &str, param: &str, destination: &str) {
        self.conversation.approve(server, tool, param, destination);
    }

    fn decide(&mut self, call: &RefCall<'_>, attempt: Attempt, now_ms: u64) -> Answer {
        let call = Call::hypothetical(call.server, call.tool, call.arguments);
        let decision = self
            .gate
            .decide(&mut self.conversation, &call, attempt, now_ms);
        // Reasons are for humans, but they must not panic on anything either.
        assert!(decision.verdict() == Verdict::Allow || !decision.reason().is_empty());
        Answer {
            verdict: decision.verdict(),
            stage: decision.stage(),
            at: decision.position().map(|at| (at.line, at.column)),
            question: decision
                .unvouched()
                .map(|question| (question.param.to_owned(), question.destination.to_owned())),
        }
    }
}

/// The compiled policy behind the gate.
pub fn compiled(policy: &Policy) -> Box<dyn Engine> {
    let bytes = bouncer_compiler::compile(policy).unwrap();
    let gate = Gate::new(Plan::load(bytes).unwrap());
    let conversation = gate.conversation();
    Box::new(Compiled { gate, conversation })
}

/// Makes engines.
pub type Make<'a> = &'a dyn Fn(&Policy) -> Box<dyn Engine>;

/// The reference evaluator.
pub fn reference(policy: &Policy) -> Box<dyn Engine> {
    Box::new(Reference::new(policy))
}

/// The tools of a listing that have a name.
pub fn definitions(tools: &[serde_json::Value]) -> Vec<ToolDefinition> {
    tools
        .iter()
        .map(|tool| ToolDefinition::from_json(tool.clone()).unwrap())
        .collect()
}

/// Plays the case and returns the answer to every call.
pub fn play(case: &Case, engine: &mut dyn Engine) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    let mut last: Option<&Step> = None;
    for step in &case.steps {
        match step {
            Step::Pin {
                server,
                tools,
                lock,
            } => {
                let lock = lock.as_ref().map(|tools| Lock {
                    tools: definitions(tools)
                        .into_iter()
                        .map(|definition| LockedTool {
                            server: server.map(str::to_owned),
                            definition,
                        })
                        .collect(),
                });
                engine.pin(*server, &definitions(tools), lock.as_ref());
            }
            Step::Observe { server, tools } => engine.observe(*server, &definitions(tools)),
            Step::Record {
                server,
                tool,
                result,
            } => engine.record(*server, tool, result),
            Step::RecordUntrusted(value) => engine.record_untrusted(value),
            Step::User(message) => engine.record_user(message),
            Step::Approve {
                server,
                tool,
                param,
                destination,
            } => engine.approve(*server, tool, param, destination),
            Step::Call {
                server,
                tool,
                arguments,
                attempt,
                now_ms,
            } => {
                let call = RefCall {
                    server: *server,
                    tool,
                    arguments: arguments.as_deref(),
                };
                answers.push(engine.decide(&call, *attempt, *now_ms));
                last = Some(step);
            }
            Step::ApproveAndRetry => {
                if let Some(Step::Call {
                    server,
                    tool,
                    arguments,
                    now_ms,
                    ..
                }) = last
                    && let Some((param, destination)) =
                        answers.last().and_then(|answer| answer.question.clone())
                {
                    engine.approve(*server, tool, &param, &destination);
                    let call = RefCall {
                        server: *server,
                        tool,
                        arguments: arguments.as_deref(),
                    };
                    answers.push(engine.decide(&call, Attempt::AfterApproval, *now_ms));
                }
            }
        }
    }
    answers
}
