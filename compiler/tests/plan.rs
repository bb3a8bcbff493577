//! Plans as files: equal for equal policies, refused when damaged, harmless when
//! forged.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing
)]

use bouncer_compiler::{Input, Options, compile, compile_on, load};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_plan::format::{Group, MAX_WINDOWED_CALLS, PathEdge, Section};
use bouncer_plan::{Plan, digest_of};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::mem::offset_of;

fn plan_of(name: &str, text: &str, packs: bool) -> Vec<u8> {
    let options = Options {
        packs,
        heuristics: true,
    };
    let loaded = load(&[Input { name, text }], &options).expect("the example loads");
    compile(&loaded.policy).expect("the example compiles")
}

const EXAMPLES: [(&str, &str); 4] = [
    ("bouncer.yaml", include_str!("../../examples/bouncer.yaml")),
    (
        "border-patrol.yaml",
        include_str!("../../examples/border-patrol.yaml"),
    ),
    ("policy.yaml", include_str!("../../examples/policy.yaml")),
    ("demo.yaml", include_str!("../../examples/demo.yaml")),
];

#[test]
fn equal_policies_give_equal_bytes() {
    for (name, text) in EXAMPLES {
        let first = plan_of(name, text, true);
        assert!(Plan::load(first.clone()).is_ok(), "{name}");
        assert_eq!(first, plan_of(name, text, true), "{name}");
    }
}

/// Threads share lists of patterns out, and the patterns of one list, and which of them is
/// through first is up to the machine.
#[test]
fn the_number_of_threads_makes_no_difference() {
    let mut text = String::from("version: 1\npacks: []\nrules:\n");
    for n in 0..240 {
        let (tool, pattern) = match n % 4 {
            0 => (n % 12, format!("a{}.*b{n}", n % 5)),
            1 => (n % 3, format!(r"\b(key|token)_{n}[a-z0-9]{{4,12}}\b")),
            2 => (1, format!("(?i)word{n}[_-][0-9a-z]{{12}}")),
            _ => (n % 9, format!("^(drop|delete) tbl_{n}")),
        };
        let rule = "action: deny, match: {args.q: {regex:";
        writeln!(text, "- {{tool: t{tool}, {rule} '{pattern}'}}}}}}").unwrap();
    }
    let bare = Options {
        packs: false,
        heuristics: false,
    };
    let load = |text: &str| {
        let input = Input {
            name: "many.yaml",
            text,
        };
        load(&[input], &bare).expect("the policy loads")
    };
    let loaded = load(&text);
    let on = |threads| {
        let mut last = (0, 0);
        let plan = compile_on(&loaded.policy, threads, &mut |progress| {
            assert!(last.0 <= progress.done && progress.done <= progress.all);
            last = (progress.done, progress.all);
        });
        assert_eq!(last.0, last.1, "{threads} threads");
        plan.expect("the policy compiles")
    };
    let one = on(1);
    assert!(Plan::load(one.clone()).is_ok());
    for threads in [2, 3, 8] {
        assert!(on(threads) == one, "{threads} threads");
    }
    // Nor to what is wrong, and to its order.
    for n in [7, 3, 5] {
        let huge = r"\w{1000}{100}";
        let rule = "action: deny, match: {args.q: {regex:";
        writeln!(text, "- {{tool: t{n}, {rule} 'x{n}{huge}'}}}}}}").unwrap();
    }
    let loaded = load(&text);
    let errors = |threads| compile_on(&loaded.policy, threads, &mut |_| {}).unwrap_err();
    let one = errors(1);
    assert_eq!(one.len(), 3);
    assert_eq!(errors(4), one);
}

#[test]
fn a_plan_holds_no_absolute_path() {
    for (name, text) in EXAMPLES {
        let plan = plan_of(name, text, true);
        let here = env!("CARGO_MANIFEST_DIR").as_bytes();
        assert!(
            !plan.windows(here.len()).any(|window| window == here),
            "{name}"
        );
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let plan = plan_of("demo.yaml", include_str!("../../examples/demo.yaml"), false);
    for at in 0..plan.len() {
        let mut damaged = plan.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Plan::load(damaged).is_err(), "bit {} of byte {at}", at % 8);
    }
}

#[test]
fn every_truncation_is_refused() {
    let plan = plan_of("demo.yaml", include_str!("../../examples/demo.yaml"), false);
    for length in 0..plan.len() {
        assert!(
            Plan::load(plan[..length].to_vec()).is_err(),
            "{length} bytes"
        );
    }
    let mut longer = plan;
    longer.push(0);
    assert!(Plan::load(longer).is_err());
}

#[test]
fn errors_say_what_is_wrong() {
    let plan = plan_of("demo.yaml", include_str!("../../examples/demo.yaml"), false);
    let message = |bytes: Vec<u8>| Plan::load(bytes).unwrap_err().to_string();
    assert!(message(b"version: 1\n".to_vec()).contains("not a plan"));
    let mut newer = plan.clone();
    newer[8] = 99;
    assert!(message(newer).contains("format 99"));
    assert!(message(plan[..200].to_vec()).contains("ends inside"));
    let mut damaged = plan;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(message(damaged).contains("digest"));
}

/// The time of every call within a window is kept: a plan that asks for more than a policy
/// may would take the memory at the first call.
#[test]
fn what_a_window_remembers_is_bounded() {
    let text = "version: 1\n\
        tools: {send: {rate: 98765/day}}\n\
        rules: [{tool: send, when: 'calls(this) > 54321 per 1h', action: deny}]\n";
    let plan = plan_of("windows.yaml", text, false);
    let changed = |from: u32, to: u32| {
        let mut plan = plan.clone();
        let places: Vec<usize> = (64..plan.len() - 3)
            .filter(|&at| plan[at..at + 4] == from.to_le_bytes())
            .collect();
        let [at] = places[..] else {
            panic!("{from} stands at {places:?}")
        };
        plan[at..at + 4].copy_from_slice(&to.to_le_bytes());
        let digest = digest_of(&plan);
        plan[32..64].copy_from_slice(&digest);
        Plan::load(plan)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(changed(98765, MAX_WINDOWED_CALLS), Ok(()));
    assert!(changed(98765, MAX_WINDOWED_CALLS + 1).is_err_and(|error| error.contains("rates")));
    assert_eq!(changed(54323, MAX_WINDOWED_CALLS + 2), Ok(()));
    assert!(changed(54323, MAX_WINDOWED_CALLS + 3).is_err_and(|error| error.contains("groups")));
}

/// A plan with records changed, and what loading it says.
fn forged(plan: &[u8], section: Section, change: impl FnOnce(&mut [u8])) -> Result<(), String> {
    let loaded = Plan::load(plan.to_vec()).unwrap();
    let part = loaded.section(section);
    let start = part.as_ptr() as usize - loaded.bytes().as_ptr() as usize;
    let mut plan = plan.to_vec();
    change(&mut plan[start..start + part.len()]);
    let digest = digest_of(&plan);
    plan[32..64].copy_from_slice(&digest);
    Plan::load(plan)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[test]
fn a_place_of_the_arguments_is_reached_in_one_way() {
    let text =
        "version: 1\nrules: [{tool: t, when: 'args.ab == 1 and args.aB == 2', action: deny}]\n";
    let plan = plan_of("paths.yaml", text, false);
    assert_eq!(forged(&plan, Section::PathEdges, |_| {}), Ok(()));
    let result = forged(&plan, Section::PathEdges, |edges| {
        let (size, child) = (size_of::<PathEdge>(), offset_of!(PathEdge, child));
        edges.copy_within(child..child + 4, size + child);
    });
    assert!(result.is_err_and(|error| error.contains("path edges")));
}

/// Groups that all look at everything that any of them looks at.
#[test]
fn records_cannot_share_without_measure() {
    let mut text = String::from("version: 1\nrules:\n");
    for n in 0..3000 {
        text.push_str(&format!(
            "- {{tool: t{n}, when: 'args.a{} == 1', action: deny}}\n",
            n % 10
        ));
    }
    let plan = plan_of("groups.yaml", &text, false);
    let result = forged(&plan, Section::Groups, |groups| {
        let (size, range) = (size_of::<Group>(), offset_of!(Group, dimensions));
        let count = (groups.len() / size) as u32;
        for group in groups.chunks_exact_mut(size) {
            group[range..range + 4].copy_from_slice(&0_u32.to_le_bytes());
            group[range + 4..range + 8].copy_from_slice(&count.to_le_bytes());
        }
    });
    assert!(result.is_err_and(|error| error.contains("groups")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// A forger who fixes the digest gets an error or a plan that decides without a
    /// panic.
    #[test]
    fn forged_plans_are_harmless(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut plan = plan_of("demo.yaml", include_str!("../../examples/demo.yaml"), false);
        for (index, value) in edits {
            let at = 64 + index.index(plan.len() - 64);
            plan[at] = value;
        }
        let digest = digest_of(&plan);
        plan[32..64].copy_from_slice(&digest);
        if let Ok(plan) = Plan::load(plan) {
            let gate = Gate::new(plan);
            let mut conversation = gate.conversation();
            let arguments = br#"{"to":["a@corp.example","x@evil.example"],"body":"4111 1111 1111 1111"}"#;
            for tool in ["send_email", "delete_message", "read_inbox"] {
                let call = Call::hypothetical(Some("mail"), tool, Some(arguments));
                let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
                let _ = (decision.reason(), decision.position(), decision.code());
            }
        }
    }
}
