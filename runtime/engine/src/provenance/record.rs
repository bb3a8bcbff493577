//! Takes a result apart into pieces: which text, from which field, with which label.
//!
//! Knows how MCP lays out results; it does not know how pieces are kept or compared.

use super::decode;
use super::echo::Echo;
use super::labels::{Cursor, OutputLabels};
use super::store::Mark;
use super::tree::Node;
use super::{Provenance, Tokens};
use bouncer_plan::Label;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Longer paths are cut: they serve to tell a human where a value came from.
const MAX_FIELD_BYTES: usize = 200;
/// Much longer names are cut inside a path.
const MAX_STEP_BYTES: usize = 64;
/// How much of each of two neighbours a value that is split between them can take.
const SEAM_BYTES: usize = 1024;
/// So many names of members are remembered while one result is taken apart.
const MAX_NAMES: usize = 1024;
/// Joined neighbours are recorded in pieces of about this size.
const MAX_JOINED_BYTES: usize = 256 * 1024;

/// Records one result.
pub(super) struct Recorder<'p> {
    into: &'p mut Provenance,
    name: u32,
    call: u64,
    field: String,
    /// What the tool's calls carried.
    echo: Option<&'p Echo>,
    /// Names of members that are kept already: a table has the same ones in each row.
    names: HashMap<Box<str>, Label>,
    /// When they were kept, see [`Provenance::epoch`].
    epoch: (u64, usize),
}

impl<'p> Recorder<'p> {
    pub(super) fn new(
        into: &'p mut Provenance,
        name: u32,
        call: u64,
        echo: Option<&'p Echo>,
    ) -> Self {
        Self {
            into,
            name,
            call,
            echo,
            field: String::new(),
            names: HashMap::new(),
            epoch: (0, 0),
        }
    }

    /// Records everything that a `result`, an `error` or a request's `params` says.
    pub(super) fn result(&mut self, labels: &OutputLabels, result: &Value) {
        let Value::Object(members) = result else {
            let label = labels.strictest();
            return self.leaves(label, result);
        };
        let floor = wire_floor(members);
        let error = OutputLabels::all(Label::Untrusted);
        // A text beside structured content only says the same once more, or, where the
        // structured content is a text as well, is not the server's record at all.
        let repeats = !matches!(members.get("structuredContent"), None | Some(Value::Null));
        let text_floor = if repeats {
            floor.max(Label::Observed)
        } else {
            floor
        };
        // A contract speaks of what a tool returns, not of how it fails.
        let labels = if is_error(members) { &error } else { labels };
        for (key, member) in members {
            self.within(key, |this| match (key.as_str(), member) {
                ("structuredContent", _) => {
                    let mut cursor = Cursor::new(labels, floor);
                    this.walk(&mut cursor, &Node::of(member), true);
                }
                ("content", Value::Array(blocks)) => this.blocks(labels, text_floor, blocks),
                ("content", Value::Object(block)) => {
                    this.block(labels, text_floor, block);
                }
                ("contents", Value::Array(contents)) => {
                    for (at, contents) in contents.iter().enumerate() {
                        this.within_index(at, |this| this.resource(labels, floor, contents));
                    }
                }
                ("messages", Value::Array(messages)) => {
                    for (at, message) in messages.iter().enumerate() {
                        this.within_index(at, |this| this.message(labels, floor, message));
                    }
                }
                ("isError" | "_meta" | "task" | "code" | "message" | "data" | "role", _) => {
                    this.leaves(Label::Untrusted, member);
                }
                _ => {
                    this.name(key, Label::Untrusted);
                    this.leaves(Label::Untrusted, member);
                }
            });
        }
    }

    /// Records every leaf of something that a server says of itself.
    pub(super) fn said(&mut self, of: &str, said: &Value) {
        let leaves = |this: &mut Self| this.leaves(Label::Observed, said);
        if of.is_empty() {
            leaves(self);
        } else {
            self.within(of, leaves);
        }
    }

    fn message(&mut self, labels: &OutputLabels, floor: Label, message: &Value) {
        let Value::Object(members) = message else {
            return self.leaves(Label::Untrusted, message);
        };
        for (key, member) in members {
            self.within(key, |this| match (key.as_str(), member) {
                ("content", Value::Array(blocks)) => this.blocks(labels, floor, blocks),
                ("content", Value::Object(block)) => {
                    this.block(labels, floor, block);
                }
                _ => this.leaves(Label::Untrusted, member),
            });
        }
    }

    fn blocks(&mut self, labels: &OutputLabels, floor: Label, blocks: &[Value]) {
        let mut texts = Vec::new();
        // Of several blocks nobody can say which one is the tool's own record.
        let whole = labels.flattened(Label::Trusted);
        let labels = if blocks.len() > 1 { &whole } else { labels };
        for (at, block) in blocks.iter().enumerate() {
            self.within_index(at, |this| match block {
                Value::Object(block) => texts.extend(this.block(labels, floor, block)),
                other => this.leaves(labels.strictest().max(floor), other),
            });
        }
        // The agent reads one block after the other, as one text.
        let label = texts.iter().map(|(_, label)| *label).max();
        if let Some(label) = label
            && texts.len() > 1
        {
            self.joined(texts.iter().map(|(text, _)| *text), label, Tokens::Kept);
        }
    }

    /// Records a content block. Returns its text where that was recorded as it is.
    fn block<'v>(
        &mut self,
        labels: &OutputLabels,
        floor: Label,
        block: &'v Map<String, Value>,
    ) -> Option<(&'v str, Label)> {
        let floor = floor.max(wire_floor(block));
        let strict = labels.strictest().max(floor);
        let kind = block.get("type").and_then(Value::as_str);
        let mut plain = None;
        for (key, member) in block {
            self.within(key, |this| match (kind, key.as_str(), member) {
                (Some("text"), "text", Value::String(text)) => {
                    if this.document(labels, floor, text) {
                        plain = Some((text.as_str(), strict));
                    }
                }
                (Some("resource"), "resource", _) => this.resource(labels, floor, member),
                (Some("image" | "audio"), "data", Value::String(data)) => {
                    this.blob(labels, floor, data);
                }
                (_, "_meta", _) => this.leaves(Label::Untrusted, member),
                (Some("text" | "resource" | "resource_link" | "image" | "audio"), "type", _) => {}
                (
                    _,
                    "text" | "data" | "mimeType" | "annotations" | "resource" | "uri" | "name"
                    | "title" | "description" | "size" | "icons",
                    _,
                ) => this.leaves(strict, member),
                _ => {
                    this.name(key, strict);
                    this.leaves(strict, member);
                }
            });
        }
        plain
    }

    /// Records the contents of one resource.
    ///
    /// A resource is a document that the tool passes on, not its own record: field labels
    /// do not reach into it.
    fn resource(&mut self, labels: &OutputLabels, floor: Label, contents: &Value) {
        let strict = labels.strictest().max(floor);
        let labels = &labels.flattened(floor);
        let Value::Object(members) = contents else {
            return self.leaves(strict, contents);
        };
        let floor = floor.max(wire_floor(members));
        for (key, member) in members {
            self.within(key, |this| match (key.as_str(), member) {
                ("text", Value::String(text)) => {
                    this.document(labels, floor, text);
                }
                ("blob", Value::String(data)) => this.blob(labels, floor, data),
                ("_meta", _) => this.leaves(Label::Untrusted, member),
                _ => this.leaves(strict.max(floor), member),
            });
        }
    }

    /// Records base64 data where it is text; what is not even base64 is text itself.
    fn blob(&mut self, labels: &OutputLabels, floor: Label, data: &str) {
        match decode::base64(data) {
            Some(_) => {
                if let Some(text) = decode::base64_text(data) {
                    self.document(labels, floor, &text);
                }
            }
            None => {
                self.document(labels, floor, data);
            }
        }
    }

    /// Records a text that stands for the whole output. JSON is taken apart into
    /// fields, so that the copy of the structured content which servers have to send
    /// along is labelled as that is. Nothing is lost by not keeping such a text as it
    /// is but what spans JSON's own punctuation, which no destination does. Any other
    /// text cannot be told apart and has the strictest label of the output.
    /// In prose nothing is a field, whatever it looks like.
    /// Returns whether the text was recorded as it is.
    fn document(&mut self, labels: &OutputLabels, floor: Label, text: &str) -> bool {
        let prose = labels.prose.then(|| labels.flattened(floor));
        let labels = prose.as_ref().unwrap_or(labels);
        if let Some(node) = Node::parse(text) {
            let mut cursor = Cursor::new(labels, floor);
            self.walk(&mut cursor, &node, true);
            return false;
        }
        if let Some(node) = records(labels, text) {
            // Whoever writes a text may also write one that looks like this, where the
            // server puts its answer together line by line. So it never vouches.
            let mut cursor = Cursor::new(labels, floor.max(Label::Observed));
            self.walk(&mut cursor, &node, true);
            return false;
        }
        self.piece(text, labels.strictest().max(floor), Tokens::Kept);
        if labels.any_private() {
            // A text that cannot be told apart: each of its lines and words may be private.
            let mark = self.mark();
            for word in text.split_whitespace() {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                self.into.keep_private(&mark, word);
            }
        }
        true
    }

    /// Records all leaves of a value alike.
    fn leaves(&mut self, label: Label, value: &Value) {
        let labels = OutputLabels::all(label);
        self.walk(&mut Cursor::new(&labels, label), &Node::of(value), false);
    }

    fn walk(&mut self, cursor: &mut Cursor<'_>, node: &Node<'_>, root: bool) {
        match node {
            Node::Nothing => {}
            Node::TooDeep => self.into.note_dropped(1),
            Node::Text(text) => {
                let label = match root {
                    true => cursor.label(),
                    false => cursor.label_of(text),
                };
                self.piece(text, label, Tokens::Kept);
                self.private(cursor, text);
            }
            Node::Number(number) => {
                self.piece(number, cursor.label(), Tokens::Kept);
                self.private(cursor, number);
                // An account number that the parser took for a float.
                if let Ok(value) = number.parse::<f64>()
                    && value.fract() == 0.0
                    && (1e15..1e40).contains(&value)
                    && number.contains(['e', 'E', '.'])
                {
                    self.piece(&format!("{value:.0}"), cursor.label(), Tokens::Kept);
                }
            }
            Node::List(items) => {
                let mut label = Label::Trusted;
                for (at, item) in items.iter().enumerate() {
                    cursor.enter_index(at);
                    label = label.max(match item {
                        Node::Text(text) => cursor.label_of(text),
                        _ => cursor.label(),
                    });
                    self.within_index(at, |this| this.walk(cursor, item, false));
                    cursor.leave();
                }
                let texts = || {
                    items.iter().filter_map(|item| match item {
                        Node::Text(text) | Node::Number(text) => Some(text.as_ref()),
                        _ => None,
                    })
                };
                if texts().nth(1).is_some() {
                    self.joined(texts(), label, Tokens::Skipped);
                }
            }
            Node::Object(members) => {
                let wrapper = root && members.len() == 1;
                for (key, member) in members {
                    self.name(key, cursor.label_of_key(key));
                    cursor.enter_key(key, wrapper && key == "result");
                    self.within(key, |this| this.walk(cursor, member, false));
                    cursor.leave();
                }
            }
        }
    }

    /// Records the name of a member of the object at this place. Names never vouch: a record
    /// is often kept under the name of whoever it is about, which he chose.
    fn name(&mut self, key: &str, label: Label) {
        let label = label.max(Label::Observed);
        if self.epoch != self.into.epoch() {
            self.epoch = self.into.epoch();
            self.names.clear();
        }
        if self.names.get(key) == Some(&label) {
            return;
        }
        let len = self.field.len();
        self.field.push_str(" (name)");
        self.piece(key, label, Tokens::Kept);
        self.field.truncate(len);
        if self.names.len() < MAX_NAMES {
            self.names.insert(key.into(), label);
        }
    }

    /// Records what stands where neighbours meet. Never vouches: no leaf says it.
    fn joined<'t>(&mut self, parts: impl Iterator<Item = &'t str>, label: Label, tokens: Tokens) {
        if label == Label::Trusted {
            return;
        }
        let len = self.field.len();
        self.field.push_str("[*]");
        let mut text = String::new();
        for part in parts {
            if text.len() > MAX_JOINED_BYTES {
                self.piece(&text, label, tokens);
                // What is split between this piece and the next stands in both.
                let tail = text.ceil_char_boundary(text.len() - SEAM_BYTES);
                text.drain(..tail);
            }
            if part.len() <= 2 * SEAM_BYTES {
                text.push_str(part);
            } else {
                let head = part.floor_char_boundary(SEAM_BYTES);
                let tail = part.ceil_char_boundary(part.len() - SEAM_BYTES);
                text.push_str(part.get(..head).unwrap_or_default());
                text.push('\n');
                text.push_str(part.get(tail..).unwrap_or_default());
            }
        }
        self.piece(&text, label, tokens);
        self.field.truncate(len);
    }

    fn piece(&mut self, text: &str, label: Label, tokens: Tokens) {
        let repeats = |echo: &Echo| echo.carried(text);
        if text.is_empty() || (label == Label::Trusted && self.echo.is_some_and(repeats)) {
            return;
        }
        let mark = self.mark();
        self.into.keep(&mark, text, label, tokens, 0);
    }

    /// Keeps a leaf that is private.
    fn private(&mut self, cursor: &Cursor<'_>, leaf: &str) {
        if cursor.is_private() {
            let mark = self.mark();
            self.into.keep_private(&mark, leaf);
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            name: self.name,
            call: self.call,
            time: self.into.time,
            field: self.field.as_str().into(),
        }
    }

    fn within(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        let len = self.field.len();
        if len < MAX_FIELD_BYTES {
            if len > 0 {
                self.field.push('.');
            }
            let cut = key.floor_char_boundary(MAX_STEP_BYTES);
            self.field.push_str(key.get(..cut).unwrap_or_default());
        }
        inside(self);
        self.field.truncate(len);
    }

    fn within_index(&mut self, index: usize, inside: impl FnOnce(&mut Self)) {
        let len = self.field.len();
        if len < MAX_FIELD_BYTES {
            self.field.push('[');
            push_number(&mut self.field, index);
            self.field.push(']');
        }
        inside(self);
        self.field.truncate(len);
    }
}

/// Writes a number: there are as many places as values.
fn push_number(out: &mut String, number: usize) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// The records that a text writes out as YAML, where it matters which is which.
#[cfg(feature = "yaml")]
fn records<'t>(labels: &OutputLabels, text: &'t str) -> Option<Node<'t>> {
    let alike = labels.fields.is_empty() && labels.by_name.is_none();
    if alike {
        None
    } else {
        super::yaml::parse(text)
    }
}

#[cfg(not(feature = "yaml"))]
fn records<'t>(_: &OutputLabels, _: &'t str) -> Option<Node<'t>> {
    None
}

/// A failed tool call, or a JSON-RPC error object.
fn is_error(members: &Map<String, Value>) -> bool {
    let failed = !matches!(
        members.get("isError"),
        None | Some(Value::Bool(false) | Value::Null)
    );
    let rpc_error = members.get("code").is_some_and(Value::is_number)
        && members.get("message").is_some_and(Value::is_string)
        && !members.contains_key("content");
    failed || rpc_error
}

/// What `_meta.ifc` says of the thing it stands on: a label that everything in it has
/// at least. A word that this crate does not know is no praise.
fn wire_floor(members: &Map<String, Value>) -> Label {
    let word = |said: &Value| match said.as_str() {
        Some("trusted" | "high") => Label::Trusted,
        Some("observed") => Label::Observed,
        _ => Label::Untrusted,
    };
    match members.get("_meta").and_then(|meta| meta.get("ifc")) {
        None | Some(Value::Null) => Label::Trusted,
        Some(Value::Object(ifc)) => ["label", "integrity"]
            .iter()
            .filter_map(|name| ifc.get(*name))
            .map(word)
            .max()
            .unwrap_or(Label::Trusted),
        Some(said) => word(said),
    }
}
