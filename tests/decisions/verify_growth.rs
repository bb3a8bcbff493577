//! How the work of a verification grows with the policy, in steps, which do not depend on
//! the machine. The time is printed.

use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, load};
use bouncer_engine::tools::ToolDefinition;
use bouncer_verify::{Kind, ListedTool, Options, Report, verify};
use serde_json::json;
use std::fmt::Write;

/// Ten rules for each of `tools` tools, and five for all of them.
fn policy(tools: usize) -> (Policy, Vec<ListedTool>) {
    let mut text = String::from("version: 1\npacks: []\nrules:\n");
    let mut rule = |tool: &str, when: &str, action: &str| {
        writeln!(
            text,
            "  - {{tool: '{tool}', when: \"{when}\", action: {action}}}"
        )
        .unwrap();
    };
    rule("*", "any args contains 'BEGIN PRIVATE KEY'", "deny");
    let mut listed = Vec::new();
    for tool in 0..tools {
        let server = tool % 20;
        let name = format!("s{server}__tool{tool}");
        rule(
            &name,
            &format!("args.query matches /(?i)^drop t{tool}/"),
            "deny",
        );
        rule(&name, "args.query contains 'drop'", "ask");
        rule(&name, &format!("args.amount > {}", 1000 + tool), "deny");
        rule(&name, &format!("args.amount > {}", 100 + tool), "ask");
        rule(
            &name,
            &format!("args.to in ['a{tool}@corp.com', 'b@corp.com', '*@partner.example']"),
            "allow",
        );
        rule(&name, "domain(args.to) == 'corp.com'", "ask");
        rule(&name, &format!("args.path within ['/srv/{tool}']"), "allow");
        rule(&name, "args.path within ['/srv']", "ask");
        rule(
            &name,
            &format!("args.kind in ['x', 'y{tool}'] and not args.dry_run == true"),
            "deny",
        );
        rule(&name, "args.path exists", "deny");
        let json = json!({"name": format!("tool{tool}"), "inputSchema": {"type": "object"}});
        let tool = ToolDefinition::from_json(json).unwrap();
        listed.push((Some(format!("s{server}")), tool));
    }
    rule("s1__*", "args.url exists", "ask");
    rule("s2*", "args.url starts_with 'http://'", "deny");
    rule("*", "args.token exists", "ask");
    rule("*__tool7", "", "deny");
    let text = text.replace(", when: \"\"", "");
    let input = Input {
        name: "policy.yaml",
        text: &text,
    };
    let options = bouncer_compiler::Options {
        packs: false,
        heuristics: false,
    };
    let loaded = load(&[input], &options).unwrap_or_else(|d| {
        panic!("{}", bouncer_compiler::diagnostic::short(&d));
    });
    (loaded.policy, listed)
}

fn measured(tools: usize) -> Report {
    let (policy, listed) = policy(tools);
    let report = verify(&policy, &listed, &Options::default()).unwrap();
    let rules = policy.rules.as_ref().unwrap().rules.len();
    println!(
        "{rules} rules over {tools} tools: {} steps, {} findings",
        report.steps,
        report.findings.len()
    );
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.kind != Kind::Undecided),
        "{:#?}",
        report
            .findings
            .iter()
            .find(|finding| finding.kind == Kind::Undecided)
    );
    report
}

#[test]
fn work_grows_with_the_policy_and_no_faster() {
    let (small, large) = (measured(10), measured(40));
    assert!(
        large.steps < small.steps * 6,
        "{} to {}",
        small.steps,
        large.steps
    );
    // `BOUNCER_TOOLS` measures other sizes.
    if let Ok(tools) = std::env::var("BOUNCER_TOOLS") {
        measured(tools.parse().unwrap());
    }
}

#[test]
fn the_budget_ends_the_work_and_is_told() {
    let (policy, listed) = policy(10);
    let options = Options {
        budget: 2000,
        ..Options::default()
    };
    let report = verify(&policy, &listed, &options).unwrap();
    let undecided = report
        .findings
        .iter()
        .filter(|finding| finding.kind == Kind::Undecided);
    assert!(undecided.count() > 0);
    assert!(report.steps <= 2000 + 100);
}
