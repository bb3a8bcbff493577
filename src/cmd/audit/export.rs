//! Recorded conversations as tests. The log holds calls and verdicts; of what was read it holds
//! only what a verdict rests on, so that is all that a test gets of it.

use super::filter::Filter;
use super::lines::{self, Line};
use crate::output::{Failure, Outcome};
use bouncer_compiler::diagnostic::visible;
use bouncer_engine::gate::Seen;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

const HEAD: &str = "\
# Made by `bouncer audit export --as-test`: each call has to get the verdict that it got.
# The log holds no results. Of what the agent had read, only what a verdict rests on stands here:
# add the rest where a verdict comes out otherwise.
cases:
";

/// What of a line a test needs beside what all readers want.
#[derive(Deserialize)]
struct Recorded {
    arguments: Option<Box<RawValue>>,
    arguments_text: Option<String>,
    grounds: Option<Grounds>,
    /// A human had approved the call or its destination.
    approval: Option<Value>,
}

#[derive(Deserialize)]
struct Grounds {
    seen: Option<Seen>,
}

/// One conversation.
struct Case {
    conversation: String,
    steps: Vec<String>,
    calls: usize,
    /// Results that stand there already.
    read: BTreeSet<(Option<String>, String, u64)>,
}

/// Writes the conversations of all lines that match as one test file.
pub(super) fn as_test(log: &Path, filter: &Filter) -> Outcome {
    let mut cases: Vec<Case> = Vec::new();
    for file in lines::files(log)? {
        lines::each(&file, &mut |text| {
            let line = Line::parse(text).filter(|line| filter.matches(line));
            if let Some(line) = line.filter(|line| line.verdict.is_some()) {
                add(&mut cases, &line, text);
            }
            Ok(())
        })?;
    }
    cases.retain(|case| case.calls > 0);
    if cases.is_empty() {
        return Err(Failure::Message("no call of the log matches".to_owned()));
    }
    let mut out = std::io::stdout().lock();
    out.write_all(HEAD.as_bytes())?;
    for case in cases {
        let name = format!("conversation {}", case.conversation);
        writeln!(out, "  - name: {}\n    steps:", Value::from(name))?;
        for step in case.steps {
            writeln!(out, "      {step}")?;
        }
    }
    Ok(0)
}

fn add(cases: &mut Vec<Case>, line: &Line, text: &str) {
    let known = cases
        .iter()
        .position(|case| case.conversation == line.conversation);
    let at = known.unwrap_or_else(|| {
        cases.push(Case {
            conversation: line.conversation.clone(),
            steps: Vec::new(),
            calls: 0,
            read: BTreeSet::new(),
        });
        cases.len() - 1
    });
    if let Some(case) = cases.get_mut(at) {
        case.add(line, text);
    }
}

impl Case {
    fn add(&mut self, line: &Line, text: &str) {
        let (Some(tool), Ok(recorded)) = (&line.tool, serde_json::from_str::<Recorded>(text))
        else {
            return;
        };
        let said = |what: &str| format!("# {}: {what}", visible(tool));
        if recorded.arguments_text.is_some() {
            return self
                .steps
                .push(said("its arguments are not whole in the log"));
        }
        // Under an approval that is still asked for, the call waits: that is what is expected.
        if recorded.approval.is_some() && line.verdict.as_deref() != Some("ask") {
            return self
                .steps
                .push(said("a human approved it, and a test has none"));
        }
        if let Some(seen) = recorded.grounds.and_then(|grounds| grounds.seen) {
            self.read(&seen);
        }
        let mut step = json!({ "type": "call", "server": line.server, "tool": tool });
        if line.server.is_none()
            && let Some(members) = step.as_object_mut()
        {
            members.remove("server");
        }
        let arguments = recorded.arguments.as_ref().map_or("{}", |raw| raw.get());
        if arguments.contains("[redacted]") {
            self.steps
                .push(said("the log keeps no secrets: write what stood there"));
        }
        let expected = json!({ "expect": line.verdict, "expect_contract": line.contract });
        // The arguments' own text, so that numbers keep their spelling.
        let (step, expected) = (step.to_string(), expected.to_string());
        self.steps.push(format!(
            "- {},\"arguments\":{arguments},{}",
            step.trim_end_matches('}'),
            expected.trim_start_matches('{')
        ));
        self.calls += 1;
    }

    /// What a verdict rests on, before its call.
    fn read(&mut self, seen: &Seen) {
        let key = (seen.server.clone(), seen.tool.clone(), seen.call);
        if seen.excerpt.is_empty() || !self.read.insert(key) {
            return;
        }
        let mut step = match seen.tool.contains('/') {
            true => {
                json!({ "type": "received", "method": seen.tool, "value": { "text": seen.excerpt } })
            }
            false => json!({ "type": "result", "tool": seen.tool, "content": seen.excerpt }),
        };
        if let (Some(server), Some(members)) = (&seen.server, step.as_object_mut()) {
            members.insert("server".to_owned(), json!(server));
        }
        self.steps.push(format!("- {step}"));
    }
}
