//! YAML as it is recorded: the one form, beside JSON, in which servers write out records as text.
//!
//! Whoever writes into a record must not be able to hide anything by it. So only a
//! document that says all of its text in its values and names is taken apart; one
//! with comments, anchors, tags, two members of one name, or anything that a YAML reader
//! would leave out, is no record but a text.

use super::tree::Node;
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::borrow::Cow;
use std::collections::HashSet;

/// Longer texts are not tried. They are recorded whole, which is stricter.
const MAX_BYTES: usize = 1 << 20;
/// Deeper documents are not taken apart.
const MAX_DEPTH: usize = 32;

/// A list or mapping that is not closed yet.
enum Open<'t> {
    List(Vec<Node<'t>>),
    Map {
        members: Vec<(Cow<'t, str>, Node<'t>)>,
        names: HashSet<String>,
        /// The name that waits for its value.
        name: Option<Cow<'t, str>>,
    },
}

/// Reads a text that is one mapping or list in YAML, and nothing else. Linear in the text.
pub(super) fn parse(text: &str) -> Option<Node<'_>> {
    let records = text.contains(": ") || text.contains(":\n") || text.contains("- ");
    if !records || text.len() > MAX_BYTES {
        return None;
    }
    let mut unsaid = Unsaid::new(text);
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut root = None;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.ok()?;
        let done = match event {
            // Anchors are counted from one.
            Event::Scalar(text, style, 0, None) => {
                unsaid.value(span.start.index(), span.end.index(), style, &text)?;
                if let Some(Open::Map { names, name, .. }) = open.last_mut()
                    && name.is_none()
                {
                    if !names.insert(text.to_string()) {
                        return None;
                    }
                    *name = Some(text);
                    continue;
                }
                Node::Text(text)
            }
            Event::SequenceStart(0, None) | Event::MappingStart(0, None) => {
                let named = match open.last() {
                    Some(Open::Map { name, .. }) => name.is_some(),
                    _ => root.is_none(),
                };
                // A name that is no text, a second document, or too deep.
                if !named && !matches!(open.last(), Some(Open::List(_))) || open.len() >= MAX_DEPTH
                {
                    return None;
                }
                open.push(if matches!(event, Event::SequenceStart(..)) {
                    Open::List(Vec::new())
                } else {
                    Open::Map {
                        members: Vec::new(),
                        names: HashSet::new(),
                        name: None,
                    }
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(items) => Node::List(items),
                Open::Map { members, .. } => Node::Object(members),
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => continue,
            _ => return None,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map { members, name, .. }) => members.push((name.take()?, done)),
            None if root.is_none() && !matches!(done, Node::Text(_)) => root = Some(done),
            None => return None,
        }
    }
    unsaid.rest()?;
    root
}

/// Walks over what stands between the values.
struct Unsaid<'t> {
    chars: std::str::Chars<'t>,
    at: usize,
}

impl<'t> Unsaid<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            chars: text.chars(),
            at: 0,
        }
    }

    /// Whether a character says nothing between two values.
    fn is_mark(c: char) -> bool {
        c.is_whitespace() || "-:,[]{}?.|>+".contains(c)
    }

    /// Goes past a value, which stands where the parser says, in characters. `None` if
    /// something was said before it, or if it stands there with more than is its own:
    /// the parser counts comments behind some values to them.
    fn value(&mut self, start: usize, end: usize, style: ScalarStyle, said: &str) -> Option<()> {
        let gap = start.checked_sub(self.at)?;
        if !self.chars.by_ref().take(gap).all(Self::is_mark) {
            return None;
        }
        let mut written = self.chars.by_ref().take(end.checked_sub(start)?);
        let whole = if style == ScalarStyle::DoubleQuoted {
            // Escapes make it shorter than it was written, so it has to be followed to its end.
            written.find(|c| *c == '"')?;
            let mut escaped = false;
            let mut odd = false;
            written.find(|c| {
                // Letters that stand for what hardly anybody writes out: rather read as they are.
                odd |= escaped && "abevfNLP".contains(*c);
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            })?;
            written.all(char::is_whitespace) && !odd
        } else {
            let letters = said.chars().filter(|c| c.is_alphanumeric());
            let written = written.filter(|c| c.is_alphanumeric());
            written.eq(letters)
        };
        self.at = end;
        whole.then_some(())
    }

    fn rest(mut self) -> Option<()> {
        self.chars.all(Self::is_mark).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        fn show(node: &Node<'_>, out: &mut String) {
            match node {
                Node::Text(text) => out.push_str(&format!("{text:?}")),
                Node::List(items) => {
                    out.push('[');
                    items.iter().for_each(|item| show(item, out));
                    out.push(']');
                }
                Node::Object(members) => {
                    out.push('{');
                    for (name, member) in members {
                        out.push_str(&format!("{name}="));
                        show(member, out);
                    }
                    out.push('}');
                }
                _ => out.push('?'),
            }
        }
        let mut out = String::new();
        match parse(text) {
            Some(node) => show(&node, &mut out),
            None => out.push_str("text"),
        }
        out
    }

    #[test]
    fn records_are_taken_apart() {
        for (text, tree) in [
            ("a: b\nc: 1", r#"{a="b"c="1"}"#),
            (
                "- a: x@y.example\n  b: null\n- true",
                r#"[{a="x@y.example"b="null"}"true"]"#,
            ),
            ("a:\n- b\n- [c, {d: e}]\n", r#"{a=["b"["c"{d="e"}]]}"#),
            ("---\na: 'it''s'\n...\n", r#"{a="it's"}"#),
            (
                "a: \"tab\\t\\\n  \\ more\"\nb: ''",
                r#"{a="tab\t more"b=""}"#,
            ),
            ("a: two\n  lines\nb: x", r#"{a="two lines"b="x"}"#),
            ("é: ü ö\nb: 'ß'", r#"{é="ü ö"b="ß"}"#),
            ("a:\nb: ~", r#"{a=""b="~"}"#),
            (
                "a: |\n  two\n  lines\n\nb: >-\n  x\n  y\n",
                r#"{a="two\nlines\n"b="x y"}"#,
            ),
            ("a: \"q \\\\\"\nb: \"\\\" x\"  \n", r#"{a="q \\"b="\" x"}"#),
        ] {
            assert_eq!(shown(text), tree, "{text}");
        }
    }

    #[test]
    fn what_would_be_left_out_makes_it_a_text() {
        for text in [
            "",
            "plain",
            "Dear all: come to x@y.example.\nBest",
            "a: b # x@evil.example",
            "a: b\n# x@evil.example\nc: d",
            "# x@evil.example\na: b",
            "a: b\n# x@evil.example",
            "a: |\n  b\n# x@evil.example\nc: d",
            "a: \"b\" # evil",
            "a: 'b'# evil\nb: c",
            "a: | # evil\n  b\nc: d",
            "- a # evil\n- b",
            "[a, b # evil\n, c]: d",
            "a: [b, # evil\n c]",
            "a: &evil b\nc: d",
            "a: b\nc: *a",
            "a: &x b\nc: *x",
            "a: !evil b\nc: d",
            "%TAG ! tag:evil.example,2000:\n---\na: b",
            "a: b\na: c",
            "'a': b\na: c",
            "a: b\n---\nc: d",
            "a: b\n... evil",
            "{a: b}: c",
            "a: b: c",
            "a: b\n\tc: d\n x",
            "<<: {a: b}\n: x\n:: y",
        ] {
            let tree = shown(text);
            assert!(
                tree == "text" || tree.contains("evil") || !text.contains("evil"),
                "{text} {tree}"
            );
        }
        assert_eq!(shown("a: b # x@evil.example"), "text");
        assert_eq!(shown("a: b\na: c"), "text");
        assert_eq!(shown("a: b\n---\nc: d"), "text");
        assert_eq!(shown("a: &x b\nc: *x"), "text");
        assert_eq!(shown(&format!("a: {}", "[".repeat(5000))), "text");
        assert_eq!(shown(&"- ".repeat(5000)), "text");
        assert_eq!(shown(&format!("a: {}", "x".repeat(MAX_BYTES))), "text");
    }

    proptest! {
        /// Words stand in the tree as often as in the text, whatever is around them.
        #[test]
        fn nothing_is_left_out(parts in prop::collection::vec("(evil|a|b: |: |- |\n|\n  |\n- | # |#|'|\"|\\||>|\\[|\\]|, |\\{|\\}|&x |\\*x|!t |---|\\.\\.\\.|%|\\?|\\\\)", 1..24)) {
            let text = parts.concat();
            if parse(&text).is_some() {
                let tree = shown(&text);
                prop_assert_eq!(tree.matches("evil").count(), text.matches("evil").count(), "{} {}", text, tree);
            }
        }
    }
}
