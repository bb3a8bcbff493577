//! Agents over HTTP with sessions: each one conversation, one call after the other.

use super::http::{self, Head};
use super::ledger::{Ledger, Told};
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::timeout;

/// What an agent does.
#[derive(Clone, Debug)]
pub struct Plan {
    pub servers: usize,
    /// Every so-many-th call is of a tool that the policy denies; 0: none.
    pub forbidden: u64,
    /// Every so-many-th call is of a tool that one policy denies and the other allows.
    pub maybe: u64,
    /// Hangs up after every so-many-th call was sent.
    pub vanish: u64,
    /// Takes every so-many-th call back.
    pub cancel: u64,
    /// Calls in all, of all conversations.
    pub calls: u64,
}

/// All agents of a run, on one thread.
pub struct Crowd {
    address: SocketAddr,
    agents: Vec<Agent>,
    runtime: tokio::runtime::Runtime,
    count: Arc<AtomicU64>,
    ledger: Arc<Ledger>,
    /// The tools have their own names: there is no gateway.
    pub bare: bool,
}

/// What calls took.
#[derive(Debug, Default)]
pub struct Times {
    /// Of each that was answered.
    pub each: Vec<Duration>,
    pub whole: Duration,
}

impl Times {
    pub fn quantile(&self, share: f64) -> Duration {
        let mut each = self.each.clone();
        each.sort();
        let at = ((each.len() as f64 * share) as usize).min(each.len().saturating_sub(1));
        each.get(at).copied().unwrap_or_default()
    }

    pub fn per_second(&self) -> f64 {
        self.each.len() as f64 / self.whole.as_secs_f64()
    }
}

struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

struct Agent {
    address: SocketAddr,
    token: String,
    connection: Option<Connection>,
    used: Instant,
    session: Option<String>,
    id: u64,
}

impl Crowd {
    /// Opens the conversations, a few at a time, and waits until each sees `tools` tools.
    /// `token` gives each its token.
    pub fn open(
        address: SocketAddr,
        count: usize,
        tools: usize,
        ledger: Arc<Ledger>,
        token: impl Fn(usize) -> String,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let agents = LocalSet::new().block_on(&runtime, async {
            let mut agents = Vec::new();
            let mut opening = JoinSet::new();
            for number in 0..count {
                let mut agent = Agent {
                    address,
                    token: token(number),
                    connection: None,
                    used: Instant::now(),
                    session: None,
                    id: 0,
                };
                opening.spawn_local(async move {
                    agent.hello().await.unwrap();
                    agent.until_tools(tools).await;
                    agent
                });
                if opening.len() >= 8 {
                    agents.push(opening.join_next().await.unwrap().unwrap());
                }
            }
            while let Some(agent) = opening.join_next().await {
                agents.push(agent.unwrap());
            }
            agents
        });
        Self {
            address,
            agents,
            runtime,
            count: Arc::default(),
            ledger,
            bare: false,
        }
    }

    /// How many calls were made so far.
    pub fn calls(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Has all conversations call until there were so many calls in all.
    pub fn call(&mut self, plan: &Plan) -> Times {
        let until = self.calls() + plan.calls;
        let began = Instant::now();
        let (agents, bare) = (std::mem::take(&mut self.agents), self.bare);
        let each = LocalSet::new().block_on(&self.runtime, async {
            let mut running = JoinSet::new();
            for mut agent in agents {
                let (plan, count, ledger) = (
                    plan.clone(),
                    Arc::clone(&self.count),
                    Arc::clone(&self.ledger),
                );
                running.spawn_local(async move {
                    let mut each = Vec::new();
                    loop {
                        let n = count.fetch_add(1, Ordering::SeqCst) + 1;
                        if n > until {
                            return (agent, each);
                        }
                        let began = Instant::now();
                        let told = agent.one(&plan, n, bare).await;
                        if told != Told::Vanished {
                            each.push(began.elapsed());
                        }
                        ledger.tell(n, told);
                    }
                });
            }
            let mut all = Vec::new();
            while let Some(done) = running.join_next().await {
                let (agent, each) = done.unwrap();
                self.agents.push(agent);
                all.extend(each);
            }
            all
        });
        self.count.store(until, Ordering::SeqCst);
        Times {
            each,
            whole: began.elapsed(),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// No gateway takes longer over anything here.
const PATIENCE: Duration = Duration::from_secs(60);

impl Agent {
    async fn write(&mut self, body: &str) -> Result<()> {
        // The gateway hangs up on who says nothing for ten seconds; it may be doing so now.
        if self.used.elapsed() > Duration::from_secs(5) {
            self.connection = None;
        }
        self.used = Instant::now();
        if self.connection.is_none() {
            let stream = TcpStream::connect(self.address).await?;
            stream.set_nodelay(true)?;
            let (reader, writer) = stream.into_split();
            let reader = BufReader::new(reader);
            self.connection = Some(Connection { reader, writer });
        }
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            body.len()
        );
        if let Some(session) = &self.session {
            head += &format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
        }
        let text = format!("{head}\r\n{body}");
        let connection = self.connection.as_mut().unwrap();
        connection.writer.write_all(text.as_bytes()).await
    }

    async fn read(&mut self) -> Result<(Head, Vec<u8>)> {
        let connection = self.connection.as_mut().unwrap();
        let head = http::head(&mut connection.reader).await?;
        let body = http::body(&mut connection.reader, &head).await?;
        if head.close {
            self.connection = None;
        }
        Ok((head, body))
    }

    async fn post(&mut self, message: &Value) -> Result<(Head, Value)> {
        self.write(&message.to_string()).await?;
        let answer = timeout(PATIENCE, self.read()).await;
        let (head, body) = answer.map_err(|_| Error::from(ErrorKind::TimedOut))??;
        // Of a stream, the last event is the answer.
        let text = String::from_utf8_lossy(&body);
        let last = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: "));
        let text = if head.events {
            last.unwrap_or_default()
        } else {
            &text
        };
        Ok((head, serde_json::from_str(text).unwrap_or_default()))
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<(Head, Value)> {
        self.id += 1;
        let id = self.id;
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await
    }

    async fn hello(&mut self) -> Result<()> {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        let (head, answer) = self.request("initialize", hello).await?;
        assert_eq!(head.status(), 200, "{answer}");
        self.session = head.session;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&ready).await.map(|_| ())
    }

    async fn until_tools(&mut self, count: usize) {
        let began = Instant::now();
        loop {
            let (_, answer) = self.request("tools/list", json!({})).await.unwrap();
            let tools = answer["result"]["tools"].as_array();
            if tools.is_some_and(|tools| tools.len() >= count) {
                return;
            }
            assert!(began.elapsed() < PATIENCE * 2, "{answer}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// One call, to the server and of the tool whose turn it is.
    async fn one(&mut self, plan: &Plan, n: u64, bare: bool) -> Told {
        let turn = |every: u64, at: u64| every > 0 && n % every == at % every;
        let tool = match () {
            () if turn(plan.forbidden, 0) => "forbidden",
            () if turn(plan.maybe, 1) => "maybe",
            () => "work",
        };
        let server = (n / 7 + n) % plan.servers as u64;
        self.id += 1;
        let name = if bare {
            tool.to_owned()
        } else {
            format!("s{server}__{tool}")
        };
        let message = json!({"jsonrpc": "2.0", "id": self.id, "method": "tools/call",
            "params": {"name": name, "arguments": {"n": n}}});
        if turn(plan.vanish, 2) {
            let _ = self.write(&message.to_string()).await;
            self.connection = None;
            return Told::Vanished;
        }
        if turn(plan.cancel, 3) {
            let _ = self.write(&message.to_string()).await;
            // Over a connection of its own: the other waits for its answer.
            self.connection = None;
            let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": self.id}});
            let _ = self.post(&back).await;
            return Told::Vanished;
        }
        match self.post(&message).await {
            Ok((head, answer)) => told(&head, &answer, self.id),
            Err(error) => panic!("call {n} ({message}) was not answered: {error}"),
        }
    }
}

fn told(head: &Head, answer: &Value, id: u64) -> Told {
    assert!(
        answer["id"] == id || head.status() != 200,
        "{head:?} {answer}"
    );
    let text = answer["result"]["content"][0]["text"].as_str();
    match text {
        Some("done") => Told::Done,
        Some(text) if answer["result"]["isError"] == true => Told::Denied(text.to_owned()),
        _ => Told::Failed(format!("{} {answer}", head.status())),
    }
}
