//! What a hook was told of one use of a tool, and what it answers: the same for all agents.

use bouncer_plan::Verdict;
use serde_json::Value;
use std::path::PathBuf;

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

/// What is printed, and how the process ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// How the process ends.
    pub exit: Exit,
}

/// How the process of a hook ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// Without a complaint: what is printed says everything.
    #[default]
    Success,
    /// With the one exit code, 2, that blocks a tool whatever is printed.
    Blocks,
    /// As `bouncer check` ends with this verdict.
    Verdict(Verdict),
}

impl Event {
    /// An event at which nothing is to be decided or remembered.
    #[must_use]
    pub const fn nothing(name: String) -> Self {
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
