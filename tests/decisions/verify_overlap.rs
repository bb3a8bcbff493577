//! What `verify` and `diff` say where tests look at overlapping paths, against every call of
//! a domain: `args` as a whole, `x` with `x.b`, `x[0]` and `X`.
//!
//! Nothing that is said may be false. How much is found and how much stays undecided is
//! counted, with bounds. `BOUNCER_POLICIES` sets how many policies are tried, `BOUNCER_SEED`
//! the first.

use crate::generate::rng::Rng;
use crate::verify_brute::{answers_to, condition, glob, policy, setting, shown};
use crate::verify_claims::{about, changed, judge, verdict};
use crate::verify_domain::{TOOLS, leaves_of, names};
use bouncer_compiler::policy::{
    Assertion, Cond, Op, Path, Policy, Pos, Property, Quantifier, Segment, Subject, View,
};
use bouncer_engine::gate::Gate;
use bouncer_plan::Plan;
use bouncer_verify::{Kind, Options, Relation, diff, verify};
use std::collections::BTreeSet;

/// Leaves of one domain: each argument takes all of them, lists and objects pairs.
const MOST_LEAVES: usize = 7;

fn key(name: &str) -> Segment {
    Segment::Key(name.to_owned())
}

/// A path that overlaps with others.
fn path(rng: &mut Rng) -> Path {
    Path(match rng.below(20) {
        0..=6 => vec![key("x")],
        7..=9 => vec![key("y")],
        10..=13 => vec![key("x"), key("b")],
        14 | 15 => vec![key("x"), Segment::Index(0)],
        16..=18 => vec![],
        _ => vec![key("X")],
    })
}

/// The same condition about overlapping paths.
fn overlapping(rng: &mut Rng, cond: Cond) -> Cond {
    match cond {
        Cond::All(parts) => Cond::All(parts.into_iter().map(|p| overlapping(rng, p)).collect()),
        Cond::Any(parts) => Cond::Any(parts.into_iter().map(|p| overlapping(rng, p)).collect()),
        Cond::Not(part) => Cond::Not(Box::new(overlapping(rng, *part))),
        Cond::Test(mut test) => {
            let path = path(rng);
            // What looks at everything most often asks for any of it.
            test.quantifier = match rng.below(10) {
                _ if path.0.is_empty() && rng.chance(60) => Quantifier::Any,
                0 | 1 => Quantifier::Any,
                2 => Quantifier::All,
                _ => Quantifier::Pick,
            };
            test.subject = Subject::Arg(path, View::Value);
            Cond::Test(test)
        }
    }
}

fn overlapping_policy(rng: &mut Rng) -> Policy {
    let mut policy = policy(rng, false);
    overlap_all(rng, &mut policy);
    policy
}

fn overlap_all(rng: &mut Rng, policy: &mut Policy) {
    for rule in policy.rules.iter_mut().flat_map(|set| &mut set.rules) {
        let written = std::mem::replace(&mut rule.condition, Cond::All(vec![]));
        rule.condition = overlapping(rng, written);
    }
}

/// Calls with values, lists and objects at `x`, and values at `y` and `X`. `None` where the
/// tests tell too many values apart.
fn calls(policies: &[&Policy], conditions: &[&Cond]) -> Option<Vec<(&'static str, String)>> {
    let mut ops: Vec<&Op> = Vec::new();
    let mut mixed = false;
    let rules = policies.iter().filter_map(|policy| policy.rules.as_ref());
    let rules = rules.flat_map(|set| &set.rules).map(|rule| &rule.condition);
    for cond in rules.chain(conditions.iter().copied()) {
        tests(cond, &mut |path, op| {
            mixed |= path.0.first() == Some(&key("X"));
            if !ops.contains(&op) {
                ops.push(op);
            }
        });
    }
    let leaves = leaves_of(&ops);
    if leaves.len() > MOST_LEAVES {
        return None;
    }
    let mut xs: Vec<Option<String>> = vec![None, Some("[]".to_owned()), Some("{}".to_owned())];
    for (at, first) in leaves.iter().enumerate() {
        xs.push(Some(first.clone()));
        xs.push(Some(format!("[{first}]")));
        xs.push(Some(format!("{{\"b\":{first}}}")));
        xs.push(Some(format!("{{\"c\":{first}}}")));
        for (other, second) in leaves.iter().enumerate() {
            xs.push(Some(format!("[{first},{second}]")));
            xs.push(Some(format!("[{first},{{\"b\":{second}}}]")));
            xs.push(Some(format!("[{{\"b\":{first}}},{second}]")));
            xs.push(Some(format!("{{\"b\":{first},\"c\":{second}}}")));
            if other > at {
                xs.push(Some(format!("{{\"b\":[{first},{second}]}}")));
            }
        }
    }
    let mut simple: Vec<Option<String>> = vec![None];
    simple.extend(leaves.iter().cloned().map(Some));
    let upper = if mixed { simple.clone() } else { vec![None] };
    let mut tools = Vec::new();
    let mut told = BTreeSet::new();
    for tool in TOOLS {
        let rules = policies.iter().filter_map(|policy| policy.rules.as_ref());
        let rules = rules.flat_map(|set| &set.rules);
        let matched: Vec<bool> = rules
            .map(|rule| rule.tools.iter().any(|glob| names(glob, tool)))
            .collect();
        if told.insert(matched) {
            tools.push(tool);
        }
    }
    let mut calls = Vec::new();
    for tool in tools {
        for x in &xs {
            for y in &simple {
                for big in &upper {
                    let members = [("x", x), ("y", y), ("X", big)];
                    let members: Vec<String> = members
                        .iter()
                        .filter_map(|(name, value)| {
                            Some(format!("\"{name}\":{}", (*value).as_ref()?))
                        })
                        .collect();
                    calls.push((tool, format!("{{{}}}", members.join(","))));
                }
            }
        }
    }
    Some(calls)
}

fn tests<'c>(cond: &'c Cond, see: &mut dyn FnMut(&'c Path, &'c Op)) {
    match cond {
        Cond::All(parts) | Cond::Any(parts) => parts.iter().for_each(|part| tests(part, see)),
        Cond::Not(part) => tests(part, see),
        Cond::Test(test) => {
            if let Subject::Arg(path, _) = &test.subject {
                see(path, &test.op);
            }
        }
    }
}

fn alone(policy: &Policy, rule: usize) -> Policy {
    let mut alone = policy.clone();
    if let Some(set) = &mut alone.rules {
        set.rules = vec![set.rules[rule].clone()];
    }
    alone
}

fn compiled(policy: &Policy) -> Gate {
    Gate::new(Plan::load(bouncer_compiler::compile(policy).unwrap()).unwrap())
}

#[test]
fn dead_rules_over_overlapping_paths() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut tried, mut rules, mut dead, mut found, mut unknown) = (0, 0, 0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(2000)) {
        let policy = overlapping_policy(&mut Rng::new(seed ^ 0x0ead));
        let Some(calls) = calls(&[&policy], &[]) else {
            continue;
        };
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let full = answers_to(&policy, &calls);
        tried += 1;
        let set = policy.rules.as_ref().unwrap();
        for rule in 0..set.rules.len() {
            rules += 1;
            let line = set.rules[rule].at.line;
            let about = |kind: Kind| {
                report.findings.iter().filter(move |finding| {
                    finding.kind == kind && finding.places[0].at.line == line
                })
            };
            let reported = about(Kind::Shadowed)
                .chain(about(Kind::Redundant).filter(|f| !f.message.contains("without it")))
                .chain(
                    about(Kind::Vacuous)
                        .filter(|f| f.message.starts_with("no call satisfies the condition")),
                )
                .next();
            let decides = full.iter().position(|(_, by)| *by == Some(rule as u32));
            if let (Some(call), Some(finding)) = (decides, reported)
                && !finding.message.contains("disguise")
            {
                panic!(
                    "seed {seed}: rule {rule} decides {:?}\n{finding:#?}\n{}",
                    calls[call],
                    shown(&policy)
                );
            }
            unknown += u32::from(about(Kind::Undecided).next().is_some());
            if decides.is_none() {
                dead += 1;
                found += u32::from(reported.is_some());
                if reported.is_none() && std::env::var_os("BOUNCER_SHOW").is_some() {
                    let matches = answers_to(&alone(&policy, rule), &calls);
                    let some = matches.iter().any(|(_, by)| *by == Some(0));
                    println!(
                        "seed {seed}: rule {rule} is dead (satisfiable {some})\n{}",
                        shown(&policy)
                    );
                }
            }
        }
    }
    println!("{tried} policies, {rules} rules, {dead} dead, {found} found, {unknown} undecided");
    assert!(
        found * 100 >= dead * 95,
        "{found} of {dead} dead rules found"
    );
    assert!(unknown * 100 <= rules * 5, "{unknown} of {rules} undecided");
}

#[test]
fn assertions_over_overlapping_paths() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut proved, mut refuted, mut unknown, mut nothing) = (0, 0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(3000)) {
        let rng = &mut Rng::new(seed ^ 0xa55e);
        let mut policy = overlapping_policy(rng);
        let at = Pos {
            file: 0,
            line: 1,
            column: 1,
        };
        let property = Property {
            always: rng.chance(50),
            verdict: verdict(rng),
            tools: glob(rng, at),
            condition: rng.chance(90).then(|| {
                let written = condition(rng, false, at, 0);
                overlapping(rng, written)
            }),
        };
        policy.assertions = vec![Assertion {
            text: "claim".to_owned(),
            at: Some(at),
            property: property.clone(),
        }];
        let asked: Vec<&Cond> = property.condition.iter().collect();
        let Some(calls) = calls(&[&policy], &asked) else {
            continue;
        };
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let (probe, under) = about(&property);
        let violates = |verdict| (verdict == property.verdict) != property.always;
        let here = report
            .findings
            .iter()
            .find(|f| f.places.first().is_some_and(|place| place.at == at));
        match here.map(|finding| finding.kind) {
            Some(Kind::Assertion) => {
                let example = here.and_then(|f| f.example.as_ref()).unwrap();
                let verdict = judge(&compiled(&policy), example);
                let is_about = judge(&compiled(&probe), example) == under;
                assert!(violates(verdict) && is_about, "seed {seed}: {here:#?}");
                refuted += 1;
            }
            Some(Kind::Undecided) => {
                unknown += 1;
                if std::env::var_os("BOUNCER_SHOW").is_some() {
                    println!("seed {seed}: undecided {property:?}\n{}", shown(&policy));
                }
            }
            Some(Kind::Vacuous) => {
                let of_probe = answers_to(&probe, &calls);
                assert!(of_probe.iter().all(|(v, _)| *v != under), "seed {seed}");
                nothing += 1;
            }
            _ => {
                let of_probe = answers_to(&probe, &calls);
                let full = answers_to(&policy, &calls);
                let wrong = full
                    .iter()
                    .zip(&of_probe)
                    .position(|((v, _), (p, _))| *p == under && violates(*v));
                if let Some(call) = wrong {
                    panic!(
                        "seed {seed}: said to hold, but {:?}\n{}",
                        calls[call],
                        shown(&policy)
                    );
                }
                proved += 1;
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {unknown} undecided, {nothing} about nothing");
    let all = proved + refuted + unknown + nothing;
    assert!(unknown * 100 <= all * 3, "{unknown} of {all} undecided");
}

#[test]
fn differences_over_overlapping_paths() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut same, mut differ, mut unknown) = (0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(2000)) {
        let rng = &mut Rng::new(seed ^ 0x0d1f);
        let old = overlapping_policy(rng);
        let mut new = changed(rng, &old);
        if rng.chance(50) {
            // Another test in one rule.
            let set = new.rules.as_mut().unwrap();
            let at = rng.below(set.rules.len());
            let written = condition(rng, false, set.rules[at].at, 0);
            set.rules[at].condition = overlapping(rng, written);
        }
        // No example shows what only a tool's own definition says: that is counted apart.
        let hinted = rng.chance(20);
        let set = new.rules.as_mut().unwrap();
        set.on_destructive_hint.action = if hinted {
            verdict(rng)
        } else {
            set.on_unknown.action
        };
        let Some(calls) = calls(&[&old, &new], &[]) else {
            continue;
        };
        let diffs = diff(&old, &new, &[], &Options::default(), &mut |_| {}).unwrap();
        let (before, after) = (answers_to(&old, &calls), answers_to(&new, &calls));
        let (old_gate, new_gate) = (compiled(&old), compiled(&new));
        for entry in &diffs {
            match entry.relation {
                Relation::Equivalent => same += 1,
                Relation::Undecided if hinted => {}
                Relation::Undecided => {
                    unknown += 1;
                    if std::env::var_os("BOUNCER_SHOW").is_some() {
                        println!("seed {seed}: {entry:#?}\n{}\n{}", shown(&old), shown(&new));
                    }
                }
                _ => differ += 1,
            }
            for (change, tighter) in [(&entry.tighter, true), (&entry.looser, false)] {
                let Some(change) = change else { continue };
                let was = judge(&old_gate, &change.example);
                let is = judge(&new_gate, &change.example);
                assert!(if tighter { is > was } else { is < was }, "seed {seed}");
            }
        }
        for (call, ((was, _), (is, _))) in before.iter().zip(&after).enumerate() {
            let told = was == is
                || diffs.iter().any(|entry| {
                    entry.relation == Relation::Undecided
                        || (is > was && entry.tighter.is_some())
                        || (is < was && entry.looser.is_some())
                });
            assert!(
                told,
                "seed {seed}: {:?}: {was} is now {is}\n{diffs:#?}\n{}\n{}",
                calls[call],
                shown(&old),
                shown(&new)
            );
        }
    }
    println!("{same} equivalent, {differ} differ, {unknown} undecided");
    let all = same + differ + unknown;
    assert!(unknown * 100 <= all * 5, "{unknown} of {all} undecided");
}
