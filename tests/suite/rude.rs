//! What an attacker tries beside calls: files that are none, heads that never end, resources
//! over HTTP, what is bouncer's own, and arguments that nobody can read.

use super::gateway::Place;
use super::http_agents::tokens;
use super::http_client::Listening;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    line = json.loads(line)
    method, params = line.get("method"), line.get("params") or {}
    result = {"did": method, "params": params}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "s", "version": "1"},
                  "capabilities": {"tools": {}, "resources": {}, "prompts": {}}}
    elif method == "tools/list":
        result = {"tools": [{"name": "run", "inputSchema": {"type": "object"}}]}
    elif method == "resources/list":
        result = {"resources": []}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "ran"}]}
    if "id" in line and method: print(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": result}), flush=True)
"#;

fn place(rules: &str) -> Place {
    let policy = format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\napproval: {{path: asked.db}}\nservers: {{s: {{command: python3, args: [server.py]}}}}\nrules:\n{rules}"
    );
    let place = Place::new("bouncer.yaml", &policy);
    std::fs::write(place.path("server.py"), SERVER).unwrap();
    place
}

const ALLOW: &str = "  - {tool: '*', action: allow}\n";

#[test]
fn half_sent_heads_keep_nobody_out() {
    let place = place(ALLOW);
    std::fs::write(place.path("tokens"), tokens(&[("alice", "a")])).unwrap();
    let gateway = Listening::start_in(place, &["--tokens", "tokens"]);
    let mut alice = gateway.agent(Some("a"));
    alice.until_tools(1);
    let halves: Vec<TcpStream> = (0..1200)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(gateway.address).ok()?;
            stream
                .write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX")
                .ok()?;
            Some(stream)
        })
        .collect();
    assert!(halves.len() > 1100, "{}", halves.len());
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let began = Instant::now();
        let (_, failed) = alice.call("s__run", json!({}));
        assert!(!failed);
        slowest = slowest.max(began.elapsed());
    }
    // Without anybody's leaving it takes until the first of them has had its ten seconds.
    println!("the slowest call among 1,200 half-sent heads took {slowest:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    drop(halves);
}

#[test]
fn heads_are_as_long_as_is_said() {
    let place = place(ALLOW);
    let gateway = Listening::start_in(place, &[]);
    let answer = |head: &str| {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let _ = stream.write_all(head.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let head = |more: &str| {
        format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n",
            gateway.address
        )
    };
    let many = |count: usize| {
        (0..count)
            .map(|n| format!("X-{n}: 1\r\n"))
            .collect::<String>()
    };
    let long = |length: usize| format!("X: {}\r\n", "y".repeat(length));
    assert!(answer(&head(&long(16 * 1024))).starts_with("HTTP/1.1 4"));
    assert!(!answer(&head(&long(16 * 1024))).contains("431"));
    assert!(!answer(&head(&many(60))).contains("431"));
    for refused in [head(&many(70)), head(&long(40 * 1024))] {
        let said = answer(&refused);
        assert!(
            said.is_empty() || said.contains("431") || said.contains("400"),
            "{said}"
        );
    }
}

#[test]
fn resources_over_http_are_judged_however_they_are_spelled() {
    let place = place(&format!(
        "  - {{resource: \"file:///etc/*\", action: deny}}\n{ALLOW}"
    ));
    let gateway = Listening::start_in(place, &[]);
    let mut agent = gateway.agent(None);
    agent.until_tools(1);
    for uri in [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "file:///x/%2e%2e/etc/passwd",
    ] {
        let answer = agent.request("resources/read", &json!({ "uri": uri }));
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("[bouncer blocked]"),
            "{answer}"
        );
    }
    let answer = agent.request("resources/read", &json!({"uri": "file:///home/x"}));
    assert_eq!(answer["result"]["did"], "resources/read");
}

#[test]
fn what_is_bouncers_own_is_out_of_reach() {
    let place = place(ALLOW);
    let asked = place.path("asked.db").display().to_string();
    let gateway = Listening::start_in(place, &[]);
    let mut agent = gateway.agent(None);
    agent.until_tools(1);
    for arguments in [
        json!({"path": "/home/me/.bouncer/approvals.db"}),
        json!({"path": asked}),
        json!({"path": asked.replace("asked.db", "asked.key")}),
        json!({"paths": ["/tmp/x", format!("/x/..{asked}-wal")]}),
        json!({"command": format!("sqlite3 {asked} .dump")}),
        json!({"uri": "file:///root/%2ebouncer/page-8809.link"}),
    ] {
        let (text, failed) = agent.call("s__run", arguments.clone());
        assert!(
            failed && text.contains("bouncer's own"),
            "{arguments}: {text}"
        );
    }
    let answer = agent.request("resources/read", &json!({"uri": format!("file://{asked}")}));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("bouncer's own"),
        "{answer}"
    );
    let (text, failed) = agent.call("s__run", json!({"path": "/home/me/.bouncer.yaml"}));
    assert!(!failed, "{text}");
}

#[test]
fn what_is_too_long_to_be_shown_is_saved_and_read_or_denied() {
    let place = place("  - {tool: '*', action: ask}\n");
    let gateway = Listening::start_in(place, &[]);
    let mut agent = gateway.agent(None);
    agent.until_tools(1);
    let arguments = json!({"body": "y".repeat(600_000), "password": "hunter2"});
    let (text, failed) = agent.call("s__run", arguments.clone());
    assert!(failed && !text.contains("bouncer approve"), "{text}");
    let id = text
        .split("request ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    let human = |more: &[&str]| {
        let all = [more, &["--approvals", "asked.db"]].concat();
        gateway.place.run(&all)
    };
    let (code, shown, _) = human(&["list", &id]);
    assert!(code == 0 && shown.len() < 10_000, "{}", shown.len());
    assert!(
        shown.contains("more characters") && shown.contains("secrets are not shown"),
        "{shown}"
    );
    let (code, _, why) = human(&["approve", &id]);
    assert!(code != 0 && why.contains("--save"), "{why}");
    assert_eq!(human(&["list", &id, "--save", "all.json"]).0, 0);
    let saved = std::fs::read_to_string(gateway.place.path("all.json")).unwrap();
    assert!(saved.contains(&"y".repeat(600_000)) && !saved.contains("hunter2"));
    assert_ne!(
        human(&["list", &id, "--save", "all.json"]).0,
        0,
        "nothing is overwritten"
    );
    std::fs::write(gateway.place.path("other.json"), "{}").unwrap();
    assert_ne!(human(&["approve", &id, "--saved", "other.json"]).0, 0);
    assert_eq!(human(&["approve", &id, "--saved", "all.json"]).0, 0);
    assert!(!agent.call("s__run", arguments).1);
}

#[test]
fn a_named_pipe_in_the_place_of_a_file_blocks_nothing_and_is_named() {
    let place = place(ALLOW);
    let pipe = |name: &str| {
        let made = Command::new("mkfifo")
            .arg(place.path(name))
            .status()
            .unwrap();
        assert!(made.success());
    };
    for name in [
        "pipe",
        "pipe.yaml",
        "pipe.test.yaml",
        "pipe.db",
        "pipe.jsonl",
        "pipe.json",
    ] {
        pipe(name);
    }
    let commands: &[&[&str]] = &[
        &["compile", "pipe.yaml", "-o", "x.plan"],
        &["verify", "pipe.yaml"],
        &["verify", "bouncer.yaml", "--tools", "pipe"],
        &["diff", "pipe.yaml", "bouncer.yaml"],
        &["diff", "bouncer.yaml", "pipe.yaml"],
        &["inspect", "pipe"],
        &["check", "--policy", "pipe.yaml", "--tool", "x"],
        &["check", "--plan", "pipe", "--tool", "x"],
        &[
            "check",
            "--policy",
            "bouncer.yaml",
            "--tool",
            "x",
            "--args",
            "@pipe",
        ],
        &[
            "check",
            "--policy",
            "bouncer.yaml",
            "--tools",
            "pipe",
            "--tool",
            "x",
        ],
        &["replay", "--policy", "bouncer.yaml", "pipe"],
        &["replay", "--policy", "pipe.yaml", "bouncer.yaml"],
        &["test", "pipe.test.yaml"],
        &["why", "--audit", "pipe.jsonl"],
        &["audit", "verify", "pipe.jsonl"],
        &["audit", "stats", "pipe.jsonl"],
        &["list", "--approvals", "pipe.db"],
        &["list", "--policy", "pipe.yaml"],
        &["approve", "req_x", "--approvals", "pipe.db"],
        &["deny", "req_x", "--approvals", "pipe.db"],
        &["run", "--policy", "pipe.yaml", "--", "true"],
        &["run", "--plan", "pipe", "--", "true"],
        &[
            "run",
            "--policy",
            "bouncer.yaml",
            "--tools",
            "pipe",
            "--",
            "true",
        ],
        &["gateway", "--policy", "pipe.yaml"],
        &["gateway", "--policy", "bouncer.yaml", "--tools", "pipe"],
        &[
            "gateway",
            "--policy",
            "bouncer.yaml",
            "--listen",
            "127.0.0.1:0",
            "--tokens",
            "pipe",
        ],
        &["policy", "suggest", "--tools", "pipe"],
    ];
    for arguments in commands {
        let mut child = place
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    child.kill().unwrap();
                    panic!("{arguments:?} waits for a pipe");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert!(
            !status.success() && said.contains("pipe"),
            "{arguments:?}: {said}"
        );
    }
    // An approvals file that is none is no reason not to start; nobody can be asked then.
    let _: Value = json!(null);
}
