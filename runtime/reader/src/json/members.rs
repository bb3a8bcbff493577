//! Finds named members of one JSON object, for callers that forward raw bytes.
//!
//! Knows nothing of what the members mean.

use super::text::Text;
use super::{Event, Limits, Malformed, MalformedKind, Reader, Scratch};
use unicode_normalization::UnicodeNormalization;

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
    let found = named(&mut reader, names, |reader, _| reader.skip_value())?;
    // Only white space can follow.
    reader.next()?;
    found.unambiguous()
}

/// What [`members_within`] finds.
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a, const N: usize, const M: usize> {
    /// The members of the whole object.
    pub outer: [Option<&'a [u8]>; N],
    /// The members of the object in one of these, with offsets from its own start; `None` if
    /// that member is absent. An error here is one of that object only: it is another value, or
    /// has an ambiguous key.
    pub inner: Option<Result<[Option<&'a [u8]>; M], Malformed>>,
}

/// As [`members`], and in the same pass the members `inner` of the object that stands as the
/// member `names[within]`.
///
/// # Errors
/// As [`members`] of the whole text.
pub fn members_within<'a, const N: usize, const M: usize>(
    bytes: &'a [u8],
    names: [&str; N],
    within: usize,
    inner: [&str; M],
    limits: &Limits,
    scratch: &mut Scratch,
) -> Result<Nested<'a, N, M>, Malformed> {
    let mut reader = Reader::new(bytes, limits, scratch)?;
    reader.open_object()?;
    let mut below = None;
    let outer = named(&mut reader, names, |reader, slot| {
        if slot != within || !reader.at_object() {
            if slot == within {
                below = Some(Err(MalformedKind::NotAnObject.at(0)));
            }
            return reader.skip_value();
        }
        reader.open_object()?;
        let start = reader.token_start();
        let found = named(reader, inner, |reader, _| reader.skip_value())?;
        below = Some(found.unambiguous().map_err(|malformed| Malformed {
            offset: malformed.offset - start,
            ..malformed
        }));
        Ok(reader.text().get(start..reader.offset()))
    })?;
    reader.next()?;
    Ok(Nested {
        outer: outer.unambiguous()?,
        inner: below,
    })
}

/// Some members of one object, and the first key that could be taken for one of them.
struct Named<'a, const N: usize> {
    values: [Option<&'a [u8]>; N],
    ambiguous: Option<usize>,
}

impl<'a, const N: usize> Named<'a, N> {
    fn unambiguous(self) -> Result<[Option<&'a [u8]>; N], Malformed> {
        match self.ambiguous {
            Some(offset) => Err(MalformedKind::AmbiguousKey.at(offset)),
            None => Ok(self.values),
        }
    }
}

/// Reads the rest of the object that was opened last. `value` reads the value of a wanted
/// member, given its place among `names`, and returns its text.
fn named<'a, 's, const N: usize>(
    reader: &mut Reader<'a, 's>,
    names: [&str; N],
    mut value: impl FnMut(&mut Reader<'a, 's>, usize) -> Result<Option<&'a str>, Malformed>,
) -> Result<Named<'a, N>, Malformed> {
    let mut found = Named {
        values: [None; N],
        ambiguous: None,
    };
    while let Some(Event::Key(key)) = reader.next()? {
        let offset = reader.token_start();
        let slot = names.iter().position(|name| key.eq_str(name));
        let text = match slot {
            Some(slot) => value(reader, slot)?,
            None => {
                if found.ambiguous.is_none() && names.iter().any(|name| folds_to(key, name)) {
                    found.ambiguous = Some(offset);
                }
                reader.skip_value()?
            }
        };
        if let Some(place) = slot.and_then(|slot| found.values.get_mut(slot)) {
            *place = text.map(str::as_bytes);
        }
    }
    Ok(found)
}

/// Whether a parser that ignores case, or to which composed and decomposed letters are the
/// same, could read `key` as `name`.
pub fn folds_to(key: Text<'_>, name: &str) -> bool {
    if !key.is_escaped() && key.raw().is_ascii() && name.is_ascii() {
        return key.raw().eq_ignore_ascii_case(name);
    }
    // In Swift texts are equal if their canonical forms are.
    let folded = key.chars().map(fold).nfd();
    folded.eq(name.chars().map(fold).nfd())
}

/// The letter that `c` is in lower case, seen through upper case: one for all that some
/// reader takes for the same.
///
/// Go's `encoding/json` folds letters by Unicode, the long s and the Kelvin sign among them; a
/// comparison by upper and lower case, as in Java, also folds the dotted and the dotless i.
/// Letters that become several stay as they are.
fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let one = |letters: &mut dyn Iterator<Item = char>| {
        let first = letters.next()?;
        letters.next().is_none().then_some(first)
    };
    match c {
        '\u{130}' => 'i',
        _ => {
            let upper = one(&mut c.to_uppercase()).unwrap_or(c);
            one(&mut upper.to_lowercase()).unwrap_or(upper)
        }
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
    fn letters_of_all_scripts_have_no_case() {
        for (key, name) in [
            ("été", "Été"),
            ("ПУТЬ", "путь"),
            ("Σ", "ς"),
            ("ẞ", "ß"),
            ("ı", "I"),
            ("İ", "i"),
            ("e\u{301}t\u{e9}", "ÉTE\u{301}"),
            ("\u{212a}ey", "KEY"),
        ] {
            assert!(folds_to(Text::new(key, false), name), "{key} {name}");
            assert!(folds_to(Text::new(name, false), key), "{name} {key}");
        }
        assert!(!folds_to(Text::new("ß", false), "ss"));
        assert!(!folds_to(Text::new("e", false), "é"));
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
        // These are no names at all, wherever they stand.
        for key in [
            "method\\u0000",
            "\\u0000",
            "x\\u0000y",
            "__proto__",
            "\\u005f_proto__",
        ] {
            let text = format!("{{\"{key}\":2}}");
            assert_eq!(
                find(&text, ["method"]),
                Err(MalformedKind::AmbiguousKey.at(1)),
                "{key}"
            );
            let nested = format!("{{\"a\":[{{\"{key}\":2}}]}}");
            assert_eq!(
                find(&nested, ["method"]),
                Err(MalformedKind::AmbiguousKey.at(7)),
                "{key}"
            );
        }
        assert_eq!(find(r#"{"x":"\u0000","proto":1}"#, ["y"]), Ok([None]));
        // Two names may differ in case only, and nested keys are not looked at.
        assert_eq!(
            find(r#"{"A":1,"a":2}"#, ["a", "A"]),
            Ok([Some("2"), Some("1")])
        );
        assert_eq!(find(r#"{"x":{"ID":1}}"#, ["id"]), Ok([None]));
        assert_eq!(find(r#"{"ids":1}"#, ["id"]), Ok([None]));
    }

    #[test]
    fn two_levels_are_read_as_each_by_itself() {
        for text in [
            r#"{"method":"m","params":{"name":"x","arguments":{"a":[1]},"z":1},"id":1}"#,
            r#" { "params" : { "n\u0061me" : "x" } , "method":1 } "#,
            r#"{"params":{}}"#,
            r#"{"params":{"Name":1}}"#,
            r#"{"params":{"Name":1,"name":2,"NAME":3}}"#,
            r#"{"params":[{"name":1}]}"#,
            r#"{"params":"name"}"#,
            r#"{"params":null,"method":2}"#,
            r#"{"method":2}"#,
            r#"{"Params":{"name":1}}"#,
            r#"{"params":{"name":1,"name":2}}"#,
            r#"{"params":{"name":1}"#,
            r#"{"params":{"name":1}}x"#,
            r#"{"params":{"name":{"name":1}},"name":3}"#,
            "[]",
        ] {
            let (names, inner) = (["method", "params"], ["name", "arguments"]);
            let limits = Limits::default();
            let mut scratch = Scratch::new(&limits);
            let both = members_within(text.as_bytes(), names, 1, inner, &limits, &mut scratch);
            let outer = members(text.as_bytes(), names, &limits, &mut scratch);
            assert_eq!(both.map(|both| both.outer), outer, "{text}");
            let (Ok(both), Ok([_, params])) = (both, outer) else {
                continue;
            };
            let apart = params.map(|params| members(params, inner, &limits, &mut scratch));
            assert_eq!(both.inner, apart, "{text}");
        }
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
