//! Connects to a server only to read its tools, for pinning them.

use crate::Settings;
use crate::upstream::connection::{Endpoint, Reach};
use crate::upstream::own::OwnLine;
use crate::upstream::tools::{
    MAX_CURSOR, MAX_PAGES, MAX_TOOLS, read_tools, without_contradictions,
};
use crate::wire::line::{Line, LineReader};
use crate::wire::stop::Stop;
use crate::wire::unix::{Input, Output};
use bouncer_engine::tools::ToolDefinition;
use bouncer_mcp::frame::{FrameReader, is_blank};
use bouncer_system::log::{note, quoted, visible};
use bouncer_system::random;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::task::LocalSet;
use tokio::time::timeout;

/// Why the tools could not be read.
#[derive(Debug)]
pub enum InspectError {
    /// The server could not be started, written to or read.
    Io(io::Error),
    /// It did not answer in time, or not what was asked.
    Protocol(String),
}

impl fmt::Display for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Protocol(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for InspectError {}

impl From<io::Error> for InspectError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Connects to the server, lists all its tools and ends it. `limit` is the time for it all.
///
/// # Errors
/// If the server cannot be started or does not list its tools within `limit`.
pub fn inspect(endpoint: &Endpoint, limit: Duration) -> Result<Vec<ToolDefinition>, InspectError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let settings = Settings::default();
        let link = Reach::new(endpoint.clone(), settings.max_message).connect()?;
        let mut dialogue = Dialogue {
            stdin: link.input,
            lines: LineReader::new(link.output, settings.max_message),
            frames: FrameReader::new(settings.max_message),
        };
        let tools = timeout(limit, dialogue.tools()).await;
        drop(dialogue);
        let mut never = Stop::new(std::future::pending::<()>());
        link.far.end(settings.grace, &mut never).await;
        tools.map_err(|_| {
            InspectError::Protocol(format!(
                "the server did not list its tools within {} s",
                limit.as_secs()
            ))
        })?
    })
}

struct Dialogue {
    stdin: Output,
    lines: LineReader<Input>,
    frames: FrameReader,
}

impl Dialogue {
    async fn tools(&mut self) -> Result<Vec<ToolDefinition>, InspectError> {
        let prefix = random::unguessable();
        let id = format!("bouncer-{prefix}-0");
        self.request(&OwnLine::initialize(&id), &id).await?;
        self.say(&OwnLine::initialized()).await?;
        let mut tools = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        for page in 1..=MAX_PAGES {
            let id = format!("bouncer-{prefix}-{page}");
            let line = OwnLine::list_tools(&id, cursor.as_deref(), None);
            let result = self.request(&line, &id).await?;
            tools.extend(read_tools(&result));
            if tools.len() > MAX_TOOLS {
                let why = format!("the server lists more than {MAX_TOOLS} tools");
                return Err(InspectError::Protocol(why));
            }
            match result.get("nextCursor").and_then(Value::as_str) {
                None => return Ok(without_contradictions(tools)),
                Some(next) if next.len() <= MAX_CURSOR && cursors.insert(next.to_owned()) => {
                    cursor = Some(next.to_owned())
                }
                Some(_) => break,
            }
        }
        let why = "the server's list of tools does not end".to_owned();
        Err(InspectError::Protocol(why))
    }

    async fn say(&mut self, line: &OwnLine) -> io::Result<()> {
        self.stdin.write_all(line.bytes()).await?;
        self.stdin.write_all(b"\n").await?;
        self.stdin.flush().await
    }

    /// Sends a request and waits for its answer; everything else is let go.
    async fn request(&mut self, line: &OwnLine, id: &str) -> Result<Value, InspectError> {
        match self.say(line).await {
            // A server that does not read any more has ended, or is about to.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            said => said?,
        }
        loop {
            let line = match self.lines.next().await? {
                Some(Line::Whole(line)) if !is_blank(line) => line,
                Some(_) => continue,
                None => {
                    let why = "the server ended before it listed its tools".to_owned();
                    return Err(InspectError::Protocol(why));
                }
            };
            let frame = match self.frames.read(line) {
                Ok(frame) => frame,
                Err(why) => {
                    note(format_args!("a line of the server is dropped: {why}"));
                    continue;
                }
            };
            if frame.id().and_then(bouncer_mcp::frame::text).as_deref() != Some(id)
                || frame.method().is_some()
            {
                continue;
            }
            let text = String::from_utf8_lossy(frame.error().unwrap_or(b"no result"));
            let failed = || {
                let why = format!("the server answered with an error: {}", quoted(&text, 500));
                InspectError::Protocol(why)
            };
            let result = frame.result().ok_or_else(failed)?;
            return serde_json::from_slice(result).map_err(|error| {
                InspectError::Protocol(format!(
                    "the server's answer cannot be read: {}",
                    visible(&error.to_string())
                ))
            });
        }
    }
}
