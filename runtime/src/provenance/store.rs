//! Folded texts, and where a given string stands in them: an index that answers in the
//! same time however much is kept.
//!
//! A text is kept in a *generation*: its bytes, a map of its anchors (see
//! [`super::grams`]) and filters of its sequences of six bytes. Nothing in a generation
//! ever moves or is taken out; when memory is short, the oldest generation goes whole.
//!
//! A question takes the anchors of the needle, and looks for one whose lists are not all
//! full: that anchor is then known wherever it stands, and the few places are compared
//! with the text. A needle of which every part is crowded, such as `aaaaaaaa` after a
//! megabyte of `a`, is only compared with the places that are listed. If none of them is
//! it and yet all its sequences of six bytes are in one stretch of text, it counts as
//! found. So what stands in a text is always found, and what does not is found by mistake
//! only where it is made of well-known parts.
//!
//! Knows nothing of labels or of how results are laid out.

use super::filter::Filter;
use super::grams::{self, LADDER};
use super::lists::{List, Lists};
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
    /// When it was recorded: milliseconds of Unix time.
    pub(super) time: u64,
    /// Path of the field.
    pub(super) field: Arc<str>,
}

impl Mark {
    /// Whether it is the same mark, rather than an equal one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.field, &other.field)
    }

    /// About what a mark costs, in bytes.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.field.len() + 2 * size_of::<usize>()
    }
}

/// A text that a needle stands in.
#[derive(Clone, Copy)]
pub(super) struct Hit<'a> {
    pub(super) mark: &'a Mark,
    /// The needle and a little of what is around it.
    pub(super) excerpt: &'a str,
}

/// Between two texts. Not a byte of UTF-8, so no needle crosses it.
const SEPARATOR: u8 = 0xff;
/// Two of the thirty bits of a listed number are not the place.
const MAX_TEXT: usize = 1 << 28;
/// The longest text that can be added, in bytes.
pub(super) const MAX_PIECE: usize = MAX_TEXT / 2;
/// So many anchors of a needle are followed up.
const MAX_ANCHORS: usize = 6;
/// Anchors are taken from so many first bytes of a needle.
const HEAD: usize = 256;
/// Of a long needle, so many of its sequences are asked for.
const MAX_GRAMS: usize = 128;
/// A stretch of text with one filter, at least and at most.
const STRETCH: (usize, usize) = (4 << 10, 4 << 20);
/// Around a hit, so many bytes are shown on both sides.
const EXCERPT: usize = 40;
/// Bytes of text for which the piece at the start is noted.
const BLOCK: usize = 1024;

/// Folded texts.
pub(super) struct Texts {
    generations: VecDeque<Generation>,
    /// Bytes of one generation with all that belongs to it.
    limit: usize,
    hasher: RandomState,
    secret: u64,
    /// Anchors that wait for a list, with their keys.
    waiting: Vec<(u32, u64)>,
}

struct Generation {
    text: Vec<u8>,
    pieces: Vec<Piece>,
    /// For each block of text, the piece that its first byte belongs to.
    blocks: Vec<u32>,
    anchors: Lists,
    filters: Vec<Filter>,
    /// From a text's hash to its piece.
    seen: HashMap<u64, u32>,
    /// When its first piece was recorded.
    order: u64,
    secret: u64,
    overhead: usize,
}

struct Piece {
    start: u32,
    len: u32,
    mark: Mark,
}

impl Texts {
    /// Keeps about `limit` bytes in one generation.
    pub(super) fn new(limit: usize) -> Self {
        let hasher = RandomState::new();
        Self {
            generations: VecDeque::new(),
            limit,
            secret: hasher.hash_one(0_u8),
            hasher,
            waiting: Vec::new(),
        }
    }

    /// Keeps a text, unless the same text is kept already. `order` only ever grows.
    pub(super) fn add(&mut self, text: &str, order: u64, mark: &Mark) {
        let hash = self.hasher.hash_one(text);
        // What is about to be forgotten is kept anew.
        let aged = usize::from(self.generations.len() > 2);
        let mut kept = self.generations.iter().skip(aged);
        if kept.any(|generation| generation.holds(hash, text)) {
            return;
        }
        let full = self.generations.back().is_none_or(|newest| {
            newest.bytes() >= self.limit || newest.text.len() + text.len() >= MAX_TEXT
        });
        if full {
            let fresh = Generation::new(self.limit, order, self.secret);
            self.generations.push_back(fresh);
        }
        if let Some(newest) = self.generations.back_mut() {
            newest.add(text, hash, mark, &mut self.waiting);
        }
        if self.waiting.capacity() > 1 << 16 {
            self.waiting = Vec::new();
        }
    }

    /// A text that `needle` stands in. Takes time for the needle, not for the texts.
    pub(super) fn find(&self, needle: &str) -> Option<Hit<'_>> {
        let needle = needle.as_bytes();
        if self.generations.is_empty() || needle.len() < grams::SHORTEST {
            return None;
        }
        let mut anchors = [(i32::MAX, 0); MAX_ANCHORS];
        grams::anchors(needle.get(..HEAD).unwrap_or(needle), |at| {
            // Those with the rarest characters that are followed by some text, in order.
            let behind = needle.get(at..).unwrap_or_default();
            let short = i32::from(behind.len() < 12) << 16;
            let mut carried = (grams::rank(behind) + short, at);
            for slot in &mut anchors {
                if carried < *slot {
                    std::mem::swap(slot, &mut carried);
                }
            }
        });
        let count = anchors.iter().filter(|(rank, _)| *rank < i32::MAX).count();
        let anchors = anchors.map(|(_, at)| at);
        let anchors = anchors.get(..count)?;
        self.generations
            .iter()
            .find_map(|generation| generation.find(needle, anchors))
    }

    /// When the oldest text was recorded.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.generations.front().map(|generation| generation.order)
    }

    /// Forgets the oldest generation. Returns how many texts that were.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        self.generations
            .pop_front()
            .map_or(0, |generation| generation.pieces.len() as u64)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.generations.iter().map(Generation::bytes).sum()
    }
}

impl Generation {
    fn new(limit: usize, order: u64, secret: u64) -> Self {
        // A byte of text costs four to five, and two places in five are anchors.
        let anchors = Lists::new(limit / 12);
        Self {
            text: Vec::new(),
            pieces: Vec::new(),
            blocks: Vec::new(),
            anchors,
            filters: Vec::new(),
            seen: HashMap::new(),
            order,
            secret,
            overhead: size_of::<Self>(),
        }
    }

    fn holds(&self, hash: u64, text: &str) -> bool {
        let piece = self
            .seen
            .get(&hash)
            .and_then(|p| self.pieces.get(*p as usize));
        piece.is_some_and(|piece| self.text_of(piece) == text.as_bytes())
    }

    fn text_of(&self, piece: &Piece) -> &[u8] {
        let start = piece.start as usize;
        self.text
            .get(start..start + piece.len as usize)
            .unwrap_or_default()
    }

    fn add(&mut self, text: &str, hash: u64, mark: &Mark, waiting: &mut Vec<(u32, u64)>) {
        let start = self.text.len();
        let need = text.len() + 1;
        let (Ok(first), Ok(len), Ok(number)) = (
            u32::try_from(start),
            u32::try_from(text.len()),
            u32::try_from(self.pieces.len()),
        ) else {
            return;
        };
        if self.text.capacity() - start < need {
            // An eighth at a time: doubling would leave half of the bound unused.
            self.text.reserve_exact(need.max(start / 8).max(4096));
        }
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(SEPARATOR);
        while self.blocks.len() * BLOCK < self.text.len() {
            self.blocks.push(number);
        }
        self.pieces.push(Piece {
            start: first,
            len,
            mark: mark.clone(),
        });
        self.seen.insert(hash, number);
        self.overhead += size_of::<Piece>() + mark.cost() + 3 * size_of::<u64>();
        self.note_grams(text.as_bytes());
        self.note_anchors(text.as_bytes(), start, waiting);
    }

    /// Puts each anchor into the first list that is not full.
    fn note_anchors(&mut self, text: &[u8], start: usize, waiting: &mut Vec<(u32, u64)>) {
        let secret = self.secret;
        let lists = &self.anchors;
        // The first key on the ladder, from `least` on, whose list is not full.
        let open = |lists: &Lists, at: u32, least: usize| {
            let behind = text.get(at as usize..)?;
            LADDER.iter().filter(|len| **len >= least).find_map(|len| {
                let key = grams::key(secret, behind.get(..*len)?);
                (!lists.is_full(key)).then_some((key, *len))
            })
        };
        waiting.clear();
        grams::anchors(text, |at| {
            let at = at as u32;
            waiting.extend(open(lists, at, 0).map(|(key, _)| (at, key)));
        });
        // All the memory that is needed is fetched at once.
        lists.touch(waiting.iter().map(|(_, key)| *key));
        for (at, key) in waiting.iter() {
            let check = text.get(*at as usize..).and_then(grams::check).unwrap_or(0);
            let place = (start as u32 + at) << 2 | check;
            let mut pushed = self.anchors.push(*key, place);
            // The list has been filled by this very text.
            let mut least = 0;
            while !pushed && let Some((key, len)) = open(&self.anchors, *at, least) {
                pushed = self.anchors.push(key, place);
                least = len + 1;
            }
        }
    }

    fn note_grams(&mut self, text: &[u8]) {
        if self
            .filters
            .last()
            .is_none_or(|last| last.room() < text.len())
        {
            let (least, most) = STRETCH;
            let room = (self.text.len() / 4).clamp(least, most).max(text.len());
            let fresh = Filter::new(room, self.secret);
            self.overhead += fresh.bytes();
            self.filters.push(fresh);
        }
        if let Some(last) = self.filters.last_mut() {
            last.add(text);
        }
    }

    fn find(&self, needle: &[u8], anchors: &[usize]) -> Option<Hit<'_>> {
        for at in anchors {
            let mut keys = [0; LADDER.len()];
            let behind = needle.get(*at..)?;
            let steps = LADDER.iter().zip(&mut keys).map_while(|(len, key)| {
                *key = grams::key(self.secret, behind.get(..*len)?);
                Some(())
            });
            let steps = steps.count();
            self.anchors.touch(keys.iter().take(steps).copied());
            let open = keys
                .iter()
                .take(steps)
                .position(|key| !self.anchors.is_full(*key));
            // A list that is not full proves that the needle stands at a place in it or in
            // those below, if anywhere.
            if let Some(open) = open {
                self.anchors.touch(keys.iter().take(open + 1).copied());
                return (0..=open).find_map(|step| self.compare(needle, *at, step));
            }
        }
        self.find_crowded(needle, anchors)
    }

    /// All parts of the needle are crowded.
    fn find_crowded(&self, needle: &[u8], anchors: &[usize]) -> Option<Hit<'_>> {
        let stretch = self
            .filters
            .iter()
            .any(|filter| filter.may_hold(needle, MAX_GRAMS));
        if !stretch {
            return None;
        }
        let listed = || {
            (0..LADDER.len())
                .rev()
                .flat_map(|step| anchors.iter().take(4).map(move |at| (*at, step)))
        };
        listed()
            .find_map(|(at, step)| self.compare(needle, at, step))
            .or_else(|| {
                // Not proven absent: the stricter answer, with a text that holds a part.
                // A list that only counts as full may be empty.
                let part = listed().find_map(|(at, step)| {
                    let place = *self.list(needle, at, step)?.numbers().first()?;
                    Some(((place >> 2) as usize, *LADDER.get(step)?))
                });
                let (start, len) = part.unwrap_or_default();
                self.hit(start, len)
            })
    }

    /// The list of an anchor of the needle on a step, if the needle reaches so far.
    fn list(&self, needle: &[u8], at: usize, step: usize) -> Option<List> {
        let end = at + LADDER.get(step)?;
        let gram = needle.get(at..end)?;
        Some(self.anchors.list(grams::key(self.secret, gram)))
    }

    /// Compares the needle with the places in one list.
    fn compare(&self, needle: &[u8], at: usize, step: usize) -> Option<Hit<'_>> {
        let check = grams::check(needle.get(at..)?);
        let list = self.list(needle, at, step)?;
        list.numbers().iter().find_map(|number| {
            if check.is_some_and(|check| check != number & 3) {
                return None;
            }
            let start = ((number >> 2) as usize).checked_sub(at)?;
            let here = self.text.get(start..start + needle.len())?;
            if here == needle {
                self.hit(start, needle.len())
            } else {
                None
            }
        })
    }

    /// The piece at a place of the text.
    fn hit(&self, start: usize, len: usize) -> Option<Hit<'_>> {
        let mut at = *self.blocks.get(start / BLOCK)? as usize;
        while self
            .pieces
            .get(at + 1)
            .is_some_and(|next| next.start as usize <= start)
        {
            at += 1;
        }
        let piece = self.pieces.get(at)?;
        let text = self.text_of(piece);
        let continues = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let from = start - piece.start as usize;
        let mut first = from.saturating_sub(EXCERPT);
        while continues(&first) {
            first += 1;
        }
        let mut last = (from + len.min(4 * EXCERPT) + EXCERPT).min(text.len());
        while continues(&last) {
            last += 1;
        }
        let excerpt = std::str::from_utf8(text.get(first..last)?);
        Some(Hit {
            mark: &piece.mark,
            excerpt: excerpt.unwrap_or_default(),
        })
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.blocks.len() * 4 + self.anchors.bytes() + self.overhead
    }
}
