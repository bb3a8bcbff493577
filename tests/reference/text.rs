//! The forms of a string that a test looks at.

use super::shared;
use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// What matching takes for white space: Unicode's, and the byte order mark that
/// JavaScript's `\s` has too.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Trimmed, and white-space runs collapsed to one space.
pub fn plain(text: &str) -> String {
    text.split(is_space)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

static IGNORABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\p{Default_Ignorable_Code_Point}").unwrap());

/// NFKC, default-ignorable characters removed and percent-decoding, over and over
/// until nothing changes; then as [`plain`].
pub fn canonical(text: &str) -> String {
    let mut current = plain(text);
    loop {
        let composed: String = current.nfkc().collect();
        let visible = IGNORABLE.replace_all(&composed, "");
        let next = plain(&percent_decoded(&visible));
        if next == current {
            return current;
        }
        current = next;
    }
}

/// The canonical form without case: folded, and canonical again.
pub fn folded(text: &str) -> String {
    canonical(&canonical(text).to_lowercase())
}

/// One level of percent-decoding. Escapes that are not UTF-8 stay as they are.
pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let mut run = Vec::new();
        let mut end = at;
        while let Some(byte) = escape(&bytes[end..]) {
            run.push(byte);
            end += 3;
        }
        if run.is_empty() {
            let c = text[at..].chars().next().unwrap();
            decoded.push(c);
            at += c.len_utf8();
            continue;
        }
        let mut offset = at;
        for chunk in run.utf8_chunks() {
            decoded.push_str(chunk.valid());
            offset += 3 * chunk.valid().len();
            let kept = 3 * chunk.invalid().len();
            decoded.push_str(&text[offset..offset + kept]);
            offset += kept;
        }
        at = end;
    }
    decoded
}

fn escape(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'%', high, low, ..] => {
            let digit = |b: u8| char::from(b).to_digit(16);
            u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
        }
        _ => None,
    }
}

/// The forms that a restrictive test tries, the plain one first.
pub fn forms(text: &str) -> Vec<String> {
    let canonical = canonical(text);
    let mut forms = vec![plain(text)];
    if !canonical.is_ascii() {
        forms.push(shared::skeleton(&canonical));
    }
    forms.push(canonical);
    forms
}

#[test]
fn forms_look_through_disguises() {
    assert_eq!(plain(" a \n\t b\u{3000}c "), "a b c");
    assert_eq!(canonical("\u{ff45}vil%2ec\u{200b}om"), "evil.com");
    assert_eq!(canonical("%25252e"), ".");
    assert_eq!(canonical("%ff%41"), "%ffA");
    assert_eq!(canonical("%e2%80%8bx"), "x");
    assert_eq!(canonical("100%"), "100%");
}
