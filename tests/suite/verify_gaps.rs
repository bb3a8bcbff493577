//! What the analysis does not model must not come out as proved: each case has a call, or
//! a conversation, that shows the claim to be false.

use super::command::scratch;
use super::findings::run;
use serde_json::Value;
use std::path::Path;

const NATIVE: &str = "version: 1\npacks: []\nheuristics: false\n";
const GUESSING: &str = "version: 1\npacks: []\n";

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

/// Whether an assertion comes out as proved.
fn is_proved(dir: &Path, assertion: &str) -> bool {
    let (code, stdout, stderr) = run(dir, &["verify", "p.yaml", "--assert", assertion, "--json"]);
    assert!(code < 2, "{stderr}");
    let value: Value = serde_json::from_str(&stdout).unwrap();
    let about = |finding: &Value| {
        let message = finding["message"].as_str().unwrap();
        message.contains(assertion)
    };
    !value["findings"].as_array().unwrap().iter().any(about)
}

#[test]
fn false_assertions_are_never_proved() {
    let dir = scratch("verify-gaps");
    let cases: &[(&str, &str, &[&str])] = &[
        (
            NATIVE,
            "rules:\n  - {tool: send, when: 'all provenance(args.body) == unproven', action: allow}\n  - {tool: send, action: deny}\n",
            &["never allow tool \"send\" when carries_untrusted(args.body)"],
        ),
        (
            NATIVE,
            "rules:\n  - {tool: send, when: 'provenance(args.body) == unproven and carries_untrusted(args.body)', action: allow}\n  - {tool: send, action: deny}\n",
            &["never allow tool \"send\""],
        ),
        (
            NATIVE,
            "tools: {w: {arg_patterns: {cmd: '\\s[a-z]+'}}}\nrules:\n  - {tool: w, when: 'args.cmd in [ls, pwd]', action: allow}\ndefaults: {onUnknown: deny}\n",
            &[
                "never allow tool \"w\"",
                "never allow tool \"w\" when args.cmd is string",
            ],
        ),
        (
            NATIVE,
            "rules:\n  - {tool: w, when: 'args.x > 5 and args.x < 3', action: ask}\n  - {tool: w, action: deny}\n",
            &["always deny tool \"w\" when args.x is number"],
        ),
        (
            GUESSING,
            "tools: {pay_bill: {}}\n",
            &[
                "always ask tool \"bank__pay_*\"",
                "never allow tool \"bank__pay_*\"",
            ],
        ),
        (
            GUESSING,
            "rules: []\n",
            &[
                "never allow tool \"pay_*\"",
                "never ask tool \"srv__*\"",
                "never ask tool \"x\"",
            ],
        ),
        (
            NATIVE,
            "tools: {w: {confirm: true}}\n",
            &[
                "never ask tool \"srv__*\"",
                "always allow tool \"srv__*\"",
                "never ask tool \"a__b__w\"",
            ],
        ),
        (
            NATIVE,
            "rules: []\ndefaults: {onDestructiveHint: allow, onUnknown: deny}\n",
            &["never allow tool \"x\""],
        ),
        (
            NATIVE,
            "tools: {w: {max_calls: 3}}\n",
            &[
                "never deny tool \"w\" when calls(this) > 5",
                "always allow tool \"w\" when calls(this) > 5",
            ],
        ),
        (
            NATIVE,
            "tools: {w: {write_params: [path], allowed_path_prefixes: [/srv]}}\n",
            &["never deny tool \"w\" when not args.path exists"],
        ),
        (
            NATIVE,
            "rules:\n  - {tool: mail, when: 'args.to in [\"a@corp.com\"]', action: ask}\n  - {tool: mail, action: deny}\n",
            &["always ask tool \"mail\" when args.to in [\"a@corp.com\"]"],
        ),
    ];
    for (head, body, assertions) in cases {
        write(&dir, "p.yaml", &format!("{head}{body}"));
        for assertion in *assertions {
            assert!(!is_proved(&dir, assertion), "{assertion}\n{body}");
        }
    }
    // What is left in is still proved.
    write(
        &dir,
        "p.yaml",
        &format!(
            "{NATIVE}tools: {{w: {{arg_patterns: {{cmd: '[a-z]+'}}}}}}\nrules:\n  - {{tool: w, when: 'args.cmd == rm', action: deny}}\n  - {{tool: pay, when: args.n > 5, action: ask}}\n"
        ),
    );
    for assertion in [
        "always deny tool \"w\" when args.cmd == \"rm\"",
        "never allow tool \"pay\" when args.n > 6",
    ] {
        assert!(is_proved(&dir, assertion), "{assertion}");
    }
}

#[test]
fn differences_that_no_single_call_shows_are_not_equivalent() {
    let dir = scratch("verify-gaps-diff");
    let send =
        "  send: {exfiltrating: true, sink_params: [to], trusted_destinations: [a@corp.example]}\n";
    let denies = "rules:\n  - {tool: w, when: 'args.to not in [a, b]', action: deny}\n";
    let cases: &[(&str, String, String)] = &[
        (
            NATIVE,
            format!("tools:\n{send}  web: {{outputs: untrusted}}\n"),
            format!("tools:\n{send}  web: {{outputs: trusted}}\n"),
        ),
        (
            NATIVE,
            "tools: {s: {exfiltrating: true, trusted_destinations: [abc]}}\n".to_owned(),
            "tools: {s: {exfiltrating: true, trusted_destinations: [abc, evil]}}\n".to_owned(),
        ),
        (
            NATIVE,
            format!("tools: {{w: {{max_calls: 3}}}}\n{denies}"),
            format!("tools: {{w: {{max_calls: 1000}}}}\n{denies}"),
        ),
        (
            NATIVE,
            "tools: {w: {rate: 5/day}}\n".to_owned(),
            "tools: {w: {rate: 5/min}}\n".to_owned(),
        ),
        (
            NATIVE,
            "tools: {w: {max_calls: 30000}}\n".to_owned(),
            "tools: {w: {max_calls: 40000}}\n".to_owned(),
        ),
        (
            NATIVE,
            "tools: {w: {confirm: true}}\nrules:\n  - {tool: w, action: ask}\n".to_owned(),
            "rules:\n  - {tool: w, action: ask}\n".to_owned(),
        ),
        (
            GUESSING,
            "heuristics: true\n".to_owned(),
            "heuristics: false\n".to_owned(),
        ),
        (
            NATIVE,
            "rules: []\ndefaults: {onDestructiveHint: deny, onUnknown: allow}\n".to_owned(),
            "rules: []\ndefaults: {onDestructiveHint: allow, onUnknown: allow}\n".to_owned(),
        ),
    ];
    for (head, old, new) in cases {
        write(&dir, "old.yaml", &format!("{head}{old}"));
        write(&dir, "new.yaml", &format!("{head}{new}"));
        let diff = |from: &str, to: &str, fail: &str| {
            let (code, stdout, stderr) = run(&dir, &["diff", from, to, "--fail-if", fail]);
            assert!(code < 2, "{stderr}");
            (code, format!("{stdout}{stderr}"))
        };
        let (code, told) = diff("old.yaml", "new.yaml", "looser");
        assert_eq!(code, 1, "{old} -> {new}\n{told}");
        let (code, told) = diff("new.yaml", "old.yaml", "changed");
        assert_eq!(code, 1, "{new} -> {old}\n{told}");
        assert_eq!(diff("old.yaml", "old.yaml", "changed").0, 0, "{old}");
    }
}

#[test]
fn a_schema_excludes_only_what_cannot_be_spelled_otherwise() {
    let dir = scratch("verify-gaps-schema");
    // The schema of `x`, the test of a rule that stops, and whether it can never hold.
    let cases = [
        (
            r#"{"type":"string","pattern":"^[A-Za-z0-9%]+$"}"#,
            "args.x contains \"/etc\"",
            false,
        ),
        (
            r#"{"type":"string","pattern":"^[^a-z]*$"}"#,
            "args.x contains \"evil\"",
            false,
        ),
        (
            r#"{"type":"string","maxLength":3}"#,
            "args.x contains \"kHz.\"",
            false,
        ),
        (
            r#"{"type":"string","pattern":"^\\s[a-z]+$"}"#,
            "args.x starts_with \"a\"",
            false,
        ),
        (
            r#"{"type":"string","pattern":"^[0-9]+$"}"#,
            "args.x in [\"*.0.0.1\"]",
            false,
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}"#,
            "args.x == \"a\"",
            false,
        ),
        (r#"{"const":100}"#, "args.x contains \"1e2\"", false),
        (
            r#"{"type":"string","pattern":"^[a-z]+$"}"#,
            "args.x contains \"7\"",
            true,
        ),
        (
            r#"{"type":"string","enum":["a","b"]}"#,
            "args.x == \"c\"",
            true,
        ),
        (r#"{"type":"boolean"}"#, "args.x == \"c\"", true),
    ];
    for (schema, test, excluded) in cases {
        let tools = format!(
            r#"{{"tools": [{{"name": "w", "inputSchema": {{"type": "object", "properties": {{"x": {schema}}}}}}}]}}"#
        );
        write(&dir, "t.json", &tools);
        write(
            &dir,
            "p.yaml",
            &format!("{NATIVE}rules:\n  - {{tool: w, when: '{test}', action: deny}}\n"),
        );
        let (_, stdout, _) = run(&dir, &["verify", "p.yaml", "--tools", "t.json", "--json"]);
        assert_eq!(
            stdout.contains("satisfies this test"),
            excluded,
            "{schema} {test}\n{stdout}"
        );
    }
}

#[test]
fn names_from_outside_come_out_on_one_line() {
    let dir = scratch("verify-gaps-names");
    write(
        &dir,
        "p.yaml",
        &format!(
            "{NATIVE}rules:\n  - {{tool: w, action: deny, reason: \"bad\\n::error::reason\"}}\n"
        ),
    );
    write(
        &dir,
        "t.jsonl",
        "{\"type\":\"call\",\"tool\":\"w\\n::error::t\\u001b[31m\\u202e\",\"arguments\":{}}\n{\"type\":\"call\",\"tool\":\"w\",\"arguments\":{}}\n",
    );
    write(
        &dir,
        "p.test.yaml",
        "tests:\n  - name: \"a\\n::error::name\"\n    call: {tool: w}\n    expect: allow\n",
    );
    for args in [
        &["replay", "--policy", "p.yaml", "t.jsonl"][..],
        &["check", "--policy", "p.yaml", "--tool", "w"],
        &["test", "p.test.yaml"],
    ] {
        let (_, stdout, stderr) = run(&dir, args);
        let all = format!("{stdout}{stderr}");
        assert!(all.len() > 10, "{args:?}");
        for forbidden in ["\n::error", "\u{1b}[31m\u{202e}", "\u{202e}"] {
            assert!(!all.contains(forbidden), "{args:?}\n{all}");
        }
    }
}
