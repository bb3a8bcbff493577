//! Finds duplicate keys while a text is read, in memory the caller owns.
//!
//! Knows key texts and nesting, not JSON's grammar.

use std::hash::{BuildHasher, RandomState};

use super::text::Text;
use super::{Limits, Malformed, MalformedKind};

/// Up to this many keys, each new one is compared with all before it.
const PAIRWISE: usize = 16;
/// Keys reserved up front: 4 KiB, enough for typical calls.
const RESERVED_KEYS: usize = 256;
/// Key memory kept between texts (2 MiB); one huge text must not pin more.
const KEPT_KEYS: usize = 128 << 10;
/// Levels of nesting reserved at most, whatever the limit says.
const RESERVED_DEPTH: usize = 1024;
/// Stands on the stack for an open array.
const ARRAY: u32 = u32::MAX;

/// Memory for reading one text at a time, kept by the caller between texts.
///
/// A text with more than a few hundred keys open at once makes it grow; the next
/// such text then finds the room. It holds nothing of a text once reading ended
/// that a later reader would look at.
#[derive(Debug)]
pub struct Scratch {
    /// One per open object or array: where its keys begin in `keys`, or [`ARRAY`].
    stack: Vec<u32>,
    /// Keys of all open objects, innermost last.
    keys: Vec<Key>,
    seed: u64,
}

/// A key of an open object.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// [`Text::signature`] at first; a hash once the keys of a large object are checked.
    hash: u64,
    /// First byte after the opening quote.
    start: u32,
    /// The closing quote.
    end: u32,
}

impl Scratch {
    /// Memory that fits typical calls under `limits`, with its own hash seed.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            stack: Vec::with_capacity(limits.max_depth.min(RESERVED_DEPTH)),
            keys: Vec::with_capacity(RESERVED_KEYS),
            seed: RandomState::new().hash_one(0u8),
        }
    }

    /// Forgets the last text.
    pub(super) fn reset(&mut self) {
        self.stack.clear();
        self.keys.clear();
        if self.keys.capacity() > KEPT_KEYS {
            self.keys.shrink_to(RESERVED_KEYS);
        }
    }

    /// How many objects and arrays are open.
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Whether the innermost open container is an object.
    #[inline]
    pub(super) fn in_object(&self) -> bool {
        self.stack.last().is_some_and(|&base| base != ARRAY)
    }

    pub(super) fn open_array(&mut self) {
        self.stack.push(ARRAY);
    }

    pub(super) fn open_object(&mut self) {
        // Fits: a text has fewer than 2^32 bytes, and a key takes several.
        self.stack.push(self.keys.len() as u32);
    }

    pub(super) fn close_array(&mut self) {
        self.stack.pop();
    }

    /// Adds the key at `start..end` of `source` to the innermost object.
    ///
    /// Looks for a duplicate at once while the object is small; later keys are
    /// checked by [`close_object`](Self::close_object).
    pub(super) fn add_key(
        &mut self,
        source: &str,
        text: Text<'_>,
        start: usize,
    ) -> Result<(), Malformed> {
        if is_read_otherwise(text) {
            return Err(MalformedKind::AmbiguousKey.at(start - 1));
        }
        let key = Key {
            hash: text.signature(),
            start: start as u32,
            end: (start + text.raw().len()) as u32,
        };
        let base = self.stack.last().map_or(0, |&base| base as usize);
        let siblings = self.keys.get(base..).unwrap_or_default();
        if siblings.len() < PAIRWISE {
            let clash = |other: &Key| {
                other.hash == key.hash && text.cmp_decoded(&other.text(source)).is_eq()
            };
            if siblings.iter().any(clash) {
                return Err(MalformedKind::DuplicateKey.at(start - 1));
            }
        }
        self.keys.push(key);
        Ok(())
    }

    /// Ends the innermost object, and checks its keys if it has many.
    pub(super) fn close_object(&mut self, source: &str) -> Result<(), Malformed> {
        let base = self.stack.pop().map_or(0, |base| base as usize);
        let keys = self.keys.get_mut(base..).unwrap_or_default();
        let duplicate = if keys.len() > PAIRWISE {
            for key in keys.iter_mut() {
                key.hash = key.text(source).hash(self.seed);
            }
            first_duplicate(keys, source)
        } else {
            None
        };
        self.keys.truncate(base);
        match duplicate {
            Some(start) => Err(MalformedKind::DuplicateKey.at(start as usize - 1)),
            None => Ok(()),
        }
    }
}

/// Whether some reader takes the key for another name, whatever that is: one in C ends it at
/// U+0000, and in JavaScript `__proto__` lends its members to the object around it.
fn is_read_otherwise(text: Text<'_>) -> bool {
    // U+0000 stands in no text but as an escape.
    text.eq_str("__proto__") || (text.is_escaped() && text.chars().any(|c| c == '\0'))
}

/// Where the earliest repetition among `keys` starts, whatever the hash seed.
///
/// Sorts by hash, and keys of one hash by text: even if every hash collided, that
/// is `O(b log n)` for `n` keys of `b` bytes, so nothing hangs on a secret seed.
fn first_duplicate(keys: &mut [Key], source: &str) -> Option<u32> {
    keys.sort_unstable_by_key(|key| key.hash);
    let mut first = None;
    for same_hash in keys.chunk_by_mut(|a, b| a.hash == b.hash) {
        if same_hash.len() == 1 {
            continue;
        }
        let by_text = |a: &Key, b: &Key| a.text(source).cmp_decoded(&b.text(source));
        same_hash.sort_unstable_by(|a, b| by_text(a, b).then(a.start.cmp(&b.start)));
        for [a, b] in same_hash.array_windows() {
            if by_text(a, b).is_eq() {
                first = Some(first.map_or(b.start, |earliest: u32| earliest.min(b.start)));
            }
        }
    }
    first
}

impl Key {
    fn text<'a>(&self, source: &'a str) -> Text<'a> {
        let raw = source
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default();
        Text::new(raw, memchr::memchr(b'\\', raw.as_bytes()).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `keys` as one object's keys, all with the same hash.
    fn collide(keys: &[String]) -> Result<(), Malformed> {
        let source = keys.concat();
        let mut scratch = Scratch::new(&Limits::default());
        scratch.open_object();
        let mut start = 0;
        for key in keys {
            let end = start + key.len();
            scratch.keys.push(Key {
                hash: 1,
                start: start as u32,
                end: end as u32,
            });
            start = end;
        }
        match first_duplicate(&mut scratch.keys, &source) {
            Some(at) => Err(MalformedKind::DuplicateKey.at(at as usize - 1)),
            None => Ok(()),
        }
    }

    #[test]
    fn colliding_hashes_are_neither_duplicates_nor_slow() {
        let mut keys: Vec<String> = (0..50_000).map(|n| format!("{n:06}")).collect();
        assert_eq!(collide(&keys), Ok(()));
        keys.push("000003".into());
        keys.push("\\u003000001".into());
        assert_eq!(
            collide(&keys),
            Err(MalformedKind::DuplicateKey.at(50_000 * 6 - 1))
        );
    }

    #[test]
    fn a_huge_text_does_not_pin_memory() {
        let mut scratch = Scratch::new(&Limits::default());
        scratch.keys.reserve(KEPT_KEYS + 1);
        scratch.reset();
        assert!(scratch.keys.capacity() <= KEPT_KEYS);
    }
}
