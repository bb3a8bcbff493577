//! The lexer: quotes, operators, expansions, substitutions, here documents.

use super::{Redirect, Simple, Word};

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

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// Commands, each with the number of the here document that it reads.
    commands: Vec<(Simple, Option<usize>)>,
    /// Here documents whose text comes after the next line break.
    pending: Vec<Pending>,
    documents: Vec<Word>,
}

struct Pending {
    end: String,
    tabs: bool,
    expands: bool,
    number: usize,
}

impl Reader {
    fn new(text: &str, depth: usize) -> Result<Self, Unread> {
        if depth > MAX_DEPTH {
            return Err("it nests very deep".to_owned());
        }
        if text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        {
            return Err("it holds control characters".to_owned());
        }
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            commands: Vec::new(),
            pending: Vec::new(),
            documents: Vec::new(),
        })
    }

    fn done(self) -> Vec<Simple> {
        let documents = self.documents;
        let with_input = |(mut command, number): (Simple, Option<usize>)| {
            if let Some(number) = number {
                command.input = documents.get(number).cloned();
            }
            command
        };
        self.commands.into_iter().map(with_input).collect()
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

    /// Blanks, and line breaks that are taken back.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.after(1) == Some('\n') => self.at += 2,
                _ => break,
            }
        }
    }

    /// Commands up to the end, or to the parenthesis that closes them.
    fn list(&mut self, end: Option<char>) -> Result<(), Unread> {
        let mut piped = false;
        loop {
            self.blanks();
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
                    return Ok(());
                }
                ')' => return Err("a parenthesis was never opened".to_owned()),
                '(' if self.after(1) == Some('(') => {
                    return Err("it has an arithmetic command".to_owned());
                }
                '(' => {
                    self.at += 1;
                    let depth = self.deeper()?;
                    self.list(Some(')'))?;
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

    fn deeper(&mut self) -> Result<usize, Unread> {
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
            piped,
            ..Simple::default()
        };
        let mut document = None;
        loop {
            self.blanks();
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
                    let bare: String = self
                        .chars
                        .get(start..self.at)
                        .unwrap_or_default()
                        .iter()
                        .collect();
                    if command.words.is_empty() && bare == word.text {
                        match bare.as_str() {
                            "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do"
                            | "done" | "!" | "{" | "}" => continue,
                            "for" => {
                                self.header()?;
                                continue;
                            }
                            "case" | "esac" | "select" | "function" | "coproc" => {
                                return Err(format!("it has a `{bare}`"));
                            }
                            _ => {}
                        }
                    }
                    command.words.push(word);
                }
            }
        }
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.commands.push((command, document));
        }
        Ok(())
    }

    /// The list of a `for`: its words hold no commands, its substitutions do.
    fn header(&mut self) -> Result<(), Unread> {
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(()),
                Some('(' | ')' | '<' | '>' | '&' | '|') => {
                    return Err("it has an unusual `for`".to_owned());
                }
                Some(_) => {
                    self.word()?;
                }
            }
        }
    }

    /// `<(…)` and `>(…)`.
    fn is_process(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.after(1) == Some('(')
    }

    /// One redirection. Gives the number of its here document, if it has one.
    fn redirect(&mut self, command: &mut Simple) -> Result<Option<usize>, Unread> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if self.eat("<<<") {
            self.blanks();
            command.input = Some(self.word()?);
            return Ok(None);
        }
        if self.eat("<<") {
            let tabs = self.eat("-");
            self.blanks();
            let start = self.at;
            let end = self.word()?;
            let bare = self.chars.get(start..self.at).unwrap_or_default();
            if end.dynamic || end.text.is_empty() {
                return Err("a here document's end is unusual".to_owned());
            }
            let number = self.documents.len();
            self.documents.push(Word::default());
            self.pending.push(Pending {
                expands: !bare.iter().any(|c| matches!(c, '\'' | '"' | '\\')),
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
        self.blanks();
        if matches!(self.peek(), None | Some('\n' | ';' | '|' | '&' | ')' | '(')) {
            return Err("a redirection has no file".to_owned());
        }
        let target = self.word()?;
        let copies = matches!(operator, ">&" | "<&");
        let number = target
            .text
            .trim_end_matches('-')
            .chars()
            .all(|c| c.is_ascii_digit());
        if copies && number && !target.dynamic {
            return Ok(None);
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

    fn word(&mut self) -> Result<Word, Unread> {
        let mut word = Word::default();
        let mut braces = false;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | ')' => break,
                '<' | '>' if self.is_process() => {
                    self.at += 2;
                    self.substitution(&mut word)?;
                }
                '<' | '>' => break,
                '(' => return Err("a parenthesis stands inside a word".to_owned()),
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => word.text.push(c),
                        None => return Err("it ends in a backslash".to_owned()),
                    }
                }
                '\'' => {
                    self.at += 1;
                    loop {
                        match self.next() {
                            Some('\'') => break,
                            Some(c) => word.text.push(c),
                            None => return Err("a quote is not closed".to_owned()),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut word, Some('"'))?;
                }
                '$' if self.after(1) == Some('\'') => {
                    return Err("it has a `$'…'` quote".to_owned());
                }
                '$' if self.after(1) == Some('"') => self.at += 1,
                '$' => self.dollar(&mut word)?,
                '`' => self.backtick(&mut word)?,
                _ => {
                    self.at += 1;
                    match c {
                        '*' | '?' | '[' => word.pattern = true,
                        '{' => braces = true,
                        ',' | '.' if braces => word.pattern = true,
                        // In some shells it names the path of a program.
                        '=' if word.text.is_empty() => word.pattern = true,
                        _ => {}
                    }
                    word.text.push(c);
                }
            }
        }
        Ok(word)
    }

    /// What stands in double quotes, or in a here document.
    fn quoted(&mut self, word: &mut Word, end: Option<char>) -> Result<(), Unread> {
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
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => {
                            word.text.push('\\');
                            word.text.push(c);
                        }
                        None => word.text.push('\\'),
                    }
                }
                '$' => self.dollar(word)?,
                '`' => self.backtick(word)?,
                _ => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut Word) -> Result<(), Unread> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.after(1) == Some('(') => {
                return Err("it has arithmetic".to_owned());
            }
            Some('(') => {
                self.at += 1;
                self.substitution(word)?;
            }
            Some('{') => {
                self.at += 1;
                let mut inside = String::new();
                loop {
                    match self.next() {
                        Some('}') => break,
                        // Quotes, further expansions and transformations in it can do
                        // all sorts of things.
                        Some('$' | '`' | '(' | '"' | '\'' | '\\' | '@' | '{') | None => {
                            return Err("it has an unusual `${…}`".to_owned());
                        }
                        Some(c) => inside.push(c),
                    }
                }
                word.dynamic = true;
                word.text.push_str(&format!("${{{inside}}}"));
            }
            Some('[') => return Err("it has arithmetic".to_owned()),
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                word.dynamic = true;
                word.text.push('$');
                if c.is_ascii_alphabetic() || c == '_' {
                    while let Some(c) = self
                        .peek()
                        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                    {
                        word.text.push(c);
                        self.at += 1;
                    }
                } else {
                    word.text.push(c);
                    self.at += 1;
                }
            }
            _ => word.text.push('$'),
        }
        Ok(())
    }

    /// The commands behind an opening parenthesis; what they print is not known.
    fn substitution(&mut self, word: &mut Word) -> Result<(), Unread> {
        let depth = self.deeper()?;
        // Here documents of a substitution end inside it.
        let outer = std::mem::take(&mut self.pending);
        self.list(Some(')'))?;
        if !self.pending.is_empty() {
            return Err("a here document has no end".to_owned());
        }
        self.pending = outer;
        self.depth = depth;
        word.dynamic = true;
        word.text.push_str("$(…)");
        Ok(())
    }

    fn backtick(&mut self, word: &mut Word) -> Result<(), Unread> {
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('`' | '$' | '\\')) => inside.push(c),
                    // Its meaning depends on quotes around the backticks.
                    Some('"') => return Err("backticks hold an escaped quote".to_owned()),
                    Some(c) => inside.extend(['\\', c]),
                    None => return Err("a backtick is not closed".to_owned()),
                },
                Some(c) => inside.push(c),
                None => return Err("a backtick is not closed".to_owned()),
            }
        }
        let inner = commands(&inside, self.depth + 1)?;
        self.commands
            .extend(inner.into_iter().map(|command| (command, None)));
        word.dynamic = true;
        word.text.push_str("$(…)");
        Ok(())
    }
}
