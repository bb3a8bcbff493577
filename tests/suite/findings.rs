//! `bouncer verify` and `bouncer diff` as a user meets them: exit codes, formats, and that
//! what they print is what they promise.

use super::command::{bouncer, scratch};
use super::e2e;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs in a directory; exit code, standard output and error.
pub fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = bouncer().current_dir(dir).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let dir = scratch(name);
    for (file, text) in files {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

/// A policy with an error, a warning and, with the tools, a note.
const POLICY: &str = "version: 1\npacks: [gmail]\ntools:\n  send_email: {max_calls: 3}\n  list_contacts: {}\nrules:\n  - {tool: 'pg__.*', action: deny}\n  - {tool: 'pg__*', action: ask}\n";
const CLEAN: &str = "version: 1\npacks: []\nrules:\n  - {tool: 'pg__query', action: deny}\n";

#[test]
fn exit_codes_say_what_was_found() {
    let dir = files(
        "verify-exit",
        &[
            ("bad.yaml", POLICY),
            ("clean.yaml", CLEAN),
            (
                "warn.yaml",
                "version: 1\npacks: []\nrules:\n  - {tool: 'pg__.*', action: deny}\n",
            ),
            ("broken.yaml", "send_email: {exfiltrate: true}\n"),
        ],
    );
    let code = |args: &[&str]| run(&dir, args).0;
    assert_eq!(code(&["verify", "clean.yaml"]), 0);
    assert_eq!(code(&["verify", "clean.yaml", "--deny", "warnings"]), 0);
    assert_eq!(code(&["verify", "warn.yaml"]), 0);
    assert_eq!(code(&["verify", "warn.yaml", "--deny", "warnings"]), 1);
    assert_eq!(code(&["verify", "bad.yaml"]), 1);
    assert_eq!(
        code(&["verify", "bad.yaml", "--no-packs"]),
        0,
        "there is nothing to drop"
    );
    assert_eq!(code(&["verify"]), 2);
    assert_eq!(code(&["verify", "clean.yaml", "--format", "xml"]), 2);
    assert_eq!(
        code(&["verify", "clean.yaml", "--assert", "never permit"]),
        2
    );
    assert_eq!(code(&["verify", "missing.yaml"]), 1);
    for format in ["human", "json", "sarif", "github"] {
        let (code, stdout, stderr) = run(&dir, &["verify", "broken.yaml", "--format", format]);
        assert_eq!(code, 1, "{format}");
        assert!((stdout + &stderr).contains("exfiltrate"), "{format}");
    }
}

#[test]
fn people_see_findings_with_a_summary() {
    let dir = files("verify-human", &[("p.yaml", POLICY)]);
    let (_, stdout, stderr) = run(&dir, &["verify", "p.yaml"]);
    assert!(
        stdout.starts_with("error[B0806]: this entry replaces the pack's contract"),
        "{stdout}"
    );
    assert!(stdout.contains("--> p.yaml:4:3"), "{stdout}");
    assert!(
        stdout.contains("example: send_email {\"to\":\"mallory@evil.example\"}"),
        "{stdout}"
    );
    assert!(stdout.contains("=> allow"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "{stdout}");
    assert!(
        stderr.contains("verified p.yaml: 1 error, 1 warning"),
        "{stderr}"
    );
}

#[test]
fn json_has_what_is_promised_and_examples_replay() {
    let tools = json!({"server": "s", "tools": [{"name": "list_contacts"}, {"name": "send_email",
        "inputSchema": {"properties": {"to": {"type": "array", "items": {"type": "string"}}}}}]});
    let dir = files(
        "verify-json",
        &[("p.yaml", POLICY), ("t.json", &tools.to_string())],
    );
    let (code, stdout, _) = run(
        &dir,
        &["verify", "p.yaml", "--tools", "t.json", "--format", "json"],
    );
    assert_eq!(code, 1);
    let value: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(value["coverage"]["tools"], json!({"covered": 2, "all": 2}));
    let findings = value["findings"].as_array().unwrap();
    let kinds: Vec<&str> = findings
        .iter()
        .map(|f| f["kind"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"gate dropped") && kinds.contains(&"coverage"),
        "{kinds:?}"
    );
    let mut replayed = 0;
    for finding in findings {
        for key in [
            "code",
            "kind",
            "severity",
            "message",
            "positions",
            "help",
            "example",
        ] {
            assert!(finding.get(key).is_some(), "{finding}");
        }
        let example = &finding["example"];
        if example.is_null() {
            continue;
        }
        let mut args = vec![
            "check",
            "--policy",
            "p.yaml",
            "--json",
            "--tool",
            example["tool"].as_str().unwrap(),
        ];
        let arguments = example["arguments"].to_string();
        args.extend(["--args", &arguments]);
        if let Some(server) = example["server"].as_str() {
            args.extend(["--server", server]);
        }
        for text in example["untrusted"].as_array().unwrap() {
            args.extend(["--untrusted", text.as_str().unwrap()]);
        }
        let (_, stdout, _) = run(&dir, &args);
        let verdict: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(verdict["verdict"], example["verdict"], "{finding}");
        assert_eq!(verdict["contract"], example["contract"], "{finding}");
        replayed += 1;
    }
    assert!(replayed > 0);
}

/// Validates documents with a JSON Schema, by Python's `jsonschema`: the first error of
/// each, or null.
pub fn invalid(schema: &Value, documents: &[Value]) -> Vec<Value> {
    const SCRIPT: &str = "
import json, sys
import jsonschema
job = json.load(sys.stdin)
kind = jsonschema.validators.validator_for(job['schema'])
kind.check_schema(job['schema'])
validator = kind(job['schema'])
out = []
for document in job['documents']:
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    out.append(None if error is None else '/'.join(map(str, error.absolute_path)) + ': ' + error.message[:300])
json.dump(out, sys.stdout)
";
    let (interpreter, libraries) = e2e::python_with_libraries();
    let mut child = Command::new(interpreter)
        .args(["-c", SCRIPT])
        .env("PYTHONPATH", libraries)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let job = json!({ "schema": schema, "documents": documents }).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(job.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn sarif_is_valid() {
    let schema = root().join("tests/fixtures/sarif/sarif-2.1.0-rtm.5.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let tools = json!([{"name": "uncovered tool"}, {"name": "list_contacts"}]).to_string();
    let dir = files(
        "verify-sarif",
        &[
            ("p q.yaml", POLICY),
            ("t.json", &tools),
            ("clean.yaml", CLEAN),
            ("broken.yaml", "a: 1\n"),
        ],
    );
    let mut documents: Vec<Value> = Vec::new();
    for args in [
        &["p q.yaml", "--tools", "t.json"][..],
        &["clean.yaml"],
        &["broken.yaml"],
    ] {
        let args = [&["verify", "--format", "sarif"], args].concat();
        let (_, stdout, _) = run(&dir, &args);
        documents.push(serde_json::from_str(&stdout).unwrap());
    }
    assert!(documents[0]["runs"][0]["results"].as_array().unwrap().len() >= 3);
    assert_eq!(documents[1]["runs"][0]["results"], json!([]));
    // What is broken is seen.
    let mut damaged = documents[0].clone();
    damaged["runs"][0]["results"][0]["level"] = json!("fatal");
    documents.push(damaged);
    let errors = invalid(&schema, &documents);
    assert_eq!(errors[..3], [Value::Null, Value::Null, Value::Null]);
    assert!(errors[3].is_string());
}

/// The packs against the tools of the servers that they are for.
#[test]
fn the_packs_verify_clean() {
    const WITHOUT_PACK: [&str; 3] = ["everything", "sequential-thinking", "time"];
    let dir = files("verify-packs", &[("p.yaml", "version: 1\n")]);
    let mut args = vec![
        "verify".to_owned(),
        "p.yaml".to_owned(),
        "--json".to_owned(),
    ];
    for entry in std::fs::read_dir(root().join("tests/fixtures/tools")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|e| e == "json") && !WITHOUT_PACK.contains(&name) {
            args.extend(["--tools".to_owned(), path.display().to_string()]);
        }
    }
    assert!(args.len() > 40);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, stdout, _) = run(&dir, &args);
    let value: Value = serde_json::from_str(&stdout).unwrap();
    let messages: Vec<String> = value["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {} {}", f["code"], f["message"], f["positions"][0]))
        .collect();
    assert!(messages.is_empty(), "{}", messages.join("\n"));
    assert_eq!(code, 0);
    assert_eq!(
        value["coverage"]["tools"]["covered"],
        value["coverage"]["tools"]["all"]
    );
}

/// Each page of a finding has an example with which `verify` finds it.
#[test]
fn pages_show_their_findings() {
    let list = bouncer().arg("explain").output().unwrap().stdout;
    let list = String::from_utf8(list).unwrap();
    let codes = list
        .lines()
        .map(|line| line.split_whitespace().next().unwrap());
    let mut missing = Vec::new();
    let mut count = 0;
    for code in codes.filter(|code| *code >= "B0801") {
        let page = bouncer().args(["explain", code]).output().unwrap().stdout;
        let page = String::from_utf8(page).unwrap();
        let example = page
            .split("```yaml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        if example.trim().is_empty() {
            assert_eq!(code, "B0822", "gives up on what is too large to print");
            continue;
        }
        count += 1;
        let (policy, tools) = match example.split_once("# file: tools.json\n") {
            Some((policy, tools)) => (policy, Some(tools)),
            None => (example, None),
        };
        let dir = files(
            &format!("page-{code}"),
            &[("p.yaml", policy), ("t.json", tools.unwrap_or("[]"))],
        );
        let mut args = vec!["verify", "p.yaml", "--json"];
        if tools.is_some() {
            args.extend(["--tools", "t.json"]);
        }
        let (_, stdout, _) = run(&dir, &args);
        if !stdout.contains(&format!("\"code\": \"{code}\"")) {
            missing.push(format!("{code}: {stdout}"));
        }
    }
    assert!(count > 20);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_examples_verify_clean() {
    for name in ["policy.yaml", "demo.yaml"] {
        let path = root().join("examples").join(name);
        let (code, stdout, _) = run(
            root(),
            &["verify", path.to_str().unwrap(), "--deny", "warnings"],
        );
        assert_eq!(code, 0, "{name}\n{stdout}");
    }
}

/// What the predecessors' example policies get wrong.
#[test]
fn the_predecessors_examples_show_true_findings() {
    let found = |name: &str| {
        let path = root().join("examples").join(name);
        let (_, stdout, _) = run(root(), &["verify", path.to_str().unwrap(), "--json"]);
        let value: Value = serde_json::from_str(&stdout).unwrap();
        let findings = value["findings"].as_array().unwrap().clone();
        let brief = |f: &Value| {
            (
                f["code"].as_str().unwrap().to_owned(),
                f["positions"][0]["line"].as_u64().unwrap(),
            )
        };
        findings.iter().map(brief).collect::<Vec<_>>()
    };
    // Two rules about SQL see the first statement of a query only.
    let rules = found("border-patrol.yaml");
    for line in [14, 21] {
        assert!(rules.contains(&("B0827".to_owned(), line)), "{rules:?}");
    }
    // The contract of `send_email` replaces the pack's, and its limits.
    let contracts = found("bouncer.yaml");
    assert!(
        contracts.contains(&("B0806".to_owned(), 5)),
        "{contracts:?}"
    );
}

#[test]
fn policies_are_compared() {
    let dir = files(
        "diff",
        &[
            (
                "old.yaml",
                "version: 1\npacks: []\nrules:\n  - {tool: resize, match: {amount: {gt: 1000}}, action: deny}\n",
            ),
            (
                "new.yaml",
                "version: 1\npacks: []\nrules:\n  - {tool: resize, match: {amount: {gt: 2000}}, action: deny}\n",
            ),
            (
                "tools.json",
                r#"[{"name": "resize", "inputSchema": {"properties": {"amount": {"type": "number"}}}}]"#,
            ),
            ("broken.yaml", "a: 1\n"),
        ],
    );
    for policy in ["old", "new"] {
        let (yaml, plan) = (format!("{policy}.yaml"), format!("{policy}.plan"));
        assert_eq!(run(&dir, &["compile", &yaml, "-o", &plan]).0, 0);
    }
    let compiled = ["compile", "old.yaml", "-o", "bare.plan", "--no-source"];
    assert_eq!(run(&dir, &compiled).0, 0);
    let (code, _, stderr) = run(&dir, &["diff", "bare.plan", "new.yaml"]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains("no policy texts") && stderr.contains("name the policy files"),
        "{stderr}"
    );
    // Texts that do not belong to what the plan decides are worth nothing.
    let mut forged = std::fs::read(dir.join("old.plan")).unwrap();
    let at = forged
        .windows(8)
        .rposition(|window| window == b"gt: 1000")
        .unwrap();
    forged[at + 4] = b'9';
    let digest = bouncer_plan::digest_of(&forged);
    forged[32..64].copy_from_slice(&digest);
    std::fs::write(dir.join("forged.plan"), forged).unwrap();
    let (code, _, stderr) = run(&dir, &["diff", "forged.plan", "new.yaml"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("read its policies otherwise"), "{stderr}");
    assert_eq!(run(&dir, &["diff", "old.yaml"]).0, 2);
    assert_eq!(run(&dir, &["diff", "old.yaml", "broken.yaml"]).0, 1);
    let compare = |old: &str, new: &str, more: &[&str]| {
        let args = [&["diff", old, new, "--tools", "tools.json"][..], more].concat();
        run(&dir, &args)
    };
    let (code, stdout, stderr) = compare("old.yaml", "new.yaml", &[]);
    assert_eq!(code, 0);
    assert!(
        stdout.contains("looser") && stdout.contains("was deny, is allow"),
        "{stdout}"
    );
    assert!(stderr.contains("1 of 1"), "{stderr}");
    assert_eq!(
        compare("old.yaml", "new.yaml", &["--fail-if", "looser"]).0,
        1
    );
    assert_eq!(
        compare("old.yaml", "new.yaml", &["--fail-if", "tighter"]).0,
        0
    );
    assert_eq!(
        compare("new.yaml", "old.yaml", &["--fail-if", "looser"]).0,
        0
    );
    assert_eq!(
        compare("new.yaml", "old.yaml", &["--fail-if", "changed"]).0,
        1
    );
    assert_eq!(
        compare("old.yaml", "old.yaml", &["--fail-if", "changed"]).0,
        0
    );
    // Plans compare as their policies do.
    assert_eq!(compare("old.plan", "new.plan", &[]).1, stdout);
    let looser = ["--fail-if", "looser"];
    assert_eq!(compare("old.plan", "new.plan", &looser).0, 1);
    assert_eq!(compare("new.plan", "old.yaml", &looser).0, 0);
    let (_, stdout, _) = compare("new.yaml", "old.yaml", &["--json"]);
    let value: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(value["relation"], "tighter");
    assert_eq!(value["tools"][0]["tighter"]["old"], "allow");
    assert_eq!(value["tools"][0]["tighter"]["new"], "deny");
}

/// Policies as people write them for other tools say little that is not meant.
#[test]
fn policies_from_elsewhere_get_few_notes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/translated");
    let mut counts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let output = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(["verify", "--json"])
            .arg(&path)
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = found["findings"].as_array().unwrap();
        let told = findings
            .iter()
            .filter(|finding| finding["severity"] != "note");
        let told: Vec<_> = told
            .map(|finding| finding["code"].as_str().unwrap())
            .collect();
        // An `ask` that the default gives anyway is a true remark.
        assert!(
            told.iter().all(|code| *code == "B0804"),
            "{path:?}: {told:?}"
        );
        counts.push(told.len());
    }
    counts.sort_unstable();
    assert_eq!(
        (counts.len(), counts[counts.len() / 2]),
        (10, 0),
        "{counts:?}"
    );
}
