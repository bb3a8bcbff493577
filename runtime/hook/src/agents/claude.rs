//! Claude Code's `PreToolUse` and `PostToolUse`, which Codex speaks too:
//! <https://code.claude.com/docs/en/hooks>.

use super::{Answer, Event, Hooks, MessageError, Phase, directory, read};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Verdict;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Places at which the name of a server may end, at most.
const MAX_READINGS: usize = 8;

/// Claude Code.
pub(super) struct ClaudeCode;

impl Hooks for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "Claude Code's `PreToolUse` and `PostToolUse`"
    }

    fn storage_key(&self) -> &'static str {
        "ClaudeCode"
    }

    fn read(&self, bytes: &[u8]) -> Result<Event, MessageError> {
        claude_code(bytes)
    }

    fn can_ask(&self, _: &Event) -> bool {
        true
    }

    fn answer(&self, event: &Event, said: Verdict, reason: &str, _: &VerdictRecord) -> Answer {
        decided(event, said, reason)
    }

    fn failed(&self, reason: &str) -> Answer {
        blocked(reason)
    }
}

/// The answer to a decision.
pub(super) fn decided(event: &Event, said: Verdict, reason: &str) -> Answer {
    let stdout = match said {
        // No opinion: the agent's own permissions still decide.
        Verdict::Allow => json!({}),
        Verdict::Ask | Verdict::Deny => json!({ "hookSpecificOutput": {
            "hookEventName": event.name,
            "permissionDecision": said.name(),
            "permissionDecisionReason": reason,
        }}),
    };
    Answer {
        stdout: stdout.to_string(),
        ..Answer::default()
    }
}

/// The answer that blocks the tool without a decision.
pub(super) fn blocked(reason: &str) -> Answer {
    Answer {
        stdout: String::new(),
        stderr: reason.to_owned(),
        // Of all exit codes only this one blocks.
        code: 2,
    }
}

/// Reads an event.
pub(super) fn claude_code(bytes: &[u8]) -> Result<Event, MessageError> {
    let names = [
        "hook_event_name",
        "session_id",
        "cwd",
        "tool_name",
        "tool_input",
        "tool_response",
        "error",
    ];
    let found = read(bytes, names)?;
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
        return Err(MessageError::NoResult(
            "neither `tool_response` nor `error` says what the tool returned",
        ));
    }
    let tool = found.needed(3, "tool_name")?;
    // A server's name may have two underscores as well; which of them it ends at is not
    // said, so all readings are judged.
    let full = tool.strip_prefix("mcp__").unwrap_or_default();
    let bars = (0..full.len()).filter(|at| full.get(*at..at + 2) == Some("__"));
    if bars.clone().count() > MAX_READINGS {
        return Err(MessageError::ManyServers);
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
        from: directory(found.raw(4))?,
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
