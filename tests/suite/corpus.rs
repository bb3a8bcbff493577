//! The corpus of `tests/corpus` through the command: `bouncer replay` answers each call as the
//! case says. What it is otherwise, `tests/decisions/corpus.rs` says.

use crate::recorded::cases::{Case, cases, files};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

impl Case {
    /// How many calls the trace makes.
    fn calls(&self) -> usize {
        let lines = self.trace.iter();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["type"] == "call").count()
    }

    /// Plays the trace through the command.
    fn replay(&self, dir: &Path, calls: usize, wrong: &mut String) {
        let (policy, trace) = (dir.join("policy.yaml"), dir.join("trace.jsonl"));
        std::fs::write(&policy, &self.header.policy).unwrap();
        std::fs::write(&trace, self.trace.join("\n")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(["replay", "--json"]);
        command.arg("--policy").arg(&policy);
        if !self.header.packs {
            command.arg("--no-packs");
        }
        if !self.header.heuristics {
            command.arg("--no-heuristics");
        }
        let output = command.arg(&trace).output().unwrap();
        let mut answered = 0;
        let mut failed = false;
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            answered += 1;
            if answer["ok"] == json!(false) {
                failed = true;
                let number = answer["line"].as_u64().unwrap() as usize;
                let got = format!("{} ({})", answer["verdict"], answer["contract"]);
                self.complain("replay", &self.trace[number - 1], &got, wrong);
            }
        }
        if answered != calls || output.status.success() == failed {
            let errors = String::from_utf8_lossy(&output.stderr);
            let _ = writeln!(wrong, "{}: replay: {}: {errors}", self.at, output.status);
        }
    }
}

#[test]
fn the_command_answers_the_corpus_as_expected() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = String::new();
    let mut calls = 0;
    for case in files().iter().flat_map(|file| cases(file)) {
        calls += case.calls();
        case.replay(dir.path(), case.calls(), &mut wrong);
    }
    assert!(calls > 1900, "only {calls} calls");
    assert!(
        wrong.is_empty(),
        "{} lines:\n{wrong}",
        wrong.lines().count()
    );
}
