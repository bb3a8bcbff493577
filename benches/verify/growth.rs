//! How `verify` and `diff` grow with the policy: the table of docs/verify.md.
//!
//! ```console
//! $ cargo run --release -p bouncer-verify --example growth
//! ```
//!
//! Each line is measured in a process of its own, so that its memory is its own. With the whole name
//! of a line as an argument only that one is measured, in this process.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options as Loading, load};
use bouncer_verify::{Kind, Options, Relation, diff, verify};
use std::fmt::Write as _;
use std::time::Instant;

/// The condition of a rule of this number.
type Shape = fn(usize) -> String;

/// What is measured: its name, and the doing of it.
type Case = (String, Box<dyn Fn(&str)>);

/// Shapes of conditions, of rule number `n`.
const SHAPES: [(&str, Shape); 5] = [
    ("literals", |n| format!("args.x == 'word{n}'")),
    ("regexes", |n| {
        format!("args.x matches /(?i)^name{n}[0-9]*$/")
    }),
    ("lists of 20", |n| {
        let items: Vec<String> = (0..20).map(|i| format!("'item{n}x{i}'")).collect();
        format!("args.x in [{}]", items.join(", "))
    }),
    ("number ranges", |n| {
        format!("args.n >= {} and args.n < {}", n * 10, n * 10 + 10)
    }),
    ("bare flags", |n| format!("args.flag{n} == true")),
];

/// Rules whose actions alternate, all but one as `change` says.
fn policy(rules: usize, tools: usize, shape: Shape, change: Option<usize>) -> Policy {
    let mut text = String::from("version: 1\npacks: []\nrules:\n");
    for n in 0..rules {
        let mut action = ["deny", "ask", "allow"][n % 3];
        if change == Some(n) {
            action = ["ask", "allow", "deny"][n % 3];
        }
        let tool = if tools > 1 { n % tools } else { 0 };
        writeln!(
            text,
            "  - {{tool: 's__t{tool}', when: \"{}\", action: {action}}}",
            shape(n)
        )
        .unwrap();
    }
    let input = Input {
        name: "policy.yaml",
        text: &text,
    };
    let options = Loading {
        packs: false,
        heuristics: false,
    };
    load(&[input], &options)
        .unwrap_or_else(|d| panic!("{}", bouncer_compiler::diagnostic::short(&d)))
        .policy
}

/// The most memory that this process had, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.map_or(0, |kib: u64| kib / 1000)
}

fn told(what: &str, start: Instant, outcome: &str) {
    println!(
        "| {what} | {:.1} s | {} MB | {outcome} |",
        start.elapsed().as_secs_f64(),
        memory()
    );
}

fn verified(what: &str, policy: &Policy) {
    let start = Instant::now();
    let report = verify(policy, &[], &Options::default()).unwrap();
    let undecided = report.findings.iter().filter(|f| f.kind == Kind::Undecided);
    let undecided = undecided.count();
    let outcome = format!("{} steps, {undecided} undecided", report.steps);
    told(what, start, &outcome);
}

fn compared(what: &str, old: &Policy, new: &Policy) {
    let start = Instant::now();
    let diffs = diff(old, new, &[], &Options::default(), &mut |_| {}).unwrap();
    let of = |relation| diffs.iter().filter(|d| d.relation == relation).count();
    let outcome = format!(
        "{} equivalent, {} undecided, {} differ",
        of(Relation::Equivalent),
        of(Relation::Undecided),
        diffs.len() - of(Relation::Equivalent) - of(Relation::Undecided)
    );
    told(what, start, &outcome);
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (name, shape) in SHAPES {
        cases.push((
            format!("1,000 rules on one tool: {name}"),
            Box::new(move |what| verified(what, &policy(1000, 1, shape, None))),
        ));
    }
    let [(_, literals), ..] = SHAPES;
    cases.push((
        "10,000 rules over 1,000 tools".to_owned(),
        Box::new(move |what| verified(what, &policy(10_000, 1000, literals, None))),
    ));
    for (name, shape) in SHAPES {
        cases.push((
            format!("diff, one action of 1,000 rules on one tool: {name}"),
            Box::new(move |what| {
                let old = policy(1000, 1, shape, None);
                compared(what, &old, &policy(1000, 1, shape, Some(500)));
            }),
        ));
    }
    for tools in [1, 1000] {
        cases.push((
            format!("diff, one action of 10,000 rules over {tools} tools"),
            Box::new(move |what| {
                let old = policy(10_000, tools, literals, None);
                compared(what, &old, &policy(10_000, tools, literals, Some(5000)));
            }),
        ));
    }
    cases
}

fn main() {
    let wanted = std::env::args().nth(1);
    if let Some(wanted) = wanted {
        for (name, case) in cases().iter().filter(|(name, _)| *name == wanted) {
            case(name);
        }
        return;
    }
    println!("| policy | time | memory | outcome |\n|---|---|---|---|");
    let this = std::env::current_exe().unwrap();
    for (name, _) in cases() {
        std::process::Command::new(&this)
            .arg(name)
            .status()
            .unwrap();
    }
}
