//! Results that are taken apart later, or elsewhere, against ones that are taken apart at once.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;
use std::thread::JoinHandle;

/// What may happen to a record, in any order.
#[derive(Clone, Debug)]
enum Step {
    Result(Value, Label),
    Observed(Value),
    /// Asks about something.
    Ask(usize),
    /// Hands the record to another thread, which runs when it likes.
    Elsewhere,
    /// As [`Step::Elsewhere`], but nobody takes it apart there.
    Dropped,
    /// Looks whether it has come back.
    Look,
    Typed,
}

const ASKED: [&str; 8] = [
    "eve@evil.example",
    "https://evil.example/a?b=c",
    "x+y@evil.example",
    "general",
    "+49 30 123456789",
    "nobody@nowhere.example",
    "one two three",
    "mallory@evil.example",
];

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(ASKED.as_slice()).prop_map(str::to_owned),
        Just("bWFsbG9yeUBldmlsLmV4YW1wbGU=".to_owned()),
        Just("\\u0040".to_owned()),
        Just("- ".to_owned()),
        Just("null".to_owned()),
        "[a-z]{0,8}",
        any::<String>(),
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

fn content(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn result() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => text().prop_map(|text| content(&text)),
        1 => (text(), text()).prop_map(|(a, b)| content(&json!([a, {b: null}]).to_string())),
        1 => text().prop_map(|a| content(&json!([[], "", a, {}]).to_string())),
        1 => Just(content("[null, true, {}]")),
        1 => Just(content("[1, 2, 3]")),
        1 => Just(json!({"content": []})),
        1 => (text(), text()).prop_map(|(a, b)| json!({"structuredContent": {a: b}, "content": []})),
        1 => (text(), text()).prop_map(|(a, b)| json!({"content": [
            {"type": "text", "text": a}, {"type": "text", "text": b, "_meta": {"ifc": "observed"}}]})),
        1 => text().prop_map(|a| json!({"isError": true, "content": [{"type": "text", "text": a}]})),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let label = prop_oneof![
        6 => Just(Label::Untrusted),
        3 => Just(Label::Observed),
        1 => Just(Label::Trusted)
    ];
    prop_oneof![
        5 => (result(), label).prop_map(|(result, label)| Step::Result(result, label)),
        1 => text().prop_map(|text| Step::Observed(json!({"description": text}))),
        4 => (0..ASKED.len()).prop_map(Step::Ask),
        2 => Just(Step::Elsewhere),
        1 => Just(Step::Dropped),
        1 => Just(Step::Look),
        1 => Just(Step::Typed),
    ]
}

fn elsewhere(later: &mut Provenance, threads: &mut Vec<JoinHandle<()>>) {
    if let Some(settling) = later.settle_elsewhere() {
        threads.push(std::thread::spawn(|| settling.run()));
    }
}

fn found(provenance: &Provenance, destination: &str) -> [bool; 4] {
    let mut scratch = Scratch::default();
    let evidence = provenance.evidence(destination, &mut scratch);
    [
        evidence.trusted.is_some(),
        evidence.observed.is_some(),
        evidence.untrusted.is_some(),
        evidence.incomplete,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_taken_apart_later_is_found_as_if_it_had_been_at_once(
        steps in prop::collection::vec(step(), 1..20),
    ) {
        let (mut at_once, mut later) = (Provenance::default(), Provenance::default());
        let mut threads = Vec::new();
        for (call, step) in steps.iter().enumerate() {
            let source = source(call as u64);
            match step {
                Step::Result(result, label) => {
                    let labels = OutputLabels::all(*label);
                    let expected = at_once.record_result(&source, &labels, result);
                    let read = later.record_shared(&source, &labels, &Arc::new(result.clone()));
                    prop_assert_eq!(read, expected);
                }
                Step::Observed(said) => {
                    at_once.record_observed(&source, "tool", said);
                    later.record_observed_shared(&source, "tool", &Arc::new(said.clone()));
                }
                Step::Ask(which) => {
                    let asked = ASKED[*which];
                    // Never less than what was read, also before it is taken apart.
                    let (expected, early) = (found(&at_once, asked), found(&later, asked));
                    prop_assert!(early[2] || early == expected, "{early:?} {expected:?}");
                    prop_assert!(later.any_read() || !at_once.any_read());
                    later.settle();
                    prop_assert_eq!(found(&later, asked), expected, "{}", asked);
                    prop_assert_eq!(later.any_read(), at_once.any_read());
                }
                Step::Elsewhere => elsewhere(&mut later, &mut threads),
                Step::Dropped => drop(later.settle_elsewhere()),
                Step::Look => {
                    later.is_elsewhere();
                }
                Step::Typed => {
                    at_once.record_typed("mail eve@evil.example");
                    later.record_typed("mail eve@evil.example");
                }
            }
        }
        later.settle();
        for asked in ASKED {
            prop_assert_eq!(found(&later, asked), found(&at_once, asked), "{}", asked);
            let typed = later.is_typed(asked, &mut Scratch::default());
            prop_assert_eq!(typed, at_once.is_typed(asked, &mut Scratch::default()));
        }
        for thread in threads {
            prop_assert!(thread.join().is_ok());
        }
    }
}

#[test]
fn where_something_was_read_is_told_as_if_it_had_been_taken_apart_at_once() {
    let mut later = Provenance::default();
    let result = Arc::new(content(&format!("write to {ATTACKER}")));
    later.record_shared(&source(7), &OutputLabels::default(), &result);
    assert!(later.unread_bytes() > 0);
    let settling = later.settle_elsewhere().unwrap();
    assert!(later.is_elsewhere() && later.settle_elsewhere().is_none());
    assert!(
        later
            .private_in("anything", &mut Scratch::default())
            .is_err()
    );
    settling.run();
    assert!(!later.is_elsewhere());
    let mut scratch = Scratch::default();
    let origin = later.evidence(ATTACKER, &mut scratch).untrusted.unwrap();
    assert_eq!((origin.call, origin.field), (7, "content[0].text"));
    assert!(origin.time > 0 && origin.time <= later.latest());
}

/// A thread that dies takes what was read with it: then everything counts as read.
#[test]
fn a_record_that_is_lost_vouches_for_nothing() {
    let mut later = Provenance::default();
    let result = Arc::new(content("hello there"));
    later.record_shared(&source(1), &OutputLabels::default(), &result);
    let settling = later.settle_elsewhere().unwrap();
    let lost = std::thread::spawn(move || {
        let _settling = settling;
        std::panic::resume_unwind(Box::new("dies"));
    });
    assert!(lost.join().is_err());
    // It came back as it went: nobody had begun.
    assert!(!later.is_elsewhere());
    later.settle();
    assert_eq!(ask(&later, "nobody@nowhere.example"), "");

    later.unread.lose();
    later.settle();
    let evidence = later.evidence("nobody@nowhere.example", &mut Scratch::default());
    assert!(evidence.untrusted.is_some() && evidence.trusted.is_none() && evidence.incomplete);
    assert!(later.settle_elsewhere().is_none() && later.any_read());
}

#[test]
fn what_waits_is_bounded() {
    let mut later = Provenance::new(1 << 20);
    for call in 0..100 {
        let text = format!("{call} {}", "words and words ".repeat(2000));
        later.record_shared(
            &source(call),
            &OutputLabels::default(),
            &Arc::new(content(&text)),
        );
        assert!(later.unread_bytes() <= (1 << 20) / 4);
    }
}
