//! Plays a conversation, line by line, against a plan.

use super::trace::{self, Line, TraceError};
use crate::request::judged as judged_of;
use bouncer_engine::gate::{Attempt, Call, Conversation, Decision, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::{Plan, Stage};
use std::collections::BTreeSet;

/// A conversation in progress.
pub struct Player<'p> {
    plan: &'p Plan,
    gate: Gate,
    conversation: Conversation,
    /// How much a conversation remembers of what was read, in MiB, if not as the plan says.
    memory: Option<u32>,
    /// Servers that have listed their tools: what they list again is held against that.
    listed: BTreeSet<Option<String>>,
}

/// What a call is expected to get.
pub struct Expected {
    pub verdict: Option<String>,
    pub contract: Option<String>,
}

impl Expected {
    /// What was expected and is otherwise: verdict, contract.
    pub fn missed(&self, decision: &Decision<'_>) -> [Option<&str>; 2] {
        let verdict = self.verdict.as_deref();
        let contract = self.contract.as_deref();
        [
            verdict.filter(|want| *want != decision.verdict().name()),
            contract.filter(|want| *want != decision.stage().name()),
        ]
    }
}

impl<'p> Player<'p> {
    /// A fresh conversation, with nothing pinned.
    pub fn new(plan: &'p Plan) -> Self {
        Self::remembering(plan, None)
    }

    /// The same, remembering so many MiB of what is read.
    pub fn remembering(plan: &'p Plan, memory: Option<u32>) -> Self {
        let mut gate = Gate::new(plan.clone());
        gate.limit_provenance_to(memory);
        let conversation = gate.conversation();
        Self {
            plan,
            gate,
            conversation,
            memory,
            listed: BTreeSet::new(),
        }
    }

    /// Pins tools of one server.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.listed.insert(server.map(str::to_owned));
        self.gate.pin(server, tools, None);
    }

    /// Plays one line. `judged` gets the verdict of a call.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn line(
        &mut self,
        text: &str,
        judged: impl FnOnce(&str, &Decision<'_>, &Expected),
    ) -> Result<(), TraceError> {
        let (line, raw) = trace::parse(text)?;
        if let Line::Tools { server, tools } = &line
            && !self.listed.insert(server.clone())
        {
            let definitions = trace::definitions(tools.clone())?;
            self.gate.observe(server.as_deref(), &definitions);
            let conversation = &mut self.conversation;
            self.gate
                .record_definitions(conversation, server.as_deref(), &definitions);
            return Ok(());
        }
        let Some(line) = line.hear(&mut self.gate, &mut self.conversation)? else {
            return Ok(());
        };
        match line {
            Line::Call {
                server,
                tool,
                arguments_raw,
                expect,
                expect_contract,
                at_ms,
                ..
            } => {
                if let Some(verdict) = &expect
                    && !matches!(verdict.as_str(), "allow" | "ask" | "deny")
                {
                    return Err(TraceError::NoVerdict(verdict.clone()));
                }
                if let Some(stage) = &expect_contract
                    && !Stage::ALL.iter().any(|known| known.name() == stage)
                {
                    return Err(TraceError::NoStage(stage.clone()));
                }
                let arguments = arguments_raw
                    .as_deref()
                    .or(raw.as_ref().map(|raw| raw.get()));
                let read = arguments.map(|raw| judged_of(server.as_deref(), &tool, raw.as_bytes()));
                let arguments = read.transpose().map_err(TraceError::Unjudged)?;
                let call = Call::hypothetical(server.as_deref(), &tool, arguments.as_deref());
                let now = at_ms.unwrap_or(0);
                let conversation = &mut self.conversation;
                let decision = self.gate.decide(conversation, &call, Attempt::First, now);
                let expected = Expected {
                    verdict: expect,
                    contract: expect_contract,
                };
                judged(&tool, &decision, &expected);
            }
            // Starts afresh; there is nothing else left.
            _ => *self = Self::remembering(self.plan, self.memory),
        }
        Ok(())
    }
}
