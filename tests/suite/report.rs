//! `bouncer report`: what it says, as what, and that it says the same again.

use super::gateway::{Agent, Place};
use serde_json::{Value, json};

const POLICY: &str = "version: 1\npacks: []\nheuristics: false\nrules:\n  - {tool: mail__send_email, action: deny, reason: nobody writes}\n  - {tool: mail__delete_message, action: ask}\nassert: ['never allow tool \"mail__send_email\"']\n";
const TESTS: &str = "cases:\n  - name: nobody writes\n    steps:\n      - {type: call, server: mail, tool: send_email, arguments: {}, expect: deny}\n";

/// A policy with a test, a lock, and a log of two calls.
fn place() -> Place {
    let place = Place::new("policy.yaml", POLICY);
    std::fs::write(place.path("policy.test.yaml"), TESTS).unwrap();
    let server = env!("CARGO_BIN_EXE_bouncer");
    let pin = [
        "pin",
        "--server",
        "mail",
        "-o",
        "tools.lock",
        "--",
        server,
        "demo-server",
    ];
    let (code, _, errors) = place.run(&pin);
    assert_eq!(code, 0, "{errors}");
    let run = [
        "run",
        "--policy",
        "policy.yaml",
        "--server",
        "mail",
        "--tools",
        "tools.lock",
        "--audit",
        "log.jsonl",
        "--",
        server,
        "demo-server",
    ];
    let mut agent = Agent::start(place.command(&run), &place.path("stderr"));
    assert!(!agent.call("read_inbox", json!({})).1);
    assert!(agent.call("send_email", json!({"to": ["<b>@x.example"]})).1);
    assert_eq!(agent.leave(), 0);
    place
}

fn report(place: &Place, more: &[&str]) -> String {
    let all = [
        &[
            "report",
            "policy.yaml",
            "--tools",
            "tools.lock",
            "--audit",
            "log.jsonl",
        ],
        more,
    ];
    let (code, out, errors) = place.run(&all.concat());
    assert_eq!(code, 0, "{errors}");
    out
}

#[test]
fn the_same_files_give_the_same_report_in_each_form() {
    let place = place();
    for name in ["report.html", "report.md", "report.json"] {
        report(&place, &["-o", name]);
        let first = std::fs::read(place.path(name)).unwrap();
        report(&place, &["-o", name]);
        assert_eq!(std::fs::read(place.path(name)).unwrap(), first, "{name}");
        let text = String::from_utf8(first).unwrap();
        for word in ["nobody writes", "mail__read_inbox", "policy.yaml", "B0807"] {
            assert!(
                text.contains(word) || text.contains(&word.replace('_', "\\_")),
                "{name}: {word}"
            );
        }
    }
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    for elsewhere in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    for told in [
        "1 of 1 assertions are proved",
        "1 of 1 tests pass",
        "all 2 lines of the audit log are as they were written",
        "What is not covered",
        "No test has a call that the rule at policy.yaml:6 decides.",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // Without a name it is Markdown.
    assert!(report(&place, &[]).starts_with("# What bouncer guards"));
    let value: Value = serde_json::from_str(&report(&place, &["--format", "json"])).unwrap();
    assert_eq!(
        value["log"]["counts"]["verdicts"],
        json!({"allow": 1, "deny": 1})
    );
    assert_eq!(value["tools"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_wrong_or_missing_is_said() {
    let place = place();
    let log = place.path("log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("allow", "alloW", 1)).unwrap();
    let failing = TESTS.replace("expect: deny", "expect: allow");
    std::fs::write(place.path("policy.test.yaml"), failing).unwrap();
    let told = report(&place, &[]);
    for expected in [
        "✗ the audit log is not as it was written",
        "✗ 0 of 1 tests pass",
        "what it says is no evidence",
        "1 of the tests fail",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    std::fs::remove_file(place.path("policy.test.yaml")).unwrap();
    let (code, told, errors) = place.run(&["report", "policy.yaml"]);
    assert_eq!(code, 0, "{errors}");
    for expected in [
        "No list of tools was given",
        "No audit log was given",
        "No tests lie beside",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    // What cannot be read is no report.
    let (code, _, errors) = place.run(&["report", "policy.yaml", "--audit", "nowhere.jsonl"]);
    assert_eq!(code, 1, "{errors}");
}
