//! Outside text made safe to show: names, values and descriptions in messages,
//! questions to a human and logs.

use super::{is_ignorable, is_space};
use std::fmt::{self, Write};

/// About how many characters of a value are shown.
const SHOWN: usize = 120;

/// Shows a text from outside in double quotes.
///
/// Back-slashes and quotes are escaped with a back-slash; control, bidi,
/// default-ignorable and line-breaking characters, and white space other than
/// the plain space, as `\u{..}`. So the text can neither break the line it stands
/// in nor change how the rest reads. After 120 characters it is cut and the total
/// length told: `"aaa…" (4000 characters)`. Counting is linear in the text.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, SHOWN)
    }
}

fn write(f: &mut impl Write, text: &str, shown: usize) -> fmt::Result {
    f.write_char('"')?;
    let mut chars = text.chars();
    for c in chars.by_ref().take(shown) {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            _ if is_hidden(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            _ => f.write_char(c)?,
        }
    }
    let cut = chars.count();
    if cut == 0 {
        f.write_char('"')
    } else {
        write!(f, "…\" ({} characters)", shown + cut)
    }
}

/// [`Quoted`] as a string of its own.
#[must_use]
pub fn quote(value: &str) -> String {
    Quoted(value).to_string()
}

/// Like [`quote`], cut after `shown` characters.
pub fn quoted(value: &str, shown: usize) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, value, shown);
    out
}

/// Whether a text of several lines holds characters that do not show. The selector of
/// coloured pictures is none of them.
pub fn has_hidden(text: &str) -> bool {
    text.chars()
        .any(|c| is_hidden(c) && !matches!(c, '\n' | '\r' | '\t' | '\u{a0}' | '\u{fe0f}'))
}

/// Whether `c` would not show as itself. The bidi controls are all ignorable.
fn is_hidden(c: char) -> bool {
    c != ' ' && (c.is_control() || is_space(c) || is_ignorable(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_break_the_line_or_turn_it_round() {
        assert_eq!(quote("plain text, é"), r#""plain text, é""#);
        assert_eq!(quote("to\nApproved: yes"), r#""to\u{a}Approved: yes""#);
        assert_eq!(
            quote("\u{1b}[2J\u{202e}x\u{200b}\u{2028}"),
            r#""\u{1b}[2J\u{202e}x\u{200b}\u{2028}""#
        );
        assert_eq!(quote("a\"b\\u{a}"), r#""a\"b\\u{a}""#);
        assert_eq!(quote(""), "\"\"");
        assert_eq!(quote("\u{a0}\t"), r#""\u{a0}\u{9}""#);
    }

    #[test]
    fn long_text_is_cut_and_its_length_told() {
        assert_eq!(quote(&"é".repeat(120)), format!("\"{}\"", "é".repeat(120)));
        assert_eq!(
            quote(&"é".repeat(4000)),
            format!("\"{}…\" (4000 characters)", "é".repeat(120))
        );
    }
}
