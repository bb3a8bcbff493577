//! Recorded destination tokens, and which of them stand inside a given text.
//!
//! Every token is found by a hash of its bytes. A text that is asked about gets one row of
//! running hashes, from which the hash of any part of it follows in constant time. Tokens
//! of every kind begin and end where letters and digits do ([`token_stands_at`]), so only
//! parts between such places are looked at, and of these only parts whose first bytes and
//! whose length some token has. Asking does not allocate once the caller's buffer has
//! grown to the text's length.
//!
//! Knows nothing of what a token means beyond where it may stand.

use super::lists::Lists;
use super::store::{Hit, Mark};
use bouncer_plan::Label;
use bouncer_reader::address::{TokenKind, token_stands_at};
use bouncer_reader::block::{places, wanted};
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

/// Shorter tokens identify nobody and are not kept.
pub(super) const MIN_TOKEN_BYTES: usize = 3;
/// Longer tokens are data (an image written as a URL), not kept, and counted as
/// dropped: a few of them would push out all others.
pub(super) const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// How many first bytes of a token lead to its length. A token has the longest head that
/// it fills, so that `https://` leads to few lengths.
pub(super) const HEADS: [usize; 3] = [MIN_TOKEN_BYTES, 8, 16];

/// How a token is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Wherever a token of this kind may stand.
    Token(TokenKind),
    /// The digits of a number, whatever separates them; compared whole.
    Digits,
}

struct Entry {
    start: u32,
    len: u16,
    shape: Shape,
    label: Label,
    /// Number of the mark.
    mark: u32,
}

/// The first piece found of those that are observed and of those that are untrusted.
#[derive(Clone, Copy, Default)]
pub(super) struct Found<'a> {
    pub(super) observed: Option<Hit<'a>>,
    pub(super) untrusted: Option<Hit<'a>>,
}

impl<'a> Found<'a> {
    pub(super) const fn complete(&self) -> bool {
        self.observed.is_some() && self.untrusted.is_some()
    }

    fn note(&mut self, label: Label, hit: Hit<'a>) {
        match label {
            Label::Trusted => {}
            Label::Observed => self.observed = self.observed.or(Some(hit)),
            Label::Untrusted => self.untrusted = self.untrusted.or(Some(hit)),
        }
    }
}

/// The recorded tokens, in generations: the oldest can be forgotten.
pub(super) struct Index {
    generations: VecDeque<Generation>,
    limit: usize,
    hasher: Hasher,
}

/// Bytes of tokens in one generation: their offsets have 32 bits, and the numbers of tokens
/// of at least three bytes 30.
const MAX_TEXT: usize = 1 << 31;

struct Generation {
    text: Vec<u8>,
    entries: Vec<Entry>,
    /// Tokens of one piece share one.
    marks: Vec<Mark>,
    /// From the hash of a token to its entries.
    tokens: Lists,
    /// From the hash of a head to the lengths of tokens.
    lengths: Lists,
    overhead: usize,
}

/// Hashes whose base is secret, so that nobody can write tokens that collide.
struct Hasher {
    base: u64,
    /// The second to fourth power of the base.
    powers: [u64; 3],
    secret: u64,
}

/// A Mersenne prime, for hashes that are easily reduced.
const PRIME: u64 = (1 << 61) - 1;

/// The remainder of anything below two to the 125th.
const fn reduce(wide: u128) -> u64 {
    let sum = ((wide as u64) & PRIME) + ((wide >> 61) as u64);
    let sum = (sum & PRIME) + (sum >> 61);
    if sum >= PRIME { sum - PRIME } else { sum }
}

impl Hasher {
    fn new() -> Self {
        let random = RandomState::new();
        let base = (1 << 32) + random.hash_one(0_u8) % (PRIME - (1 << 33));
        let times = |power: u64| reduce(u128::from(power) * u128::from(base));
        let second = times(base);
        let third = times(second);
        Self {
            base,
            powers: [second, third, times(third)],
            secret: random.hash_one(1_u8) | 1,
        }
    }

    const fn step(&self, hash: u64, byte: u8) -> u64 {
        // Plus one, so that a leading zero byte counts.
        reduce(hash as u128 * self.base as u128 + byte as u128 + 1)
    }

    fn hash(&self, text: &[u8]) -> u64 {
        self.go_on(0, text)
    }

    /// The hash of what `hash` is of, followed by `text`. Four bytes a step, since a step
    /// has to wait for the one before.
    fn go_on(&self, hash: u64, text: &[u8]) -> u64 {
        let [second, third, fourth] = self.powers;
        let (fours, rest) = text.as_chunks::<4>();
        let hash = fours.iter().fold(hash, |hash, &[a, b, c, d]| {
            let times = |power: u64, byte: u8| u128::from(power) * (u128::from(byte) + 1);
            let four = times(third, a) + times(second, b) + times(self.base, c) + times(1, d);
            reduce(u128::from(hash) * u128::from(fourth) + four)
        });
        rest.iter().fold(hash, |hash, byte| self.step(hash, *byte))
    }

    /// Spreads a hash over all bits; heads of different lengths are kept apart.
    const fn spread(&self, hash: u64, len: usize) -> u64 {
        let wide = (hash ^ (len as u64) << 56) as u128 * self.secret as u128;
        (wide as u64 ^ (wide >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Before each byte of a text, and at its end: the hash of what precedes, and the
    /// power of the base that goes with its length.
    fn row(&self, text: &[u8], row: &mut Vec<(u64, u64)>) {
        row.clear();
        row.reserve(text.len() + 1);
        let mut running = (0, 1);
        row.push(running);
        for byte in text {
            running = (
                self.step(running.0, *byte),
                reduce(u128::from(running.1) * u128::from(self.base)),
            );
            row.push(running);
        }
    }
}

/// Parts of a destination that are tried at most, and how many more for each of its bytes.
const SPARE_PARTS: usize = 1 << 16;
const PARTS_A_BYTE: usize = 4;

/// Places in memory that are asked for together, so that one is not waited for after the
/// other.
const TOGETHER: usize = 24;

/// Takes the next few items, as many as there is room for. None: there are no more.
fn next_few<'r, T>(items: &mut impl Iterator<Item = T>, room: &'r mut [T; TOGETHER]) -> &'r [T] {
    let taken = room
        .iter_mut()
        .zip(items)
        .map(|(place, item)| *place = item);
    let count = taken.count();
    room.get(..count).unwrap_or_default()
}

/// The hash of a part of the text that `row` is of.
fn part_hash(row: &[(u64, u64)], start: usize, end: usize) -> Option<u64> {
    let (before, _) = *row.get(start)?;
    let (whole, _) = *row.get(end)?;
    let (_, power) = *row.get(end.checked_sub(start)?)?;
    let before = reduce(u128::from(before) * u128::from(power));
    Some(if whole >= before {
        whole - before
    } else {
        whole + PRIME - before
    })
}

impl Index {
    /// An empty index that keeps about `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            generations: VecDeque::new(),
            limit,
            hasher: Hasher::new(),
        }
    }

    /// Whether no token is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.generations.is_empty()
    }

    /// How many generations there are.
    pub(super) fn generations(&self) -> usize {
        self.generations.len()
    }

    /// Keeps a token, unless it is kept already with this label.
    pub(super) fn add(&mut self, token: &str, shape: Shape, label: Label, mark: &Mark) {
        let token = token.as_bytes();
        let head = HEADS.iter().rfind(|head| token.len() >= **head);
        let Some((head, rest)) = head.and_then(|head| token.split_at_checked(*head)) else {
            return;
        };
        let head_hash = self.hasher.hash(head);
        let hash = self.hasher.spread(self.hasher.go_on(head_hash, rest), 0);
        let full = self
            .generations
            .back()
            .is_none_or(|newest| newest.bytes() > self.limit / 2 || newest.text.len() > MAX_TEXT);
        if full {
            self.generations.push_back(Generation::new(self.limit / 2));
        }
        if let Some(newest) = self.generations.back_mut()
            && newest.add(token, hash, shape, label, mark)
            && shape != Shape::Digits
        {
            let hash = self.hasher.spread(head_hash, head.len());
            newest.add_length(hash, token.len());
        }
    }

    /// Hands over all tokens.
    pub(super) fn each(&self, mut each: impl FnMut(&[u8], Shape)) {
        for generation in &self.generations {
            for entry in &generation.entries {
                each(generation.token(entry), entry.shape);
            }
        }
    }

    /// Notes which tokens stand inside `text`. Linear in the text: where so many tokens begin
    /// alike that not all parts of it can be tried, it counts as holding the strictest of
    /// them. `row` is a buffer.
    pub(super) fn find_in<'a>(
        &'a self,
        text: &str,
        row: &mut Vec<(u64, u64)>,
        found: &mut Found<'a>,
    ) {
        if self.generations.is_empty() || found.complete() {
            return;
        }
        let bytes = text.as_bytes();
        self.hasher.row(bytes, row);
        let joins = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_alphanumeric)
        };
        let starts = (0..bytes.len()).filter(|at| !joins(at.checked_sub(1)));
        let row = row.as_slice();
        let mut heads = starts.flat_map(|at| {
            HEADS.iter().map_while(move |len| {
                let hash = part_hash(row, at, at + len)?;
                Some((at, self.hasher.spread(hash, *len)))
            })
        });
        // Parts that may be tried: a page of recorded hosts has hundreds that begin alike.
        let (most, tried) = (SPARE_PARTS + PARTS_A_BYTE * bytes.len(), Cell::new(0));
        let (mut heads_room, mut parts_room) = ([(0, 0); TOGETHER], [(0, 0, 0); TOGETHER]);
        loop {
            let some = next_few(&mut heads, &mut heads_room);
            if some.is_empty() {
                break;
            }
            for generation in &self.generations {
                generation.lengths.touch(some.iter().map(|(_, head)| *head));
                let mut parts = some.iter().flat_map(|&(at, head)| {
                    let lengths = generation.lengths.all(head);
                    let tried = &tried;
                    lengths.filter_map(move |len| {
                        tried.set(tried.get() + 1);
                        let end = at + len as usize;
                        let hash = part_hash(row, at, end).filter(|_| !joins(Some(end)))?;
                        Some((at, end, self.hasher.spread(hash, 0)))
                    })
                });
                loop {
                    let few = next_few(&mut parts, &mut parts_room);
                    if tried.get() > most {
                        return self.suspect(found);
                    }
                    if few.is_empty() {
                        break;
                    }
                    generation
                        .tokens
                        .touch(few.iter().map(|(_, _, hash)| *hash));
                    for &(at, end, hash) in few {
                        let part = bytes.get(at..end).unwrap_or_default();
                        generation.note(hash, part, found, |shape| match shape {
                            Shape::Token(kind) => token_stands_at(kind, text, at, end),
                            Shape::Digits => false,
                        });
                        if found.complete() {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Notes the newest token of the strictest label that there is.
    fn suspect<'a>(&'a self, found: &mut Found<'a>) {
        for label in [Label::Untrusted, Label::Observed] {
            let newest_first = self.generations.iter().rev();
            let hit = newest_first.flat_map(|generation| {
                let of_label = move |entry: &&Entry| entry.label == label;
                generation
                    .entries
                    .iter()
                    .rev()
                    .filter(of_label)
                    .filter_map(|entry| {
                        let mark = generation.marks.get(entry.mark as usize)?;
                        let excerpt = std::str::from_utf8(generation.token(entry)).ok()?;
                        Some(Hit { mark, excerpt })
                    })
            });
            if let Some(hit) = { hit }.next() {
                found.note(label, hit);
                return;
            }
        }
    }

    /// Notes whether these digits are kept.
    pub(super) fn find_digits<'a>(&'a self, digits: &str, found: &mut Found<'a>) {
        let hash = self.hasher.spread(self.hasher.hash(digits.as_bytes()), 0);
        for generation in &self.generations {
            generation.note(hash, digits.as_bytes(), found, |shape| {
                shape == Shape::Digits
            });
        }
    }

    /// Forgets the oldest tokens if there are too many. Returns how many.
    pub(super) fn stay_bounded(&mut self) -> u64 {
        let mut forgotten = 0;
        while self.bytes() > self.limit
            && let Some(oldest) = self.generations.pop_front()
        {
            forgotten += oldest.entries.len() as u64;
        }
        forgotten
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.generations.iter().map(Generation::bytes).sum()
    }
}

impl Generation {
    fn new(limit: usize) -> Self {
        // A token costs about a hundred bytes.
        Self {
            text: Vec::new(),
            entries: Vec::new(),
            marks: Vec::new(),
            tokens: Lists::new(limit / 100),
            lengths: Lists::new(limit / 1000),
            overhead: size_of::<Self>(),
        }
    }

    /// Returns whether the token is new.
    fn add(&mut self, token: &[u8], hash: u64, shape: Shape, label: Label, mark: &Mark) -> bool {
        let known = self
            .entries_of(hash, token)
            .any(|entry| entry.shape == shape && entry.label == label);
        let (Ok(id), Ok(start), Ok(len)) = (
            u32::try_from(self.entries.len()),
            u32::try_from(self.text.len()),
            u16::try_from(token.len()),
        ) else {
            return false;
        };
        if known {
            return false;
        }
        self.text.extend_from_slice(token);
        self.overhead += size_of::<Entry>();
        if self.marks.last().is_none_or(|last| !last.is(mark)) {
            self.overhead += mark.cost();
            self.marks.push(mark.clone());
        }
        self.entries.push(Entry {
            start,
            len,
            shape,
            label,
            mark: (self.marks.len() - 1) as u32,
        });
        self.tokens.append(hash, id);
        true
    }

    fn add_length(&mut self, head: u64, len: usize) {
        let Ok(len) = u32::try_from(len) else { return };
        if !self.lengths.all(head).any(|known| known == len) {
            self.lengths.append(head, len);
        }
    }

    fn entries_of(&self, hash: u64, token: &[u8]) -> impl Iterator<Item = &Entry> {
        self.tokens
            .all(hash)
            .filter_map(|id| self.entries.get(id as usize))
            .filter(move |entry| self.token(entry) == token)
    }

    fn token(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize;
        self.text
            .get(start..start + usize::from(entry.len))
            .unwrap_or_default()
    }

    fn note<'a>(
        &'a self,
        hash: u64,
        token: &[u8],
        found: &mut Found<'a>,
        fits: impl Fn(Shape) -> bool,
    ) {
        for entry in self.entries_of(hash, token) {
            if fits(entry.shape)
                && let Some(mark) = self.marks.get(entry.mark as usize)
            {
                let excerpt = std::str::from_utf8(self.token(entry)).unwrap_or_default();
                found.note(entry.label, Hit { mark, excerpt });
            }
        }
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.tokens.bytes() + self.lengths.bytes() + self.overhead
    }
}

/// Fewer digits than this are dates, times and sizes.
const MIN_DIGITS: usize = 9;
/// More digits than this are a table.
const MAX_DIGITS: usize = 40;

/// Hands over the digits of each number that could be an account or a telephone: each
/// unbroken run, and each sequence of runs with up to three spaces, hyphens, dots, slashes,
/// underscores or brackets between them. `buffer` is the caller's.
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
    let bytes = text.as_bytes();
    let mut starts = places(bytes, wanted!(|b| b.within(b'0', b'9')));
    let mut at = 0;
    while at <= bytes.len() {
        if buffer.is_empty() {
            // Most text holds no digits.
            let Some(start) = starts.find(|start| *start >= at) else {
                break;
            };
            at = start;
        }
        let byte = bytes.get(at).copied().unwrap_or(b'\n');
        at += 1;
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
        // Of more than one byte: the hyphens and dashes of typeset text, the minus and the dot
        // in the middle.
        let wide = match bytes.get(at - 1..) {
            Some([0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x88, 0x92, ..]) => 2,
            Some([0xc2, 0xb7, ..]) => 1,
            _ => 0,
        };
        let separates = matches!(byte, b' ' | b'-' | b'.' | b'/' | b'(' | b')' | b'_');
        if (separates || wide > 0) && gap < 3 {
            at += wide;
            if gap == 0 && !broken {
                emit(Some(buffer.as_str()));
            }
            gap += 1;
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
    fn a_hash_can_go_on_from_any_place() {
        let hasher = Hasher::new();
        let text: Vec<u8> = (0..=u8::MAX).rev().collect();
        let slow = text.iter().fold(0, |hash, byte| hasher.step(hash, *byte));
        for at in 0..=text.len() {
            let (head, rest) = text.split_at(at);
            assert_eq!(hasher.go_on(hasher.hash(head), rest), slow);
        }
        let mut row = Vec::new();
        hasher.row(&text, &mut row);
        for (start, end) in [(0, 256), (3, 17), (200, 256), (9, 9)] {
            assert_eq!(
                part_hash(&row, start, end),
                Some(hasher.hash(&text[start..end]))
            );
        }
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
