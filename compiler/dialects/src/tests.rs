//! What the predecessor answered, and tables of single constructs. `true` and
//! `false` were read off the real engines.

use super::*;

fn finds(translated: &str, text: &str) -> bool {
    regex::Regex::new(translated).unwrap().is_match(text)
}

/// As the rules engine sees a string: JavaScript's white-space collapsed and trimmed.
fn normalised(text: &str) -> String {
    let space = |c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}';
    text.split(space)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn agrees_with_the_predecessor() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/vectors/rules-decisions.jsonl"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let (mut compared, mut refused) = (0, Vec::new());
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let note = case["note"].as_str().unwrap();
        if !note.starts_with("regex ") && note != "normalise" {
            continue;
        }
        let rule = &case["config"]["rules"][0]["match"]["args.q"];
        let (pattern, negated) = match (&rule["regex"], &rule["notRegex"]) {
            (serde_json::Value::String(pattern), _) => (pattern, false),
            (_, serde_json::Value::String(pattern)) => (pattern, true),
            _ => continue,
        };
        let translated = match javascript(pattern) {
            Ok(translated) => translated,
            Err(error) => {
                if case["expected"].get("error").is_none() {
                    refused.push((pattern.clone(), error.message));
                }
                continue;
            }
        };
        assert!(
            case["expected"].get("error").is_none(),
            "{pattern} should be refused"
        );
        let Some(text) = case["args"]["q"].as_str() else {
            continue;
        };
        let matched = !case["expected"]["rule_index"].is_null();
        assert_eq!(
            finds(&translated, &normalised(text)) != negated,
            matched,
            "{pattern} as {translated} in {text:?}"
        );
        compared += 1;
    }
    assert!(compared > 90, "{compared}");
    // Only what linear time excludes.
    for (pattern, message) in &refused {
        assert!(
            message.contains("look-") || message.contains("back-reference"),
            "{pattern}: {message}"
        );
    }
}

#[test]
fn javascript_constructs() {
    for (pattern, text, expected) in [
        ("^.$", "😀", false),
        ("^..$", "😀", true),
        ("^...$", "😀a", true),
        ("^.{3}$", "a😀", true),
        ("^.{2}$", "a😀", false),
        ("^.*$", "a😀b", true),
        ("x.$", "x😀", false),
        ("x.", "x😀", true),
        (".x", "😀x", true),
        ("^[^a]x", "😀x", false),
        ("^\\W\\Wx", "😀x", true),
        ("^😀$", "😀", true),
        ("^\\ud83d\\ude00$", "😀", true),
        ("a\\Bb", "ab", true),
        ("\\bé", "é", false),
        ("\\u{3}", "uuu", true),
        ("^\\101\\8$", "A8", true),
        ("^[\\w-z]$", "-", true),
        ("^[a&&b]$", "&", true),
        ("^[a--b]$", "", false),
        ("^[\\b]$", "\u{8}", true),
        ("^\\c$", "\\c", true),
        ("^[\\c_]$", "\u{1f}", true),
        ("a{,2}", "a{,2}", true),
        ("x{", "x{", true),
        ("]}", "]}", true),
        ("^\\s$", "\u{feff}", true),
        ("^\\s$", "\u{85}", false),
        ("(?i)^[k-l]$", "\u{212a}", false),
        ("(?i)^[^k]$", "K", false),
        ("(?i)^[^k]$", "\u{212a}", true),
        ("(?i)^μ$", "µ", true),
        ("(?i)^\\w$", "ſ", false),
        ("^(?<a>x)\\k", "xk", true),
    ] {
        match javascript(pattern) {
            Ok(translated) => assert_eq!(
                finds(&translated, text),
                expected,
                "{pattern} as {translated} in {text:?}"
            ),
            Err(error) => assert!(
                pattern.contains("\\k") || pattern.contains("--"),
                "{pattern}: {error:?}"
            ),
        }
    }
}

#[test]
fn javascript_refusals() {
    for (pattern, part, message) in [
        ("a(?=b)", "(?=", "look-ahead"),
        ("a(?!b)", "(?!", "negative look-ahead"),
        ("(?<=b)a", "(?<=", "look-behind"),
        ("(?<!b)a", "(?<!", "negative look-behind"),
        ("(a)\\1", "\\1", "back-reference `\\1`"),
        ("(?<n>a)\\k<n>", "\\k<n>", "back-reference `\\k<n>`"),
        ("x(?P<n>a)", "(?P", "no group in JavaScript"),
        ("(?>a)", "(?>", "no group"),
        ("a(?i)b", "(?i", "no group"),
        ("a++", "++", "repeat of a repeat"),
        ("a{2}{3}", "{2}{", "repeat of a repeat"),
        ("*a", "*", "nothing to repeat"),
        ("^*", "*", "nothing to repeat"),
        ("{2}", "{", "nothing to repeat"),
        ("a{2,1}", "{2,1}", "out of order"),
        ("[b-a]", "b-a", "out of order"),
        ("(", "(", "no closing `)`"),
        (")", ")", "unmatched"),
        ("[", "[", "no closing `]`"),
        ("a\\", "\\", "back-slash"),
        ("\\ud83d", "\\ud83d", "half of a character"),
        ("[😀]", "😀", "halves of a character"),
        ("😀+", "😀+", "half"),
        ("(?<n>a)(?<n>b)", "n", "stands twice"),
        ("\\B", "\\B", "can match the empty text"),
    ] {
        let error = javascript(pattern).unwrap_err();
        assert!(
            error.message.contains(message) && &pattern[error.start..error.end] == part,
            "{pattern}: `{}` {error:?}",
            &pattern[error.start..error.end]
        );
    }
    assert!(javascript(&"(".repeat(60_000)).is_err());
    assert!(javascript(&"a".repeat(70_000)).is_err());
    assert!(javascript("(?:(?:(?:(?:.{99}){99}){99}){99}){99}").is_err());
    assert!(javascript(&format!("{}.{}", "(?:".repeat(45), ".)*".repeat(45))).is_err());
    assert!(javascript(&"a".repeat(60_000)).is_ok());
    assert!(javascript(&"a|".repeat(30_000)).is_ok());
}

#[test]
fn python_constructs() {
    for (pattern, text, expected) in [
        ("a|ab", "ab", true),
        ("a.c", "a\nc", false),
        ("(?s)a.c", "a\nc", true),
        ("a$", "a\n", false),
        ("(?m)a$\\nb", "a\nb", true),
        ("^a\\Z", "a", true),
        ("\\w+", "é²", true),
        ("\\w+", "\u{301}", false),
        ("(?a)\\w+", "é", false),
        ("\\d", "٣", true),
        ("\\s", "\u{1c}", true),
        ("\\bfoo\\b.*", "foo bär", true),
        ("\\bfoo\\b.*", "foobar", false),
        ("(?i)straße", "STRAẞE", true),
        ("(?i)i", "İ", true),
        ("(?i)k", "\u{212a}", true),
        ("(?i:a)b", "Ab", true),
        ("(?i:a)b", "AB", false),
        ("(?i-s:a)b", "Ab", true),
        ("(?x) a b # c\n [ ]", "ab ", true),
        ("a{,2}", "aa", true),
        ("a{,}", "aaa", true),
        ("a{}", "a{}", true),
        ("[]a]", "]", true),
        ("[^]a]", "]", false),
        ("[[]", "[", true),
        ("[a&&b]", "&", true),
        ("\\141\\x62\\u0063\\U0001F600", "abc😀", true),
        ("(?P<n>a)(?#comment)b", "ab", true),
        (".", "😀", true),
    ] {
        let translated =
            python_whole(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
        assert_eq!(
            finds(&translated, text),
            expected,
            "{pattern} as {translated} in {text:?}"
        );
    }
    for (pattern, part, message) in [
        ("a(?=b)", "(?=", "look-ahead"),
        ("(?<!b)a", "(?<!", "negative look-behind"),
        ("(?P<n>a)(?P=n)", "(?P=n)", "back-reference `(?P=n)`"),
        ("(a)\\1", "\\1", "back-reference"),
        ("(a)?(?(1)b|c)", "(?(", "conditional"),
        ("(?>a)", "(?>", "atomic"),
        ("a++", "++", "possessive"),
        ("a**", "*", "repeat of a repeat"),
        ("a(?i)b", "(?i)", "not at the start"),
        ("\\p{L}", "\\p", "bad escape"),
        ("\\z", "\\z", "bad escape"),
        ("\\N{DASH}", "\\N", "named character"),
        ("[\\w-z]", "\\w-z", "bad range"),
        ("(?<n>a)", "(?<", "no group"),
        ("\\ud800", "\\ud800", "no character"),
        ("\\400", "\\400", "larger"),
        ("(?L)a", "L", "for bytes"),
        ("^*", "*", "nothing to repeat"),
        ("\\b\u{301}", "\u{301}", "beside"),
    ] {
        let error = python_whole(pattern).unwrap_err();
        assert!(
            error.message.contains(message)
                && (&pattern[error.start..error.end] == part || message == "repeat of a repeat"),
            "{pattern}: `{}` {error:?}",
            &pattern[error.start..error.end]
        );
    }
    assert!(python_whole(&"(".repeat(60_000)).is_err());
}

#[test]
fn native_is_rust_with_flags() {
    assert_eq!(native("a b", "ix").unwrap(), "(?ix)a b");
    assert_eq!(native("\\/\\bé", "").unwrap(), "\\/\\bé");
    for (pattern, flags, part, message) in [
        ("a(?=b)", "i", "(?=", "look-ahead"),
        ("(a)\\1", "", "\\1", "back-reference"),
        ("a(", "", "(", "unclosed group"),
        ("(?-u:\\xff)", "", "\\xff", "UTF-8"),
        ("(?-u:\\B)", "", "\\B", "empty text"),
    ] {
        let error = native(pattern, flags).unwrap_err();
        assert!(
            error.message.contains(message) && &pattern[error.start..error.end] == part,
            "{pattern}: {error:?}"
        );
    }
    assert!(
        native("a", "g")
            .unwrap_err()
            .help
            .unwrap()
            .contains("leave it out")
    );
    assert!(native("a", "ii").is_err());
    assert!(native(&"(".repeat(5000), "").is_err());
}
