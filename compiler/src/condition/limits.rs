//! Bounds on a condition, checked by one flat scan before the recursive parser
//! runs, so that no input can exhaust the stack. Finds unclosed strings and
//! regexes on the way, which the grammar could only report far from their start.

use super::{Error, Span};

/// Longest condition, in bytes.
pub const MAX_TEXT: usize = 16 * 1024;
/// Deepest nesting of parentheses, brackets and `not`.
pub const MAX_DEPTH: usize = 64;
/// Most tests in one condition.
pub const MAX_TESTS: usize = 1000;

/// Checks size and nesting.
pub(super) fn check(text: &str) -> Result<(), Error> {
    if text.len() > MAX_TEXT {
        return Err(Error::new(
            format!(
                "the condition is too long: {} bytes, at most {MAX_TEXT} are read",
                text.len()
            ),
            Span {
                start: 0,
                end: text.len(),
            },
        )
        .help("split the rule, or move values to `lists:`"));
    }
    if text.trim().is_empty() {
        return Err(Error::new(
            "the condition is empty",
            Span {
                start: 0,
                end: text.len(),
            },
        )
        .help("leave `when:` out for a rule that always applies"));
    }
    Scan::new(text).run()
}

struct Scan<'a> {
    text: &'a str,
    /// For each open bracket, how many `not`s stood right before it.
    open: Vec<usize>,
    /// Sum over `open`, brackets included.
    depth: usize,
    /// `not`s since the last bracket, operator or word.
    nots: usize,
    /// The last word was `matches`: a slash starts a regex.
    after_matches: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Scan {
            text,
            open: Vec::new(),
            depth: 0,
            nots: 0,
            after_matches: false,
        }
    }

    fn run(mut self) -> Result<(), Error> {
        let mut chars = self.text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' | '\'' => {
                    close(&mut chars, c).ok_or_else(|| self.unclosed(at, c, "string"))?;
                    self.word();
                }
                '/' if self.after_matches => {
                    close(&mut chars, '/').ok_or_else(|| self.unclosed(at, '/', "regex"))?;
                    self.word();
                }
                '(' | '[' => {
                    self.open.push(self.nots);
                    self.depth = self.depth.saturating_add(self.nots).saturating_add(1);
                    self.nots = 0;
                    self.after_matches = false;
                }
                ')' | ']' => {
                    if let Some(nots) = self.open.pop() {
                        self.depth = self.depth.saturating_sub(nots.saturating_add(1));
                    }
                    self.word();
                }
                '!' => self.nots += 1,
                c if c.is_whitespace() => {}
                c if is_word(c) => {
                    let mut end = at + c.len_utf8();
                    while let Some(&(next, c)) = chars.peek() {
                        if !is_word(c) {
                            break;
                        }
                        end = next + c.len_utf8();
                        chars.next();
                    }
                    match self.text.get(at..end) {
                        Some("not") => self.nots += 1,
                        word => {
                            self.word();
                            self.after_matches = word == Some("matches");
                        }
                    }
                }
                _ => self.word(),
            }
            if self.depth.saturating_add(self.nots) > MAX_DEPTH {
                return Err(Error::new(
                    format!(
                        "the condition is nested too deep, at most {MAX_DEPTH} levels are read"
                    ),
                    Span {
                        start: at,
                        end: at + c.len_utf8(),
                    },
                )
                .help("split the rule into several"));
            }
        }
        Ok(())
    }

    fn word(&mut self) {
        self.nots = 0;
        self.after_matches = false;
    }

    fn unclosed(&self, at: usize, quote: char, kind: &str) -> Error {
        Error::new(
            format!("this {kind} has no closing `{quote}`"),
            Span {
                start: at,
                end: self.text.len(),
            },
        )
    }
}

/// Skips to the closing quote; a back-slash escapes the next character.
fn close(chars: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<()> {
    while let Some((_, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return Some(());
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$')
}
