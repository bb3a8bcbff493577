//! The forms of a string that a test looks at.

use super::shared;
use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// What matching takes for white space: Unicode's, Python's and JavaScript's together.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c) || c == '\u{feff}'
}

/// Trimmed, and white-space runs collapsed to one space.
pub fn plain(text: &str) -> String {
    text.split(is_space)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Characters that show nothing: ignorable by default, and the annotation marks.
static IGNORABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]").unwrap());

/// NFKC, removal of characters that show nothing (control characters, too, unless they
/// are white space), and percent-decoding, over and over until nothing changes. Bytes
/// that form no character become U+FFFD. Then as [`plain`].
pub fn canonical(text: &str) -> String {
    let mut current = text.to_owned();
    loop {
        let composed: String = current.nfkc().collect();
        let visible: String = IGNORABLE
            .replace_all(&composed, "")
            .chars()
            .filter(|c| !c.is_control() || is_space(*c))
            .collect();
        let next = percent_decoded(&visible);
        if next == current {
            break;
        }
        current = next;
    }
    static LEFT_OVER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("%[89a-fA-F][0-9a-fA-F]").unwrap());
    plain(&LEFT_OVER.replace_all(&current, "\u{fffd}"))
}

/// Whether a NUL comes up while the canonical form is looked for.
pub fn hides_nul(text: &str) -> bool {
    let mut current = text.to_owned();
    loop {
        let composed: String = current.nfkc().collect();
        let visible: String = IGNORABLE
            .replace_all(&composed, "")
            .chars()
            .filter(|c| !c.is_control() || is_space(*c) || *c == '\0')
            .collect();
        let next = percent_decoded(&visible);
        if next.contains('\0') {
            return true;
        }
        if next == current {
            return false;
        }
        current = next;
    }
}

/// The canonical form in lower case, a final sigma as a plain one.
pub fn folded(text: &str) -> String {
    canonical(text).to_lowercase().replace('ς', "σ")
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
    assert_eq!(canonical("%ff%41"), "\u{fffd}A");
    assert_eq!(canonical("a\0\u{1b}b\u{1c}c\u{feff}d"), "ab cd");
    assert_eq!(canonical("%e2%2580%8bx"), "x");
    assert_eq!(folded("ΟΔΟΣ"), folded("οδος"));
    assert_eq!(canonical("%e2%80%8bx"), "x");
    assert_eq!(canonical("100%"), "100%");
}
