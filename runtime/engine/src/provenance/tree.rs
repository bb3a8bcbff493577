//! JSON as it is recorded: every member (duplicates too) and every number as spelt.
//!
//! The reader is lenient where nothing gets lost by it: whatever it accepts, all of
//! the text's strings, names and numbers are in the tree.

use serde_json::Value;
use std::borrow::Cow;

/// Deeper values are not looked into.
pub(super) const MAX_DEPTH: usize = 126;

/// One JSON value.
#[derive(Debug, PartialEq)]
pub(super) enum Node<'t> {
    Text(Cow<'t, str>),
    Number(Cow<'t, str>),
    /// `true`, `false`, `null`: nothing that could be a destination.
    Nothing,
    List(Vec<Node<'t>>),
    Object(Vec<(Cow<'t, str>, Node<'t>)>),
    TooDeep,
}

impl<'t> Node<'t> {
    /// A parsed value.
    pub(super) fn of(value: &'t Value) -> Self {
        Self::at_depth(value, 0)
    }

    fn at_depth(value: &'t Value, depth: usize) -> Self {
        match value {
            Value::Null | Value::Bool(_) => Self::Nothing,
            Value::Number(number) => Self::Number(Cow::Owned(number.to_string())),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => Self::TooDeep,
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::at_depth(item, depth + 1))
                    .collect(),
            ),
            Value::Object(members) => Self::Object(
                members
                    .iter()
                    .map(|(key, member)| {
                        (
                            Cow::Borrowed(key.as_str()),
                            Self::at_depth(member, depth + 1),
                        )
                    })
                    .collect(),
            ),
        }
    }

    /// A text that is one JSON object or array, and nothing else.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let mut reader = Reader { text, at: 0 };
        let node = reader.value(0)?;
        (reader.at == text.len()).then_some(node)
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<Node<'t>> {
        match self.peek()? {
            b'"' => self.string().map(Node::Text),
            b'{' | b'[' if depth >= MAX_DEPTH => None,
            b'{' => {
                let mut members = Vec::new();
                self.list(b'}', |reader| {
                    let key = reader.string()?;
                    reader.eat(b':')?;
                    members.push((key, reader.value(depth + 1)?));
                    Some(())
                })?;
                Some(Node::Object(members))
            }
            b'[' => {
                let mut items = Vec::new();
                self.list(b']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Node::List(items))
            }
            _ => {
                let rest = self.text.get(self.at..)?;
                let len = rest
                    .bytes()
                    .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')))
                    .unwrap_or(rest.len());
                let word = rest.get(..len)?;
                self.at += len;
                match word {
                    "true" | "false" | "null" => Some(Node::Nothing),
                    _ => word
                        .parse::<f64>()
                        .is_ok_and(|_| word.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
                        .then_some(Node::Number(Cow::Borrowed(word))),
                }
            }
        }
    }

    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            if self.eat(close).is_some() {
                return Some(());
            }
            self.eat(b',')?;
        }
    }

    fn string(&mut self) -> Option<Cow<'t, str>> {
        self.eat(b'"')?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let inside = self.text.get(start..self.at)?;
        self.at += 1;
        if !inside.contains('\\') {
            return Some(Cow::Borrowed(inside));
        }
        let quoted = self.text.get(start - 1..self.at)?;
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_and_numbers_survive() {
        let node = Node::parse(r#" {"a":1e400,"a":[12345678901234567890123,null,"x\u0040y"]} "#);
        let Some(Node::Object(members)) = node else {
            panic!("an object");
        };
        assert_eq!(members[0].1, Node::Number("1e400".into()));
        let Node::List(items) = &members[1].1 else {
            panic!("a list");
        };
        assert_eq!(items[0], Node::Number("12345678901234567890123".into()));
        assert_eq!(items[2], Node::Text("x@y".into()));
    }

    #[test]
    fn anything_else_is_not_json() {
        for text in [
            "",
            "x",
            "\"x\"",
            "5",
            "{",
            "{}x",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "[tru]",
            "[inf]",
            "[\"\\ud800\"]",
            "[\"\\",
            "[\"",
            "{,}",
            "[1 2]",
        ] {
            assert_eq!(Node::parse(text), None, "{text}");
        }
        assert!(Node::parse(&"[".repeat(100_000)).is_none());
        assert!(Node::parse("[]").is_some() && Node::parse("{}").is_some());
    }
}
