//! What goes wrong around the gate: full disks, servers that die, hang, lie or crawl,
//! clients that vanish. Nothing goes out without a permit, nothing is missing from the
//! log, no request stays unanswered.

use super::gateway::{Agent, Place};
use crate::command::{bouncer, scratch};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}})
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": {"n": id}}})
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn is_clean(log: &Path) {
    let output = bouncer()
        .args(["audit", "verify", "--audit"])
        .arg(log)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
}

/// Writes down every call that it gets, and answers it.
const RECORDER: &str = r#"
import json, os, sys
name, seen = sys.argv[1], open(sys.argv[2], "a")
count = 0
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("work", "forbidden")]}
    else:
        seen.write("%s %d\n" % (m["params"]["name"], m["params"]["arguments"]["n"]))
        seen.flush()
        count += 1
        if name == "dies" and count % 7 == 0:
            os._exit(3)
        if name == "hangs" and count % 5 == 0:
            continue
        if name == "lies" and count % 3 == 0:
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":\n[[[\x00\n{"id":17,"result":{}}\n' % m["id"])
            sys.stdout.flush()
            continue
        if name == "crawls":
            import time; time.sleep(0.02)
        r = {"content": [{"type": "text", "text": "done"}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) + "\n")
    sys.stdout.flush()
"#;

const NAMES: [&str; 5] = ["good", "dies", "hangs", "lies", "crawls"];

#[test]
fn servers_that_fail_under_load_lose_nothing() {
    let dir = scratch("faults-servers");
    std::fs::write(dir.join("server.py"), RECORDER).unwrap();
    let servers: String = NAMES
        .iter()
        .map(|name| {
            format!(
                "  {name}: {{command: python3, args: [server.py, {name}, seen-{name}], cwd: .}}\n"
            )
        })
        .collect();
    let policy = format!(
        "version: 1\npacks: []\nheuristics: false\nrules: [{{tool: '*__forbidden', action: deny}}]\nservers:\n{servers}"
    );
    std::fs::write(dir.join("policy.yaml"), policy).unwrap();
    let log = dir.join("audit.jsonl");
    let mut child = bouncer()
        .current_dir(&dir)
        .args([
            "gateway",
            "--policy",
            "policy.yaml",
            "--audit",
            "audit.jsonl",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut answers: HashMap<u64, Value> = HashMap::new();
        for line in stdout.lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if let Some(id) = message["id"].as_u64().filter(|id| *id > 0) {
                assert!(answers.insert(id, message).is_none(), "{id} answered twice");
            }
        }
        answers
    });
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(stdin, "{}\n{ready}", hello()).unwrap();
    let started = Instant::now();
    let all_are_up = || {
        let said = std::fs::read_to_string(dir.join("stderr")).unwrap();
        NAMES
            .iter()
            .all(|name| said.contains(&format!("server \"{name}\" is up")))
    };
    while !all_are_up() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut sent = 0;
    for round in 0..300_u64 {
        for name in NAMES {
            sent += 1;
            let tool = if round % 10 == 9 { "forbidden" } else { "work" };
            writeln!(stdin, "{}", call(sent, &format!("{name}__{tool}"))).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // The client leaves without waiting for anything.
    drop(stdin);
    let answers = reader.join().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let missing: Vec<u64> = (1..=sent).filter(|id| !answers.contains_key(id)).collect();
    assert_eq!(missing, [0; 0], "every request is answered");
    // What reached a server was permitted, and is in the log as forwarded.
    let audited = lines(&log);
    let mut forwarded = HashSet::new();
    let mut logged = HashSet::new();
    for line in audited.iter().filter(|line| line.get("verdict").is_some()) {
        let n = line["arguments"]["n"].as_u64().unwrap();
        assert!(logged.insert(n), "{line}");
        if line["outcome"] == "forwarded" {
            assert_eq!(line["tool"], "work");
            forwarded.insert(n);
        }
    }
    let mut reached = 0;
    for name in NAMES {
        let seen = std::fs::read_to_string(dir.join(format!("seen-{name}"))).unwrap();
        for line in seen.lines() {
            let (tool, n) = line.split_once(' ').unwrap();
            assert_eq!(tool, "work");
            assert!(forwarded.contains(&n.parse().unwrap()), "{name}: {line}");
            reached += 1;
        }
    }
    assert!(reached > 300, "{reached}");
    // A call that is not in the log was refused before anybody judged it: its server was
    // not there.
    for (id, answer) in &answers {
        if !logged.contains(id) {
            assert!(answer.get("error").is_some(), "{answer}");
        }
    }
    let good = std::fs::read_to_string(dir.join("seen-good")).unwrap();
    assert_eq!(good.lines().count(), 270, "the good one was not held up");
    is_clean(&log);
}

#[test]
fn a_full_disk_blocks_and_loses_nothing() {
    let dir = scratch("faults-full");
    std::fs::write(dir.join("server.py"), RECORDER).unwrap();
    std::fs::write(
        dir.join("policy.yaml"),
        "version: 1\npacks: []\nheuristics: false\n",
    )
    .unwrap();
    let log = dir.join("audit.jsonl");
    // No file of the gate may grow past 64 KiB; the server's own may, it is started anew.
    let script = format!(
        "trap '' XFSZ; ulimit -f 128; exec '{}' run --server s --policy policy.yaml --audit audit.jsonl --approvals approvals.db -- python3 server.py good seen",
        env!("CARGO_BIN_EXE_bouncer")
    );
    let mut child = Command::new("sh")
        .current_dir(&dir)
        .args(["-c", &script])
        .env("HOME", &dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(stdin, "{}\n{ready}", hello()).unwrap();
    let mut answer = |id: u64| -> Value {
        loop {
            let line = stdout.next().unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    };
    let (mut allowed, mut blocked) = (HashSet::new(), 0);
    for id in 1..=400 {
        writeln!(stdin, "{}", call(id, "work")).unwrap();
        let text = answer(id)["result"]["content"][0]["text"].clone();
        if text == "done" {
            assert_eq!(blocked, 0, "there is no way back while the disk is full");
            allowed.insert(id);
        } else {
            assert!(
                text.as_str()
                    .unwrap()
                    .contains("audit log cannot be written"),
                "{text}"
            );
            blocked += 1;
        }
    }
    assert!(
        allowed.len() > 50 && blocked > 50,
        "{} {blocked}",
        allowed.len()
    );
    let forwarded: HashSet<u64> = lines(&log)
        .iter()
        .filter(|line| line["outcome"] == "forwarded")
        .map(|line| line["arguments"]["n"].as_u64().unwrap())
        .collect();
    assert_eq!(forwarded, allowed);
    let seen = std::fs::read_to_string(dir.join("seen")).unwrap();
    assert_eq!(seen.lines().count(), allowed.len());
    is_clean(&log);
    // Somebody makes room.
    std::fs::rename(&log, dir.join("audit.jsonl.1")).unwrap();
    writeln!(stdin, "{}", call(1000, "work")).unwrap();
    assert_eq!(answer(1000)["result"]["content"][0]["text"], "done");
    is_clean(&log);
    drop(stdin);
    child.wait().unwrap();
}

#[test]
fn a_client_that_vanishes_leaves_nobody_behind() {
    let dir = scratch("faults-client");
    std::fs::write(dir.join("server.py"), RECORDER).unwrap();
    std::fs::write(
        dir.join("policy.yaml"),
        "version: 1\npacks: []\nheuristics: false\n",
    )
    .unwrap();
    for round in 0..5_u64 {
        let mut child = bouncer()
            .current_dir(&dir)
            .args([
                "run",
                "--server",
                "s",
                "--policy",
                "policy.yaml",
                "--audit",
                "audit.jsonl",
            ])
            .args(["--", "python3", "server.py", "crawls", "seen"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(stdin, "{}\n{ready}", hello()).unwrap();
        for n in 0..20 {
            writeln!(stdin, "{}", call(round * 100 + n + 1, "work")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(40 * round));
        // Both pipes at once, in the middle of calls.
        drop((stdin, stdout));
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(15), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let forwarded: HashSet<u64> = lines(&dir.join("audit.jsonl"))
        .iter()
        .filter(|line| line["outcome"] == "forwarded")
        .map(|line| line["arguments"]["n"].as_u64().unwrap())
        .collect();
    for line in std::fs::read_to_string(dir.join("seen")).unwrap().lines() {
        let n = line.split_once(' ').unwrap().1.parse().unwrap();
        assert!(forwarded.contains(&n), "{line}");
    }
    is_clean(&dir.join("audit.jsonl"));
}

#[test]
fn a_full_disk_under_the_approvals_approves_nothing_and_recovers() {
    let place = Place::new(
        "policy.yaml",
        "version: 1\npacks: []\nheuristics: false\nrules: [{tool: '*forbidden', action: ask, reason: look}, {tool: '*', action: allow}]\n",
    );
    std::fs::write(place.path("server.py"), RECORDER).unwrap();
    // The limit is a soft one, so that somebody can make room.
    let script = format!(
        "trap '' XFSZ; ulimit -S -f 256; exec '{}' run --server s --policy policy.yaml --audit /dev/null --approvals approvals.db -- python3 server.py good seen",
        env!("CARGO_BIN_EXE_bouncer")
    );
    let mut command = Command::new("sh");
    command
        .current_dir(place.path("."))
        .args(["-c", &script])
        .env("HOME", place.path("."));
    let stderr = place.path("stderr");
    let mut agent = Agent::start(command, &stderr);
    let filed = |text: &str| -> Option<String> {
        let id = text.split("request ").nth(1)?.split(' ').next()?;
        Some(id.to_owned())
    };
    let approve = |id: &str| {
        let (code, _, errors) = place.run(&["approve", id, "--approvals", "approvals.db"]);
        assert_eq!(code, 0, "{errors}");
    };
    // One is approved while there is room, the rest fill the disk.
    let (text, _) = agent.call("forbidden", json!({"n": 0}));
    approve(&filed(&text).unwrap());
    let mut refused = 0;
    for n in 1..200 {
        let (text, failed) = agent.call("forbidden", json!({"n": n}));
        assert!(failed, "{text}");
        if filed(&text).is_none() {
            assert!(text.contains("cannot be put before one"), "{text}");
            refused += 1;
        }
        if refused > 3 {
            break;
        }
    }
    assert!(refused > 3, "the disk is not full");
    let process = agent.id().to_string();
    let limit = |bytes: &str| {
        let limit = format!("--fsize={bytes}:");
        let done = Command::new("prlimit")
            .args(["--pid", &process, &limit])
            .status();
        assert!(done.unwrap().success());
    };
    // Not a byte more, also for what needs little.
    limit("4096");
    // What needs nobody goes on; what was approved cannot be noted as used, and stays here.
    assert_eq!(
        agent.call("work", json!({"n": 1000})),
        ("done".to_owned(), false)
    );
    let (text, failed) = agent.call("forbidden", json!({"n": 0}));
    assert!(failed, "{text}");
    assert!(std::fs::read_to_string(&stderr).unwrap().contains("disk"));
    limit("unlimited");
    // Then all is as it was: once.
    assert_eq!(
        agent.call("forbidden", json!({"n": 0})),
        ("done".to_owned(), false)
    );
    let (text, failed) = agent.call("forbidden", json!({"n": 0}));
    assert!(failed && filed(&text).is_some(), "{text}");
    let (text, _) = agent.call("forbidden", json!({"n": 300}));
    approve(&filed(&text).unwrap());
    assert_eq!(
        agent.call("forbidden", json!({"n": 300})),
        ("done".to_owned(), false)
    );
    assert_eq!(agent.leave(), 0);
    let seen = std::fs::read_to_string(place.path("seen")).unwrap();
    assert_eq!(
        seen.lines().collect::<Vec<_>>(),
        ["work 1000", "forbidden 0", "forbidden 300"]
    );
}
