//! Assertions and differences of small random policies, against every call there is.

use crate::generate::rng::Rng;
use crate::verify_brute::{answers, condition, gate, glob, policy, setting, shown};
use crate::verify_domain::{Calls, TOOLS};
use bouncer_compiler::policy::{
    Assertion, Cond, Fallback, Policy, Pos, Property, Rule, RuleSet, ToolGlob,
};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Verdict;
use bouncer_verify::{Example, Kind, ListedTool, Options, Relation, diff, verify};

pub fn verdict(rng: &mut Rng) -> Verdict {
    *rng.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

/// A policy with one rule: what it does to a call tells whether a condition holds.
fn probe(tools: &ToolGlob, condition: &Cond, action: Verdict, fallback: Verdict) -> Policy {
    let fallback = Fallback {
        action: fallback,
        at: None,
    };
    Policy {
        files: vec!["probe".to_owned()],
        rules: Some(RuleSet {
            rules: vec![Rule {
                tools: vec![tools.clone()],
                condition: condition.clone(),
                action,
                reason: None,
                at: Pos::default(),
            }],
            on_destructive_hint: fallback,
            on_unknown: fallback,
        }),
        ..Policy::default()
    }
}

pub fn judge(gate: &Gate, example: &Example) -> Verdict {
    let mut conversation = gate.conversation();
    let call = Call::hypothetical(
        example.server.as_deref(),
        &example.tool,
        Some(example.arguments.as_bytes()),
    );
    for _ in 0..example.earlier_calls {
        gate.decide(&mut conversation, &call, Attempt::First, 0);
    }
    gate.decide(&mut conversation, &call, Attempt::First, 0)
        .verdict()
}

/// Whether an assertion is about the calls that a policy of one rule judges so.
pub fn about(property: &Property) -> (Policy, Verdict) {
    let condition = property.condition.clone().unwrap_or(Cond::All(vec![]));
    let strict = matches!(
        (property.always, property.verdict),
        (false, Verdict::Allow) | (true, Verdict::Deny | Verdict::Ask)
    );
    if strict {
        let probe = probe(&property.tools, &condition, Verdict::Deny, Verdict::Allow);
        (probe, Verdict::Deny)
    } else {
        let probe = probe(&property.tools, &condition, Verdict::Allow, Verdict::Deny);
        (probe, Verdict::Allow)
    }
}

#[test]
fn assertions_are_what_trying_every_call_shows() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut proved, mut refuted, mut undecided, mut about_nothing) = (0, 0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(3000)) {
        let rng = &mut Rng::new(seed ^ 0x5eed);
        let lists = rng.chance(15);
        let mut policy = policy(rng, lists);
        let at = Pos {
            file: 0,
            line: 1,
            column: 1,
        };
        let property = Property {
            always: rng.chance(50),
            verdict: verdict(rng),
            tools: glob(rng, at),
            condition: rng.chance(90).then(|| condition(rng, lists, at, 0)),
        };
        policy.assertions = vec![Assertion {
            text: "claim".to_owned(),
            at: Some(at),
            property: property.clone(),
        }];
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let asked: Vec<&Cond> = property.condition.iter().collect();
        let calls = Calls::of(&[&policy], &asked, &[&property.tools], lists);
        let (probe, under) = about(&property);
        let violates = |verdict: Verdict| (verdict == property.verdict) != property.always;
        let full = answers(&policy, &calls);
        let of_probe = answers(&probe, &calls);
        let violated = full
            .iter()
            .zip(&of_probe)
            .position(|((verdict, _), (probe, _))| *probe == under && violates(*verdict));
        let mut seen = false;
        for finding in &report.findings {
            let here = finding.places.first().is_some_and(|place| place.at == at);
            match finding.kind {
                Kind::Assertion => {
                    let example = finding.example.as_ref().unwrap();
                    let real = judge(&gate(&policy), example);
                    assert_eq!(real, example.verdict, "seed {seed}: {finding:#?}");
                    assert!(violates(real), "seed {seed}: {finding:#?}");
                    assert_eq!(
                        judge(&gate(&probe), example),
                        under,
                        "seed {seed}: {finding:#?}\n{}",
                        shown(&policy)
                    );
                    refuted += 1;
                    seen = true;
                }
                Kind::Vacuous if here => {
                    assert!(
                        of_probe.iter().all(|(probe, _)| *probe != under),
                        "seed {seed}"
                    );
                    about_nothing += 1;
                    seen = true;
                }
                Kind::Undecided if here => {
                    undecided += 1;
                    seen = true;
                }
                _ => {}
            }
        }
        assert_eq!(report.proved == 1, !seen, "seed {seed}");
        if report.proved == 1 {
            proved += 1;
            if let Some(call) = violated {
                panic!(
                    "seed {seed}: said to hold, but {:?} is judged {:?}\n{}",
                    calls.calls[call],
                    full[call],
                    shown(&policy)
                );
            }
        }
    }
    println!(
        "{proved} proved, {refuted} refuted, {undecided} undecided, {about_nothing} about nothing"
    );
    assert!(undecided * 10 < proved + refuted, "{undecided} undecided");
}

/// The same policy with something changed.
pub fn changed(rng: &mut Rng, policy: &Policy) -> Policy {
    let mut changed = policy.clone();
    let Some(set) = &mut changed.rules else {
        return changed;
    };
    for _ in 0..1 + rng.below(2) {
        let count = set.rules.len();
        let at = rng.below(count);
        match rng.below(6) {
            0 => set.rules[at].action = verdict(rng),
            1 => {
                set.rules[at].condition = condition(rng, false, set.rules[at].at, 0);
            }
            2 if count > 1 => {
                set.rules.remove(at);
            }
            3 => {
                let rule = set.rules.remove(at);
                set.rules.insert(rng.below(count), rule);
            }
            4 => {
                let rule = set.rules[at].clone();
                set.rules.push(rule);
            }
            _ => set.on_unknown.action = verdict(rng),
        }
    }
    changed
}

#[test]
fn differences_are_what_trying_every_call_shows() {
    let first = setting("BOUNCER_SEED", 0);
    let mut tally = std::collections::BTreeMap::<Relation, u64>::new();
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(8000)) {
        let rng = &mut Rng::new(seed ^ 0xd1ff);
        let old = policy(rng, false);
        let new = changed(rng, &old);
        let listed = rng.chance(70);
        let tools: Vec<ListedTool> = TOOLS
            .iter()
            .filter(|_| listed)
            .map(|name| {
                let json = serde_json::json!({"name": name});
                (None, ToolDefinition::from_json(json).unwrap())
            })
            .collect();
        let diffs = diff(&old, &new, &tools, &Options::default(), &mut |_| {}).unwrap();
        let calls = Calls::of(&[&old, &new], &[], &[], false);
        let (before, after) = (answers(&old, &calls), answers(&new, &calls));
        let (old_gate, new_gate) = (gate(&old), gate(&new));
        for entry in &diffs {
            *tally.entry(entry.relation).or_default() += 1;
            for (change, tighter) in [(&entry.tighter, true), (&entry.looser, false)] {
                let Some(change) = change else { continue };
                assert_eq!(judge(&old_gate, &change.example), change.old, "seed {seed}");
                let now = judge(&new_gate, &change.example);
                assert_eq!(now, change.example.verdict, "seed {seed}");
                assert!(
                    if tighter {
                        now > change.old
                    } else {
                        now < change.old
                    },
                    "seed {seed}"
                );
            }
        }
        for (call, ((was, _), (is, _))) in before.iter().zip(&after).enumerate() {
            if was == is {
                continue;
            }
            let (tool, arguments) = &calls.calls[call];
            let told = diffs
                .iter()
                .filter(|entry| !listed || entry.tool == *tool)
                .any(|entry| {
                    entry.relation == Relation::Undecided
                        || (is > was && entry.tighter.is_some())
                        || (is < was && entry.looser.is_some())
                });
            assert!(
                told,
                "seed {seed}: {tool} {arguments}: {was} is now {is}\n{diffs:#?}\n{}\n{}",
                shown(&old),
                shown(&new)
            );
        }
    }
    println!("{tally:?}");
    let of = |relation| tally.get(&relation).copied().unwrap_or(0);
    for relation in [
        Relation::Equivalent,
        Relation::Tighter,
        Relation::Looser,
        Relation::Incomparable,
    ] {
        assert!(of(relation) > 20, "{tally:?}");
    }
    assert!(
        of(Relation::Undecided) * 10 < of(Relation::Equivalent),
        "{tally:?}"
    );
}
