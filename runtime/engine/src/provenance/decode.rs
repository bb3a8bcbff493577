//! Text that hides inside text: base64, and the escapes of JSON, HTML and mail.
//!
//! An agent reads these as easily as plain text, so what they say is recorded as
//! well. Works on text as received; case still matters here.

use bouncer_reader::block::{self, Block, Set, places, wanted};

/// Shorter runs cannot hide a destination and are mostly words.
const MIN_RUN: usize = 16;

/// Whether a text may hold another one, as far as can be told at a glance: it is long enough for
/// base64, or has what an escape or an address in words begins or ends with.
pub(super) fn may_hide(text: &str) -> bool {
    const SIGNS: Set<6> = Set::of(*b" =\\&)>");
    const MORE: Set<2> = Set::of(*b"@]");
    let tells = wanted!(|b| b.among(&SIGNS) | b.among(&MORE) | b.is(b'}') | b.within(0x09, 0x0d));
    text.len() >= MIN_RUN || block::find(text.as_bytes(), tells).is_some()
}

/// Hands over each text that is written inside `text` in another form.
///
/// What comes out is never more than what went in, for each of the two kinds.
pub(super) fn hidden(text: &str, mut each: impl FnMut(String)) {
    base64_runs(text, &mut each);
    if let Some(plain) = unescaped(text) {
        each(plain);
    }
    if let Some(plain) = spelt_out(text) {
        each(plain);
    }
}

/// `text` with `eve (at) evil [dot] com` and `eve @ evil . com` written as an address;
/// `None` if nothing in it looks so. The bare words ` at ` and ` dot ` count only in a
/// text that has both.
fn spelt_out(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let has = |word: &[u8]| {
        // Spaces are everywhere; the letter behind one is not.
        let letter = word.get(1).copied().unwrap_or(b' ');
        let mut letters = places(
            bytes,
            wanted!([letter: u8] |block| block.or(0x20).is(letter)),
        );
        letters.any(|at| {
            let start = at.wrapping_sub(1);
            let here = bytes.get(start..).and_then(|rest| rest.get(..word.len()));
            here.is_some_and(|here| here.eq_ignore_ascii_case(word))
        })
    };
    let bare = has(b" dot ") && has(b" at ");
    let bracketed = || {
        let closing = wanted!(|b| b.is(b')') | b.is(b']') | b.is(b'}') | b.is(b'>'));
        places(bytes, closing).any(|at| {
            let before = text.get(..at).unwrap_or_default().trim_end().as_bytes();
            let ends = |word: &[u8]| {
                let tail = before.get(before.len().saturating_sub(word.len())..);
                tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word))
            };
            ends(b"at") || ends(b"dot")
        })
    };
    let spaced = || {
        memchr::memchr_iter(b'@', bytes).any(|at| {
            let space = |at: usize| bytes.get(at) == Some(&b' ');
            space(at.wrapping_sub(1)) || space(at + 1)
        })
    };
    if !bare && !spaced() && !bracketed() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut any = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let spaced = rest.trim_start();
        if (rest.len() > spaced.len() || matches!(c, '(' | '[' | '{' | '<' | '@'))
            && let Some((sign, after)) = spelt_sign(spaced, bare && spaced.len() < rest.len())
        {
            out.push(sign);
            any |= rest.len() - after.len() > 1;
            rest = after;
        } else if spaced.len() < rest.len() {
            // All of the white space at once: what follows it has been looked at.
            out.push(' ');
            rest = spaced;
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..)?;
        }
    }
    any.then_some(out)
}

/// The `@` or `.` that `text` starts with in words, and what follows it.
fn spelt_sign(text: &str, bare: bool) -> Option<(char, &str)> {
    if let Some(after) = text.strip_prefix('@') {
        return Some(('@', after.trim_start()));
    }
    let bracketed = text.strip_prefix(['(', '[', '{', '<']);
    let words = bracketed.map_or(text, str::trim_start);
    let (sign, len) = [("at", '@'), ("dot", '.')]
        .iter()
        .find(|(word, _)| {
            let start = words.as_bytes().get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
        })
        .map(|(word, sign)| (*sign, word.len()))?;
    let after = words.get(len..)?;
    if bracketed.is_some() {
        let after = after.trim_start().strip_prefix([')', ']', '}', '>'])?;
        return Some((sign, after.trim_start()));
    }
    let next = after.trim_start();
    (bare && next.len() < after.len()).then_some((sign, next))
}

const fn sextet(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    } as u32)
}

/// The bytes that [`sextet`] knows.
#[inline(always)]
fn in_alphabet<B: Block>(block: B) -> B::Flags {
    let letter = block.or(0x20).within(b'a', b'z');
    let sign = block.is(b'+') | block.is(b'-') | block.is(b'/') | block.is(b'_');
    letter | block.within(b'0', b'9') | sign
}

/// Decodes base64 in the standard or the URL alphabet, padded or not; white space
/// is skipped. `None` if it is anything else.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches(['=', '\n', '\r', ' ']).bytes() {
        if byte.is_ascii_whitespace() {
            continue;
        }
        bits = (bits << 6) | sextet(byte)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // Six bits left over are no byte: not base64.
    (count != 6).then_some(out)
}

/// The decoded bytes, if they are text that could be read.
pub(super) fn base64_text(text: &str) -> Option<String> {
    let text = String::from_utf8(base64(text)?).ok()?;
    let readable = |c: char| !c.is_control() || c.is_whitespace();
    (!text.is_empty() && text.chars().all(readable)).then_some(text)
}

fn base64_runs(text: &str, each: &mut impl FnMut(String)) {
    let bytes = text.as_bytes();
    let mut runs = Runs::default();
    for end in places(bytes, wanted!(|block| !in_alphabet(block))) {
        if runs.start < end {
            runs.run(text, end, each);
        }
        runs.start = end + 1;
    }
    if runs.start < bytes.len() {
        runs.run(text, bytes.len(), each);
    }
    wrapped(
        text.get(runs.from..runs.to).unwrap_or_default(),
        runs.lines,
        each,
    );
}

/// Runs of the alphabet. Those one line apart are tried together too: mail wraps base64 at 76
/// columns.
#[derive(Default)]
struct Runs {
    /// Where the next one starts.
    start: usize,
    /// Where those start and end that are one line apart from the next, and how many there are.
    from: usize,
    to: usize,
    lines: usize,
}

impl Runs {
    #[inline]
    fn run(&mut self, text: &str, end: usize, each: &mut impl FnMut(String)) {
        let between = text.as_bytes().get(self.to..self.start).unwrap_or_default();
        if self.lines > 0 && matches!(between, b"\n" | b"\r\n") {
            self.lines += 1;
        } else {
            if self.lines > 1 {
                let lines = text.get(self.from..self.to).unwrap_or_default();
                wrapped(lines, self.lines, each);
            }
            (self.from, self.lines) = (self.start, 1);
        }
        self.to = end;
        if end - self.start >= MIN_RUN
            && let Some(plain) = text.get(self.start..end).and_then(base64_text)
        {
            each(plain);
        }
    }
}

fn wrapped(run: &str, lines: usize, each: &mut impl FnMut(String)) {
    if lines > 1
        && run.len() >= MIN_RUN
        && let Some(plain) = base64_text(run)
    {
        each(plain);
    }
}

/// `text` with `\u0040`, `\n`, `&#64;`, `&amp;`, `=40` and soft line breaks taken for
/// what they mean; `None` if it holds none of them.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(step) = bytes
        .get(from..)
        .and_then(|rest| memchr::memchr3(b'\\', b'&', b'=', rest))
    {
        let at = from + step;
        let rest = text.get(at..).unwrap_or_default();
        match escape(rest) {
            Some((meaning, len)) => {
                out.push_str(text.get(copied..at).unwrap_or_default());
                out.extend(meaning);
                copied = at + len;
                from = copied;
            }
            None => from = at + 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Some(out)
}

/// What the escape at the start of `rest` means, and its length in bytes.
fn escape(rest: &str) -> Option<(Option<char>, usize)> {
    let hex = |from: usize, to: usize| {
        rest.get(from..to)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let next = rest.as_bytes().get(1)?;
    match (rest.as_bytes().first()?, next) {
        (b'\\', b'u') => {
            let high = hex(2, 6)?;
            if (0xd800..0xdc00).contains(&high)
                && rest.get(6..8) == Some("\\u")
                && let Some(low) = hex(8, 12)
                && (0xdc00..0xe000).contains(&low)
            {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Some((char::from_u32(code), 12));
            }
            Some((char::from_u32(high), 6))
        }
        (b'\\', b'x') => Some((char::from_u32(hex(2, 4)?), 4)),
        (b'\\', b'n' | b't' | b'r') => Some((Some(' '), 2)),
        (b'\\', b'"' | b'/' | b'\\' | b'\'') => Some((Some(char::from(*next)), 2)),
        (b'&', _) => {
            let name = rest.get(1..rest.bytes().take(12).position(|b| b == b';')?)?;
            let meaning = match name.strip_prefix('#') {
                Some(code) => char::from_u32(match code.strip_prefix(['x', 'X']) {
                    Some(code) => u32::from_str_radix(code, 16).ok()?,
                    None => code.parse().ok()?,
                })?,
                None => match name {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "apos" => '\'',
                    "commat" => '@',
                    "period" => '.',
                    "colon" => ':',
                    "sol" => '/',
                    "num" => '#',
                    "nbsp" => ' ',
                    "plus" => '+',
                    "lowbar" => '_',
                    "hyphen" | "dash" => '-',
                    _ => return None,
                },
            };
            Some((Some(meaning), name.len() + 2))
        }
        (b'=', b'\n') => Some((None, 2)),
        (b'=', b'\r') => rest.starts_with("=\r\n").then_some((None, 3)),
        // Only visible ASCII: longer sequences are words of a query string as often.
        (b'=', _) => {
            let code = hex(1, 3).filter(|code| (0x21..0x7f).contains(code))?;
            Some((char::from_u32(code), 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        hidden(text, |plain| out.push(plain));
        out
    }

    #[test]
    fn the_alphabet_is_what_is_decoded() {
        for byte in 0..=u8::MAX {
            let known = block::find(&[byte], wanted!(|block| in_alphabet(block))).is_some();
            assert_eq!(known, sextet(byte).is_some(), "{byte}");
        }
    }

    #[test]
    fn base64_of_both_alphabets_is_decoded() {
        let std = "see YXR0YWNrZXJAZXZpbC5jb20= now";
        assert_eq!(all(std), ["attacker@evil.com"]);
        // `?>~` gives the characters in which the alphabets differ.
        assert_eq!(
            base64_text("aHR0cDovL2V2aWwuY29tLz8-fg"),
            Some("http://evil.com/?>~".into())
        );
        assert_eq!(
            base64_text("aHR0cDovL2V2aWwuY29tLz8+fg=="),
            Some("http://evil.com/?>~".into())
        );
        assert!(all("a perfectly ordinary sentence withaverylongwordinit").is_empty());
        assert_eq!(base64_text("AAAAAAAAAAAAAAAAAAAAAAAA"), None);
        assert_eq!(base64("abcde"), None);
    }

    #[test]
    fn wrapped_base64_is_decoded_whole() {
        let text = "YXR0YWNrZXIt\r\nd2l0aC1hLWxvbmct\nbmFtZUBldmlsLmNvbQ==";
        assert!(all(text).contains(&"attacker-with-a-long-name@evil.com".to_owned()));
    }

    #[test]
    fn spelt_out_addresses_are_read() {
        for text in [
            "write eve (at) evil [dot] com",
            "write eve[AT]evil{ dot }com",
            "write eve at evil dot com",
            "write eve @ evil (dot) com",
        ] {
            assert_eq!(all(text), ["write eve@evil.com"], "{text}");
        }
        assert!(all("meet me at noon, (attention) that format) a@b.c").is_empty());
    }

    #[test]
    fn escapes_mean_what_they_say() {
        assert_eq!(
            all(r#"{"to":"a\u0040evil.com"}"#),
            [r#"{"to":"a@evil.com"}"#]
        );
        assert_eq!(
            all("a&#64;evil&#x2e;com &amp; b&commat;x"),
            ["a@evil.com & b@x"]
        );
        assert_eq!(all("a=40ev=\r\nil.com"), ["a@evil.com"]);
        assert_eq!(all(r"\ud83d\ude00!"), ["\u{1f600}!"]);
        assert!(all(r"\ & = &; &#; \u12 \ud800x"[..11].as_ref()).is_empty());
    }
}
