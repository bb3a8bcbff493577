//! Budgets and rates that several processes share: of many tries exactly as many calls go
//! out as the policy says, whoever makes them.

use super::gateway::{Agent, Place};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Barrier;

const POLICY: &str = "version: 1
packs: []
heuristics: false
audit: {path: audit.jsonl}
approval: {path: approvals.db}
tools:
  mail__list_contacts: {max_calls: 25}
  mail__read_inbox: {rate: 7/h}
rules:
  - {tool: mail__delete_message, when: calls(this) > 11, action: deny, reason: enough}
  - {tool: '*', action: allow}
";

fn place() -> Place {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    let servers = format!("servers:\n  mail: {{command: {program}, args: [demo-server]}}\n");
    Place::new("bouncer.yaml", &format!("{POLICY}{servers}"))
}

const SHARED: [&str; 2] = ["--shared-budgets", "budgets.db"];

fn run(place: &Place, shared: &[&str]) -> Command {
    let run = ["run", "--policy", "bouncer.yaml", "--server", "mail"];
    let server = ["--", env!("CARGO_BIN_EXE_bouncer"), "demo-server"];
    place.command(&[&run[..], shared, &server].concat())
}

fn gateway(place: &Place, shared: &[&str]) -> Command {
    place.command(&[&["gateway", "--policy", "bouncer.yaml"], shared].concat())
}

/// The tool's tries that got through, and what was said to the last that did not.
fn tries(agent: &mut Agent, tool: &str, count: usize) -> (usize, String) {
    let (mut through, mut said) = (0, String::new());
    for _ in 0..count {
        let (text, failed) = agent.call(tool, json!({"id": 1}));
        if failed {
            said = text;
        } else {
            through += 1;
        }
    }
    (through, said)
}

#[test]
fn eight_processes_share_one_budget_exactly() {
    let place = place();
    let barrier = Barrier::new(8);
    let sums: Vec<[usize; 3]> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let (place, barrier) = (&place, &barrier);
            scope.spawn(move || {
                let stderr = place.path(&format!("stderr-{number}"));
                // Some behind a gateway: the same server, and so the same tools.
                let (mut agent, prefix) = if number.is_multiple_of(2) {
                    (Agent::start(run(place, &SHARED), &stderr), "")
                } else {
                    let mut agent = Agent::start(gateway(place, &SHARED), &stderr);
                    agent.until_tools(|tools| tools.len() >= 4);
                    (agent, "mail__")
                };
                barrier.wait();
                let sums = ["list_contacts", "read_inbox", "delete_message"]
                    .map(|tool| tries(&mut agent, &format!("{prefix}{tool}"), 8).0);
                assert_eq!(agent.leave(), 0);
                sums
            })
        };
        let threads: Vec<_> = (0..8).map(one).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (at, exactly) in [25, 7, 11].into_iter().enumerate() {
        let sum: usize = sums.iter().map(|each| each[at]).sum();
        assert_eq!(sum, exactly, "{sums:?}");
    }
    // The log says the same.
    let lines = place.audited("audit.jsonl");
    let out = |line: &&Value| line["outcome"] == "forwarded";
    assert_eq!(lines.iter().filter(out).count(), 25 + 7 + 11);
    // A hook of the same tool, with the same file, finds nothing left; with one of its own, it
    // has its own.
    for (file, decision) in [("budgets.db", "deny"), ("other.db", "none")] {
        let message = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse",
            "tool_name": "mcp__mail__list_contacts", "tool_input": {}, "tool_use_id": "t"});
        let mut hook = place
            .command(&["hook", "claude-code", "--policy", "bouncer.yaml"])
            .args(["--store", "hook.db", "--shared-budgets", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        write!(hook.stdin.take().unwrap(), "{message}").unwrap();
        let output = hook.wait_with_output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let found = &said["hookSpecificOutput"]["permissionDecision"];
        let found = found.as_str().unwrap_or("none");
        assert!(
            found == decision || (decision == "none" && found == "allow"),
            "{said}"
        );
    }
}

#[test]
fn without_the_option_every_conversation_has_its_own() {
    let place = place();
    for number in 0..2 {
        let stderr = place.path(&format!("stderr-{number}"));
        let mut agent = Agent::start(run(&place, &[]), &stderr);
        assert_eq!(tries(&mut agent, "read_inbox", 9).0, 7);
        assert_eq!(agent.leave(), 0);
    }
    // One that is started again goes on where the one before was.
    for (number, through) in [7, 0].into_iter().enumerate() {
        let stderr = place.path(&format!("stderr-shared-{number}"));
        let mut agent = Agent::start(run(&place, &SHARED), &stderr);
        assert_eq!(tries(&mut agent, "read_inbox", 9).0, through);
        assert_eq!(agent.leave(), 0);
    }
}

#[test]
fn what_cannot_be_counted_does_not_go_out() {
    let place = place();
    let stderr = place.path("stderr");
    let mut agent = Agent::start(run(&place, &SHARED), &stderr);
    assert_eq!(tries(&mut agent, "list_contacts", 2).0, 2);
    std::fs::rename(place.path("budgets.db"), place.path("gone.db")).unwrap();
    let (through, said) = tries(&mut agent, "list_contacts", 2);
    assert!(through == 0 && said.contains("cannot be counted"), "{said}");
    let errors = std::fs::read_to_string(&stderr).unwrap();
    assert!(errors.contains("removed or replaced"), "{errors}");
    // Tools without a budget need no file.
    let (_, failed) = agent.call(
        "send_email",
        json!({"to": ["a@b.example"], "subject": "", "body": ""}),
    );
    assert!(!failed);
    // It is back: the budget goes on.
    std::fs::rename(place.path("gone.db"), place.path("budgets.db")).unwrap();
    assert_eq!(tries(&mut agent, "list_contacts", 40).0, 23 - 2);
    assert_eq!(agent.leave(), 0);
    // What is no store is a reason not to start.
    std::fs::write(place.path("budgets.db"), "nonsense".repeat(1000)).unwrap();
    let output = run(&place, &SHARED).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && errors.contains("budgets cannot be counted"),
        "{errors}"
    );
}

#[test]
fn a_locked_file_holds_up_nobody_else() {
    let place = place();
    let stderr = place.path("stderr");
    let mut agent = Agent::start(gateway(&place, &SHARED), &stderr);
    agent.until_tools(|tools| tools.len() == 4);
    assert_eq!(tries(&mut agent, "mail__list_contacts", 1).0, 1);
    let lock = rusqlite::Connection::open(place.path("budgets.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // What needs a budget waits; what needs none goes through meanwhile.
    for id in ["one", "two"] {
        let params = json!({"name": "mail__list_contacts", "arguments": {}});
        agent.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    // Had it waited for them, their answers would have come before its own, and be gone below.
    let arguments = json!({"to": ["a@b.example"], "subject": "", "body": ""});
    let (_, failed) = agent.call("mail__send_email", arguments);
    assert!(!failed);
    // In time the lock is gone.
    lock.execute_batch("ROLLBACK").unwrap();
    for id in ["one", "two"] {
        let answer = agent.until_answer(&json!(id));
        assert!(answer["result"]["isError"] != true, "{answer}");
    }
    // Not in time: the call is denied.
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (through, said) = tries(&mut agent, "mail__list_contacts", 1);
    assert!(through == 0 && said.contains("cannot be counted"), "{said}");
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(tries(&mut agent, "mail__list_contacts", 1).0, 1);
    assert_eq!(agent.leave(), 0);
}

#[test]
fn a_full_disk_under_the_budgets_blocks_and_frees_nothing() {
    let place = place();
    // No file may grow past 32 KiB; the store's log is full soon.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{0}' run --policy bouncer.yaml --server mail --audit /dev/null --shared-budgets budgets.db -- '{0}' demo-server",
        env!("CARGO_BIN_EXE_bouncer")
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .current_dir(place.path("."))
        .env("HOME", place.path("."));
    let mut agent = Agent::start(command, &place.path("stderr"));
    let (through, said) = tries(&mut agent, "list_contacts", 24);
    assert!(
        through < 24 && said.contains("cannot be counted"),
        "{through} {said}"
    );
    assert_eq!(agent.leave(), 0);
    // With room again, whatever went out counts.
    let mut agent = Agent::start(run(&place, &SHARED), &place.path("stderr-2"));
    let (after, _) = tries(&mut agent, "list_contacts", 40);
    assert!(after + through <= 25, "{through} {after}");
    assert_eq!(agent.leave(), 0);
}
