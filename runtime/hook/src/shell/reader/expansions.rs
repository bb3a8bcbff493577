//! What a dollar sign begins.

use super::{Reader, Unread};
use crate::shell::{Word, assignable};

impl Reader {
    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.after(1) == Some('(') => self.arithmetic(word)?,
            Some('(') => {
                self.at += 1;
                self.substitution(word, quoted)?;
            }
            Some('{') => {
                self.at += 1;
                self.parameter(word, quoted)?;
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                self.variable(word, quoted)?;
            }
            Some('\'') if !quoted => self.escapes(word)?,
            // Then it stands for itself, in every shell.
            None
            | Some(' ' | '\t' | '\n' | '/' | '.' | ',' | '|' | ')' | '%' | ':' | ';' | '&') => {
                word.text.push('$');
            }
            Some('"' | '\'') if quoted => word.text.push('$'),
            Some('\\') if quoted && self.after(1) != Some('\n') => word.text.push('$'),
            Some(c) => return Err(format!("it has an unusual `${c}`")),
        }
        Ok(())
    }

    /// `$name`, `$1`, `$?`.
    fn variable(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        let mut name = String::from("$");
        let named = self
            .peek()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        while let Some(c) = self.peek() {
            if named && !(c.is_ascii_alphanumeric() || c == '_') {
                break;
            }
            name.push(c);
            self.at += 1;
            if !named {
                break;
            }
        }
        // In some shells an index, which is worked out.
        if self.peek() == Some('[') {
            return Err("it has an index behind a variable".to_owned());
        }
        if named {
            self.named(word, &name, name.trim_start_matches('$'), quoted);
        } else {
            let single = !matches!(name.as_str(), "$@" | "$*");
            word.expand(&name, quoted && single);
        }
        Ok(())
    }

    /// A variable by itself. The home at the beginning of a word stands there as `~`.
    fn named(&mut self, word: &mut Word, text: &str, name: &str, quoted: bool) {
        let ends = matches!(
            self.peek(),
            None | Some('/' | ' ' | '\t' | '\n' | '"' | ';' | '|' | '&' | ')')
        );
        if name == "HOME" && word.text.is_empty() && ends {
            word.text.push('~');
            return;
        }
        let set = self.set.contains(name);
        word.variable(text, name, set, quoted);
    }

    /// `${…}`, behind the brace.
    fn parameter(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        let mut inside = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(c) if inside.len() < 200 => inside.push(c),
                _ => return Err("it has an unusual `${…}`".to_owned()),
            }
        }
        let text = format!("${{{inside}}}");
        if assignable(&inside) {
            self.named(word, &text, &inside, quoted);
            return Ok(());
        }
        if !plain_expansion(&inside) {
            return Err("it has an unusual `${…}`".to_owned());
        }
        let many = inside.contains(['@', '*']);
        word.expand(&text, quoted && !many);
        Ok(())
    }

    /// `$'…'`: with escapes in some shells, a dollar sign and a text in others.
    fn escapes(&mut self, word: &mut Word) -> Result<(), Unread> {
        self.at += 1;
        let rich = self.dialect.is_rich();
        if !rich {
            word.push('$');
        }
        loop {
            let c = self.next().ok_or("a quote is not closed")?;
            match c {
                '\'' => return Ok(()),
                '\\' if !rich => word.push('\\'),
                '\\' => match self.next() {
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    Some('r') => word.push('\r'),
                    Some(c @ ('\\' | '\'' | '"')) => word.push(c),
                    _ => return Err("it has an unusual `$'`".to_owned()),
                },
                c => word.push(c),
            }
        }
    }
}

/// Operators between a name and a text, the longer ones first.
const OPERATORS: [&str; 19] = [
    ":-", ":+", ":?", ":=", "##", "#", "%%", "%", "//", "/#", "/%", "/", "^^", "^", ",,", ",", "-",
    "+", ":",
];

/// `NAME`, `#NAME`, and `NAME` with a plain default, a plain pattern to cut off or to
/// replace, or a place to cut at. All elements of an array, or one with a number.
fn plain_expansion(inside: &str) -> bool {
    let counted = inside.strip_prefix('#').unwrap_or(inside);
    if assignable(counted) || matches!(counted, "@" | "*") {
        return true;
    }
    let end = counted
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(counted.len());
    let (name, rest) = counted.split_at(end);
    let digit = name.len() == 1 && name.chars().all(|c| c.is_ascii_digit());
    if !assignable(name) && !digit {
        return false;
    }
    let index = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .filter(|(index, _)| {
            matches!(*index, "@" | "*")
                || (!index.is_empty() && index.chars().all(|c| c.is_ascii_digit()))
        });
    let rest = index.map_or(rest, |(_, rest)| rest);
    if counted.len() < inside.len() || rest.is_empty() {
        return rest.is_empty();
    }
    let Some((operator, text)) = OPERATORS
        .iter()
        .find_map(|operator| Some((*operator, rest.strip_prefix(operator)?)))
    else {
        return false;
    };
    if operator == ":" {
        return text
            .chars()
            .all(|c| c.is_ascii_digit() || ": -".contains(c));
    }
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_./*?-:@+, ".contains(c))
}
