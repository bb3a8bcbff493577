//! Two engines answer every generated conversation alike.
//!
//! `BOUNCER_CASES` sets how many conversations (about twenty calls each) are played,
//! `BOUNCER_SEED` the first seed.

use crate::engine::{Make, compiled, play, reference};
use crate::generate::{self, Case, Step, shrink};
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use std::collections::BTreeMap;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("`{name}` is not a number: `{text}`"))
    })
}

fn differs(case: &Case, left: Make<'_>, right: Make<'_>) -> bool {
    play(case, left(&case.policy).as_mut()) != play(case, right(&case.policy).as_mut())
}

/// Plays many cases on both engines; on the first difference, shows a small one.
pub fn compare(cases: u64, left: Make<'_>, right: Make<'_>) {
    let first = setting("BOUNCER_SEED", 0);
    for seed in first..first + setting("BOUNCER_CASES", cases) {
        let case = generate::case(seed);
        if !differs(&case, left, right) {
            continue;
        }
        let small = shrink::shrink(case, |case| differs(case, left, right));
        panic!(
            "seed {seed}:\n{small}left:  {:#?}\nright: {:#?}",
            play(&small, left(&small.policy).as_mut()),
            play(&small, right(&small.policy).as_mut())
        );
    }
}

#[test]
fn the_gate_decides_as_the_reference() {
    compare(crate::share(6000), &reference, &compiled);
}

/// The generators are only worth something if every kind of answer is common.
#[test]
fn generated_cases_reach_every_answer() {
    let mut seen: BTreeMap<(Stage, Verdict), usize> = BTreeMap::new();
    let mut questions = 0;
    for seed in 0..1500 {
        let case = generate::case(seed);
        for answer in play(&case, reference(&case.policy).as_mut()) {
            *seen.entry((answer.stage, answer.verdict)).or_default() += 1;
            questions += usize::from(answer.question.is_some());
        }
    }
    println!("{seen:#?} {questions}");
    let expected = [
        (Stage::Malformed, Verdict::Deny),
        (Stage::Pinning, Verdict::Ask),
        (Stage::Pinning, Verdict::Deny),
        (Stage::Budget, Verdict::Deny),
        (Stage::Constraint, Verdict::Deny),
        (Stage::Rule, Verdict::Allow),
        (Stage::Rule, Verdict::Ask),
        (Stage::Rule, Verdict::Deny),
        (Stage::SinkGate, Verdict::Ask),
        (Stage::SinkGate, Verdict::Deny),
        (Stage::Effect, Verdict::Ask),
        (Stage::Effect, Verdict::Deny),
        (Stage::Default, Verdict::Allow),
        (Stage::Default, Verdict::Ask),
    ];
    for kind in expected {
        assert!(seen.get(&kind).is_some_and(|n| *n > 100), "{kind:?}");
    }
    assert_eq!(seen.len(), expected.len());
    assert!(questions > 300);
}

/// A case is a function of its seed, and an engine a function of the case.
#[test]
fn cases_and_answers_are_deterministic() {
    compare(50, &reference, &reference);
    let calls = |case: &Case| {
        let call = |step: &&Step| matches!(step, Step::Call { .. });
        case.steps.iter().filter(call).count()
    };
    assert_eq!(generate::case(7).to_string(), generate::case(7).to_string());
    assert!(calls(&generate::case(7)) > 5);
}
