//! Puts new bytes in the place of parts of a line, and leaves all others as they are.
//!
//! Knows nothing of messages; the parts are found by the strict reader.

/// A part of a line, and what stands in its place.
pub type Edit<'a> = (&'a [u8], Vec<u8>);

/// `line` with every part replaced. `None` if a part is not a slice of the line, or if
/// parts overlap: both would be a fault of the caller.
pub fn splice(line: &[u8], mut edits: Vec<Edit<'_>>) -> Option<Vec<u8>> {
    let start = line.as_ptr() as usize;
    edits.sort_by_key(|(part, _)| part.as_ptr() as usize);
    let mut out = Vec::with_capacity(line.len() + 64);
    let mut done = 0;
    for (part, new) in edits {
        let from = (part.as_ptr() as usize).checked_sub(start)?;
        out.extend_from_slice(line.get(done..from)?);
        out.extend_from_slice(&new);
        done = from.checked_add(part.len())?;
    }
    out.extend_from_slice(line.get(done..)?);
    Some(out)
}

/// The whole member of a strictly read object that has that value, found by its place,
/// with the comma that goes when it goes. `None` if the value is no part of the object.
pub fn member<'a>(object: &'a [u8], value: &[u8]) -> Option<&'a [u8]> {
    let at = (value.as_ptr() as usize).checked_sub(object.as_ptr() as usize)?;
    let before = object.get(..at)?.trim_ascii_end().strip_suffix(b":")?;
    let name = before.trim_ascii_end().strip_suffix(b"\"")?;
    // Names that are looked for hold no quotes, however they are spelled.
    let start = memchr::memrchr(b'"', name)?;
    let end = at.checked_add(value.len())?;
    let after = object.get(end..)?;
    let rest = after.trim_ascii_start();
    if let Some(rest) = rest.strip_prefix(b",") {
        return object.get(start..object.len() - rest.len());
    }
    let before = object.get(..start)?.trim_ascii_end();
    let start = before.strip_suffix(b",").map_or(start, <[u8]>::len);
    object.get(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_whole_members() {
        let without = |object: &str, value: &str| {
            let at = object.find(value).unwrap();
            let value = &object.as_bytes()[at..at + value.len()];
            let member = member(object.as_bytes(), value).unwrap();
            let left = splice(object.as_bytes(), vec![(member, Vec::new())]).unwrap();
            String::from_utf8(left).unwrap()
        };
        assert_eq!(
            without(r#"{"a":1,"b" : 22 , "c":3}"#, "22"),
            r#"{"a":1, "c":3}"#
        );
        assert_eq!(without(r#"{"a":1 , "b":22 }"#, "22"), r#"{"a":1  }"#);
        assert_eq!(without(r#"{ "\u0062":22 }"#, "22"), "{  }");
        assert_eq!(member(b"{}", b"x"), None);
    }

    #[test]
    fn replaces_parts_and_nothing_else() {
        let line = br#"{"id" : 1, "x":{"y":"a\u0062"} }"#;
        let (id, y) = (&line[8..9], &line[20..29]);
        assert_eq!(y, br#""a\u0062""#);
        let edits = vec![(y, b"\"long one\"".to_vec()), (id, b"77".to_vec())];
        assert_eq!(
            splice(line, edits).unwrap(),
            br#"{"id" : 77, "x":{"y":"long one"} }"#
        );
        assert_eq!(splice(line, vec![]).unwrap(), line);
        assert_eq!(
            splice(line, vec![(&line[2..6], vec![]), (&line[4..8], vec![])]),
            None
        );
        assert_eq!(splice(&line[..4], vec![(&line[2..6], vec![])]), None);
    }
}
