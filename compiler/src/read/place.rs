//! From an offset in a scalar's text back to the place in the file.

/// The byte in `source` (the scalar as written, from its first character on) at which
/// the byte `offset` of its text was written.
///
/// Exact for plain and quoted scalars on one line and for the words of folded and
/// block ones; elsewhere the nearest place before. Takes linear time.
pub(crate) fn locate(source: &str, text: &str, offset: usize) -> usize {
    let mut style = source.chars().next();
    let mut at = match style {
        Some('"' | '\'') => 1,
        // A block scalar's text starts on the line after its header.
        Some('|' | '>') => source.find('\n').map_or(source.len(), |n| n + 1),
        _ => 0,
    };
    if at == 0 {
        style = None;
    }
    for (index, c) in text.char_indices() {
        if c.is_whitespace() {
            // Folding and indentation: a run of white space stands for any other.
            let run = white_space(source, at, style);
            if index >= offset {
                return at;
            }
            at += run;
            continue;
        }
        at += white_space(source, at, style);
        if index >= offset {
            return at;
        }
        match written(source, at, style, c) {
            Some(length) => at += length,
            None => return at,
        }
    }
    at
}

/// The length of the white space at `at`; in double quotes, escaped line breaks and
/// blanks are white space too.
fn white_space(source: &str, at: usize, style: Option<char>) -> usize {
    let rest = source.get(at..).unwrap_or("");
    let mut length = 0;
    loop {
        let rest = rest.get(length..).unwrap_or("");
        let blank = rest.len() - rest.trim_start().len();
        let escaped = if style == Some('"') && blank == 0 {
            let next = rest.strip_prefix('\\').and_then(|r| r.chars().next());
            match next {
                Some('n' | 't' | 'r' | ' ' | '\n' | '\t' | '_' | 'N' | 'L' | 'P') => 2,
                Some('\r') => 3,
                _ => 0,
            }
        } else {
            0
        };
        if blank + escaped == 0 {
            return length;
        }
        length += blank + escaped;
        if escaped != 0 && !matches!(rest.as_bytes().get(1), Some(b'\n' | b'\r')) {
            return length;
        }
    }
}

/// How many bytes of the source stand for `c`.
fn written(source: &str, at: usize, style: Option<char>, c: char) -> Option<usize> {
    let rest = source.get(at..)?;
    if style == Some('\'') && rest.starts_with("''") {
        return (c == '\'').then_some(2);
    }
    if style == Some('"')
        && let Some(escape) = rest.strip_prefix('\\')
    {
        let digits = match escape.chars().next()? {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        return Some(1 + escape.chars().next()?.len_utf8() + digits);
    }
    rest.starts_with(c).then_some(c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(source: &str, text: &str, word: &str) -> String {
        let at = locate(source, text, text.find(word).unwrap());
        source[at..].chars().take(word.chars().count()).collect()
    }

    #[test]
    fn words_are_found_in_every_style() {
        assert_eq!(word("args.a > x", "args.a > x", "x"), "x");
        assert_eq!(word("'it''s x'", "it's x", "x"), "x");
        assert_eq!(word(r#""a \"b\" \u00e9 x""#, "a \"b\" é x", "x"), "x");
        assert_eq!(word("\"a\\\n   b x\"", "ab x", "x"), "x");
        assert_eq!(
            word("|\n    a\n      b\n    c d\n", "a\n  b\nc d\n", "d"),
            "d"
        );
        assert_eq!(word(">-\n    a\n    b  c\n", "a b  c", "c"), "c");
        assert_eq!(word("a b\n     c d", "a b c d", "d"), "d");
    }

    #[test]
    fn nonsense_stays_inside() {
        for source in ["", "\"\\", "'", "|", "ä"] {
            assert!(locate(source, "some text", 5) <= source.len() + 1);
        }
    }
}
