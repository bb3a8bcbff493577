//! Servers and clients over HTTP.

use super::{ALL, Agent, Place};
use crate::http_client::Listening;
use crate::http_peer::{Seen, events, json_body, read_head, status};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Answer = dyn Fn(&Seen, &mut TcpStream) -> std::io::Result<()> + Send + Sync;

/// A server that answers as it is told.
struct Scripted {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Scripted {
    fn start(
        answer: impl Fn(&Seen, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let nowhere = "127.0.0.1:0".parse().unwrap();
        Self::start_at(nowhere, answer)
    }

    fn start_at(
        address: SocketAddr,
        answer: impl Fn(&Seen, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let answer: Arc<Answer> = Arc::new(answer);
        let all = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                std::thread::spawn(move || {
                    let _ = serve(stream, &*answer, &all);
                });
            }
        });
        Self { address, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked with that method, and how often.
    fn count(&self, method: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|seen| seen.json()["method"] == method)
            .count()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, all: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (line, headers) = read_head(&mut reader)?;
        let mut words = line.split(' ').map(str::to_owned);
        let mut seen = Seen {
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
            headers,
            body: Vec::new(),
        };
        let length = seen
            .header("content-length")
            .map_or(0, |l| l.parse().unwrap());
        seen.body.resize(length, 0);
        reader.read_exact(&mut seen.body)?;
        all.lock().unwrap().push(seen.clone());
        answer(&seen, &mut stream)?;
    }
}

/// What an ordinary server answers to a message; `None`: it is no request.
fn ordinary(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "heard"}]}),
        _ => json!({}),
    };
    let id = message.get("id")?;
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn ordinarily(seen: &Seen, stream: &mut TcpStream, more: &str) -> std::io::Result<()> {
    match (seen.method.as_str(), ordinary(&seen.json())) {
        ("POST", Some(answer)) => json_body(stream, more, &answer.to_string()),
        ("POST", None) => status(stream, "202 Accepted"),
        _ => status(stream, "405 Method Not Allowed"),
    }
}

/// `run` in front of a URL.
fn run(url: &str) -> (Place, Agent) {
    let place = Place::new("bouncer.yaml", ALL);
    let mut command =
        place.command(&["run", "--policy", "bouncer.yaml", "--upstream-env", "WHERE"]);
    command.env("WHERE", json!({"url": url}).to_string());
    let agent = Agent::start(command, &place.path("stderr"));
    (place, agent)
}

fn gateway(url: &str) -> (Place, Agent) {
    let place = Place::new(
        "bouncer.yaml",
        &format!("{ALL}servers: {{s: {{url: '{url}'}}}}\n"),
    );
    let agent = super::gateway(&place, &[]);
    (place, agent)
}

/// The same through both: the agent, and the name of the tool.
fn both(url: &str) -> [(Place, Agent, &'static str); 2] {
    let (place, agent) = run(url);
    let (other, mut second) = gateway(url);
    second.until_tools(|tools| tools.len() == 1);
    [(place, agent, "echo"), (other, second, "s__echo")]
}

#[test]
fn an_array_of_one_a_mark_before_the_body_and_ids_as_texts_are_taken() {
    let peer = Scripted::start(|seen, stream| match ordinary(&seen.json()) {
        Some(mut answer) => {
            answer["id"] = json!(answer["id"].to_string().trim_matches('"'));
            json_body(stream, "", &format!("\u{feff}[{answer}]"))
        }
        None if seen.method == "POST" => status(stream, "202 Accepted"),
        None => status(stream, "405 Method Not Allowed"),
    });
    for (_place, mut agent, tool) in both(&peer.url("/mcp")) {
        assert_eq!(agent.call(tool, json!({})), ("heard".to_owned(), false));
    }
}

#[test]
fn a_slash_away_is_the_same_place_and_no_other_is() {
    let peer = Scripted::start(|seen, stream| match seen.path.as_str() {
        "/mcp/" => ordinarily(seen, stream, ""),
        "/mcp" => write!(
            stream,
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n"
        ),
        _ => write!(
            stream,
            "HTTP/1.1 308 Permanent Redirect\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n"
        ),
    });
    for (_place, mut agent, tool) in both(&peer.url("/mcp")) {
        assert_eq!(agent.call(tool, json!({})), ("heard".to_owned(), false));
    }
    // It is asked at the old place once.
    let seen = peer.seen.lock().unwrap().clone();
    let asked = seen
        .iter()
        .filter(|seen| seen.path == "/mcp" && seen.method == "POST");
    assert_eq!(asked.count(), 2);
    let (_place, agent) = run(&peer.url("/elsewhere"));
    let told = agent.introduction["error"]["message"].to_string();
    assert!(
        told.contains("308; redirections are not followed"),
        "{told}"
    );
    assert_eq!(
        peer.seen
            .lock()
            .unwrap()
            .iter()
            .filter(|seen| seen.path == "/mcp/")
            .count(),
        seen.iter().filter(|seen| seen.path == "/mcp/").count()
    );
}

#[test]
fn a_lost_session_is_followed_by_another_and_the_call_is_made_again() {
    for lost in ["404 Not Found", "410 Gone", "400 Bad Request\r\nX: y"] {
        // The sessions that are known, and how many there were.
        let known: Arc<Mutex<(HashSet<String>, u32)>> = Arc::default();
        let state = Arc::clone(&known);
        let peer = Scripted::start(move |seen, stream| {
            let mut known = state.lock().unwrap();
            let mut session = seen.header("mcp-session-id").unwrap_or_default().to_owned();
            if seen.json()["method"] == "initialize" {
                known.1 += 1;
                session = known.1.to_string();
                known.0.insert(session.clone());
            }
            if !known.0.contains(&session) {
                let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid Session ID"}}"#;
                return write!(
                    stream,
                    "HTTP/1.1 {lost}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
            ordinarily(seen, stream, &format!("Mcp-Session-Id: {session}\r\n"))
        });
        for (place, mut agent, tool) in both(&peer.url("/mcp")) {
            assert!(!agent.call(tool, json!({})).1);
            let (before, calls) = (peer.count("initialize"), peer.count("tools/call"));
            // It is started again, and knows nobody.
            known.lock().unwrap().0.clear();
            assert_eq!(
                agent.call(tool, json!({})),
                ("heard".to_owned(), false),
                "{lost}"
            );
            assert_eq!(peer.count("initialize"), before + 1, "{lost}");
            // Refused once, made once.
            assert_eq!(peer.count("tools/call"), calls + 2, "{lost}");
            assert!(!agent.call(tool, json!({})).1);
            assert_eq!(place.audited("audit.jsonl").len(), 3, "{lost}");
        }
    }
}

#[test]
fn a_call_that_may_have_been_made_is_not_made_again() {
    // The stream begins, and is cut: what the server did is not known.
    let peer = Scripted::start(|seen, stream| {
        if seen.json()["method"] == "tools/call" {
            events(stream)?;
            write!(stream, ": here\n\ndata: {{\"jso")?;
            return Err(std::io::ErrorKind::Other.into());
        }
        ordinarily(seen, stream, "Mcp-Session-Id: one\r\n")
    });
    for (_place, mut agent, tool) in both(&peer.url("/mcp")) {
        let before = peer.count("tools/call");
        let (text, failed) = agent.call(tool, json!({}));
        assert!(failed && text.contains("not known"), "{text}");
        assert_eq!(peer.count("tools/call"), before + 1);
    }
}

#[test]
fn run_lives_on_while_its_server_cannot_be_reached() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let (_place, mut agent) = run(&format!("http://{address}/mcp"));
    let told = agent.introduction["error"]["message"].to_string();
    assert!(told.contains("cannot be reached"), "{told}");
    let _peer = Scripted::start_at(address, |seen, stream| ordinarily(seen, stream, ""));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    let answer = agent.request("initialize", &hello);
    assert_eq!(
        answer["result"]["serverInfo"]["name"], "scripted",
        "{answer}"
    );
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(agent.call("echo", json!({})), ("heard".to_owned(), false));
}

/// A server of the transport of 2024-11-05, at `/sse`; it names `address`.
fn older(address: &'static str) -> Scripted {
    let stream_of: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    Scripted::start(
        move |seen, stream| match (seen.method.as_str(), seen.path.as_str()) {
            ("GET", "/sse") => {
                events(stream)?;
                write!(stream, "event: endpoint\ndata: {address}\n\n")?;
                *stream_of.lock().unwrap() = Some(stream.try_clone()?);
                Ok(())
            }
            ("POST", "/messages?session=7") => {
                status(stream, "202 Accepted")?;
                if let Some(answer) = ordinary(&seen.json()) {
                    let mut far = stream_of.lock().unwrap();
                    write!(far.as_mut().unwrap(), "event: message\ndata: {answer}\n\n")?;
                }
                Ok(())
            }
            _ => status(stream, "405 Method Not Allowed"),
        },
    )
}

#[test]
fn servers_of_the_older_transport_are_recognised() {
    for through_gateway in [false, true] {
        let peer = older("/messages?session=7");
        let url = peer.url("/sse");
        let (_place, mut agent, tool) = if through_gateway {
            let (place, mut agent) = gateway(&url);
            agent.until_tools(|tools| tools.len() == 1);
            (place, agent, "s__echo")
        } else {
            let (place, agent) = run(&url);
            (place, agent, "echo")
        };
        assert_eq!(agent.call(tool, json!({})), ("heard".to_owned(), false));
        assert_eq!(peer.count("tools/call"), 1);
        assert_eq!(agent.leave(), 0);
    }
    // One that wants to be spoken to elsewhere is not.
    let elsewhere = Scripted::start(|seen, stream| ordinarily(seen, stream, ""));
    let address: &'static str = Box::leak(elsewhere.url("/messages").into_boxed_str());
    let peer = older(address);
    let (_place, agent) = run(&peer.url("/sse"));
    let told = agent.introduction["error"]["message"].to_string();
    assert!(told.contains("405"), "{told}");
    assert!(elsewhere.seen.lock().unwrap().is_empty());
}

#[test]
fn a_status_says_what_can_be_done() {
    for (line, expected) in [
        (
            "401 Unauthorized",
            "HTTP status 401: it wants to know who asks; give it a token with `headers:",
        ),
        (
            "403 Forbidden",
            "HTTP status 403: it does not let the holder of this token",
        ),
        (
            "405 Method Not Allowed",
            "HTTP status 405: it speaks neither of the two transports there",
        ),
        (
            "429 Too Many Requests\r\nRetry-After: 17",
            "it is asked too often; try again in 17 s",
        ),
        (
            "503 Service Unavailable\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT",
            "try again after Wed, 21 Oct 2026 07:28:00 GMT",
        ),
    ] {
        let peer = Scripted::start(move |seen, stream| match seen.json()["method"].as_str() {
            Some("tools/call") => status(stream, line),
            _ => ordinarily(seen, stream, ""),
        });
        for (place, mut agent, tool) in both(&peer.url("/mcp")) {
            let (text, failed) = agent.call(tool, json!({}));
            assert!(failed && text.contains(expected), "{line}: {text}");
            // And the human.
            let said = std::fs::read_to_string(place.path("stderr")).unwrap();
            assert!(said.contains(expected), "{line}: {said}");
        }
    }
}

#[test]
fn clients_are_taken_as_other_servers_take_them() {
    let script = json!([super::script(), "plain"]);
    let policy = format!("{ALL}servers: {{s: {{command: python3, args: {script}}}}}\n");
    let gateway = Listening::start(&policy, &[]);
    let agent = gateway.agent(None);
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let posted = |path: &str, body: &str, origin: &str| {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        let session = agent.session.as_deref().unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n{origin}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for (path, body) in [
        ("/mcp/", ping.to_owned()),
        ("/mcp", format!("\u{feff}{ping}")),
        ("/mcp", format!("[{ping}]")),
    ] {
        let answer = posted(path, &body, "");
        assert!(
            answer.starts_with("HTTP/1.1 200"),
            "{path} {body}: {answer}"
        );
        assert!(answer.contains(r#""id":"p""#), "{answer}");
    }
    let two = posted("/mcp", &format!("[{ping},{ping}]"), "");
    assert!(two.starts_with("HTTP/1.1 400"), "{two}");
    // A page of this machine may ask whether it may ask, and read what it gets.
    let asked = |origin: &str| {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        write!(stream, "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: last-event-id\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_ascii_lowercase()
    };
    let answer = asked("http://localhost:5173");
    assert!(answer.starts_with("http/1.1 204"), "{answer}");
    assert!(
        answer.contains("access-control-allow-origin: http://localhost:5173"),
        "{answer}"
    );
    assert!(answer.contains("last-event-id"), "{answer}");
    let answer = posted("/mcp", ping, "Origin: http://localhost:5173\r\n").to_ascii_lowercase();
    assert!(
        answer.contains("access-control-allow-origin: http://localhost:5173"),
        "{answer}"
    );
    assert!(asked("http://evil.example").starts_with("http/1.1 403"));
}

#[test]
fn a_stream_that_broke_goes_on_where_it_was() {
    let script = json!([super::script(), "plain"]);
    let policy = format!("{ALL}servers: {{s: {{command: python3, args: {script}}}}}\n");
    let gateway = Listening::start(&policy, &[]);
    let mut agent = gateway.agent(None);
    agent.until_tools(4);
    let session = agent.session.clone().unwrap();
    let open = |method: &str, more: &str, body: &str| {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        write!(
            stream,
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        BufReader::new(stream)
    };
    /// The next event: its id and what it says.
    fn event(reader: &mut impl std::io::BufRead) -> (String, Value) {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream ended");
            if let Some(found) = line.strip_prefix("id: ") {
                found.trim().clone_into(&mut id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str(data).unwrap());
            }
        }
    }
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
        "params": {"name": "s__slow", "arguments": {}, "_meta": {"progressToken": "t"}}});
    let mut stream = open("POST", "", &call.to_string());
    let (first, said) = event(&mut stream);
    assert_eq!(said["params"]["progress"], 1, "{said}");
    assert!(!first.is_empty());
    // Cut, at once and again after the answer was given: each time the rest comes.
    drop(stream);
    for _ in 0..2 {
        let mut rest = open("GET", &format!("Last-Event-ID: {first}\r\n"), "");
        let (second, said) = event(&mut rest);
        assert_eq!(said["params"]["progress"], 2, "{said}");
        assert_ne!(second, first);
        let (_, said) = event(&mut rest);
        assert_eq!(
            (&said["id"], &said["result"]["content"][0]["text"]),
            (&json!("c"), &json!("done"))
        );
    }
    // The call was made once, and nobody else's stream is to be had.
    assert_eq!(gateway.place.audited("audit.jsonl").len(), 1);
    let mut other = gateway.agent(None);
    other.until_tools(4);
    let other = other.session.clone().unwrap();
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    write!(stream, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {other}\r\nLast-Event-ID: {first}\r\n\r\n").unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(1500)))
        .unwrap();
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    let heard = String::from_utf8(heard).unwrap();
    assert!(
        heard.starts_with("HTTP/1.1 200") && !heard.contains("progress"),
        "{heard}"
    );
}
