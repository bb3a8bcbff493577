//! How text from outside is shown to people, so that it can neither forge lines nor hide
//! characters. For messages only: what is written here is never judged.

use std::fmt::Write as _;

/// A text on one line, for back-ticks: control, invisible and direction-changing characters
/// are escaped.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        push_visible(&mut out, c);
    }
    out
}

/// A text on one line, with everything shown that does not show, or that would move the
/// cursor; not for text between back-ticks.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == '`' {
            out.push(c);
        } else {
            push_visible(&mut out, c);
        }
    }
    out
}

/// Adds one character to such a text.
pub fn push_visible(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '`' => out.push_str("\\`"),
        c if c.is_control() || is_invisible(c) => {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
        c => out.push(c),
    }
}

/// Characters that a reader does not see, or that reorder what he sees.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{f0000}'..='\u{10ffff}')
}
