//! Escapes, classes and literals.

use std::rc::Rc;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::super::RegexError;
use super::super::native::back_reference;
use super::super::node::{Node, Set, set};
use super::Parser;
use super::class::{self, Kind};

impl Parser<'_> {
    pub(super) fn escape(&mut self) -> Result<Escape, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        let Some(c) = self.cursor.peek() else {
            return self.error("the regex ends in a back-slash", start, start + 1);
        };
        let boundary = match c {
            'A' => Some("\\A"),
            'Z' => Some("\\z"),
            'b' if self.flags.ascii => Some("(?-u:\\b)"),
            'B' if self.flags.ascii => Some("(?-u:\\B)"),
            'b' => Some("\\b"),
            'B' => Some("\\B"),
            _ => None,
        };
        if let Some(boundary) = boundary {
            self.cursor.next();
            if boundary.starts_with("\\b") || boundary.starts_with("\\B") {
                self.words = true;
            }
            return Ok(Escape::Look(look(boundary)));
        }
        if c.is_ascii_digit() && c != '0' {
            let digits = self.cursor.rest();
            let octal =
                digits.len() >= 3 && digits.bytes().take(3).all(|b| (b'0'..=b'7').contains(&b));
            if !octal {
                self.cursor.next();
                if self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
                    self.cursor.next();
                }
                return Err(back_reference(self.pattern, start, self.cursor.at()));
            }
        }
        self.common_escape(start, c)
    }

    /// What is the same inside and outside of a class; `c` is after the back-slash.
    fn common_escape(&mut self, start: usize, c: char) -> Result<Escape, RegexError> {
        if let Some(kind) = Kind::of(c) {
            self.cursor.next();
            return Ok(Escape::Set(class::set_of(kind, self.flags.ascii)));
        }
        if c.is_ascii_digit() {
            let most = 3;
            let Some(value) = self.cursor.octal(most, 0o777) else {
                return self.error(format!("bad escape `\\{c}`"), start, start + 2);
            };
            return match char::from_u32(value) {
                Some(c) if value <= 0o377 => Ok(Escape::Char(c)),
                _ => self.error(
                    format!("octal escape `{}` is larger than `\\377`", self.text(start)),
                    start,
                    self.cursor.at(),
                ),
            };
        }
        self.cursor.next();
        let hex = |this: &mut Self, digits: usize| match this.cursor.hex(digits) {
            Some(value) => match char::from_u32(value) {
                Some(c) => Ok(Escape::Char(c)),
                None => this.error(
                    format!("`{}` is no character", this.text(start)),
                    start,
                    this.cursor.at(),
                ),
            },
            None => this.error(
                format!("`\\{c}` needs {digits} hexadecimal digits"),
                start,
                start + 2,
            ),
        };
        Ok(Escape::Char(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => return hex(self, 2),
            'u' => return hex(self, 4),
            'U' => return hex(self, 8),
            'N' => {
                return Err(RegexError::new(
                    "named character `\\N{…}` is not supported",
                    start,
                    start + 2,
                )
                .help("write the character itself, or `\\uXXXX`"));
            }
            c if c.is_ascii_alphabetic() => {
                let error = RegexError::new(format!("bad escape `\\{c}`"), start, start + 2);
                return Err(match c {
                    'z' => error.help("write `\\Z` for the end of the text"),
                    'p' | 'P' => {
                        error.help("Python has no classes by property; write `\\w` or ranges")
                    }
                    'k' => error.help("back-references are not supported"),
                    _ => error.help(format!("write `{c}` for the letter")),
                });
            }
            c => c,
        }))
    }

    pub(super) fn class(&mut self) -> Result<Rc<Node>, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        let negated = self.cursor.eat("^");
        let mut members = set(&[]);
        let mut first = true;
        loop {
            let from = self.cursor.at();
            match self.cursor.peek() {
                None => return self.error("this class has no closing `]`", start, start + 1),
                Some(']') if !first => {
                    self.cursor.next();
                    break;
                }
                Some(_) => {}
            }
            first = false;
            let low = self.member()?;
            let mut ahead = self.cursor;
            if !(ahead.eat("-") && ahead.peek() != Some(']')) {
                add(&mut members, low);
                continue;
            }
            self.cursor = ahead;
            if self.cursor.peek().is_none() {
                return self.error("this class has no closing `]`", start, start + 1);
            }
            let high = self.member()?;
            let text = self.text(from);
            match (low, high) {
                (Escape::Char(a), Escape::Char(b)) if a <= b => {
                    members.push(ClassUnicodeRange::new(a, b));
                }
                _ => {
                    return self.error(format!("bad range `{text}`"), from, self.cursor.at());
                }
            }
        }
        if self.flags.ignore_case {
            members = class::folded(&members, self.flags.ascii);
        }
        if negated {
            members.negate();
        }
        Ok(self.class_node(members))
    }

    fn member(&mut self) -> Result<Escape, RegexError> {
        let start = self.cursor.at();
        match self.cursor.next() {
            Some('\\') => match self.cursor.peek() {
                Some('b') => {
                    self.cursor.next();
                    Ok(Escape::Char('\u{8}'))
                }
                Some(c) => self.common_escape(start, c),
                None => self.error("the regex ends in a back-slash", start, start + 1),
            },
            Some(c) => Ok(Escape::Char(c)),
            None => self.error("the class ends too early", start, start),
        }
    }

    pub(super) fn literal(&self, c: char, start: usize) -> Result<Rc<Node>, RegexError> {
        let one = set(&[(c, c)]);
        let node = self.class_node(if self.flags.ignore_case {
            class::folded(&one, self.flags.ascii)
        } else {
            one
        });
        if matches!(&*node, Node::Class(set) if set.ranges().is_empty()) {
            return Err(RegexError::new(
                format!("`{}` beside `\\b` or `\\B`", self.text(start)),
                start,
                self.cursor.at(),
            )
            .help("Python and Rust disagree whether this character belongs to a word; write the boundaries out, or use `(?a)`"));
        }
        Ok(node)
    }

    pub(super) fn class_node(&self, mut set: ClassUnicode) -> Rc<Node> {
        if self.words {
            set.difference(class::disputed());
        }
        Rc::new(Node::Class(set))
    }
}

pub(super) enum Escape {
    Look(Rc<Node>),
    Set(Set),
    Char(char),
}

pub(super) fn look(text: &'static str) -> Rc<Node> {
    Rc::new(Node::Look(text))
}

fn add(members: &mut Set, member: Escape) {
    match member {
        Escape::Char(c) => members.push(ClassUnicodeRange::new(c, c)),
        Escape::Set(set) => members.union(&set),
        Escape::Look(_) => {}
    }
}
