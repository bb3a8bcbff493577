//! How findings and differences are told: what is grouped, where they can be accepted, and
//! in which direction a difference is sure.

use super::command::scratch;
use super::findings::run;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn policy(name: &str, text: &str) -> PathBuf {
    let dir = scratch(name);
    std::fs::write(dir.join("p.yaml"), text).unwrap();
    dir
}

fn findings(dir: &Path, more: &[&str]) -> Vec<Value> {
    let args = [&["verify", "p.yaml", "--json"][..], more].concat();
    let (_, stdout, _) = run(dir, &args);
    let value: Value = serde_json::from_str(&stdout).unwrap();
    value["findings"].as_array().unwrap().clone()
}

fn of<'v>(findings: &'v [Value], code: &str) -> Vec<&'v Value> {
    findings.iter().filter(|f| f["code"] == code).collect()
}

#[test]
fn a_dropped_question_is_named_with_a_call() {
    let dir = policy(
        "told-confirm",
        "version: 1\npacks: [gmail]\ntools:\n  delete_email: {max_calls: 9}\n",
    );
    let found = findings(&dir, &[]);
    let dropped = of(&found, "B0806");
    let message = dropped[0]["message"].as_str().unwrap();
    assert!(message.contains("confirm: true"), "{message}");
    assert_eq!(dropped[0]["example"]["verdict"], "allow");
}

#[test]
fn tests_that_contradict_each_other_are_found_in_rules_that_stop() {
    let dir = policy(
        "told-contradiction",
        "version: 1\npacks: []\nrules:\n  - {tool: q, when: args.n < 10 and args.n > 20, action: deny}\n  \
         - {tool: q, when: args.n > 10 and args.n < 20, action: deny}\n",
    );
    let found = findings(&dir, &[]);
    let vacuous = of(&found, "B0801");
    assert_eq!(vacuous.len(), 1, "{found:?}");
    assert_eq!(vacuous[0]["positions"][0]["line"], 4);
    assert_eq!(vacuous[0]["example"]["verdict"], "deny");
}

#[test]
fn rules_for_no_listed_tool_are_only_told_to_be_that() {
    let dir = policy(
        "told-unlisted",
        "version: 1\npacks: []\nrules:\n  - {tool: other, action: ask}\n  - {tool: other, action: deny}\n",
    );
    std::fs::write(dir.join("t.json"), r#"{"tools": [{"name": "q"}]}"#).unwrap();
    let found = findings(&dir, &["--tools", "t.json"]);
    assert_eq!(of(&found, "B0810").len(), 2, "{found:?}");
    assert!(of(&found, "B0803").is_empty(), "{found:?}");
    // Without a list of tools the second one is in the first one's shadow.
    assert_eq!(of(&findings(&dir, &[]), "B0803").len(), 1);
}

#[test]
fn what_stands_nowhere_can_be_accepted_at_the_start() {
    let text = "version: 1\npacks: []\nrules:\n  - {tool: r, action: ask}\n";
    let dir = policy("told-nowhere", text);
    std::fs::write(
        dir.join("t.json"),
        r#"{"tools": [{"name": "q"}, {"name": "r"}]}"#,
    )
    .unwrap();
    let found = findings(&dir, &["--tools", "t.json"]);
    assert_eq!(of(&found, "B0807")[0]["positions"][0]["line"], 1);
    let accepted = format!("# bouncer: allow B0807 because q does nothing\n{text}");
    std::fs::write(dir.join("p.yaml"), accepted).unwrap();
    let found = findings(&dir, &["--tools", "t.json"]);
    assert!(of(&found, "B0807").is_empty(), "{found:?}");
    assert!(of(&found, "B0825").is_empty(), "{found:?}");
}

#[test]
fn notes_about_one_rule_are_told_once() {
    let mut text =
        "version: 1\npacks: []\nrules:\n  - {tool: \"*\", when: args.a == 1, action: deny}\n"
            .to_owned();
    for tool in ["q", "r", "s", "t"] {
        text.push_str(&format!("  - {{tool: {tool}, action: ask}}\n"));
    }
    let dir = policy("told-once", &text);
    let (_, stdout, _) = run(&dir, &["verify", "p.yaml", "--all"]);
    assert_eq!(stdout.matches("note[B0805]").count(), 1, "{stdout}");
    assert!(
        stdout.contains("3 more of this kind here: p.yaml:6, p.yaml:7, p.yaml:8"),
        "{stdout}"
    );
    assert_eq!(of(&findings(&dir, &["--all"]), "B0805").len(), 4);
    // What is stricter and comes first is how policies are written.
    let (_, stdout, stderr) = run(&dir, &["verify", "p.yaml"]);
    assert!(!stdout.contains("B0805"), "{stdout}");
    assert!(
        stderr.contains("4 usual orders of rules not shown"),
        "{stderr}"
    );
}

#[test]
fn a_milder_rule_that_cuts_into_a_stricter_one_is_told() {
    let order = |allow: &str| {
        let text = format!(
            "version: 1\npacks: []\nrules:\n  - {{tool: mail__send, when: {allow}, action: allow}}\n  - {{tool: mail__send, when: args.a == 1, action: deny}}\n  - {{tool: \"*\", action: deny}}\n"
        );
        let dir = policy("told-order", &text);
        of(&findings(&dir, &[]), "B0805").len()
    };
    // It lets through what the second rule denies, and other calls.
    assert_eq!(order("args.b == 1"), 1);
    // It is an exception to the second, and as all are to the last.
    assert_eq!(order("args.a == 1 and args.b == 1"), 0);
}

#[test]
fn a_whole_file_accepts_findings() {
    let text = "# bouncer: allow-file B0810, B0805 because the mail server is not there yet\nversion: 1\npacks: []\nrules:\n  - {tool: mail__send, when: args.b == 1, action: allow}\n  - {tool: mail__send, when: args.a == 1, action: deny}\n";
    let dir = policy("told-file", text);
    let (_, stdout, stderr) = run(&dir, &["verify", "p.yaml"]);
    assert!(!stdout.contains("B0805"), "{stdout}");
    assert!(
        stderr.contains(
            "accepted at p.yaml:1: 1 B0810 or B0805, because the mail server is not there yet"
        ),
        "{stderr}"
    );
}

#[test]
fn what_does_not_compile_is_a_policy_error_in_every_format() {
    let dir = policy("told-broken", "version: 1\nrulez: []\n");
    let (code, stdout, _) = run(&dir, &["verify", "p.yaml", "--format", "github"]);
    assert_eq!(code, 1);
    assert!(
        stdout.contains("policy error") && !stdout.contains("undecided"),
        "{stdout}"
    );
}

#[test]
fn a_call_after_others_can_be_checked() {
    let dir = policy(
        "told-after",
        "version: 1\npacks: []\ntools:\n  q: {max_calls: 2}\n",
    );
    let verdict = |after: &str| {
        let args = [
            "check", "--policy", "p.yaml", "--tool", "q", "--after", after,
        ];
        run(&dir, &args).0
    };
    assert_eq!((verdict("0"), verdict("1"), verdict("2")), (0, 0, 4));
}

/// A policy of the size that people write, and small edits of it.
const REALISTIC: &str = r#"version: 1
packs: [gmail, sql]
lists:
  partners: ["*@corp.com", "billing@vendor.example"]
  ddl: [drop, truncate, alter]
tools:
  send_email:
    extends: pack
    trusted_destinations: ["@partners"]
  pg__query:
    rate: 60/min
rules:
  - {tool: "mail__send_email", when: 'any args matches /[0-9]{4} ?[0-9]{4}/', action: deny}
  - tool: "mail__send_email"
    when: all args.to in @partners and not args.bcc exists
    action: allow
  - {tool: "pg__query", when: "any sql(args.sql, postgres).verb in @ddl", action: deny}
  - {tool: "pg__query", when: "any sql(args.sql, postgres).table in [users, secrets]", action: deny}
  - {tool: "pg__query", when: calls(this) > 100 per 1h, action: ask}
  - {tool: "pg__query", when: "all sql(args.sql, postgres).verb == select", action: allow}
defaults: {onDestructiveHint: ask, onUnknown: ask}
"#;

#[test]
fn a_change_that_only_tightens_is_never_called_looser() {
    let dir = policy("told-tighter", REALISTIC);
    // The edit, and whether taking it back is surely looser, or changes nothing.
    let edits = [
        ("[users, secrets]", "[secrets, users]", false),
        ("rate: 60/min", "rate: 30/min", true),
        ("rate: 60/min", "rate: 60/h", true),
        ("\"*@corp.com\", ", "", true),
        (
            "[drop, truncate, alter]",
            "[drop, truncate, alter, grant]",
            true,
        ),
        ("[users, secrets]", "[users, secrets, keys]", true),
        (
            "not args.bcc exists",
            "not args.bcc exists and not args.cc exists",
            true,
        ),
        ("[0-9]{4} ?", "[0-9]{4}[ -]?", true),
        ("> 100 per 1h", "> 50 per 1h", true),
        (
            "  - {tool: \"pg__query\", when: calls",
            "  - {tool: \"pg__query\", when: 'args.sql contains \"pg_sleep\"', action: deny}\n  - {tool: \"pg__query\", when: calls",
            true,
        ),
    ];
    for (old, new, changes) in edits {
        let edited = REALISTIC.replacen(old, new, 1);
        assert_ne!(edited, REALISTIC, "{old}");
        std::fs::write(dir.join("q.yaml"), edited).unwrap();
        let diff = |from: &str, to: &str, fail: &str| {
            let (code, stdout, stderr) = run(&dir, &["diff", from, to, "--fail-if", fail]);
            (code, format!("{stdout}{stderr}"))
        };
        let (code, told) = diff("p.yaml", "q.yaml", "looser");
        assert_eq!(code, 0, "{old} -> {new}\n{told}");
        let (code, told) = diff("q.yaml", "p.yaml", "looser");
        assert_eq!(code, i32::from(changes), "back: {old} -> {new}\n{told}");
    }
}

#[test]
fn what_no_single_call_shows_is_not_called_equivalent() {
    let text = "version: 1\npacks: []\ntools:\n  read: {outputs: {label: untrusted}}\n  put: {write_params: [p], allowed_path_prefixes: [/a], resolve_symlinks: true}\n";
    let dir = policy("told-beyond", text);
    for (old, new, tool) in [
        ("label: untrusted", "label: trusted", "read"),
        ("resolve_symlinks: true", "resolve_symlinks: false", "put"),
    ] {
        std::fs::write(dir.join("q.yaml"), text.replace(old, new)).unwrap();
        let (code, stdout, _) = run(&dir, &["diff", "p.yaml", "q.yaml", "--fail-if", "looser"]);
        assert_eq!(code, 1, "{stdout}");
        assert!(stdout.contains(tool), "{stdout}");
    }
}

#[test]
fn a_device_stays_what_it_is() {
    let dir = policy("told-device", "version: 1\npacks: []\n");
    let device = dir.join("device");
    std::os::unix::fs::symlink("/dev/full", &device).unwrap();
    let (code, _, stderr) = run(&dir, &["compile", "p.yaml", "-o", "device"]);
    assert_eq!(code, 1, "nothing fits there: {stderr}");
    assert!(device.symlink_metadata().unwrap().is_symlink());
    assert!(!std::fs::metadata(&device).unwrap().is_file());
    let plan = dir.join("p.plan");
    std::os::unix::fs::symlink(dir.join("real.plan"), &plan).unwrap();
    std::fs::write(dir.join("real.plan"), "old").unwrap();
    assert_eq!(run(&dir, &["compile", "p.yaml"]).0, 0);
    assert!(plan.symlink_metadata().unwrap().is_symlink());
    assert!(
        std::fs::read(dir.join("real.plan"))
            .unwrap()
            .starts_with(b"BNCRPLAN")
    );
}
