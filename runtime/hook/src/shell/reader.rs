//! The lexer: operators, lists, compound commands. What is not in a plainly understood part
//! of the shell's language is unread; what stands before and behind it is read all the same.

mod arithmetic;
mod braces;
mod compound;
mod expansions;
mod redirections;
mod words;

use super::dialect::Dialect;
use super::{Simple, Word};
use braces::braces;
use redirections::Pending;
use std::collections::HashSet;

/// Of longer scripts only the beginning is read.
const MAX_BYTES: usize = 512 * 1024;
/// Deeper nesting is not read.
const MAX_DEPTH: usize = 16;

/// Why a script cannot be read.
pub type Unread = String;

/// What was read of a script.
#[derive(Debug, Default)]
pub struct Read {
    /// The simple commands, those of substitutions included.
    pub commands: Vec<Simple>,
    /// The functions that it defines.
    pub functions: Vec<String>,
    /// Why part of it could not be read, if so.
    pub unread: Option<Unread>,
}

/// Reads a script as one shell does.
pub fn commands(text: &str, depth: usize, dialect: Dialect) -> Read {
    let mut reader = Reader::new(text, depth, dialect);
    if depth > MAX_DEPTH {
        reader.note("it nests very deep".to_owned());
        return reader.done();
    }
    reader.list(End::Text);
    if !reader.pending.is_empty() {
        reader.note("a here document has no end".to_owned());
    }
    reader.done()
}

/// Where a list of commands ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the text.
    Text,
    /// At the closing parenthesis.
    Parenthesis,
    /// At `;;` or `esac`.
    Case,
}

/// A `{`, `if`, `while`, `for`, `case` or parenthesis that is open.
#[derive(Default)]
struct Open {
    /// A pipe leads into it.
    fed: bool,
    /// The variable that is set inside only.
    variable: Option<String>,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    dialect: Dialect,
    open: Vec<Open>,
    /// Commands, each with the number of the here document that it reads.
    commands: Vec<(Simple, Option<usize>)>,
    functions: Vec<String>,
    /// Here documents whose text comes after the next line break.
    pending: Vec<Pending>,
    documents: Vec<Word>,
    /// Variables that are certainly set by now.
    set: HashSet<String>,
    /// Those of them that are only set if what stands before `&&` went well.
    chained: Vec<String>,
    /// The operator before this command: `&`, `|` for two of them.
    joined: Option<char>,
    /// How many substitutions with parentheses are open.
    substitutions: usize,
    /// What follows is a function's body: what leads into it is not known.
    body: bool,
    /// `(`, `)` and `|` are letters: it is a pattern to compare with.
    loose: bool,
    unread: Option<Unread>,
    /// How many commands stood before this line, outside of all compound commands.
    line: usize,
    /// The shell finds a mistake in the grammar here, and runs nothing from here on.
    refused: bool,
}

impl Reader {
    fn new(text: &str, depth: usize, dialect: Dialect) -> Self {
        let mut reader = Self {
            chars: Vec::new(),
            at: 0,
            depth,
            dialect,
            open: Vec::new(),
            commands: Vec::new(),
            functions: Vec::new(),
            pending: Vec::new(),
            documents: Vec::new(),
            set: HashSet::new(),
            chained: Vec::new(),
            joined: None,
            substitutions: 0,
            body: false,
            loose: false,
            unread: None,
            line: 0,
            refused: false,
        };
        let mut text = text;
        if text.len() > MAX_BYTES {
            reader.note("it is very long".to_owned());
            let cut = (0..=MAX_BYTES).rev().find(|at| text.is_char_boundary(*at));
            text = text.get(..cut.unwrap_or_default()).unwrap_or_default();
        }
        if text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
        {
            reader.note("it holds control characters".to_owned());
        }
        reader.chars = text.chars().collect();
        reader
    }

    fn done(self) -> Read {
        let documents = self.documents;
        let with_input = |(mut command, number): (Simple, Option<usize>)| {
            if let Some(number) = number {
                command.input = documents.get(number).cloned();
            }
            command
        };
        Read {
            commands: self.commands.into_iter().map(with_input).collect(),
            functions: self.functions,
            unread: self.unread,
        }
    }

    /// Remembers that something cannot be read.
    fn note(&mut self, why: Unread) {
        if !self.refused {
            self.unread.get_or_insert(why);
        }
    }

    /// The shell stops here with a mistake in the grammar: nothing of this line runs, and
    /// nothing behind it.
    fn refuse(&mut self) -> Unread {
        self.refused = true;
        self.commands.truncate(self.line);
        self.at = self.chars.len();
        self.pending.clear();
        "the shell does not take it".to_owned()
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn after(&self, distance: usize) -> Option<char> {
        self.chars.get(self.at + distance).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn sees(&self, wanted: &str) -> bool {
        wanted
            .chars()
            .enumerate()
            .all(|(distance, c)| self.after(distance) == Some(c))
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.sees(wanted);
        if found {
            self.at += wanted.chars().count();
        }
        found
    }

    /// Whether a word of the shell's own stands here by itself.
    fn at_keyword(&self, word: &str) -> bool {
        let behind = self.after(word.len());
        self.sees(word)
            && matches!(
                behind,
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>')
            )
    }

    /// What was written since `start`.
    fn since(&self, start: usize) -> String {
        let chars = self.chars.get(start..self.at).unwrap_or_default();
        chars.iter().collect()
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

    /// Blanks, line breaks and comments.
    fn space(&mut self) -> Result<(), Unread> {
        loop {
            self.blanks()?;
            match self.peek() {
                Some('\n') => {
                    self.at += 1;
                    self.here_documents()?;
                }
                Some('#') => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    /// Commands up to the end. What cannot be read is skipped up to where the next command
    /// may begin.
    fn list(&mut self, end: End) {
        let outer = self.open.len();
        let mut piped = false;
        while !self.refused {
            let before = self.at;
            match self.step(end, &mut piped) {
                Ok(false) => {}
                Ok(true) => break,
                Err(why) => {
                    self.note(why);
                    self.skip(before);
                    piped = false;
                }
            }
        }
        self.open.truncate(outer);
    }

    /// Goes to where the next command may begin.
    fn skip(&mut self, before: usize) {
        self.loose = false;
        while self
            .peek()
            .is_some_and(|c| !matches!(c, '\n' | ';' | '&' | '|' | ')'))
        {
            self.at += 1;
        }
        if self.at == before {
            self.at += 1;
        }
    }

    /// One operator, or one command. Whether the list ends with it.
    fn step(&mut self, end: End, piped: &mut bool) -> Result<bool, Unread> {
        self.blanks()?;
        let Some(c) = self.peek() else {
            if end != End::Text {
                self.note("something is not closed".to_owned());
            }
            return Ok(true);
        };
        match c {
            '\n' => {
                self.at += 1;
                // A pipe goes on in the next line, and so does `&&`.
                if self.joined.is_none() {
                    self.join(None);
                }
                self.here_documents()?;
                if self.open.is_empty() && self.substitutions == 0 && self.joined.is_none() {
                    self.line = self.commands.len();
                }
                return Ok(false);
            }
            ')' if end == End::Parenthesis => {
                self.at += 1;
                return Ok(true);
            }
            ')' => {
                self.at += 1;
                return Err("a parenthesis was never opened".to_owned());
            }
            '(' if self.after(1) == Some('(') && self.dialect.is_rich() => {
                if !self.arithmetic_command(*piped)? {
                    self.subshell(*piped)?;
                }
            }
            '(' => self.subshell(*piped)?,
            '#' => self.comment(),
            '|' => {
                self.at += 1;
                *piped = self.peek() != Some('|');
                if !*piped {
                    self.join(Some('|'));
                }
                if !*piped || self.peek() == Some('&') {
                    self.at += 1;
                }
                return Ok(false);
            }
            '&' if self.after(1) == Some('&') => {
                self.at += 2;
                self.join(Some('&'));
            }
            ';' if matches!(self.after(1), Some(';' | '&' | '|')) => {
                if end != End::Case {
                    self.at += 2;
                    return Err("it has a `case` that was never begun".to_owned());
                }
                self.at += 2;
                self.eat("&");
                return Ok(true);
            }
            ';' => {
                self.at += 1;
                self.join(None);
            }
            '&' if !self.is_redirect() => {
                self.at += 1;
                self.join(None);
            }
            _ if end == End::Case && self.at_keyword("esac") => return Ok(true),
            _ => self.simple(*piped)?,
        }
        *piped = false;
        Ok(false)
    }

    /// Remembers the operator that stands between two commands.
    fn join(&mut self, operator: Option<char>) {
        self.joined = operator;
        if operator != Some('&') {
            for name in self.chained.drain(..) {
                self.set.remove(&name);
            }
        }
    }

    fn subshell(&mut self, piped: bool) -> Result<(), Unread> {
        self.at += 1;
        let depth = self.deeper()?;
        let fed = piped || self.fed() || std::mem::take(&mut self.body);
        self.opened(fed);
        self.list(End::Parenthesis);
        self.open.pop();
        self.depth = depth;
        Ok(())
    }

    /// Whether a pipe leads into what is open here.
    fn fed(&self) -> bool {
        self.open.last().is_some_and(|open| open.fed)
    }

    fn opened(&mut self, fed: bool) {
        self.open.push(Open {
            fed,
            variable: None,
        });
    }

    fn closed(&mut self) {
        if let Some(variable) = self.open.pop().and_then(|open| open.variable) {
            self.set.remove(&variable);
        }
    }

    fn deeper(&mut self) -> Result<usize, Unread> {
        let depth = self.depth;
        if depth >= MAX_DEPTH {
            return Err("it nests very deep".to_owned());
        }
        self.depth += 1;
        Ok(depth)
    }

    /// Agents run commands by `sh -c` and the like, where every shell takes `#` for a
    /// comment.
    fn comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn simple(&mut self, piped: bool) -> Result<(), Unread> {
        let mut command = Simple {
            piped: piped || self.fed(),
            ..Simple::default()
        };
        let mut document = None;
        let read = self.words_of(&mut command, &mut document);
        command.handed = !self.open.is_empty()
            || self.substitutions > 0
            || self.peek() == Some('|') && !self.sees("||");
        // What was read of it is judged, whatever follows.
        let any = !command.words.is_empty() || !command.redirects.is_empty();
        if any && !self.refused {
            let alone = !matches!(self.peek(), Some('|' | '&')) || self.sees("&&");
            if read.is_ok() && self.open.is_empty() && self.substitutions == 0 && !piped && alone {
                self.sets(&command);
            }
            self.joined = None;
            self.commands.push((command, document));
        }
        read
    }

    /// Remembers which variables are certainly set behind a command.
    fn sets(&mut self, command: &Simple) {
        let names: Option<Vec<&str>> = command
            .words
            .iter()
            .map(|word| super::assignment(word).map(|(name, _)| name))
            .collect();
        for name in names.unwrap_or_default() {
            let first = self.joined != Some('|') && self.set.insert(name.to_owned());
            if first && self.joined.is_some() {
                self.chained.push(name.to_owned());
            }
        }
    }

    fn words_of(
        &mut self,
        command: &mut Simple,
        document: &mut Option<usize>,
    ) -> Result<(), Unread> {
        loop {
            self.blanks()?;
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => return Ok(()),
                Some('(') if self.function(command)? => {}
                Some('(') => {
                    return Err(match self.dialect {
                        Dialect::Dash => self.refuse(),
                        _ => "a parenthesis stands among a command's words".to_owned(),
                    });
                }
                Some(_) if self.is_redirect() && !self.is_process() => {
                    if let Some(number) = self.redirect(command)? {
                        *document = Some(number);
                    }
                }
                Some('&') => return Ok(()),
                // Only a word can begin with it; a comment ends the command.
                Some('#') => {
                    self.comment();
                    return Ok(());
                }
                Some(_) => {
                    if self.array(command)? {
                        continue;
                    }
                    let start = self.at;
                    let word = self.word()?;
                    let bare = self.since(start);
                    let follows = matches!(self.peek(), Some('<' | '>'));
                    if bare.starts_with('{') && bare.ends_with('}') && follows {
                        return Err("a redirection is unusual".to_owned());
                    }
                    let first = command.words.is_empty() && command.redirects.is_empty();
                    if first && bare == word.text && self.keyword(command, &bare)? {
                        continue;
                    }
                    // Some shells end or begin a block here.
                    if matches!(bare.as_str(), "{" | "}") && self.dialect.is_rich() {
                        return Err(format!("`{bare}` stands among a command's words"));
                    }
                    // Zsh ends a block at a brace at the end of a word.
                    let braces = |c: char| bare.matches(c).count();
                    if self.dialect == Dialect::Zsh
                        && bare.ends_with('}')
                        && braces('{') < braces('}')
                    {
                        return Err("a word ends with a brace".to_owned());
                    }
                    let words = self.expanded(word, &bare)?;
                    if command.words.is_empty() && words.len() > 1 {
                        return Err("a program's name is a pattern".to_owned());
                    }
                    command.words.extend(words);
                }
            }
        }
    }

    /// The words that one with braces stands for.
    fn expanded(&self, word: Word, bare: &str) -> Result<Vec<Word>, Unread> {
        if self.dialect.is_rich() {
            braces(word, bare)
        } else {
            Ok(vec![word])
        }
    }
}
