//! `PreToolUse` and `PostToolUse`: a form that several agents speak.

use crate::event::{Answer, Event, Exit, Phase};
use crate::message::{self, MessageError};
use bouncer_plan::Verdict;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Places at which the name of a server may end, at most.
const MAX_READINGS: usize = 8;

/// Reads a message.
pub fn read(bytes: &[u8]) -> Result<Event, MessageError> {
    let names = [
        "hook_event_name",
        "session_id",
        "cwd",
        "tool_name",
        "tool_input",
        "tool_response",
        "error",
    ];
    let found = message::read(bytes, names)?;
    let name = found.needed(0, "hook_event_name")?;
    let phase = match name.as_str() {
        "PreToolUse" => Phase::Before,
        "PostToolUse" | "PostToolUseFailure" => Phase::After,
        _ => Phase::Other,
    };
    if phase == Phase::Other {
        return Ok(Event::nothing(name));
    }
    if phase == Phase::After && !found.has(5) && !found.has(6) {
        return Err(MessageError::NoResult {
            missing: "neither `tool_response` nor `error` says what the tool returned",
        });
    }
    let tool = found.needed(3, "tool_name")?;
    // A server's name may have two underscores as well; which of them it ends at is not
    // said, so all readings are judged.
    let full = tool.strip_prefix("mcp__").unwrap_or_default();
    let bars = (0..full.len()).filter(|at| full.get(*at..at + 2) == Some("__"));
    if bars.clone().count() > MAX_READINGS {
        return Err(MessageError::ServerUnclear);
    }
    let readings: Vec<(String, String)> = bars
        .filter_map(|at| {
            let (server, tool) = (full.get(..at)?, full.get(at + 2..)?);
            (!tool.is_empty()).then(|| (server.to_owned(), tool.to_owned()))
        })
        .collect();
    let mut readings = readings.into_iter();
    let (server, tool) = match readings.next() {
        Some((server, tool)) => (Some(server), tool),
        None => (None, tool),
    };
    Ok(Event {
        phase,
        name,
        session: found.needed(1, "session_id")?,
        cwd: found.text(2, "cwd")?.map(PathBuf::from),
        from: message::directory(found.raw(4))?,
        server,
        tool,
        input: found.raw(4).unwrap_or(b"{}").to_vec(),
        also: readings.collect(),
        output: match (found.value(5)?, found.value(6)?) {
            (Some(output), Some(error)) => Some(Value::Array(vec![output, error])),
            (output, error) => output.or(error),
        },
    })
}

/// The answer to `PreToolUse`.
pub fn answer(event: &Event, verdict: Verdict, reason: &str) -> Answer {
    let out = match verdict {
        // No opinion: the client's own permissions still decide.
        Verdict::Allow => json!({}),
        _ => json!({ "hookSpecificOutput": {
            "hookEventName": event.name,
            "permissionDecision": verdict.name(),
            "permissionDecisionReason": reason,
        }}),
    };
    Answer {
        stdout: out.to_string(),
        ..Answer::default()
    }
}

/// The answer that blocks the tool without a decision.
pub fn blocked(reason: String) -> Answer {
    Answer {
        stdout: String::new(),
        stderr: reason,
        exit: Exit::Blocks,
    }
}
