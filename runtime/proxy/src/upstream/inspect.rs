//! Connects to a server only to read its tools, for pinning them.

use crate::Settings;
use crate::upstream::connection::{Endpoint, UpstreamConnector};
use crate::upstream::proxy_message::ProxyMessage;
use crate::upstream::tools::{
    MAX_CURSOR, MAX_PAGES, MAX_TOOLS, read_tools, without_contradictions,
};
use crate::wire::line::{Line, LineReader};
use crate::wire::shutdown::Shutdown;
use crate::wire::unix::{Input, Output};
use bouncer_engine::tools::ToolDefinition;
use bouncer_mcp::frame::{FrameReader, ids_of_garbage, is_blank, text};
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
        let link = UpstreamConnector::new(endpoint.clone(), settings.max_message).connect()?;
        let mut dialogue = Dialogue {
            stdin: link.input,
            lines: LineReader::new(link.output, settings.max_message),
            frames: FrameReader::new(settings.max_message),
            changed: false,
        };
        let tools = timeout(limit, dialogue.tools()).await;
        drop(dialogue);
        let mut never = Shutdown::new(std::future::pending::<()>());
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
    /// The server said that its tools are others now.
    changed: bool,
}

/// How long a server may take to find out what the client can do, and to change its tools.
const SETTLES: Duration = Duration::from_millis(700);
/// How often its tools are listed again for that.
const MAX_LISTINGS: usize = 4;

impl Dialogue {
    async fn tools(&mut self) -> Result<Vec<ToolDefinition>, InspectError> {
        let prefix = random::unguessable();
        let id = format!("bouncer-{prefix}-0");
        let hello = self.request(&ProxyMessage::initialize(&id), &id).await?;
        self.say(&ProxyMessage::initialized()).await?;
        let mut tools = self.all_pages(&format!("{prefix}-0")).await?;
        let changes = hello.pointer("/capabilities/tools/listChanged");
        if changes != Some(&Value::Bool(true)) {
            return Ok(tools);
        }
        for listing in 1..=MAX_LISTINGS {
            // A server that ends now has said all that it was asked for.
            if !self.changed && !matches!(timeout(SETTLES, self.until_changed()).await, Ok(Ok(())))
            {
                break;
            }
            self.changed = false;
            tools = self.all_pages(&format!("{prefix}-{listing}")).await?;
        }
        Ok(tools)
    }

    async fn until_changed(&mut self) -> Result<(), InspectError> {
        while !self.changed {
            self.hear("").await?;
        }
        Ok(())
    }

    async fn all_pages(&mut self, prefix: &str) -> Result<Vec<ToolDefinition>, InspectError> {
        let mut tools = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        for page in 1..=MAX_PAGES {
            let id = format!("bouncer-{prefix}-{page}");
            let line = ProxyMessage::list_tools(&id, cursor.as_deref(), None);
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

    async fn say(&mut self, line: &ProxyMessage) -> io::Result<()> {
        self.stdin.write_all(line.bytes()).await?;
        self.stdin.write_all(b"\n").await?;
        self.stdin.flush().await
    }

    /// Sends a request and waits for its answer; everything else is let go.
    async fn request(&mut self, line: &ProxyMessage, id: &str) -> Result<Value, InspectError> {
        match self.say(line).await {
            // A server that does not read any more has ended, or is about to.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            said => said?,
        }
        loop {
            if let Some(answer) = self.hear(id).await? {
                return Ok(answer);
            }
        }
    }

    /// Hears one line: the result, if it is the answer to `id`. What the server asks meanwhile
    /// is answered.
    async fn hear(&mut self, id: &str) -> Result<Option<Value>, InspectError> {
        let protocol = |why: String| Err(InspectError::Protocol(why));
        let reply = {
            let line = match self.lines.next().await? {
                Some(Line::Whole(line)) if !is_blank(line) => line,
                Some(Line::Whole(_)) => return Ok(None),
                Some(Line::TooLong) => {
                    return protocol("the server's answer is longer than the limit".to_owned());
                }
                None => return protocol("the server ended before it listed its tools".to_owned()),
            };
            let frame = match self.frames.read(line) {
                Ok(frame) => frame,
                Err(why)
                    if ids_of_garbage(line)
                        .iter()
                        .any(|raw| text(raw).as_deref() == Some(id)) =>
                {
                    return protocol(format!("the server's answer cannot be read: {why}"));
                }
                Err(why) => {
                    note(format_args!("a line of the server is dropped: {why}"));
                    return Ok(None);
                }
            };
            match (frame.method().and_then(text), frame.id()) {
                (Some(method), Some(id)) => ProxyMessage::reply(id, &method),
                (Some(method), None) => {
                    self.changed |= method == "notifications/tools/list_changed";
                    return Ok(None);
                }
                (None, raw) if raw.and_then(text).as_deref() == Some(id) => {
                    return outcome(frame.result(), frame.error()).map(Some);
                }
                (None, _) => return Ok(None),
            }
        };
        self.say(&reply).await?;
        Ok(None)
    }
}

fn outcome(result: Option<&[u8]>, error: Option<&[u8]>) -> Result<Value, InspectError> {
    let error = String::from_utf8_lossy(error.unwrap_or(b"no result"));
    let failed = || {
        let why = format!("the server answered with an error: {}", quoted(&error, 500));
        InspectError::Protocol(why)
    };
    serde_json::from_slice(result.ok_or_else(failed)?).map_err(|error| {
        InspectError::Protocol(format!(
            "the server's answer cannot be read: {}",
            visible(&error.to_string())
        ))
    })
}
