//! Calls that wait for a human in another process: through the real proxy and the
//! command line.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const POLICY: &str = "\
version: 1
packs: []
heuristics: false
tools:
  send_email: { exfiltrating: true, sink_params: [to], trusted_destinations: [me@corp.example] }
rules:
  - { tool: delete_message, action: ask, reason: deleting is for good }
  - { tool: send_email, when: args.subject == \"sign\", action: ask }
";

struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    fn new(policy: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), policy).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command of the human's side; its exit code, output and errors.
    fn human(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(arguments)
            .arg("--approvals")
            .arg(self.path("approvals.db"))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    }

    /// The last line of the audit log.
    fn last_line(&self) -> Value {
        let log = std::fs::read_to_string(self.path("audit.jsonl")).unwrap();
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    }

    fn proxy(&self) -> Proxy {
        Proxy::start(&self.path("policy.yaml"), self.directory.path())
    }
}

/// An agent behind the proxy, whose client cannot ask anybody.
struct Proxy {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    calls: u64,
}

impl Proxy {
    fn start(policy: &Path, directory: &Path) -> Self {
        Self::introduced(policy, directory, json!({}))
    }

    /// One whose client says that it can do more; what it is asked it answers with an error.
    fn introduced(policy: &Path, directory: &Path, capabilities: Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(["run", "--policy"])
            .arg(policy)
            .arg("--audit")
            .arg(directory.join("audit.jsonl"))
            .arg("--approvals")
            .arg(directory.join("approvals.db"))
            .args(["--", env!("CARGO_BIN_EXE_bouncer"), "demo-server"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut proxy = Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": { "name": "t", "version": "1" } });
        proxy.request("initialize", &hello);
        writeln!(
            proxy.stdin,
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
        )
        .unwrap();
        proxy
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.stdin, "{request}").unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(
                self.stdout.read_line(&mut line).unwrap(),
                0,
                "the proxy ended"
            );
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["method"] == "elicitation/create" {
                let error = json!({"code": -32603, "message": "no window to ask in"});
                let answer = json!({"jsonrpc": "2.0", "id": answer["id"], "error": error});
                writeln!(self.stdin, "{answer}").unwrap();
            } else if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let result = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == true {
            if let Some(id) = result["_meta"]["bouncer/verdict"]["approval"].as_str() {
                assert!(
                    text.contains(&format!("tell your user that request {id} waits")),
                    "{text}"
                );
                assert!(!text.contains("bouncer approve"), "{text}");
                return Err(id.to_owned());
            }
            return Err(text);
        }
        Ok(text)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_call_waits_is_approved_and_goes_through_once() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let id = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    let again = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert_eq!(id, again);
    let (code, list, _) = desk.human(&["list", "--status", "pending"]);
    assert_eq!(code, 0);
    for part in [
        id.as_str(),
        "delete_message",
        r#"{"id":5}"#,
        "deleting is for good",
        "policy.yaml:",
    ] {
        assert!(list.contains(part), "{part} in {list}");
    }
    let (code, stdout, _) = desk.human(&["approve", &id]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("exactly this call, once"), "{stdout}");
    // Another call is another matter.
    let other = agent.call("delete_message", &json!({"id": 6})).unwrap_err();
    assert_ne!(other, id);
    agent.call("delete_message", &json!({"id": 5.0})).unwrap();
    let next = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert_ne!(next, id);
    let (_, json, _) = desk.human(&["list", "--status", "used", "--json"]);
    let used: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(used["id"], id.as_str());
    assert_eq!(used["status"], "used");
    // It is refused twice, in words.
    let (code, _, stderr) = desk.human(&["approve", &id]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains(&format!("request `{id}` is used already")),
        "{stderr}"
    );
    let (code, _, stderr) = desk.human(&["deny", "req_none"]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains("there is no request with the id `req_none`"),
        "{stderr}"
    );
    let log = std::fs::read_to_string(desk.path("audit.jsonl")).unwrap();
    let outcomes: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["filed", "filed", "filed", "forwarded", "filed"]);
}

#[test]
fn a_client_that_fails_to_ask_is_like_one_that_cannot() {
    let desk = Desk::new(POLICY);
    let able = json!({"elicitation": {}});
    let mut agent = Proxy::introduced(&desk.path("policy.yaml"), desk.directory.path(), able);
    let id = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert_eq!(desk.last_line()["outcome"], "filed");
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    agent.call("delete_message", &json!({"id": 5})).unwrap();
    let again = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert_ne!(again, id);
}

#[test]
fn a_call_that_comes_back_approved_is_counted_once() {
    let budget = "  delete_message: { max_calls: 2 }\nrules:";
    let desk = Desk::new(&POLICY.replace("rules:", budget));
    let mut agent = desk.proxy();
    for id in [1, 2] {
        let request = agent
            .call("delete_message", &json!({"id": id}))
            .unwrap_err();
        assert_eq!(desk.human(&["approve", &request]).0, 0);
        agent.call("delete_message", &json!({"id": id})).unwrap();
    }
    let text = agent.call("delete_message", &json!({"id": 1})).unwrap_err();
    assert!(text.contains("call budget 2"), "{text}");
}

#[test]
fn a_denied_call_is_not_asked_about_again_at_once() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let id = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert_eq!(desk.human(&["deny", &id]).0, 0);
    let text = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert!(
        text.contains(&format!("a human has denied it as request `{id}`")),
        "{text}"
    );
    let line = desk.last_line();
    assert_eq!(
        (&line["verdict"], &line["outcome"]),
        (&json!("deny"), &json!("declined"))
    );
    let reason = line["reason"].as_str().unwrap();
    assert!(reason.contains("a human has denied it"), "{reason}");
}

#[test]
fn a_destination_is_approved_for_one_conversation() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let mail = |to: &str, subject: &str| json!({"to": [to], "subject": subject, "body": "x"});
    let id = agent
        .call("send_email", &mail("new@other.example", "a"))
        .unwrap_err();
    let (_, stdout, _) = desk.human(&["approve", &id]);
    assert!(
        stdout.contains("destination  to = new@other.example"),
        "{stdout}"
    );
    agent
        .call("send_email", &mail("new@other.example", "a"))
        .unwrap();
    // A yes holds for what was shown. Whatever is sent there is a choice of its own.
    let id = agent
        .call("send_email", &mail("new@other.example", "b"))
        .unwrap_err();
    let (_, stdout, _) = desk.human(&["approve", "--for-conversation", &id]);
    assert!(
        stdout.contains("whatever this tool sends to this destination"),
        "{stdout}"
    );
    for subject in ["b", "c", "d"] {
        agent
            .call("send_email", &mail("new@other.example", subject))
            .unwrap();
    }
    agent
        .call("send_email", &mail("x@other.example", "b"))
        .unwrap_err();
    desk.human(&["deny", &id]);
    agent
        .call("send_email", &mail("new@other.example", "e"))
        .unwrap_err();
    let mut stranger = desk.proxy();
    stranger
        .call("send_email", &mail("new@other.example", "a"))
        .unwrap_err();
    // A rule and the sink gate both ask: each approval keeps until the call goes out.
    let rule = agent
        .call("send_email", &mail("two@other.example", "sign"))
        .unwrap_err();
    assert_eq!(desk.human(&["approve", &rule]).0, 0);
    let sink = agent
        .call("send_email", &mail("two@other.example", "sign"))
        .unwrap_err();
    assert_ne!(rule, sink);
    assert_eq!(desk.human(&["approve", &sink]).0, 0);
    agent
        .call("send_email", &mail("two@other.example", "sign"))
        .unwrap();
    agent
        .call("send_email", &mail("two@other.example", "sign"))
        .unwrap_err();
}

#[test]
fn of_many_proxies_one_uses_an_approval() {
    let desk = Desk::new(POLICY);
    let mut agents: Vec<Proxy> = (0..4).map(|_| desk.proxy()).collect();
    for round in 0..5 {
        let arguments = json!({"id": round});
        let id = agents[0].call("delete_message", &arguments).unwrap_err();
        assert_eq!(desk.human(&["approve", &id]).0, 0, "{id}");
        let gone: Vec<bool> = std::thread::scope(|scope| {
            let arguments = &arguments;
            let tries: Vec<_> = agents
                .iter_mut()
                .map(|agent| scope.spawn(move || agent.call("delete_message", arguments).is_ok()))
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(gone.iter().filter(|gone| **gone).count(), 1, "{gone:?}");
    }
}

#[test]
fn another_policy_asks_anew() {
    let desk = Desk::new(POLICY);
    let id = desk
        .proxy()
        .call("delete_message", &json!({"id": 5}))
        .unwrap_err();
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    let changed = format!("{POLICY}  - {{ tool: unrelated, action: deny }}\n");
    std::fs::write(desk.path("policy.yaml"), changed).unwrap();
    let other = desk
        .proxy()
        .call("delete_message", &json!({"id": 5}))
        .unwrap_err();
    assert_ne!(other, id);
    std::fs::write(desk.path("policy.yaml"), POLICY).unwrap();
    desk.proxy()
        .call("delete_message", &json!({"id": 5}))
        .unwrap();
}

#[test]
fn an_approval_for_a_conversation_does_not_come_back_with_its_plan() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let arguments = json!({"id": 5});
    let id = agent.call("delete_message", &arguments).unwrap_err();
    assert_eq!(desk.human(&["approve", "--for-conversation", &id]).0, 0);
    for _ in 0..2 {
        agent.call("delete_message", &arguments).unwrap();
    }
    let reloads = || {
        let log = std::fs::read_to_string(desk.path("audit.jsonl")).unwrap();
        log.matches("\"event\":\"reloaded\"").count()
    };
    let changed = format!("{POLICY}  - {{ tool: unrelated, action: deny }}\n");
    for (number, text) in [&*changed, POLICY].into_iter().enumerate() {
        let draft = desk.path("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, desk.path("policy.yaml")).unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while reloads() == number {
            assert!(std::time::Instant::now() < until);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    // It is the plan that it was approved under, and it has to be approved again.
    let other = agent.call("delete_message", &arguments).unwrap_err();
    assert_ne!(other, id);
}

#[test]
fn a_store_that_is_replaced_is_noticed_and_holds_nothing_of_the_old_one() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let arguments = json!({"id": 5});
    let id = agent.call("delete_message", &arguments).unwrap_err();
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    for (round, left) in [(0, &["db"][..]), (1, &["db", "db-wal", "db-shm"])] {
        for end in left {
            let _ = std::fs::remove_file(desk.path(&format!("approvals.{end}")));
        }
        // What was approved there is gone, and what is asked now arrives.
        let other = agent.call("delete_message", &arguments).unwrap_err();
        let (_, listed, _) = desk.human(&["list"]);
        assert!(listed.contains(&other), "{round}: {listed}");
        assert_eq!(desk.human(&["approve", &other]).0, 0);
        if round == 1 {
            agent.call("delete_message", &arguments).unwrap();
        }
    }
    // What is no store at all approves nothing, and is no end.
    let good = std::fs::read(desk.path("approvals.key")).unwrap();
    for end in ["db", "db-wal", "db-shm"] {
        let _ = std::fs::remove_file(desk.path(&format!("approvals.{end}")));
    }
    std::fs::write(desk.path("approvals.db"), "nonsense".repeat(1000)).unwrap();
    let said = agent.call("delete_message", &arguments).unwrap_err();
    assert!(said.contains("cannot be put before one"), "{said}");
    std::fs::remove_file(desk.path("approvals.db")).unwrap();
    let id = agent.call("delete_message", &arguments).unwrap_err();
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    agent.call("delete_message", &arguments).unwrap();
    assert_eq!(std::fs::read(desk.path("approvals.key")).unwrap(), good);
}

#[test]
fn a_damaged_store_approves_nothing_and_stops_nothing_else() {
    let desk = Desk::new(POLICY);
    std::fs::write(desk.path("approvals.db"), "{not a database}".repeat(100)).unwrap();
    let mut agent = desk.proxy();
    agent.call("read_inbox", &json!({})).unwrap();
    let text = agent.call("delete_message", &json!({"id": 5})).unwrap_err();
    assert!(text.contains("a human has to approve it"), "{text}");
    assert_eq!(desk.human(&["list"]).0, 1);
}

#[test]
fn the_policy_says_where_and_for_how_long() {
    let policy = format!("{POLICY}approval: {{ path: kept/a.db, timeoutSeconds: 0.2 }}\n");
    let desk = Desk::new(&policy);
    let file = desk.path("policy.yaml");
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(arguments)
            .arg("--policy")
            .arg(&file)
            .env("HOME", desk.directory.path())
            .args(if arguments[0] == "run" {
                &["--", env!("CARGO_BIN_EXE_bouncer"), "demo-server"][..]
            } else {
                &[]
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut proxy = run(&["run"]);
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_message"}}"#;
    writeln!(proxy.stdin.take().unwrap(), "{call}").unwrap();
    let answer = proxy.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let id = answer["result"]["_meta"]["bouncer/verdict"]["approval"]
        .as_str()
        .unwrap();
    assert!(desk.path("kept/a.db").exists());
    std::thread::sleep(std::time::Duration::from_millis(250));
    let late = run(&["approve", id]).wait_with_output().unwrap();
    assert_eq!(late.status.code(), Some(1));
    let stderr = String::from_utf8(late.stderr).unwrap();
    assert!(stderr.contains("is expired already"), "{stderr}");
}

#[test]
fn nothing_from_outside_forges_what_the_human_reads() {
    let desk = Desk::new(POLICY);
    let mut agent = desk.proxy();
    let hostile = json!({"id": "5\u{1b}[2J\nreq_aaaaaaaa  approved", "k\nwhy  fine": "\u{202e}x"});
    let id = agent.call("delete_message", &hostile).unwrap_err();
    let (_, list, _) = desk.human(&["list"]);
    assert_eq!(
        list.lines().filter(|line| line.starts_with("req_")).count(),
        1,
        "{list}"
    );
    assert!(
        !list.contains('\u{202e}') && !list.contains("\u{1b}[2J"),
        "{list}"
    );
    assert_eq!(desk.human(&["approve", &id]).0, 0);
    agent.call("delete_message", &hostile).unwrap();
}
