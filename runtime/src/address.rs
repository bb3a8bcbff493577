//! Stand-in until the real tokens are merged.

/// What a token looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKind {
    /// An address.
    Address,
    /// A host.
    Host,
}

/// A destination-shaped part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its shape.
    pub kind: TokenKind,
    /// Its text.
    pub text: &'a str,
}

fn inner(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '@')
}

/// The tokens of a folded text.
pub fn tokens<'a>(folded: &'a str, mut each: impl FnMut(Token<'a>)) {
    for word in folded.split(|c: char| !inner(c)) {
        let word = word.trim_matches(['.', '-', '@']);
        if let Some((_, host)) = word.rsplit_once('@') {
            each(Token {
                kind: TokenKind::Address,
                text: word,
            });
            if host.contains('.') {
                each(Token {
                    kind: TokenKind::Host,
                    text: host,
                });
            }
        } else if word.contains('.') {
            each(Token {
                kind: TokenKind::Host,
                text: word,
            });
        }
    }
}

/// Whether a token at this place stands by itself.
#[must_use]
pub fn token_stands_at(kind: TokenKind, haystack: &str, start: usize, end: usize) -> bool {
    let before = haystack.get(..start).and_then(|s| s.chars().next_back());
    let after = haystack.get(end..).unwrap_or_default();
    let ok_before = match kind {
        TokenKind::Address => before.is_none_or(|c| !inner(c)),
        TokenKind::Host => before.is_none_or(|c| !inner(c) || c == '.' || c == '@'),
    };
    let after = after.trim_start_matches('.').chars().next();
    ok_before && after.is_none_or(|c| !inner(c))
}
