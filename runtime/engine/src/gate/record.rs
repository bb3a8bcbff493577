//! A verdict with all that it rests on, in a form that outlives the decision.
//!
//! This is the one place that lists the facts of a verdict. The log, the proxy, hooks,
//! `why` and `check` borrow it. A new fact is added here and where a [`Decision`] is
//! turned into a record; only a consumer that shows it changes besides.

use super::decision::{Approvable, Decision};
use super::grounds::Grounds;
use super::session::ReadBefore;
use bouncer_plan::{Stage, Verdict};
use serde_json::{Value, json};

/// The facts of one verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictRecord {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The part of the policy that decided.
    pub stage: Stage,
    /// The same, more exactly: a stable word for machines.
    pub code: &'static str,
    /// Why, in words, with values from outside quoted and escaped.
    pub reason: String,
    /// `file:line:column` of what decided, if that was written anywhere.
    pub at: Option<String>,
    /// The index of the rule that decided, in the order of the policy.
    pub rule: Option<u32>,
    /// The value that it is about, and where that was seen before.
    pub grounds: Option<Grounds>,
    /// How many pieces of what was read had been forgotten, so that a value that was read
    /// may have counted as unproven.
    pub forgotten: u64,
    /// What kinds of things had been read before, first where and when.
    pub read: ReadBefore,
    /// How a human can lift an ask.
    pub approvable: Approvable<String>,
}

impl VerdictRecord {
    /// A denial for a reason that is no policy's.
    #[must_use]
    pub const fn denial(stage: Stage, code: &'static str, reason: String) -> Self {
        Self {
            verdict: Verdict::Deny,
            stage,
            code,
            reason,
            at: None,
            rule: None,
            grounds: None,
            forgotten: 0,
            read: ReadBefore {
                untrusted: None,
                private: None,
            },
            approvable: Approvable::Never,
        }
    }

    /// The denial of a call while the user has stopped all of them, or those of the server.
    #[must_use]
    pub fn halted(&self, why: &str) -> Self {
        Self {
            read: self.read.clone(),
            forgotten: self.forgotten,
            ..Self::denial(
                Stage::Default,
                "halted",
                format!("halted by the user: {why}"),
            )
        }
    }

    /// The denial that an ask ends in, and why it did.
    #[must_use]
    pub fn denied_because(&self, why: &str) -> Self {
        Self {
            verdict: Verdict::Deny,
            reason: format!("{}; {why}", self.reason),
            approvable: Approvable::Never,
            ..self.clone()
        }
    }

    /// The members by which programs are told of a verdict: `verdict`, `contract` (the
    /// stage), `code`, `reason` and `at`.
    #[must_use]
    pub fn summary(&self) -> Value {
        json!({
            "verdict": self.verdict.name(),
            "contract": self.stage.name(),
            "code": self.code,
            "reason": self.reason,
            "at": self.at,
        })
    }

    /// What a human would be asked to vouch for, for programs: `param` and `destination`.
    #[must_use]
    pub fn unvouched(&self) -> Option<Value> {
        match &self.approvable {
            Approvable::Destination(unvouched) => Some(json!({
                "param": unvouched.param,
                "destination": unvouched.destination,
            })),
            Approvable::Never | Approvable::ThisCall => None,
        }
    }
}

impl Decision<'_> {
    /// All facts of the verdict, owned. Allocates; [`Decision::verdict`] does not.
    #[must_use]
    pub fn record(&self) -> VerdictRecord {
        VerdictRecord {
            verdict: self.verdict(),
            stage: self.stage(),
            code: self.code(),
            reason: self.reason(),
            at: self.position().map(|position| position.to_string()),
            rule: self.rule(),
            grounds: self.grounds(),
            forgotten: self.forgotten,
            read: self.read.cloned().unwrap_or_default(),
            approvable: self.approvable().owned(),
        }
    }
}
