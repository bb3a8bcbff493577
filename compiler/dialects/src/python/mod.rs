//! Python's `re` on `str`, as `re.fullmatch` reads it.

use std::rc::Rc;

use regex_syntax::hir::Look;

use super::RegexError;
use super::cursor::Cursor;
use super::javascript::MAX_OUTPUT;
use super::native::{ascii_not_boundary, back_reference, checked, look_around, too_long};
use super::node::{Node, alt, concat, set};

mod atoms;
mod class;

use atoms::{Escape, look};

/// Deepest nesting of groups.
const MAX_DEPTH: usize = 50;

/// Translates a Python pattern to Rust syntax such that it matches exactly the
/// texts that `re.fullmatch` accepts; wrapped as `\A(?:…)\z`.
///
/// Two readings are narrower than Python's, never wider: `$` before a final line
/// feed that the rest of the pattern would take in, and, in patterns with a Unicode
/// `\b` or `\B`, texts with characters on which Python and Rust disagree whether
/// they belong to words.
///
/// # Errors
///
/// What is a syntax error in Python 3.11; look-around, back-references,
/// conditionals, atomic groups, possessive repeats, `\N{…}`, lone surrogates;
/// patterns that are too large or nested too deep.
pub fn python_whole(pattern: &str) -> Result<String, RegexError> {
    too_long(pattern)?;
    let mut parser = Parser {
        pattern,
        cursor: Cursor::new(pattern, 0),
        flags: Flags::default(),
        depth: 0,
        names: Vec::new(),
        words: false,
    };
    parser.global_flags()?;
    // A Unicode `\b` narrows every character of the pattern, those before it too.
    let (flags, cursor) = (parser.flags, parser.cursor);
    let mut node = parser.alternatives()?;
    if parser.words {
        let mut again = Parser {
            cursor,
            flags,
            depth: 0,
            names: Vec::new(),
            ..parser
        };
        node = again.alternatives()?;
        parser = again;
    }
    if parser.cursor.peek().is_some() {
        let at = parser.cursor.at();
        return Err(RegexError::new("unmatched `)` in a regex", at, at + 1)
            .help("write `\\)` for the character"));
    }
    let Some(inner) = node.print(MAX_OUTPUT) else {
        return Err(RegexError::new("the regex is too large", 0, pattern.len()));
    };
    // In Python `\B` does not hold in the empty text, here it does.
    let boundaries = ascii_not_boundary().insert(Look::WordUnicodeNegate);
    checked(format!("\\A(?:{inner})\\z"), 0, pattern, boundaries)
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ascii: bool,
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
}

struct Parser<'a> {
    pattern: &'a str,
    cursor: Cursor<'a>,
    flags: Flags,
    depth: usize,
    names: Vec<&'a str>,
    /// A Unicode word boundary was seen.
    words: bool,
}

impl<'a> Parser<'a> {
    fn error<T>(
        &self,
        message: impl Into<String>,
        start: usize,
        end: usize,
    ) -> Result<T, RegexError> {
        Err(RegexError::new(message, start, end.min(self.pattern.len())))
    }

    fn text(&self, start: usize) -> &'a str {
        self.pattern
            .get(start..self.cursor.at())
            .unwrap_or_default()
    }

    /// `(?i)` and the like at the start, where alone they may stand. With `x` found
    /// there, white-space before is skipped as Python does not: it wants them first.
    fn global_flags(&mut self) -> Result<(), RegexError> {
        loop {
            let mut ahead = self.cursor;
            if !ahead.eat("(?") {
                return Ok(());
            }
            let letters = ahead
                .rest()
                .find(')')
                .and_then(|end| ahead.rest().get(..end));
            let Some(letters) = letters.filter(|letters| {
                !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic())
            }) else {
                return Ok(());
            };
            let at = ahead.at();
            self.flags = self.set_flags(self.flags, letters, at, true)?;
            self.cursor = Cursor::new(self.pattern, at + letters.len() + 1);
        }
    }

    fn set_flags(
        &self,
        mut flags: Flags,
        letters: &str,
        at: usize,
        on: bool,
    ) -> Result<Flags, RegexError> {
        for (n, letter) in letters.char_indices() {
            let (start, end) = (at + n, at + n + letter.len_utf8());
            match letter {
                'i' => flags.ignore_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_all = on,
                'x' => flags.verbose = on,
                'a' if on => flags.ascii = true,
                'u' if on => flags.ascii = false,
                'L' => return self.error("the flag `L` is for bytes, not for text", start, end),
                'a' | 'u' => {
                    return self.error(
                        format!("the flag `{letter}` cannot be turned off"),
                        start,
                        end,
                    );
                }
                _ => return self.error(format!("unknown regex flag `{letter}`"), start, end),
            }
        }
        if letters.contains('a') && letters.contains('u') {
            return self.error(
                "the flags `a` and `u` exclude each other",
                at,
                at + letters.len(),
            );
        }
        Ok(flags)
    }

    fn alternatives(&mut self) -> Result<Rc<Node>, RegexError> {
        let mut all = vec![self.sequence()?];
        while self.cursor.eat("|") {
            all.push(self.sequence()?);
        }
        Ok(alt(all))
    }

    fn sequence(&mut self) -> Result<Rc<Node>, RegexError> {
        let mut parts = Vec::new();
        loop {
            self.skip_verbose();
            match self.cursor.peek() {
                None | Some('|' | ')') => return Ok(concat(parts)),
                Some(c) => {
                    if let Some(part) = self.term(c)? {
                        parts.push(part);
                    }
                }
            }
        }
    }

    /// With `(?x)`: white-space and comments.
    fn skip_verbose(&mut self) {
        if !self.flags.verbose {
            return;
        }
        while let Some(c) = self.cursor.peek() {
            match c {
                ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => drop(self.cursor.next()),
                '#' => while self.cursor.next().is_some_and(|c| c != '\n') {},
                _ => return,
            }
        }
    }

    /// One atom with its repeat; `None` for what matches nothing and cannot repeat,
    /// such as a comment.
    fn term(&mut self, c: char) -> Result<Option<Rc<Node>>, RegexError> {
        let start = self.cursor.at();
        let atom = match c {
            '^' => {
                self.cursor.next();
                self.no_repeat(start)?;
                return Ok(Some(look(if self.flags.multi_line {
                    "(?m:^)"
                } else {
                    "\\A"
                })));
            }
            '$' => {
                self.cursor.next();
                self.no_repeat(start)?;
                return Ok(Some(look(if self.flags.multi_line {
                    "(?m:$)"
                } else {
                    "\\z"
                })));
            }
            '(' => match self.group()? {
                Some(node) => node,
                None => {
                    return Ok(None);
                }
            },
            '.' => {
                self.cursor.next();
                let breaks = if self.flags.dot_all {
                    set(&[])
                } else {
                    set(&[('\n', '\n')])
                };
                let mut all = breaks;
                all.negate();
                self.class_node(all)
            }
            '[' => self.class()?,
            '\\' => match self.escape()? {
                Escape::Look(node) => {
                    self.no_repeat(start)?;
                    return Ok(Some(node));
                }
                Escape::Set(set) => self.class_node(set),
                Escape::Char(c) => self.literal(c, start)?,
            },
            '*' | '+' | '?' => return Err(self.nothing_to_repeat(start)),
            '{' if self.counts().is_some() => return Err(self.nothing_to_repeat(start)),
            c => {
                self.cursor.next();
                self.literal(c, start)?
            }
        };
        self.skip_verbose();
        let Some((min, max, after)) = self.repeat() else {
            return Ok(Some(atom));
        };
        let at = self.cursor.at();
        self.cursor = after;
        if max.is_some_and(|max| max < min) {
            return self.error("the counts of a repeat are out of order", at, after.at());
        }
        if self.cursor.eat("+") {
            let text = self.text(at);
            return Err(RegexError::new(
                format!("possessive repeat `{text}` is not supported"),
                at,
                self.cursor.at(),
            )
            .help("leave the second `+` out; regexes run in linear time here"));
        }
        self.cursor.eat("?");
        self.skip_verbose();
        if self.repeat().is_some() {
            let end = self.cursor.at() + 1;
            return self.error("a repeat of a repeat", at, end);
        }
        Ok(Some(match (&*atom, max) {
            (Node::Empty, _) | (_, Some(0)) => Rc::new(Node::Empty),
            _ => Rc::new(Node::Repeat(atom, min, max)),
        }))
    }

    fn no_repeat(&mut self, start: usize) -> Result<(), RegexError> {
        self.skip_verbose();
        match self.repeat() {
            Some(_) => Err(self.nothing_to_repeat(self.cursor.at().max(start))),
            None => Ok(()),
        }
    }

    fn nothing_to_repeat(&self, at: usize) -> RegexError {
        let text = self.pattern.get(at..at + 1).unwrap_or_default();
        RegexError::new(format!("nothing to repeat before `{text}`"), at, at + 1)
            .help(format!("write `\\{text}` for the character"))
    }

    fn repeat(&self) -> Option<(u32, Option<u32>, Cursor<'a>)> {
        let mut cursor = self.cursor;
        let (min, max) = match cursor.peek()? {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            '{' => return self.counts(),
            _ => return None,
        };
        cursor.next();
        Some((min, max, cursor))
    }

    /// `{n}`, `{n,}`, `{,m}`, `{n,m}`, `{,}`; anything else is literal text.
    fn counts(&self) -> Option<(u32, Option<u32>, Cursor<'a>)> {
        let mut cursor = self.cursor;
        if !cursor.eat("{") || cursor.rest().starts_with('}') {
            return None;
        }
        let min = cursor.decimal();
        let max = if cursor.eat(",") {
            cursor.decimal()
        } else {
            min
        };
        cursor.eat("}").then(|| (min.unwrap_or(0), max, cursor))
    }

    fn group(&mut self) -> Result<Option<Rc<Node>>, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        let saved = self.flags;
        if self.cursor.eat("?") && !self.group_kind(start)? {
            return Ok(None);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(
                format!("the regex is nested too deep, at most {MAX_DEPTH} levels are read"),
                start,
                start + 1,
            );
        }
        let node = self.alternatives()?;
        if !self.cursor.eat(")") {
            return self.error("this group has no closing `)`", start, start + 1);
        }
        self.depth -= 1;
        self.flags = saved;
        Ok(Some(node))
    }

    /// After `(?`. False for a comment, which is over then.
    fn group_kind(&mut self, start: usize) -> Result<bool, RegexError> {
        let rest = self.cursor.rest();
        if self.cursor.eat(":") {
            return Ok(true);
        }
        if rest.starts_with('=') || rest.starts_with('!') {
            return Err(look_around(self.pattern, start, start + 3));
        }
        if rest.starts_with("<=") || rest.starts_with("<!") {
            return Err(look_around(self.pattern, start, start + 4));
        }
        if rest.starts_with("P=") {
            let end = start + 2 + rest.find(')').map_or(2, |end| end + 1);
            return Err(back_reference(self.pattern, start, end));
        }
        if rest.starts_with('(') {
            return Err(
                RegexError::new("conditional `(?(…)` is not supported", start, start + 3)
                    .help("write alternatives: `(?:a|b)`"),
            );
        }
        if rest.starts_with('>') {
            return Err(
                RegexError::new("atomic group `(?>` is not supported", start, start + 3)
                    .help("write `(?:…)`; regexes run in linear time here"),
            );
        }
        if self.cursor.eat("#") {
            while let Some(c) = self.cursor.next() {
                if c == ')' {
                    return Ok(false);
                }
            }
            return self.error("this comment has no closing `)`", start, start + 3);
        }
        if self.cursor.eat("P<") {
            let from = self.cursor.at();
            let rest = self.cursor.rest();
            let name = rest
                .find('>')
                .and_then(|end| rest.get(..end))
                .unwrap_or_default();
            let valid = |(n, c): (usize, char)| {
                c.is_alphabetic() || c == '_' || (n > 0 && c.is_alphanumeric())
            };
            if name.is_empty() || !name.chars().enumerate().all(valid) {
                return self.error("this group has no valid name", start, from);
            }
            if self.names.contains(&name) {
                return self.error(
                    format!("the group name `{name}` stands twice"),
                    from,
                    from + name.len(),
                );
            }
            self.names.push(name);
            self.cursor.eat(name);
            self.cursor.eat(">");
            return Ok(true);
        }
        // `(?i:…)`, `(?i-s:…)`; `(?i)` is too late here.
        let at = self.cursor.at();
        let is_flag = |c: char| c.is_ascii_alphabetic() || c == '-';
        let len = rest.find(|c| !is_flag(c)).unwrap_or(rest.len());
        let flags = rest.get(..len).unwrap_or_default();
        match rest.get(len..).and_then(|rest| rest.chars().next()) {
            Some(':') if len > 0 => {
                let (on, off) = match flags.split_once('-') {
                    Some((_, "")) => {
                        return self.error("flags are missing after `-`", at, at + len + 1);
                    }
                    Some((on, off)) => (on, off),
                    None => (flags, ""),
                };
                let mut new = self.set_flags(self.flags, on, at, true)?;
                new = self.set_flags(new, off, at + on.len() + 1, false)?;
                if on.chars().any(|c| off.contains(c)) {
                    return self.error("a flag is turned both on and off", at, at + len);
                }
                self.flags = new;
                self.cursor = Cursor::new(self.pattern, at + len + 1);
                Ok(true)
            }
            Some(')') if len > 0 => Err(RegexError::new(
                format!("flags `(?{flags})` not at the start of the regex"),
                start,
                at + len + 1,
            )
            .help(format!("move them to the start, or write `(?{flags}:…)`"))),
            _ => {
                let end = at + rest.chars().next().map_or(0, char::len_utf8);
                let text = self.pattern.get(start..end).unwrap_or_default();
                let error = RegexError::new(format!("`{text}` is no group in Python"), start, end);
                Err(if rest.starts_with('<') {
                    error.help("write `(?P<name>…)` for a named group")
                } else {
                    error
                })
            }
        }
    }
}
