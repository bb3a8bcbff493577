//! Tool patterns. Shared by the compiler (which checks them) and the gate (which
//! matches each tool once, when it is listed).

use super::format::GlobKind;
use super::requests;

/// Whether `pattern` of this kind matches the whole of `name`,
/// byte for byte, but for ASCII case where the kind says so. At most `pattern` times `name` steps.
/// What is no tool has to be named as it is: policies that only know of tools say nothing of it.
#[must_use]
pub fn matches(kind: GlobKind, pattern: &str, name: &str) -> bool {
    let (native, any_case) = match kind {
        GlobKind::Exact => return pattern == name,
        GlobKind::Star => (false, false),
        GlobKind::Native => (true, false),
        GlobKind::AnyCase => (true, true),
    };
    if requests::is_request(name) {
        return false;
    }
    let (mut rest, mut text) = (pattern, name);
    // Where to go on when a literal fails: after the last `*`, one character further.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        if let Some(after) = rest.strip_prefix('*') {
            retry = Some((after, text));
            rest = after;
            continue;
        }
        if rest.is_empty() && text.is_empty() {
            return true;
        }
        if let Some((next_rest, next_text)) = one((native, any_case), rest, text) {
            (rest, text) = (next_rest, next_text);
            continue;
        }
        let Some((after, from)) = retry else {
            return false;
        };
        let Some(shorter) = from.chars().next().and_then(|c| from.get(c.len_utf8()..)) else {
            return false;
        };
        retry = Some((after, shorter));
        (rest, text) = (after, shorter);
    }
}

/// Consumes one character of the text with one item of the pattern.
fn one<'a>(
    (native, any_case): (bool, bool),
    pattern: &'a str,
    text: &'a str,
) -> Option<(&'a str, &'a str)> {
    let c = text.chars().next()?;
    let text = text.get(c.len_utf8()..)?;
    if native && let Some(rest) = pattern.strip_prefix('?') {
        return Some((rest, text));
    }
    if native && let Some((class, rest)) = class(pattern) {
        return class.matches(c, any_case).then_some((rest, text));
    }
    let same = |other: char| other == c || (any_case && other.eq_ignore_ascii_case(&c));
    pattern.strip_prefix(same).map(|rest| (rest, text))
}

/// A bracket expression: the text between the brackets.
struct Class<'a> {
    negated: bool,
    items: &'a str,
}

/// Splits a leading `[…]` off. A `]` directly after the opening (or the `!`) is literal.
fn class(pattern: &str) -> Option<(Class<'_>, &str)> {
    let inner = pattern.strip_prefix('[')?;
    let (negated, inner) = inner
        .strip_prefix('!')
        .map_or((false, inner), |rest| (true, rest));
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner.get(first..)?.find(']')?;
    Some((
        Class {
            negated,
            items: inner.get(..end)?,
        },
        inner.get(end + 1..)?,
    ))
}

impl Class<'_> {
    fn matches(&self, c: char, any_case: bool) -> bool {
        let found = self.holds(c)
            || (any_case
                && (self.holds(c.to_ascii_lowercase()) || self.holds(c.to_ascii_uppercase())));
        found != self.negated
    }

    fn holds(&self, c: char) -> bool {
        let mut found = false;
        let mut chars = self.items.chars();
        while let Some(low) = chars.next() {
            let mut ahead = chars.clone();
            if ahead.next() == Some('-')
                && let Some(high) = ahead.next()
            {
                found |= low <= c && c <= high;
                chars = ahead;
            } else {
                found |= low == c;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a__b", true),
            ("a__*", "a__", true),
            ("a__*", "a_", false),
            ("*__query", "pg__query", true),
            ("*__query", "pg__query2", false),
            ("a*b*c", "axxbyybzzc", true),
            ("a*b*c", "axxbyybzz", false),
            ("?", "a", false),
            ("?", "?", true),
            ("[ab]", "a", false),
            ("**", "x", true),
            ("é*", "éa", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(
                matches(GlobKind::Star, pattern, name),
                expected,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn native_patterns() {
        for (pattern, name, expected) in [
            ("?", "a", true),
            ("?", "é", true),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[!a-c]x", "dx", true),
            ("[]]", "]", true),
            ("[a-]", "-", true),
            ("*[0-9]", "t12", true),
        ] {
            assert_eq!(
                matches(GlobKind::Native, pattern, name),
                expected,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn patterns_without_case() {
        for (pattern, name, expected) in [
            ("*delete*", "s__DeleteAll", true),
            ("DELETE", "delete", true),
            ("*[a-c]x", "BX", true),
            ("*[A-C]x", "bX", true),
            ("[!a-c]x", "Bx", false),
            ("?é", "xÉ", false),
            ("a_b", "A-B", false),
        ] {
            assert_eq!(
                matches(GlobKind::AnyCase, pattern, name),
                expected,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn many_stars_stay_polynomial() {
        let pattern = "*a".repeat(50);
        let name = "a".repeat(2000) + "b";
        assert!(!matches(GlobKind::Star, &pattern, &name));
    }
}
