//! An identifier taken apart into its words, without allocating.
//!
//! Knows nothing of what words mean.

/// The words of an identifier, as they stand there: split at everything that is neither a
/// letter nor a digit, at camel-case humps (`URLPath`: `URL`, `Path`), and between letters
/// and digits. Linear in the identifier.
pub(crate) fn parts(identifier: &str) -> impl Iterator<Item = &str> + Clone {
    Parts { rest: identifier }
}

#[derive(Clone)]
struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut before: Option<char> = None;
        let end = text.char_indices().find(|&(index, c)| {
            let starts_another = before.is_some_and(|before| is_hump(before, c, text, index));
            before = Some(c);
            !c.is_alphanumeric() || starts_another
        });
        let (word, rest) = text.split_at_checked(end.map_or(text.len(), |(index, _)| index))?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Whether a word begins with `c`, which stands at `index` of `text` and after `before`.
fn is_hump(before: char, c: char, text: &str, index: usize) -> bool {
    if before.is_numeric() != c.is_numeric() {
        return true;
    }
    if !c.is_uppercase() {
        return false;
    }
    let mut after = text.get(index..).into_iter().flat_map(str::chars).skip(1);
    let next = after.next();
    // The last capital of a run belongs to the word that follows, unless all that
    // follows is the plural of the run: `URLs`.
    let plural = next == Some('s') && !after.next().is_some_and(char::is_lowercase);
    before.is_lowercase()
        || (before.is_uppercase() && next.is_some_and(char::is_lowercase) && !plural)
}
