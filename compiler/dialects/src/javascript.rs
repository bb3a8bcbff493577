//! JavaScript's dialect without the `u` flag, with the extensions of Annex B; a
//! leading `(?i)` ignores case.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::RegexError;
use super::cursor::Cursor;
use super::native::{ascii_not_boundary, back_reference, checked, look_around, too_long};
use super::node::{Set, balanced, set};
use super::units::Units;

/// Deepest nesting of groups.
const MAX_DEPTH: usize = 50;
/// Longest translation, in bytes.
pub(super) const MAX_OUTPUT: usize = 512 * 1024;

/// Translates a JavaScript pattern (no `u` flag, optionally with a leading `(?i)`)
/// to Rust syntax. The result finds a match in exactly the texts in which
/// JavaScript finds one; positions and groups of matches are not kept.
///
/// # Errors
///
/// What is a syntax error in JavaScript; look-around and back-references; lone
/// surrogates; patterns that are too large or nested too deep. Counted repeats of
/// `.` and other sets that hold characters beyond U+FFFF are unrolled, since
/// JavaScript counts such a character twice.
pub fn javascript(pattern: &str) -> Result<String, RegexError> {
    too_long(pattern)?;
    let (fold, start) = match pattern.strip_prefix("(?i)") {
        Some(_) => (true, 4),
        None => (false, 0),
    };
    let (groups, named) = count_groups(pattern, start);
    let mut parser = Parser {
        pattern,
        cursor: Cursor::new(pattern, start),
        fold,
        groups,
        named,
        names: BTreeSet::new(),
        depth: 0,
    };
    let units = parser.alternatives()?;
    if parser.cursor.peek().is_some() {
        let at = parser.cursor.at();
        return Err(RegexError::new("unmatched `)` in a regex", at, at + 1)
            .help("write `\\)` for the character"));
    }
    let Some(out) = units.search().print(MAX_OUTPUT) else {
        return Err(RegexError::new("the regex is too large", 0, pattern.len())
            .help("use smaller counts, or sets without characters beyond U+FFFF such as `[ -~]`"));
    };
    checked(out, 0, pattern, ascii_not_boundary())
}

struct Parser<'a> {
    pattern: &'a str,
    cursor: Cursor<'a>,
    fold: bool,
    groups: u32,
    named: bool,
    names: BTreeSet<&'a str>,
    depth: usize,
}

/// A member of a class: one unit, or one of the sets `\d`, `\w`, `\s` and their complements.
enum Member {
    Unit(u32),
    Set { bmp: Set, halves: bool },
}

impl<'a> Parser<'a> {
    fn alternatives(&mut self) -> Result<Units, RegexError> {
        let mut all = vec![self.sequence()?];
        while self.cursor.eat("|") {
            all.push(self.sequence()?);
        }
        Ok(balanced(all, Units::or).unwrap_or_else(Units::empty))
    }

    fn sequence(&mut self) -> Result<Units, RegexError> {
        let mut parts = Vec::new();
        while let Some(c) = self.cursor.peek() {
            if c == '|' || c == ')' {
                break;
            }
            parts.push(self.term(c)?);
        }
        Ok(balanced(parts, Units::then).unwrap_or_else(Units::empty))
    }

    fn term(&mut self, c: char) -> Result<Units, RegexError> {
        let start = self.cursor.at();
        let mut astral = false;
        let atom = match c {
            '^' | '$' => {
                self.cursor.next();
                return Ok(Units::look(if c == '^' { "^" } else { "$" }));
            }
            '(' => self.group()?,
            '.' => {
                self.cursor.next();
                let breaks = set(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]);
                Units::class(complement(&breaks), true)
            }
            '[' => self.class()?,
            '\\' => match self.escape()? {
                Escape::Look(units) => return Ok(units),
                Escape::Member(Member::Unit(unit)) => {
                    let c = self.join(unit, start)?;
                    astral = u32::from(c) > 0xFFFF;
                    self.literal(c)
                }
                Escape::Member(Member::Set { bmp, halves }) => self.set(bmp, halves),
            },
            '*' | '+' | '?' => return Err(self.nothing_to_repeat(start)),
            '{' if self.counts().is_some() => return Err(self.nothing_to_repeat(start)),
            c => {
                self.cursor.next();
                astral = u32::from(c) > 0xFFFF;
                self.literal(c)
            }
        };
        let end = self.cursor.at();
        let (min, max) = match self.cursor.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts() {
                Some((min, max, after)) => {
                    if max.is_some_and(|max| max < min) {
                        return Err(RegexError::new(
                            "the counts of a repeat are out of order",
                            end,
                            after.at(),
                        ));
                    }
                    self.cursor = after;
                    if !self.cursor.eat("?") {
                        self.single_repeat(end)?;
                    }
                    return self.repeated(atom, astral, start, end, min, max);
                }
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.cursor.next();
        if !self.cursor.eat("?") {
            self.single_repeat(end)?;
        }
        self.repeated(atom, astral, start, end, min, max)
    }

    fn repeated(
        &self,
        atom: Units,
        astral: bool,
        start: usize,
        end: usize,
        min: u32,
        max: Option<u32>,
    ) -> Result<Units, RegexError> {
        if astral {
            let text = self.pattern.get(start..end).unwrap_or_default();
            return Err(RegexError::new(
                format!("JavaScript would repeat only half of `{text}`"),
                start,
                self.cursor.at(),
            )
            .help(format!("write `(?:{text})` before the repeat")));
        }
        Ok(atom.repeat(min, max))
    }

    /// After a repeat: `a++`, `a**` are errors.
    fn single_repeat(&self, start: usize) -> Result<(), RegexError> {
        let again = match self.cursor.peek() {
            Some('*' | '+' | '?') => true,
            Some('{') => self.counts().is_some(),
            _ => false,
        };
        if again {
            let end = self.cursor.at() + 1;
            return Err(RegexError::new(
                format!(
                    "`{}`: a repeat of a repeat",
                    self.pattern.get(start..end).unwrap_or_default()
                ),
                start,
                end,
            )
            .help("JavaScript has no possessive repeats; use parentheses to nest them"));
        }
        Ok(())
    }

    fn nothing_to_repeat(&self, at: usize) -> RegexError {
        let end = at + 1;
        let text = self.pattern.get(at..end).unwrap_or_default();
        RegexError::new(format!("nothing to repeat before `{text}`"), at, end)
            .help(format!("write `\\{text}` for the character"))
    }

    /// `{n}`, `{n,}`, `{n,m}` at the cursor; anything else is literal text.
    fn counts(&self) -> Option<(u32, Option<u32>, Cursor<'a>)> {
        let mut cursor = self.cursor;
        if !cursor.eat("{") {
            return None;
        }
        let min = cursor.decimal()?;
        let max = if cursor.eat(",") {
            cursor.decimal()
        } else {
            Some(min)
        };
        cursor.eat("}").then_some((min, max, cursor))
    }

    fn group(&mut self) -> Result<Units, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexError::new(
                format!("the regex is nested too deep, at most {MAX_DEPTH} levels are read"),
                start,
                start + 1,
            ));
        }
        let rest = self.cursor.rest();
        if ["?=", "?!", "?<=", "?<!"]
            .iter()
            .any(|look| rest.starts_with(look))
        {
            return Err(look_around(self.pattern, start, start + 3));
        }
        if self.cursor.eat("?<") {
            self.group_name(start)?;
        } else if !self.cursor.eat("?:") && rest.starts_with('?') {
            let end =
                (start + 2 + rest.chars().nth(1).map_or(0, char::len_utf8)).min(self.pattern.len());
            let text = self.pattern.get(start..end).unwrap_or_default();
            let error = RegexError::new(format!("`{text}` is no group in JavaScript"), start, end);
            return Err(match rest.chars().nth(1) {
                Some('P') => error.help("write `(?<name>…)` for a named group"),
                Some('>') => error.help("JavaScript has no atomic groups; write `(?:…)`"),
                Some('i') => error.help("`(?i)` stands only at the very start of a pattern"),
                Some('s') => error.help("write `[^]` for any character, newlines included"),
                _ => error.help("the groups are `(…)`, `(?:…)` and `(?<name>…)`"),
            });
        }
        let units = self.alternatives()?;
        if !self.cursor.eat(")") {
            return Err(
                RegexError::new("this group has no closing `)`", start, start + 1)
                    .help("write `\\(` for the character"),
            );
        }
        self.depth -= 1;
        Ok(units)
    }

    fn group_name(&mut self, start: usize) -> Result<(), RegexError> {
        let from = self.cursor.at();
        let rest = self.cursor.rest();
        let name = rest
            .find('>')
            .and_then(|end| rest.get(..end))
            .unwrap_or_default();
        let valid = |(n, c): (usize, char)| {
            c.is_alphabetic() || c == '_' || c == '$' || (n > 0 && c.is_alphanumeric())
        };
        if name.is_empty() || !name.chars().enumerate().all(valid) {
            return Err(RegexError::new("this group has no valid name", start, from)
                .help("write `(?<name>…)`, or `(?:…)` without a name"));
        }
        self.cursor.eat(name);
        self.cursor.eat(">");
        // Each name may stand once.
        let name = self
            .pattern
            .get(from..from + name.len())
            .unwrap_or_default();
        if !self.names.insert(name) {
            return Err(RegexError::new(
                format!("the group name `{name}` stands twice"),
                from,
                from + name.len(),
            ));
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<Escape, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        let Some(c) = self.cursor.peek() else {
            return Err(
                RegexError::new("the regex ends in a back-slash", start, start + 1)
                    .help("write `\\\\` for a back-slash"),
            );
        };
        match c {
            'b' => {
                self.cursor.next();
                Ok(Escape::Look(Units::look("(?-u:\\b)")))
            }
            'B' => {
                self.cursor.next();
                Ok(Escape::Look(Units::not_word_boundary()))
            }
            'k' if self.named => {
                let rest = self.cursor.rest();
                let len = rest.find('>').map_or(1, |end| end + 1);
                Err(back_reference(self.pattern, start, start + 1 + len))
            }
            '1'..='9' => {
                let mut ahead = self.cursor;
                let number = ahead.decimal().unwrap_or(0);
                if number <= self.groups {
                    return Err(back_reference(self.pattern, start, ahead.at()));
                }
                Ok(Escape::Member(self.character_escape(c, false)))
            }
            c => Ok(Escape::Member(self.character_escape(c, false))),
        }
    }

    /// After the back-slash: what is the same inside and outside of a class.
    fn character_escape(&mut self, c: char, in_class: bool) -> Member {
        let set = match c {
            'd' | 'D' => Some(set(&[('0', '9')])),
            'w' | 'W' => Some(set(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])),
            's' | 'S' => Some(white_space()),
            _ => None,
        };
        if let Some(set) = set {
            self.cursor.next();
            return if c.is_ascii_uppercase() {
                Member::Set {
                    bmp: complement(&set),
                    halves: true,
                }
            } else {
                Member::Set {
                    bmp: set,
                    halves: false,
                }
            };
        }
        if c.is_digit(8) {
            // `\0` to `\377`; what does not fit is the next character.
            return Member::Unit(self.cursor.octal(3, 0o377).unwrap_or(0));
        }
        self.cursor.next();
        let unit = match c {
            't' => 0x09,
            'n' => 0x0A,
            'v' => 0x0B,
            'f' => 0x0C,
            'r' => 0x0D,
            'x' => self.cursor.hex(2).unwrap_or(u32::from('x')),
            'u' => self.cursor.hex(4).unwrap_or(u32::from('u')),
            'c' => {
                let letter = self.cursor.peek().filter(|c| {
                    c.is_ascii_alphabetic() || (in_class && (c.is_ascii_digit() || *c == '_'))
                });
                match letter {
                    Some(letter) => {
                        self.cursor.next();
                        u32::from(letter) % 32
                    }
                    // The back-slash stands for itself and `c` follows.
                    None => {
                        self.cursor = Cursor::new(self.pattern, self.cursor.at() - 1);
                        u32::from('\\')
                    }
                }
            }
            c => u32::from(c),
        };
        Member::Unit(unit)
    }

    /// Joins `\ud83d\ude00`; halves alone are refused, since no text holds one.
    fn join(&mut self, unit: u32, start: usize) -> Result<char, RegexError> {
        if let Some(c) = char::from_u32(unit) {
            return Ok(c);
        }
        let mut ahead = self.cursor;
        if (0xD800..0xDC00).contains(&unit)
            && ahead.eat("\\u")
            && let Some(low @ 0xDC00..0xE000) = ahead.hex(4)
            && let Some(c) = char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        {
            self.cursor = Cursor::new(self.pattern, ahead.at());
            return Ok(c);
        }
        let end = self.cursor.at();
        let text = self.pattern.get(start..end).unwrap_or_default();
        Err(
            RegexError::new(format!("`{text}` is half of a character"), start, end)
                .help("write the character itself, or both halves"),
        )
    }

    fn class(&mut self) -> Result<Units, RegexError> {
        let start = self.cursor.at();
        self.cursor.next();
        let negated = self.cursor.eat("^");
        let mut bmp = set(&[]);
        let mut halves = false;
        loop {
            let from = self.cursor.at();
            match self.cursor.peek() {
                None => {
                    return Err(
                        RegexError::new("this class has no closing `]`", start, start + 1)
                            .help("write `\\[` for the character"),
                    );
                }
                Some(']') => {
                    self.cursor.next();
                    break;
                }
                Some(_) => {}
            }
            let first = self.member()?;
            let mut ahead = self.cursor;
            if !(ahead.eat("-") && ahead.peek().is_some_and(|c| c != ']')) {
                add(&mut bmp, &mut halves, &first);
                continue;
            }
            self.cursor = Cursor::new(self.pattern, ahead.at());
            let last = self.member()?;
            let (Member::Unit(a), Member::Unit(b)) = (&first, &last) else {
                // `[\w-z]`: the dash stands for itself.
                add(&mut bmp, &mut halves, &first);
                add(&mut bmp, &mut halves, &last);
                add(&mut bmp, &mut halves, &Member::Unit(u32::from('-')));
                continue;
            };
            let end = self.cursor.at();
            let (Some(a), Some(b)) = (char::from_u32(*a), char::from_u32(*b)) else {
                continue;
            };
            let text = self.pattern.get(from..end).unwrap_or_default();
            if a > b {
                return Err(RegexError::new(
                    format!("the range `{text}` is out of order"),
                    from,
                    end,
                ));
            }
            if u32::from(a) < 0xD800 && u32::from(b) > 0xDFFF {
                halves = true;
            }
            bmp.push(ClassUnicodeRange::new(a, b));
        }
        if self.fold {
            bmp = folded(&bmp);
        }
        if negated {
            bmp = complement(&bmp);
            halves = !halves;
        }
        Ok(Units::class(bmp, halves))
    }

    /// A member of a class; a character beyond U+FFFF is two, and refused.
    fn member(&mut self) -> Result<Member, RegexError> {
        let start = self.cursor.at();
        let member = match self.cursor.next() {
            Some('\\') => match self.cursor.peek() {
                None => {
                    return Err(RegexError::new(
                        "the regex ends in a back-slash",
                        start,
                        start + 1,
                    ));
                }
                Some('b') => {
                    self.cursor.next();
                    Member::Unit(8)
                }
                Some('k') if self.named => {
                    // An error in JavaScript too, once there are named groups.
                    return Err(back_reference(self.pattern, start, start + 2));
                }
                Some(c) => self.character_escape(c, true),
            },
            Some(c) => Member::Unit(u32::from(c)),
            None => Member::Unit(0),
        };
        if let Member::Unit(unit) = member
            && (unit > 0xFFFF || (0xD800..0xE000).contains(&unit))
        {
            let end = self.cursor.at();
            let text = self.pattern.get(start..end).unwrap_or_default();
            return Err(RegexError::new(
                format!("JavaScript reads `{text}` in a class as halves of a character"),
                start,
                end,
            )
            .help("write alternatives: `(?:a|b)`"));
        }
        Ok(member)
    }

    fn literal(&self, c: char) -> Units {
        if self.fold && u32::from(c) <= 0xFFFF {
            return Units::class(folded(&set(&[(c, c)])), false);
        }
        Units::literal(c)
    }

    fn set(&self, bmp: Set, halves: bool) -> Units {
        Units::class(if self.fold { folded(&bmp) } else { bmp }, halves)
    }
}

enum Escape {
    Look(Units),
    Member(Member),
}

fn add(bmp: &mut Set, halves: &mut bool, member: &Member) {
    match member {
        Member::Unit(unit) => {
            if let Some(c) = char::from_u32(*unit) {
                bmp.push(ClassUnicodeRange::new(c, c));
            }
        }
        Member::Set {
            bmp: more,
            halves: more_halves,
        } => {
            bmp.union(more);
            *halves |= more_halves;
        }
    }
}

/// What else is there below U+10000.
fn complement(of: &Set) -> Set {
    let mut all = set(&[('\0', '\u{FFFF}')]);
    all.difference(of);
    all
}

fn white_space() -> Set {
    set(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{A0}', '\u{A0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200A}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202F}', '\u{202F}'),
        ('\u{205F}', '\u{205F}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{FEFF}', '\u{FEFF}'),
    ])
}

/// JavaScript's `Canonicalize` without `u`: upper case if that is one unit, and
/// never from outside ASCII into it.
fn canonical(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(up), None)
            if u32::from(up) <= 0xFFFF && !(u32::from(c) >= 128 && u32::from(up) < 128) =>
        {
            up
        }
        _ => c,
    }
}

/// Characters below U+10000 that share their canonical form with others.
static GROUPS: LazyLock<Vec<Vec<char>>> = LazyLock::new(|| {
    let mut by_form: HashMap<char, Vec<char>> = HashMap::new();
    for c in '\0'..='\u{FFFF}' {
        by_form.entry(canonical(c)).or_default().push(c);
    }
    by_form
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
});

/// All characters that JavaScript takes for one in the set when ignoring case.
fn folded(of: &ClassUnicode) -> Set {
    let ranges = of.ranges();
    let holds = |c: char| {
        let at = ranges.partition_point(|range| range.end() < c);
        ranges.get(at).is_some_and(|range| range.start() <= c)
    };
    let mut out = of.clone();
    let mut more = Vec::new();
    for group in GROUPS.iter() {
        if group.iter().any(|c| holds(*c)) {
            more.extend(group.iter().map(|c| ClassUnicodeRange::new(*c, *c)));
        }
    }
    out.union(&ClassUnicode::new(more));
    out
}

/// How many groups capture, and whether any has a name. Needed beforehand, since
/// `\1` and `\k` mean something else without.
fn count_groups(pattern: &str, start: usize) -> (u32, bool) {
    let mut cursor = Cursor::new(pattern, start);
    let (mut groups, mut named, mut in_class) = (0, false, false);
    while let Some(c) = cursor.next() {
        match c {
            '\\' => drop(cursor.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = cursor.rest();
                if !rest.starts_with('?') {
                    groups += 1;
                } else if rest.starts_with("?<")
                    && !rest.starts_with("?<=")
                    && !rest.starts_with("?<!")
                {
                    groups += 1;
                    named = true;
                }
            }
            _ => {}
        }
    }
    (groups, named)
}
