//! What agents tell their hooks, and how they want to be answered: one file an agent.
//!
//! Messages are read strictly, and a message that is not what the agent's documentation
//! says is an error, which blocks the tool. Knows nothing of what a tool does.

mod claude;
mod codex;
mod cursor;
mod error;
mod plain;

pub use error::MessageError;

use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Verdict;
use bouncer_reader::json::{Limits, Scratch, members};
use serde_json::Value;
use std::path::PathBuf;

/// An agent whose hooks are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// A plain form of our own, for any other agent.
    Plain,
}

impl Agent {
    /// All of them. An agent is added here, in [`Agent::hooks`], and in a file of its own.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Cursor, Self::Codex, Self::Plain];

    /// How its hooks are spoken.
    #[must_use]
    pub fn hooks(self) -> &'static dyn Hooks {
        match self {
            Self::ClaudeCode => &claude::ClaudeCode,
            Self::Cursor => &cursor::Cursor,
            Self::Codex => &codex::Codex,
            Self::Plain => &plain::Plain,
        }
    }
}

/// How one agent tells its hooks something, and how it wants to be answered.
pub trait Hooks {
    /// The name by which users call the agent.
    fn name(&self) -> &'static str;

    /// Which of its hooks are spoken, in a few words.
    fn about(&self) -> &'static str;

    /// The word under which what is remembered of its conversations is kept. It never
    /// changes: with it, what was read would be forgotten.
    fn storage_key(&self) -> &'static str;

    /// Reads what the agent wrote.
    ///
    /// # Errors
    /// If it is not what the agent's documentation says.
    fn read(&self, bytes: &[u8]) -> Result<Event, MessageError>;

    /// Whether the agent can put this event to its human.
    fn can_ask(&self, event: &Event) -> bool;

    /// The answer to a decision. `said` is the verdict, or a denial where nobody can be
    /// asked; `reason` is for the agent and its human.
    fn answer(&self, event: &Event, said: Verdict, reason: &str, record: &VerdictRecord) -> Answer;

    /// The answer where no decision could be made: it blocks the tool.
    fn failed(&self, reason: &str) -> Answer;

    /// The answer where nothing is to be decided.
    fn noted(&self) -> Answer {
        Answer {
            stdout: "{}".to_owned(),
            ..Answer::default()
        }
    }
}

impl Agent {
    /// Reads what the agent wrote.
    ///
    /// # Errors
    /// If it is not what the agent's documentation says.
    pub fn read(self, bytes: &[u8]) -> Result<Event, MessageError> {
        self.hooks().read(bytes)
    }

    /// The answer to a decision. Where nobody can be asked, an ask is a denial.
    #[must_use]
    pub fn answer(self, event: &Event, record: &VerdictRecord) -> Answer {
        let hooks = self.hooks();
        let mut reason = format!("[bouncer] {}", record.reason);
        let mut said = record.verdict;
        if said == Verdict::Ask && !hooks.can_ask(event) {
            said = Verdict::Deny;
            reason.push_str(
                " (a human would be asked, which this hook cannot do: they can run it themselves, or allow it in the policy)",
            );
        }
        hooks.answer(event, said, &reason, record)
    }

    /// The answer where no decision could be made: it blocks the tool.
    #[must_use]
    pub fn failed(self, why: &str) -> Answer {
        let reason = format!("[bouncer] blocked, because no decision could be made: {why}");
        self.hooks().failed(&reason)
    }
}

/// When the hook was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before a tool runs: a decision is wanted.
    Before,
    /// After it ran: what it returned is remembered.
    After,
    /// At another time, about which there is nothing to say.
    Other,
}

/// What a client told its hook.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub phase: Phase,
    /// The client's name of the event.
    pub name: String,
    /// The conversation.
    pub session: String,
    /// The directory in which the agent works: the project, where the client tells it.
    pub cwd: Option<PathBuf>,
    /// The directory in which this use of a tool works, if it is another.
    pub from: Option<PathBuf>,
    /// The server, for tools of MCP servers.
    pub server: Option<String>,
    /// The tool, as the client calls it.
    pub tool: String,
    /// Other servers and tools that may be meant by the same name.
    pub also: Vec<(String, String)>,
    /// Its arguments, as raw JSON.
    pub input: Vec<u8>,
    /// What it returned; before a file is read, what stands in it.
    pub output: Option<Value>,
}

/// What is printed, and the exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// What is read strictly: the members' raw bytes.
struct Members<'a, const N: usize>([Option<&'a [u8]>; N]);

impl<const N: usize> Members<'_, N> {
    fn raw(&self, at: usize) -> Option<&[u8]> {
        self.0
            .get(at)
            .copied()
            .flatten()
            .filter(|raw| *raw != b"null")
    }

    /// Whether the member is there, be it `null`.
    fn has(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(Option::is_some)
    }

    fn text(&self, at: usize, name: &'static str) -> Result<Option<String>, MessageError> {
        let Some(raw) = self.raw(at) else {
            return Ok(None);
        };
        let text = serde_json::from_slice(raw).map_err(|_| MessageError::NotText(name))?;
        Ok(Some(text))
    }

    fn needed(&self, at: usize, name: &'static str) -> Result<String, MessageError> {
        self.text(at, name)?
            .filter(|text| !text.is_empty())
            .ok_or(MessageError::Missing(name))
    }

    fn value(&self, at: usize) -> Result<Option<Value>, MessageError> {
        let value = self.raw(at).map(serde_json::from_slice).transpose();
        value.map_err(|error| MessageError::Json(error.to_string()))
    }
}

fn read<'a, const N: usize>(
    bytes: &'a [u8],
    names: [&str; N],
) -> Result<Members<'a, N>, MessageError> {
    let limits = Limits {
        max_bytes: 64 << 20,
        ..Limits::default()
    };
    let mut scratch = Scratch::new(&limits);
    let found = members(bytes, names, &limits, &mut scratch)
        .map_err(|error| MessageError::Json(error.to_string()))?;
    Ok(Members(found))
}

/// The directory that a tool's arguments say it works in.
fn directory(input: Option<&[u8]>) -> Result<Option<PathBuf>, MessageError> {
    let Some(Ok(Value::Object(input))) = input.map(serde_json::from_slice::<Value>) else {
        return Ok(None);
    };
    let names = ["working_directory", "workdir", "cwd"];
    let mut found = names
        .iter()
        .filter_map(|name| Some((name, input.get(*name)?)));
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some((_, Value::Null)), None) => Ok(None),
        (Some((_, Value::String(path))), None) => {
            Ok((!path.is_empty()).then(|| PathBuf::from(path)))
        }
        (Some((name, _)), _) => Err(MessageError::Directory(name)),
    }
}

impl Event {
    const fn nothing(name: String) -> Self {
        Self {
            phase: Phase::Other,
            name,
            session: String::new(),
            cwd: None,
            from: None,
            server: None,
            tool: String::new(),
            also: Vec::new(),
            input: Vec::new(),
            output: None,
        }
    }
}
