//! Codex: <https://developers.openai.com/codex/hooks>.

use super::{Agent, tool_use};
use crate::event::{Answer, Event};
use crate::judged::Judged;
use crate::message::MessageError;
use bouncer_plan::Verdict;

/// Codex's `PreToolUse` and `PostToolUse`.
#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn about(&self) -> &'static str {
        "Codex's `PreToolUse` and `PostToolUse`"
    }

    fn key(&self) -> &'static str {
        "Codex"
    }

    fn read(&self, message: &[u8]) -> Result<Event, MessageError> {
        tool_use::read(message)
    }

    /// Codex takes an `ask` for a mistake of the hook, and runs the tool.
    fn can_ask(&self, _: &Event) -> bool {
        false
    }

    fn answer(&self, event: &Event, verdict: Verdict, reason: &str, _: &Judged) -> Answer {
        tool_use::answer(event, verdict, reason)
    }

    fn blocked(&self, reason: String) -> Answer {
        tool_use::blocked(reason)
    }
}
