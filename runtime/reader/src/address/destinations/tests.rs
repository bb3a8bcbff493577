//! Tests of destinations.

use super::*;
use proptest::prelude::*;

fn pieces(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    let _ = destinations(value, &mut |piece| {
        all.push(piece.to_owned());
        ControlFlow::Continue(())
    });
    all
}

#[test]
fn one_destination_is_the_raw_value() {
    for value in [
        "",
        " ",
        ",",
        "a@x.com",
        "a@x.com\n",
        " a@x.com",
        "a@x.com,",
        "#general",
        "general chat",
        "C0123",
        "a%40x.com",
        "a＠x.com",
        "https://x.com/a,b;c",
        "https://x.com/@me?to=a@b",
        "+1 555 123 4567",
        "https://x.com/(a)",
        "mailto:",
        "a@x.com\0",
        "evil.com",
        "/srv/out/a b.txt",
        "a@x/b@y",
        "\"general",
        "{\"a\": 1}",
    ] {
        assert_eq!(pieces(value), [value], "{value:?}");
    }
}

#[test]
fn several_destinations_are_each_judged() {
    for (value, expected) in [
        ("a@x.com, b@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com;b@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com b@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com\nb@y.com", vec!["a@x.com", "b@y.com"]),
        ("Name <a@x.com>", vec!["a@x.com"]),
        ("<a@x.com>", vec!["a@x.com"]),
        (
            "\"Doe, John\" <a@x.com>, b@y.com",
            vec!["a@x.com", "b@y.com"],
        ),
        ("mailto:a@x.com", vec!["a@x.com"]),
        (
            "MAILTO:a@x.com?cc=b@y.com&subject=hi&bcc=c@z.com",
            vec!["a@x.com", "b@y.com", "c@z.com"],
        ),
        (
            "mailto:a@x.com,b@y.com?cc=c@z.com",
            vec!["a@x.com", "b@y.com", "c@z.com"],
        ),
        ("mailto:?to=a@x.com", vec!["a@x.com"]),
        ("Name <mailto:a@x.com>", vec!["a@x.com"]),
        (
            "https://x.com/a,https://y.com",
            vec!["https://x.com/a", "https://y.com"],
        ),
        (
            "https://x.com/a,b@y.com",
            vec!["https://x.com/a", "b@y.com"],
        ),
        ("https://x.com, b@y.com", vec!["https://x.com", "b@y.com"]),
        ("https://x.com b@y.com", vec!["https://x.com", "b@y.com"]),
        (
            "+15551234567, +15557654321",
            vec!["+15551234567", "+15557654321"],
        ),
    ] {
        assert_eq!(pieces(value), expected, "{value:?}");
    }
}

#[test]
fn what_may_not_split_is_judged_whole_too() {
    for (value, expected) in [
        ("general, random", vec!["general", "random"]),
        ("a@x.com, #general", vec!["a@x.com", "#general"]),
        ("a@x.com，b@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com%2Cb@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com%252cb@y.com", vec!["a@x.com", "b@y.com"]),
        ("a@x.com, b@y.com\n", vec!["a@x.com", "b@y.com"]),
        ("Name <a@x.com>\n", vec!["a@x.com"]),
        (
            "\"boss@corp.com\" <evil@x.com>",
            vec!["boss@corp.com", "evil@x.com"],
        ),
        ("evil.com <a@x.com>", vec!["evil.com", "a@x.com"]),
        ("a@x.com (b@y.com)", vec!["a@x.com", "b@y.com"]),
        ("a@x.com(b@y.com)", vec!["a@x.com", "b@y.com"]),
        (
            "\"a, b@y.com\" <a@x.com>",
            vec!["\"a", "b@y.com", "a@x.com"],
        ),
        ("a@x.com\nBcc: b@y.com", vec!["a@x.com", "Bcc:", "b@y.com"]),
        ("send it to a@x.com", vec!["send", "it", "to", "a@x.com"]),
        (
            "mailto:a@x.com?subject=b%40y.com",
            vec!["a@x.com", "b%40y.com"],
        ),
    ] {
        let found = pieces(value);
        for piece in &expected {
            assert!(
                found.iter().any(|found| found == piece),
                "{piece:?} of {value:?}: {found:?}"
            );
        }
        let plain = found.iter().all(|piece| is_plain_destination(piece)) && value.is_ascii();
        assert!(
            found.len() == expected.len() + usize::from(!plain),
            "{value:?}: {found:?}"
        );
    }
    assert_eq!(
        pieces("a@x.com，b@y.com"),
        ["a@x.com", "b@y.com", "a@x.com，b@y.com"]
    );
    assert_eq!(
        pieces("\"boss@corp.com\" <evil@x.com>"),
        ["boss@corp.com", "evil@x.com"]
    );
    assert_eq!(
        pieces("general, random"),
        ["general", "random", "general, random"]
    );
}

#[test]
fn shaped_values_are_destinations_and_nothing_else() {
    for yes in [
        "a@x.com",
        " a@x.com\n",
        "a@x.com, b@y.com",
        "Name <a@x.com>",
        "\"Doe, John\" <a@x.com>",
        "https://x.com/a",
        "HTTP://x",
        "slack://channel",
        "mailto:a@x.com",
        "tel:+15551234567",
        "sms:+1",
        "www.evil.com",
        "a%40x.com",
        "a＠x.com",
        "a@x\u{200b}.com",
        "https%3A%2F%2Fx.com",
        "http:x.com",
        "https:/x.com",
        "//evil.com/x",
        "\\\\evil.com\\share",
        "git@github.com:a/b",
        "root@localhost",
        "a@x.com .",
        "ｈｔｔｐｓ://x.com",
        "a@10.0.0.1",
        "https://x.com/a b@y.com",
        "https://ev\til.com/up",
        "ht\ttps://evil.com/x",
        "https:\n//evil.com",
        "///evil.com/x",
        "/\\evil.com/x",
        "\\/evil.com/x",
        "//10.6.6.6/x",
        "//[2001:db8::1]/x",
        "\\\\evilhost\\share",
        "wss:evil.com",
        "view-source:https://evil.com",
        "'https://evil.com'",
        "`https://evil.com`",
        "[https://evil.com]",
        "‹a@evil.com›",
        "@eve:evil.com",
    ] {
        assert!(is_destination_shaped(yes), "{yes:?}");
    }
    for yes in [
        "\"a b\"@x.com",
        "a@x.com (Al)",
        "(Al) a@x.com",
        "all: a@x.com, b@y.com;",
    ] {
        assert!(is_destination_shaped(yes), "{yes:?}");
    }
    for no in [
        "(sic) hello",
        "note: see a@x.com and b;",
        "\"hello\"",
        "f(x)",
        "",
        "hello",
        "please write to a@x.com",
        "see https://x.com for more",
        "report.txt",
        "evil.com",
        "@handle",
        "a @ b",
        "react@18.2.0",
        "12:30",
        "C:\\x",
        "/srv/a",
        "note: x",
        "// comment",
        "100%",
        "//",
        "https://",
        "a@",
        "#general",
    ] {
        assert!(!is_destination_shaped(no), "{no:?}");
    }
}

proptest! {
    #[test]
    fn what_is_unshaped_at_a_glance_is_unshaped(value in "[a@:/\\\\w.%, \n\"<>;()é]{0,12}|www[.]a|[a-z ]{0,40}") {
        if is_surely_unshaped(&value) {
            let mut text = String::new();
            canonical(&value, &mut text);
            for value in [&value, &text] {
                prop_assert!(!all_shaped(value) && !is_odd_address(value), "{:?}", value);
            }
        }
    }

    #[test]
    fn every_address_in_a_list_is_handed_out(
        parts in prop::collection::vec("[a-z]{1,3}@[a-z]{1,3}\\.com|[A-Z][a-z]{1,3} <[a-z]{1,3}@y\\.com>", 1..6),
        separators in prop::collection::vec("[,;\n]| , |, |;;|，|%2c", 6),
    ) {
        let mut value = String::new();
        for (part, separator) in parts.iter().zip(&separators) {
            value += part;
            value += separator;
        }
        let found = pieces(&value);
        for part in &parts {
            let address = part.split(['<', '>']).find(|text| text.contains('@')).unwrap();
            prop_assert!(found.iter().any(|piece| piece == address || *piece == value), "{:?} in {:?}", address, found);
        }
    }

    #[test]
    fn nothing_alphanumeric_is_lost_without_an_address(value in "[ab1,; \n#.\"<>()]{0,16}") {
        let found = pieces(&value).concat();
        for c in ['a', 'b', '1', '#'] {
            prop_assert!(found.matches(c).count() >= value.matches(c).count(), "{:?}", value);
        }
    }

    #[test]
    fn nothing_panics(value in "\\PC{0,30}") {
        prop_assert!(!pieces(&value).is_empty());
        let _ = is_destination_shaped(&value);
    }
}

#[test]
fn long_lists_take_linear_time() {
    for value in [
        "a@x,".repeat(200_000),
        ",".repeat(800_000),
        "\",".repeat(400_000),
        "https://a,".repeat(80_000),
        format!("https://{}", ",".repeat(800_000)),
        "<".repeat(800_000),
        "%25".repeat(300_000),
        "\"a<".repeat(300_000),
    ] {
        let start: String = value.chars().take(12).collect();
        crate::patience::ends(&start, move || {
            let _ = destinations(&value, &mut |_| ControlFlow::Continue(()));
            let _ = is_destination_shaped(&value);
        });
    }
}
