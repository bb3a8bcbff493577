//! Compares the strict JSON reader with serde_json on random and mutated texts.
//!
//! Whatever serde_json reads as one value without a repeated key and within the
//! depth limit has to come out as the same tree; anything else has to be refused.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod json_tree;

use json_tree::check;
use proptest::prelude::*;

fn space() -> impl Strategy<Value = String> {
    prop_oneof![8 => Just(String::new()), 1 => "[ \t\r\n]{1,2}"]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-c]{1,2}",
        1 => "[^\"\\\\\u{0}-\u{1f}]",
        2 => prop::sample::select(vec![
            r"\u0061", r"\u0062", r"\n", r#"\""#, r"\\", r"\/", r"\ud83d\ude00", "\u{1F600}",
            r"\u00e9", "é", r"\u0000",
        ]).prop_map(String::from),
        // Rarely something wrong.
        1 => prop::sample::select(vec![
            r"\ud83d", r"\ude00", r"\x", r"\u12", "\u{1}", "\u{7f}", r"\ud83d\u0061",
        ]).prop_map(String::from),
    ];
    prop_oneof![
        12 => prop::collection::vec("[a-c]{1,2}", 0..3),
        6 => prop::collection::vec(piece, 0..4),
        1 => prop::collection::vec("[a-z\u{e9}]{9}", 3..9),
    ]
    .prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        string(),
        "-?(0|[1-9][0-9]{0,3})([.][0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        prop::sample::select(vec!["true", "false", "null"]).prop_map(String::from),
        // Mostly wrong.
        "[-+0-9.eE]{1,4}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(6, 60, 20, |inner| {
        let item = (space(), inner.clone(), space()).prop_map(|(a, v, b)| format!("{a}{v}{b}"));
        let member = (space(), string(), space(), inner, space())
            .prop_map(|(a, k, b, v, c)| format!("{a}{k}{b}:{v}{c}"));
        prop_oneof![
            prop::collection::vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..4)
                .prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}

fn wide_object() -> impl Strategy<Value = String> {
    let key = prop_oneof![20 => "[a-j]{2,3}", 1 => r"\\u006[1-4][a-j]"];
    prop::collection::vec(key, 10..40).prop_map(|keys| {
        let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":0")).collect();
        format!("{{{}}}", members.join(","))
    })
}

fn mutate(mut bytes: Vec<u8>, edits: &[(u8, prop::sample::Index, u8)]) -> Vec<u8> {
    const ALPHABET: &[u8] = b"\"\\{}[]:,0123eE+-. \n\t\x00\x1f\x7f\x80\xc3\xed\xa0\xffuabdftn/";
    for (kind, place, byte) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        let byte = ALPHABET[usize::from(*byte) % ALPHABET.len()];
        match kind % 4 {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_agree(text in value(), before in space(), after in space()) {
        check(format!("{before}{text}{after}").as_bytes());
    }

    #[test]
    fn mutated_texts_agree(
        text in value(),
        edits in prop::collection::vec(any::<(u8, prop::sample::Index, u8)>(), 1..4),
    ) {
        check(&mutate(text.into_bytes(), &edits));
    }

    #[test]
    fn wide_objects_agree(text in wide_object()) {
        check(text.as_bytes());
    }

    #[test]
    fn bytes_agree(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        check(&bytes);
    }
}

#[test]
fn depth_agrees_at_the_limit() {
    for depth in 1..=json_tree::MAX_DEPTH + 2 {
        check(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes());
        check(format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)).as_bytes());
    }
}
