//! A gateway that listens, and a client over HTTP by hand: it can also say what no
//! library would.

use super::gateway::Place;
use super::http_peer::read_head;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A gateway that listens at a port of its own.
pub struct Listening {
    pub child: Child,
    pub address: SocketAddr,
    pub place: Place,
}

impl Listening {
    pub fn start(policy: &str, arguments: &[&str]) -> Self {
        Self::start_in(Place::new("bouncer.yaml", policy), arguments)
    }

    pub fn start_in(place: Place, arguments: &[&str]) -> Self {
        let all = [&["gateway", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut command: Command = place.command(&all);
        let stderr = place.path("stderr");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let address = loop {
            let said = std::fs::read_to_string(&stderr).unwrap();
            let found = said.split("listening at http://").nth(1);
            if let Some((address, _)) = found.and_then(|rest| rest.split_once("/mcp")) {
                break address.parse().unwrap();
            }
            assert!(Instant::now() < until, "it does not listen: {said}");
            std::thread::sleep(Duration::from_millis(20));
        };
        Self {
            child,
            address,
            place,
        }
    }

    pub fn client(&self, token: Option<&str>) -> Client {
        Client {
            address: self.address,
            token: token.map(str::to_owned),
            session: None,
            id: 0,
        }
    }

    /// A client that has introduced itself.
    pub fn agent(&self, token: Option<&str>) -> Client {
        let mut client = self.client(token);
        let reply = client.hello(&json!({}));
        assert_eq!(reply.status, 200, "{reply:?}");
        client
    }

    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Tells it to stop; its exit code.
    pub fn stop(mut self) -> (i32, Place) {
        self.signal("-TERM");
        let code = self.child.wait().unwrap().code().unwrap();
        let place = std::mem::replace(&mut self.place, Place::new("unused", ""));
        (code, place)
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(self.place.path("stderr")).unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Client {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub session: Option<String>,
    pub id: u64,
}

/// An answer whose body is a JSON text, or events.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// All messages in it.
    pub messages: Vec<Value>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The last message.
    pub fn last(&self) -> Value {
        self.messages.last().cloned().unwrap_or_default()
    }
}

/// An answer under way.
pub struct Open {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    reader: Box<dyn BufRead>,
    stream: TcpStream,
}

impl Open {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The next event; `None` at the end of the stream.
    pub fn event(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The next event, if it comes that soon.
    pub fn event_within(&mut self, wait: Duration) -> Option<Value> {
        self.stream.set_read_timeout(Some(wait)).unwrap();
        let event = self.event();
        let patient = Some(Duration::from_secs(60));
        self.stream.set_read_timeout(patient).unwrap();
        event
    }

    /// Reads until a message fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.event().expect("the stream ended");
            if fits(&event) {
                return event;
            }
        }
    }

    pub fn rest(mut self) -> Reply {
        let mut messages = Vec::new();
        if self.header("content-type") == Some("text/event-stream") {
            while let Some(event) = self.event() {
                messages.push(event);
            }
        } else {
            let mut text = String::new();
            self.reader.read_to_string(&mut text).unwrap();
            if !text.is_empty() {
                messages.push(serde_json::from_str(&text).unwrap());
            }
        }
        Reply {
            status: self.status,
            headers: self.headers,
            messages,
        }
    }

    /// Hangs up.
    pub fn cut(self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// A body in chunks.
struct Chunks<R> {
    reader: R,
    left: usize,
    done: bool,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && !self.done {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            self.done = self.left == 0;
        }
        if self.done {
            return Ok(0);
        }
        let length = buffer.len().min(self.left);
        let read = self.reader.read(&mut buffer[..length])?;
        self.left -= read;
        self.done |= read == 0;
        Ok(read)
    }
}

impl Client {
    /// The headers that every client sends, with `more`, which may replace them.
    fn headers(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Host".to_owned(), self.address.to_string()),
            (
                "Accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        if let Some(token) = &self.token {
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        if let Some(session) = &self.session {
            headers.push(("Mcp-Session-Id".to_owned(), session.clone()));
            headers.push(("MCP-Protocol-Version".to_owned(), "2025-06-18".to_owned()));
        }
        for (name, value) in more {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            if !value.is_empty() {
                headers.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        headers
    }

    /// Sends a request, and reads the head of its answer. A header with an empty value is
    /// left out.
    pub fn open(&self, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Open {
        read_open(self.begin(method, path, more, body))
    }

    /// Sends a request, and does not wait for what comes back.
    pub fn begin(&self, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in self.headers(more) {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // Who is turned away need not be heard out.
        let _ = stream.write_all(body);
        stream
    }

    pub fn send(&self, method: &str, more: &[(&str, &str)], body: &[u8]) -> Reply {
        self.open(method, "/mcp", more, body).rest()
    }

    pub fn post(&self, message: &Value) -> Reply {
        self.send("POST", &[], message.to_string().as_bytes())
    }

    pub fn get(&self) -> Open {
        self.open(
            "GET",
            "/mcp",
            &[("Accept", "text/event-stream"), ("Content-Type", "")],
            b"",
        )
    }

    pub fn hello(&mut self, capabilities: &Value) -> Reply {
        let reply = self.post(
            &json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"}}}),
        );
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        if self.session.is_some() {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(self.post(&ready).status, 202);
        }
        reply
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let reply = self
            .post(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        let last = reply.last();
        assert_eq!(
            (reply.status, &last["id"]),
            (200, &json!(self.id)),
            "{reply:?}"
        );
        last
    }

    /// The text that a call gets, and whether it is an error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        if let Some(error) = answer.get("error") {
            return (error.to_string(), true);
        }
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        (text.to_owned(), result["isError"] == true)
    }

    /// Waits until there are so many tools.
    pub fn until_tools(&mut self, count: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let answer = self.request("tools/list", &json!({}));
            if answer["result"]["tools"].as_array().unwrap().len() == count {
                return;
            }
            assert!(Instant::now() < until, "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads the head of an answer.
pub fn read_open(stream: TcpStream) -> Open {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (line, headers) = read_head(&mut reader).expect("an answer");
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    let header = |name: &str| {
        let mut found = headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.clone())
    };
    let reader: Box<dyn BufRead> = if header("transfer-encoding").is_some() {
        Box::new(BufReader::new(Chunks {
            reader,
            left: 0,
            done: false,
        }))
    } else {
        let length = header("content-length").map_or(0, |length| length.parse().unwrap());
        Box::new(BufReader::new(reader.take(length)))
    };
    Open {
        status,
        headers,
        reader,
        stream,
    }
}
