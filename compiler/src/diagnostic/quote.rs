//! Quoting of outside text in messages, so that it can neither forge lines nor
//! hide characters from whoever reads them.

use bouncer_reader::shown::push_visible;
pub use bouncer_reader::shown::{escape, is_invisible, visible};

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
