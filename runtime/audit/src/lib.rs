//! The audit log: one JSON line for every verdict, written before the call goes out.
//!
//! Knows nothing of policies or of the proxy. Lines are chained by hashes, so that what
//! is changed or taken away afterwards shows ([`verify`]), and several processes can share
//! a log: each holds a lock for the moment that a line takes.

mod chain;
mod file;
mod head;
mod parts;
mod redact;
mod scan;
mod sync;
mod time;
mod verify;

pub use chain::Link;
pub use parts::files;
pub use redact::redacted;
pub use sync::Sync;
pub use time::rfc3339 as timestamp;
pub use verify::{Remark, Report, verify};

use bouncer_engine::gate::{Grounds, ReadBefore, VerdictRecord};
use file::{Damage, Log};
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Arguments longer than this, in bytes, are cut.
const MAX_ARGUMENTS: usize = 1024 * 1024;
/// What of malformed or overlong arguments is kept, in bytes.
const KEPT: usize = 4096;

/// What happened to a call, beside its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The verdict is allow: the call is forwarded.
    Forwarded,
    /// The verdict is what it would have been: the policy is only observed, and the call
    /// is forwarded.
    Observed,
    /// The verdict blocks the call.
    Blocked,
    /// A human is being asked; another line about the same call follows.
    Asked,
    /// A human declined, now or when the same was asked a little earlier.
    Declined,
    /// Nobody answered in time.
    TimedOut,
    /// The client took the call back before it was decided.
    Cancelled,
    /// There is nobody to ask, so the call is blocked.
    NobodyToAsk,
    /// Not forwarded: a human can approve it out of band, and then it is made again.
    Filed,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Forwarded,
        Self::Observed,
        Self::Blocked,
        Self::Asked,
        Self::Declined,
        Self::TimedOut,
        Self::Cancelled,
        Self::NobodyToAsk,
        Self::Filed,
    ];

    /// The name as lines write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Observed => "observed",
            Self::Blocked => "blocked",
            Self::Asked => "asked",
            Self::Declined => "declined",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::NobodyToAsk => "nobody_to_ask",
            Self::Filed => "filed",
        }
    }
}

/// One line of the log.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Counts the calls of a conversation from 1: lines of one call share it.
    pub call: u64,
    /// The server, where one is known.
    pub server: Option<&'a str>,
    /// The tool, where one could be read.
    pub tool: Option<&'a str>,
    /// What the policy calls the tool that decided, where that is another: a hook judges
    /// one tool of a client as several.
    pub judged_as: Option<&'a str>,
    /// The arguments, or what stood in their place.
    pub arguments: Arguments<'a>,
    /// The verdict, and what it rests on.
    pub record: &'a VerdictRecord,
    /// The request for approval under which the call waits, or that it rests on.
    pub approval: Option<&'a str>,
    /// What happens now.
    pub outcome: Outcome,
    /// Time from the whole message being read to this line.
    pub latency: Duration,
}

/// The arguments of a call, as raw bytes.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// There are none.
    Absent,
    /// One well-formed JSON value on one line: logged as JSON.
    Json(&'a [u8]),
    /// Anything else: logged as text, cut.
    Garbage(&'a [u8]),
}

/// How a log is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The size in bytes at which another file is started; `None`: never.
    pub rotate: Option<u64>,
    /// When lines reach the disk.
    pub sync: Sync,
}

/// A log that is open for one conversation.
#[derive(Debug)]
pub struct Audit {
    log: Log,
    conversation: String,
    plan: String,
}

#[derive(Serialize)]
struct Head<'a> {
    time: &'a str,
    conversation: &'a str,
    call: u64,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_as: Option<&'a str>,
}

#[derive(Serialize)]
struct Tail<'a> {
    verdict: &'a str,
    contract: &'a str,
    code: &'a str,
    reason: &'a str,
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grounds: Option<&'a Grounds>,
    #[serde(skip_serializing_if = "is_zero")]
    forgotten: u64,
    #[serde(skip_serializing_if = "ReadBefore::is_nothing")]
    read: &'a ReadBefore,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a str>,
    outcome: Outcome,
    plan: &'a str,
    latency_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Audit {
    /// Opens or creates the log at `path`, readable by its owner only, as the
    /// directory around it. `conversation` and `plan` (a digest) stand in every line.
    ///
    /// # Errors
    /// If the file cannot be opened for appending.
    pub fn open(path: &Path, conversation: &str, plan: &str) -> io::Result<Self> {
        Self::open_with(path, conversation, plan, &Options::default())
    }

    /// The same, kept as `options` say.
    ///
    /// # Errors
    /// If the file, or the head beside it, cannot be opened for writing.
    pub fn open_with(
        path: &Path,
        conversation: &str,
        plan: &str,
        options: &Options,
    ) -> io::Result<Self> {
        Ok(Self {
            log: Log::open(path, options)?,
            conversation: conversation.to_owned(),
            plan: plan.to_owned(),
        })
    }

    /// `~/.bouncer/audit.jsonl`, if there is a home directory.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".bouncer").join("audit.jsonl"))
    }

    /// Another plan judges from now on: its digest stands in every further line.
    pub fn set_plan(&mut self, plan: &str) {
        plan.clone_into(&mut self.plan);
    }

    /// The conversation and the plan that stand in every line.
    #[must_use]
    pub fn names(&self) -> (&str, &str) {
        (&self.conversation, &self.plan)
    }

    /// Appends one line. Values of secret-looking argument names are redacted.
    ///
    /// # Errors
    /// If the line could not be written whole; the call it is about must then be blocked.
    pub fn write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let body = self.line(entry, SystemTime::now());
        self.append(&body)
    }

    /// Appends a line that is about no call: what happened, in a word and in a sentence,
    /// and members of its own.
    ///
    /// # Errors
    /// If the line could not be written whole.
    pub fn event(&mut self, event: &str, reason: &str, more: &[(&str, Value)]) -> io::Result<()> {
        let mut body = event_body(&self.conversation, event, reason, &self.plan);
        for (name, value) in more {
            body.pop();
            body.extend_from_slice(format!(",{}:{value}}}", Value::from(*name)).as_bytes());
        }
        self.append(&body)
    }

    fn append(&mut self, body: &[u8]) -> io::Result<()> {
        let conversation = &self.conversation;
        self.log.append(body, |damage: &Damage| {
            let head = EventHead {
                time: &time::rfc3339(SystemTime::now()),
                conversation,
            };
            members(&head, damage)
        })
    }

    fn line(&self, entry: &Entry<'_>, now: SystemTime) -> Vec<u8> {
        let head = Head {
            time: &time::rfc3339(now),
            conversation: &self.conversation,
            call: entry.call,
            server: entry.server,
            tool: entry.tool,
            judged_as: entry.judged_as,
        };
        let tail = Tail {
            verdict: entry.record.verdict.name(),
            contract: entry.record.stage.name(),
            code: entry.record.code,
            reason: &entry.record.reason,
            at: entry.record.at.as_deref(),
            grounds: entry.record.grounds.as_ref(),
            forgotten: entry.record.forgotten,
            read: &entry.record.read,
            approval: entry.approval,
            outcome: entry.outcome,
            plan: &self.plan,
            latency_us: u64::try_from(entry.latency.as_micros()).unwrap_or(u64::MAX),
        };
        let mut line = Vec::with_capacity(512);
        // Plain strings and numbers always serialize; a failure would leave a line
        // that no reader takes for a whole one.
        let _ = serde_json::to_writer(&mut line, &head);
        line.remove(0);
        line.pop();
        push_arguments(&mut line, entry.arguments);
        let start = line.len();
        let _ = serde_json::to_writer(&mut line, &tail);
        if let Some(brace) = line.get_mut(start) {
            *brace = b',';
        }
        line
    }
}

#[derive(Serialize)]
struct EventHead<'a> {
    time: &'a str,
    conversation: &'a str,
}

#[derive(Serialize)]
struct EventTail<'a> {
    event: &'a str,
    reason: &'a str,
    plan: &'a str,
}

fn event_body(conversation: &str, event: &str, reason: &str, plan: &str) -> Vec<u8> {
    let head = EventHead {
        time: &time::rfc3339(SystemTime::now()),
        conversation,
    };
    members(
        &head,
        &EventTail {
            event,
            reason,
            plan,
        },
    )
}

/// The members of both objects, without the first brace.
fn members(head: &impl Serialize, tail: &impl Serialize) -> Vec<u8> {
    let mut body = serde_json::to_vec(head).unwrap_or_default();
    body.pop();
    let tail = serde_json::to_vec(tail).unwrap_or_default();
    body.push(b',');
    body.extend_from_slice(tail.get(1..).unwrap_or_default());
    body.drain(..body.len().min(1));
    body
}

fn push_arguments(line: &mut Vec<u8>, arguments: Arguments<'_>) {
    match arguments {
        Arguments::Absent => {}
        Arguments::Json(raw) if raw.len() <= MAX_ARGUMENTS => {
            line.extend_from_slice(b",\"arguments\":");
            redact::redact(raw, line);
        }
        Arguments::Json(raw) | Arguments::Garbage(raw) => {
            // Redact before cutting, so that no cut hides a key from the redaction,
            // but never more than is needed for the part that is kept.
            let mut text = Vec::new();
            redact::redact(raw.get(..4 * KEPT).unwrap_or(raw), &mut text);
            text.truncate(KEPT);
            let text = String::from_utf8_lossy(&text);
            line.extend_from_slice(b",\"arguments_text\":");
            let _ = serde_json::to_writer(&mut *line, &text);
            line.extend_from_slice(format!(",\"arguments_bytes\":{}", raw.len()).as_bytes());
        }
    }
}

#[cfg(test)]
mod chain_tests;
#[cfg(test)]
mod tests;
