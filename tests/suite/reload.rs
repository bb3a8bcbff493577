//! A policy, or the accepted tools, that change while calls fly.

use crate::command::{bouncer, scratch};
use bouncer_compiler::{Input, Options};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn plan(text: &str) -> Plan {
    let text = format!("version: 1\npacks: []\nheuristics: false\n{text}");
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let input = Input {
        name: "p.yaml",
        text: &text,
    };
    let loaded = bouncer_compiler::load(&[input], &options).unwrap();
    Plan::load(bouncer_compiler::compile(&loaded.policy).unwrap()).unwrap()
}

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::from_json(json!({ "name": name, "description": description })).unwrap()
}

fn decide(
    gate: &Gate,
    conversation: &mut Conversation,
    name: &str,
    arguments: &str,
) -> (Verdict, Stage) {
    let call = Call::hypothetical(Some("s"), name, Some(arguments.as_bytes()));
    let decision = gate.decide(conversation, &call, Attempt::First, 1000);
    (decision.verdict(), decision.stage())
}

#[test]
fn what_was_counted_read_and_changed_stays() {
    let policy = |more: &str| {
        plan(&format!(
            "tools:\n  send: {{exfiltrating: true, sink_params: [to], max_calls: 4{more}}}\n  other: {{}}\n"
        ))
    };
    let mut gate = Gate::new(policy(""));
    gate.pin(
        Some("s"),
        &[tool("send", ""), tool("other", ""), tool("fox", "")],
        None,
    );
    gate.observe(Some("s"), &[tool("other", "changed")]);
    let mut conversation = gate.conversation();
    gate.record_untrusted(
        &mut conversation,
        Some("s"),
        "mail",
        &json!("eve@evil.example"),
    );
    conversation.approve(Some("s"), "send", "to", "bob@x.example");
    let evil = r#"{"to":"eve@evil.example"}"#;
    let bob = r#"{"to":"bob@x.example"}"#;
    let send = |gate: &Gate, conversation: &mut Conversation, arguments: &str| {
        decide(gate, conversation, "send", arguments)
    };
    assert_eq!(
        send(&gate, &mut conversation, evil),
        (Verdict::Deny, Stage::SinkGate)
    );
    assert_eq!(send(&gate, &mut conversation, bob).0, Verdict::Allow);
    gate.reload(policy(", rate: 2/min")).unwrap();
    // Both attempts of before count, also for a rate that nobody counted then.
    assert_eq!(
        send(&gate, &mut conversation, bob),
        (Verdict::Deny, Stage::Budget)
    );
    gate.reload(policy("")).unwrap();
    // What a human vouched for was said under another policy.
    assert_eq!(
        send(&gate, &mut conversation, bob),
        (Verdict::Ask, Stage::SinkGate)
    );
    assert_eq!(
        send(&gate, &mut conversation, evil),
        (Verdict::Deny, Stage::Budget)
    );
    assert_eq!(
        decide(&gate, &mut conversation, "other", "{}"),
        (Verdict::Deny, Stage::Pinning)
    );
    assert_eq!(
        decide(&gate, &mut conversation, "fox", "{}").0,
        Verdict::Allow
    );
    gate.reload(plan("rules: [{tool: 's__fox', action: deny}]\n"))
        .unwrap();
    assert_eq!(
        decide(&gate, &mut conversation, "fox", "{}"),
        (Verdict::Deny, Stage::Rule)
    );
}

#[test]
fn a_tool_is_held_until_its_change_is_accepted() {
    let lock = |tools: &[ToolDefinition]| Lock::new(Some("s"), tools.to_vec());
    let (before, after) = (tool("send", "one"), tool("send", "two"));
    let first = lock(std::slice::from_ref(&before));
    let mut gate = Gate::new(plan("tools: {}\n"));
    gate.pin(Some("s"), &[before.clone(), tool("new", "")], Some(&first));
    let mut conversation = gate.conversation();
    let mut judge = |gate: &Gate, name: &str| decide(gate, &mut conversation, name, "{}");
    assert_eq!(judge(&gate, "send").0, Verdict::Allow);
    assert_eq!(judge(&gate, "new"), (Verdict::Ask, Stage::Pinning));
    gate.observe(Some("s"), std::slice::from_ref(&after));
    assert_eq!(judge(&gate, "send"), (Verdict::Deny, Stage::Pinning));
    // A lock that says the same accepts nothing.
    gate.accept(&first, Some(&first));
    gate.observe(Some("s"), std::slice::from_ref(&before));
    assert_eq!(judge(&gate, "send"), (Verdict::Deny, Stage::Pinning));
    gate.observe(Some("s"), std::slice::from_ref(&after));
    let second = lock(&[after.clone(), tool("new", "")]);
    gate.accept(&second, Some(&first));
    assert_eq!(judge(&gate, "send").0, Verdict::Allow);
    assert_eq!(judge(&gate, "new").0, Verdict::Allow);
    // The server goes on changing.
    gate.observe(Some("s"), std::slice::from_ref(&before));
    assert_eq!(judge(&gate, "send"), (Verdict::Deny, Stage::Pinning));
    // Accepted, but not what the server lists.
    let third = lock(&[tool("send", "three")]);
    gate.accept(&third, Some(&second));
    assert_eq!(judge(&gate, "send"), (Verdict::Deny, Stage::Pinning));
    assert_eq!(judge(&gate, "new"), (Verdict::Deny, Stage::Pinning));
    // A tool that is listed in two ways at once is not accepted.
    gate.observe(Some("s"), &[before, after.clone()]);
    gate.accept(&lock(&[after]), Some(&third));
    assert_eq!(judge(&gate, "send"), (Verdict::Deny, Stage::Pinning));
}

#[test]
fn only_what_is_always_denied_is_hidden() {
    let hidden = |policy: &str| -> Vec<&str> {
        let mut gate = Gate::new(plan(policy));
        let names = ["a", "b", "c"];
        let tools: Vec<_> = names.iter().map(|name| tool(name, "")).collect();
        gate.pin(Some("s"), &tools, None);
        let is_hidden = |name: &&str| gate.hides(Some("s"), name);
        names.into_iter().filter(is_hidden).collect()
    };
    let rules = "rules:\n  - {tool: 's__a', when: args.x == 1, action: deny}\n  - {tool: 's__a', action: deny}\n  - {tool: 's__b', when: args.x == 1, action: ask}\n  - {tool: 's__[ab]', action: deny}\n  - {tool: '*', when: args.x != 7, action: deny}\n";
    assert_eq!(hidden(rules), [""; 0]);
    assert_eq!(hidden(&format!("hide_denied: false\n{rules}")), [""; 0]);
    assert_eq!(hidden(&format!("hide_denied: true\n{rules}")), ["a"]);
    let closed = "hide_denied: true\ndefaults: {onUnknown: deny, onDestructiveHint: deny}\nrules:\n  - {tool: 's__b', when: args.x == 1, action: allow}\n";
    assert_eq!(hidden(closed), ["a", "c"]);
    assert_eq!(
        hidden("hide_denied: true\ndefaults: {onUnknown: deny}\n"),
        [""; 0]
    );
    assert_eq!(
        hidden("hide_denied: true\ntools: {b: {max_calls: 0}, c: {max_calls: 1}}\n"),
        ["b"]
    );
    // Every pick has to be denied.
    assert_eq!(
        hidden("hide_denied: true\nrules:\n  - {tool: '*', when: all args.x == 1, action: deny}\n"),
        [""; 0]
    );
}

/// A client that calls without end, and whose answers are counted.
struct Caller {
    child: Child,
    stop: Arc<AtomicBool>,
    sent: std::thread::JoinHandle<u64>,
    answered: std::thread::JoinHandle<HashSet<u64>>,
}

impl Caller {
    fn start(mut command: Command, stderr: &Path) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(stderr).unwrap())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let sent = std::thread::spawn(move || {
            let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"}}});
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(stdin, "{hello}\n{ready}").unwrap();
            let mut sent = 0;
            while !told.load(Ordering::Relaxed) {
                sent += 1;
                let call = json!({"jsonrpc": "2.0", "id": sent, "method": "tools/call",
                    "params": {"name": "list_contacts", "arguments": {}}});
                writeln!(stdin, "{call}").unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        let answered = std::thread::spawn(move || {
            let mut ids = HashSet::new();
            for line in stdout.lines() {
                let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
                if let Some(id) = message["id"].as_u64().filter(|id| *id > 0) {
                    assert!(ids.insert(id), "{id} was answered twice");
                    let text = message["result"]["content"][0]["text"].as_str();
                    assert!(text.is_some_and(|text| !text.is_empty()), "{message}");
                }
            }
            ids
        });
        Self {
            child,
            stop,
            sent,
            answered,
        }
    }

    fn hang_up(&self) {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args(["-HUP", &pid]).status().unwrap();
        assert!(killed.success());
    }
}

fn events(log: &Path, event: &str) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let event = format!("\"event\":\"{event}\"");
    text.lines().filter(|line| line.contains(&event)).count()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn write(path: &Path, text: &[u8]) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).unwrap();
    std::fs::rename(&draft, path).unwrap();
}

#[test]
fn two_hundred_reloads_under_load_lose_nothing() {
    let dir = scratch("reload-load");
    let log = dir.join("audit.jsonl");
    let plan = dir.join("policy.plan");
    let mut plans = Vec::new();
    for action in ["allow", "deny"] {
        let policy = format!(
            "version: 1\npacks: []\nrules: [{{tool: '*', action: {action}, reason: because it is {action}}}]\n"
        );
        std::fs::write(dir.join("policy.yaml"), policy).unwrap();
        let status = bouncer()
            .current_dir(&dir)
            .args(["compile", "policy.yaml", "-o", "policy.plan"])
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        let bytes = std::fs::read(&plan).unwrap();
        let digest = Plan::load(bytes.clone()).unwrap().short_digest();
        plans.push((bytes, digest, action));
    }
    let mut command = bouncer();
    command
        .current_dir(&dir)
        .args([
            "run",
            "--plan",
            "policy.plan",
            "--audit",
            "audit.jsonl",
            "--",
        ])
        .args([env!("CARGO_BIN_EXE_bouncer"), "demo-server"]);
    let caller = Caller::start(command, &dir.join("stderr"));
    until("the first call", || {
        std::fs::metadata(&log).is_ok_and(|log| log.len() > 0)
    });
    let said = |what: &str| {
        let text = std::fs::read_to_string(dir.join("stderr")).unwrap();
        text.matches(what).count()
    };
    for round in 0..200 {
        let (bytes, ..) = &plans[round % 2];
        // The change may be noticed before the signal comes.
        let before = said("judges from now on");
        write(&plan, bytes);
        caller.hang_up();
        until("a reload", || said("judges from now on") > before);
        if round % 20 == 0 {
            // Half a plan changes nothing.
            let before = said("goes on");
            write(&plan, &bytes[..bytes.len() / 2]);
            caller.hang_up();
            until("a refused plan", || said("goes on") > before);
        }
    }
    caller.stop.store(true, Ordering::Relaxed);
    let sent = caller.sent.join().unwrap();
    let answered = caller.answered.join().unwrap();
    let mut child = caller.child;
    assert!(child.wait().unwrap().success());
    assert_eq!(answered.len() as u64, sent, "every call is answered once");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut calls = HashSet::new();
    let mut verdicts = HashSet::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(verdict) = line["verdict"].as_str() else {
            continue;
        };
        let (_, _, action) = plans
            .iter()
            .find(|(_, digest, _)| line["plan"] == digest.as_str())
            .unwrap_or_else(|| panic!("{line}"));
        assert_eq!(&verdict, action, "{line}");
        assert!(calls.insert(line["call"].as_u64().unwrap()));
        verdicts.insert(verdict.to_owned());
    }
    assert_eq!(calls.len() as u64, sent, "every call is in the log once");
    assert_eq!(verdicts.len(), 2);
    assert!(text.matches("\"event\":\"reloaded\"").count() >= 200);
    let verified = bouncer()
        .args(["audit", "verify", "--audit"])
        .arg(&log)
        .output()
        .unwrap();
    assert!(verified.status.success());
}

#[test]
fn a_changed_policy_is_noticed_without_being_told() {
    let dir = scratch("reload-watch");
    let (log, policy) = (dir.join("audit.jsonl"), dir.join("policy.yaml"));
    std::fs::write(&policy, "version: 1\npacks: []\n").unwrap();
    let mut command = bouncer();
    command
        .current_dir(&dir)
        .args([
            "run",
            "--policy",
            "policy.yaml",
            "--audit",
            "audit.jsonl",
            "--",
        ])
        .args([env!("CARGO_BIN_EXE_bouncer"), "demo-server"]);
    let caller = Caller::start(command, &dir.join("stderr"));
    until("the first call", || log.exists());
    std::fs::write(
        &policy,
        "version: 1\npacks: []\nrules: [{tool: '*', acton: deny}]\n",
    )
    .unwrap();
    until("a refused policy", || events(&log, "reload_failed") == 1);
    std::fs::write(
        &policy,
        "version: 1\npacks: []\nrules: [{tool: '*', action: deny}]\n",
    )
    .unwrap();
    until("a reload", || events(&log, "reloaded") == 1);
    until("a denial", || {
        std::fs::read_to_string(&log)
            .unwrap()
            .contains("\"verdict\":\"deny\"")
    });
    caller.stop.store(true, Ordering::Relaxed);
    let sent = caller.sent.join().unwrap();
    assert_eq!(caller.answered.join().unwrap().len() as u64, sent);
    let mut child = caller.child;
    assert!(child.wait().unwrap().success());
    let stderr = std::fs::read_to_string(dir.join("stderr")).unwrap();
    assert!(
        stderr.contains("unknown key `acton`") || stderr.contains("acton"),
        "{stderr}"
    );
    assert!(
        stderr.contains("what was in force before goes on"),
        "{stderr}"
    );
    assert!(stderr.contains("judges from now on"), "{stderr}");
}
