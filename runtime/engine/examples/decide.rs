//! The runtime by itself: loads a plan, pins one tool, judges one call, as often as asked.
//!
//! `decide PLAN SERVER TOOL ARGUMENTS TIMES`, where `ARGUMENTS` is a file. Prints the verdict. The regression guard
//! (`benches/guard/run`) counts its instructions.

use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use std::error::Error;
use std::hint::black_box;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plan, server, tool, file, times] = arguments.as_slice() else {
        return Err("usage: decide PLAN SERVER TOOL ARGUMENTS TIMES".into());
    };
    let mut gate = Gate::new(Plan::load(std::fs::read(plan)?)?);
    let definition = ToolDefinition::from_json(serde_json::json!({ "name": tool }))?;
    gate.pin(Some(server), &[definition], None);
    let arguments = std::fs::read(file)?;
    let mut conversation = gate.conversation();
    let call = Call::hypothetical(Some(server), tool, Some(&arguments));
    let mut verdict = None;
    for _ in 0..times.parse::<u32>()? {
        let call = black_box(&call);
        let decision = gate.decide(&mut conversation, call, Attempt::First, 0);
        verdict = Some(black_box(decision.verdict()));
    }
    if let Some(verdict) = verdict {
        println!("{verdict}");
    }
    Ok(())
}
