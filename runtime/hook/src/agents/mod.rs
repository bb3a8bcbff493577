//! The agents whose hooks are spoken, one file each: how an agent tells its hook of a tool,
//! and how it wants to be answered. What a tool stands for and what is decided is not known
//! here.
//!
//! To add an agent: a file with an [`Agent`], and a line in [`ALL`].

mod claude_code;
mod codex;
mod cursor;
mod plain;
mod tool_use;

use crate::event::{Answer, Event};
use crate::judged::Judged;
use crate::message::MessageError;
use bouncer_plan::Verdict;
use std::fmt;
use std::panic::RefUnwindSafe;

/// Every agent, in the order in which the command line shows them.
pub const ALL: [&dyn Agent; 4] = [
    &claude_code::ClaudeCode,
    &cursor::Cursor,
    &codex::Codex,
    &plain::Plain,
];

/// One agent's form of hooks.
pub trait Agent: fmt::Debug + Sync + RefUnwindSafe {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Which hooks these are, in one line.
    fn about(&self) -> &'static str;

    /// Tells its sessions from other agents' in the memory of hooks. What is remembered is
    /// lost where this changes.
    fn key(&self) -> &'static str;

    /// Reads what stands on standard input.
    ///
    /// # Errors
    /// If it is not what the agent's documentation says.
    fn read(&self, message: &[u8]) -> Result<Event, MessageError>;

    /// Whether the agent can put this event to its human.
    fn can_ask(&self, event: &Event) -> bool;

    /// The server and the tool under which the output of an event is remembered before the
    /// tool runs, if there is no event after it.
    fn shown_before(&self, _: &Event) -> Option<(&'static str, &'static str)> {
        None
    }

    /// The answer to a decision. `verdict` and `reason` are what the agent is to hear;
    /// `judged` is all that was decided.
    fn answer(&self, event: &Event, verdict: Verdict, reason: &str, judged: &Judged) -> Answer;

    /// The answer that blocks the tool, because no decision could be made.
    fn blocked(&self, reason: String) -> Answer;
}

/// The agent with this name on the command line.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Agent> {
    ALL.into_iter().find(|agent| agent.name() == name)
}

/// The answer to a decision. Where a human has to be asked and the agent cannot, the tool is
/// denied.
#[must_use]
pub fn decided(agent: &dyn Agent, event: &Event, judged: &Judged) -> Answer {
    let mut reason = format!("[bouncer] {}", judged.record.reason);
    let mut verdict = judged.record.verdict;
    if verdict == Verdict::Ask && !agent.can_ask(event) {
        verdict = Verdict::Deny;
        reason.push_str(
            " (a human would be asked, which this hook cannot do: they can run it themselves, or allow it in the policy)",
        );
    }
    agent.answer(event, verdict, &reason, judged)
}

/// The answer where nothing is to be decided.
#[must_use]
pub fn noted() -> Answer {
    Answer {
        stdout: "{}".to_owned(),
        ..Answer::default()
    }
}

/// The answer where no decision could be made: the tool is blocked.
#[must_use]
pub fn failed(agent: &dyn Agent, why: &dyn fmt::Display) -> Answer {
    agent.blocked(format!(
        "[bouncer] blocked, because no decision could be made: {why}"
    ))
}
