//! One spelling for all JSON texts of the same value: what an approval is bound to.
//!
//! The order of members, white space, escapes and spellings of a number do not matter;
//! anything else does, Unicode forms included.

use bouncer_reader::number;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// Feeds the canonical spelling of `raw` to `sink`. `None` if it is not one JSON value,
/// has a member twice, or is nested too deeply.
pub(super) fn canonical(raw: &[u8], sink: &mut dyn FnMut(&[u8])) -> Option<()> {
    let value: &RawValue = serde_json::from_slice(raw).ok()?;
    write(value.get(), sink)
}

// The depth is bounded: no level parses that serde_json's own limit refuses.
fn write(raw: &str, sink: &mut dyn FnMut(&[u8])) -> Option<()> {
    match raw.as_bytes().first()? {
        b'{' => {
            let members: Members<'_> = serde_json::from_str(raw).ok()?;
            sink(b"{");
            for (key, value) in &members.0 {
                sink(serde_json::to_string(key).ok()?.as_bytes());
                sink(b":");
                write(value.get(), sink)?;
                sink(b",");
            }
            sink(b"}");
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            sink(b"[");
            for item in items {
                write(item.get(), sink)?;
                sink(b",");
            }
            sink(b"]");
        }
        b'"' => {
            let text: String = serde_json::from_str(raw).ok()?;
            sink(serde_json::to_string(&text).ok()?.as_bytes());
        }
        // An exponent past any use has no canonical form: its spelling stands for it.
        b'-' | b'0'..=b'9' => match number::canonical(raw) {
            Some(number) => sink(number.as_bytes()),
            None => sink(raw.as_bytes()),
        },
        _ => sink(raw.as_bytes()),
    }
    Some(())
}

/// The members of an object by key, none of them twice.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = map.next_entry()? {
                    if members.insert(key, value).is_some() {
                        return Err(A::Error::custom("a member stands twice"));
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> Option<String> {
        let mut out = Vec::new();
        canonical(raw.as_bytes(), &mut |part| out.extend_from_slice(part))?;
        String::from_utf8(out).ok()
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        for (a, b) in [
            (
                r#"{"a":1,"b":{"c":2,"d":[]}}"#,
                r#" { "b":{"d":[ ],"c":2.0}, "a":10e-1 }"#,
            ),
            (r#""\u0061\/""#, r#""a/""#),
            ("0", "-0.0"),
        ] {
            assert_eq!(text(a), text(b), "{a}");
            assert!(text(a).is_some(), "{a}");
        }
        for (a, b) in [
            ("[1,2]", "[2,1]"),
            (r#""x y""#, r#""x  y""#),
            ("1", r#""1""#),
            ("1", "true"),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
            ("\"\u{e9}\"", "\"e\u{301}\""),
            ("9007199254740993", "9007199254740992"),
            ("1e400", "null"),
            ("[[1],[2]]", "[[1,[2]]]"),
            (r#"["a,b"]"#, r#"["a","b"]"#),
        ] {
            assert_ne!(text(a), text(b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_not_one_value_has_no_form() {
        for raw in [
            "",
            "{",
            "1 2",
            r#"{"a":1,"a":1}"#,
            r#"[{"a":1,"\u0061":2}]"#,
            "nul",
        ] {
            assert_eq!(text(raw), None, "{raw}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(text(&deep), None);
    }
}
