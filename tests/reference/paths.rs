//! Path prefixes: whole components, and every plausible reading of the value.

use super::text::{canonical, hides_nul, is_space};
use regex::Regex;
use std::sync::LazyLock;

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
    let one = |prefix: &String| {
        let decoded = canonical(value);
        // NUL ends a path for some readers, bytes that form no character are anything.
        let unclear = value.contains('\0')
            || decoded.contains(char::REPLACEMENT_CHARACTER)
            || hides_nul(value);
        let readings = [
            (value, prefix.clone()),
            (value.trim_matches(is_space), prefix.clone()),
            (decoded.as_str(), canonical(prefix)),
        ];
        let all: Vec<bool> = readings
            .iter()
            .flat_map(|(value, prefix)| [false, true].map(|back| below(value, prefix, back)))
            .collect();
        let placed = [value, value.trim_matches(is_space), decoded.as_str()];
        Within {
            may: unclear || all.contains(&true) || placed.iter().any(|v| may_lie_in(v, prefix)),
            must: !unclear && !prefix.is_empty() && !all.contains(&false),
        }
    };
    let each: Vec<Within> = prefixes.iter().map(one).collect();
    Within {
        may: each.iter().any(|within| within.may),
        must: each.iter().any(|within| within.must),
    }
}

/// As [`within`] for a server whose relative paths, and the prefixes', start in a folder.
pub fn within_based(value: &str, prefixes: &[String], base: &str) -> Within {
    let relative = |text: &str| {
        [false, true].iter().all(|back| {
            let path = collapsed(text, *back);
            path.mark.is_empty() && path.root == Root::Here
        }) && !text.starts_with('\\')
    };
    let placed = |text: &str| match relative(text) {
        true => format!("{base}/{text}"),
        false => text.to_owned(),
    };
    let prefixes: Vec<String> = prefixes.iter().map(|prefix| placed(prefix)).collect();
    let stays = within(value, &[".".to_owned()]).must;
    Within {
        may: within(&placed(value), &prefixes).may,
        must: match stays {
            true => within(&placed(value), &prefixes).must,
            false => within(value, &prefixes).must,
        },
    }
}

/// Readings that a rule against a directory adds: `//x` is `/x`, a `file://` URL is its
/// path, and what starts at `~` or climbs out of its start could be anywhere.
fn may_lie_in(value: &str, prefix: &str) -> bool {
    [value.to_owned(), value.replace('\\', "/")]
        .iter()
        .any(|value| {
            let value = value.strip_prefix("file://").unwrap_or(value);
            let doubled = value.starts_with("//") && !value.starts_with("///");
            let start = collapsed(value, true);
            let climbs = start.root == Root::Here && start.parts.first().is_some_and(|p| p == "..");
            below(value, prefix, false)
                || below(value, prefix, true)
                || (doubled && below(&value[1..], prefix, false))
                || (prefix.starts_with('/') && (value.starts_with('~') || climbs))
        })
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

/// A path with `.`, `..` and repeated `/` collapsed.
struct Collapsed {
    /// What changes the meaning of the whole: `~name`, a drive, a scheme.
    mark: String,
    root: Root,
    parts: Vec<String>,
}

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:~[^/]*|[0-9A-Za-z+.-]:[/\\]*|[0-9A-Za-z+.-]{2,}:[/\\]+|(?i:file):)").unwrap()
});

/// With `back`, a back-slash separates too, and white space around a component of dots
/// does not count.
fn collapsed(path: &str, back: bool) -> Collapsed {
    let path = if back {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    let mark = MARK
        .find(&path)
        .map_or("", |found| found.as_str())
        .to_owned();
    let root = match path.len() - path.trim_start_matches('/').len() {
        0 => Root::Here,
        2 => Root::TwoSlashes,
        _ => Root::Slash,
    };
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        let bare = part.trim_matches(is_space);
        let part = if back && ["", ".", ".."].contains(&bare) {
            bare
        } else {
            part
        };
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if last != ".." => {
                    parts.pop();
                }
                _ if root != Root::Here => {}
                _ => parts.push("..".to_owned()),
            },
            _ => parts.push(part.to_owned()),
        }
    }
    Collapsed { mark, root, parts }
}

fn below(value: &str, prefix: &str, back: bool) -> bool {
    let (value, mut prefix) = (collapsed(value, back), collapsed(prefix, false));
    if back {
        prefix.mark = prefix.mark.replace('\\', "/");
    }
    value.mark == prefix.mark
        && value.root == prefix.root
        && value
            .parts
            .strip_prefix(prefix.parts.as_slice())
            .is_some_and(|rest| rest.first().is_none_or(|first| first != ".."))
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
        "/out/\u{ff0e}\u{ff0e}/etc",
        "/out/.. \\x",
        "/out/a\0",
        "~/out",
        "C:/out",
        "file:/out",
        "",
    ] {
        assert!(!inside(value, "/out"), "{value}");
    }
    assert!(inside("a/b", ".") && inside("", "."));
    assert!(!inside("../a", ".") && !inside("/a", "."));
    assert!(inside("/a", "/"));
    assert!(inside("~/a", "~"));
    assert!(!inside("../../a", ".."));
    assert!(within("/out/..\\x", &["/out".to_owned()]).may);
}
