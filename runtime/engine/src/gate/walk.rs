//! One pass over the raw arguments: follows the paths that the plan names, hands each
//! leaf to the tests, and lists leaves and keys for the sink gate.
//!
//! Arrays are transparent, so a value can stand at several positions of the path trie
//! at once (`items`, `items.0`); the positions of each open container are kept in one
//! flat stack. Knows nothing of verdicts.

use super::eval::{Evaluator, Kind, LeafText};
use super::leaf::{Frame, Leaf, LeafKind, NO_SINK, Spelled, Step, Top, raw_text};
use super::sink::SinkPaths;
use bouncer_plan::format::{META_NAMES, NONE, PathNode};
use bouncer_plan::{Corrupt, Tables, at, edge_slot, slice};
use bouncer_reader::address;
use bouncer_reader::block::tail_word;
use bouncer_reader::json::{Event, Malformed, Reader, Text, folds_to};

/// Marks a trie position as "below path `n`, through an object".
const BELOW: u32 = 1 << 31;
/// Marks a trie position that was reached by a key which only some readers take for the
/// one that the policy names. Leaves there count as reached through an object: they can
/// satisfy a restrictive test, never a permissive one.
const VARIANT: u32 = 1 << 30;
/// Beside [`BELOW`]: the path is one of the names of members, not of their values.
const NAMES: u32 = 1 << 29;
/// The node of a position that is not [`BELOW`].
const NODE: u32 = NAMES - 1;

/// State of the walk over the arguments.
#[derive(Debug, Default)]
pub(super) struct WalkScratch {
    pub frames: Vec<Frame>,
    /// Trie positions of the open containers, one run a frame.
    pub active: Vec<u32>,
    /// Leaves and keys, for the sink gate.
    pub leaves: Vec<Leaf>,
    /// The arguments at the top level, where leaves are listed.
    pub tops: Vec<Top>,
    /// Texts of `tops` that have escapes in the arguments, without them.
    pub decoded: String,
    /// A decoded key.
    pub key: String,
}

impl WalkScratch {
    /// Room for arguments of that depth.
    pub fn new(max_depth: usize) -> Self {
        Self {
            frames: Vec::with_capacity(max_depth + 1),
            active: Vec::with_capacity(1024),
            leaves: Vec::with_capacity(1024),
            tops: Vec::with_capacity(64),
            decoded: String::with_capacity(1024),
            key: String::with_capacity(256),
        }
    }
}

/// The names of the arguments at the top level, and the texts of those that are one.
#[derive(Clone, Copy, Debug)]
pub(super) struct TopArguments<'a> {
    arguments: &'a str,
    tops: &'a [Top],
    decoded: &'a str,
}

impl<'a> TopArguments<'a> {
    /// Those of the latest walk, which listed leaves of `arguments`.
    pub fn of(arguments: &'a str, walk: &'a WalkScratch) -> Self {
        Self {
            arguments,
            tops: &walk.tops,
            decoded: &walk.decoded,
        }
    }

    /// Name and text of each.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone {
        self.tops.iter().filter_map(move |top| {
            let text = top.text.and_then(|text| self.text(text));
            Some((self.text(top.name)?, text))
        })
    }

    fn text(self, spelled: Spelled) -> Option<&'a str> {
        match spelled {
            Spelled::There(start, end) => raw_text(self.arguments, start, end),
            Spelled::Decoded(start, end) => raw_text(self.decoded, start, end),
        }
    }
}

/// Why a walk ended early.
#[derive(Debug)]
pub(super) enum WalkError {
    Malformed(Malformed),
    Corrupt,
}

impl From<Malformed> for WalkError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<Corrupt> for WalkError {
    fn from(_: Corrupt) -> Self {
        Self::Corrupt
    }
}

/// What a walk lists of the arguments.
#[derive(Clone, Copy)]
pub(super) enum Listing<'w> {
    /// Nothing.
    Nothing,
    /// All leaves.
    Leaves {
        /// The sinks that they may lie in.
        sinks: Option<&'w SinkPaths<'w>>,
        /// The arguments at the top level as well.
        tops: bool,
    },
}

/// Walks the arguments, and returns them as text.
pub(super) fn walk<'a>(
    tables: &Tables<'_>,
    mut reader: Reader<'a, '_>,
    scratch: &mut WalkScratch,
    listing: Listing<'_>,
    evaluator: &mut Evaluator<'_, '_>,
) -> Result<&'a str, WalkError> {
    let arguments = reader.text();
    let mut walk = Walk {
        tables,
        arguments,
        scratch,
        listing,
        names: tables.meta()?.flags.get() & META_NAMES != 0,
    };
    walk.scratch.frames.clear();
    walk.scratch.active.clear();
    walk.scratch.leaves.clear();
    walk.scratch.tops.clear();
    walk.scratch.decoded.clear();
    reader.open_object()?;
    walk.scratch.active.push(0);
    let here = Place {
        sink: NO_SINK,
        top: (0, 0),
        near: (0, 0),
    };
    walk.open(false, 0, Step::Root, here, evaluator)?;
    let mut key: Option<Text<'a>> = None;
    while let Some(event) = reader.next()? {
        match event {
            Event::Key(text) => {
                if walk.names {
                    walk.test_name(&text, evaluator)?;
                }
                let relevant = walk.enter_key(&text)?;
                if relevant {
                    key = Some(text);
                } else {
                    // Nothing below can matter; it is still checked to the last byte.
                    reader.skip_value()?;
                }
            }
            Event::ObjectEnd | Event::ArrayEnd => walk.close(),
            event => walk.value(event, key.take(), evaluator)?,
        }
    }
    Ok(arguments)
}

/// Whether text is ASCII without capital letters, eight bytes at a time.
fn is_small(text: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Adding sets the highest bit of a byte from `A` on, or from the one after `Z` on; no
    // carry leaves an ASCII byte.
    let odd = |word: u64| {
        let ascii = word & !HIGH;
        let from_a = ascii + u64::from_ne_bytes([0x80 - b'A'; 8]);
        let beyond_z = ascii + u64::from_ne_bytes([0x7f - b'Z'; 8]);
        (word | (from_a & !beyond_z)) & HIGH
    };
    let (words, tail) = text.as_chunks::<8>();
    let whole = words
        .iter()
        .fold(0, |seen, word| seen | odd(u64::from_le_bytes(*word)));
    whole | odd(tail_word(tail)) == 0
}

/// Whether no permissive test may rest on a leaf at this position.
const fn is_unfit(entry: u32) -> bool {
    entry & BELOW != 0 || entry & VARIANT != 0
}

struct Walk<'w, 'p, 'a> {
    tables: &'w Tables<'p>,
    arguments: &'a str,
    scratch: &'w mut WalkScratch,
    listing: Listing<'w>,
    /// Rules of the plan test names of members.
    names: bool,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place {
    /// The sink that it lies in.
    sink: u32,
    /// The raw text of the top-level argument that it lies in.
    top: (u32, u32),
    /// The raw text of the name of the innermost member that it lies in.
    near: (u32, u32),
}

impl<'a> Walk<'_, '_, 'a> {
    const fn lists(&self) -> bool {
        matches!(self.listing, Listing::Leaves { .. })
    }

    /// Start and end of a text within the arguments.
    fn span(&self, text: &Text<'a>) -> (u32, u32) {
        let raw = text.raw();
        let start = raw.as_ptr() as usize - self.arguments.as_ptr() as usize;
        // The argument limit is far below 4 GiB.
        (start as u32, (start + raw.len()) as u32)
    }

    /// Opens a container whose positions start at `active`.
    fn open(
        &mut self,
        array: bool,
        active: usize,
        step: Step,
        Place { sink, top, near }: Place,
        evaluator: &mut Evaluator<'_, '_>,
    ) -> Result<(), Corrupt> {
        if !array {
            // What lies below an object at the end of a path is reached through it.
            let end = self.scratch.active.len();
            for position in active..end {
                let Some(&entry) = self.scratch.active.get(position) else {
                    return Err(Corrupt);
                };
                if entry & BELOW == 0 {
                    let node = at(self.tables.path_nodes, entry & NODE)?;
                    let (path, names) = (node.path.get(), node.names.get());
                    if path != NONE {
                        self.scratch.active.push(path | BELOW);
                        evaluator.object_at(path);
                    }
                    if names != NONE {
                        self.scratch.active.push(names | BELOW | NAMES);
                    }
                }
            }
        }
        let own_end = self.scratch.active.len() as u32;
        self.scratch.frames.push(Frame {
            active: active as u32,
            own_end,
            index: 0,
            step,
            sink,
            top,
            name: near,
        });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(frame) = self.scratch.frames.pop() {
            self.scratch.active.truncate(frame.active as usize);
        }
    }

    /// Has a name of a member tested on each path of names that it stands on: plainly where
    /// the path leads to its object, as through an object in those below.
    fn test_name(&self, key: &Text<'a>, evaluator: &mut Evaluator<'_, '_>) -> Result<(), Corrupt> {
        let frame = self.scratch.frames.last().ok_or(Corrupt)?;
        let own = (frame.active as usize)..(frame.own_end as usize);
        let own = self.scratch.active.get(own).ok_or(Corrupt)?;
        for &entry in own {
            let through = is_unfit(entry);
            let path = if entry & BELOW == 0 {
                at(self.tables.path_nodes, entry & NODE)?.names.get()
            } else if entry & NAMES != 0 && !self.starts_names(own, entry)? {
                entry & !(BELOW | NAMES)
            } else {
                NONE
            };
            if path != NONE {
                evaluator.begin_leaf(Kind::String, &LeafText::Json(*key), "");
                evaluator.leaf(path, through)?;
            }
        }
        Ok(())
    }

    /// Whether a path of names starts at the object with these positions, so that its names
    /// are tested there already.
    fn starts_names(&self, own: &[u32], entry: u32) -> Result<bool, Corrupt> {
        for &other in own.iter().filter(|other| **other & BELOW == 0) {
            let names = at(self.tables.path_nodes, other & NODE)?.names.get();
            if names == entry & !(BELOW | NAMES) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Pushes the positions of the value under `key`. `false`: nothing looks at it.
    fn enter_key(&mut self, key: &Text<'a>) -> Result<bool, Corrupt> {
        let Some(frame) = self.scratch.frames.last().copied() else {
            return Err(Corrupt);
        };
        if self.lists() && self.scratch.frames.len() > 1 {
            let (start, end) = self.span(key);
            self.scratch.leaves.push(Leaf {
                kind: LeafKind::Key {
                    escaped: key.is_escaped(),
                },
                start,
                end,
                sink: frame.sink,
                top: frame.top,
                name: frame.name,
            });
        }
        let (start, end) = (frame.active as usize, frame.own_end as usize);
        for position in start..end {
            let Some(&entry) = self.scratch.active.get(position) else {
                return Err(Corrupt);
            };
            if entry & BELOW != 0 {
                self.scratch.active.push(entry);
                continue;
            }
            if let Some(child) = self.child(entry & NODE, key)? {
                self.scratch.active.push(child | (entry & VARIANT));
            }
            self.variants(entry & NODE, key)?;
        }
        Ok(self.lists() || self.scratch.active.len() > end)
    }

    /// Pushes the nodes that `key` leads to for readers that ignore case, as some
    /// servers' JSON libraries do.
    fn variants(&mut self, node: u32, key: &Text<'a>) -> Result<(), Corrupt> {
        let node: &PathNode = at(self.tables.path_nodes, node)?;
        if node.mixed.get() == 0 && !key.is_escaped() && is_small(key.raw().as_bytes()) {
            return Ok(());
        }
        for edge in slice(self.tables.path_edges, &node.edges)? {
            let name = self.tables.text(&edge.key)?;
            if edge.index_only.get() == 0 && !key.eq_str(name) && folds_to(*key, name) {
                self.scratch.active.push(edge.child.get() | VARIANT);
            }
        }
        Ok(())
    }

    /// The node that `key` leads to.
    fn child(&mut self, node: u32, key: &Text<'a>) -> Result<Option<u32>, Corrupt> {
        let node: &PathNode = at(self.tables.path_nodes, node)?;
        let name = match key.as_plain() {
            Some(name) => name,
            None => {
                self.scratch.key.clear();
                key.decode_into(&mut self.scratch.key);
                &self.scratch.key
            }
        };
        let slots = slice(self.tables.lists, &node.slots)?;
        if slots.is_empty() {
            return Ok(None);
        }
        let mask = slots.len() - 1;
        let mut slot = edge_slot(name.as_bytes(), mask);
        // Half of the slots are empty, so this ends; the bound is for a damaged table.
        for _ in 0..slots.len() {
            let index = slots.get(slot).ok_or(Corrupt)?.get();
            if index == NONE {
                return Ok(None);
            }
            let edge = at(self.tables.path_edges, index)?;
            if self.tables.bytes_of(&edge.key)? == name.as_bytes() {
                return Ok(Some(edge.child.get()));
            }
            slot = (slot + 1) & mask;
        }
        Ok(None)
    }

    /// Pushes the positions of the next element of the innermost array.
    fn enter_element(&mut self, frame: &Frame) -> Result<(), Corrupt> {
        let (start, end) = (frame.active as usize, frame.own_end as usize);
        for position in start..end {
            let Some(&entry) = self.scratch.active.get(position) else {
                return Err(Corrupt);
            };
            self.push_once(end, entry);
            if entry & BELOW == 0 {
                let node: &PathNode = at(self.tables.path_nodes, entry & NODE)?;
                for edge in slice(self.tables.path_edges, &node.edges)? {
                    if edge.index.get() == frame.index {
                        self.push_once(end, edge.child.get() | (entry & VARIANT));
                    }
                }
            }
        }
        Ok(())
    }

    /// The path that ends at a position, or that it lies below; [`NONE`] if none does.
    fn path_of(&self, entry: u32) -> Result<u32, Corrupt> {
        if entry & BELOW == 0 {
            Ok(at(self.tables.path_nodes, entry & NODE)?.path.get())
        } else if entry & NAMES != 0 {
            Ok(NONE)
        } else {
            Ok(entry & !BELOW)
        }
    }

    /// Pushes a position unless it is there already since `from`.
    fn push_once(&mut self, from: usize, entry: u32) {
        let present = self
            .scratch
            .active
            .get(from..)
            .is_some_and(|seen| seen.contains(&entry));
        if !present {
            self.scratch.active.push(entry);
        }
    }

    /// Handles the start of a container, or a scalar.
    fn value(
        &mut self,
        event: Event<'a>,
        key: Option<Text<'a>>,
        evaluator: &mut Evaluator<'_, '_>,
    ) -> Result<(), WalkError> {
        let Some(frame) = self.scratch.frames.last().copied() else {
            return Err(WalkError::Corrupt);
        };
        let (step, active) = match key {
            Some(key) => {
                let (start, end) = self.span(&key);
                let step = Step::Key(start, end, key.is_escaped());
                (step, frame.own_end as usize)
            }
            None => {
                let before = self.scratch.active.len();
                self.enter_element(&frame)?;
                if let Some(frame) = self.scratch.frames.last_mut() {
                    frame.index = frame.index.saturating_add(1);
                }
                (Step::Index(frame.index), before)
            }
        };
        let place = self.place_of(&frame, step)?;
        let (kind, text) = match event {
            Event::ObjectStart => {
                self.note_top(step, None);
                return Ok(self.open(false, active, step, place, evaluator)?);
            }
            Event::ArrayStart => {
                self.note_top(step, None);
                return Ok(self.open(true, active, step, place, evaluator)?);
            }
            Event::String(text) => (Kind::String, LeafText::Json(text)),
            Event::Number(text) => (Kind::Number, LeafText::Plain(text)),
            Event::Bool(true) => (Kind::Bool, LeafText::Plain("true")),
            Event::Bool(false) => (Kind::Bool, LeafText::Plain("false")),
            Event::Null => (Kind::Null, LeafText::Plain("null")),
            Event::Key(_) | Event::ObjectEnd | Event::ArrayEnd => return Err(WalkError::Corrupt),
        };
        if self.lists() {
            self.list_leaf(&event, place);
            let text = match event {
                Event::String(text) => Some(text),
                _ => None,
            };
            self.note_top(step, text);
        }
        if self.scratch.active.len() > active {
            let (start, end) = place.near;
            let name = raw_text(self.arguments, start, end).unwrap_or_default();
            evaluator.begin_leaf(kind, &text, name);
            if kind == Kind::String {
                self.note_shape(&evaluator.scratch.raw);
            }
            self.test_leaf(active, evaluator)?;
        }
        self.scratch.active.truncate(active);
        Ok(())
    }

    /// Notes an argument at the top level.
    fn note_top(&mut self, step: Step, text: Option<Text<'a>>) {
        if let Step::Key(start, end, escaped) = step
            && matches!(self.listing, Listing::Leaves { tops: true, .. })
            && self.scratch.frames.len() == 1
            && let Some(name) = raw_text(self.arguments, start, end)
        {
            let name = self.spelled(Text::new(name, escaped));
            let text = text.map(|text| self.spelled(text));
            self.scratch.tops.push(Top { name, text });
        }
    }

    /// Where a text stands as it reads: decoded, if it has escapes.
    fn spelled(&mut self, text: Text<'a>) -> Spelled {
        if !text.is_escaped() {
            let (start, end) = self.span(&text);
            return Spelled::There(start, end);
        }
        let WalkScratch { key, decoded, .. } = &mut *self.scratch;
        key.clear();
        text.decode_into(key);
        let start = decoded.len() as u32;
        decoded.push_str(key);
        Spelled::Decoded(start, decoded.len() as u32)
    }

    /// Where a value stands, as far as that is listed.
    fn place_of(&self, frame: &Frame, step: Step) -> Result<Place, Corrupt> {
        let near = match step {
            Step::Key(start, end, _) => (start, end),
            Step::Root | Step::Index(_) => frame.name,
        };
        let Listing::Leaves { sinks, .. } = self.listing else {
            return Ok(Place {
                sink: NO_SINK,
                top: (0, 0),
                near,
            });
        };
        let top = match step {
            Step::Key(start, end, _) if self.scratch.frames.len() == 1 => (start, end),
            _ => frame.top,
        };
        let sink = match sinks {
            _ if frame.sink != NO_SINK => frame.sink,
            Some(sinks) => {
                sinks.matching(self.tables, self.arguments, &self.scratch.frames, step)?
            }
            None => NO_SINK,
        };
        Ok(Place { sink, top, near })
    }

    /// Lists a scalar for the sink gate.
    fn list_leaf(&mut self, event: &Event<'a>, Place { sink, top, near }: Place) {
        let (kind, (start, end)) = match event {
            Event::String(text) => {
                let kind = LeafKind::String {
                    escaped: text.is_escaped(),
                    shapeless: false,
                };
                (kind, self.span(text))
            }
            Event::Number(number) => {
                let start = number.as_ptr() as usize - self.arguments.as_ptr() as usize;
                let span = (start as u32, (start + number.len()) as u32);
                (LeafKind::Other, span)
            }
            Event::Bool(true) => (LeafKind::True, (0, 0)),
            Event::Bool(false) => (LeafKind::False, (0, 0)),
            _ => (LeafKind::Null, (0, 0)),
        };
        self.scratch.leaves.push(Leaf {
            kind,
            start,
            end,
            sink,
            top,
            name: near,
        });
    }

    /// Notes of the latest leaf that it does not look like a destination, if it has escapes
    /// and lies in no declared sink: it was decoded here, and decoding once is enough.
    fn note_shape(&mut self, decoded: &str) {
        if let Some(Leaf {
            kind:
                LeafKind::String {
                    escaped: true,
                    shapeless,
                },
            sink: NO_SINK,
            ..
        }) = self.scratch.leaves.last_mut()
        {
            *shapeless = !address::is_destination_shaped(decoded);
        }
    }

    /// Has the leaf tested on each path that it stands on: those of the positions from
    /// `active` on, of which there is one at least.
    fn test_leaf(&self, active: usize, evaluator: &mut Evaluator<'_, '_>) -> Result<(), Corrupt> {
        let positions = self.scratch.active.get(active..).ok_or(Corrupt)?;
        if let [entry] = *positions {
            let path = self.path_of(entry)?;
            if path != NONE {
                evaluator.leaf(path, is_unfit(entry))?;
            }
            return Ok(());
        }
        for (position, &entry) in positions.iter().enumerate() {
            let path = self.path_of(entry)?;
            if path == NONE {
                continue;
            }
            // A leaf that stands on one path in two ways counts once, and as
            // reached through an object if either way leads through one.
            let mut through = is_unfit(entry);
            let mut counted = false;
            for (other, &twin) in positions.iter().enumerate() {
                if other != position && self.path_of(twin)? == path {
                    through |= is_unfit(twin);
                    counted |= other < position;
                }
            }
            if !counted {
                evaluator.leaf(path, through)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_small;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn small_text_has_no_capitals_and_is_ascii(text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20),
            "[@-\\[`a-z{]{0,20}".prop_map(String::into_bytes),
        ]) {
            let slow = text.iter().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
            prop_assert_eq!(is_small(&text), slow);
        }
    }
}
