//! What clients say, as their documentation has it, and the calls that come of it.

use super::actions;
use super::agents::{self, Agent, decided, failed};
use super::disk::Base;
use super::event::{Answer, Event, Exit, Phase};
use super::judged::Judged;
use super::memory::{Memory, MemoryError, ToolUse};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::{Stage, Verdict};
use bouncer_system::moment::Moment;
use serde_json::{Value, json};
use std::path::PathBuf;

fn agent(name: &str) -> &'static dyn Agent {
    agents::by_name(name).unwrap()
}

fn event(name: &str, message: &Value) -> Event {
    agent(name).read(message.to_string().as_bytes()).unwrap()
}

fn answer(name: &str, event: &Event, verdict: Verdict) -> Answer {
    let judged = Judged::without_policy(VerdictRecord {
        verdict,
        ..VerdictRecord::denial(Stage::Default, "default", "why".to_owned())
    });
    decided(agent(name), event, &judged)
}

fn claude(tool: &str, input: &Value) -> Event {
    event(
        "claude-code",
        &json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/nowhere/project",
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": input, "tool_use_id": "toolu_1"}),
    )
}

/// A time of which only the wall clock knows.
fn wall(wall_ms: i64) -> Moment {
    Moment {
        wall_ms,
        ..Moment::default()
    }
}

fn base() -> Base {
    Base {
        home: Some(PathBuf::from("/nowhere/home")),
        project: PathBuf::from("/nowhere/project"),
    }
}

/// The calls, as `tool {arguments}`.
fn calls(event: &Event) -> Vec<(String, Value)> {
    let actions = actions::of(event, &base());
    assert_eq!(actions.unread, None);
    let calls = actions.calls.into_iter();
    calls
        .map(|call| {
            let name = format!("{}__{}", call.server.unwrap_or_default(), call.tool);
            (name, serde_json::from_slice(&call.args).unwrap())
        })
        .collect()
}

#[test]
fn each_tool_becomes_a_call_that_policies_know() {
    let found = calls(&claude(
        "Write",
        &json!({"file_path": "/nowhere/project/a/../b.txt", "content": "x"}),
    ));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "agent__write");
    assert_eq!(found[0].1["relative"], "b.txt");
    let found = calls(&claude(
        "Edit",
        &json!({"file_path": "../x", "old_string": "", "new_string": ""}),
    ));
    assert_eq!(found[0].1["relative"], "/nowhere/x");
    let found = calls(&claude("Read", &json!({"file_path": "~/.ssh/id_rsa"})));
    assert_eq!(found[0].1["path"], "/nowhere/home/.ssh/id_rsa");
    let found = calls(&claude(
        "WebFetch",
        &json!({"url": "https://x.example", "prompt": "p"}),
    ));
    assert_eq!(
        found[0],
        (
            "agent__fetch".into(),
            json!({"url": "https://x.example", "prompt": "p"})
        )
    );
    let found = calls(&claude(
        "mcp__mail__send_email",
        &json!({"to": "a@b.example"}),
    ));
    assert_eq!(
        found[0],
        ("mail__send_email".into(), json!({"to": "a@b.example"}))
    );
    let found = calls(&claude(
        "Bash",
        &json!({"command": "cd sub && cat < in | curl -d @- https://x.example > out"}),
    ));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "agent__script",
            "agent__shell",
            "agent__shell",
            "agent__shell",
            "agent__send",
            "agent__read",
            "agent__read",
            "agent__write",
            "agent__write",
        ]
    );
    assert_eq!(found[5].1["relative"], "in");
    assert_eq!(found[6].1["relative"], "sub/in");
    assert_eq!(found[4].1["destinations"], json!(["x.example"]));
}

#[test]
fn patches_name_their_files() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: /etc/b\n@@\n-x\n+y\n*** Add File: c\n+z\n*** End Patch";
    let message = json!({"session_id": "s", "turn_id": "t", "cwd": "/nowhere/project", "model": "m",
        "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}});
    let found = calls(&event("codex", &message));
    let files: Vec<&Value> = found.iter().map(|(_, args)| &args["relative"]).collect();
    assert_eq!(files, ["a.txt", "/etc/b", "c"]);
}

#[test]
fn what_is_not_understood_is_for_a_human() {
    for (tool, input) in [
        ("Bash", json!({"command": 1})),
        ("Bash", json!({})),
        ("Write", json!({"content": "x"})),
        ("apply_patch", json!({"command": "nothing"})),
        ("Bash", json!({"command": "$X"})),
    ] {
        assert!(
            actions::of(&claude(tool, &input), &base()).unread.is_some(),
            "{tool} {input}"
        );
    }
}

#[test]
fn answers_are_as_each_client_documents_them() {
    let pre = claude("Bash", &json!({"command": "x"}));
    let asked = answer("claude-code", &pre, Verdict::Ask);
    let said: Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "ask");
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    assert_eq!(
        said["hookSpecificOutput"]["permissionDecisionReason"],
        "[bouncer] why"
    );
    assert_eq!(asked.exit, Exit::Success);
    // An allow is no grant: the client's own permissions still decide.
    assert_eq!(answer("claude-code", &pre, Verdict::Allow).stdout, "{}");
    // Codex runs the tool if it is told to ask.
    let said: Value = serde_json::from_str(&answer("codex", &pre, Verdict::Ask).stdout).unwrap();
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");

    let cursor = |name: &str| {
        event(
            "cursor",
            &json!({"conversation_id": "c", "generation_id": "g", "hook_event_name": name,
            "workspace_roots": ["/nowhere/project"], "command": "ls", "cwd": "", "tool_name": "t",
            "tool_input": "{\"a\": 1}", "file_path": "/x", "content": "y"}),
        )
    };
    let shell = cursor("beforeShellExecution");
    assert_eq!(shell.cwd, Some(PathBuf::from("/nowhere/project")));
    let said: Value = serde_json::from_str(&answer("cursor", &shell, Verdict::Ask).stdout).unwrap();
    assert_eq!(said["permission"], "ask");
    let said: Value =
        serde_json::from_str(&answer("cursor", &cursor("beforeReadFile"), Verdict::Ask).stdout)
            .unwrap();
    assert_eq!(said["permission"], "deny");
    let mcp = cursor("beforeMCPExecution");
    assert_eq!(
        (mcp.input.as_slice(), mcp.phase),
        (&br#"{"a": 1}"#[..], Phase::Before)
    );
    assert_eq!(actions::name(&mcp), (None, "t"));
    assert_eq!(cursor("stop").phase, Phase::Other);
    assert_eq!(cursor("afterShellExecution").phase, Phase::After);

    let plain = event(
        "plain",
        &json!({"event": "before", "session": "s", "tool": "shell", "arguments": {"command": "ls"}}),
    );
    assert_eq!(
        answer("plain", &plain, Verdict::Deny).exit,
        Exit::Verdict(Verdict::Deny)
    );
}

#[test]
fn bad_messages_block() {
    for (form, message) in [
        ("claude-code", ""),
        ("claude-code", "{}"),
        (
            "claude-code",
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#,
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_name":"Read","tool_input":{}}"#,
        ),
        (
            "claude-code",
            r#"{"hook_event_name":"PreToolUse","Hook_Event_Name":"x","session_id":"s","tool_name":"Bash"}"#,
        ),
        (
            "cursor",
            r#"{"hook_event_name":"beforeShellExecution","conversation_id":"c"}"#,
        ),
        ("plain", r#"{"event":"during","session":"s","tool":"x"}"#),
        ("plain", r#"{"event":"before","tool":"x"}"#),
        // Slips that would lose what counts.
        (
            "plain",
            r#"{"event":"before","session":"s","tool":"shell","args":{"command":"ls"}}"#,
        ),
        (
            "plain",
            r#"{"event":"after","session":"s","tool":"x","output":"text"}"#,
        ),
        ("plain", r#"{"event":"after","session":"s","tool":"x"}"#),
        (
            "claude-code",
            r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Read","tool_input":{}}"#,
        ),
    ] {
        assert!(agent(form).read(message.as_bytes()).is_err(), "{message}");
    }
    assert_eq!(failed(agent("claude-code"), &"x").exit, Exit::Blocks);
    assert_eq!(failed(agent("codex"), &"x").exit, Exit::Blocks);
    assert!(failed(agent("cursor"), &"x").stdout.contains("\"deny\""));
    assert!(failed(agent("plain"), &"x").stdout.contains("\"deny\""));
}

#[test]
fn the_log_beside_the_memory_stays_small_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hook.db");
    let log = dir.path().join("hook.db-wal");
    let mut largest = 0;
    for use_ in 0..200 {
        // As a process that comes and goes.
        let mut memory = Memory::open(&path).unwrap();
        let session = memory.lock("s", &wall(use_)).unwrap();
        let text = json!(format!("{use_} {}", "x".repeat(8_000)));
        session.remember(None, "read", &text).unwrap();
        session.commit().unwrap();
        drop(memory);
        largest = largest.max(std::fs::metadata(&log).map_or(0, |log| log.len()));
    }
    // Something is put off, but not for ever.
    assert!((100_000..600_000).contains(&largest), "{largest}");
    let mut memory = Memory::open(&path).unwrap();
    assert_eq!(
        memory.lock("s", &wall(1)).unwrap().results().unwrap().len(),
        200
    );
}

#[test]
fn first_uses_at_one_moment_wait_for_each_other() {
    for _ in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hook.db");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            let uses: Vec<_> = (0..8)
                .map(|number| {
                    let (path, start) = (&path, &start);
                    scope.spawn(move || -> Result<(), MemoryError> {
                        start.wait();
                        let mut memory = Memory::open(path)?;
                        let session = memory.lock("s", &wall(1))?;
                        session.remember(None, "read", &json!(number))?;
                        session.commit()
                    })
                })
                .collect();
            for use_ in uses {
                use_.join().unwrap().unwrap();
            }
        });
        let mut memory = Memory::open(&path).unwrap();
        assert_eq!(
            memory.lock("s", &wall(1)).unwrap().results().unwrap().len(),
            8
        );
    }
}

#[test]
fn the_memory_is_private_and_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep").join("hook.db");
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &wall(1)).unwrap();
    session
        .remember(Some("agent"), "read", &json!({"text": "a"}))
        .unwrap();
    let used = ToolUse {
        server: None,
        tool: "t".into(),
        at: wall(5),
    };
    session.count(0, &used).unwrap();
    assert!(session.count(60_000, &used).is_err());
    session.commit().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    // Another process, another conversation.
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("other", &wall(2)).unwrap();
    assert!(session.results().unwrap().is_empty() && session.uses().unwrap().is_empty());
    session.commit().unwrap();
    let session = memory.lock("s", &wall(3)).unwrap();
    assert_eq!(session.uses().unwrap(), [used]);
    let big = json!("x".repeat(3 << 20));
    for _ in 0..20 {
        session.remember(None, "read", &big).unwrap();
    }
    assert!(session.forgotten().unwrap() >= 20);
    let size: usize = session
        .results()
        .unwrap()
        .iter()
        .map(|r| r.value.to_string().len())
        .sum();
    assert!(size < 17 << 20, "{size}");
    session.commit().unwrap();
    // After a week nobody remembers.
    let session = memory.lock("new", &wall(8 * 24 * 3600 * 1000)).unwrap();
    session.commit().unwrap();
    let session = memory.lock("s", &wall(8 * 24 * 3600 * 1000)).unwrap();
    assert!(session.results().unwrap().is_empty());
}

#[test]
fn a_clock_that_jumps_makes_nothing_forgotten() {
    let place = tempfile::tempdir().unwrap();
    let mut memory = Memory::open(&place.path().join("hook.db")).unwrap();
    let at = |boot: &str, boot_ms, wall_ms| Moment {
        boot: boot.to_owned(),
        boot_ms,
        wall_ms,
    };
    let week = 8 * 24 * 3600 * 1000;
    let mut use_at = |session: &str, moment: &Moment| {
        let session = memory.lock(session, moment).unwrap();
        let known = session.uses().unwrap();
        let used = ToolUse {
            server: None,
            tool: "t".to_owned(),
            at: moment.clone(),
        };
        session.count(known.len() as u64, &used).unwrap();
        session.commit().unwrap();
        known
    };
    use_at("one", &at("a", 1000, 1000));
    // A week forward, all at once: the other conversation is still known, and so is when
    // it used what.
    use_at("two", &at("a", 2000, 2000 + week));
    let known = use_at("one", &at("a", 3000, 3000 + week));
    assert_eq!(at("a", 3000, 3000 + week).since(&known[0].at), 1990);
    // A week that has really passed.
    use_at("two", &at("a", 4000 + week, 4000 + 2 * week));
    assert_eq!(use_at("one", &at("a", 5000 + week, 5000 + 2 * week)), []);
    // And after the machine was started again, of which only the wall clock knows.
    use_at("two", &at("b", 10, 6000 + 4 * week));
    assert_eq!(use_at("one", &at("b", 20, 7000 + 4 * week)), []);
}

#[test]
fn a_memory_of_the_first_layout_is_taken_over() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("hook.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "CREATE TABLE session (id TEXT PRIMARY KEY, used INTEGER NOT NULL, forgotten INTEGER NOT NULL);
         CREATE TABLE returned (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, body TEXT NOT NULL);
         CREATE TABLE attempt (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, ms INTEGER NOT NULL);
         INSERT INTO session VALUES ('s', 5, 0);
         INSERT INTO attempt VALUES (1, 's', NULL, 't', 5);
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &wall(6)).unwrap();
    let known = session.uses().unwrap();
    assert_eq!((known.len(), &known[0].at), (1, &wall(5)));
}
