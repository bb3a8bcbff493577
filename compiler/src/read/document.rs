//! YAML with positions for files that are no policies, such as the tests beside them: the
//! same reader, with its refusals of duplicate keys and alias bombs.

use super::node::{Meaning, Node, Value};
use super::yaml;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Sink, SourceMap, Span};
use crate::policy::Pos;
use std::fmt::Write as _;

/// A YAML file.
#[derive(Debug)]
pub struct Document {
    root: Node,
    sources: SourceMap,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not YAML, or not YAML that a policy could be written in.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostics> {
        let mut sources = SourceMap::default();
        let mut sink = Sink::default();
        let file = sources.add(name, text);
        let source = sources.file(file);
        let root = source.and_then(|source| yaml::read(file, source, &mut sink));
        if let Some(root) = root
            && sink.errors() == 0
        {
            return Ok(Self { root, sources });
        }
        if sink.errors() == 0 {
            sink.push(Diagnostic::new(
                Code::EMPTY,
                Span::new(file, 0, 0),
                "the file is empty",
            ));
        }
        Err(sink.finish(sources))
    }

    /// The whole file.
    #[must_use]
    pub fn root(&self) -> Item<'_> {
        Item {
            node: &self.root,
            sources: &self.sources,
        }
    }
}

/// A node of a [`Document`].
#[derive(Clone, Copy, Debug)]
pub struct Item<'d> {
    node: &'d Node,
    sources: &'d SourceMap,
}

impl<'d> Item<'d> {
    const fn of(self, node: &'d Node) -> Self {
        Self {
            node,
            sources: self.sources,
        }
    }

    /// The entries of a mapping; keys that are not text are left out.
    #[must_use]
    pub fn entries(self) -> Option<Vec<(&'d str, Self)>> {
        let entries = self.node.as_map()?.iter();
        let named = entries.filter_map(|(key, value)| Some((key.as_text()?, self.of(value))));
        Some(named.collect())
    }

    /// The items of a list.
    #[must_use]
    pub fn items(self) -> Option<Vec<Self>> {
        match &self.node.value {
            Value::List(items) => Some(items.iter().map(|node| self.of(node)).collect()),
            _ => None,
        }
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> Option<&'d str> {
        self.node.as_text()
    }

    /// `true` or `false`.
    #[must_use]
    pub fn bool(self) -> Option<bool> {
        match &self.node.value {
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Bool(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn pos(self) -> Pos {
        self.sources.pos(self.node.span)
    }

    /// The same as JSON. Numbers keep their spelling; what JSON does not have is a text.
    #[must_use]
    pub fn json(self) -> String {
        let mut out = String::new();
        write(self.node, &mut out);
        out
    }
}

fn write(node: &Node, out: &mut String) {
    match &node.value {
        Value::Scalar(scalar) => match scalar.meaning() {
            Meaning::Null => out.push_str("null"),
            Meaning::Bool(value) => {
                // Writing to a string does not fail.
                let _ = write!(out, "{value}");
            }
            Meaning::Number(number) => out.push_str(&number),
            Meaning::Text(text) => push_text(text, out),
            Meaning::NotFinite => push_text(&scalar.text, out),
        },
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                match &key.value {
                    Value::Scalar(scalar) => push_text(&scalar.text, out),
                    _ => push_text("?", out),
                }
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn push_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_becomes_json() {
        let text = "a: 1e2\nb: [yes, 'x\"', null, 1.50]\nc: {d: true}\n2: z\n";
        let document = Document::parse("t.yaml", text).unwrap();
        assert_eq!(
            document.root().json(),
            r#"{"a":1e2,"b":["yes","x\"",null,1.50],"c":{"d":true},"2":"z"}"#
        );
        let entries = document.root().entries().unwrap();
        assert_eq!(entries[1].1.items().unwrap()[1].pos().line, 2);
        assert!(Document::parse("t.yaml", "a: 1\na: 2\n").is_err());
        assert!(Document::parse("t.yaml", "").is_err());
    }
}
