//! Servers of both kinds, and some that are neither, behind an interpreter.

mod begin;
mod listens;
mod requests;
mod rounds;

use crate::session::tests::rig::Peer;
use crate::upstream::adapter::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};
use tokio::task::LocalSet;
use tokio::time::timeout;

const META: &str = "io.modelcontextprotocol/";
const SOON: Duration = Duration::from_secs(5);

/// The client's side.
struct Client {
    input: Output,
    output: tokio::io::Lines<BufReader<Input>>,
    questions: Questions,
}

impl Client {
    async fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    async fn send_line(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn line(&mut self) -> Option<String> {
        let next = timeout(SOON, self.output.next_line());
        next.await.expect("nothing came").unwrap()
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("it ended")).unwrap()
    }

    async fn silence(&mut self) {
        let next = timeout(Duration::from_millis(60), self.output.next_line());
        if let Ok(line) = next.await {
            panic!("unexpected: {line:?}");
        }
    }
}

fn pace() -> Pace {
    Pace {
        discover: Duration::from_millis(100),
        answers: Duration::from_millis(700),
        first_pause: Duration::from_millis(10),
    }
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}, "sampling": {}, "tasks": {}},
        "clientInfo": {"name": "c", "version": "1"}}})
}

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test());
}

fn begin(order: Order) -> (Client, Peer, Rc<Cell<bool>>) {
    let (near, far) = duplex(1 << 16);
    let (output, input) = split(near);
    let older = Rc::new(Cell::new(false));
    let manner = Manner {
        order,
        pace: pace(),
        max_message: 256 * 1024,
        older: Rc::clone(&older),
    };
    let ends = Ends {
        input: Box::pin(input),
        output: Box::pin(output),
        again: None,
    };
    let (input, output, questions) = interpret(ends, manner);
    let client = Client {
        input,
        output: BufReader::new(output).lines(),
        questions,
    };
    (client, Peer::new(far), older)
}

async fn reply(server: &mut Peer, request: &Value, member: &str, value: &Value) {
    let line = json!({"jsonrpc": "2.0", "id": request["id"], member: value});
    server.send(&line.to_string()).await;
}

fn discovered() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "instructions": "be kind",
        "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "tasks": {},
            "resources": {"subscribe": true}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "2"}}})
}

/// A connection to a server of the newer version, introduced.
async fn newer() -> (Client, Peer) {
    let (mut client, mut server, _) = begin(Order::NewerFirst);
    client.send(&hello()).await;
    let discover = server.json().await;
    reply(&mut server, &discover, "result", &discovered()).await;
    client.json().await;
    (client, server)
}

fn call(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "t", "arguments": {"a": 1}}})
}
