//! The audit log: one JSON line for every verdict, written before the call goes out.
//!
//! Knows nothing of policies or of the proxy. A line is one `write` to a file that is
//! opened for appending: the kernel places and writes it as a whole, so that several
//! processes can share a file without a lock (a lock that a stopped process holds
//! would stop every gate on the machine).

mod redact;
mod time;

use crate::gate::Grounds;
use crate::private::{private_directory, private_file};
use crate::{Stage, Verdict};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
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
    /// A human declined.
    Declined,
    /// Nobody answered in time.
    TimedOut,
    /// The client took the call back before it was decided.
    Cancelled,
    /// There is nobody to ask.
    NobodyToAsk,
    /// Not forwarded: a human can approve it out of band, and then it is made again.
    Filed,
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
    /// The arguments, or what stood in their place.
    pub arguments: Arguments<'a>,
    /// The verdict.
    pub verdict: Verdict,
    /// What decided.
    pub contract: Stage,
    /// The same, more exactly: a stable word.
    pub code: &'a str,
    /// Why.
    pub reason: &'a str,
    /// `file:line:column` of what decided.
    pub at: Option<&'a str>,
    /// The destination that it is about, and where that was seen.
    pub grounds: Option<&'a Grounds>,
    /// How many pieces of what was read have been forgotten so far, so that a value that
    /// was read may have counted as unproven.
    pub forgotten: u64,
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

/// A log that is open for one conversation.
#[derive(Debug)]
pub struct Audit {
    file: File,
    conversation: String,
    plan: String,
    /// The last line was written in part: the next one starts on its own line.
    torn: bool,
}

#[derive(Serialize)]
struct Head<'a> {
    time: &'a str,
    conversation: &'a str,
    call: u64,
    server: Option<&'a str>,
    tool: Option<&'a str>,
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
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory)?;
        }
        Ok(Self {
            file: private_file(path)?,
            conversation: conversation.to_owned(),
            plan: plan.to_owned(),
            torn: false,
        })
    }

    /// `~/.bouncer/audit.jsonl`, if there is a home directory.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".bouncer").join("audit.jsonl"))
    }

    /// Appends one line. Values of secret-looking argument names are redacted.
    ///
    /// # Errors
    /// If the line could not be written whole; the call it is about must then be blocked.
    pub fn write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let line = self.line(entry, SystemTime::now());
        match self.file.write(&line) {
            Ok(written) if written == line.len() => {
                self.torn = false;
                Ok(())
            }
            Ok(written) => {
                self.torn |= written > 0;
                Err(io::Error::new(
                    io::ErrorKind::WriteZero,
                    "the line was written in part",
                ))
            }
            Err(error) => Err(error),
        }
    }

    fn line(&self, entry: &Entry<'_>, now: SystemTime) -> Vec<u8> {
        let head = Head {
            time: &time::rfc3339(now),
            conversation: &self.conversation,
            call: entry.call,
            server: entry.server,
            tool: entry.tool,
        };
        let tail = Tail {
            verdict: entry.verdict.name(),
            contract: entry.contract.name(),
            code: entry.code,
            reason: entry.reason,
            at: entry.at,
            grounds: entry.grounds,
            forgotten: entry.forgotten,
            outcome: entry.outcome,
            plan: &self.plan,
            latency_us: u64::try_from(entry.latency.as_micros()).unwrap_or(u64::MAX),
        };
        let mut line = Vec::with_capacity(512);
        if self.torn {
            line.push(b'\n');
        }
        // Plain strings and numbers always serialize; a failure would leave a line
        // that no reader takes for a whole one.
        let _ = serde_json::to_writer(&mut line, &head);
        if line.last() == Some(&b'}') {
            line.pop();
        }
        push_arguments(&mut line, entry.arguments);
        let start = line.len();
        let _ = serde_json::to_writer(&mut line, &tail);
        if let Some(brace) = line.get_mut(start) {
            *brace = b',';
        }
        line.push(b'\n');
        line
    }
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
mod tests;
