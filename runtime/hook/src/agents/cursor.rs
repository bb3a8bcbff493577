//! Cursor: <https://cursor.com/docs/agent/hooks>.

use super::Agent;
use crate::SERVER;
use crate::event::{Answer, Event, Exit, Phase};
use crate::judged::Judged;
use crate::message::{self, MessageError};
use bouncer_plan::Verdict;
use serde_json::json;
use std::path::PathBuf;

/// Cursor's `before…` and `after…` hooks.
#[derive(Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn about(&self) -> &'static str {
        "Cursor's `before…` and `after…` hooks"
    }

    fn key(&self) -> &'static str {
        "Cursor"
    }

    fn read(&self, message: &[u8]) -> Result<Event, MessageError> {
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
        let found = message::read(message, names)?;
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
                event.input = found.arguments(6)?;
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
                event.input = found.arguments(6)?;
                event.from = message::directory(Some(&event.input))?.or(event.from);
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

    /// Where reading is concerned Cursor knows yes and no only.
    fn can_ask(&self, event: &Event) -> bool {
        matches!(
            event.name.as_str(),
            "beforeShellExecution" | "beforeMCPExecution"
        )
    }

    /// There is no other time at which Cursor shows what it reads.
    fn shown_before(&self, event: &Event) -> Option<(&'static str, &'static str)> {
        (event.name == "beforeReadFile").then_some((SERVER, "read"))
    }

    fn answer(&self, _: &Event, verdict: Verdict, reason: &str, _: &Judged) -> Answer {
        let out = match verdict {
            Verdict::Allow => json!({ "permission": "allow" }),
            _ => json!({
                "permission": verdict.name(),
                "user_message": reason,
                "agent_message": reason,
            }),
        };
        Answer {
            stdout: out.to_string(),
            ..Answer::default()
        }
    }

    fn blocked(&self, reason: String) -> Answer {
        let out = json!({ "permission": "deny", "user_message": reason, "agent_message": reason });
        Answer {
            stdout: out.to_string(),
            stderr: reason,
            exit: Exit::Blocks,
        }
    }
}
