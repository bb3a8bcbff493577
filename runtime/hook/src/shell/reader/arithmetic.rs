//! Arithmetic: `$((…))` and `((…))`. Shells work out what stands in variables as well, and
//! some run what they find there, so the names are kept.

use super::{Reader, Unread};
use crate::shell::{Simple, Word};

/// What an expression holds.
#[derive(Default)]
struct Expression {
    /// Variables that are worked out.
    names: Vec<String>,
    /// Variables that become numbers.
    set: Vec<String>,
}

impl Reader {
    /// `$((…))`, behind the dollar sign.
    pub(super) fn arithmetic(&mut self, word: &mut Word) -> Result<(), Unread> {
        let start = self.at;
        self.at += 2;
        let found = self.expression()?;
        word.worked_out.extend(found.names);
        for name in found.set {
            self.assigned(&name);
        }
        let text = self.since(start);
        // It becomes a number, whatever happens.
        word.one(&format!("${text}"));
        Ok(())
    }

    /// `((…))`. If it does not end in `))` it is two subshells, and nothing was taken.
    pub(super) fn arithmetic_command(&mut self, piped: bool) -> Result<bool, Unread> {
        if !self.closes_twice() {
            return Ok(false);
        }
        self.at += 2;
        let found = self.expression()?;
        let word = Word {
            text: "((".to_owned(),
            worked_out: found.names,
            ..Word::default()
        };
        let command = Simple {
            words: vec![word],
            piped,
            ..Simple::default()
        };
        self.commands.push((command, None));
        for name in found.set {
            self.assigned(&name);
        }
        Ok(true)
    }

    /// A variable becomes a number.
    fn assigned(&mut self, name: &str) {
        let word = Word {
            text: format!("{name}=$((…))"),
            dynamic: true,
            opaque: true,
            ..Word::default()
        };
        let command = Simple {
            words: vec![word],
            looped: true,
            ..Simple::default()
        };
        self.commands.push((command, None));
    }

    /// Whether two parentheses close together what two opened.
    fn closes_twice(&self) -> bool {
        let mut depth = 0_usize;
        let rest = self.chars.get(self.at..).unwrap_or_default();
        for (at, c) in rest.iter().enumerate() {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    if depth == 1 {
                        return rest.get(at + 1) == Some(&')');
                    }
                    if depth == 0 {
                        return false;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// An expression, and the two parentheses that close it.
    fn expression(&mut self) -> Result<Expression, Unread> {
        let unusual = || "it has unusual arithmetic".to_owned();
        let mut found = Expression::default();
        let mut depth = 0_usize;
        loop {
            let c = self.peek().ok_or_else(unusual)?;
            match c {
                ')' if depth == 0 => {
                    return if self.eat("))") {
                        Ok(found)
                    } else {
                        Err(unusual())
                    };
                }
                ')' => depth -= 1,
                '(' => depth += 1,
                '$' => {
                    let mut inside = Word::default();
                    self.dollar(&mut inside, true)?;
                    let number = matches!(inside.text.as_str(), "$#" | "$?" | "$$" | "$!");
                    found.names.extend(inside.worked_out);
                    let named = inside.variables.first().map(|var| var.name.clone());
                    let known = inside.text.starts_with("${#")
                        || inside.text.starts_with("$((")
                        || inside.text == super::words::NUMBER
                        || number;
                    match named {
                        Some(name) => found.names.push(name),
                        None if known => {}
                        None => return Err(unusual()),
                    }
                    continue;
                }
                '0'..='9' => {
                    // `16#ff`, `0x1f`.
                    while self
                        .peek()
                        .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '#' | '.'))
                    {
                        self.at += 1;
                    }
                    continue;
                }
                'a'..='z' | 'A'..='Z' | '_' => {
                    self.name(&mut found);
                    continue;
                }
                ' ' | '\t' | '\n' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&'
                | '|' | '^' | '~' | '?' | ':' | ',' | ';' => {}
                _ => return Err(unusual()),
            }
            self.at += 1;
        }
    }

    /// A variable, and whether it is set.
    fn name(&mut self, found: &mut Expression) {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            self.at += 1;
        }
        let name = self.since(start);
        let stepped = |at: usize, sign: char| {
            let two = self.chars.get(at..at + 2).unwrap_or_default();
            two.iter().all(|c| *c == sign) && two.len() == 2
        };
        let before = start
            .checked_sub(2)
            .is_some_and(|at| stepped(at, '+') || stepped(at, '-'));
        let rest: String = self
            .chars
            .get(self.at..)
            .unwrap_or_default()
            .iter()
            .skip_while(|c| c.is_whitespace())
            .take(4)
            .collect();
        let operator = rest.trim_start_matches(['+', '-', '*', '/', '%', '<', '>', '&', '^', '|']);
        let compares = operator.starts_with("==")
            || (rest.starts_with(['<', '>'])
                && !rest.starts_with("<<=")
                && !rest.starts_with(">>="));
        let sets = operator.starts_with('=') && !compares;
        if before || sets || rest.starts_with("++") || rest.starts_with("--") {
            found.set.push(name.clone());
        }
        let plain = rest.starts_with('=') && !rest.starts_with("==");
        if !plain {
            found.names.push(name);
        }
    }
}
