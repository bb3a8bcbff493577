//! The text of a JSON string: compared, hashed and decoded without allocating.
//!
//! Knows only validated string contents; [`super::Reader`] does the validating.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::block::tail_word;
use memchr::memchr;

/// What stands between the quotes of a JSON string, already validated.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// `raw` has to hold valid escapes only, and `escaped` to say if it has any.
    pub const fn new(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The bytes between the quotes as they stand, escapes unresolved.
    #[must_use]
    pub const fn raw(&self) -> &'a str {
        self.raw
    }

    /// Whether [`raw`](Self::raw) differs from the decoded text.
    #[must_use]
    pub const fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// The decoded text, if it can be had without decoding.
    #[must_use]
    pub const fn as_plain(&self) -> Option<&'a str> {
        if self.escaped { None } else { Some(self.raw) }
    }

    /// Appends the decoded text to `out`. Linear; at most `raw().len()` bytes.
    pub fn decode_into(&self, out: &mut String) {
        if !self.escaped {
            out.push_str(self.raw);
            return;
        }
        let mut rest = self.raw;
        while let Some((run, escape)) =
            memchr(b'\\', rest.as_bytes()).and_then(|at| rest.split_at_checked(at))
        {
            out.push_str(run);
            let short = match escape.as_bytes().get(1) {
                Some(b'n') => Some('\n'),
                Some(b'"') => Some('"'),
                Some(b'\\') => Some('\\'),
                Some(b'/') => Some('/'),
                Some(b't') => Some('\t'),
                _ => None,
            };
            if let Some(c) = short {
                out.push(c);
                rest = escape.get(2..).unwrap_or_default();
                continue;
            }
            let mut chars = DecodedChars {
                rest: escape.chars(),
            };
            out.extend(chars.next());
            rest = chars.rest.as_str();
        }
        out.push_str(rest);
    }

    /// The decoded text; allocates only where there are escapes.
    #[must_use]
    pub fn to_cow(&self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut decoded = String::with_capacity(self.raw.len());
        self.decode_into(&mut decoded);
        Cow::Owned(decoded)
    }

    /// The decoded characters, one by one.
    #[must_use]
    pub fn chars(&self) -> DecodedChars<'a> {
        DecodedChars {
            rest: self.raw.chars(),
        }
    }

    /// Whether the decoded text equals `other`. Linear, no allocation.
    #[must_use]
    pub fn eq_str(&self, other: &str) -> bool {
        if !self.escaped {
            return self.raw == other;
        }
        // An escape is always longer than what it stands for.
        self.raw.len() > other.len() && self.chars().eq(other.chars())
    }

    /// Orders decoded texts by code point, which is also their byte order.
    #[must_use]
    pub fn cmp_decoded(&self, other: &Text<'_>) -> Ordering {
        if self.escaped || other.escaped {
            self.chars().cmp(other.chars())
        } else {
            self.raw.cmp(other.raw)
        }
    }

    /// The length and the first bytes of the decoded text in one word: different for
    /// most different texts, equal for equal ones, and cheaper than a hash.
    #[must_use]
    pub(super) fn signature(&self) -> u64 {
        if self.escaped {
            let (mut word, mut len) = (0, 0_u64);
            let mut buffer = [0; 4];
            for c in self.chars() {
                for &byte in c.encode_utf8(&mut buffer).as_bytes() {
                    if len < 8 {
                        word |= u64::from(byte) << (len * 8);
                    }
                    len += 1;
                }
            }
            return word ^ (len << 56);
        }
        let bytes = self.raw.as_bytes();
        let word = match bytes.first_chunk::<8>() {
            Some(first) => u64::from_le_bytes(*first),
            None => tail_word(bytes),
        };
        word ^ ((bytes.len() as u64) << 56)
    }

    /// Hash of the decoded text: the same as [`hash_str`] of it. Linear, no
    /// allocation.
    #[must_use]
    pub fn hash(&self, seed: u64) -> u64 {
        if !self.escaped {
            return hash_str(seed, self.raw);
        }
        let (mut state, mut word, mut len) = (seed, 0u64, 0u64);
        let mut buffer = [0u8; 4];
        for c in self.chars() {
            for &byte in c.encode_utf8(&mut buffer).as_bytes() {
                word |= u64::from(byte) << ((len % 8) * 8);
                len += 1;
                if len % 8 == 0 {
                    state = mix(state ^ word);
                    word = 0;
                }
            }
        }
        finish(state, word, len)
    }
}

/// A fast, seeded hash of `text`; the same on every machine.
///
/// Good enough to tell keys apart, but no defence by itself: whoever hashes
/// hostile text has to stay fast when hashes collide.
#[must_use]
pub fn hash_str(seed: u64, text: &str) -> u64 {
    hash_bytes(seed, text.as_bytes())
}

/// [`hash_str`] of bytes.
pub fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut state = seed;
    for word in words {
        state = mix(state ^ u64::from_le_bytes(*word));
    }
    finish(state, tail_word(tail), bytes.len() as u64)
}

/// The length goes in last, so that trailing zero bytes count.
fn finish(state: u64, tail: u64, len: u64) -> u64 {
    mix(mix(state ^ tail) ^ len)
}

/// Multiplies by an odd constant (the golden ratio) and folds the high half in.
fn mix(word: u64) -> u64 {
    const FACTOR: u128 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(word ^ 0xD1B5_4A32_D192_ED03) * FACTOR;
    (product as u64) ^ ((product >> 64) as u64)
}

/// Iterator over the decoded characters of a [`Text`].
#[derive(Clone, Debug)]
pub struct DecodedChars<'a> {
    rest: std::str::Chars<'a>,
}

impl Iterator for DecodedChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.rest.next()? {
            '\\' => Some(self.escape()),
            c => Some(c),
        }
    }
}

impl DecodedChars<'_> {
    /// Resolves the escape whose backslash has been read. The replacement
    /// character stands for what validation has excluded.
    fn escape(&mut self) -> char {
        match self.rest.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => self.unicode().unwrap_or(char::REPLACEMENT_CHARACTER),
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hex4()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        self.rest.nth(1)?;
        let low = self.hex4()?.checked_sub(0xDC00)?;
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut value = 0;
        for _ in 0..4 {
            value = value << 4 | self.rest.next()?.to_digit(16)?;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_hashing_and_comparing_agree() {
        let cases = [
            ("", ""),
            ("abc", "abc"),
            (r"\u0061bc", "abc"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"x\ud83d\ude00y", "x\u{1F600}y"),
            (r"\u0000", "\0"),
            (r"\u00e9\uFFFF", "\u{e9}\u{ffff}"),
            (
                r"a long tail \u0041 after nine bytes é",
                "a long tail A after nine bytes é",
            ),
        ];
        for (raw, decoded) in cases {
            let text = Text::new(raw, raw.contains('\\'));
            assert_eq!(text.to_cow(), decoded);
            assert_eq!(text.chars().collect::<String>(), decoded);
            assert!(text.eq_str(decoded));
            assert!(!text.eq_str(&format!("{decoded}x")));
            assert_eq!(text.hash(7), hash_str(7, decoded));
            assert_eq!(text.signature(), Text::new(decoded, false).signature());
            assert_eq!(
                text.cmp_decoded(&Text::new(raw, text.escaped)),
                Ordering::Equal
            );
        }
    }

    #[test]
    fn hashes_tell_lengths_and_tails_apart() {
        let mut seen = std::collections::HashSet::new();
        for len in 0..40 {
            assert!(seen.insert(hash_str(1, &"\0".repeat(len))));
            assert!(seen.insert(hash_str(1, &format!("{}b", "a".repeat(len)))));
        }
    }

    #[test]
    fn order_is_code_point_order_with_and_without_escapes() {
        let plain = Text::new("a\u{ffff}", false);
        let pair = Text::new(r"a\ud83d\ude00", true);
        assert_eq!(plain.cmp_decoded(&pair), Ordering::Less);
        assert_eq!(pair.cmp_decoded(&plain), Ordering::Greater);
    }
}
