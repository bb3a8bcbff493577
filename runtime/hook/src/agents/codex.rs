//! Codex's `PreToolUse` and `PostToolUse`: <https://developers.openai.com/codex/hooks>.

use super::claude::{blocked, claude_code, decided};
use super::{Answer, Event, Hooks, MessageError};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Verdict;

/// Codex.
pub(super) struct Codex;

impl Hooks for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn about(&self) -> &'static str {
        "Codex's `PreToolUse` and `PostToolUse`"
    }

    fn storage_key(&self) -> &'static str {
        "Codex"
    }

    fn read(&self, bytes: &[u8]) -> Result<Event, MessageError> {
        claude_code(bytes)
    }

    fn can_ask(&self, _: &Event) -> bool {
        // It takes an `ask` for a mistake of the hook, and runs the tool.
        false
    }

    fn answer(&self, event: &Event, said: Verdict, reason: &str, _: &VerdictRecord) -> Answer {
        decided(event, said, reason)
    }

    fn failed(&self, reason: &str) -> Answer {
        blocked(reason)
    }
}
