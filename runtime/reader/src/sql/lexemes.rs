//! The words and literals of a query, and what servers cut up differently.
//!
//! A parser is certain of its own reading only. Where a comment, a literal or a name
//! ends is a matter of the server, its version and its settings, so this pass refuses
//! everything that any of the servers in question may end elsewhere, before a parser
//! sees it. What is left, all of them cut up alike. Made after the lexers' documents:
//! PostgreSQL 4.1 and `scan.l`, SQLite's `tokenize.c`, MySQL 11.1 to 11.7 and MariaDB's
//! `sql_lex.cc`. It knows nothing of grammar.

use super::Dialect;
use super::Unreadable;

/// PostgreSQL cuts longer names off, so that two texts can name one table.
const LONGEST_NAME: usize = 63;

/// Bytes that PostgreSQL's operators consist of. A comment that begins right after one
/// begins inside the operator for some readers.
const OPERATOR: &[u8] = b"+-*/<>=~!@#%^&|`?";

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// What stands in `"…"`, backticks or brackets.
    Quoted,
    /// A literal in `'…'`, with its prefix; hexadecimal numbers too.
    Text,
    /// A number.
    Number,
    /// One byte of an operator, or punctuation.
    Sign(u8),
}

/// One lexeme, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'q> {
    pub kind: Kind,
    /// In bytes.
    pub at: usize,
    /// A word as written; of what is quoted, the inner part.
    pub text: &'q str,
}

impl Lexeme<'_> {
    /// Whether this is the keyword `word`, in any letter case.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether this is punctuation `byte`.
    pub fn is_sign(&self, byte: u8) -> bool {
        self.kind == Kind::Sign(byte)
    }

    /// Whether this can be a name.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Quoted)
    }
}

/// Cuts `query` up, if every server that `dialect` stands for does it alike.
pub(super) fn lexemes(query: &str, dialect: Dialect) -> Result<Vec<Lexeme<'_>>, Unreadable> {
    // Interfaces in C end the text at U+0000.
    if query.contains('\0') {
        return Err(Unreadable);
    }
    let mut cutter = Cutter {
        query,
        bytes: query.as_bytes(),
        dialect,
        at: 0,
        found: Vec::new(),
    };
    while cutter.at < cutter.bytes.len() {
        cutter.step()?;
    }
    cutter.no_neighbours()?;
    Ok(cutter.found)
}

struct Cutter<'q> {
    query: &'q str,
    bytes: &'q [u8],
    dialect: Dialect,
    at: usize,
    found: Vec<Lexeme<'q>>,
}

impl<'q> Cutter<'q> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn before(&self) -> u8 {
        self.at.checked_sub(1).map_or(0, |at| self.byte(at))
    }

    fn part(&self, from: usize, to: usize) -> Result<&'q str, Unreadable> {
        self.query.get(from..to).ok_or(Unreadable)
    }

    fn push(&mut self, kind: Kind, inner: (usize, usize), end: usize) -> Result<(), Unreadable> {
        let text = self.part(inner.0, inner.1)?;
        self.found.push(Lexeme {
            kind,
            at: self.at,
            text,
        });
        self.at = end;
        Ok(())
    }

    fn step(&mut self) -> Result<(), Unreadable> {
        let (byte, next) = (self.byte(self.at), self.byte(self.at + 1));
        match byte {
            // Vertical tab and form feed are spaces for some only.
            b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
            b'-' if next == b'-' => self.line_comment(2)?,
            b'/' if next == b'*' => self.comment()?,
            b'*' if next == b'/' => return Err(Unreadable),
            b'\'' => self.text(self.at)?,
            b'"' => self.quoted(b'"')?,
            b'`' => self.backtick()?,
            b'[' => self.bracket()?,
            b'#' => self.hash()?,
            b'$' => self.dollar()?,
            b'@' | b':' => self.variable(byte)?,
            b'0'..=b'9' => self.number()?,
            b'.' if next.is_ascii_digit() => {
                // `t.1` is a column for some and a number for others.
                if is_name_byte(self.before()) || matches!(self.before(), b'"' | b'`' | b']') {
                    return Err(Unreadable);
                }
                self.number()?;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word()?,
            b'.' => self.dot()?,
            b'(' | b')' | b',' | b';' | b'+' | b'*' | b'/' | b'<' | b'>' | b'=' | b'~' | b'!'
            | b'%' | b'^' | b'&' | b'|' | b'?' | b']' | b'-' => self.sign(byte)?,
            // Control bytes, back-slash, braces, and letters beyond ASCII: some of these
            // are spaces, letters or escapes, each for other servers.
            _ => return Err(Unreadable),
        }
        Ok(())
    }

    fn sign(&mut self, byte: u8) -> Result<(), Unreadable> {
        self.push(Kind::Sign(byte), (self.at, self.at + 1), self.at + 1)
    }

    /// A comment up to the end of the line, whose opener is `opener` bytes long.
    fn line_comment(&mut self, opener: usize) -> Result<(), Unreadable> {
        let after = self.byte(self.at + opener);
        let spaced =
            matches!(after, b' ' | b'\t' | b'\n' | b'\r') || self.at + opener == self.bytes.len();
        // MySQL takes `--x` for two signs.
        if OPERATOR.contains(&self.before())
            || (opener == 2 && self.dialect.may_be_mysql() && !spaced)
        {
            return Err(Unreadable);
        }
        let rest = self.query.get(self.at..).ok_or(Unreadable)?;
        let length = rest.find('\n').unwrap_or(rest.len());
        let line = rest.get(..length).ok_or(Unreadable)?;
        // PostgreSQL's comments end at a carriage return as well.
        if line.strip_suffix('\r').unwrap_or(line).contains('\r') {
            return Err(Unreadable);
        }
        self.at += length;
        Ok(())
    }

    /// A comment in `/* */`.
    fn comment(&mut self) -> Result<(), Unreadable> {
        let body = self.query.get(self.at + 2..).ok_or(Unreadable)?;
        // MySQL and MariaDB run the inside of `/*!` and `/*M!`, and obey `/*+`.
        let runs = body.starts_with('!')
            || body.starts_with("M!")
            || (self.dialect.may_be_mysql() && body.starts_with('+'));
        if OPERATOR.contains(&self.before()) || runs || body.starts_with('/') {
            return Err(Unreadable);
        }
        // One that does not end runs to the end of the text for SQLite.
        let length = body.find("*/").ok_or(Unreadable)?;
        // PostgreSQL nests comments, the others do not.
        if body.get(..length).is_none_or(|text| text.contains("/*")) {
            return Err(Unreadable);
        }
        self.at += 2 + length + 2;
        Ok(())
    }

    /// Where the literal or name that opens at `from` ends: past its last quote. Refused
    /// where a back-slash that escapes would move the end.
    fn end(&self, from: usize, quote: u8, escapes: bool) -> Result<usize, Unreadable> {
        let plain = end_of(self.bytes, from, quote, false).ok_or(Unreadable)?;
        if escapes && end_of(self.bytes, from, quote, true) != Some(plain) {
            return Err(Unreadable);
        }
        Ok(plain)
    }

    /// A literal in single quotes that begins at `from`, at or after the current place.
    fn text(&mut self, from: usize) -> Result<(), Unreadable> {
        // With `standard_conforming_strings` off PostgreSQL's back-slash escapes too.
        let escapes = self.dialect != Dialect::Sqlite;
        let end = self.end(from, b'\'', escapes)?;
        self.push(Kind::Text, (from + 1, end - 1), end)
    }

    /// A name in double quotes; for MySQL, without `ANSI_QUOTES`, a literal.
    fn quoted(&mut self, quote: u8) -> Result<(), Unreadable> {
        let end = self.end(self.at, quote, self.dialect.may_be_mysql() && quote == b'"')?;
        self.name(end)
    }

    fn name(&mut self, end: usize) -> Result<(), Unreadable> {
        let (from, to) = (self.at + 1, end - 1);
        let name = self.part(from, to)?;
        // Where names are compared without letter case, these are ASCII letters.
        let folds = name.contains(['\u{130}', '\u{131}', '\u{17f}', '\u{212a}']);
        if folds || (self.dialect.may_be_postgres() && name.len() > LONGEST_NAME) {
            return Err(Unreadable);
        }
        self.push(Kind::Quoted, (from, to), end)
    }

    fn backtick(&mut self) -> Result<(), Unreadable> {
        if self.dialect == Dialect::Postgres {
            return Err(Unreadable);
        }
        let end = self.end(self.at, b'`', false)?;
        // For PostgreSQL these are two operators around what stands between.
        let plain = self.part(self.at + 1, end - 1)?.bytes().all(is_name_byte);
        if self.dialect == Dialect::Generic && (!plain || OPERATOR.contains(&self.before())) {
            return Err(Unreadable);
        }
        self.name(end)
    }

    /// A subscript, or for SQLite a name up to the first `]`.
    fn bracket(&mut self) -> Result<(), Unreadable> {
        if !self.dialect.may_be_sqlite() {
            return self.sign(b'[');
        }
        let body = self.query.get(self.at + 1..).ok_or(Unreadable)?;
        let length = body.find(']').ok_or(Unreadable)?;
        let inner = body.get(..length).ok_or(Unreadable)?;
        if self.dialect == Dialect::Sqlite {
            if inner.contains(['[', '"', '\'', '`', '\n', '\r', ';']) || inner.contains("--") {
                return Err(Unreadable);
            }
            return self.name(self.at + length + 2);
        }
        // Both readings have to be outside of literals where the bracket closes.
        let quotes = inner.bytes().filter(|&byte| byte == b'\'').count();
        if inner.contains(['[', '"', '`', '-', '/', ';', '\\', '\n', '\r']) || quotes % 2 != 0 {
            return Err(Unreadable);
        }
        self.sign(b'[')
    }

    /// The dot between the parts of a name. To MySQL one that touches no name begins a
    /// name, that of a table of the current database, and what stands before it may be a
    /// keyword: `from .t`. Others take the keyword for the first part.
    fn dot(&mut self) -> Result<(), Unreadable> {
        let touches =
            is_name_byte(self.before()) || matches!(self.before(), b'"' | b'`' | b']' | b')');
        if self.dialect.may_be_mysql() && !touches {
            return Err(Unreadable);
        }
        self.sign(b'.')
    }

    /// `#`: a comment for MySQL, part of operators for PostgreSQL.
    fn hash(&mut self) -> Result<(), Unreadable> {
        let alone = matches!(self.before(), 0 | b' ' | b'\t' | b'\n');
        match self.dialect {
            Dialect::Mysql if alone => self.line_comment(1),
            Dialect::Postgres => self.sign(b'#'),
            _ => Err(Unreadable),
        }
    }

    /// `$1`; for SQLite `$name`. Dollar quotes are refused: what stands in them is
    /// mostly a program.
    fn dollar(&mut self) -> Result<(), Unreadable> {
        let mut end = self.at + 1;
        while self.byte(end).is_ascii_digit() {
            end += 1;
        }
        if end > self.at + 1 && !is_name_byte(self.byte(end)) && self.byte(end) < 0x80 {
            // For SQLite `$1(…)` is one variable.
            if self.dialect.may_be_sqlite() && self.byte(end) == b'(' {
                return Err(Unreadable);
            }
            return self.push(Kind::Number, (self.at, end), end);
        }
        if self.dialect == Dialect::Sqlite {
            return self.variable(b'$');
        }
        Err(Unreadable)
    }

    /// `@`, `:` or `$`, before a variable or in an operator.
    fn variable(&mut self, byte: u8) -> Result<(), Unreadable> {
        let next = self.byte(self.at + 1);
        if byte == b'@' && self.dialect.may_be_mysql() && matches!(next, b'\'' | b'"' | b'`') {
            return Err(Unreadable);
        }
        let mut end = self.at + 1;
        while is_name_byte(self.byte(end)) {
            end += 1;
        }
        // SQLite's variables go on behind `::` and in `( )`.
        let named = end > self.at + 1 && self.before() != byte;
        if named && self.dialect.may_be_sqlite() {
            let more =
                self.byte(end) == b'(' || (self.byte(end) == b':' && self.byte(end + 1) == b':');
            if more {
                return Err(Unreadable);
            }
        }
        self.sign(byte)
    }

    fn number(&mut self) -> Result<(), Unreadable> {
        let digits = |mut at: usize, hex: bool| {
            while self.byte(at).is_ascii_digit() || (hex && self.byte(at).is_ascii_hexdigit()) {
                at += 1;
            }
            at
        };
        let hex = self.byte(self.at) == b'0' && matches!(self.byte(self.at + 1), b'x' | b'X');
        let end = if hex {
            digits(self.at + 2, true)
        } else {
            let mut end = digits(self.at, false);
            if self.byte(end) == b'.' {
                end = digits(end + 1, false);
            }
            let signed = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            if matches!(self.byte(end), b'e' | b'E') && self.byte(end + 1 + signed).is_ascii_digit()
            {
                end = digits(end + 1 + signed, false);
            }
            end
        };
        // `1a` is a name, a number before a name, or an error.
        let next = self.byte(end);
        if is_name_byte(next) || next == b'.' || next >= 0x80 || (hex && end == self.at + 2) {
            return Err(Unreadable);
        }
        let kind = if hex { Kind::Text } else { Kind::Number };
        self.push(kind, (self.at, end), end)
    }

    fn word(&mut self) -> Result<(), Unreadable> {
        let mut end = self.at;
        while is_name_byte(self.byte(end)) {
            end += 1;
        }
        let word = self.part(self.at, end)?;
        if self.dialect.may_be_postgres() && word.len() > LONGEST_NAME {
            return Err(Unreadable);
        }
        match self.byte(end) {
            0x80.. => Err(Unreadable),
            b'\'' => self.prefixed(word, end),
            // `U&'…'` and `U&"…"` have escapes of their own.
            b'&' if word.eq_ignore_ascii_case("u") && self.dialect.may_be_postgres() => {
                match self.byte(end + 1) {
                    b'\'' | b'"' => Err(Unreadable),
                    _ => self.push(Kind::Word, (self.at, end), end),
                }
            }
            // A name and a literal in double quotes that touch: `n"…"`, `_utf8"…"`.
            b'"' if self.dialect.may_be_mysql() => Err(Unreadable),
            _ => self.push(Kind::Word, (self.at, end), end),
        }
    }

    /// A literal with a prefix that touches its quote at `quote`.
    fn prefixed(&mut self, prefix: &str, quote: usize) -> Result<(), Unreadable> {
        let end = self.end(quote, b'\'', true)?;
        let inner = self.part(quote + 1, end - 1)?;
        let plain = match prefix.to_ascii_lowercase().as_str() {
            "x" => inner.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "b" if self.dialect != Dialect::Sqlite => {
                inner.bytes().all(|byte| matches!(byte, b'0' | b'1'))
            }
            "n" => {
                matches!(self.dialect, Dialect::Postgres | Dialect::Mysql) && !inner.contains('\\')
            }
            "e" => self.dialect == Dialect::Postgres,
            // `_utf8'…'` names a character set; other single letters mean something to
            // some server.
            other if other.len() < 3 || other.starts_with('_') => false,
            // `date'…'`: a word and a literal.
            _ => {
                self.push(Kind::Word, (self.at, quote), quote)?;
                return self.text(quote);
            }
        };
        if !plain {
            return Err(Unreadable);
        }
        self.push(Kind::Text, (quote + 1, end - 1), end)
    }

    /// Refuses literals side by side, which some servers join, and then read the second
    /// one as they read the first.
    fn no_neighbours(&self) -> Result<(), Unreadable> {
        let mysql = self.dialect.may_be_mysql();
        let literal = |lexeme: &Lexeme<'_>| match lexeme.kind {
            Kind::Text => true,
            Kind::Quoted => mysql && self.byte(lexeme.at) == b'"',
            _ => false,
        };
        let mut last = false;
        for lexeme in &self.found {
            let this = literal(lexeme);
            if this && last {
                return Err(Unreadable);
            }
            last = this;
        }
        Ok(())
    }
}

/// Where the text that opens at `from` ends, past its closing quote. Doubled quotes
/// stand for one.
fn end_of(bytes: &[u8], from: usize, quote: u8, escapes: bool) -> Option<usize> {
    let mut at = from + 1;
    loop {
        let byte = *bytes.get(at)?;
        if byte == b'\\' && escapes {
            at += 2;
        } else if byte != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}

/// A byte that names may go on with.
const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}
