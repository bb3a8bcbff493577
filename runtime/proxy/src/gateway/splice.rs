//! Puts new bytes in the place of parts of a line, and leaves all others as they are.
//!
//! Knows nothing of messages; the parts are found by the strict reader.

/// A part of a line, and what stands in its place.
pub(crate) type Edit<'a> = (&'a [u8], Vec<u8>);

/// `line` with every part replaced. `None` if a part is not a slice of the line, or if
/// parts overlap: both would be a fault of the caller.
pub(crate) fn splice(line: &[u8], mut edits: Vec<Edit<'_>>) -> Option<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
