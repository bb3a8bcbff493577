//! Words: quotes, expansions, substitutions, patterns.

use super::{Reader, Unread, commands};
use crate::shell::{TOP, Word, assignable};

/// Words that one pattern in braces stands for, at most.
const MAX_BRACES: usize = 64;

/// Whether the end of a here document is a plain name, or one in quotes.
pub(super) fn plain_end(bare: &str, name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let quotes = [
        name.to_owned(),
        format!("'{name}'"),
        format!("\"{name}\""),
        format!("\\{name}"),
    ];
    !name.is_empty() && name.chars().all(plain) && quotes.iter().any(|quoted| quoted == bare)
}

/// The words that a word with unquoted braces stands for.
pub(super) fn braces(word: Word, bare: &str) -> Result<Vec<Word>, Unread> {
    if !word.braces {
        return Ok(vec![word]);
    }
    let unusual = || "it has an unusual pattern in braces".to_owned();
    if bare != word.text || word.dynamic {
        return Err(unusual());
    }
    let mut texts = vec![String::new()];
    let mut rest = bare;
    while let Some((before, behind)) = rest.split_once('{') {
        let (inside, after) = behind.split_once('}').ok_or_else(unusual)?;
        if before.contains('}') || inside.contains('{') || inside.contains("..") {
            return Err(unusual());
        }
        let choices: Vec<String> = if inside.contains(',') {
            inside.split(',').map(str::to_owned).collect()
        } else {
            vec![format!("{{{inside}}}")]
        };
        if texts.len() * choices.len() > MAX_BRACES {
            return Err(unusual());
        }
        texts = texts
            .iter()
            .flat_map(|text| {
                choices
                    .iter()
                    .map(move |choice| format!("{text}{before}{choice}"))
            })
            .collect();
        rest = after;
    }
    if rest.contains('}') {
        return Err(unusual());
    }
    let same = |text: String| Word {
        text: text + rest,
        ..word.clone()
    };
    let words: Vec<Word> = texts.into_iter().map(same).collect();
    // Empty ones are dropped, which moves the others.
    if words.iter().any(|word| word.text.is_empty()) {
        return Err(unusual());
    }
    Ok(words)
}

impl Word {
    /// Adds a character that stands for itself.
    fn push(&mut self, c: char) {
        // Arithmetic runs what looks like a substitution even where it was quoted.
        if c == '`' || (matches!(c, '(' | '{') && self.text.ends_with('$')) {
            self.code |= self.text.contains('[');
        }
        self.text.push(c);
    }

    /// Adds what is only known when the command runs.
    fn expand(&mut self, text: &str, quoted: bool) {
        self.open |= !quoted || self.text.is_empty();
        self.split |= !quoted;
        self.dynamic = true;
        self.text.push_str(text);
    }
}

impl Reader {
    pub(super) fn word(&mut self) -> Result<Word, Unread> {
        let mut word = Word::default();
        let start = self.at;
        let mut brace = false;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | ')' => break,
                '<' | '>' if self.is_process() => {
                    self.at += 2;
                    // It becomes the name of a file, whatever is printed.
                    let mut inside = Word::default();
                    self.substitution(&mut inside, true)?;
                    word.dynamic = true;
                    word.text.push_str("<(…)");
                }
                '<' | '>' => break,
                '(' => return Err("a parenthesis stands inside a word".to_owned()),
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
                    let first = self.at == start;
                    self.at += 1;
                    match c {
                        '*' | '?' | '[' => {
                            word.pattern = true;
                            word.split = true;
                            word.open |= word.text.is_empty();
                            // A pattern may stand for a hidden file only if it begins so.
                            word.hidden |= hidden(&word.text);
                        }
                        '{' => brace = true,
                        ',' if brace => word.braces = true,
                        '.' if brace && word.text.ends_with('.') => word.braces = true,
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
            }
        }
        Ok(word)
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

    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.after(1) == Some('(') => {
                return Err("it has arithmetic".to_owned());
            }
            Some('(') => {
                self.at += 1;
                self.substitution(word, quoted)?;
            }
            Some('{') => {
                self.at += 1;
                let mut inside = String::new();
                loop {
                    match self.next() {
                        Some('}') => break,
                        Some(c) if inside.len() < 200 => inside.push(c),
                        _ => return Err("it has an unusual `${…}`".to_owned()),
                    }
                }
                if !plain_expansion(&inside) {
                    return Err("it has an unusual `${…}`".to_owned());
                }
                word.expand(&format!("${{{inside}}}"), quoted);
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                let mut name = String::from("$");
                if c.is_ascii_alphabetic() || c == '_' {
                    while let Some(c) = self
                        .peek()
                        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                    {
                        name.push(c);
                        self.at += 1;
                    }
                } else {
                    name.push(c);
                    self.at += 1;
                }
                // In some shells an index, which is worked out.
                if self.peek() == Some('[') {
                    return Err("it has an index behind a variable".to_owned());
                }
                let single = !matches!(name.as_str(), "$@" | "$*");
                word.expand(&name, quoted && single);
            }
            // Then it stands for itself, in every shell.
            None
            | Some(' ' | '\t' | '\n' | '/' | '.' | ',' | '|' | ')' | '%' | ':' | ';' | '&') => {
                word.text.push('$');
            }
            Some('"') if quoted => word.text.push('$'),
            Some('\'') if quoted => word.text.push('$'),
            Some('\\') if quoted && self.after(1) != Some('\n') => word.text.push('$'),
            Some(c) => return Err(format!("it has an unusual `${c}`")),
        }
        Ok(())
    }

    /// The commands behind an opening parenthesis; what they print is not known.
    fn substitution(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unread> {
        let start = self.at;
        let depth = self.deeper()?;
        // Here documents of a substitution end inside it.
        let outer = std::mem::take(&mut self.pending);
        self.list(Some(')'))?;
        if !self.pending.is_empty() {
            return Err("a here document has no end".to_owned());
        }
        self.pending = outer;
        self.depth = depth;
        let inside: String = self
            .chars
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        let top = TOP.strip_prefix("$(") == Some(inside.as_str());
        if inside == "nproc)" {
            // A number, whatever happens.
            word.dynamic = true;
            word.text.push_str("$(nproc)");
            return Ok(());
        }
        word.expand(if top { TOP } else { "$(…)" }, quoted);
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
        let inner = commands(&inside, self.depth + 1)?;
        self.commands
            .extend(inner.into_iter().map(|command| (command, None)));
        word.expand("$(…)", quoted);
        Ok(())
    }
}

/// Whether a pattern that goes on here can stand for hidden files.
fn hidden(before: &str) -> bool {
    let last = before.rsplit('/').next().unwrap_or_default();
    last.starts_with('.')
}

/// `NAME`, `#NAME`, and `NAME` with a plain default or a plain pattern to cut off.
fn plain_expansion(inside: &str) -> bool {
    let name = inside.strip_prefix('#').unwrap_or(inside);
    if assignable(name) {
        return true;
    }
    let end = inside
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    let operator = [":-", "##", "#", "%%", "%"]
        .into_iter()
        .find_map(|operator| rest.strip_prefix(operator));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./*?-".contains(c);
    let digit = name.len() == 1 && name.chars().all(|c| c.is_ascii_digit());
    (assignable(name) || digit)
        && (rest.is_empty() || operator.is_some_and(|text| text.chars().all(plain)))
}
