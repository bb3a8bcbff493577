//! Quoting of outside text in messages, so that it can neither forge lines nor
//! hide characters from whoever reads them.

use std::fmt::Write as _;

/// Longest quoted text, in characters.
const LONGEST: usize = 60;

/// `text` in back-ticks: control, invisible and direction-changing characters are
/// escaped, and long text is cut.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4 * LONGEST) + 2);
    out.push('`');
    out.push_str(&plain(text));
    out.push('`');
    out
}

/// As [`quote`], without the back-ticks.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        push_visible(&mut out, c);
    }
    out
}

/// As [`plain`], however long.
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

fn push_visible(out: &mut String, c: char) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_text_cannot_forge_lines() {
        assert_eq!(quote("a\nerror: b"), "`a\\nerror: b`");
        assert_eq!(quote("\u{1b}[31m\u{202e}x`"), "`\\u{1b}[31m\\u{202e}x\\``");
        assert_eq!(quote(&"x".repeat(100)).chars().count(), LONGEST + 3);
    }
}
