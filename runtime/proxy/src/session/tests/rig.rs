//! Both ends of a proxy, in the hands of a test, and a judge that follows a script.

use crate::conversation::judge::{Judge, Judgement, Pass};
use crate::conversation::settings::Settings;
use crate::session::context::ConversationRecords;
use crate::session::mediator::Mediator;
use crate::session::relay::{End, Streams, conduct};
use crate::wire::shutdown::Shutdown;
use bouncer_audit::Audit;
use bouncer_compiler::{Input, Options, compile, load};
use bouncer_engine::gate::{Approvable, Attempt, Call, Gate, Unvouched, VerdictRecord};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_plan::requests;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

/// A plan that objects to nothing: only a decision makes the permits that the script hands out.
static PLAN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let input = Input {
        name: "p.yaml",
        text: "version: 1\ntools: {}\n",
    };
    let options = Options {
        packs: false,
        heuristics: false,
    };
    compile(&load(&[input], &options).unwrap().policy).unwrap()
});

/// What the judge was told, in order.
pub(crate) type Told = Rc<RefCell<Vec<String>>>;

/// Decides by the tool's name: `allow…`, `deny…`, `ask_call…`, and `ask_to…`, which
/// asks about the arguments `to` and `cc` until they are approved. Tools that were not
/// listed are unknown.
#[derive(Debug, Default)]
pub(crate) struct Script {
    told: Told,
    pinned: HashSet<String>,
    approved: HashSet<String>,
}

impl Script {
    /// Another judge that tells the same ears.
    pub(crate) fn telling(told: &Told) -> Self {
        Self {
            told: Rc::clone(told),
            ..Self::default()
        }
    }

    /// A judge that knows some tools already.
    pub(super) fn knowing(tools: &[&str]) -> Self {
        Self {
            pinned: tools.iter().map(|&tool| tool.to_owned()).collect(),
            ..Self::default()
        }
    }

    fn tell(&self, what: String) {
        self.told.borrow_mut().push(what);
    }

    fn find(&self, call: &Call<'_>, attempt: Attempt) -> (Verdict, Stage, Approvable<String>) {
        let never = Approvable::Never;
        if requests::is_request(call.tool()) {
            return (Verdict::Allow, Stage::Default, never);
        }
        if !self.pinned.contains(call.tool()) {
            return (Verdict::Ask, Stage::Pinning, never);
        }
        let arguments: Value = call
            .arguments()
            .and_then(|raw| serde_json::from_slice(raw).ok())
            .unwrap_or_default();
        if call.tool().starts_with("ask_call") && attempt != Attempt::ApprovedOnce {
            return (Verdict::Ask, Stage::Rule, Approvable::ThisCall);
        }
        if call.tool().starts_with("ask_to") {
            for param in ["to", "cc"] {
                let destination = arguments.get(param).and_then(Value::as_str);
                if let Some(destination) = destination.filter(|d| !self.approved.contains(*d)) {
                    let unvouched = Unvouched {
                        param: param.to_owned(),
                        destination: destination.to_owned(),
                    };
                    return (
                        Verdict::Ask,
                        Stage::SinkGate,
                        Approvable::Destination(unvouched),
                    );
                }
            }
        }
        if call.tool().starts_with("deny") {
            return (Verdict::Deny, Stage::Constraint, never);
        }
        (Verdict::Allow, Stage::Default, never)
    }
}

impl Judge for Script {
    fn judge<R>(
        &mut self,
        call: &Call<'_>,
        attempt: Attempt,
        then: impl FnOnce(Judgement<'_>) -> R,
    ) -> R {
        let (verdict, stage, approvable) = self.find(call, attempt);
        if !requests::is_request(call.tool()) {
            self.tell(format!("judge {} {attempt:?} {verdict}", call.tool()));
        }
        let mut gate = Gate::new(Plan::load(PLAN.clone()).unwrap());
        let tool = ToolDefinition::from_json(serde_json::json!({ "name": call.tool() })).unwrap();
        gate.pin(call.server(), &[tool], None);
        let mut conversation = gate.conversation();
        let decision = gate.decide(&mut conversation, call, attempt, 0);
        let permit = decision.permit().filter(|_| verdict == Verdict::Allow);
        then(Judgement {
            record: VerdictRecord {
                verdict,
                at: Some("p.yaml:1:2".to_owned()),
                approvable,
                ..VerdictRecord::denial(stage, "script", format!("{verdict} by script"))
            },
            pass: permit.map(Pass::Permit),
        })
    }

    fn approve(&mut self, tool: &str, unvouched: &Unvouched<String>) -> bool {
        self.tell(format!("approve {tool} {}", unvouched.destination));
        self.approved.insert(unvouched.destination.clone())
    }

    fn withdraw(&mut self, _tool: &str, unvouched: &Unvouched<String>) {
        self.approved.remove(&unvouched.destination);
    }

    fn pin(&mut self, tools: &[ToolDefinition]) {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        self.tell(format!("pin {}", names.join(",")));
        self.pinned.extend(names.into_iter().map(str::to_owned));
    }

    fn observe(&mut self, tools: &[ToolDefinition]) {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        self.tell(format!("observe {}", names.join(",")));
    }

    fn record(&mut self, tool: &str, result: &Arc<Value>) {
        self.tell(format!("record {tool} {result}"));
    }

    fn record_introduction(&mut self, introduction: &Value) {
        self.tell(format!("introduction {introduction}"));
    }

    fn record_untrusted(&mut self, origin: &str, value: &Arc<Value>) {
        self.tell(format!("untrusted {origin} {value}"));
    }
}

/// One end of a line-wise connection.
pub(crate) struct Peer {
    writer: Option<WriteHalf<DuplexStream>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Peer {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            writer: Some(writer),
            lines: BufReader::new(reader).lines(),
        }
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, line: &[u8]) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(line).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    /// The next line, or `None` once the proxy has closed its end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let next = timeout(Duration::from_secs(5), self.lines.next_line());
        next.await.expect("nothing came").unwrap()
    }

    pub(crate) async fn json(&mut self) -> Value {
        let line = self.line().await.expect("the proxy closed its end");
        serde_json::from_str(&line).unwrap()
    }

    /// Fails if anything comes within a short time.
    pub(crate) async fn silence(&mut self) {
        let next = timeout(Duration::from_millis(60), self.lines.next_line());
        if let Ok(line) = next.await {
            panic!("unexpected: {line:?}");
        }
    }

    /// Says no more.
    pub(crate) async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            writer.shutdown().await.unwrap();
        }
    }
}

pub(super) struct Rig {
    pub client: Peer,
    pub server: Peer,
    pub told: Told,
    pub stop: Option<oneshot::Sender<()>>,
    pub proxy: JoinHandle<End<()>>,
    pub audit: PathBuf,
    _directory: tempfile::TempDir,
}

impl Rig {
    fn new(settings: Settings, audit: Option<&Path>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = audit.map_or_else(|| directory.path().join("audit.jsonl"), Path::to_path_buf);
        let log = Audit::open(&path, "conversation", "plan").unwrap();
        let script = Script::default();
        let told = Rc::clone(&script.told);
        let mediator = Mediator::new(
            script,
            ConversationRecords::new(log, None),
            Some("srv".to_owned()),
            settings,
        );
        let (client, client_side) = duplex(1 << 16);
        let (server, server_side) = duplex(1 << 16);
        let (client_in, client_out) = tokio::io::split(client_side);
        let (server_out, server_in) = tokio::io::split(server_side);
        let streams = Streams {
            client_in,
            client_out,
            server_in,
            server_out,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let proxy = tokio::task::spawn_local(async move {
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let (end, client_drain) =
                conduct(&mediator, streams, &mut Shutdown::new(stopped)).await;
            client_drain
                .say(&mediator.client, Duration::from_secs(1))
                .await;
            end
        });
        Self {
            client: Peer::new(client),
            server: Peer::new(server),
            told,
            stop: Some(stop),
            proxy,
            audit: path,
            _directory: directory,
        }
    }

    /// The handshake, and the listing of tools with the given names.
    pub(super) async fn start(&mut self, capabilities: &str, tools: &[&str]) {
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{capabilities}}}}}"#
        );
        self.client.send(&hello).await;
        assert_eq!(self.server.line().await.unwrap(), hello);
        self.server
            .send(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#)
            .await;
        self.client.json().await;
        self.client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        self.server.json().await;
        let list = self.server.json().await;
        assert_eq!(list["method"], "tools/list");
        let tools: Vec<Value> = tools
            .iter()
            .map(|name| serde_json::json!({"name": name, "inputSchema": {"type": "object"}}))
            .collect();
        let answer =
            serde_json::json!({"jsonrpc": "2.0", "id": list["id"], "result": {"tools": tools}});
        self.server.send(&answer.to_string()).await;
        self.until("observe ").await;
        self.told.borrow_mut().clear();
    }

    /// Waits until the judge was told something that starts so.
    pub(super) async fn until(&self, start: &str) {
        let told = async {
            while !self
                .told
                .borrow()
                .iter()
                .any(|what| what.starts_with(start))
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(5), told)
            .await
            .unwrap_or_else(|_| panic!("not told `{start}`: {:?}", self.told.borrow()));
    }

    /// The audit log's lines.
    pub(super) fn audited(&self) -> Vec<Value> {
        std::fs::read_to_string(&self.audit)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Outcomes in the audit log.
    pub(super) fn outcomes(&self) -> Vec<String> {
        let lines = self.audited().into_iter();
        lines
            .map(|l| l["outcome"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A call of `tool` with `arguments`.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// Quick time-outs.
pub(crate) fn quick() -> Settings {
    Settings {
        max_message: 256 * 1024,
        longest_name: 50,
        ask_timeout: Duration::from_millis(150),
        listing_timeout: Duration::from_millis(100),
        grace: Duration::from_millis(100),
        observe: false,
        guarded: Arc::default(),
    }
}

/// Runs a test with a proxy of its own.
pub(super) fn with(settings: Settings, audit: Option<&Path>, test: impl AsyncFnOnce(&mut Rig)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let mut rig = Rig::new(settings, audit);
        test(&mut rig).await;
    });
}
