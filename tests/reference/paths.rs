//! Path prefixes: whole components, and every plausible reading of the value.

use super::text::percent_decoded;
use std::collections::BTreeSet;

/// How the readings of a value lie to a set of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// Some reading lies within, or nobody can tell.
    pub may: bool,
    /// Every reading lies within.
    pub must: bool,
}

/// Compares `value` with `prefixes`, any of which suffices.
pub fn within(value: &str, prefixes: &[String]) -> Within {
    let readings = readings(value);
    if readings
        .iter()
        .any(|reading| reading.contains('\0') || reading.starts_with('~'))
    {
        return Within {
            may: true,
            must: false,
        };
    }
    let inside = |reading: &String| prefixes.iter().any(|prefix| below(reading, prefix));
    Within {
        may: readings.iter().any(inside),
        must: readings.iter().all(inside),
    }
}

/// The value itself and what back-slashes as separators and percent-decoding, in any
/// order and number, make of it.
fn readings(value: &str) -> BTreeSet<String> {
    let mut readings = BTreeSet::from([value.to_owned()]);
    loop {
        let more: BTreeSet<String> = readings
            .iter()
            .flat_map(|reading| [reading.replace('\\', "/"), percent_decoded(reading)])
            .collect();
        let before = readings.len();
        readings.extend(more);
        if readings.len() == before {
            return readings;
        }
    }
}

/// A path with `.`, `..` and repeated `/` collapsed.
struct Collapsed<'a> {
    root: Root,
    parts: Vec<&'a str>,
}

/// Where a path starts.
#[derive(Clone, Copy, PartialEq)]
enum Root {
    Here,
    Slash,
    /// Exactly two slashes: POSIX lets a system put anything there, and Windows puts
    /// other machines there.
    TwoSlashes,
}

fn collapsed(path: &str) -> Collapsed<'_> {
    let root = match path.len() - path.trim_start_matches('/').len() {
        0 => Root::Here,
        2 => Root::TwoSlashes,
        _ => Root::Slash,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => {
                    parts.pop();
                }
                _ if root != Root::Here => {}
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    Collapsed { root, parts }
}

fn below(value: &str, prefix: &str) -> bool {
    let (value, prefix) = (collapsed(value), collapsed(prefix));
    value.root == prefix.root
        && value
            .parts
            .strip_prefix(prefix.parts.as_slice())
            .is_some_and(|rest| rest.first() != Some(&".."))
}

#[test]
fn any_reading_that_escapes_is_outside() {
    let inside = |value: &str, prefix: &str| within(value, &[prefix.to_owned()]).must;
    for value in [
        "/out",
        "/out/",
        "/out/a",
        "///out/./a",
        "/x/../out/b",
        "/../out/a",
    ] {
        assert!(inside(value, "/out"), "{value}");
    }
    for value in [
        "/outside",
        "//out/a",
        "\\\\out\\a",
        "/out/../etc",
        "out/a",
        "/out/..\\..\\etc",
        "/out/%2e%2e/etc",
        "/out/%252e%252e%252fetc",
        "/out/a\0",
        "~/out",
        "",
    ] {
        assert!(!inside(value, "/out"), "{value}");
    }
    assert!(inside("a/b", ".") && inside("", "."));
    assert!(!inside("../a", ".") && !inside("/a", "."));
    assert!(inside("/a", "/"));
    assert!(!inside("../../a", ".."));
    assert!(within("/out/..\\x", &["/out".to_owned()]).may);
}
