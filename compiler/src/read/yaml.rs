//! YAML text to [`Node`]s, from the parser's events.
//!
//! Built on events rather than on a ready-made tree, because a tree has lost what a
//! policy needs: the first of two equal keys, how a scalar was quoted, and where an
//! alias was used. Nothing here recurses on the file's nesting.

use super::node::{Node, Scalar, Value};
use crate::diagnostic::{Code, Diagnostic, Sink, Source, Span, escape, quote};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// The largest file, in bytes.
pub(crate) const MAX_BYTES: usize = 8 << 20;
/// The deepest nesting of lists and mappings.
const MAX_DEPTH: usize = 64;
/// How much aliases may add, in bytes of text plus [`NODE_WEIGHT`] for each node. With
/// clones of the anchored nodes this bounds memory and time.
const MAX_ALIASED: usize = 1 << 20;
/// How much anchored nodes may hold together, in the same measure: each is kept twice.
const MAX_ANCHORED: usize = 16 << 20;
/// The most nodes of one file.
const MAX_NODES: usize = 1_000_000;
/// What one aliased node counts.
const NODE_WEIGHT: usize = 32;

/// Reads `source`, which has the index `file`. `None` after an error that leaves
/// no tree; duplicate keys and tags are reported and skipped.
///
/// Takes linear time and memory.
pub(crate) fn read(file: u32, source: &Source, sink: &mut Sink) -> Option<Node> {
    if source.text.len() > MAX_BYTES {
        let message = format!(
            "the file has {} bytes, more than the limit of {MAX_BYTES}",
            source.text.len()
        );
        let help = "check that this is a policy; split it if it really is";
        sink.push(Diagnostic::new(Code::TOO_LARGE, Span::new(file, 0, 0), message).help(help));
        return None;
    }
    let mut builder = Builder {
        file,
        offsets: Offsets::new(&source.text),
        text: &source.text,
        sink,
        stack: Vec::new(),
        anchors: HashMap::new(),
        aliased: 0,
        anchored: 0,
        nodes: 0,
        root: None,
    };
    builder.run()
}

/// A list or mapping that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    kind: Kind,
    /// Bytes and nodes so far, see [`MAX_ALIASED`].
    weight: usize,
}

enum Kind {
    List(Vec<Node>),
    Map {
        entries: Vec<(Node, Node)>,
        /// The key that waits for its value.
        key: Option<Node>,
        /// Scalar keys so far, and where.
        seen: HashMap<String, Span>,
    },
}

struct Builder<'a, 's> {
    file: u32,
    text: &'a str,
    offsets: Offsets<'a>,
    sink: &'s mut Sink,
    stack: Vec<Open>,
    /// Closed anchors, with their weights. An anchor that is open is not in here.
    anchors: HashMap<usize, (Node, usize)>,
    aliased: usize,
    anchored: usize,
    nodes: usize,
    root: Option<Node>,
}

impl<'a> Builder<'a, '_> {
    fn run(&mut self) -> Option<Node> {
        let mut parser = Parser::new_from_str(self.text);
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    self.syntax_error(error.marker(), error.info());
                    return None;
                }
            };
            let start = self.offsets.byte(span.start.index());
            let end = self.offsets.byte(span.end.index());
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        let help =
                            "write one document a file; several files can be compiled together";
                        let span = self.span(start, end);
                        self.sink.push(
                            Diagnostic::new(
                                Code::SEVERAL_DOCUMENTS,
                                span,
                                "a second document starts here",
                            )
                            .help(help),
                        );
                        return None;
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.scalar(text, style, anchor, tag.as_deref(), start, end)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "seq", start, end);
                    self.open(start, anchor, Kind::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, tag) => {
                    self.check_tag(tag.as_deref(), "map", start, end);
                    let kind = Kind::Map {
                        entries: Vec::new(),
                        key: None,
                        seen: HashMap::new(),
                    };
                    self.open(start, anchor, kind)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(end)?,
                Event::Alias(anchor) => self.alias(anchor, start, end)?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        self.root.take()
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    fn scalar(
        &mut self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        start: usize,
        end: usize,
    ) -> Option<()> {
        let mut scalar = Scalar {
            text: text.into_owned(),
            quoted: style != ScalarStyle::Plain,
        };
        if let Some(tag) = tag {
            self.scalar_tag(tag, &mut scalar, start, end);
        }
        let end = self.trim(start, end, style);
        let weight = NODE_WEIGHT + scalar.text.len();
        let node = Node {
            span: self.span(start, end),
            value: Value::Scalar(scalar),
        };
        self.finished(node, anchor, weight)
    }

    /// Ends a scalar at its last character: the parser's end may lie behind the line
    /// breaks that follow a block.
    fn trim(&self, start: usize, end: usize, style: ScalarStyle) -> usize {
        if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
            return end;
        }
        self.text
            .get(start..end)
            .map_or(end, |text| start + text.trim_end().len())
    }

    fn scalar_tag(&mut self, tag: &Tag, scalar: &mut Scalar, start: usize, end: usize) {
        use super::node::Meaning;
        let fits = match core_tag(tag) {
            Some("str") => {
                scalar.quoted = true;
                true
            }
            Some("int") => {
                matches!(scalar.meaning(), Meaning::Number(n) if !n.contains(['.', 'e']))
            }
            Some("float") => matches!(scalar.meaning(), Meaning::Number(_)),
            Some("bool") => matches!(scalar.meaning(), Meaning::Bool(_)),
            Some("null") => matches!(scalar.meaning(), Meaning::Null),
            _ => false,
        };
        if !fits {
            self.bad_tag(tag, start, end);
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, expected: &str, start: usize, end: usize) {
        if let Some(tag) = tag.filter(|tag| core_tag(tag) != Some(expected)) {
            self.bad_tag(tag, start, end);
        }
    }

    fn bad_tag(&mut self, tag: &Tag, start: usize, end: usize) {
        let name = if tag.is_yaml_core_schema() {
            format!("!!{}", tag.suffix)
        } else {
            format!("{}{}", tag.handle, tag.suffix)
        };
        let message = format!("the tag {} means nothing here", quote(&name));
        let span = self.span(start, end);
        self.sink
            .push(Diagnostic::new(Code::TAG, span, message).help("remove the tag"));
    }

    fn open(&mut self, start: usize, anchor: usize, kind: Kind) -> Option<()> {
        if self.stack.len() >= MAX_DEPTH {
            let message = format!("lists and mappings are nested more than {MAX_DEPTH} deep");
            let span = self.span(start, start + 1);
            self.sink
                .push(Diagnostic::new(Code::TOO_DEEP, span, message).help("remove the nesting"));
            return None;
        }
        self.stack.push(Open {
            start,
            anchor,
            kind,
            weight: NODE_WEIGHT,
        });
        Some(())
    }

    fn close(&mut self, end: usize) -> Option<()> {
        let open = self.stack.pop()?;
        let value = match open.kind {
            Kind::List(items) => Value::List(items),
            Kind::Map { entries, .. } => Value::Map(entries),
        };
        // A block collection ends where the next token starts; its last character is
        // that of its last child.
        let end = self
            .text
            .get(open.start..end)
            .map_or(end, |text| open.start + text.trim_end().len());
        let node = Node {
            span: self.span(open.start, end),
            value,
        };
        self.finished(node, open.anchor, open.weight)
    }

    fn alias(&mut self, anchor: usize, start: usize, end: usize) -> Option<()> {
        let span = self.span(start, end);
        let Some((node, weight)) = self.anchors.get(&anchor) else {
            let message = "the alias stands inside the node it refers to";
            self.sink.push(
                Diagnostic::new(Code::ALIAS, span, message).help("write the repeated part out"),
            );
            return None;
        };
        self.aliased = self.aliased.saturating_add(*weight);
        if self.aliased > MAX_ALIASED {
            let message = "aliases repeat more text than a policy may have";
            let help = "write the repeated part out, or use `lists:` of a native policy";
            self.sink
                .push(Diagnostic::new(Code::ALIAS, span, message).help(help));
            return None;
        }
        let (node, weight) = (node.clone(), *weight);
        self.finished(node, 0, weight)
    }

    /// Puts a complete node where it belongs.
    fn finished(&mut self, node: Node, anchor: usize, weight: usize) -> Option<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values");
            let help = "check that this is a policy; split it if it really is";
            self.sink
                .push(Diagnostic::new(Code::TOO_LARGE, node.span, message).help(help));
            return None;
        }
        if anchor != 0 {
            self.anchored = self.anchored.saturating_add(weight);
            if self.anchored > MAX_ANCHORED {
                let message = "anchors hold more text than a policy may have";
                self.sink.push(
                    Diagnostic::new(Code::ALIAS, node.span, message)
                        .help("remove the anchors that no alias uses"),
                );
                return None;
            }
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        open.weight = open.weight.saturating_add(weight);
        match &mut open.kind {
            Kind::List(items) => items.push(node),
            Kind::Map { entries, key, seen } => match key.take() {
                None => *key = Some(node),
                Some(key) => {
                    let twice =
                        scalar_key(&key).and_then(|name| seen.insert(name.to_owned(), key.span));
                    match twice {
                        Some(first) => {
                            let name = scalar_key(&key).unwrap_or_default();
                            self.sink.push(duplicate(name, first, key.span));
                        }
                        None => entries.push((key, node)),
                    }
                }
            },
        }
        Some(())
    }

    fn syntax_error(&mut self, at: &Marker, info: &str) {
        let start = self.offsets.byte(at.index());
        let width = self
            .text
            .get(start..)
            .and_then(|rest| rest.chars().next())
            .filter(|c| *c != '\n')
            .map_or(0, char::len_utf8);
        let span = self.span(start, start + width);
        let line_start = self
            .text
            .get(..start)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |n| n + 1);
        let tab = self
            .text
            .get(line_start..)
            .and_then(|rest| rest.lines().next())
            .is_some_and(|line| line.trim_start_matches(' ').starts_with('\t'));
        let message = format!("this is not valid YAML: {}", escape(info));
        let error = Diagnostic::new(Code::SYNTAX, span, message);
        if let Some((sign, text)) = self.bare_sign(start).filter(|_| !tab) {
            let quoted = self.span(start, start + text.len());
            let help = format!("a text that begins with {sign:?} has to be quoted");
            let error = error.help(help).suggest(quoted, format!("\"{text}\""));
            return self.sink.push(error);
        }
        let help = if tab {
            "YAML does not allow tabs for indentation: use spaces"
        } else if ["expected key", "expected '-' indicator"]
            .iter()
            .any(|missed| info.contains(missed))
        {
            "indent this line as far as the lines that it belongs beside; else look for an open bracket or quote at or above this place"
        } else {
            "look for an open bracket or quote, a missing space after `:`, or uneven indentation at or above this place"
        };
        self.sink.push(error.help(help));
    }

    /// The plain text that begins at `start` with a sign that means something else to YAML, as
    /// `*` in a pattern does.
    fn bare_sign(&self, start: usize) -> Option<(char, &'a str)> {
        let rest = self.text.get(start..)?;
        let sign = rest.chars().next()?;
        if !"*&@%`".contains(sign) {
            return None;
        }
        let line = rest.lines().next()?;
        let line = line.split(" #").next()?;
        // In a list or a mapping within brackets it ends where the next entry begins.
        let before = self.text.get(..start)?;
        let before = before.rsplit('\n').next()?;
        let inside = before.matches(['[', '{']).count() > before.matches([']', '}']).count();
        let end = line.find([',', ']', '}']).filter(|_| inside);
        let text = line.get(..end.unwrap_or(line.len()))?.trim_end();
        (!text.contains(['"', '\\'])).then_some((sign, text))
    }
}

/// The text of a scalar key. Two keys with the same text count as equal even if one
/// is quoted: `1` and `"1"` in one mapping are a trap for the reader.
fn scalar_key(key: &Node) -> Option<&str> {
    match &key.value {
        Value::Scalar(scalar) => Some(&scalar.text),
        _ => None,
    }
}

fn duplicate(name: &str, first: Span, second: Span) -> Diagnostic {
    let message = format!("the key {} stands twice in this mapping", quote(name));
    Diagnostic::new(Code::DUPLICATE_KEY, second, message)
        .here("and again here")
        .also(first, "first here")
        .help("join the two entries, or rename one")
}

/// The suffix of a tag of YAML's own, such as `str`.
fn core_tag(tag: &Tag) -> Option<&str> {
    tag.is_yaml_core_schema().then_some(tag.suffix.as_str())
}

/// Turns the parser's character counts into bytes.
struct Offsets<'a> {
    text: &'a str,
    /// The byte offset of every 64th character; empty if the text is ASCII.
    marks: Vec<u32>,
    chars: usize,
}

impl<'a> Offsets<'a> {
    const STEP: usize = 64;

    fn new(text: &'a str) -> Self {
        let mut offsets = Self {
            text,
            marks: Vec::new(),
            chars: 0,
        };
        if !text.is_ascii() {
            for (at, _) in text.char_indices() {
                if offsets.chars.is_multiple_of(Self::STEP) {
                    offsets.marks.push(u32::try_from(at).unwrap_or(u32::MAX));
                }
                offsets.chars += 1;
            }
        }
        offsets
    }

    /// The byte at which the character with the number `index` starts.
    fn byte(&self, index: usize) -> usize {
        if self.marks.is_empty() {
            return index.min(self.text.len());
        }
        let Some(&mark) = self.marks.get(index / Self::STEP) else {
            return self.text.len();
        };
        self.text
            .get(mark as usize..)
            .and_then(|rest| rest.char_indices().nth(index % Self::STEP))
            .map_or(self.text.len(), |(at, _)| mark as usize + at)
    }
}
