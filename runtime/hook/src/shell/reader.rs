//! The lexer: operators, lists, redirections, here documents. What is not in a small and
//! plainly understood part of the shell's language is unread.

mod words;

use super::{Redirect, Simple, Word, assignable};
use words::{braces, plain_end};

/// Longer scripts are not read.
const MAX_BYTES: usize = 64 * 1024;
/// Deeper nesting is not read.
const MAX_DEPTH: usize = 16;

/// Why a script cannot be read.
pub type Unread = String;

/// The simple commands of a script, those of substitutions included.
pub fn commands(text: &str, depth: usize) -> Result<Vec<Simple>, Unread> {
    if text.len() > MAX_BYTES {
        return Err("it is very long".to_owned());
    }
    let mut reader = Reader::new(text, depth)?;
    reader.list(None)?;
    if !reader.pending.is_empty() {
        return Err("a here document has no end".to_owned());
    }
    Ok(reader.done())
}

pub(super) struct Reader {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// For each `{`, `if`, `while` … that is open: whether a pipe leads into it.
    open: Vec<bool>,
    /// Commands, each with the number of the here document that it reads.
    pub(super) commands: Vec<(Simple, Option<usize>)>,
    /// Here documents whose text comes after the next line break.
    pub(super) pending: Vec<Pending>,
    documents: Vec<Word>,
}

pub(super) struct Pending {
    end: String,
    tabs: bool,
    expands: bool,
    number: usize,
}

impl Reader {
    pub(super) fn new(text: &str, depth: usize) -> Result<Self, Unread> {
        if depth > MAX_DEPTH {
            return Err("it nests very deep".to_owned());
        }
        if text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
        {
            return Err("it holds control characters".to_owned());
        }
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            open: Vec::new(),
            commands: Vec::new(),
            pending: Vec::new(),
            documents: Vec::new(),
        })
    }

    pub(super) fn done(self) -> Vec<Simple> {
        let documents = self.documents;
        let with_input = |(mut command, number): (Simple, Option<usize>)| {
            if let Some(number) = number {
                command.input = documents.get(number).cloned();
            }
            command
        };
        self.commands.into_iter().map(with_input).collect()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn after(&self, distance: usize) -> Option<char> {
        self.chars.get(self.at + distance).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = wanted
            .chars()
            .enumerate()
            .all(|(distance, c)| self.after(distance) == Some(c));
        if found {
            self.at += wanted.chars().count();
        }
        found
    }

    /// Blanks, and line breaks that are taken back. Those are only read between blanks:
    /// anywhere else they join what stands on both sides.
    fn blanks(&mut self) -> Result<(), Unread> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.after(1) == Some('\n') => {
                    let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
                    if !matches!(before, None | Some(' ' | '\t' | '\n')) {
                        return Err("a line break is taken back inside a word".to_owned());
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Commands up to the end, or to the parenthesis that closes them.
    pub(super) fn list(&mut self, end: Option<char>) -> Result<(), Unread> {
        let outer = self.open.len();
        let mut piped = false;
        loop {
            self.blanks()?;
            let Some(c) = self.peek() else {
                return match end {
                    None => Ok(()),
                    Some(_) => Err("a parenthesis is not closed".to_owned()),
                };
            };
            match c {
                '\n' => {
                    self.at += 1;
                    self.here_documents()?;
                    // A pipe goes on in the next line.
                    continue;
                }
                ')' if end == Some(')') => {
                    self.at += 1;
                    self.open.truncate(outer);
                    return Ok(());
                }
                ')' => return Err("a parenthesis was never opened".to_owned()),
                '(' if self.after(1) == Some('(') => {
                    return Err("it has an arithmetic command".to_owned());
                }
                '(' => {
                    self.at += 1;
                    let depth = self.deeper()?;
                    self.open.push(piped || self.fed());
                    self.list(Some(')'))?;
                    self.open.pop();
                    self.depth = depth;
                }
                '#' => self.comment()?,
                '|' => {
                    self.at += 1;
                    piped = self.peek() != Some('|');
                    if !piped || self.peek() == Some('&') {
                        self.at += 1;
                    }
                    continue;
                }
                ';' => {
                    self.at += 1;
                    if matches!(self.peek(), Some(';' | '&')) {
                        return Err("it has a `case`".to_owned());
                    }
                }
                '&' if !self.is_redirect() => self.at += 1,
                _ => self.simple(piped)?,
            }
            piped = false;
        }
    }

    /// Whether a pipe leads into what is open here.
    fn fed(&self) -> bool {
        self.open.last().copied().unwrap_or_default()
    }

    pub(super) fn deeper(&mut self) -> Result<usize, Unread> {
        let depth = self.depth;
        if depth >= MAX_DEPTH {
            return Err("it nests very deep".to_owned());
        }
        self.depth += 1;
        Ok(depth)
    }

    /// Not every shell takes `#` as a comment everywhere: what could be a command in it
    /// is not overlooked.
    fn comment(&mut self) -> Result<(), Unread> {
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            if matches!(c, ';' | '|' | '&' | '$' | '`' | '(' | ')' | '<' | '>') {
                return Err(format!("a comment holds `{c}`"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Whether a redirection begins here, with its number or without.
    fn is_redirect(&self) -> bool {
        let mut distance = 0;
        while self.after(distance).is_some_and(|c| c.is_ascii_digit()) {
            distance += 1;
        }
        match self.after(distance) {
            Some('<' | '>') => true,
            Some('&') => distance == 0 && self.after(1) == Some('>'),
            _ => false,
        }
    }

    fn simple(&mut self, piped: bool) -> Result<(), Unread> {
        let mut command = Simple {
            piped: piped || self.fed(),
            ..Simple::default()
        };
        let mut document = None;
        loop {
            self.blanks()?;
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('(') => return Err("it defines a function or an array".to_owned()),
                Some(_) if self.is_redirect() && !self.is_process() => {
                    if let Some(number) = self.redirect(&mut command)? {
                        document = Some(number);
                    }
                }
                Some('&') => break,
                // Only a word can begin with it; a comment ends the command.
                Some('#') => {
                    self.comment()?;
                    break;
                }
                Some(_) => {
                    let start = self.at;
                    let word = self.word()?;
                    let bare = self.since(start);
                    let follows = matches!(self.peek(), Some('<' | '>'));
                    if bare.starts_with('{') && bare.ends_with('}') && follows {
                        return Err("a redirection is unusual".to_owned());
                    }
                    if command.words.is_empty() && command.redirects.is_empty() && bare == word.text
                    {
                        match bare.as_str() {
                            "if" | "while" | "until" | "{" => {
                                self.open.push(command.piped);
                                continue;
                            }
                            "fi" | "done" | "}" => {
                                self.open.pop();
                                command.piped = self.fed();
                                continue;
                            }
                            "then" | "elif" | "else" | "do" | "!" => continue,
                            "for" => {
                                let piped = command.piped;
                                self.header()?;
                                self.open.push(piped);
                                continue;
                            }
                            "case" | "esac" | "select" | "function" | "coproc" | "foreach"
                            | "repeat" | "end" | "always" | "in" => {
                                return Err(format!("it has a `{bare}`"));
                            }
                            _ => {}
                        }
                    }
                    // Some shells end or begin a block here.
                    if matches!(bare.as_str(), "{" | "}") {
                        return Err(format!("`{bare}` stands among a command's words"));
                    }
                    let words = braces(word, &bare)?;
                    if command.words.is_empty() && words.len() > 1 {
                        return Err("a program's name is a pattern".to_owned());
                    }
                    command.words.extend(words);
                }
            }
        }
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.commands.push((command, document));
        }
        Ok(())
    }

    /// What was written since `start`.
    fn since(&self, start: usize) -> String {
        let chars = self.chars.get(start..self.at).unwrap_or_default();
        chars.iter().collect()
    }

    /// The list of a `for`, which sets a variable: its words hold no commands, its
    /// substitutions do.
    fn header(&mut self) -> Result<(), Unread> {
        let unusual = || "it has an unusual `for`".to_owned();
        self.blanks()?;
        let start = self.at;
        let name = self.word()?;
        if !assignable(&name.text) || self.since(start) != name.text {
            return Err(unusual());
        }
        self.blanks()?;
        let start = self.at;
        self.word()?;
        if self.since(start) != "in" {
            return Err(unusual());
        }
        let mut words = Vec::new();
        loop {
            self.blanks()?;
            match self.peek() {
                Some('\n' | ';') => break,
                None | Some('(' | ')' | '<' | '>' | '&' | '|') => return Err(unusual()),
                Some(_) => {
                    let start = self.at;
                    let word = self.word()?;
                    let bare = self.since(start);
                    if matches!(bare.as_str(), "{" | "}") {
                        return Err(unusual());
                    }
                    words.extend(braces(word, &bare)?);
                }
            }
        }
        for value in words {
            let assigned = Word {
                text: format!("{}={}", name.text, value.text),
                ..value
            };
            let command = Simple {
                words: vec![assigned],
                ..Simple::default()
            };
            self.commands.push((command, None));
        }
        Ok(())
    }

    /// `<(…)` and `>(…)`.
    pub(super) fn is_process(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.after(1) == Some('(')
    }

    /// One redirection. Gives the number of its here document, if it has one.
    fn redirect(&mut self, command: &mut Simple) -> Result<Option<usize>, Unread> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if self.eat("<<<") {
            self.blanks()?;
            let start = self.at;
            let input = self.word()?;
            let bare = self.since(start);
            if bare.is_empty() {
                return Err("a redirection has no text".to_owned());
            }
            command.input = braces(input, &bare)?.pop();
            return Ok(None);
        }
        if self.eat("<<") {
            let tabs = self.eat("-");
            self.blanks()?;
            let start = self.at;
            let end = self.word()?;
            let bare = self.since(start);
            if end.dynamic || !plain_end(&bare, &end.text) {
                return Err("a here document's end is unusual".to_owned());
            }
            let number = self.documents.len();
            self.documents.push(Word::default());
            self.pending.push(Pending {
                expands: bare == end.text,
                end: end.text,
                tabs,
                number,
            });
            return Ok(Some(number));
        }
        let operator = ["&>>", "&>", ">>", ">|", ">&", "<>", "<&", ">", "<"];
        let Some(operator) = operator.into_iter().find(|operator| self.eat(operator)) else {
            return Err("a redirection is unusual".to_owned());
        };
        self.blanks()?;
        if matches!(self.peek(), None | Some('\n' | ';' | '|' | '&' | ')' | '(')) {
            return Err("a redirection has no file".to_owned());
        }
        let start = self.at;
        let target = self.word()?;
        let bare = self.since(start);
        if bare.is_empty() || braces(target.clone(), &bare)?.len() != 1 {
            return Err("a redirection is unusual".to_owned());
        }
        let copies = matches!(operator, ">&" | "<&");
        let number = target
            .text
            .trim_end_matches('-')
            .chars()
            .all(|c| c.is_ascii_digit());
        if copies && number && !target.dynamic {
            return Ok(None);
        }
        // In some shells `>!` is `>|`.
        if bare.starts_with('!') {
            return Err("a redirection is unusual".to_owned());
        }
        command.redirects.push(Redirect {
            write: operator != "<" && operator != "<&",
            target,
        });
        Ok(None)
    }

    fn here_documents(&mut self) -> Result<(), Unread> {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                if self.peek().is_none() {
                    return Err("a here document has no end".to_owned());
                }
                let mut line = String::new();
                while let Some(c) = self.next().filter(|c| *c != '\n') {
                    line.push(c);
                }
                let stripped = if pending.tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if stripped == pending.end {
                    break;
                }
                if pending.expands && stripped.ends_with('\\') {
                    return Err("a line break is taken back in a here document".to_owned());
                }
                body.push_str(stripped);
                body.push('\n');
            }
            let mut word = Word {
                text: body.clone(),
                ..Word::default()
            };
            if pending.expands {
                let mut inner = Self::new(&body, self.depth + 1)?;
                word = Word::default();
                inner.quoted(&mut word, None)?;
                self.commands
                    .extend(inner.done().into_iter().map(|command| (command, None)));
            }
            if let Some(slot) = self.documents.get_mut(pending.number) {
                *slot = word;
            }
        }
        Ok(())
    }
}
