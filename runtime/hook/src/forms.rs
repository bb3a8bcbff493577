//! What each client tells its hooks, and how it wants to be answered.
//!
//! Claude Code: <https://code.claude.com/docs/en/hooks>. Codex:
//! <https://developers.openai.com/codex/hooks>. Cursor: <https://cursor.com/docs/agent/hooks>.

use bouncer_plan::Verdict;
use bouncer_reader::json::{Limits, Scratch, members};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Places at which the name of a server may end, at most.
const MAX_READINGS: usize = 8;

/// The exit code of the plain form: a human has to approve.
const ASK: u8 = 3;
/// The exit code of the plain form: the tool must not run.
const DENY: u8 = 4;

/// Whose hook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Claude Code's `PreToolUse` and `PostToolUse`
    ClaudeCode,
    /// Cursor's `before…` and `after…` hooks
    Cursor,
    /// Codex's `PreToolUse` and `PostToolUse`
    Codex,
    /// A plain form, for any other agent
    Plain,
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

    fn text(&self, at: usize, name: &str) -> Result<Option<String>, String> {
        let Some(raw) = self.raw(at) else {
            return Ok(None);
        };
        let text = serde_json::from_slice(raw).map_err(|_| format!("`{name}` is not a string"))?;
        Ok(Some(text))
    }

    fn needed(&self, at: usize, name: &str) -> Result<String, String> {
        self.text(at, name)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| format!("`{name}` is missing"))
    }

    fn value(&self, at: usize) -> Result<Option<Value>, String> {
        let value = self.raw(at).map(serde_json::from_slice).transpose();
        value.map_err(|error| error.to_string())
    }
}

impl Event {
    /// Reads what stands on standard input.
    ///
    /// # Errors
    /// If it is not what the client's documentation says.
    pub fn read(form: Form, bytes: &[u8]) -> Result<Self, String> {
        match form {
            Form::ClaudeCode | Form::Codex => claude_code(bytes),
            Form::Cursor => cursor(bytes),
            Form::Plain => plain(bytes),
        }
    }
}

fn read<'a, const N: usize>(bytes: &'a [u8], names: [&str; N]) -> Result<Members<'a, N>, String> {
    let limits = Limits {
        max_bytes: 64 << 20,
        ..Limits::default()
    };
    let mut scratch = Scratch::new(&limits);
    let found = members(bytes, names, &limits, &mut scratch).map_err(|error| error.to_string())?;
    Ok(Members(found))
}

fn claude_code(bytes: &[u8]) -> Result<Event, String> {
    let names = [
        "hook_event_name",
        "session_id",
        "cwd",
        "tool_name",
        "tool_input",
        "tool_response",
        "error",
    ];
    let found = read(bytes, names)?;
    let name = found.needed(0, "hook_event_name")?;
    let phase = match name.as_str() {
        "PreToolUse" => Phase::Before,
        "PostToolUse" | "PostToolUseFailure" => Phase::After,
        _ => Phase::Other,
    };
    if phase == Phase::Other {
        return Ok(Event::nothing(name));
    }
    if phase == Phase::After && !found.has(5) && !found.has(6) {
        return Err("neither `tool_response` nor `error` says what the tool returned".to_owned());
    }
    let tool = found.needed(3, "tool_name")?;
    // A server's name may have two underscores as well; which of them it ends at is not
    // said, so all readings are judged.
    let full = tool.strip_prefix("mcp__").unwrap_or_default();
    let bars = (0..full.len()).filter(|at| full.get(*at..at + 2) == Some("__"));
    if bars.clone().count() > MAX_READINGS {
        return Err("which server `tool_name` means cannot be told".to_owned());
    }
    let readings: Vec<(String, String)> = bars
        .filter_map(|at| {
            let (server, tool) = (full.get(..at)?, full.get(at + 2..)?);
            (!tool.is_empty()).then(|| (server.to_owned(), tool.to_owned()))
        })
        .collect();
    let mut readings = readings.into_iter();
    let (server, tool) = match readings.next() {
        Some((server, tool)) => (Some(server), tool),
        None => (None, tool),
    };
    Ok(Event {
        phase,
        name,
        session: found.needed(1, "session_id")?,
        cwd: found.text(2, "cwd")?.map(PathBuf::from),
        from: directory(found.raw(4))?,
        server,
        tool,
        input: found.raw(4).unwrap_or(b"{}").to_vec(),
        also: readings.collect(),
        output: match (found.value(5)?, found.value(6)?) {
            (Some(output), Some(error)) => Some(Value::Array(vec![output, error])),
            (output, error) => output.or(error),
        },
    })
}

fn cursor(bytes: &[u8]) -> Result<Event, String> {
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

/// The directory that a tool's arguments say it works in.
fn directory(input: Option<&[u8]>) -> Result<Option<PathBuf>, String> {
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
        (Some((name, _)), _) => Err(format!("`{name}` is not one plain directory")),
    }
}

/// Arguments that are an object, or a text that holds one.
fn arguments<const N: usize>(found: &Members<'_, N>, at: usize) -> Result<Vec<u8>, String> {
    let raw = found.raw(at).unwrap_or(b"{}");
    if raw.first() == Some(&b'"') {
        let text: String = serde_json::from_slice(raw).map_err(|error| error.to_string())?;
        return Ok(text.into_bytes());
    }
    Ok(raw.to_vec())
}

fn plain(bytes: &[u8]) -> Result<Event, String> {
    let names = [
        "event",
        "session",
        "cwd",
        "server",
        "tool",
        "arguments",
        "result",
    ];
    let found = read(bytes, names)?;
    // The form is our own, so a member that is not known is a slip: with `args` for
    // `arguments` a call would be judged without any.
    let all: Map<String, Value> = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if let Some(unknown) = all.keys().find(|key| !names.contains(&key.as_str())) {
        let known = names.map(|name| format!("`{name}`")).join(", ");
        return Err(format!("unknown member `{unknown}`; known are {known}"));
    }
    let name = found.needed(0, "event")?;
    let phase = match name.as_str() {
        "before" => Phase::Before,
        "after" => Phase::After,
        _ => return Err("`event` is neither `before` nor `after`".to_owned()),
    };
    if phase == Phase::After && !found.has(6) {
        return Err("`result` is missing: what the tool returned".to_owned());
    }
    Ok(Event {
        phase,
        name,
        session: found.needed(1, "session")?,
        cwd: found.text(2, "cwd")?.map(PathBuf::from),
        from: directory(found.raw(5))?,
        server: found.text(3, "server")?,
        tool: found.needed(4, "tool")?,
        also: Vec::new(),
        input: found.raw(5).unwrap_or(b"{}").to_vec(),
        output: found.value(6)?,
    })
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

    /// Whether the client can put this event to its human.
    fn can_ask(&self, form: Form) -> bool {
        match form {
            Form::ClaudeCode | Form::Plain => true,
            // Codex takes an `ask` for a mistake of the hook, and runs the tool.
            Form::Codex => false,
            // Where reading is concerned Cursor knows yes and no only.
            Form::Cursor => {
                matches!(
                    self.name.as_str(),
                    "beforeShellExecution" | "beforeMCPExecution"
                )
            }
        }
    }

    /// The answer to a decision.
    #[must_use]
    pub fn answer(&self, form: Form, verdict: Verdict, details: &Value) -> Answer {
        let reason = details
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut reason = format!("[bouncer] {reason}");
        let mut said = verdict;
        if verdict == Verdict::Ask && !self.can_ask(form) {
            said = Verdict::Deny;
            reason.push_str(
                " (a human would be asked, which this hook cannot do: they can run it themselves, or allow it in the policy)",
            );
        }
        let out = match form {
            Form::ClaudeCode | Form::Codex => match said {
                // No opinion: the client's own permissions still decide.
                Verdict::Allow => json!({}),
                _ => json!({ "hookSpecificOutput": {
                    "hookEventName": self.name,
                    "permissionDecision": said.name(),
                    "permissionDecisionReason": reason,
                }}),
            },
            Form::Cursor => match said {
                Verdict::Allow => json!({ "permission": "allow" }),
                _ => json!({
                    "permission": said.name(),
                    "user_message": reason,
                    "agent_message": reason,
                }),
            },
            Form::Plain => details.clone(),
        };
        Answer {
            stdout: out.to_string(),
            stderr: String::new(),
            code: match (form, said) {
                (Form::Plain, Verdict::Ask) => ASK,
                (Form::Plain, Verdict::Deny) => DENY,
                _ => 0,
            },
        }
    }

    /// The answer where nothing is to be decided.
    #[must_use]
    pub fn noted(form: Form) -> Answer {
        let _ = form;
        Answer {
            stdout: "{}".to_owned(),
            ..Answer::default()
        }
    }
}

/// The answer where no decision could be made: the tool is blocked.
#[must_use]
pub fn failed(form: Form, why: &str) -> Answer {
    let reason = format!("[bouncer] blocked, because no decision could be made: {why}");
    match form {
        // Of all exit codes only this one blocks.
        Form::ClaudeCode | Form::Codex => Answer {
            stdout: String::new(),
            stderr: reason,
            code: 2,
        },
        Form::Cursor => Answer {
            stdout: json!({ "permission": "deny", "user_message": reason, "agent_message": reason }).to_string(),
            stderr: reason,
            code: 2,
        },
        Form::Plain => Answer {
            stdout: json!({ "verdict": "deny", "contract": "malformed", "code": "hook.failed", "reason": reason }).to_string(),
            stderr: String::new(),
            code: DENY,
        },
    }
}
