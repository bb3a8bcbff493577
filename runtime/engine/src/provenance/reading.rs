//! Other ways to write the same destination: what to compare beside the canonical
//! form itself. Only ever used to find more, never to vouch.

use bouncer_reader::address::{self, Token, TokenKind};

/// Schemes whose destination is all that follows the colon.
const OPAQUE_SCHEMES: [&str; 12] = [
    "mailto", "tel", "sms", "smsto", "mms", "sip", "sips", "xmpp", "im", "acct", "callto", "skype",
];

/// Longer texts are no single destination, dressed up or not.
const MAX_DRESSED_BYTES: usize = 2048;

/// A destination without its scheme and without punctuation around it: the part that
/// `http://evil.example/x` and `https://evil.example/x.` have in common. Always a part
/// of what it is given.
pub(super) fn bare(folded: &str) -> &str {
    let edge = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '.' | ','
                    | ';'
                    | ':'
                    | '!'
                    | '?'
                    | '/'
                    | '<'
                    | '>'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '"'
                    | '\''
                    | '`'
                    | '|'
                    | '*'
                    | '='
            )
    };
    let mut rest = folded.trim_matches(edge);
    // `mailto:` may stand before a scheme's own `//`, as in `url:https://…`.
    while let Some((scheme, after)) = rest.split_once(':') {
        let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        if !named || !(after.starts_with("//") || OPAQUE_SCHEMES.contains(&scheme)) {
            break;
        }
        rest = after.trim_matches(edge);
    }
    rest
}

/// Writes `folded` with the `+tag` of each address left out. Returns whether there was
/// any.
pub(super) fn untagged(folded: &str, out: &mut String) -> bool {
    if folded.len() > MAX_DRESSED_BYTES || !folded.contains('+') {
        return false;
    }
    out.clear();
    let mut rest = folded;
    let mut any = false;
    while let Some(at) = rest.find('@') {
        let (before, after) = rest.split_at(at);
        // The local part ends here and starts after the last character that cannot be
        // in one.
        let local = before
            .rfind(|c: char| {
                c.is_whitespace()
                    || matches!(c, '<' | '(' | '[' | ',' | ';' | ':' | '/' | '"' | '@')
            })
            .map_or(0, |at| {
                at + before[at..].chars().next().map_or(1, char::len_utf8)
            });
        let name = before.get(local..).unwrap_or_default();
        // A plus at the start is a telephone number's.
        match name.find('+').filter(|plus| *plus > 0) {
            Some(plus) => {
                any = true;
                out.push_str(before.get(..local + plus).unwrap_or_default());
            }
            None => out.push_str(before),
        }
        out.push('@');
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    any
}

/// Writes a recorded host or address with an international domain as it travels, with
/// `xn--` labels. Returns whether it is one. Allocates; for recording only.
pub(super) fn in_punycode(token: Token<'_>, out: &mut String) -> bool {
    if token.text.is_ascii() {
        return false;
    }
    match (token.kind, token.text.split_once('@')) {
        (TokenKind::Host, None) => address::host(token.text, out).is_ok(),
        (TokenKind::Email, Some((local, domain))) => {
            let named = address::host(domain, out).is_ok();
            out.insert(0, '@');
            out.insert_str(0, local);
            named
        }
        _ => false,
    }
}

/// Writes `folded` without its spaces. Returns whether there were any.
pub(super) fn unspaced(folded: &str, out: &mut String) -> bool {
    if folded.len() > MAX_DRESSED_BYTES || !folded.contains(' ') {
        return false;
    }
    out.clear();
    out.extend(folded.split(' '));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_forms() {
        for (dressed, plain) in [
            ("mailto:a@evil.com", "a@evil.com"),
            ("https://evil.com/x.", "evil.com/x"),
            ("<a@evil.com>", "a@evil.com"),
            ("url:https://evil.com/", "url:https://evil.com"),
            ("evil.com:8080/x", "evil.com:8080/x"),
            ("slack:general", "slack:general"),
            ("//evil.com.", "evil.com"),
            ("mailto:", "mailto"),
            ("", ""),
        ] {
            assert_eq!(bare(dressed), plain);
        }
    }

    #[test]
    fn tags_are_left_out() {
        let mut out = String::new();
        assert!(untagged("a+x@evil.com", &mut out));
        assert_eq!(out, "a@evil.com");
        assert!(untagged("A <a+x+y@evil.com>, b@x, mailto:c+d@e", &mut out));
        assert_eq!(out, "A <a@evil.com>, b@x, mailto:c@e");
        assert!(!untagged("+49 123@x", &mut out));
        assert!(!untagged("1+1=2", &mut out));
        assert!(!untagged("a@b+c", &mut out));
    }
}
