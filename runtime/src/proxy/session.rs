//! What the proxy needs of the gate, and the gate with one conversation.
//!
//! A seam for tests only: an implementation hands out [`Permit`]s, and only a
//! decision of the gate makes one.

use crate::gate::{Approvable, Attempt, Call, Conversation, Gate, Grounds, Permit};
use crate::tools::{Lock, ToolDefinition};
use crate::{Stage, Verdict};
use serde_json::Value;
use std::time::Instant;

/// A decision in words of its own, so that logs and answers can outlive the gate's borrow.
#[derive(Debug)]
pub(super) struct Judgement<'a> {
    pub verdict: Verdict,
    pub stage: Stage,
    pub reason: String,
    /// `file:line:column`.
    pub at: Option<String>,
    /// A stable word for machines.
    pub code: &'static str,
    /// How much of what was read has been forgotten: see
    /// [`crate::provenance::Provenance::dropped`].
    pub forgotten: u64,
    /// The destination that it is about.
    pub grounds: Option<Grounds>,
    /// How a human can lift an ask.
    pub approval: Approval,
    /// Only with [`Verdict::Allow`].
    pub permit: Option<Permit<'a>>,
}

/// How a human can lift an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// Not at all.
    Never,
    /// By vouching for a destination, for the whole conversation.
    Destination(Question),
    /// By approving exactly this call, once.
    ThisCall,
}

/// A destination to vouch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub param: String,
    pub destination: String,
}

/// Judges the calls of one conversation and remembers what it has seen.
pub(super) trait Judge {
    /// Judges a call.
    fn judge<'a>(&'a mut self, call: &Call<'a>, attempt: Attempt) -> Judgement<'a>;
    /// Remembers that a human vouched for a destination.
    fn approve(&mut self, tool: &str, question: &Question);
    /// The first listing.
    fn pin(&mut self, tools: &[ToolDefinition]);
    /// A later listing.
    fn observe(&mut self, tools: &[ToolDefinition]);
    /// What a call returned.
    fn record(&mut self, tool: &str, result: &Value);
    /// Other text that reaches the agent.
    fn record_untrusted(&mut self, origin: &str, value: &Value);
}

/// The gate and one conversation with one server.
#[derive(Debug)]
pub(super) struct Session {
    gate: Gate,
    conversation: Conversation,
    server: Option<String>,
    lock: Option<Lock>,
    started: Instant,
}

impl Session {
    pub(super) fn new(mut gate: Gate, server: Option<String>, lock: Option<Lock>) -> Self {
        // Until the server has listed its tools, none is known.
        gate.pin(server.as_deref(), &[], lock.as_ref());
        Self {
            conversation: gate.conversation(),
            gate,
            server,
            lock,
            started: Instant::now(),
        }
    }
}

impl Judge for Session {
    fn judge<'a>(&'a mut self, call: &Call<'a>, attempt: Attempt) -> Judgement<'a> {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let forgotten = self.conversation.provenance().dropped();
        let decision = self.gate.decide(&mut self.conversation, call, attempt, now);
        Judgement {
            verdict: decision.verdict(),
            stage: decision.stage(),
            reason: decision.reason(),
            at: decision.position().map(|position| position.to_string()),
            code: decision.code(),
            forgotten,
            grounds: decision.grounds(),
            approval: match decision.approvable() {
                Approvable::Never => Approval::Never,
                Approvable::ThisCall => Approval::ThisCall,
                Approvable::Destination(question) => Approval::Destination(Question {
                    param: question.param.to_owned(),
                    destination: question.destination.to_owned(),
                }),
            },
            permit: decision.permit(),
        }
    }

    fn approve(&mut self, tool: &str, question: &Question) {
        let server = self.server.as_deref();
        self.conversation
            .approve(server, tool, &question.param, &question.destination);
    }

    fn pin(&mut self, tools: &[ToolDefinition]) {
        self.gate
            .pin(self.server.as_deref(), tools, self.lock.as_ref());
    }

    fn observe(&mut self, tools: &[ToolDefinition]) {
        self.gate.observe(self.server.as_deref(), tools);
    }

    fn record(&mut self, tool: &str, result: &Value) {
        self.gate
            .record(&mut self.conversation, self.server.as_deref(), tool, result);
    }

    fn record_untrusted(&mut self, origin: &str, value: &Value) {
        let server = self.server.as_deref();
        self.gate
            .record_untrusted(&mut self.conversation, server, origin, value);
    }
}
