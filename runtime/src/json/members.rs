//! Finds named members of one JSON object, for callers that forward raw bytes.
//!
//! Knows nothing of what the members mean.

use super::text::Text;
use super::{Event, Limits, Malformed, MalformedKind, Reader, Scratch};

/// Reads one JSON object strictly and returns the raw bytes of the members that
/// `names` asks for, in the order of `names`; `None` where one is absent.
///
/// The whole text is validated, also below members nobody asked for. Keys are
/// compared with their escapes resolved. Time is linear in `bytes`, times the few
/// names.
///
/// # Errors
/// Any defect of the text. [`MalformedKind::NotAnObject`] if it is another value.
/// [`MalformedKind::AmbiguousKey`] if a key is not one of `names` but is taken
/// for one by parsers that ignore case, so that they would see a member that this
/// function does not.
pub fn members<'a, const N: usize>(
    bytes: &'a [u8],
    names: [&str; N],
    limits: &Limits,
    scratch: &mut Scratch,
) -> Result<[Option<&'a [u8]>; N], Malformed> {
    let mut reader = Reader::new(bytes, limits, scratch)?;
    reader.open_object()?;
    let mut found = [None; N];
    while let Some(event) = reader.next()? {
        let Event::Key(key) = event else {
            // The end of the object; what follows can only be white space.
            continue;
        };
        let offset = reader.token_start();
        let slot = found
            .iter_mut()
            .zip(names)
            .find(|(_, name)| key.eq_str(name));
        if slot.is_none() && names.iter().any(|name| folds_to(key, name)) {
            return Err(MalformedKind::AmbiguousKey.at(offset));
        }
        let value = reader.skip_value()?;
        if let Some((slot, _)) = slot {
            *slot = value.map(str::as_bytes);
        }
    }
    Ok(found)
}

/// Whether a parser that ignores case could read `key` as `name`.
pub(crate) fn folds_to(key: Text<'_>, name: &str) -> bool {
    key.chars().map(fold).eq(name.chars().map(fold))
}

/// The ASCII letter that `c` may be taken for, or `c`.
///
/// Go's `encoding/json` folds the long s and the Kelvin sign; a comparison by
/// upper and lower case, as in Java, also folds the dotted and the dotless i.
fn fold(c: char) -> char {
    match c {
        '\u{17F}' => 's',
        '\u{212A}' => 'k',
        '\u{130}' | '\u{131}' => 'i',
        _ => c.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a, const N: usize>(
        text: &'a str,
        names: [&str; N],
    ) -> Result<[Option<&'a str>; N], Malformed> {
        let limits = Limits::default();
        members(text.as_bytes(), names, &limits, &mut Scratch::new(&limits))
            .map(|found| found.map(|raw| raw.map(|raw| std::str::from_utf8(raw).unwrap())))
    }

    #[test]
    fn raw_values_come_back_without_surrounding_space() {
        let line = "{ \"id\" : 1.0 ,\"method\":\"tools\\/call\", \"params\" :\t{ \"a\": [1, 2] } , \"x\":null}\n";
        assert_eq!(
            find(line, ["method", "id", "params", "result"]),
            Ok([
                Some("\"tools\\/call\""),
                Some("1.0"),
                Some("{ \"a\": [1, 2] }"),
                None
            ])
        );
        assert_eq!(find("{}", ["id"]), Ok([None]));
        assert_eq!(find::<0>("{\"a\":1}", []), Ok([]));
    }

    #[test]
    fn keys_are_compared_unescaped() {
        assert_eq!(find(r#"{"m\u0065thod":1}"#, ["method"]), Ok([Some("1")]));
    }

    #[test]
    fn look_alike_keys_are_refused() {
        for key in ["Method", "METHOD", "m\\u0045thod"] {
            let text = format!("{{\"a\":1,\"{key}\":2}}");
            assert_eq!(
                find(&text, ["method"]),
                Err(MalformedKind::AmbiguousKey.at(7)),
                "{key}"
            );
        }
        for (key, name) in [
            ("param\u{17F}", "params"),
            ("PARAM\\u017F", "params"),
            ("to\u{212A}en", "token"),
            ("\u{130}d", "id"),
            ("\u{131}d", "id"),
        ] {
            let text = format!("{{\"{key}\":2}}");
            assert_eq!(
                find(&text, [name]),
                Err(MalformedKind::AmbiguousKey.at(1)),
                "{key}"
            );
        }
        // Two names may differ in case only, and nested keys are not looked at.
        assert_eq!(
            find(r#"{"A":1,"a":2}"#, ["a", "A"]),
            Ok([Some("2"), Some("1")])
        );
        assert_eq!(find(r#"{"x":{"ID":1}}"#, ["id"]), Ok([None]));
        assert_eq!(find(r#"{"ids":1}"#, ["id"]), Ok([None]));
    }

    #[test]
    fn the_rest_of_the_text_is_validated() {
        let kind = |text| find(text, ["id"]).map_err(|m| m.kind);
        assert_eq!(
            kind(r#"{"id":1,"x":[{"a":1,"a":2}]}"#),
            Err(MalformedKind::DuplicateKey)
        );
        assert_eq!(kind(r#"{"id":1,"id":1}"#), Err(MalformedKind::DuplicateKey));
        assert_eq!(kind(r#"{"id":1}{}"#), Err(MalformedKind::TrailingBytes));
        assert_eq!(kind(r#"{"id":1"#), Err(MalformedKind::UnexpectedEnd));
        assert_eq!(kind(r#"[{"id":1}]"#), Err(MalformedKind::NotAnObject));
        assert_eq!(kind(""), Err(MalformedKind::UnexpectedEnd));
    }
}
