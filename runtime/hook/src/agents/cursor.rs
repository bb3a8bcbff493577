//! Cursor's `before…` and `after…` hooks: <https://cursor.com/docs/agent/hooks>.

use super::{Answer, Event, Hooks, Members, MessageError, Phase, directory, read};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Verdict;
use serde_json::json;
use std::path::PathBuf;

/// Cursor.
pub(super) struct Cursor;

impl Hooks for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn about(&self) -> &'static str {
        "Cursor's `before…` and `after…` hooks"
    }

    fn storage_key(&self) -> &'static str {
        "Cursor"
    }

    fn read(&self, bytes: &[u8]) -> Result<Event, MessageError> {
        cursor(bytes)
    }

    fn can_ask(&self, event: &Event) -> bool {
        // Where reading is concerned Cursor knows yes and no only.
        matches!(
            event.name.as_str(),
            "beforeShellExecution" | "beforeMCPExecution"
        )
    }

    fn answer(&self, _: &Event, said: Verdict, reason: &str, _: &VerdictRecord) -> Answer {
        let stdout = match said {
            Verdict::Allow => json!({ "permission": "allow" }),
            Verdict::Ask | Verdict::Deny => json!({
                "permission": said.name(),
                "user_message": reason,
                "agent_message": reason,
            }),
        };
        Answer {
            stdout: stdout.to_string(),
            ..Answer::default()
        }
    }

    fn failed(&self, reason: &str) -> Answer {
        let stdout =
            json!({ "permission": "deny", "user_message": reason, "agent_message": reason });
        Answer {
            stdout: stdout.to_string(),
            stderr: reason.to_owned(),
            code: 2,
        }
    }
}

fn cursor(bytes: &[u8]) -> Result<Event, MessageError> {
    let names = [
        "hook_event_name",
        "conversation_id",
        "cwd",
        "workspace_roots",
        "command",
        "tool_name",
        "tool_input",
        "file_path",
        "content",
        "output",
        "result_json",
        "tool_output",
    ];
    let found = read(bytes, names)?;
    let name = found.needed(0, "hook_event_name")?;
    let root = found
        .value(3)?
        .and_then(|roots| roots.get(0)?.as_str().map(PathBuf::from));
    let cwd = found.text(2, "cwd")?.filter(|cwd| !cwd.is_empty());
    let cwd = cwd.map(PathBuf::from);
    let mut event = Event {
        cwd: root.or_else(|| cwd.clone()),
        from: cwd,
        ..Event::nothing(name)
    };
    match event.name.as_str() {
        "beforeShellExecution" | "afterShellExecution" => {
            event.tool = "Shell".to_owned();
            let command = found.needed(4, "command")?;
            event.input = json!({ "command": command }).to_string().into_bytes();
            event.output = found.value(9)?;
        }
        "beforeMCPExecution" | "afterMCPExecution" => {
            event.tool = found.needed(5, "tool_name")?;
            // Which server it is of is not said.
            event.server = Some(String::new());
            event.input = arguments(&found, 6)?;
            event.output = found.value(10)?;
        }
        "beforeReadFile" => {
            event.tool = "Read".to_owned();
            let path = found.needed(7, "file_path")?;
            event.input = json!({ "file_path": path }).to_string().into_bytes();
            event.output = found.value(8)?;
        }
        "preToolUse" | "postToolUse" | "postToolUseFailure" => {
            event.tool = found.needed(5, "tool_name")?;
            if let Some(tool) = event.tool.strip_prefix("MCP:") {
                event.tool = tool.to_owned();
                event.server = Some(String::new());
            }
            event.input = arguments(&found, 6)?;
            event.from = directory(Some(&event.input))?.or(event.from);
            event.output = found.value(11)?;
        }
        _ => return Ok(event),
    }
    event.phase = if event.name.starts_with("before") || event.name == "preToolUse" {
        Phase::Before
    } else {
        Phase::After
    };
    event.session = found.needed(1, "conversation_id")?;
    Ok(event)
}

/// Arguments that are an object, or a text that holds one.
fn arguments<const N: usize>(found: &Members<'_, N>, at: usize) -> Result<Vec<u8>, MessageError> {
    let raw = found.raw(at).unwrap_or(b"{}");
    if raw.first() == Some(&b'"') {
        let text: String =
            serde_json::from_slice(raw).map_err(|error| MessageError::Json(error.to_string()))?;
        return Ok(text.into_bytes());
    }
    Ok(raw.to_vec())
}
