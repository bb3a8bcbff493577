//! A plain form of our own, for any other agent.

use super::Agent;
use crate::event::{Answer, Event, Exit, Phase};
use crate::judged::Judged;
use crate::message::{self, MessageError};
use bouncer_plan::Verdict;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// All members of a message.
const MEMBERS: [&str; 7] = [
    "event",
    "session",
    "cwd",
    "server",
    "tool",
    "arguments",
    "result",
];

/// A plain form, for any other agent.
#[derive(Debug)]
pub struct Plain;

impl Agent for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn about(&self) -> &'static str {
        "A plain form, for any other agent"
    }

    fn key(&self) -> &'static str {
        "Plain"
    }

    fn read(&self, message: &[u8]) -> Result<Event, MessageError> {
        let found = message::read(message, MEMBERS)?;
        // The form is our own, so a member that is not known is a slip: with `args` for
        // `arguments` a call would be judged without any.
        let all: Map<String, Value> = serde_json::from_slice(message)?;
        if let Some(unknown) = all.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
            return Err(MessageError::UnknownMember {
                name: unknown.clone(),
                known: &MEMBERS,
            });
        }
        let name = found.needed(0, "event")?;
        let phase = match name.as_str() {
            "before" => Phase::Before,
            "after" => Phase::After,
            _ => return Err(MessageError::UnknownEvent),
        };
        if phase == Phase::After && !found.has(6) {
            return Err(MessageError::NoResult {
                missing: "`result` is missing: what the tool returned",
            });
        }
        Ok(Event {
            phase,
            name,
            session: found.needed(1, "session")?,
            cwd: found.text(2, "cwd")?.map(PathBuf::from),
            from: message::directory(found.raw(5))?,
            server: found.text(3, "server")?,
            tool: found.needed(4, "tool")?,
            also: Vec::new(),
            input: found.raw(5).unwrap_or(b"{}").to_vec(),
            output: found.value(6)?,
        })
    }

    fn can_ask(&self, _: &Event) -> bool {
        true
    }

    /// Who wrote the caller wants to see what was decided, not what a human is told.
    fn answer(&self, _: &Event, verdict: Verdict, _: &str, judged: &Judged) -> Answer {
        Answer {
            stdout: judged.record.summary().to_string(),
            stderr: String::new(),
            exit: Exit::Verdict(verdict),
        }
    }

    fn blocked(&self, reason: String) -> Answer {
        let out = json!({
            "verdict": "deny",
            "contract": "malformed",
            "code": "hook.failed",
            "reason": reason,
        });
        Answer {
            stdout: out.to_string(),
            stderr: String::new(),
            exit: Exit::Verdict(Verdict::Deny),
        }
    }
}
