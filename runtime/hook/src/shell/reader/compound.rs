//! Compound commands: keywords, functions, `case`, `for`, `[[`, arrays.

use super::{End, Open, Reader, Unread};
use crate::shell::{Simple, Word, assignable};

impl Reader {
    /// Takes a keyword where a command begins. Whether it was one.
    pub(super) fn keyword(&mut self, command: &mut Simple, bare: &str) -> Result<bool, Unread> {
        match bare {
            "if" | "while" | "until" => self.opened(command.piped),
            "{" => {
                let fed = command.piped || std::mem::take(&mut self.body);
                self.opened(fed);
                command.piped = fed;
            }
            "}" if !self.dialect.is_rich() && self.open.is_empty() => {
                return Err(self.refuse());
            }
            "fi" | "done" | "}" => {
                self.closed();
                command.piped = self.fed();
            }
            "then" | "elif" | "else" | "do" | "!" => {}
            "for" => {
                let variable = self.header()?;
                self.open.push(Open {
                    fed: command.piped,
                    variable,
                });
            }
            "case" => self.case(command.piped)?,
            "[[" if self.dialect.is_rich() => return self.conditional(command),
            "function" if self.dialect.is_rich() => {
                self.blanks()?;
                let start = self.at;
                let name = self.word()?;
                if self.since(start) != name.text || !function_name(&name.text) {
                    return Err("it has an unusual `function`".to_owned());
                }
                self.blanks()?;
                self.eat("()");
                self.define(name.text);
                self.space()?;
            }
            // There it is a program that nobody has, and its brace is a word like any other.
            "function" if !self.dialect.is_rich() => {
                command.words.push(Word {
                    text: ":".to_owned(),
                    ..Word::default()
                });
            }
            "esac" | "select" | "function" | "coproc" | "foreach" | "repeat" | "end" | "always"
            | "in" => {
                return Err(format!("it has a `{bare}`"));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn define(&mut self, name: String) {
        self.functions.push(name);
        self.body = true;
    }

    /// `name()`: the body that follows is read as if it ran. Whether it was one.
    pub(super) fn function(&mut self, command: &mut Simple) -> Result<bool, Unread> {
        let mut distance = 1;
        while matches!(self.after(distance), Some(' ' | '\t')) {
            distance += 1;
        }
        let [name] = command.words.as_slice() else {
            return Ok(false);
        };
        let plain = !name.dynamic && !name.pattern && function_name(&name.text);
        if self.after(distance) != Some(')') || !plain || !command.redirects.is_empty() {
            return Ok(false);
        }
        self.at += distance + 1;
        let name = command.words.pop().unwrap_or_default();
        self.define(name.text);
        self.space()?;
        let begins = self.at_keyword("{") || self.peek() == Some('(');
        if !begins {
            return Err("a function has an unusual body".to_owned());
        }
        if self.peek() == Some('(') {
            self.subshell(true)?;
        }
        Ok(true)
    }

    /// `case … in … esac`: each list is read, and each may run.
    fn case(&mut self, piped: bool) -> Result<(), Unread> {
        let unusual = || "it has an unusual `case`".to_owned();
        self.blanks()?;
        self.word()?;
        self.space()?;
        if !self.at_keyword("in") {
            return Err(unusual());
        }
        self.at += 2;
        let depth = self.deeper()?;
        self.opened(piped);
        loop {
            self.space()?;
            if self.at_keyword("esac") {
                self.at += 4;
                break;
            }
            self.eat("(");
            loop {
                self.blanks()?;
                let start = self.at;
                self.word()?;
                if start == self.at {
                    return Err(unusual());
                }
                self.blanks()?;
                match self.next() {
                    Some('|') => {}
                    Some(')') => break,
                    _ => return Err(unusual()),
                }
            }
            self.list(End::Case);
            if self.refused {
                break;
            }
        }
        self.open.pop();
        self.depth = depth;
        Ok(())
    }

    /// The list of a `for`, which sets a variable: its words hold no commands, its
    /// substitutions do.
    fn header(&mut self) -> Result<Option<String>, Unread> {
        let unusual = || "it has an unusual `for`".to_owned();
        self.blanks()?;
        if self.sees("((") {
            return match self.dialect.is_rich() {
                true if self.arithmetic_command(false)? => Ok(None),
                true => Err(unusual()),
                false => Err(self.refuse()),
            };
        }
        let start = self.at;
        let name = self.word()?;
        if !assignable(&name.text) || self.since(start) != name.text {
            return Err(unusual());
        }
        self.space()?;
        if !self.at_keyword("in") {
            return Err(unusual());
        }
        self.at += 2;
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
                    words.extend(self.expanded(word, &bare)?);
                }
            }
        }
        let fresh = !words.is_empty() && self.set.insert(name.text.clone());
        for value in words {
            let mut assigned = value;
            assigned.behind(&format!("{}=", name.text));
            let command = Simple {
                words: vec![assigned],
                looped: true,
                ..Simple::default()
            };
            self.commands.push((command, None));
        }
        Ok(fresh.then_some(name.text))
    }

    /// `[[ … ]]`: words and operators that start nothing.
    fn conditional(&mut self, command: &mut Simple) -> Result<bool, Unread> {
        let plain = |text: &str| Word {
            text: text.to_owned(),
            ..Word::default()
        };
        command.words.push(plain("[["));
        loop {
            self.space()?;
            if self.at_keyword("]]") {
                self.at += 2;
                command.words.push(plain("]]"));
                return Ok(true);
            }
            let operators = ["&&", "||", "(", ")", "<", ">"];
            let process = self.is_process();
            if let Some(operator) = operators.iter().find(|operator| self.sees(operator))
                && !process
            {
                self.at += operator.len();
                command.words.push(plain(operator));
                continue;
            }
            let compares = command.words.last().is_some_and(|last| {
                !last.dynamic && matches!(last.text.as_str(), "=~" | "==" | "=" | "!=")
            });
            let start = self.at;
            self.loose = compares;
            let word = self.word();
            self.loose = false;
            command.words.push(word?);
            if start == self.at {
                return Err("a condition is not closed".to_owned());
            }
        }
    }

    /// `name=(…)`: the values are seen as if each were assigned. Whether it was one.
    pub(super) fn array(&mut self, command: &mut Simple) -> Result<bool, Unread> {
        let mut distance = 0;
        while self
            .after(distance)
            .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            distance += 1;
        }
        let name: String = self
            .chars
            .get(self.at..self.at + distance)
            .unwrap_or_default()
            .iter()
            .collect();
        if self.after(distance) == Some('+') {
            distance += 1;
        }
        let assigns = self.after(distance) == Some('=') && self.after(distance + 1) == Some('(');
        if !assigns || !assignable(&name) {
            return Ok(false);
        }
        if !self.dialect.is_rich() {
            return Err(self.refuse());
        }
        self.at += distance + 2;
        command.words.push(Word {
            text: format!("{name}="),
            ..Word::default()
        });
        loop {
            self.space()?;
            if self.eat(")") {
                return Ok(true);
            }
            let start = self.at;
            let word = self.word()?;
            let bare = self.since(start);
            if start == self.at || bare.starts_with('[') {
                return Err("it has an unusual array".to_owned());
            }
            for mut value in self.expanded(word, &bare)? {
                value.behind(&format!("{name}="));
                command.words.push(value);
            }
        }
    }
}

/// Whether a function can have this name without being something else as well.
fn function_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}
