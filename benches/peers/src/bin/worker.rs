//! bouncer's side of `benches/predecessors/compare.py`: see there for what is said.
//!
//! `worker POLICY CALLS`. Calls are judged from the bytes of their arguments.

#[path = "../timing.rs"]
#[allow(dead_code)]
mod timing;

use bouncer_compiler::{Input, Options};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_plan::Plan;
use bouncer_engine::tools::ToolDefinition;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::hint::black_box;
use std::io::BufRead;
use timing::now;

#[derive(Deserialize)]
struct Recorded<'a> {
    #[serde(borrow)]
    tool: &'a str,
    #[serde(borrow)]
    args: &'a RawValue,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut read = || {
        let path = args.next().expect("usage: worker POLICY CALLS");
        std::fs::read_to_string(path).expect("a readable file")
    };
    let (policy, calls) = (read(), read());
    let calls: Vec<Recorded<'_>> = calls
        .lines()
        .map(|line| serde_json::from_str(line).expect("a call"))
        .collect();

    let start = now();
    let input = Input {
        name: "policy.yaml",
        text: &policy,
    };
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let Ok(loaded) = bouncer_compiler::load(&[input], &options) else {
        panic!("the policy is not read");
    };
    let plan = bouncer_compiler::compile(&loaded.policy).expect("a policy that compiles");
    let mut gate = Gate::new(Plan::load(plan).expect("a plan that loads"));
    let load = now() - start;

    let tools: Vec<ToolDefinition> = calls
        .iter()
        .map(|call| serde_json::json!({"name": call.tool}))
        .map(|json| ToolDefinition::from_json(json).expect("a name"))
        .collect();
    gate.pin(None, &tools, None);
    let mut conversation = gate.conversation();
    let mut judge = |call: &Recorded<'_>| {
        let call = Call::hypothetical(None, call.tool, Some(call.args.get().as_bytes()));
        gate.decide(&mut conversation, &call, Attempt::First, 0)
            .verdict()
    };
    let verdicts: Vec<&str> = calls.iter().map(|call| judge(call).name()).collect();
    println!(
        "{}",
        serde_json::json!({"load": load, "verdicts": verdicts})
    );

    for line in std::io::stdin().lock().lines() {
        let passes: usize = line.expect("input").parse().expect("a number");
        let start = now();
        for _ in 0..passes {
            for call in &calls {
                black_box(judge(black_box(call)));
            }
        }
        println!("{}", (now() - start) / passes as f64 / calls.len() as f64);
    }
}
