//! Tests of the canonical form.

use super::super::plain;
use super::*;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

fn canonical_of(input: &str) -> String {
    let mut out = String::from("left over");
    canonical(input, &mut out);
    out
}

fn fold_of(input: &str) -> String {
    let mut out = String::new();
    fold(input, &mut out);
    out
}

/// The definition, as a loop: every step over the whole text, until nothing changes.
fn oracle(input: &str) -> String {
    let mut bytes = input.as_bytes().to_vec();
    loop {
        let mut next = Vec::new();
        for chunk in bytes.utf8_chunks() {
            let kept: String = chunk
                .valid()
                .chars()
                .flat_map(|c| {
                    let mut parts = Vec::new();
                    decompose_compatible(c, |part| parts.push(part));
                    parts
                })
                .filter(|&c| !is_dropped::<false>(c))
                .collect();
            next.extend_from_slice(kept.as_bytes());
            next.extend_from_slice(chunk.invalid());
        }
        let mut decoded = Vec::new();
        let mut rest = next.as_slice();
        while let Some((&first, tail)) = rest.split_first() {
            let hex = |b: u8| char::from(b).to_digit(16);
            match tail {
                [high, low, after @ ..]
                    if first == b'%' && hex(*high).is_some() && hex(*low).is_some() =>
                {
                    decoded.push((hex(*high).unwrap() * 16 + hex(*low).unwrap()) as u8);
                    rest = after;
                }
                _ => {
                    decoded.push(first);
                    rest = tail;
                }
            }
        }
        if decoded == bytes {
            break;
        }
        bytes = decoded;
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    let mut out = String::new();
    plain(&text.nfc().collect::<String>(), &mut out);
    out
}

#[test]
fn every_disguise_comes_off() {
    for (input, expected) in [
        ("drop", "drop"),
        ("ｄｒｏｐ", "drop"),
        ("d\u{200b}r\u{ad}o\u{0}p", "drop"),
        ("%64%72op", "drop"),
        ("%2525252564rop", "drop"),
        ("%25%36%34rop", "drop"),
        ("％６４rop", "drop"),
        ("%EF%BC%85%36%34rop", "drop"),
        ("d%E2%80%8Brop", "drop"),
        ("d%e2%80%258brop", "drop"),
        ("%\u{200b}64rop", "drop"),
        ("dr%00op", "drop"),
        ("a%40evil.com", "a@evil.com"),
        ("a＠evil.com", "a@evil.com"),
        ("\u{212a}elvin", "Kelvin"),
        (" a\n\u{feff}\n b ", "a b"),
        ("a\u{feff}b", "ab"),
        ("a%20%09b", "a b"),
        ("\u{b4}a", "\u{301}a"),
        ("100%", "100%"),
        ("%zz%4", "%zz%4"),
        ("caf%C3%A9", "café"),
        ("cafe%CC%81", "café"),
        ("%C3%E2%80%8B%A9", "é"),
        ("%C3", "\u{fffd}"),
        ("%C3%28", "\u{fffd}("),
        ("%ff%fe", "\u{fffd}\u{fffd}"),
        ("%c0%af", "\u{fffd}\u{fffd}"),
        ("\u{e0041}\u{e00c3}", ""),
        ("한글", "한글"),
        ("\u{1112}\u{1161}\u{11ab}", "한"),
        ("", ""),
        ("%20", ""),
    ] {
        assert_eq!(canonical_of(input), expected, "{input:?}");
        assert_eq!(oracle(input), expected, "{input:?} in the loop");
    }
}

#[test]
fn folding_ignores_case_and_stays_canonical() {
    assert_eq!(fold_of("DROP%20Table"), "drop table");
    assert_eq!(fold_of("ÉCOLE"), "école");
    assert_eq!(fold_of("ΟΔΟΣ"), fold_of("οδος"));
    assert_eq!(fold_of("\u{212a}"), "k");
    assert_eq!(fold_of("ATTACKER%40EVIL.com"), "attacker@evil.com");
}

#[test]
fn folded_characters_fold_to_themselves() {
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        let once = fold_of(&c.to_string());
        assert_eq!(fold_of(&once), once, "{c:?}");
    }
}

#[test]
fn a_chain_of_ligatures_decodes_without_recursion() {
    // U+32C1 is "2月" and ends in byte 0x81; U+32C0 is "1月": each completes the next.
    let chain = "%E3%8B%8".repeat(20_000) + "1";
    assert_eq!(
        canonical_of(&chain[chain.len() - 200..]),
        oracle(&chain[chain.len() - 200..])
    );
    assert!(!canonical_of(&chain).is_empty());
}

#[test]
fn time_is_linear_on_input_made_for_a_loop() {
    for input in [
        "%25".repeat(300_000),
        "%".repeat(300_000) + &"25".repeat(300_000),
        "%2".repeat(300_000) + &"5".repeat(300_000),
        format!("a{}", "\u{301}\u{323}".repeat(300_000)),
        "\u{fdfa}".repeat(50_000),
        "%C3".repeat(300_000),
        "%80".repeat(300_000),
    ] {
        let start: String = input.chars().take(8).collect();
        crate::patience::ends(&start, move || drop(canonical_of(&input)));
    }
}

#[test]
fn marks_past_the_limit_are_dropped_and_the_rest_is_stable() {
    let once = canonical_of(&format!("a{}", "\u{301}\u{323}".repeat(100)));
    assert_eq!(canonical_of(&once), once);
    assert!(once.chars().count() <= MARKS + 1);
}

/// Short texts over an alphabet in which the steps meet often.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "%",
        "％",
        "%25",
        "2",
        "5",
        "４",
        "1",
        "4",
        "E",
        "f",
        "%EF%BC%85",
        "%E2%80%8B",
        "\u{200b}",
        "C3",
        "%C3",
        "A9",
        "%A9",
        "é",
        "e",
        "\u{301}",
        "\u{323}",
        "\u{338}",
        "<",
        " ",
        "\u{a0}",
        "\n",
        "\u{2028}",
        "\0",
        "%00",
        "\u{feff}",
        "\u{ad}",
        "㋁",
        "E3",
        "8B",
        "%8",
        "½",
        "\u{fdfa}",
        "ﬁ",
        "한",
        "\u{1161}",
        "\u{11ab}",
        "\u{e00c3}",
        "\u{fffd}",
        "%F0%9F%98%80",
        "F0",
        "\u{b4}",
        "\u{1f}",
        "\u{cc6}",
        "\u{cd5}",
        "\u{cc2}",
        "\u{ff9e}",
        "カ",
        "㏢",
        "%93",
        "%E2%85",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn equals_the_loop(input in tricky()) {
        prop_assert_eq!(canonical_of(&input), oracle(&input));
    }

    #[test]
    fn is_a_fixed_point(input in tricky()) {
        let once = canonical_of(&input);
        prop_assert_eq!(canonical_of(&once), once.clone());
        let folded = fold_of(&input);
        prop_assert_eq!(fold_of(&folded), folded);
    }

    #[test]
    fn equals_the_loop_on_any_text(input in "\\PC{0,20}") {
        prop_assert_eq!(canonical_of(&input), oracle(&input));
    }

    #[test]
    fn equals_the_loop_on_ascii(input in "[a-cA%41 \\x00\\t\\n\\r\\x1c\\x7f]{0,14}") {
        prop_assert_eq!(canonical_of(&input), oracle(&input));
    }

    #[test]
    fn fast_check_is_sound(input in "[ -~]{0,6}") {
        prop_assert!(!is_canonical_fast(&input) || canonical_of(&input) == input);
    }
}
