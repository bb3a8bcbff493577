//! A plain form of our own, for agents that are not known here.

use super::{Answer, Event, Hooks, MessageError, Phase, directory, read};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Verdict;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Exit codes, as those of `bouncer check`.
const ASK: u8 = 3;
const DENY: u8 = 4;

/// Any agent.
pub(super) struct Plain;

impl Hooks for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn about(&self) -> &'static str {
        "A plain form, for any other agent"
    }

    fn storage_key(&self) -> &'static str {
        "Plain"
    }

    fn read(&self, bytes: &[u8]) -> Result<Event, MessageError> {
        plain(bytes)
    }

    fn can_ask(&self, _: &Event) -> bool {
        true
    }

    fn answer(&self, _: &Event, said: Verdict, _: &str, record: &VerdictRecord) -> Answer {
        Answer {
            stdout: record.summary().to_string(),
            stderr: String::new(),
            code: match said {
                Verdict::Allow => 0,
                Verdict::Ask => ASK,
                Verdict::Deny => DENY,
            },
        }
    }

    fn failed(&self, reason: &str) -> Answer {
        let stdout = json!({ "verdict": "deny", "contract": "malformed", "code": "hook.failed", "reason": reason });
        Answer {
            stdout: stdout.to_string(),
            stderr: String::new(),
            code: DENY,
        }
    }
}

fn plain(bytes: &[u8]) -> Result<Event, MessageError> {
    let names = [
        "event",
        "session",
        "cwd",
        "server",
        "tool",
        "arguments",
        "result",
    ];
    let found = read(bytes, names)?;
    // The form is our own, so a member that is not known is a slip: with `args` for
    // `arguments` a call would be judged without any.
    let all: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| MessageError::Json(error.to_string()))?;
    if let Some(unknown) = all.keys().find(|key| !names.contains(&key.as_str())) {
        let known = names.map(|name| format!("`{name}`")).join(", ");
        return Err(MessageError::Unknown {
            member: unknown.clone(),
            known,
        });
    }
    let name = found.needed(0, "event")?;
    let phase = match name.as_str() {
        "before" => Phase::Before,
        "after" => Phase::After,
        _ => return Err(MessageError::Event),
    };
    if phase == Phase::After && !found.has(6) {
        return Err(MessageError::NoResult(
            "`result` is missing: what the tool returned",
        ));
    }
    Ok(Event {
        phase,
        name,
        session: found.needed(1, "session")?,
        cwd: found.text(2, "cwd")?.map(PathBuf::from),
        from: directory(found.raw(5))?,
        server: found.text(3, "server")?,
        tool: found.needed(4, "tool")?,
        also: Vec::new(),
        input: found.raw(5).unwrap_or(b"{}").to_vec(),
        output: found.value(6)?,
    })
}
