//! Redirections, here strings and here documents.

use super::{Reader, Unread};
use crate::shell::{Redirect, Simple, Word};

/// A here document whose text is still to come.
pub(super) struct Pending {
    end: String,
    tabs: bool,
    expands: bool,
    number: usize,
}

/// Whether the end of a here document is a plain name, or one in quotes.
fn plain_end(bare: &str, name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let quotes = [
        name.to_owned(),
        format!("'{name}'"),
        format!("\"{name}\""),
        format!("\\{name}"),
    ];
    !name.is_empty() && name.chars().all(plain) && quotes.iter().any(|quoted| quoted == bare)
}

impl Reader {
    /// Whether a redirection begins here, with its number or without.
    pub(super) fn is_redirect(&self) -> bool {
        let mut distance = 0;
        while self.after(distance).is_some_and(|c| c.is_ascii_digit()) {
            distance += 1;
        }
        match self.after(distance) {
            Some('<' | '>') => true,
            // Elsewhere it ends the command, and a redirection follows.
            Some('&') => distance == 0 && self.after(1) == Some('>') && self.dialect.is_rich(),
            _ => false,
        }
    }

    /// `<(…)` and `>(…)`.
    pub(super) fn is_process(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.after(1) == Some('(')
    }

    /// One redirection. Gives the number of its here document, if it has one.
    pub(super) fn redirect(&mut self, command: &mut Simple) -> Result<Option<usize>, Unread> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if self.eat("<<<") {
            if !self.dialect.is_rich() {
                return Err(self.refuse());
            }
            self.blanks()?;
            let start = self.at;
            let input = self.word()?;
            let bare = self.since(start);
            if bare.is_empty() {
                return Err("a redirection has no text".to_owned());
            }
            command.input = Some(input);
            return Ok(None);
        }
        if self.eat("<<") {
            return self.document().map(Some);
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
        if bare.is_empty() || self.expanded(target.clone(), &bare)?.len() != 1 {
            return Err("a redirection is unusual".to_owned());
        }
        let copies = matches!(operator, ">&" | "<&");
        // Bash ends the redirection behind the dash, and a word begins.
        if copies && bare.starts_with('-') && bare != "-" {
            return Err("a redirection is unusual".to_owned());
        }
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

    /// The head of a here document, and the number under which its text will be found.
    fn document(&mut self) -> Result<usize, Unread> {
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
        Ok(number)
    }

    pub(super) fn here_documents(&mut self) -> Result<(), Unread> {
        for pending in std::mem::take(&mut self.pending) {
            let Some(body) = self.body_of(&pending)? else {
                return Err("a here document has no end".to_owned());
            };
            let mut word = Word {
                text: body.clone(),
                ..Word::default()
            };
            if pending.expands {
                let mut inner = Self::new(&body, self.depth + 1, self.dialect);
                inner.set.clone_from(&self.set);
                word = Word::default();
                let read = inner.quoted(&mut word, None);
                let inner = inner.done();
                self.commands
                    .extend(inner.commands.into_iter().map(|command| (command, None)));
                self.functions.extend(inner.functions);
                if let Some(why) = inner.unread.or(read.err()) {
                    self.note(why);
                }
            }
            if let Some(slot) = self.documents.get_mut(pending.number) {
                *slot = word;
            }
        }
        Ok(())
    }

    /// The text of a here document; `None` if it does not end.
    fn body_of(&mut self, pending: &Pending) -> Result<Option<String>, Unread> {
        let early = self.substitutions > 0 && self.dialect.ends_documents_early();
        let mut body = String::new();
        loop {
            if self.peek().is_none() {
                return Ok(None);
            }
            let start = self.at;
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
                return Ok(Some(body));
            }
            let behind = stripped.strip_prefix(pending.end.as_str());
            if early && behind.is_some_and(|behind| behind.contains(')')) {
                // What stands behind the end goes on as the command.
                let tabs = line.chars().count() - stripped.chars().count();
                self.at = start + tabs + pending.end.chars().count();
                return Ok(Some(body));
            }
            if pending.expands && stripped.ends_with('\\') {
                return Err("a line break is taken back in a here document".to_owned());
            }
            body.push_str(stripped);
            body.push('\n');
        }
    }
}
