//! Every example of every finding is judged as the finding says: over the policies of the
//! corpus, the examples, the packs with the tools that real servers list, and generated
//! policies.

use crate::generate;
use crate::top;
use crate::verify_brute::setting;
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, load};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_verify::{Finding, Kind, ListedTool, Options, Report, verify};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

fn policy(text: &str, packs: bool, heuristics: bool) -> Option<Policy> {
    let input = Input {
        name: "policy.yaml",
        text,
    };
    let options = bouncer_compiler::Options { packs, heuristics };
    Some(load(&[input], &options).ok()?.policy)
}

/// The tools that a real server lists.
fn listed(file: &Path) -> Vec<ListedTool> {
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let server = json["server"].as_str().map(str::to_owned);
    json["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let tool = ToolDefinition::from_json(tool.clone()).unwrap();
            (server.clone(), tool)
        })
        .collect()
}

/// Plays the example of each finding. Returns how many there were, by kind.
fn replay(
    name: &str,
    policy: &Policy,
    tools: &[ListedTool],
    findings: &[Finding],
    tally: &mut BTreeMap<Kind, usize>,
) {
    let plan = Plan::load(bouncer_compiler::compile(policy).unwrap()).unwrap();
    let open = Gate::new(plan.clone());
    let mut pinned = Gate::new(plan);
    let mut servers: Vec<_> = tools.iter().map(|(server, _)| server.clone()).collect();
    servers.sort();
    servers.dedup();
    for server in servers {
        let of_server = tools.iter().filter(|(of, _)| *of == server);
        let definitions: Vec<ToolDefinition> = of_server
            .map(|(_, definition)| definition.clone())
            .collect();
        pinned.pin(server.as_deref(), &definitions, None);
    }
    for finding in findings {
        let Some(example) = &finding.example else {
            continue;
        };
        // Which tool returns what is private is not said.
        if !example.private.is_empty() {
            continue;
        }
        *tally.entry(finding.kind).or_default() += 1;
        let is_listed = tools
            .iter()
            .any(|(server, tool)| *server == example.server && tool.name == example.tool);
        let gate = if is_listed { &pinned } else { &open };
        let mut conversation = gate.conversation();
        for text in &example.untrusted {
            gate.record_untrusted(&mut conversation, None, "untrusted", &json!(text));
        }
        for text in &example.typed {
            gate.record_user(&mut conversation, text);
        }
        let call = Call::hypothetical(
            example.server.as_deref(),
            &example.tool,
            Some(example.arguments.as_bytes()),
        );
        for _ in 0..example.earlier_calls {
            gate.decide(&mut conversation, &call, Attempt::First, 0);
        }
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        let at = decision.position().map(|at| {
            let file = policy
                .files
                .iter()
                .position(|name| name == at.file)
                .unwrap();
            (u32::try_from(file).unwrap(), at.line, at.column)
        });
        assert_eq!(decision.verdict(), example.verdict, "{name}: {finding:#?}");
        assert_eq!(
            decision.stage().name(),
            example.contract,
            "{name}: {finding:#?}"
        );
        assert_eq!(
            at,
            example.decided_at.map(|at| (at.file, at.line, at.column)),
            "{name}: {finding:#?}"
        );
        // Raw, because a number may be beyond a double.
        let json: &serde_json::value::RawValue = serde_json::from_str(&example.arguments).unwrap();
        assert!(json.get().starts_with('{'), "{name}: {finding:#?}");
    }
}

fn verified(policy: &Policy, tools: &[ListedTool]) -> Report {
    verify(policy, tools, &all_orders()).unwrap()
}

#[test]
fn examples_from_the_corpus_replay() {
    let mut tally = BTreeMap::new();
    for file in std::fs::read_dir(top().join("tests/corpus")).unwrap() {
        let file = file.unwrap().path();
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut cases: Vec<(Value, Vec<ListedTool>)> = Vec::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line.get("policy").is_some_and(Value::is_string) {
                cases.push((line, Vec::new()));
            } else if line["type"] == "tools"
                && let Some((_, tools)) = cases.last_mut()
            {
                let server = line["server"].as_str().map(str::to_owned);
                let listed = line["tools"].as_array().into_iter().flatten();
                let named = listed.filter_map(|tool| ToolDefinition::from_json(tool.clone()).ok());
                tools.extend(named.map(|tool| (server.clone(), tool)));
            }
        }
        for (header, tools) in cases {
            let flag = |key: &str| header[key].as_bool().unwrap_or(false);
            let text = header["policy"].as_str().unwrap();
            let Some(policy) = policy(text, flag("packs"), flag("heuristics")) else {
                continue;
            };
            let report = verified(&policy, &tools);
            replay(&name, &policy, &tools, &report.findings, &mut tally);
        }
    }
    println!("{tally:?}");
    assert!(tally.values().sum::<usize>() > 50, "{tally:?}");
}

#[test]
fn examples_from_policies_and_packs_replay() {
    let mut tally = BTreeMap::new();
    for folder in ["examples", "tests/e2e/policies"] {
        for file in std::fs::read_dir(top().join(folder)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|ext| ext != "yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let Some(policy) = policy(&text, true, true) else {
                continue;
            };
            let report = verified(&policy, &[]);
            let name = file.display().to_string();
            replay(&name, &policy, &[], &report.findings, &mut tally);
        }
    }
    let packs = policy("version: 1\n", true, true).unwrap();
    for file in std::fs::read_dir(top().join("tests/fixtures/tools")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|ext| ext != "json") {
            continue;
        }
        let tools = listed(&file);
        let report = verified(&packs, &tools);
        let name = file.display().to_string();
        assert!(report.findings.is_empty(), "{name}: {:#?}", report.findings);
        if tools.is_empty() {
            continue;
        }
        // The same tools with rules over them, and with contracts that lost their gate.
        let names = tools
            .iter()
            .take(6)
            .map(|(_, tool)| format!("  {}: {{max_calls: 3}}\n", json!(tool.name)));
        let text = format!(
            "version: 1\ntools:\n{}rules:\n  - {{tool: '*', when: \"args.path within ['/srv']\", action: allow}}\n  - {{tool: '*__*e*', when: \"args.path within ['/srv/out'] and args.path exists\", action: ask}}\n  - {{tool: '*', when: args.url exists, action: deny}}\n",
            names.collect::<String>()
        );
        // A key with white space does not load.
        let Some(policy) = policy(&text, true, true) else {
            continue;
        };
        let report = verified(&policy, &tools);
        replay(&name, &policy, &tools, &report.findings, &mut tally);
    }
    println!("{tally:?}");
    assert!(
        tally.get(&Kind::OpenExfiltration).is_some_and(|n| *n > 3),
        "{tally:?}"
    );
}

#[test]
fn examples_from_generated_policies_replay() {
    let first = setting("BOUNCER_SEED", 0);
    let mut tally = BTreeMap::new();
    let mut undecided = 0;
    let mut findings = 0;
    let mut reasons = BTreeMap::<String, usize>::new();
    for seed in first..first + setting("BOUNCER_POLICIES", 600) {
        let policy = generate::case(seed).policy;
        let report = verified(&policy, &[]);
        findings += report.findings.len();
        for finding in &report.findings {
            if finding.kind == Kind::Undecided {
                *reasons.entry(finding.message.clone()).or_default() += 1;
                undecided += 1;
            }
        }
        replay(
            &format!("seed {seed}"),
            &policy,
            &[],
            &report.findings,
            &mut tally,
        );
    }
    println!("{tally:?}; {undecided} of {findings} undecided: {reasons:#?}");
    for kind in [Kind::Shadowed, Kind::Redundant, Kind::Conflict] {
        assert!(tally.get(&kind).is_some_and(|n| *n > 50), "{tally:?}");
    }
}

/// With every pair of rules whose order decides.
fn all_orders() -> Options {
    Options {
        all: true,
        ..Options::default()
    }
}
