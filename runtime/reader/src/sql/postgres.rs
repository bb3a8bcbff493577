//! A second reading by PostgreSQL's own grammar, as `squawk-parser` carries it.

use super::lexemes::Kind;
use super::{Second, Unreadable};
use squawk_parser::{EntryPoint, LexedStr, StrStep, SyntaxKind as K};

/// Reads `query`; refuses it where the grammar finds one error.
pub(super) fn read(query: &str) -> Result<Second, Unreadable> {
    let lexed = LexedStr::new(query);
    if lexed.errors().next().is_some() {
        return Err(Unreadable);
    }
    let output = EntryPoint::SourceFile.parse(&lexed.to_input());
    let mut walk = Walk::default();
    let whole = lexed.intersperse_trivia(&output, &mut |step| walk.step(&step));
    if !whole || walk.failed {
        return Err(Unreadable);
    }
    Ok(walk.second)
}

#[derive(Default)]
struct Walk {
    second: Second,
    /// The nodes that are open.
    open: Vec<K>,
    /// In bytes.
    at: usize,
    /// The name of a table that is being read, and how deep its node is.
    table: Option<(usize, Vec<String>)>,
    failed: bool,
}

impl Walk {
    fn step(&mut self, step: &StrStep<'_>) {
        match step {
            StrStep::Error { .. } => self.failed = true,
            StrStep::Enter { kind } => {
                if self.open.len() == 1 && *kind != K::EMPTY_STMT {
                    self.second.statements += 1;
                }
                if is_table(*kind) && self.table.is_none() {
                    self.table = Some((self.open.len(), Vec::new()));
                }
                self.open.push(*kind);
            }
            StrStep::Exit => {
                self.open.pop();
                if self
                    .table
                    .as_ref()
                    .is_some_and(|(depth, _)| *depth == self.open.len())
                    && let Some((_, parts)) = self.table.take()
                {
                    self.second.tables.insert(parts.join("."));
                }
            }
            StrStep::Token { kind, text } => {
                self.token(*kind, text);
                self.at += text.len();
            }
        }
    }

    fn token(&mut self, kind: K, text: &str) {
        let first = text.bytes().next().unwrap_or(0);
        let lexeme = match kind {
            K::WHITESPACE | K::COMMENT => return,
            K::STRING | K::ESC_STRING | K::BIT_STRING | K::BYTE_STRING | K::NATIONAL_STRING => {
                Kind::Text
            }
            K::DOLLAR_QUOTED_STRING | K::UNICODE_ESC_STRING => {
                self.failed = true;
                return;
            }
            K::INT_NUMBER if text.starts_with("0x") || text.starts_with("0X") => Kind::Text,
            _ if first == b'"' => Kind::Quoted,
            _ if first.is_ascii_alphabetic() || first == b'_' => Kind::Word,
            _ if first == b';' => Kind::Sign(b';'),
            _ => return,
        };
        self.second.marks.push((lexeme, self.at));
        if let (Some((_, parts)), true) = (&mut self.table, lexeme != Kind::Text) {
            if lexeme == Kind::Quoted {
                let inner = text.trim_matches('"').replace("\"\"", "\"");
                parts.push(inner.to_lowercase());
            } else if kind != K::ONLY_KW {
                parts.push(text.to_lowercase());
            }
        }
    }
}

const fn is_table(kind: K) -> bool {
    matches!(
        kind,
        K::RELATION_NAME_REF | K::TABLE_NAME_REF | K::TABLE_NAME
    )
}
