//! A client and several servers, in the hands of a test.

use crate::gateway::backend::Connector;
use crate::gateway::router::Front;
use crate::gateway::run::serve;
use crate::gateway::timeouts::Patience;
use crate::session::context::Office;
pub(super) use crate::session::tests::rig::{Peer, call};
use crate::session::tests::rig::{Script, Told, quick};
use crate::upstream::connection::{Far, Link};
use bouncer_audit::Audit;
use serde_json::{Value, json};
use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{duplex, split};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

/// Hands the other end of every connection to the test.
struct Wire {
    ends: mpsc::UnboundedSender<Peer>,
    broken: Rc<Cell<bool>>,
}

impl Connector for Wire {
    fn connect(&self) -> io::Result<Link> {
        if self.broken.get() {
            return Err(io::Error::other("broken"));
        }
        let (near, far) = duplex(1 << 16);
        let _ = self.ends.send(Peer::new(far));
        let (output, input) = split(near);
        Ok(Link {
            input: Box::pin(input),
            output: Box::pin(output),
            far: Far::Nobody,
            questions: Default::default(),
        })
    }
}

pub(super) struct Server {
    ends: mpsc::UnboundedReceiver<Peer>,
    pub broken: Rc<Cell<bool>>,
}

impl Server {
    /// The next connection.
    pub(super) async fn accept(&mut self) -> Peer {
        let end = timeout(Duration::from_secs(5), self.ends.recv());
        end.await.expect("not started").unwrap()
    }
}

pub(super) struct Rig {
    pub client: Peer,
    pub servers: Vec<Server>,
    pub told: Told,
    pub stop: Option<oneshot::Sender<u8>>,
    pub gateway: JoinHandle<u8>,
    /// What the client speaks.
    pub version: &'static str,
    /// How the gateway introduced itself.
    pub introduction: Value,
    audit: PathBuf,
    _directory: tempfile::TempDir,
}

pub(super) fn patience() -> Patience {
    Patience {
        hello: Duration::from_millis(150),
        lists: Duration::from_millis(300),
        start: Duration::from_secs(2),
        answers: Duration::from_millis(200),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(50),
    }
}

impl Rig {
    fn new(names: &[&str], patience: Patience) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let audit = directory.path().join("audit.jsonl");
        let office = Office::new(Audit::open(&audit, "conversation", "plan").unwrap(), None);
        let told = Told::default();
        let seats = {
            let told = Rc::clone(&told);
            Box::new(move |_: &str| Script::telling(&told))
        };
        let front = Front::new(
            Script::telling(&told),
            seats,
            office,
            names.iter().map(|&name| name.to_owned()),
            quick(),
            patience,
        );
        let (mut servers, mut wires) = (Vec::new(), Vec::new());
        for _ in names {
            let (sender, ends) = mpsc::unbounded_channel();
            let broken = Rc::new(Cell::new(false));
            wires.push(Box::new(Wire {
                ends: sender,
                broken: Rc::clone(&broken),
            }) as Box<dyn Connector>);
            servers.push(Server { ends, broken });
        }
        let (client, client_side) = duplex(1 << 16);
        let (client_in, client_out) = split(client_side);
        let (stop, stopped) = oneshot::channel();
        let gateway = tokio::task::spawn_local(async move {
            let told = async {
                match stopped.await {
                    Ok(code) => code,
                    Err(_) => std::future::pending().await,
                }
            };
            serve(&front, wires.into_iter(), client_in, client_out, told).await
        });
        Self {
            client: Peer::new(client),
            servers,
            told,
            stop: Some(stop),
            gateway,
            version: "2025-06-18",
            introduction: Value::Null,
            audit,
            _directory: directory,
        }
    }

    /// The client introduces itself, without waiting for an answer.
    pub(super) async fn hello(&mut self) {
        let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": self.version, "capabilities": {"sampling": {}, "tasks": {}},
            "clientInfo": {"name": "c", "version": "1"}}});
        self.client.send(&hello.to_string()).await;
    }

    /// Everything up to the client's list of tools: each server has the capabilities and
    /// the tools given for it.
    pub(super) async fn start(&mut self, servers: &[(Value, &[&str])]) -> Vec<Peer> {
        self.hello().await;
        let mut peers = Vec::new();
        for (server, (capabilities, _)) in self.servers.iter_mut().zip(servers) {
            let mut peer = server.accept().await;
            introduce(&mut peer, capabilities).await;
            peers.push(peer);
        }
        self.introduction = self.client.json().await;
        self.client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        for (peer, (capabilities, tools)) in peers.iter_mut().zip(servers) {
            list(peer, capabilities, tools).await;
        }
        let names: Vec<String> = self.tools().await;
        let expected: usize = servers.iter().map(|(_, tools)| tools.len()).sum();
        assert_eq!(names.len(), expected, "{names:?}");
        peers
    }

    /// The tools that the client sees.
    pub(super) async fn tools(&mut self) -> Vec<String> {
        self.client
            .send(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
            .await;
        let answer = self.client.json().await;
        let tools = answer["result"]["tools"].as_array().expect("a list");
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    /// The audit log's lines.
    pub(super) fn audited(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.audit).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A server's side of the introduction.
pub(super) async fn introduce(peer: &mut Peer, capabilities: &Value) {
    let hello = peer.json().await;
    assert_eq!(hello["method"], "initialize");
    assert_eq!(hello["params"]["capabilities"], json!({"sampling": {}}));
    answer(
        peer,
        &hello,
        &json!({
            "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "serverInfo": {"name": "s", "version": "1"}, "instructions": "be kind",
        }),
    )
    .await;
}

/// A server's side of the listing: the mediator lists in any case, and the gateway where
/// there are tools.
pub(super) async fn list(peer: &mut Peer, capabilities: &Value, tools: &[&str]) {
    assert_eq!(peer.json().await["method"], "notifications/initialized");
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    let listings = if capabilities["tools"].is_object() {
        2
    } else {
        1
    };
    for _ in 0..listings {
        let request = peer.json().await;
        assert_eq!(request["method"], "tools/list");
        answer(peer, &request, &json!({"tools": tools})).await;
    }
}

/// A server answers a request.
pub(super) async fn answer(peer: &mut Peer, request: &Value, result: &Value) {
    let line = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    peer.send(&line.to_string()).await;
}

/// Runs a test with servers of these names.
pub(super) fn with(names: &[&str], patience: Patience, test: impl AsyncFnOnce(&mut Rig)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let mut rig = Rig::new(names, patience);
        test(&mut rig).await;
    });
}
