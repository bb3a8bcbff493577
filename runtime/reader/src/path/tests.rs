use super::*;
use proptest::prelude::*;

#[test]
fn what_is_inside() {
    for (value, prefix) in [
        ("/out", "/out"),
        ("/out/a", "/out/"),
        ("/out//a/./b", "/out"),
        ("/out/a/../../out/b", "/out"),
        ("/out/..a/...", "/out"),
        ("/out/a b/c", "/out"),
        ("/out/a%20b", "/out"),
        ("/out/ａ", "/out"),
        ("/out/é", "/out"),
        ("/josé/x", "/josé"),
        ("/jose\u{301}/x", "/jose\u{301}"),
        ("/out/a\\b", "/out"),
        ("/a:b/c", "/"),
        ("a", "."),
        ("./a/../b", "./"),
        ("notes: today.txt", "."),
        ("a.b:c", "."),
        ("../out/a", "../out"),
        ("~/work/a", "~/work"),
        ("~/a", "~"),
        ("C:/out/a", "C:/out"),
        ("file:///out/a", "file:///out"),
        ("/anything", "/"),
        ("//host/share/a", "//host/share"),
    ] {
        assert!(within(value, prefix), "{value:?} in {prefix:?}");
    }
}

#[test]
fn what_escapes_under_some_reading() {
    for (value, prefix) in [
        ("/outside", "/out"),
        ("/OUT/a", "/out"),
        ("/out/../etc/passwd", "/out"),
        ("../../etc/passwd", "."),
        ("../x", "./"),
        ("a/../../x", "."),
        ("/etc", "."),
        ("anything", ""),
        ("", ""),
        ("/out/..\\..\\etc", "/out"),
        ("/out\\..\\..\\etc", "/out"),
        ("..\\x", "."),
        ("\\x", "."),
        ("/out/%2e%2e/etc", "/out"),
        ("/out/%252e%252e%252fetc", "/out"),
        ("/out/..%2fetc", "/out"),
        ("/out/..%5cetc", "/out"),
        ("/out/%EF%BC%8E%EF%BC%8E/etc", "/out"),
        ("/out/．．／etc", "/out"),
        ("/out/\u{2025}/etc", "/out"),
        ("/out/.\u{200b}./etc", "/out"),
        ("/out/.%00./etc", "/out"),
        ("/out/%c0%ae%c0%ae/etc", "/out"),
        ("/out/\0/x", "/out"),
        ("/out/x\0", "/"),
        ("~/x", "."),
        ("~", "."),
        ("~root/x", "~"),
        ("~/../x", "~"),
        ("%7e/x", "."),
        ("x/../~/y", "~"),
        (" ~/x", "."),
        (" /etc/passwd", "."),
        ("/out/.. ", "/out"),
        ("/out/.. /etc", "/out"),
        ("/out/a/../..\n", "/out"),
        ("file:///etc/passwd", "."),
        ("FILE:/etc", "."),
        ("file:etc", "."),
        ("file://out/a", "file:///out"),
        ("https://evil.com/x", "."),
        ("C:\\x", "."),
        ("C:x", "."),
        ("c:/x", "."),
        ("C:/x/../../y", "C:/x"),
        ("\\\\host\\share", "/"),
        ("//out/a", "/out"),
        ("../../x", ".."),
        ("a", ".."),
        ("/x", "//"),
    ] {
        assert!(!within(value, prefix), "{value:?} in {prefix:?}");
    }
}

/// What the predecessor answered, and why a stricter answer is right.
#[test]
fn never_laxer_than_the_predecessor() {
    let vectors = include_str!("../../tests/vectors/contracts-primitives.jsonl");
    let (mut total, mut differences) = (0, std::collections::BTreeMap::new());
    for line in vectors.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        if vector["fn"] != "within_prefix" {
            continue;
        }
        total += 1;
        let value = vector["value"].as_str().unwrap();
        let prefix = vector["prefix"].as_str().unwrap();
        let theirs = vector["out"].as_bool().unwrap();
        let ours = within(value, prefix);
        assert!(theirs || !ours, "laxer: {value:?} in {prefix:?}");
        if theirs != ours {
            let class = match value {
                _ if prefix.is_empty() => "empty prefix",
                _ if value.contains('\0') => "NUL",
                _ if value.starts_with('~') => "home directory",
                _ if value.contains('%') => "percent-encoded dots or slashes",
                _ if value.starts_with("file:") || value.starts_with("C:") => "scheme or drive",
                _ if value.contains('\\') => "back-slash as a separator",
                _ if value.starts_with(' ') => "white space around the path",
                _ if value.starts_with("..") => "climbs out of a relative prefix",
                _ => panic!("stricter without a reason: {value:?} in {prefix:?}"),
            };
            *differences.entry(class).or_insert(0) += 1;
        }
    }
    assert_eq!(total, 820);
    let expected = [
        ("NUL", 1),
        ("back-slash as a separator", 1),
        ("climbs out of a relative prefix", 2),
        ("empty prefix", 19),
        ("home directory", 1),
        ("percent-encoded dots or slashes", 2),
        ("scheme or drive", 2),
        ("white space around the path", 1),
    ];
    assert_eq!(differences.into_iter().collect::<Vec<_>>(), expected);
}

/// The definition for plain paths: normalise both, compare the components.
fn oracle(value: &str, prefix: &str) -> bool {
    let parts = |text: &str| {
        let slashes = text.bytes().take_while(|&b| b == b'/').count();
        let mut kept: Vec<String> = Vec::new();
        for part in text
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            if part == ".." && kept.last().is_some_and(|last| last != "..") {
                kept.pop();
            } else if part != ".." || slashes == 0 {
                kept.push(part.to_owned());
            }
        }
        let root = if slashes > 2 { 1 } else { slashes };
        (root, kept)
    };
    let ((root, value), (wanted_root, prefix)) = (parts(value), parts(prefix));
    let climbs = |parts: &[String]| parts.iter().take_while(|part| *part == "..").count();
    root == wanted_root && climbs(&value) == climbs(&prefix) && value.starts_with(&prefix)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn plain_paths_agree_with_the_definition(value in "/{0,3}((a|b|\\.|\\.\\.|\\.\\.\\.|)/){0,6}", prefix in "/{0,3}((a|b|\\.|\\.\\.|)/){0,4}") {
        prop_assert_eq!(within(&value, &prefix), !prefix.is_empty() && oracle(&value, &prefix), "{:?} in {:?}", value, prefix);
    }

    #[test]
    fn no_disguise_helps(value in "[ab./\\\\%2ef5cＡ．／\u{200b} ~]{0,12}") {
        // Whatever is inside is inside with any one disguise taken off, too.
        for prefix in [".", "/a", "/"] {
            if within(&value, prefix) {
                for reading in readings(&value) {
                    prop_assert!(oracle(&reading, prefix), "{:?} as {:?} in {:?}", value, reading, prefix);
                }
            }
        }
    }

    #[test]
    fn nothing_panics(value in "\\PC{0,20}", prefix in "\\PC{0,6}") {
        let _ = within(&value, &prefix);
    }
}

#[test]
fn long_paths_take_linear_time() {
    for value in [
        "a/../".repeat(200_000),
        "../".repeat(300_000),
        "%25".repeat(300_000),
        "\\".repeat(900_000),
    ] {
        let start: String = value.chars().take(8).collect();
        crate::patience::ends(&start, move || {
            let _ = within(&value, "/a/b/c");
            let _ = within(&value, ".");
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// What is seen at a glance is what all readings say.
    #[test]
    fn simple_paths_have_one_reading(
        value in "(?:/{1,2}(?:a|ab|[.]{1,3}|b[.]c|~|%2e|a:)?){0,4}|[a/.~ ]{0,6}",
        prefix in "(?:/(?:a|ab|[.]|b[.]c)){0,3}/?|[a/.]{0,4}",
    ) {
        prop_assert_eq!(within(&value, &prefix), within_every_reading(&value, &prefix), "{:?} {:?}", value, prefix);
    }
}
