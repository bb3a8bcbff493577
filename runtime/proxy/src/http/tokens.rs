//! Who may speak to the gateway: names, and what their tokens hash to.
//!
//! Tokens themselves are never kept.

use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt;

/// Who somebody is when no tokens are asked for.
pub(super) const ANYBODY: &str = "anybody";
/// The longest name.
const MAX_NAME: usize = 64;

/// The tokens that are accepted.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Vec<(String, [u8; 32])>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.known.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl Tokens {
    /// Reads a list: a name and the SHA-256 of a token, in hexadecimal, on each line.
    /// A name may stand there more than once, with a token each.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut known = Vec::new();
        let mut digests = HashSet::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let (name, digest) = (words.next(), words.next());
            let Some((name, digest)) = name.zip(digest).filter(|_| words.next().is_none()) else {
                return Err(format!(
                    "line {number}: write a name and the SHA-256 of its token"
                ));
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
            if name.len() > MAX_NAME || !name.chars().all(plain) || name == ANYBODY {
                return Err(format!(
                    "line {number}: a name has up to {MAX_NAME} letters, digits, `.`, `_`, `@` and `-`, and is not `{ANYBODY}`"
                ));
            }
            let Some(digest) = unhex(digest) else {
                return Err(format!(
                    "line {number}: that is no SHA-256: write 64 hexadecimal digits, from `printf %s TOKEN | sha256sum`"
                ));
            };
            if !digests.insert(digest) {
                return Err(format!("line {number}: that token stands there already"));
            }
            known.push((name.to_owned(), digest));
        }
        if known.is_empty() {
            return Err("there is no token in it".to_owned());
        }
        Ok(Self { known })
    }

    /// Whether none are asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whose token that is. Looks at all, so that the time says nothing.
    pub(super) fn whose(&self, token: &[u8]) -> Option<&str> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (name, known) in &self.known {
            let differs = known
                .iter()
                .zip(&digest)
                .fold(0, |differs, (a, b)| differs | (a ^ b));
            if differs == 0 {
                found = Some(name.as_str());
            }
        }
        found
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    let text = text.as_bytes();
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        if !pair.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `secret`.
    const DIGEST: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    #[test]
    fn knows_whose_a_token_is() {
        let tokens = Tokens::parse(&format!("# a comment\n\nalice {DIGEST}\r\n")).unwrap();
        assert_eq!(tokens.whose(b"secret"), Some("alice"));
        assert_eq!(tokens.whose(b"secret "), None);
        assert_eq!(tokens.whose(DIGEST.as_bytes()), None);
        assert_eq!(Tokens::default().whose(b""), None);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, why) in [
            ("", "no token"),
            ("alice", "line 1"),
            ("alice x", "64 hexadecimal digits"),
            (&format!("a b {DIGEST}"), "line 1"),
            (&format!("anybody {DIGEST}"), "anybody"),
            (&format!("a/b {DIGEST}"), "letters"),
            (&format!("a {DIGEST}\nb {DIGEST}"), "line 2"),
            (&format!("a +{}", &DIGEST[1..]), "64 hexadecimal digits"),
        ] {
            let error = Tokens::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
