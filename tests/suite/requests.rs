//! What is no tool: resources, prompts, completions, and what servers ask. Through real
//! proxies, in front of a server by hand.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Answers every request with what it was asked, and calls of `poke` with what the client says
/// to a question first. With `newer`, it asks in the answer.
const SERVER: &str = r#"
import json, sys
def say(**line): print(json.dumps({"jsonrpc": "2.0", **line}), flush=True)
newer, asked = "newer" in sys.argv, []
for line in sys.stdin:
    line = json.loads(line)
    method, params = line.get("method"), line.get("params") or {}
    if method == "initialize":
        say(id=line["id"], result={"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "s", "version": "1"},
            "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}}})
    elif method == "tools/list":
        say(id=line["id"], result={"tools": [{"name": "poke", "inputSchema": {"type": "object"}}]})
    elif method == "resources/list":
        say(id=line["id"], result={"resources": []})
    elif method == "prompts/list":
        say(id=line["id"], result={"prompts": [{"name": "greet"}, {"name": "secret"}]})
    elif method == "tools/call":
        ask = {"method": params["arguments"]["ask"], "params": params["arguments"]["params"]}
        if newer:
            say(id=line["id"], result={"resultType": "input_required", "inputRequests": {"q": ask}})
        else:
            asked.append(line["id"])
            say(id="q%d" % len(asked), **ask)
    elif method:
        if "id" in line: say(id=line["id"], result={"did": method, "params": params})
    else:
        say(id=asked[-1], result={"content": [{"type": "text", "text": json.dumps(line.get("result", line.get("error")))}]})
"#;

const POLICY: &str = "\
version: 1
packs: []
rules:
  - { resource: \"postgres://*/users/*\", action: deny, reason: users are private }
  - { resource: \"ask://*\", action: ask }
  - { resource: \"file:///etc/*\", action: deny }
  - { prompt: \"*secret\", action: deny }
  - { tool: \"*\", action: allow }
defaults: { sampling: ask, elicitation: allow, resources: allow, prompts: allow }
";

struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    fn new(policy: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), policy).unwrap();
        std::fs::write(directory.path().join("server.py"), SERVER).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn human(&self, arguments: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(arguments)
            .arg("--approvals")
            .arg(self.path("approvals.db"))
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8(text).unwrap(),
        )
    }

    /// The log: tool, verdict, outcome.
    fn log(&self) -> Vec<(String, String, String)> {
        let log = std::fs::read_to_string(self.path("audit.jsonl")).unwrap();
        let lines = log.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            (text("tool"), text("verdict"), text("outcome"))
        });
        lines.filter(|(tool, ..)| !tool.is_empty()).collect()
    }

    fn run(&self, capabilities: Value, more: &[&str]) -> Agent {
        let server = self.path("server.py");
        let mut args = vec!["run", "--server", "s", "--", "python3"];
        args.push(server.to_str().unwrap());
        args.extend(more);
        Agent::start(self.directory.path(), &args, capabilities)
    }

    fn gateway(&self, capabilities: Value) -> Agent {
        let policy = format!(
            "{POLICY}servers: {{ s: {{ command: python3, args: [{:?}] }} }}\n",
            self.path("server.py")
        );
        std::fs::write(self.path("policy.yaml"), policy).unwrap();
        Agent::start(self.directory.path(), &["gateway"], capabilities)
    }
}

/// A client, which says yes to every form of bouncer's and answers what servers ask.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    calls: u64,
    /// What it was asked.
    asked: Vec<Value>,
}

impl Agent {
    fn start(directory: &Path, args: &[&str], capabilities: Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .arg(args[0])
            .args(["--policy", "policy.yaml", "--audit", "audit.jsonl"])
            .args(["--approvals", "approvals.db"])
            .args(&args[1..])
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut agent = Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
            asked: Vec::new(),
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": "t", "version": "1" } });
        agent.request("initialize", &hello).unwrap();
        agent.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn say(&mut self, line: &Value) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// The result, or the error.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.calls += 1;
        let id = self.calls;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it ended");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["method"].is_string() && line["id"] != Value::Null {
                let yes = json!({"action": "accept", "content": {"approve": true}});
                self.say(&json!({"jsonrpc": "2.0", "id": line["id"], "result": yes}));
                self.asked.push(line);
            } else if line["id"] == id {
                return match line.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(line["error"].clone()),
                };
            }
        }
    }

    fn read(&mut self, uri: &str) -> Result<Value, Value> {
        self.request("resources/read", &json!({ "uri": uri }))
    }

    /// What the server gets for asking that.
    fn poke(&mut self, ask: &str, params: &Value) -> String {
        let arguments = json!({"ask": ask, "params": params});
        let params = json!({"name": "poke", "arguments": arguments});
        match self.request("tools/call", &params) {
            Ok(result) => result.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_blocked(outcome: &Result<Value, Value>) -> bool {
    let error = outcome.as_ref().err().map(Value::to_string);
    error.is_some_and(|error| error.contains("[bouncer blocked]"))
}

#[test]
fn resources_are_judged_however_they_are_spelled() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.run(json!({}), &[]);
    for uri in [
        "postgres://db/shop/users/1",
        "POSTGRES://db/shop/users/1",
        "postgres://me@db/users/",
        "postgres://db/shop/users/1?x",
        "postgres://db/x/../users/1",
        "postgres://db/%75sers/1",
        "postgres://db/%252575sers/1",
        "postgres://db/x/%2e%2e/users/1",
        "postgres://db\\users\\1",
        "file:/etc/passwd",
        "file://localhost/etc/passwd",
        "file:///etc/passwd?x",
        "file:///tmp/../etc/passwd",
        " file:///etc/passwd",
        "FILE:///etc/passwd",
    ] {
        let read = agent.read(uri);
        assert!(is_blocked(&read), "{uri}: {read:?}");
        let subscribed = agent.request("resources/subscribe", &json!({ "uri": uri }));
        assert!(is_blocked(&subscribed), "{uri}: {subscribed:?}");
        let of = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "a", "value": ""}});
        assert!(
            is_blocked(&agent.request("completion/complete", &of)),
            "{uri}"
        );
    }
    for uri in [
        "postgres://db/shop/orders/1",
        "file:///home/etc/x",
        "note:etc",
        "a b",
    ] {
        assert_eq!(agent.read(uri).unwrap()["params"]["uri"], uri);
    }
    for params in [
        json!({}),
        json!({"uri": 1}),
        json!({"uri": "a:b", "URI": "file:///etc/x"}),
    ] {
        assert!(
            agent.request("resources/read", &params).is_err(),
            "{params}"
        );
    }
    agent
        .request("prompts/get", &json!({"name": "greet"}))
        .unwrap();
    assert!(is_blocked(
        &agent.request("prompts/get", &json!({"name": "secret"}))
    ));
    let of = json!({"ref": {"type": "ref/prompt", "name": "secret"}, "argument": {"name": "a", "value": ""}});
    assert!(is_blocked(&agent.request("completion/complete", &of)));
    let log = desk.log();
    let lines = |tool: &str, outcome: &str| {
        let is = |line: &&(String, String, String)| line.0 == tool && line.2 == outcome;
        log.iter().filter(is).count()
    };
    assert_eq!(lines("resources/read", "forwarded"), 4);
    assert_eq!(lines("resources/read", "blocked"), 15);
    assert_eq!(lines("resources/subscribe", "blocked"), 15);
    assert_eq!(lines("completion/complete", "blocked"), 16);
    assert_eq!(lines("prompts/get", "forwarded"), 1);
    // The same name, called as a tool, is none.
    let named = json!({"name": "resources/read", "arguments": {"uri": "file:///etc/passwd"}});
    assert!(agent.request("tools/call", &named).is_err());
}

#[test]
fn the_same_human_is_asked_before_a_request_goes_on() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.run(json!({}), &[]);
    let asked = agent.read("ask://1").unwrap_err();
    let id = asked["data"]["bouncer/verdict"]["approval"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, listed) = desk.human(&["list"]);
    assert!(
        listed.contains("resources/read") && listed.contains("ask://1"),
        "{listed}"
    );
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    assert!(is_blocked(&agent.read("ask://2")));
    agent.read("ask://1").unwrap();
    assert!(
        is_blocked(&agent.read("ask://1")),
        "an approval is for once"
    );

    let mut agent = desk.run(json!({"elicitation": {}}), &[]);
    agent.read("ask://1").unwrap();
    assert!(
        agent.asked[0]["params"]["message"]
            .as_str()
            .unwrap()
            .contains("ask://1")
    );
}

#[test]
fn what_servers_ask_is_judged_before_the_client_hears_it() {
    for behind_gateway in [false, true] {
        let desk = Desk::new(POLICY);
        let start = |capabilities| match behind_gateway {
            true => desk.gateway(capabilities),
            false => desk.run(capabilities, &[]),
        };
        let tool = if behind_gateway { "s__poke" } else { "poke" };
        let poke = |agent: &mut Agent, ask: &str, params: &Value| {
            let arguments = json!({"ask": ask, "params": params});
            let params = json!({"name": tool, "arguments": arguments});
            agent.request("tools/call", &params).unwrap().to_string()
        };
        let sample =
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "say all"}}]});
        let mut agent = start(json!({"sampling": {}}));
        let got = poke(&mut agent, "sampling/createMessage", &sample);
        assert!(
            got.contains("[bouncer blocked]") && agent.asked.is_empty(),
            "{got}"
        );
        let (_, listed) = desk.human(&["list"]);
        assert!(
            listed.contains("sampling/createMessage") && listed.contains("say all"),
            "{listed}"
        );
        let id = listed
            .split_whitespace()
            .find(|word| word.starts_with("req_"))
            .unwrap();
        assert_eq!(desk.human(&["approve", id]).0, 0);
        poke(&mut agent, "sampling/createMessage", &sample);
        assert_eq!(agent.asked[0]["params"], sample);
        poke(
            &mut agent,
            "elicitation/create",
            &json!({"message": "who?"}),
        );
        assert_eq!(agent.asked[1]["params"]["message"], "who?");
        drop(agent);

        let mut agent = start(json!({"sampling": {}, "elicitation": {}}));
        poke(&mut agent, "sampling/createMessage", &sample);
        let methods: Vec<&str> = agent
            .asked
            .iter()
            .filter_map(|line| line["method"].as_str())
            .collect();
        assert_eq!(methods, ["elicitation/create", "sampling/createMessage"]);
    }
}

#[test]
fn what_an_answer_asks_for_is_judged() {
    let desk = Desk::new(&POLICY.replace("sampling: ask", "sampling: deny"));
    let mut agent = desk.run(json!({"sampling": {}}), &["newer"]);
    let sample = json!({"messages": []});
    let got = agent.poke("sampling/createMessage", &sample);
    assert!(
        got.contains("[bouncer blocked]") && !got.contains("inputRequests"),
        "{got}"
    );
    let got = agent.poke("elicitation/create", &json!({"message": "who?"}));
    assert!(got.contains("inputRequests"), "{got}");
}

#[test]
fn behind_the_gateway_prompts_have_their_servers_names() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.gateway(json!({}));
    assert!(is_blocked(
        &agent.request("prompts/get", &json!({"name": "s__secret"}))
    ));
    agent
        .request("prompts/get", &json!({"name": "s__greet"}))
        .unwrap();
    assert!(is_blocked(&agent.read("file:/etc/passwd")));
    agent.read("file:/home/x").unwrap();
    assert!(is_blocked(&agent.read("ask://1")));
}

#[test]
fn policies_that_only_know_of_tools_keep_what_they_do_and_are_warned() {
    let policy = "version: 1\npacks: []\nrules:\n  - { tool: \"*\", action: deny }\ndefaults: { onUnknown: deny }\n";
    let desk = Desk::new(policy);
    let mut agent = desk.run(json!({}), &[]);
    agent.read("file:///etc/passwd").unwrap();
    let compile = |text: &str| {
        std::fs::write(desk.path("policy.yaml"), text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(["compile", "policy.yaml", "-o", "x.plan"])
            .current_dir(desk.directory.path())
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(compile(policy).contains("B0506"), "{}", compile(policy));
    let said = policy.replace(
        "onUnknown: deny",
        "onUnknown: deny, resources: deny, prompts: deny, sampling: allow",
    );
    assert!(!compile(&said).contains("B0506"), "{}", compile(&said));
    let mut agent = desk.run(json!({}), &[]);
    assert!(is_blocked(&agent.read("file:///etc/passwd")));
}
