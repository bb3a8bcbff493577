//! `policy suggest`, `doctor`, the default policy, and `run --observe`.

use super::{Place, read};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

#[test]
fn suggestions_verify_clean() {
    let place = Place::new("adopt-suggest");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools");
    let mut count = 0;
    for file in std::fs::read_dir(fixtures).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let tools = file.to_str().unwrap();
        let _ = std::fs::remove_file(place.dir.join("s.yaml"));
        let (code, _, stderr) = place.run(&["policy", "suggest", "--tools", tools, "-o", "s.yaml"]);
        assert_eq!(code, 0, "{tools}: {stderr}");
        let args = ["verify", "s.yaml", "--tools", tools, "--deny", "warnings"];
        let (code, stdout, _) = place.run(&args);
        assert_eq!(code, 0, "{tools}: {stdout}");
        count += 1;
    }
    assert!(count >= 20, "{count}");
    // A file that is there stays.
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools/time.json");
    let (code, ..) = place.run(&[
        "policy",
        "suggest",
        "--tools",
        tools.to_str().unwrap(),
        "-o",
        "s.yaml",
    ]);
    assert_eq!(code, 1);
}

#[test]
fn suggestions_tell_what_the_log_asked() {
    let place = Place::new("adopt-suggest-log");
    let line = |verdict: &str, code: &str, to: &str| {
        json!({"tool": "send", "server": "m", "verdict": verdict, "code": code, "reason": format!("no {to}\n# x: y"),
            "grounds": {"param": "to", "value": to}})
    };
    let log = format!(
        "{}\n{}\n{}\ntorn",
        line("ask", "sink_gate.unproven", "a@b.example\ntools: {}"),
        line("ask", "sink_gate.unproven", "a@b.example\ntools: {}"),
        line("deny", "rule.matched", "x"),
    );
    // What other servers' tools did is no matter of theirs.
    let others = line("ask", "sink_gate.unproven", "other@b.example").to_string();
    let others = others.replace("\"send\"", "\"other_tool\"");
    let log = format!("{others}\n{log}");
    place.write("audit.jsonl", &log);
    // A server's words cannot get out of a comment.
    let tool = json!({"tools": [{"name": "bad\n  evil"}, {"name": "send", "description": "x\u{2028}y\n\ntools: {}",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "a b": {"type": "string", "format": "email"}}}}]});
    place.write("tools.json", &tool.to_string());
    let (code, stdout, stderr) = place.run(&[
        "policy",
        "suggest",
        "--tools",
        "tools.json",
        "--audit",
        "audit.jsonl",
    ]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("#   2x m__send: a@b.example"), "{stdout}");
    assert!(!stdout.contains("other_tool"), "{stdout}");
    assert!(stdout.contains("exfiltrating: true"), "{stdout}");
    assert!(stdout.contains("left out"), "{stdout}");
    place.write("s.yaml", &stdout);
    let (code, _, stderr) = place.run(&["compile", "s.yaml", "-o", "s.plan"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
}

#[test]
fn the_doctor_finds_the_gaps() {
    let place = Place::new("adopt-doctor");
    place.write(".mcp.json", &place.config());
    place.write("home/.claude.json", "{}");
    let (code, stdout, _) = place.run(&["doctor"]);
    assert_eq!(code, 1);
    assert!(stdout.contains("mail: not guarded"), "{stdout}");
    assert!(stdout.contains("Claude Code: no hook guards"), "{stdout}");
    assert_eq!(place.run(&["init", "--yes"]).0, 0);
    let settings = |command: &str, more: &str| {
        let hook = format!(
            r#"[{{"matcher": "*", "hooks": [{{"type": "command", "command": "{command}"}}]}}]"#
        );
        let text = format!(
            r#"{{"hooks": {{"PreToolUse": {hook}{}}}}}"#,
            more.replace("HOOK", &hook)
        );
        place.write("home/.claude/settings.json", &text);
        place.run(&["doctor"]).1
    };
    let after = r#", "PostToolUse": HOOK"#;
    let here = env!("CARGO_BIN_EXE_bouncer");
    let good = format!("{here} hook claude-code");
    let stdout = settings(&good, after);
    assert!(
        stdout.contains("Claude Code: a hook guards its shell"),
        "{stdout}"
    );
    for (command, more, said) in [
        (good.as_str(), "", "no hook remembers what its tools read"),
        (
            &format!("{here} hook codex"),
            after,
            "this client needs `hook claude-code`",
        ),
        (
            "/nonexistent/bouncer hook claude-code",
            after,
            "there is no program `/nonexistent/bouncer`",
        ),
        (
            &format!("{good} --policy /nonexistent.yaml"),
            after,
            "there is no file `/nonexistent.yaml`",
        ),
        (
            &format!("{good} --policy nonexistent.yaml"),
            after,
            "there is no file `nonexistent.yaml`",
        ),
    ] {
        let stdout = settings(command, more);
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    let narrow = |matcher: &str| {
        let hook = format!(
            r#"[{{"matcher": "{matcher}", "hooks": [{{"type": "command", "command": "{good}"}}]}}]"#
        );
        place.write(
            "home/.claude/settings.json",
            &format!(r#"{{"hooks": {{"PreToolUse": {hook}}}}}"#),
        );
        place.run(&["doctor"]).1
    };
    let stdout = narrow("Write|Edit|Read");
    assert!(
        stdout.contains("a hook is not called for Bash, NotebookEdit, WebFetch"),
        "{stdout}"
    );
    assert!(stdout.contains("no hook remembers"), "{stdout}");
    let stdout = narrow("Bash|Write|Edit|NotebookEdit|Read|WebFetch");
    assert!(stdout.contains("leaves others out"), "{stdout}");
    settings(&good, after);
    let (code, stdout, _) = place.run(&["doctor"]);
    assert!(
        stdout.contains("mail: guarded by the built-in packs"),
        "{stdout}"
    );
    // The server that is reached over the network is still there.
    assert!(
        stdout.contains("far: not guarded") && stdout.contains("1 gap"),
        "{stdout}"
    );
    assert_eq!(code, 1);
}

/// What the proxy answers to calls of `send_email`, and its standard error.
fn calls_through(place: &Place, options: &[&str], calls: &[Value]) -> (Vec<Value>, String) {
    let mut args = vec!["run", "--server", "mail"];
    args.extend(options);
    let server = place.server.to_str().unwrap();
    args.extend(["--", server, "demo-server"]);
    let mut child = place
        .bouncer(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    let mut hear = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    say(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
    );
    hear();
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let mut answers = Vec::new();
    for (id, call) in (1..).zip(calls) {
        say(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}));
        answers.push(hear()["result"].clone());
    }
    drop(input);
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut stderr).unwrap();
    child.wait().unwrap();
    (answers, stderr)
}

#[test]
fn observing_lets_through_and_says_so() {
    let place = Place::new("adopt-observe");
    let email = |to: &str| json!({"name": "send_email", "arguments": {"to": [to], "subject": "s", "body": "b"}});
    let calls = [
        email("x@nobody.example"),
        json!({"name": "no_such_tool", "arguments": {}}),
    ];
    let (held, stderr) = calls_through(&place, &[], &calls);
    assert!(!stderr.contains("NOTHING IS BLOCKED"), "{stderr}");
    assert!(
        held.iter().all(|result| result["isError"] == true),
        "{held:?}"
    );

    let (seen, stderr) = calls_through(&place, &["--observe"], &calls);
    assert!(stderr.contains("NOTHING IS BLOCKED"), "{stderr}");
    assert_ne!(seen[0]["isError"], true, "{seen:?}");
    // A tool that nobody listed is not let through even so.
    assert_eq!(seen[1]["isError"], true, "{seen:?}");
    let log = std::fs::read_to_string(place.dir.join("home/.bouncer/audit.jsonl")).unwrap();
    let observed: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["outcome"] == "observed")
        .collect();
    assert_eq!(observed.len(), 1, "{log}");
    assert_eq!(observed[0]["verdict"], "ask");
    // Whoever approves calls wants them held.
    let (code, _, stderr) = place.run(&["run", "--observe", "--approvals", "x.db", "--", "x"]);
    assert_eq!(code, 2, "{stderr}");
}

fn filesystem_tools() -> Value {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools/filesystem.json");
    serde_json::from_str(&read(&fixture)).unwrap()
}

/// A lock with the tools of the real server, beside a configuration that starts it.
fn with_filesystem(place: &Place) -> (String, String) {
    let folder = place.dir.join("notes");
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap().display().to_string();
    let config = json!({"mcpServers": {"files": {"command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem", folder, "/does/not/exist"]}}});
    place.write(".mcp.json", &config.to_string());
    let mut tools = filesystem_tools();
    tools["server"] = json!("files");
    let lock = place.write(".mcp.json.bouncer.lock", &tools.to_string());
    (folder, lock.display().to_string())
}

#[test]
fn a_suggestion_bounds_a_filesystem_server_to_its_folders() {
    let place = Place::new("adopt-suggest-folder");
    let (folder, lock) = with_filesystem(&place);
    let (code, stdout, stderr) =
        place.run(&["policy", "suggest", "--tools", &lock, "-o", "p.yaml"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let text = read(&place.dir.join("p.yaml"));
    assert!(
        text.contains(&format!("allowed_path_prefixes: [\"{folder}\"]")),
        "{text}"
    );
    assert!(!text.contains("/does/not/exist"), "{text}");
    let (code, stdout, _) =
        place.run(&["verify", "p.yaml", "--tools", &lock, "--deny", "warnings"]);
    assert_eq!(code, 0, "{stdout}");
    let check = |tool: &str, path: &str| {
        let args = json!({"path": path, "content": "x", "source": path, "destination": path});
        let args = args.to_string();
        let check = [
            "check", "--policy", "p.yaml", "--tools", &lock, "--tool", tool, "--args", &args,
        ];
        let (code, stdout, _) = place.run(&check);
        (code, stdout)
    };
    // Inside, it is asked about, since it calls itself destructive; outside, it is denied.
    assert_eq!(check("write_file", &format!("{folder}/a.txt")).0, 3);
    for tool in ["write_file", "edit_file", "create_directory", "move_file"] {
        let (code, stdout) = check(tool, "/elsewhere/a.txt");
        assert_eq!(
            (code, stdout.contains("outside the allowed prefixes")),
            (4, true),
            "{tool}: {stdout}"
        );
    }
    assert_eq!(check("create_directory", &format!("{folder}/a")).0, 0);
    let (code, stdout) = check(
        "create_directory",
        &format!("{folder}/.git/hooks/pre-commit"),
    );
    assert_eq!(
        (code, stdout.contains("what guards or starts")),
        (3, true),
        "{stdout}"
    );
    assert_eq!(
        check("read_text_file", &format!("{folder}/.git/config")).0,
        0
    );
}

#[test]
fn without_a_policy_the_default_one_decides() {
    let place = Place::new("adopt-default");
    let (_, lock) = with_filesystem(&place);
    let check = |tool: &str, path: &str| {
        let args = json!({"path": path, "content": "x", "edits": []}).to_string();
        place.run(&["check", "--tools", &lock, "--tool", tool, "--args", &args])
    };
    let (code, stdout, _) = check("write_file", "/home/me/a.txt");
    assert_eq!((code, stdout.contains("(rule)")), (3, true), "{stdout}");
    for path in [
        ".mcp.json",
        "/p/.claude/settings.json",
        "/p/.claude/./settings.local.json",
        "/p/.cursor/mcp.json",
        "/p/.git/hooks/x",
        "/p/.git/x/../hooks/y",
        "/h/.ssh/authorized_keys",
        "/h/.bashrc",
        "/h/.zshenv",
        "C:\\Users\\me\\.claude\\settings.json",
        "/p/%2emcp.json",
        "/h/.bouncer/approvals.db",
        "/p/.mcp.json.bouncer.lock",
        "/h/.codex/config.toml",
    ] {
        let (code, stdout, _) = check("create_directory", path);
        assert_eq!(
            (code, stdout.contains("what guards or starts")),
            (3, true),
            "{path}: {stdout}"
        );
        // To read them is fine, but for keys.
        let keys = path.contains(".ssh") || path.contains(".bouncer/");
        let read = if keys { 3 } else { 0 };
        assert_eq!(check("read_text_file", path).0, read, "{path}");
    }
    for path in [
        "/p/notes.txt",
        "/p/mcp.json.md",
        "/p/git/config",
        "/p/profile",
        "/p/claude/settings.json",
    ] {
        assert_eq!(check("create_directory", path).0, 0, "{path}");
    }
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/default.yaml");
    let (code, stdout, _) = place.run(&["verify", policy.to_str().unwrap(), "--deny", "warnings"]);
    assert_eq!(code, 0, "{stdout}");
    // None of it where the packs are left out.
    let args = [
        "check",
        "--no-packs",
        "--tool",
        "write_file",
        "--args",
        r#"{"path": "/h/.bashrc"}"#,
    ];
    assert_eq!(place.run(&args).0, 0);
}

#[test]
fn the_doctor_names_what_writes_without_a_bound() {
    let place = Place::new("adopt-doctor-bounds");
    let (_, lock) = with_filesystem(&place);
    let guard = |policy: &str| {
        let policy = place.write("p.yaml", policy);
        let config = json!({"mcpServers": {"files": {"command": "bouncer",
            "args": ["run", "--server", "files", "--policy", policy, "--tools", lock, "--", "npx"]}}});
        place.write(".mcp.json", &config.to_string());
        place.run(&["doctor"]).1
    };
    let stdout = guard("version: 1\n");
    for tool in ["write_file", "edit_file", "create_directory", "move_file"] {
        assert!(
            stdout.contains("4 of its tools write") && stdout.contains(tool),
            "{stdout}"
        );
    }
    let stdout = guard("version: 1\ndefaults: { onUnknown: ask, onDestructiveHint: ask }\n");
    assert!(!stdout.contains("of its tools write"), "{stdout}");
    // A hook's absence is told wherever the client's files are, or that there is none.
    assert!(stdout.contains("Claude Code: no hook guards"), "{stdout}");
    let bare = Place::new("adopt-doctor-bare");
    assert!(bare.run(&["doctor"]).1.contains("agents' own tools"));
}
