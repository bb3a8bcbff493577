//! The audit log as its reader meets it, and as several processes write it.

use crate::command::{bouncer, scratch};
use bouncer_audit::{Arguments, Audit, Entry, Outcome};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn output(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

fn audit(log: &Path, args: &[&str]) -> (i32, String, String) {
    let (first, rest) = args.split_first().unwrap();
    output(
        bouncer()
            .args(["audit", first, "--audit"])
            .arg(log)
            .args(rest),
    )
}

fn write(log: &Path, conversation: &str, calls: &[(&str, Verdict)]) {
    let mut audit = Audit::open(log, conversation, "plan").unwrap();
    for (call, (tool, verdict)) in (1..).zip(calls) {
        let allowed = *verdict == Verdict::Allow;
        let (stage, code) = match allowed {
            true => (Stage::Default, "default"),
            false => (Stage::Rule, "rule"),
        };
        let record = VerdictRecord {
            verdict: *verdict,
            ..VerdictRecord::denial(stage, code, "because\nof \u{1b}[31mit".to_owned())
        };
        audit
            .write(&Entry {
                call,
                server: Some("mail"),
                tool: Some(tool),
                judged_as: None,
                arguments: Arguments::Json(b"{}"),
                record: &record,
                approval: None,
                outcome: if allowed {
                    Outcome::Forwarded
                } else {
                    Outcome::Blocked
                },
                latency: Duration::from_micros(7),
            })
            .unwrap();
    }
}

#[test]
fn lines_are_shown_filtered_and_counted() {
    let log = scratch("audit-read").join("audit.jsonl");
    let (code, _, stderr) = audit(&log, &["tail"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("no audit log"), "{stderr}");
    write(
        &log,
        "one",
        &[("send", Verdict::Allow), ("rm\n", Verdict::Deny)],
    );
    write(&log, "two", &[("send", Verdict::Ask)]);
    let (code, stdout, stderr) = audit(&log, &["tail"]);
    assert_eq!((code, stderr.as_str(), stdout.lines().count()), (0, "", 3));
    assert!(!stdout.contains('\u{1b}'), "{stdout:?}");
    assert!(
        stdout.contains("mail__rm\\n  blocked  rule  because"),
        "{stdout}"
    );
    let (_, stdout, _) = audit(&log, &["tail", "-n", "1", "--json"]);
    let line: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (&line["conversation"], &line["seq"]),
        (&"two".into(), &3.into())
    );
    let count = |filter: &[&str]| {
        let args: Vec<&str> = ["query"].iter().chain(filter).copied().collect();
        let (code, stdout, stderr) = audit(&log, &args);
        assert_eq!(code, 0, "{stderr}");
        stdout.lines().count()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--verdict", "deny"]), 1);
    assert_eq!(count(&["--tool", "send"]), 2);
    assert_eq!(count(&["--tool", "mail__s*"]), 2);
    assert_eq!(count(&["--server", "mail", "--conversation", "tw"]), 1);
    assert_eq!(count(&["--contract", "rule", "--outcome", "blocked"]), 2);
    assert_eq!(count(&["--server", "other"]), 0);
    assert_eq!(count(&["--since", "1h"]), 3);
    assert_eq!(count(&["--since", "2099-01-01"]), 0);
    assert_eq!(count(&["--until", "1h"]), 0);
    let (code, _, stderr) = audit(&log, &["query", "--since", "yesterday"]);
    assert!(
        code == 1 && stderr.contains("`--since yesterday`"),
        "{stderr}"
    );
    let (_, stdout, _) = audit(&log, &["stats", "--json"]);
    let stats: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (&stats["calls"], &stats["conversations"]),
        (&3.into(), &2.into())
    );
    assert_eq!(stats["verdicts"]["ask"], 1);
    assert_eq!(stats["tools"]["mail__send"], 2);
    assert_eq!(stats["latency_us"]["median"], 7);
    let (_, stdout, _) = audit(&log, &["stats"]);
    assert!(
        stdout.starts_with("3 lines about 3 calls in 2 conversations\n"),
        "{stdout}"
    );
}

#[test]
fn verify_names_what_was_changed() {
    let log = scratch("audit-verify").join("audit.jsonl");
    write(&log, "one", &[("send", Verdict::Allow); 4]);
    let (code, stdout, _) = audit(&log, &["verify"]);
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("clean: 4 lines in 1 file are as they were"),
        "{stdout}"
    );
    let anchor = stdout
        .lines()
        .last()
        .unwrap()
        .strip_prefix("anchor ")
        .unwrap();
    let whole = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, whole.replacen("\"send\"", "\"sand\"", 1)).unwrap();
    let (code, stdout, _) = audit(&log, &["verify"]);
    assert_eq!(code, 1);
    assert!(
        stdout.starts_with("broken") && stdout.contains("audit.jsonl:1: line 1 is not as it was"),
        "{stdout}"
    );
    // A log that was written anew is clean in itself.
    std::fs::remove_file(&log).unwrap();
    std::fs::remove_file(log.with_file_name("audit.jsonl.head")).unwrap();
    write(&log, "one", &[("send", Verdict::Allow); 4]);
    assert_eq!(audit(&log, &["verify"]).0, 0);
    let (code, stdout, _) = audit(&log, &["verify", "--anchor", anchor]);
    assert!(
        code == 1 && stdout.contains("not the one that was noted"),
        "{stdout}"
    );
    let (code, stdout, _) = audit(&log, &["verify", "--json"]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["fault_count"]), (0, &0.into()));
    let (code, _, stderr) = audit(&log, &["verify", "--anchor", "4:xyz"]);
    assert!(
        code == 1 && stderr.contains("`4:xyz` is no anchor"),
        "{stderr}"
    );
}

#[test]
fn tail_follows_into_the_next_file() {
    let log = scratch("audit-follow").join("audit.jsonl");
    write(&log, "one", &[("a", Verdict::Allow)]);
    let mut child = bouncer()
        .args(["audit", "tail", "-f", "--json", "--audit"])
        .arg(&log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["tool"], "a");
    write(&log, "one", &[("b", Verdict::Allow)]);
    assert_eq!(next()["tool"], "b");
    std::fs::rename(&log, log.with_file_name("audit.jsonl.1")).unwrap();
    write(&log, "one", &[("c", Verdict::Deny), ("d", Verdict::Allow)]);
    assert_eq!(next()["tool"], "c");
    assert_eq!(next()["seq"], 4);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A proxy in front of the demo's server, with calls that never end.
fn busy(dir: &Path) -> Child {
    let mut child = bouncer()
        .current_dir(dir)
        .args([
            "run",
            "--server",
            "demo",
            "--policy",
            "policy.yaml",
            "--no-packs",
        ])
        .args([
            "--audit",
            "audit.jsonl",
            "--audit-rotate",
            "64K",
            "--audit-sync",
            "second",
        ])
        .arg("--")
        .args([env!("CARGO_BIN_EXE_bouncer"), "demo-server"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let mut sent = writeln!(stdin, "{hello}\n{ready}");
        for id in 1.. {
            if sent.is_err() {
                return;
            }
            sent = writeln!(
                stdin,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_inbox","arguments":{{}}}}}}"#
            );
        }
    });
    child
}

#[test]
fn processes_that_are_killed_leave_a_log_that_verifies() {
    let dir = scratch("audit-killed");
    std::fs::write(dir.join("policy.yaml"), "version: 1\npacks: []\n").unwrap();
    let log = dir.join("audit.jsonl");
    for round in 0..4 {
        let mut children: Vec<Child> = (0..3).map(|_| busy(&dir)).collect();
        let until = Instant::now() + Duration::from_secs(20);
        let before = std::fs::read_dir(&dir).unwrap().count();
        while std::fs::read_dir(&dir).unwrap().count() < before + 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(7));
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        write(&log, "after", &[("a", Verdict::Allow)]);
        let (code, stdout, stderr) = audit(&log, &["verify"]);
        assert_eq!(code, 0, "round {round}: {stdout}{stderr}");
    }
    let (_, stdout, _) = audit(&log, &["stats", "--json"]);
    let stats: Value = serde_json::from_str(&stdout).unwrap();
    assert!(stats["conversations"].as_u64().unwrap() > 6, "{stdout}");
}
