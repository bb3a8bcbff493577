//! Prints what the hook says of shell commands: what differential tests judge with.
//!
//! `shell_verdicts POLICY.yaml PROJECT HOME` reads one command a line, as a JSON string, and
//! writes for each one line of JSON: `{"verdict": …, "programs": [[program, word, …], …],
//! "open": [program, …]}`. `open` are those whose words are only known when they run.

use bouncer_compiler::{Input, Options, compile, load};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_hook::actions;
use bouncer_hook::agents;
use bouncer_hook::disk::Base;
use bouncer_plan::{Plan, Verdict};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [policy, project, home] = arguments.as_slice() else {
        return Err("needs a policy, a project and a home".into());
    };
    let text = std::fs::read_to_string(policy)?;
    let options = Options {
        packs: true,
        heuristics: true,
    };
    let input = Input {
        name: policy,
        text: &text,
    };
    let loaded = load(&[input], &options).map_err(|_| "the policy cannot be read")?;
    let plan = compile(&loaded.policy).map_err(|_| "the policy cannot be compiled")?;
    let gate = Gate::new(Plan::load(plan).map_err(|_| "the plan cannot be loaded")?);
    let base = Base {
        home: Some(home.into()),
        project: project.into(),
    };
    let agent = agents::by_name("plain").ok_or("no such agent")?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let command: String = serde_json::from_str(&line?)?;
        let message = json!({"event": "before", "session": "s", "tool": "shell",
            "cwd": project, "arguments": {"command": command}});
        let event = agent
            .read(message.to_string().as_bytes())
            .map_err(|_| "the event cannot be read")?;
        let actions = actions::of(&event, &base);
        let mut conversation = gate.conversation();
        let mut worst = Verdict::Allow;
        let mut reason = String::new();
        let mut programs = Vec::new();
        let mut open = Vec::new();
        for action in &actions.calls {
            let call =
                Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
            let decision = gate.decide(&mut conversation, &call, Attempt::First, 1 << 40);
            if decision.verdict() > worst {
                worst = decision.verdict();
                reason = decision.record().reason;
            }
            if action.tool == "shell" {
                let args: Value = serde_json::from_slice(&action.args)?;
                let words = args.get("args").and_then(Value::as_array);
                let mut all = vec![args.get("program").cloned().unwrap_or_default()];
                all.extend(words.into_iter().flatten().cloned());
                if args.get("dynamic") == Some(&json!(true)) {
                    open.push(all.first().cloned());
                }
                programs.push(all);
            }
        }
        if let Some(why) = actions.unread.filter(|_| worst < Verdict::Ask) {
            worst = Verdict::Ask;
            reason = why;
        }
        let verdict = format!("{worst:?}").to_lowercase();
        let said =
            json!({"verdict": verdict, "reason": reason, "programs": programs, "open": open});
        writeln!(out, "{said}")?;
        out.flush()?;
    }
    Ok(())
}
