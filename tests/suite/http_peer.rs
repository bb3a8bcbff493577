//! An MCP server over HTTP, by hand: it can also say what no library would.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Default)]
pub struct State {
    /// It speaks the version without an introduction, and only that.
    newer: bool,
    seen: Mutex<Vec<Seen>>,
    came: Condvar,
    /// The stream that the client listens to.
    pub listener: Mutex<Option<TcpStream>>,
    /// Everything that is open, to be cut.
    open: Mutex<Vec<TcpStream>>,
    sessions: Mutex<Vec<String>>,
    /// The next message of that method is read, and the connection cut.
    hang_up: Mutex<Option<String>>,
    pub gone: AtomicBool,
}

/// See the module.
pub struct HttpPeer {
    pub address: SocketAddr,
    state: Arc<State>,
}

impl HttpPeer {
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap())
    }

    pub fn start_at(address: SocketAddr) -> Self {
        Self::start_as(address, false)
    }

    /// One of [`super::newer_peer`].
    pub fn newer() -> Self {
        Self::start_as("127.0.0.1:0".parse().unwrap(), true)
    }

    fn start_as(address: SocketAddr, newer: bool) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            newer,
            ..State::default()
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.gone.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), state) = (stream, Arc::clone(&shared)) else {
                    continue;
                };
                state.open.lock().unwrap().push(stream.try_clone().unwrap());
                std::thread::spawn(move || {
                    let end = stream.try_clone();
                    let _ = serve(stream, &state);
                    // A clone is kept, so that dropping it would not close it.
                    let _ = end.and_then(|stream| stream.shutdown(Shutdown::Both));
                });
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Nobody listens there any more, and all connections are cut.
    pub fn kill(&self) {
        self.state.gone.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Forgets all sessions, as after a restart.
    pub fn forget(&self) {
        self.state.sessions.lock().unwrap().clear();
    }

    /// Reads the next message of that method, and cuts the connection without an answer.
    pub fn hang_up_on(&self, method: &str) {
        *self.state.hang_up.lock().unwrap() = Some(method.to_owned());
    }

    /// Says something on the stream that the client listens to.
    pub fn say(&self, message: &Value) {
        let mut listener = self.state.listener.lock().unwrap();
        let stream = listener.as_mut().expect("nobody listens");
        write!(stream, "data: {message}\n\n").unwrap();
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Waits for a request that fits.
    pub fn wait_for(&self, fits: impl Fn(&Seen) -> bool) -> Seen {
        let until = Instant::now() + Duration::from_secs(20);
        let mut seen = self.state.seen.lock().unwrap();
        loop {
            if let Some(found) = seen.iter().find(|request| fits(request)) {
                return found.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it did not come: {seen:?}");
            seen = self.state.came.wait_timeout(seen, left).unwrap().0;
        }
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads one request or answer head: its first line and its headers.
pub fn read_head(reader: &mut impl BufRead) -> std::io::Result<(String, Vec<(String, String)>)> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            return Ok((line.trim_end().to_owned(), headers));
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (line, headers) = read_head(&mut reader)?;
        let mut words = line.split(' ').map(str::to_owned);
        let mut seen = Seen {
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
            headers,
            body: Vec::new(),
        };
        let length = seen.header("content-length");
        let length = length.map_or(0, |length| length.parse().unwrap());
        seen.body.resize(length, 0);
        reader.read_exact(&mut seen.body)?;
        state.seen.lock().unwrap().push(seen.clone());
        state.came.notify_all();
        let method = seen.json()["method"].clone();
        let hang_up = state
            .hang_up
            .lock()
            .unwrap()
            .take_if(|hang_up| method == **hang_up);
        if hang_up.is_some() {
            return Ok(());
        }
        if state.newer {
            super::newer_peer::answer(&seen, &mut stream, state)?;
        } else {
            answer(&seen, &mut stream, state)?;
        }
    }
}

pub fn status(stream: &mut TcpStream, status: &str) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
}

pub fn json_body(stream: &mut TcpStream, more: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn events(stream: &mut TcpStream) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    )
}

fn answer(seen: &Seen, stream: &mut TcpStream, state: &State) -> std::io::Result<()> {
    let message = seen.json();
    let introduces = message["method"] == "initialize";
    let session = seen.header("mcp-session-id").unwrap_or_default().to_owned();
    if !introduces && !state.sessions.lock().unwrap().contains(&session) {
        return status(stream, "404 Not Found");
    }
    match seen.method.as_str() {
        "GET" => {
            events(stream)?;
            write!(stream, ": hello\n\n")?;
            *state.listener.lock().unwrap() = Some(stream.try_clone()?);
            // What comes next is for the other clone.
            loop {
                std::thread::sleep(Duration::from_secs(1));
                if state.gone.load(Ordering::SeqCst) {
                    return Err(std::io::ErrorKind::BrokenPipe.into());
                }
            }
        }
        "DELETE" => {
            state
                .sessions
                .lock()
                .unwrap()
                .retain(|known| *known != session);
            return status(stream, "204 No Content");
        }
        _ => {}
    }
    if message.get("method").is_none() || message.get("id").is_none() {
        return status(stream, "202 Accepted");
    }
    let id = message["id"].clone();
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let text = |text: &str| result(json!({"content": [{"type": "text", "text": text}]}));
    match message["method"].as_str().unwrap() {
        "initialize" => {
            let mut sessions = state.sessions.lock().unwrap();
            let name = format!("session-{}-{}", seen.body.len(), sessions.len());
            sessions.push(name.clone());
            let body = result(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "http", "version": "1"},
            }));
            let pretty = serde_json::to_string_pretty(&body)?.replace('\n', "\r\n");
            json_body(stream, &format!("Mcp-Session-Id: {name}\r\n"), &pretty)
        }
        "tools/list" => {
            let names = [
                "echo", "stream", "hang", "garbage", "cut", "big", "moved", "html", "silent",
                "other",
            ];
            let tools: Vec<Value> = names
                .iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                .collect();
            json_body(stream, "", &result(json!({"tools": tools})).to_string())
        }
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "echo" => {
                let said = message["params"]["arguments"]["say"].to_string();
                json_body(stream, "", &text(&said).to_string())
            }
            "stream" => {
                events(stream)?;
                let token = &message["params"]["_meta"]["progressToken"];
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1}});
                let pretty = serde_json::to_string_pretty(&text("streamed"))?;
                let pretty = pretty.replace('\n', "\ndata: ");
                write!(
                    stream,
                    "data: {progress}\n\nevent: message\ndata: {pretty}\n\n"
                )?;
                Err(std::io::ErrorKind::Other.into())
            }
            "hang" => loop {
                std::thread::sleep(Duration::from_millis(50));
                if state.gone.load(Ordering::SeqCst) {
                    return Err(std::io::ErrorKind::BrokenPipe.into());
                }
            },
            "garbage" => {
                events(stream)?;
                let other = json!({"jsonrpc": "2.0", "id": 999_999, "result": {}});
                write!(
                    stream,
                    "data: {{\"id\n\ndata: \u{1}\n\ndata: {other}\n\nnonsense\n\n"
                )?;
                stream.write_all(&[0xff, 0xfe, b'\n', b'\n'])?;
                let body = text("after the garbage");
                write!(stream, "data: {body}\n\n")?;
                Err(std::io::ErrorKind::Other.into())
            }
            "cut" => {
                events(stream)?;
                write!(stream, "data: {{\"jsonrpc\"")?;
                Err(std::io::ErrorKind::Other.into())
            }
            "big" => {
                events(stream)?;
                write!(stream, "data: ")?;
                let piece = vec![b'x'; 1 << 20];
                loop {
                    stream.write_all(&piece)?;
                }
            }
            "moved" => {
                write!(
                    stream,
                    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
                )
            }
            "html" => {
                let body = "<html>welcome</html>";
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
            "other" => {
                let other = json!({"jsonrpc": "2.0", "id": 12_345, "result": {}});
                json_body(stream, "", &other.to_string())
            }
            _ => status(stream, "202 Accepted"),
        },
        _ => json_body(stream, "", &result(json!({})).to_string()),
    }
}
