//! Claude Code: <https://code.claude.com/docs/en/hooks>.

use super::{Agent, tool_use};
use crate::event::{Answer, Event};
use crate::judged::Judged;
use crate::message::MessageError;
use bouncer_plan::Verdict;

/// Claude Code's `PreToolUse` and `PostToolUse`.
#[derive(Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "Claude Code's `PreToolUse` and `PostToolUse`"
    }

    fn key(&self) -> &'static str {
        "ClaudeCode"
    }

    fn read(&self, message: &[u8]) -> Result<Event, MessageError> {
        tool_use::read(message)
    }

    fn can_ask(&self, _: &Event) -> bool {
        true
    }

    fn answer(&self, event: &Event, verdict: Verdict, reason: &str, _: &Judged) -> Answer {
        tool_use::answer(event, verdict, reason)
    }

    fn blocked(&self, reason: String) -> Answer {
        tool_use::blocked(reason)
    }
}
