//! Recorded destination tokens, and which of them stand inside a given text.
//!
//! Every token is found by a hash of its bytes. A text that is asked about gets one
//! row of running hashes, from which the hash of any part of it follows in constant
//! time; a part is only looked at where three bytes agree with the start of a token,
//! and only at lengths that tokens starting so have. Asking does not allocate once
//! the caller's buffer has grown to the text's length.
//!
//! Knows nothing of what a token means beyond where it may stand.

use super::store::Mark;
use crate::Label;
use crate::address::{TokenKind, token_stands_at};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Shorter tokens identify nobody and are not kept.
pub(super) const MIN_TOKEN_BYTES: usize = 3;
/// Longer tokens are data (an image written as a URL), not kept, and counted as
/// dropped: a few of them would push out all others.
pub(super) const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// How a token is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Wherever a token of this kind may stand.
    Token(TokenKind),
    /// The digits of a number, whatever separates them; compared whole.
    Digits,
}

struct Entry {
    start: usize,
    len: usize,
    shape: Shape,
    label: Label,
    mark: Mark,
    /// Another entry with the same hash.
    next: Option<u32>,
}

/// The first token found in an observed and in an untrusted piece.
#[derive(Clone, Copy, Default)]
pub(super) struct Found<'a> {
    pub(super) observed: Option<&'a Mark>,
    pub(super) untrusted: Option<&'a Mark>,
}

impl<'a> Found<'a> {
    pub(super) const fn complete(&self) -> bool {
        self.observed.is_some() && self.untrusted.is_some()
    }

    fn note(&mut self, label: Label, mark: &'a Mark) {
        match label {
            Label::Trusted => {}
            Label::Observed => self.observed = self.observed.or(Some(mark)),
            Label::Untrusted => self.untrusted = self.untrusted.or(Some(mark)),
        }
    }
}

/// The recorded tokens.
pub(super) struct Index {
    text: Vec<u8>,
    entries: Vec<Entry>,
    /// From a hash to the newest entry that has it.
    by_hash: HashMap<u64, u32>,
    /// From the first three bytes of tokens to the lengths of those tokens, ascending.
    lengths: HashMap<[u8; 3], Vec<u32>>,
    /// One bit for each hashed start of a token: almost every place of a text is
    /// passed by with this alone.
    starts: Vec<u64>,
    base: u64,
    overhead: usize,
}

/// A Mersenne prime, for hashes that are easily reduced.
const PRIME: u64 = (1 << 61) - 1;
const START_BITS: usize = 1 << 16;

const fn reduce(wide: u128) -> u64 {
    let low = (wide as u64) & PRIME;
    let high = (wide >> 61) as u64;
    let sum = low + high;
    if sum >= PRIME { sum - PRIME } else { sum }
}

const fn step(hash: u64, base: u64, byte: u8) -> u64 {
    // Plus one, so that a leading zero byte counts.
    reduce(hash as u128 * base as u128 + byte as u128 + 1)
}

const fn start_bit(head: [u8; 3]) -> (usize, u64) {
    let [a, b, c] = head;
    let mixed = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> 16;
    let bit = mixed as usize % START_BITS;
    (bit / 64, 1 << (bit % 64))
}

impl Index {
    /// An empty index.
    pub(super) fn new() -> Self {
        // Secret, so that nobody can write tokens that collide.
        let base = (1 << 32) + RandomState::new().hash_one(0_u8) % (PRIME - (1 << 33));
        Self {
            text: Vec::new(),
            entries: Vec::new(),
            by_hash: HashMap::new(),
            lengths: HashMap::new(),
            starts: vec![0; START_BITS / 64],
            base,
            overhead: 0,
        }
    }

    fn hash(&self, text: &[u8]) -> u64 {
        text.iter()
            .fold(0, |hash, byte| step(hash, self.base, *byte))
    }

    /// Keeps a token, unless it is kept already with this label.
    pub(super) fn add(&mut self, token: &str, shape: Shape, label: Label, mark: &Mark) {
        let bytes = token.as_bytes();
        let Some(head) = bytes.first_chunk::<3>() else {
            return;
        };
        let (Ok(id), Ok(len)) = (
            u32::try_from(self.entries.len()),
            u32::try_from(bytes.len()),
        ) else {
            return;
        };
        let hash = self.hash(bytes);
        let newest = self.by_hash.get(&hash).copied();
        let known = self.chain(newest).any(|entry| {
            entry.shape == shape && entry.label == label && self.bytes_of(entry) == bytes
        });
        if known {
            return;
        }
        if shape != Shape::Digits {
            let (word, bit) = start_bit(*head);
            if let Some(word) = self.starts.get_mut(word) {
                *word |= bit;
            }
            let lengths = self.lengths.entry(*head).or_default();
            if let Err(at) = lengths.binary_search(&len) {
                lengths.insert(at, len);
                self.overhead += size_of::<u32>() + 48;
            }
        }
        self.overhead += Self::cost(mark);
        self.entries.push(Entry {
            start: self.text.len(),
            len: bytes.len(),
            shape,
            label,
            mark: mark.clone(),
            next: newest,
        });
        self.text.extend_from_slice(bytes);
        self.by_hash.insert(hash, id);
    }

    fn cost(mark: &Mark) -> usize {
        size_of::<Entry>() + 3 * size_of::<usize>() + mark.cost()
    }

    fn chain(&self, newest: Option<u32>) -> impl Iterator<Item = &Entry> {
        let get = |id: Option<u32>| self.entries.get(id? as usize);
        std::iter::successors(get(newest), move |entry| get(entry.next))
    }

    fn bytes_of(&self, entry: &Entry) -> &[u8] {
        self.text
            .get(entry.start..entry.start + entry.len)
            .unwrap_or_default()
    }

    /// Notes which tokens stand inside `text`. Linear in the text for ordinary tokens,
    /// at worst its length times the number of token lengths. `hashes` is a buffer.
    pub(super) fn find_in<'a>(
        &'a self,
        text: &str,
        hashes: &mut Vec<(u64, u64)>,
        found: &mut Found<'a>,
    ) {
        if self.entries.is_empty() || found.complete() {
            return;
        }
        let bytes = text.as_bytes();
        // Before each byte, and at the end: the hash of what precedes, and base^length.
        hashes.clear();
        hashes.reserve(bytes.len() + 1);
        let mut running = (0, 1);
        hashes.push(running);
        for byte in bytes {
            running = (
                step(running.0, self.base, *byte),
                reduce(u128::from(running.1) * u128::from(self.base)),
            );
            hashes.push(running);
        }
        for (at, head) in bytes.array_windows::<3>().enumerate() {
            let (word, bit) = start_bit(*head);
            if self.starts.get(word).is_none_or(|word| word & bit == 0) {
                continue;
            }
            let Some(lengths) = self.lengths.get(head) else {
                continue;
            };
            for len in lengths {
                let end = at + *len as usize;
                let Some(part) = bytes.get(at..end) else {
                    break;
                };
                let (Some(before), Some((to, power))) = (
                    hashes.get(at),
                    hashes
                        .get(*len as usize)
                        .map(|h| h.1)
                        .and_then(|power| hashes.get(end).map(|h| (h.0, power))),
                ) else {
                    break;
                };
                let hash = (to + PRIME - reduce(u128::from(before.0) * u128::from(power))) % PRIME;
                for entry in self.chain(self.by_hash.get(&hash).copied()) {
                    if let Shape::Token(kind) = entry.shape
                        && self.bytes_of(entry) == part
                        && token_stands_at(kind, text, at, end)
                    {
                        found.note(entry.label, &entry.mark);
                    }
                }
                if found.complete() {
                    return;
                }
            }
        }
    }

    /// Notes whether these digits are kept.
    pub(super) fn find_digits<'a>(&'a self, digits: &str, found: &mut Found<'a>) {
        let hash = self.hash(digits.as_bytes());
        for entry in self.chain(self.by_hash.get(&hash).copied()) {
            if entry.shape == Shape::Digits && self.bytes_of(entry) == digits.as_bytes() {
                found.note(entry.label, &entry.mark);
            }
        }
    }

    /// Forgets the older half. Returns how many.
    pub(super) fn forget_half(&mut self) -> u64 {
        let kept = self.entries.len() / 2;
        let forgotten = self.entries.len() - kept;
        let mut fresh = Self {
            base: self.base,
            ..Self::new()
        };
        for entry in self.entries.iter().skip(forgotten) {
            if let Ok(token) = std::str::from_utf8(self.bytes_of(entry)) {
                fresh.add(token, entry.shape, entry.label, &entry.mark);
            }
        }
        *self = fresh;
        forgotten as u64
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.text.len() + self.overhead
    }
}

/// Fewer digits than this are dates, times and sizes.
const MIN_DIGITS: usize = 9;
/// More digits than this are a table.
const MAX_DIGITS: usize = 40;

/// Hands over the digits of each number that could be an account or a telephone: each
/// unbroken run, and each sequence of runs with spaces, hyphens, dots, slashes or
/// brackets between them. `buffer` is the caller's.
pub(super) fn digits(text: &str, buffer: &mut String, mut each: impl FnMut(&str)) {
    buffer.clear();
    let mut run = 0;
    let mut gap = 0;
    let mut broken = false;
    let mut emit = |digits: Option<&str>| {
        if let Some(digits) = digits
            && (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
        {
            each(digits);
        }
    };
    for byte in text.bytes().chain([b'\n']) {
        if byte.is_ascii_digit() {
            if gap > 0 {
                broken = true;
                run = buffer.len();
                gap = 0;
            }
            buffer.push(char::from(byte));
            continue;
        }
        if gap == 0 && broken {
            // The end of a run that is only a part of the sequence.
            emit(buffer.get(run..));
        }
        if matches!(byte, b' ' | b'-' | b'.' | b'/' | b'(' | b')') && gap < 2 {
            if gap == 0 && !broken && !buffer.is_empty() {
                emit(Some(buffer.as_str()));
            }
            if !buffer.is_empty() {
                gap += 1;
            }
            continue;
        }
        emit(Some(buffer.as_str()));
        buffer.clear();
        (run, gap, broken) = (0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        digits(text, &mut String::new(), |d| out.push(d.to_owned()));
        out.sort_unstable();
        out.dedup();
        out
    }

    #[test]
    fn numbers_are_read_through_their_separators() {
        assert_eq!(
            numbers("de89 3704 0044 0532 0130 00"),
            ["89370400440532013000"]
        );
        assert_eq!(numbers("de89370400440532013000"), ["89370400440532013000"]);
        assert_eq!(
            numbers("call +49 (30) 123-456 78, or not"),
            ["493012345678"]
        );
        assert_eq!(numbers("on 2026-11-29, 12:30"), [""; 0]);
        assert_eq!(
            numbers("123456789 987654321"),
            ["123456789", "123456789987654321", "987654321"]
        );
        assert!(numbers(&"12 ".repeat(50)).is_empty());
    }
}
