//! Words: quotes, patterns, process substitutions.

use super::{Dialect, End, Reader, Unread};
use crate::shell::{Simple, TOP, Variable, Word};

/// How a substitution stands in a word that becomes a number, whatever happens.
pub(super) const NUMBER: &str = "$(number)";
/// How a file stands in a word that `mktemp` makes.
const TEMPORARY: &str = "/tmp/tmp.mktemp";

impl Word {
    /// Adds a character that stands for itself.
    pub(super) fn push(&mut self, c: char) {
        // Arithmetic runs what looks like a substitution even where it was quoted.
        if c == '`' || (matches!(c, '(' | '{') && self.text.ends_with('$')) {
            self.code |= self.text.contains('[');
        }
        self.text.push(c);
    }

    /// Adds what is only known when the command runs.
    pub(super) fn expand(&mut self, text: &str, quoted: bool) {
        self.open |= !quoted || self.text.is_empty();
        self.split |= !quoted;
        self.one(text);
    }

    /// Adds what becomes one plain text when the command runs, such as a number.
    pub(super) fn one(&mut self, text: &str) {
        (self.dynamic, self.opaque) = (true, true);
        self.text.push_str(text);
    }

    /// Adds a variable by itself.
    pub(super) fn variable(&mut self, text: &str, name: &str, set: bool, quoted: bool) {
        let start = self.text.len();
        self.open |= !quoted || self.text.is_empty();
        self.split |= !quoted;
        self.dynamic = true;
        self.text.push_str(text);
        self.variables.push(Variable {
            name: name.to_owned(),
            start,
            end: self.text.len(),
            set,
            quoted,
        });
    }

    /// Puts a text in front.
    pub(super) fn behind(&mut self, before: &str) {
        self.text.insert_str(0, before);
        for variable in &mut self.variables {
            variable.start += before.len();
            variable.end += before.len();
        }
    }
}

impl Reader {
    pub(super) fn word(&mut self) -> Result<Word, Unread> {
        let mut word = Word::default();
        let start = self.at;
        let mut brace = false;
        while let Some(c) = self.peek() {
            match c {
                '(' | ')' | '|' | '<' | '>' | '&' if self.loose => {
                    self.at += 1;
                    word.push(c);
                }
                ' ' | '\t' | '\n' | ';' | '|' | '&' | ')' => break,
                '<' | '>' if self.is_process() => self.process(&mut word)?,
                '<' | '>' => break,
                '(' => return self.parenthesis(word),
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {
                            return Err("a line break is taken back inside a word".to_owned());
                        }
                        Some(c) => word.push(c),
                        None => return Err("it ends in a backslash".to_owned()),
                    }
                }
                '\'' => {
                    self.at += 1;
                    loop {
                        match self.next() {
                            Some('\'') => break,
                            Some(c) => word.push(c),
                            None => return Err("a quote is not closed".to_owned()),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut word, Some('"'))?;
                }
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backtick(&mut word, false)?,
                _ if !c.is_ascii() && c.is_whitespace() => {
                    return Err("it holds unusual white space".to_owned());
                }
                _ => {
                    self.letter(&mut word, c, start, &mut brace);
                }
            }
        }
        Ok(word)
    }

    /// A parenthesis inside a word: the name of a function, or nothing that is read.
    fn parenthesis(&mut self, word: Word) -> Result<Word, Unread> {
        let mut distance = 1;
        while matches!(self.after(distance), Some(' ' | '\t')) {
            distance += 1;
        }
        if self.after(distance) == Some(')') && !word.text.is_empty() && !word.dynamic {
            return Ok(word);
        }
        Err(match self.dialect {
            Dialect::Dash => self.refuse(),
            _ => "a parenthesis stands inside a word".to_owned(),
        })
    }

    /// `<(…)` becomes the name of a file, whatever is printed.
    fn process(&mut self, word: &mut Word) -> Result<(), Unread> {
        if !self.dialect.is_rich() {
            return Err(self.refuse());
        }
        self.at += 2;
        let mut inside = Word::default();
        self.substitution(&mut inside, true)?;
        word.one("<(…)");
        Ok(())
    }

    /// A character outside of quotes.
    fn letter(&mut self, word: &mut Word, c: char, start: usize, brace: &mut bool) {
        let first = self.at == start;
        self.at += 1;
        match c {
            '*' | '?' | '[' => {
                word.pattern = true;
                word.split = true;
                word.open |= word.text.is_empty();
            }
            '{' => *brace = true,
            ',' if *brace => word.braces = true,
            '.' if *brace && word.text.ends_with('.') => word.braces = true,
            // In some shells it names the path of a program.
            '=' if first => word.pattern = true,
            // Somebody else's home, or a directory of the shell's own memory.
            '~' if first => {
                let own = matches!(
                    self.peek(),
                    None | Some('/' | ' ' | '\t' | '\n' | ';' | '|' | '&' | ')')
                );
                word.pattern |= !own;
            }
            _ => {}
        }
        word.push(c);
    }

    /// What stands in double quotes, or in a here document.
    pub(super) fn quoted(&mut self, word: &mut Word, end: Option<char>) -> Result<(), Unread> {
        loop {
            let Some(c) = self.peek() else {
                return match end {
                    None => Ok(()),
                    Some(_) => Err("a quote is not closed".to_owned()),
                };
            };
            match c {
                _ if Some(c) == end => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {
                            return Err("a line break is taken back inside quotes".to_owned());
                        }
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.push(c),
                        Some(c) => {
                            word.push('\\');
                            word.push(c);
                        }
                        None => word.push('\\'),
                    }
                }
                '$' => self.dollar(word, true)?,
                '`' => self.backtick(word, true)?,
                _ => {
                    self.at += 1;
                    word.push(c);
                }
            }
        }
    }

    /// The commands behind an opening parenthesis; what they print is not known.
    pub(super) fn substitution(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        let start = self.at;
        let depth = self.deeper()?;
        let first = self.commands.len();
        // Here documents of a substitution end inside it.
        let outer = std::mem::take(&mut self.pending);
        let loose = std::mem::take(&mut self.loose);
        let joined = self.joined.take();
        self.substitutions += 1;
        self.list(End::Parenthesis);
        self.substitutions -= 1;
        self.joined = joined;
        self.loose = loose;
        if !self.pending.is_empty() {
            self.note("a here document has no end".to_owned());
        }
        self.pending = outer;
        self.depth = depth;
        let inside = self.since(start);
        let inside = inside.strip_suffix(')').unwrap_or(&inside).trim();
        let commands = self.commands.get(first..).unwrap_or_default();
        if inside == "nproc" {
            word.one("$(nproc)");
        } else if matches!(inside, "mktemp" | "mktemp -d") {
            word.text.push_str(TEMPORARY);
        } else if prints_a_number(inside, commands) {
            word.one(NUMBER);
        } else {
            let top = TOP.strip_prefix("$(").and_then(|top| top.strip_suffix(')')) == Some(inside);
            word.expand(if top { TOP } else { "$(…)" }, quoted);
        }
        Ok(())
    }

    fn backtick(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                // Its meaning depends on what stands around the backticks.
                Some('\\') => return Err("backticks hold a backslash".to_owned()),
                Some(c) => inside.push(c),
                None => return Err("a backtick is not closed".to_owned()),
            }
        }
        let inner = super::commands(&inside, self.depth + 1, self.dialect);
        self.commands
            .extend(inner.commands.into_iter().map(|mut command| {
                command.handed = true;
                (command, None)
            }));
        self.functions.extend(inner.functions);
        if let Some(why) = inner.unread {
            self.note(why);
        }
        word.expand("$(…)", quoted);
        Ok(())
    }
}

/// Whether one pipe of commands prints nothing but a number.
fn prints_a_number(inside: &str, commands: &[(Simple, Option<usize>)]) -> bool {
    let one = !inside.contains([';', '\n', '&', '(', '`']) && !inside.contains("||");
    let Some((last, _)) = commands.last().filter(|_| one) else {
        return false;
    };
    let texts: Vec<&str> = last.words.iter().map(|word| word.text.as_str()).collect();
    match texts.as_slice() {
        ["wc", "-l" | "-c" | "-w" | "-m"] => true,
        ["nproc"] | ["id", "-u" | "-g"] => true,
        ["date", form] => {
            let letters = form.strip_prefix("+%").unwrap_or_default();
            letters
                .chars()
                .all(|c| c.is_ascii_digit() || "sNYmdHMSj%".contains(c))
                && !letters.is_empty()
        }
        ["grep", options @ .., _] if last.piped => {
            options.iter().any(|option| option.contains('c'))
                && options
                    .iter()
                    .all(|option| matches!(*option, "-c" | "-ci" | "-ic" | "-cE" | "-cv" | "-vc"))
        }
        ["grep", "-c" | "-ci" | "-cE" | "-cF" | "-cv", _, file] => {
            !file.contains(['*', '?', '[', '$'])
        }
        ["git", "rev-list", "--count", ..] => true,
        _ => false,
    }
}
