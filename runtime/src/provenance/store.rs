//! What is kept of recorded pieces: folded texts to search in, and the whole leaves
//! that vouch. Each store counts its bytes and can forget its oldest half.
//!
//! Knows nothing of labels or of how results are laid out.

use memchr::memmem;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Where a piece came from.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// Number of the server and tool.
    pub(super) name: u32,
    /// Number of the call.
    pub(super) call: u64,
    /// Path of the field.
    pub(super) field: Arc<str>,
}

impl Mark {
    /// About what a mark costs, in bytes.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.field.len() + 2 * size_of::<usize>()
    }
}

/// Between two texts. Not a byte of UTF-8, so no search crosses it.
const SEPARATOR: u8 = 0xff;

struct Piece {
    /// Offset of the first byte, counted from the first text ever recorded.
    start: usize,
    len: usize,
    hash: u64,
    order: u64,
    mark: Mark,
}

/// Folded texts in one row of bytes, so that one search covers all of them.
#[derive(Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Bytes forgotten so far: what `start` of a piece is ahead of `bytes` by.
    gone_bytes: usize,
    pieces: VecDeque<Piece>,
    gone_pieces: usize,
    /// From a text's hash to its piece (counted from the first ever recorded).
    seen: HashMap<u64, usize>,
    hasher: RandomState,
    overhead: usize,
}

impl Texts {
    /// Keeps a text, unless the same text is kept already. `order` only ever grows.
    /// Returns whether it was new.
    pub(super) fn add(&mut self, text: &str, order: u64, mark: &Mark) -> bool {
        let hash = self.hasher.hash_one(text);
        if let Some(known) = self.seen.get(&hash)
            && self.text(*known) == Some(text.as_bytes())
        {
            return false;
        }
        let start = self.gone_bytes + self.bytes.len();
        let need = text.len() + 1;
        if self.bytes.capacity() - self.bytes.len() < need {
            // A quarter at a time: doubling would leave half of the bound unused.
            self.bytes.reserve_exact(need.max(self.bytes.len() / 4));
        }
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(SEPARATOR);
        self.seen.insert(hash, self.gone_pieces + self.pieces.len());
        self.overhead += Self::cost(mark);
        self.pieces.push_back(Piece {
            start,
            len: text.len(),
            hash,
            order,
            mark: mark.clone(),
        });
        true
    }

    fn cost(mark: &Mark) -> usize {
        size_of::<Piece>() + 3 * size_of::<usize>() + mark.cost()
    }

    fn text(&self, piece: usize) -> Option<&[u8]> {
        let piece = self.pieces.get(piece.checked_sub(self.gone_pieces)?)?;
        let start = piece.start.checked_sub(self.gone_bytes)?;
        self.bytes.get(start..start + piece.len)
    }

    /// The origin of the first text that `needle` stands in. Linear in the kept text.
    pub(super) fn find(&self, needle: &str) -> Option<&Mark> {
        if needle.is_empty() {
            return None;
        }
        let at = memmem::find(&self.bytes, needle.as_bytes())? + self.gone_bytes;
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        self.pieces
            .get(after.checked_sub(1)?)
            .map(|piece| &piece.mark)
    }

    /// Forgets every text older than `order`. Returns how many.
    pub(super) fn forget_before(&mut self, order: u64) -> u64 {
        let mut forgotten = 0;
        while let Some(piece) = self.pieces.pop_front_if(|piece| piece.order < order) {
            if self.seen.get(&piece.hash) == Some(&self.gone_pieces) {
                self.seen.remove(&piece.hash);
            }
            self.gone_pieces += 1;
            self.overhead = self.overhead.saturating_sub(Self::cost(&piece.mark));
            forgotten += 1;
        }
        let end = self.gone_bytes + self.bytes.len();
        let keep_from = self.pieces.front().map_or(end, |piece| piece.start);
        self.bytes
            .drain(..keep_from.saturating_sub(self.gone_bytes));
        self.gone_bytes = keep_from;
        forgotten
    }

    /// The order and cost of each text, oldest first.
    pub(super) fn costs(&self) -> impl Iterator<Item = (u64, usize)> {
        self.pieces
            .iter()
            .map(|piece| (piece.order, piece.len + 1 + Self::cost(&piece.mark)))
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes.len() + self.overhead
    }
}

struct Leaf {
    order: u64,
    mark: Mark,
}

/// Whole leaves that vouch for a destination equal to them but for ASCII case.
#[derive(Default)]
pub(super) struct Leaves {
    leaves: HashMap<Box<str>, Leaf>,
    bytes: usize,
}

impl Leaves {
    /// Keeps a leaf.
    pub(super) fn add(&mut self, leaf: &str, order: u64, mark: &Mark) {
        let key: Box<str> = leaf.into();
        let cost = Self::cost(&key, mark);
        self.leaves.entry(key).or_insert_with(|| {
            self.bytes += cost;
            Leaf {
                order,
                mark: mark.clone(),
            }
        });
    }

    fn cost(key: &str, mark: &Mark) -> usize {
        key.len() + size_of::<(Box<str>, Leaf)>() + mark.cost()
    }

    /// The origin of the leaf that is exactly `text`.
    pub(super) fn get(&self, text: &str) -> Option<&Mark> {
        self.leaves.get(text).map(|leaf| &leaf.mark)
    }

    /// Forgets the older half. Returns how many.
    pub(super) fn forget_half(&mut self) -> u64 {
        let mut orders: Vec<u64> = self.leaves.values().map(|leaf| leaf.order).collect();
        let middle = orders.len() / 2;
        if orders.is_empty() {
            return 0;
        }
        let limit = *orders.select_nth_unstable(middle).1;
        let before = self.leaves.len();
        let bytes = &mut self.bytes;
        self.leaves.retain(|key, leaf| {
            // At least one goes, also when all are of one age.
            let keep = leaf.order > limit;
            if !keep {
                *bytes = bytes.saturating_sub(Self::cost(key, &leaf.mark));
            }
            keep
        });
        (before - self.leaves.len()) as u64
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}
