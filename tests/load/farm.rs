//! MCP servers over HTTP on one thread, each with a manner of its own.

use super::http;
use super::ledger::Ledger;
use serde_json::{Value, json};
use std::io::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Answers at once.
    Good,
    /// Answers after a while.
    Slow(Duration),
    /// Never answers every so-many-th call.
    Hangs(u64),
    /// Answers every so-many-th call with something that is no answer.
    Garbage(u64),
    /// Dies with every so-many-th call, and is back a moment later.
    Dies(u64),
}

impl Manner {
    /// Whether calls can get lost there.
    pub const fn loses(self) -> bool {
        !matches!(self, Self::Good | Self::Slow(_))
    }
}

/// How long a server that died is away.
const AWAY: Duration = Duration::from_millis(300);

struct Server {
    index: usize,
    address: SocketAddr,
    manner: Manner,
    ledger: Arc<Ledger>,
    calls: AtomicU64,
    /// Odd while it is away; sessions of one time are unknown in the next.
    times: watch::Sender<u64>,
    sessions: AtomicU64,
}

/// All servers. They end with this.
pub struct Farm {
    servers: Vec<Arc<Server>>,
    over: Arc<AtomicBool>,
    pub ledger: Arc<Ledger>,
}

impl Farm {
    pub fn start(manners: &[Manner]) -> Self {
        let ledger = Arc::new(Ledger::default());
        let over = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = std::sync::mpsc::channel();
        let (manners, shared) = (manners.to_vec(), Arc::clone(&ledger));
        let told = Arc::clone(&over);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            LocalSet::new().block_on(&runtime, async move {
                let mut servers = Vec::new();
                for (index, manner) in manners.into_iter().enumerate() {
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    let server = Arc::new(Server {
                        index,
                        address: listener.local_addr().unwrap(),
                        manner,
                        ledger: Arc::clone(&shared),
                        calls: AtomicU64::new(0),
                        times: watch::Sender::new(0),
                        sessions: AtomicU64::new(0),
                    });
                    spawn_local(keep(Arc::clone(&server), listener));
                    servers.push(server);
                }
                sender.send(servers).unwrap();
                while !told.load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(20)).await;
                }
            });
        });
        Self {
            servers: receiver.recv().unwrap(),
            over,
            ledger,
        }
    }

    /// The `servers:` of a policy; their names are `s0`, `s1`, …
    pub fn yaml(&self) -> String {
        let server =
            |s: &Arc<Server>| format!("  s{}: {{url: 'http://{}/mcp'}}\n", s.index, s.address);
        self.servers.iter().map(server).collect()
    }

    /// Cuts everything that is open at a server; it is back a moment later, and knows no
    /// session any more.
    pub fn restart(&self, index: usize) {
        self.servers[index].fall();
    }

    pub fn address(&self, index: usize) -> SocketAddr {
        self.servers[index].address
    }

    pub fn loses(&self, index: usize) -> bool {
        self.servers[index].manner.loses()
    }

    /// Ends what hangs.
    pub fn restart_all_that_hang(&self) {
        for server in &self.servers {
            if matches!(server.manner, Manner::Hangs(_)) {
                server.fall();
            }
        }
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

impl Server {
    fn fall(&self) {
        self.times.send_if_modified(|times| {
            let up = *times % 2 == 0;
            *times += u64::from(up);
            up
        });
    }
}

/// Listens, again and again.
async fn keep(server: Arc<Server>, listener: TcpListener) {
    let mut listener = Some(listener);
    let mut times = server.times.subscribe();
    loop {
        let time = *times.borrow_and_update();
        if time % 2 == 1 {
            drop(listener.take());
            sleep(AWAY).await;
            listener = TcpListener::bind(server.address).await.ok();
            server.times.send_replace(time + 1);
            continue;
        }
        let Some(open) = &listener else {
            sleep(AWAY).await;
            listener = TcpListener::bind(server.address).await.ok();
            continue;
        };
        tokio::select! {
            _ = times.changed() => {}
            taken = open.accept() => if let Ok((stream, _)) = taken {
                let mut times = server.times.subscribe();
                let server = Arc::clone(&server);
                spawn_local(async move {
                    let _ = stream.set_nodelay(true);
                    tokio::select! {
                        _ = serve(&server, stream, time) => {}
                        _ = times.wait_for(|now| *now != time) => {}
                    }
                });
            },
        }
    }
}

async fn serve(server: &Server, stream: TcpStream, time: u64) -> Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let head = http::head(&mut reader).await?;
        let body = http::body(&mut reader, &head).await?;
        if !head.first.starts_with("POST ") {
            // No stream of its own; whether a session ends is all the same to it.
            let status = if head.first.starts_with("GET ") {
                "405 No"
            } else {
                "200 OK"
            };
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            writer.write_all(text.as_bytes()).await?;
            continue;
        }
        let message: Value = serde_json::from_slice(&body)?;
        let method = message["method"].as_str().unwrap_or_default();
        let mine = format!("{}-{time}-", server.index);
        let known = head.session.as_ref().is_some_and(|s| s.starts_with(&mine));
        if method != "initialize" && !known {
            let text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            writer.write_all(text.as_bytes()).await?;
            continue;
        }
        let result = match method {
            "initialize" => json!({"protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "farm", "version": "1"}}),
            "tools/list" => {
                let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
                json!({"tools": [tool("work"), tool("maybe"), tool("forbidden")]})
            }
            "tools/call" => {
                let params = &message["params"];
                let tool = params["name"].as_str().unwrap_or_default();
                let n = params["arguments"]["n"].as_u64().unwrap_or_default();
                server.ledger.get(n, server.index, tool);
                let count = server.calls.fetch_add(1, Ordering::SeqCst) + 1;
                match server.manner {
                    Manner::Good => {}
                    Manner::Slow(by) => sleep(by).await,
                    Manner::Hangs(every) if count.is_multiple_of(every) => {
                        std::future::pending().await
                    }
                    Manner::Dies(every) if count.is_multiple_of(every) => {
                        server.fall();
                        std::future::pending().await
                    }
                    Manner::Garbage(every) if count.is_multiple_of(every) => {
                        if garbage(&mut writer, count / every, &message["id"]).await? {
                            continue;
                        }
                        return Ok(());
                    }
                    _ => {}
                }
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            _ if message.get("id").is_none() => Value::Null,
            _ => json!({}),
        };
        if result.is_null() {
            let text = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
            writer.write_all(text.as_bytes()).await?;
            continue;
        }
        let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let session = if method == "initialize" {
            let number = server.sessions.fetch_add(1, Ordering::SeqCst);
            format!("Mcp-Session-Id: {mine}{number}\r\n")
        } else {
            String::new()
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{session}Content-Length: {}\r\n\r\n{text}",
            text.len()
        );
        writer.write_all(answer.as_bytes()).await?;
    }
}

/// What is no answer; whether the connection can still be used.
async fn garbage<W: AsyncWriteExt + Unpin>(writer: &mut W, kind: u64, id: &Value) -> Result<bool> {
    let json = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let (text, goes_on) = match kind % 8 {
        0 => (json("{\"jsonrpc\":\"2.0\",\"id\":"), true),
        1 => (json(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}).to_string()), true),
        2 => (json(&"[".repeat(100_000)), true),
        3 => (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\ndata: {\"a\":\n\r\n0\r\n\r\n".to_owned(),
            true,
        ),
        4 => ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{".to_owned(), false),
        5 => ("HTTP/1.1 500 Oh\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<br>".to_owned(), true),
        6 => ("\x16\x03\x01 this is no HTTP\r\n\r\n".to_owned(), false),
        _ => (
            json(&json!({"jsonrpc": "2.0", "id": id, "id": id, "result": 1, "error": 2}).to_string()),
            true,
        ),
    };
    writer.write_all(text.as_bytes()).await?;
    Ok(goes_on)
}
