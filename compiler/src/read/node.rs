//! The YAML tree of one file: every node keeps its place and, where it is a
//! scalar, how it was written. Knows nothing of policies.

use crate::diagnostic::Span;
use std::borrow::Cow;

/// A node and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// From its first to its last character.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order written. No key stands twice.
    Map(Vec<(Node, Node)>),
}

/// A scalar as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    /// Its text, after unquoting, unescaping and folding.
    pub text: String,
    /// Whether it is text whatever it looks like: quoted, a block, or tagged `!!str`.
    pub quoted: bool,
}

/// A scalar's meaning in YAML 1.2's core schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as the text of a JSON number.
    Number(Cow<'a, str>),
    /// `.inf` or `.nan`, which JSON does not have.
    NotFinite,
    /// Text.
    Text(&'a str),
}

impl Scalar {
    /// What it means in YAML 1.2's core schema.
    pub(crate) fn meaning(&self) -> Meaning<'_> {
        if self.quoted {
            return Meaning::Text(&self.text);
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
            "true" | "True" | "TRUE" => Meaning::Bool(true),
            "false" | "False" | "FALSE" => Meaning::Bool(false),
            ".nan" | ".NaN" | ".NAN" => Meaning::NotFinite,
            text if matches!(
                text.trim_start_matches(['+', '-']),
                ".inf" | ".Inf" | ".INF"
            ) =>
            {
                Meaning::NotFinite
            }
            text => number(text).map_or(Meaning::Text(text), Meaning::Number),
        }
    }

    /// Whether YAML 1.1 reads the plain scalar differently from YAML 1.2, and as what.
    pub(crate) fn differs_in_yaml_1_1(&self) -> Option<&'static str> {
        if self.quoted {
            return None;
        }
        let text = self.text.as_str();
        let lower = text.to_ascii_lowercase();
        if matches!(lower.as_str(), "yes" | "no" | "on" | "off") {
            return Some("a bool");
        }
        let digits = text.trim_start_matches(['+', '-']);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let all = |allowed: &str| digits.chars().all(|c| allowed.contains(c));
        let number_like = digits.contains(':') && all("0123456789:_.")
            || digits.contains('_') && all("0123456789_.")
            || digits.starts_with("0b") && all("01b_")
            || digits.starts_with("0o") && all("01234567o")
            || digits.starts_with("0x") && digits.contains('_')
            || digits.len() > 1 && digits.starts_with('0') && all("0123456789");
        number_like.then_some("a different number")
    }

    /// What YAML 1.1 reads where YAML 1.2 reads something else.
    pub(crate) fn in_yaml_1_1(&self) -> Option<String> {
        let kind = self.differs_in_yaml_1_1()?;
        if kind == "a bool" {
            let yes = matches!(self.text.to_ascii_lowercase().as_str(), "yes" | "on");
            return Some(format!("the bool `{yes}`"));
        }
        let plain = self.text.replace('_', "");
        let (sign, digits) = match plain.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", plain.strip_prefix('+').unwrap_or(&plain)),
        };
        let whole = |digits: &str, radix| u128::from_str_radix(digits, radix).ok();
        let number = if digits.contains(':') {
            digits.split(':').try_fold(0_u128, |sum, part| {
                sum.checked_mul(60)?.checked_add(whole(part, 10)?)
            })
        } else if let Some(bits) = digits.strip_prefix("0b") {
            whole(bits, 2)
        } else if let Some(hex) = digits.strip_prefix("0x") {
            whole(hex, 16)
        } else if digits.starts_with("0o") {
            return Some(format!("the text `{}`", self.text));
        } else if digits.len() > 1 && digits.starts_with('0') && !digits.contains('.') {
            whole(digits, 8)
        } else {
            return Some(format!("the number `{sign}{digits}`"));
        };
        Some(number.map_or_else(
            || kind.to_owned(),
            |number| format!("the number `{sign}{number}`"),
        ))
    }
}

/// The JSON spelling of a plain scalar that is a number in YAML 1.2's core schema.
fn number(text: &str) -> Option<Cow<'_, str>> {
    let radix = |digits: &str, radix| {
        (!digits.starts_with(['+', '-']))
            .then(|| u128::from_str_radix(digits, radix).ok())
            .flatten()
            .map(|n| Cow::Owned(n.to_string()))
    };
    if let Some(hex) = text.strip_prefix("0x") {
        return radix(hex, 16);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return radix(octal, 8);
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (mantissa, ""),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent_digits = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
    if exponent_digits.is_some_and(|e| e.is_empty() || !digits(e)) {
        return None;
    }
    let trimmed = match whole.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let mut out = String::with_capacity(text.len() + 1);
    if negative {
        out.push('-');
    }
    out.push_str(trimmed);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        out.push('e');
        out.push_str(exponent);
    }
    Some(if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    })
}

impl Node {
    /// What the node is, for messages: `a list`, `the text `x``.
    pub(crate) fn describe(&self) -> String {
        use crate::diagnostic::{plain, quote};
        match &self.value {
            Value::List(items) if items.is_empty() => "an empty list".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(entries) if entries.is_empty() => "an empty mapping".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null if scalar.text.is_empty() => "nothing (null)".to_owned(),
                Meaning::Null => "null".to_owned(),
                Meaning::Bool(value) => format!("the bool `{value}`"),
                Meaning::Number(_) => format!("the number `{}`", plain(&scalar.text)),
                Meaning::NotFinite => format!("`{}`", plain(&scalar.text)),
                Meaning::Text("") => "an empty text".to_owned(),
                Meaning::Text(text) => format!("the text {}", quote(text)),
            },
        }
    }

    /// The text, if the node is a scalar that means text.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Text(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The entries, if the node is a mapping.
    pub(crate) fn as_map(&self) -> Option<&[(Node, Node)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar {
        Scalar {
            text: text.to_owned(),
            quoted: false,
        }
    }

    #[test]
    fn plain_scalars_follow_yaml_1_2() {
        let number = |text: &str, json: &str| {
            assert_eq!(
                plain(text).meaning(),
                Meaning::Number(json.into()),
                "{text}"
            );
        };
        number("010", "10");
        number("+1", "1");
        number("0x10", "16");
        number("0o17", "15");
        number(".5", "0.5");
        number("5.", "5");
        number("-1.50e+3", "-1.50e+3");
        number("0", "0");
        for text in [
            "yes",
            "1:30",
            "1_000",
            "0b1",
            "1e",
            ".",
            "-",
            "+-1",
            "0x-1",
            "2026-01-01",
        ] {
            assert_eq!(plain(text).meaning(), Meaning::Text(text));
        }
        assert_eq!(plain("~").meaning(), Meaning::Null);
        assert_eq!(plain("-.inf").meaning(), Meaning::NotFinite);
    }

    #[test]
    fn yaml_1_1_surprises_are_known() {
        for text in ["yes", "Off", "1:30", "1_000", "010", "0b1", "-1:0.5"] {
            assert!(plain(text).differs_in_yaml_1_1().is_some(), "{text}");
        }
        for (text, other) in [
            ("yes", "the bool `true`"),
            ("Off", "the bool `false`"),
            ("0755", "the number `493`"),
            ("1_000", "the number `1000`"),
            ("-1:30", "the number `-90`"),
            ("0b101", "the number `5`"),
            ("0o17", "the text `0o17`"),
            ("089", "a different number"),
        ] {
            assert_eq!(plain(text).in_yaml_1_1().as_deref(), Some(other), "{text}");
        }
        for text in ["true", "10", "0", "1.5", "a:b", "0x10", "2026-01-01", "::1"] {
            assert!(plain(text).differs_in_yaml_1_1().is_none(), "{text}");
        }
    }
}
