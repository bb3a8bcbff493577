//! The beginning of a connection: which version the server speaks.
//!
//! A client with an introduction introduces itself, and only a server that refuses that is
//! asked whether it speaks the newer version. For a client without one it is the other way
//! round. A server that does not survive the question is started again and is introduced
//! to; one that does not answer it is introduced to after a while.

use crate::conversation::settings::limit;
use crate::upstream::adapter::compose::{ClientIdentity, with_tasks, without_tasks};
use crate::upstream::adapter::switch::Handover;
use crate::upstream::adapter::{NegotiationOptions, ServerStreams, VersionOrder};
use crate::upstream::process::Server;
use crate::wire::line::{Line, LineReader};
use crate::wire::unix::{Input, Output};
use bouncer_mcp::frame::{FrameReader, ids_of_garbage, is_blank, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc;
use bouncer_mcp::version::{
    HEADER_MISMATCH, MISSING_CAPABILITY, MODERN, SERVER_META, UNSUPPORTED_VERSION, VERSIONS,
    has_tasks,
};
use bouncer_system::log::{note, quoted, visible};
use bouncer_system::random;
use serde_json::{Value, json};
use std::io;
use std::rc::Rc;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

/// What is kept of what is said meanwhile, in bytes, in each direction.
const MAX_MEANWHILE: usize = 1024 * 1024;

/// A connection of which it is not known yet which version the server speaks.
pub(super) struct Negotiation {
    lines: LineReader<ReadHalf<DuplexStream>>,
    back: WriteHalf<DuplexStream>,
    input: Output,
    output: LineReader<Input>,
    again: Option<(
        crate::upstream::adapter::ServerCommand,
        crate::upstream::adapter::Child,
    )>,
    options: NegotiationOptions,
    handover: Rc<Handover>,
    frames: FrameReader,
    /// What the client's side said that has not been sent yet.
    waiting: Vec<Vec<u8>>,
    /// The client's side has said its last.
    closed: bool,
    /// What the server said that nobody has heard yet.
    early: Vec<Vec<u8>>,
    /// Something of what the server said was passed on.
    spoke: bool,
}

/// What came in answer.
enum Heard {
    Answer(Vec<u8>),
    /// It cannot be read.
    Unreadable(Vec<u8>),
    /// It is longer than the limit: a line was, while nothing else was waited for.
    Overlong,
    /// The server is gone, or it is too late.
    Nothing,
}

/// A connection to a server of the newer version.
pub(super) struct Newer {
    pub lines: LineReader<Box<dyn tokio::io::AsyncRead + Unpin>>,
    pub back: WriteHalf<DuplexStream>,
    pub input: Output,
    pub output: LineReader<Input>,
    pub early: Vec<Vec<u8>>,
    /// The parameters of the client's introduction.
    pub hello: Value,
    /// What the server can do.
    pub capabilities: Value,
    /// The answer to the introduction.
    pub answer: Vec<u8>,
}

/// What one side said.
enum Event {
    Client(Vec<u8>),
    Server(Vec<u8>),
    /// A line of the server that is longer than the limit.
    Overlong,
    ServerGone,
    Late,
}

/// What came of the question which version is spoken.
enum Found {
    Newer(Value),
    Older,
    Neither(String),
    Gone,
}

/// The introduction.
struct InitializeRequest {
    line: Vec<u8>,
    id: Vec<u8>,
    key: Key,
    params: Value,
}

impl Negotiation {
    pub(super) fn new(
        far: DuplexStream,
        server: ServerStreams,
        options: &NegotiationOptions,
        handover: Rc<Handover>,
    ) -> Self {
        let (read, back) = tokio::io::split(far);
        let limit = options.max_message;
        Self {
            // What the client's side says was read before, and may have grown since.
            lines: LineReader::new(read, limit.saturating_mul(2)),
            back,
            input: server.input,
            output: LineReader::new(server.output, limit),
            again: server.again,
            options: options.clone(),
            handover,
            frames: FrameReader::new(limit.saturating_mul(2)),
            waiting: Vec::new(),
            closed: false,
            early: Vec::new(),
            spoke: false,
        }
    }

    /// Some: there is something to interpret. Else the server has been handed over.
    pub(super) async fn run(mut self) -> Option<Newer> {
        let Some(hello) = self.first().await else {
            self.hand_over(None).await;
            return None;
        };
        let outcome = match self.options.order {
            VersionOrder::OlderFirst => self.older_first(&hello).await,
            VersionOrder::NewerFirst => self.newer_first(&hello).await,
        };
        match outcome {
            Negotiated::Older(said) => {
                self.options.older.set(true);
                self.hand_over(said).await;
                None
            }
            Negotiated::Refused(answer) => {
                self.hand_over(Some(answer)).await;
                None
            }
            Negotiated::Newer(found) => Some(self.newer(hello, &found).await),
        }
    }

    /// The introduction, if that is how the client begins.
    async fn first(&mut self) -> Option<InitializeRequest> {
        loop {
            match self.next(None).await {
                Event::Client(line) if is_blank(&line) => {}
                Event::Client(line) => {
                    let hello = self.read_hello(&line);
                    if hello.is_none() {
                        self.waiting.push(line);
                    }
                    return hello;
                }
                Event::Server(line) => {
                    self.early.push(line);
                    if self.is_full() {
                        return None;
                    }
                }
                Event::Overlong => {}
                Event::ServerGone | Event::Late => return None,
            }
        }
    }

    fn read_hello(&mut self, line: &[u8]) -> Option<InitializeRequest> {
        let frame = self.frames.read(line).ok()?;
        let id = frame.id()?;
        let is_hello = frame.method().and_then(text).as_deref() == Some("initialize");
        is_hello.then_some(())?;
        Some(InitializeRequest {
            line: line.to_vec(),
            id: id.to_vec(),
            key: Key::parse(id)?,
            params: serde_json::from_slice(frame.params()?).ok()?,
        })
    }

    fn is_full(&self) -> bool {
        self.early.iter().map(Vec::len).sum::<usize>() > MAX_MEANWHILE
    }

    /// What is said next. A client's side that has said its last is not listened to.
    async fn next(&mut self, until: Option<Instant>) -> Event {
        let held: usize = self.waiting.iter().map(Vec::len).sum();
        loop {
            let late = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                line = self.lines.next(), if !self.closed && held < MAX_MEANWHILE => match line {
                    Ok(Some(Line::Whole(line))) => return Event::Client(line.to_vec()),
                    Ok(Some(Line::TooLong)) => {}
                    Ok(None) | Err(_) => {
                        self.closed = true;
                        // The server is to hear of it, whatever it is busy with.
                        return Event::Late;
                    }
                },
                line = self.output.next() => match line {
                    Ok(Some(Line::Whole(line))) => return Event::Server(line.to_vec()),
                    Ok(Some(Line::TooLong)) => return Event::Overlong,
                    Ok(None) | Err(_) => return Event::ServerGone,
                },
                () = late => return Event::Late,
            }
        }
    }

    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.input.write_all(line).await?;
        self.input.write_all(b"\n").await?;
        self.input.flush().await
    }

    /// Waits for an answer. What a server says meanwhile is passed on, and so are pings and
    /// answers of the client: a server may wait for these before it goes on. All else that the
    /// client says is kept.
    async fn answer(&mut self, key: &Key, until: Option<Instant>) -> Heard {
        for line in std::mem::take(&mut self.early) {
            self.pass_back(&line).await;
        }
        loop {
            match self.next(until).await {
                Event::Client(line) if self.may_pass(&line) => {
                    if self.write(&line).await.is_err() {
                        return Heard::Nothing;
                    }
                }
                Event::Client(line) => self.waiting.push(line),
                Event::Server(line) => match self.answers(&line, key) {
                    Some(true) => return Heard::Answer(line),
                    Some(false) => return Heard::Unreadable(line),
                    None => self.pass_back(&line).await,
                },
                Event::Overlong => return Heard::Overlong,
                Event::ServerGone | Event::Late => return Heard::Nothing,
            }
        }
    }

    /// Whether a line of the client may go to a server that is still asked which version it
    /// speaks: what keeps the connection alive.
    fn may_pass(&mut self, line: &[u8]) -> bool {
        self.frames.read(line).is_ok_and(|frame| {
            frame.method().is_none() || frame.method().and_then(text).as_deref() == Some("ping")
        })
    }

    /// Whether a line of the server is the answer to `key`; `Some(false)`: it is, and cannot be
    /// read.
    fn answers(&mut self, line: &[u8], key: &Key) -> Option<bool> {
        match self.frames.read(line) {
            Ok(frame) => {
                let id = frame.id().and_then(Key::parse);
                let ours = id.is_some_and(|id| key.is_answered_by(&id));
                (frame.method().is_none() && ours).then_some(true)
            }
            Err(_) => {
                let ids = ids_of_garbage(line);
                let mut ids = ids.iter().filter_map(|id| Key::parse(id));
                ids.any(|id| key.is_answered_by(&id)).then_some(false)
            }
        }
    }

    /// Lets the client's side hear a line of the server at once.
    async fn pass_back(&mut self, line: &[u8]) {
        self.spoke = true;
        // Whoever does not listen any more misses it.
        let _ = self.back.write_all(line).await;
        let _ = self.back.write_all(b"\n").await;
        let _ = self.back.flush().await;
    }

    async fn older_first(&mut self, hello: &InitializeRequest) -> Negotiated {
        if self.write(&hello.line).await.is_err() {
            return Negotiated::Older(None);
        }
        let answer = match self.answer(&hello.key, None).await {
            Heard::Answer(answer) => answer,
            // Whoever reads it next says why it cannot be read.
            Heard::Unreadable(line) => return Negotiated::Older(Some(line)),
            Heard::Overlong => return Negotiated::Refused(refusal(hello, &self.overlong())),
            Heard::Nothing => return Negotiated::Older(None),
        };
        let refused = self.frames.read(&answer).is_ok_and(|f| f.error().is_some());
        if !refused {
            return Negotiated::Older(Some(answer));
        }
        match self.discover(hello).await {
            Found::Newer(result) => Negotiated::Newer(result),
            Found::Neither(why) => Negotiated::Refused(refusal(hello, &why)),
            Found::Older | Found::Gone => Negotiated::Refused(answer),
        }
    }

    async fn newer_first(&mut self, hello: &InitializeRequest) -> Negotiated {
        let found = match self.discover(hello).await {
            Found::Gone if self.start_again() => Found::Older,
            found => found,
        };
        match found {
            Found::Newer(result) => Negotiated::Newer(result),
            Found::Neither(why) => Negotiated::Refused(refusal(hello, &why)),
            Found::Older => {
                self.waiting.insert(0, hello.line.clone());
                Negotiated::Older(None)
            }
            Found::Gone => Negotiated::Refused(Vec::new()),
        }
    }

    fn overlong(&self) -> String {
        let limit = limit(self.options.max_message);
        format!("the server's answer to the introduction is longer than {limit}")
    }

    /// Starts a server again that ended when it was asked.
    fn start_again(&mut self) -> bool {
        let Some((command, child)) = &self.again else {
            return false;
        };
        if self.closed || self.spoke {
            return false;
        }
        let Ok((server, input, output)) = Server::start(command) else {
            return false;
        };
        // The first has ended; what it left behind goes with it.
        child.replace(Some(server));
        self.input = Box::pin(input);
        self.output = LineReader::new(Box::pin(output), self.options.max_message);
        note(format_args!(
            "a server ended when it was asked `server/discover`; it is started again and spoken to in an older version"
        ));
        true
    }

    async fn discover(&mut self, hello: &InitializeRequest) -> Found {
        let id = format!("bouncer-{}-discover", random::unguessable());
        let meta = ClientIdentity::new(&hello.params, false).meta(None);
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "server/discover",
            "params": {"_meta": meta}});
        if self.write(line.to_string().as_bytes()).await.is_err() {
            return Found::Gone;
        }
        let until = Instant::now() + self.options.timeouts.discover;
        let answer = match self.answer(&Key::Text(id), Some(until)).await {
            Heard::Answer(answer) => Some(answer),
            Heard::Unreadable(_) => return Found::Older,
            Heard::Overlong => return Found::Neither(self.overlong()),
            Heard::Nothing => None,
        };
        let Some(answer) = answer else {
            if self.closed || Instant::now() < until {
                return Found::Gone;
            }
            note(format_args!(
                "a server did not answer `server/discover` within {:?}; it is spoken to in an older version",
                self.options.timeouts.discover
            ));
            return Found::Older;
        };
        let answer = serde_json::from_slice(&answer).unwrap_or(Value::Null);
        judge(&answer)
    }

    /// Gives the server to whoever holds the switch.
    async fn hand_over(mut self, answer: Option<Vec<u8>>) {
        let mut said = Vec::new();
        for line in self.early.iter().chain(&answer).filter(|l| !l.is_empty()) {
            said.extend_from_slice(line);
            said.push(b'\n');
        }
        let mut rest = Vec::new();
        for line in self.waiting.drain(..) {
            rest.extend_from_slice(&line);
            rest.push(b'\n');
        }
        loop {
            let (more, ended) = self.lines.rest().await;
            rest.extend(more);
            self.closed |= ended;
            // From here to the end nothing is waited for, so nothing can be said.
            if rest.is_empty() || self.pour(&rest).await.is_err() {
                break;
            }
            rest.clear();
        }
        // A client's side that has said its last does not come for it: it is dropped.
        let input = (!self.closed).then_some(self.input);
        said.extend(self.output.rest().await.0);
        self.handover.leave(input, said, self.output.into_source());
    }

    /// Writes to the server, and goes on reading what it says: it may not read while it
    /// is not read.
    async fn pour(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut heard = true;
        while !bytes.is_empty() {
            tokio::select! {
                written = self.input.write(bytes) => match written? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => bytes = bytes.get(count..).unwrap_or_default(),
                },
                read = self.output.more(), if heard => heard = read.is_ok_and(|read| read > 0),
            }
        }
        self.input.flush().await
    }

    async fn newer(mut self, hello: InitializeRequest, found: &Value) -> Newer {
        let mut rest = Vec::new();
        for line in self.waiting.drain(..) {
            rest.extend_from_slice(&line);
            rest.push(b'\n');
        }
        rest.extend(self.lines.rest().await.0);
        let source =
            tokio::io::AsyncReadExt::chain(io::Cursor::new(rest), self.lines.into_source());
        let mut capabilities = found.get("capabilities").cloned().unwrap_or_default();
        let tasks = has_tasks(&capabilities) && self.options.order == VersionOrder::NewerFirst;
        without_tasks(&mut capabilities);
        if tasks {
            with_tasks(&mut capabilities, json!({}));
        }
        let answer = introduction(&hello, found, &capabilities);
        Newer {
            lines: LineReader::new(Box::new(source), self.options.max_message.saturating_mul(2)),
            back: self.back,
            input: self.input,
            output: self.output,
            early: self.early,
            hello: hello.params,
            capabilities,
            answer,
        }
    }
}

/// How a connection goes on.
enum Negotiated {
    /// As it is; what the server said last.
    Older(Option<Vec<u8>>),
    /// The server is no use; what the client is told.
    Refused(Vec<u8>),
    /// With an adapter; what the server said of itself.
    Newer(Value),
}

fn refusal(hello: &InitializeRequest, why: &str) -> Vec<u8> {
    jsonrpc::error(&hello.id, jsonrpc::INTERNAL_ERROR, why, None)
}

/// What an answer to `server/discover` says.
fn judge(answer: &Value) -> Found {
    let known = |versions: &Value| -> Option<Found> {
        let versions: Vec<&str> = versions
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if versions.contains(&MODERN) {
            return None;
        }
        if versions.iter().any(|version| VERSIONS.contains(version)) {
            return Some(Found::Older);
        }
        let shown = quoted(&versions.join(", "), 200);
        Some(Found::Neither(format!(
            "the server speaks no version of the protocol that is known here: {shown}"
        )))
    };
    if let Some(result) = answer.get("result") {
        return match result.get("supportedVersions").map(|v| (v.is_array(), v)) {
            Some((true, versions)) => {
                known(versions).unwrap_or_else(|| Found::Newer(result.clone()))
            }
            _ => Found::Older,
        };
    }
    let error = answer.get("error");
    let code = error.and_then(|error| error.get("code")?.as_i64());
    let said = error.and_then(|error| error.get("message")?.as_str());
    let said = visible(&quoted(said.unwrap_or_default(), 200));
    match code.and_then(|code| i32::try_from(code).ok()) {
        Some(UNSUPPORTED_VERSION) => {
            let versions = error.and_then(|error| error.pointer("/data/supported"));
            versions.and_then(known).unwrap_or_else(|| {
                Found::Neither(format!(
                    "the server refuses the version {MODERN} of the protocol: {said}"
                ))
            })
        }
        Some(HEADER_MISMATCH | MISSING_CAPABILITY) => {
            Found::Neither(format!("the server does not say what it is: {said}"))
        }
        _ => Found::Older,
    }
}

/// What a server of the newer version says of itself, as one of an older would.
fn introduction(hello: &InitializeRequest, found: &Value, capabilities: &Value) -> Vec<u8> {
    let wanted = hello.params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.iter().find(|version| Some(**version) == wanted);
    let info = found.get("_meta").and_then(|meta| meta.get(SERVER_META));
    let info = info.filter(|info| info.is_object()).cloned();
    let mut result = json!({
        "protocolVersion": version.or(VERSIONS.first()),
        "capabilities": capabilities,
        "serverInfo": info.unwrap_or_else(|| json!({"name": "unknown", "version": "0"})),
    });
    if let (Some(Value::String(text)), Some(result)) =
        (found.get("instructions"), result.as_object_mut())
    {
        result.insert("instructions".to_owned(), text.clone().into());
    }
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    line.extend_from_slice(&hello.id);
    line.extend_from_slice(format!(r#","result":{result}}}"#).as_bytes());
    line
}
