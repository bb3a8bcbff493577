//! Which blocks of a text hold all sequences (see [`super::grams`]) of a needle.
//!
//! Blocks are numbered, and [`BLOCKS`] of them make a *section*. Each section has a
//! **fine** table: from the hash of a sequence to one bit a block. And it has a **coarse**
//! set of bits that says which sequences stand anywhere in it. So that a question need
//! not be put to each section by itself, the coarse sets of eight, then of sixty-four and
//! in the end of 512 sections of full size are turned sideways: from a sequence to one bit a
//! section.
//!
//! Every sequence sets two bits, so some seem to be there that are not, and none the
//! other way round. Putting a text in touches two tables that fit into the processor's
//! caches, however much is kept; what is turned sideways is read and written in order.
//!
//! Knows nothing of texts beyond their sequences.

use super::grams;

/// Blocks in one section: the bits of a word.
pub(super) const BLOCKS: usize = 64;
/// Bytes of a block at least and at most.
const BLOCK: (usize, usize) = (64, 4096);
/// The first sections are small, so that little text has small tables.
const FIRST_BLOCK: usize = 256;
/// Rows of the fine table for each byte of a block: half a byte for a byte of text.
const ROWS: usize = 4;
/// Bits of the coarse set for each byte of a block: half a byte for a byte of text.
const BITS: usize = 4 * BLOCKS;

/// The tables of one text that only grows.
pub(super) struct Signature {
    sections: Vec<Section>,
    /// Sections that are smaller than the rest; they come first.
    small: usize,
    /// 512 sections each: eight words a sequence.
    widest: Vec<Box<[Line]>>,
    /// The first rows of the next of them. It is made a little at a time: all at once, one
    /// output would wait for it.
    growing: Vec<Line>,
    /// Sixty-four sections each, behind those: a word a sequence.
    wide: Vec<Box<[u64]>>,
    /// Eight sections each, behind those.
    eights: Vec<Box<[u8]>>,
    /// Bytes in a block of the largest sections.
    largest: usize,
    secret: u64,
    /// Blocks begun.
    blocks: usize,
    /// Bytes that the last block still takes.
    room: usize,
    bytes: usize,
}

/// Eight words in one line of the processor's caches: rows of a fine table, or a row of
/// the widest.
#[derive(Clone)]
#[repr(align(64))]
struct Line([u64; 8]);

struct Section {
    /// Bytes in a block.
    block: usize,
    fine: Box<[Line]>,
    /// Empty when it has been turned sideways.
    coarse: Box<[u64]>,
}

/// The two rows of a sequence in a table of `1 << bits` rows. They are among the same eight,
/// so that the second costs little.
const fn rows(hash: u64, bits: u32) -> (usize, usize) {
    let first = hash >> (64 - bits);
    // Never the same row: from one to seven.
    let step = 1 + ((((hash << bits) >> 48) * 7) >> 16);
    (first as usize, (first ^ step) as usize)
}

/// See [`Section::fine_rows`].
const fn fine_rows(hash: u64, bits: u32) -> (usize, usize, usize) {
    // Other bits than those of the coarse set, so that an error there is none here.
    let (first, second) = rows(hash.rotate_left(32), bits);
    (first / 8, first % 8, second % 8)
}

/// See [`Section::coarse_bits`].
const fn coarse_bits(hash: u64, bits: u32) -> (usize, u64) {
    let (first, second) = rows(hash, bits);
    (first / 64, 1 << (first % 64) | 1 << (second % 64))
}

impl Section {
    fn new(block: usize) -> Self {
        Self {
            block,
            fine: vec![Line([0; 8]); ROWS * block / 8].into_boxed_slice(),
            coarse: vec![0; BITS * block / 64].into_boxed_slice(),
        }
    }

    fn bytes(block: usize) -> usize {
        size_of::<Self>() + 8 * ROWS * block + BITS * block / 8
    }

    /// Where a sequence is in the fine table: a line, and two rows of it.
    const fn fine_rows(&self, hash: u64) -> (usize, usize, usize) {
        fine_rows(hash, (ROWS * self.block).ilog2())
    }

    /// Where a sequence is in the coarse set: a word, and two bits of it.
    const fn coarse_bits(&self, hash: u64) -> (usize, u64) {
        coarse_bits(hash, (BITS * self.block).ilog2())
    }

    /// Notes the sequences of a text that stands in the block of this number.
    fn add(&mut self, text: &[u8], block: usize, secret: u64) {
        let bit = 1 << block;
        // All that stays the same is looked up once: this is most of the work of recording.
        let (fine, coarse) = (&mut *self.fine, &mut *self.coarse);
        let (rows, bits) = ((ROWS * self.block).ilog2(), (BITS * self.block).ilog2());
        let mut add_fine = |hash: u64| {
            let (line, first, second) = fine_rows(hash, rows);
            if let Some(Line(line)) = fine.get_mut(line) {
                for row in [first, second] {
                    if let Some(row) = line.get_mut(row) {
                        *row |= bit;
                    }
                }
            }
        };
        let mut add_coarse = |hash: u64| {
            let (word, bits) = coarse_bits(hash, bits);
            if let Some(word) = coarse.get_mut(word) {
                *word |= bits;
            }
        };
        grams::each_hash(text, secret, |hash| {
            add_fine(hash);
            add_coarse(hash);
        });
        for (long, short) in grams::long_hashes(text, secret) {
            if let Some(short) = short {
                add_fine(short);
                add_coarse(short);
            }
            if let Some(long) = long {
                add_coarse(long);
            }
        }
    }

    /// Which blocks seem to hold a sequence.
    #[inline]
    fn blocks_with(&self, hash: u64) -> u64 {
        let (line, first, second) = self.fine_rows(hash);
        self.fine.get(line).map_or(0, |Line(line)| {
            let row = |row: usize| line.get(row).copied().unwrap_or(0);
            row(first) & row(second)
        })
    }

    /// Which blocks seem to hold all of these sequences.
    fn blocks_with_all(&self, hashes: &[u64]) -> u64 {
        let mut live = u64::MAX;
        for hash in hashes {
            live &= self.blocks_with(*hash);
            if live == 0 {
                break;
            }
        }
        live
    }

    fn may_hold(&self, hashes: &[u64]) -> bool {
        hashes.iter().all(|hash| {
            let (word, bits) = self.coarse_bits(*hash);
            self.coarse
                .get(word)
                .is_some_and(|word| word & bits == bits)
        })
    }
}

impl Signature {
    /// Empty tables for a text of about `expected` bytes.
    pub(super) fn new(expected: usize, secret: u64) -> Self {
        let (least, most) = BLOCK;
        let largest = (expected / (4 * BLOCKS)).clamp(least, most);
        Self {
            sections: Vec::new(),
            small: 0,
            widest: Vec::new(),
            growing: Vec::new(),
            wide: Vec::new(),
            eights: Vec::new(),
            largest: 1 << largest.ilog2(),
            secret,
            blocks: 0,
            room: 0,
            bytes: 0,
        }
    }

    /// Begins a new block if the last one is full. `length` is what has been put in before.
    /// Returns the number of a block that has been begun.
    pub(super) fn begin(&mut self, length: usize) -> Option<usize> {
        if self.room > 0 {
            return None;
        }
        self.grow();
        if self.blocks.is_multiple_of(BLOCKS) {
            self.turn();
            let block = (length / BLOCKS).clamp(FIRST_BLOCK.min(self.largest), self.largest);
            let block = 1 << block.ilog2();
            self.small += usize::from(block < self.largest);
            self.sections.push(Section::new(block));
            self.bytes += Section::bytes(block);
        }
        self.room = self.sections.last().map_or(0, |section| section.block);
        self.blocks += 1;
        Some(self.blocks - 1)
    }

    /// Bytes that the last block still takes.
    pub(super) const fn room(&self) -> usize {
        self.room
    }

    /// Puts a stretch of text into the last block, of which `bytes` bytes count.
    pub(super) fn add(&mut self, text: &[u8], bytes: usize) {
        self.room = self.room.saturating_sub(bytes);
        let block = self.blocks.saturating_sub(1) % BLOCKS;
        let secret = self.secret;
        if let Some(section) = self.sections.last_mut() {
            section.add(text, block, secret);
        }
    }

    /// Turns the coarse sets of full sections sideways, as far as there are enough.
    fn turn(&mut self) {
        let wide = BLOCKS * (8 * self.widest.len() + self.wide.len());
        let turned = self.small + wide + 8 * self.eights.len();
        let Some(fresh) = self.sections.get_mut(turned..) else {
            return;
        };
        if let [a, b, c, d, e, f, g, h] = fresh {
            let sets = [a, b, c, d, e, f, g, h].map(|section| std::mem::take(&mut section.coarse));
            self.eights.push(sideways(&sets));
        }
        if let [a, b, c, d, e, f, g, h] = self.eights.as_slice() {
            let rows = a.iter().zip(b).zip(c.iter().zip(d));
            let more = e.iter().zip(f).zip(g.iter().zip(h));
            let wide = rows.zip(more).map(|(((a, b), (c, d)), ((e, f), (g, h)))| {
                u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
            });
            self.wide.push(wide.collect());
            self.eights.clear();
        }
    }

    /// Makes a few more rows of the next widest table, if there is enough for one.
    fn grow(&mut self) {
        let Some([a, b, c, d, e, f, g, h]) = self.wide.first_chunk() else {
            return;
        };
        let rows = a.len();
        if self.growing.is_empty() {
            self.growing.reserve_exact(rows);
        }
        let from = self.growing.len();
        let to = rows.min(from + STEP);
        let word = |wide: &[u64], row: usize| wide.get(row).copied().unwrap_or(0);
        let line = |row| Line([a, b, c, d, e, f, g, h].map(|wide| word(wide, row)));
        self.growing.extend((from..to).map(line));
        self.bytes += (to - from) * size_of::<Line>();
        if to == rows {
            self.bytes -= rows * size_of::<Line>();
            self.widest
                .push(std::mem::take(&mut self.growing).into_boxed_slice());
            self.wide.drain(..8);
        }
    }

    /// Hands over the blocks that seem to hold all sequences of a needle, until `each`
    /// returns something. `coarse` are those that tell most, long ones among them; `fine`
    /// are all but the longest.
    pub(super) fn search<T>(
        &self,
        coarse: &[u64],
        fine: &[u64],
        mut each: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        // Blocks of the last section that have not been begun hold nothing.
        let mut look = |from: usize, live: u64| {
            let live = self.sections_with(from, live, fine);
            bits(live).find_map(|at| {
                let blocks = self.sections.get(from + at)?.blocks_with_all(fine);
                bits(blocks).find_map(|block| each((from + at) * BLOCKS + block))
            })
        };
        let raw = |from: usize, to: usize| {
            let sections = self.sections.get(from..to).unwrap_or_default();
            let live = sections
                .iter()
                .zip(0..BLOCKS)
                .map(|(s, at)| u64::from(s.may_hold(coarse)) << at);
            live.fold(0, |all, one| all | one)
        };
        if let Some(found) = look(0, raw(0, self.small)) {
            return Some(found);
        }
        let bits = (BITS * self.largest).ilog2();
        let mut from = self.small;
        for widest in &self.widest {
            for live in live_in_widest(widest, coarse, bits) {
                if let Some(found) = look(from, live) {
                    return Some(found);
                }
                from += BLOCKS;
            }
        }
        for wides in self.wide.chunks(TOGETHER) {
            for live in live_in(wides, coarse, bits).into_iter().take(wides.len()) {
                if let Some(found) = look(from, live) {
                    return Some(found);
                }
                from += BLOCKS;
            }
        }
        for eight in &self.eights {
            let mut live = u8::MAX;
            for (first, second) in coarse.iter().map(|hash| rows(*hash, bits)) {
                let row = |row: usize| eight.get(row).copied().unwrap_or(0);
                live &= row(first) & row(second);
                if live == 0 {
                    break;
                }
            }
            if let Some(found) = look(from, live.into()) {
                return Some(found);
            }
            from += 8;
        }
        look(from, raw(from, self.sections.len()))
    }

    /// Of the sections from a number on whose bits are set, those that go on after a first
    /// look at their fine tables. All of them at once, which takes little longer than one.
    fn sections_with(&self, from: usize, live: u64, fine: &[u64]) -> u64 {
        let some = fine.get(..6).unwrap_or(fine);
        bits(live).fold(0, |all, at| {
            let blocks = self.sections.get(from + at).map_or(0, |section| {
                some.iter()
                    .fold(u64::MAX, |live, hash| live & section.blocks_with(*hash))
            });
            all | u64::from(blocks != 0) << at
        })
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Rows of a widest table that are made whenever a block is begun. All are there long
/// before the next table is due.
const STEP: usize = 1024;

/// The sections of one of the widest tables that seem to hold all sequences.
fn live_in_widest(widest: &[Line], coarse: &[u64], bits: u32) -> [u64; 8] {
    let row = |row: usize| widest.get(row).map_or([0; 8], |Line(row)| *row);
    let mut live = [u64::MAX; 8];
    // As below: some rows are waited for together.
    for some in coarse.chunks(3) {
        for (first, second) in some.iter().map(|hash| rows(*hash, bits)) {
            for (live, (one, other)) in live.iter_mut().zip(row(first).iter().zip(row(second))) {
                *live &= one & other;
            }
        }
        if live == [0; 8] {
            break;
        }
    }
    live
}

/// So many wide tables are asked at once.
const TOGETHER: usize = 16;

/// For each of up to [`TOGETHER`] wide tables, the sections that seem to hold all sequences.
///
/// Each row is a place in memory that has to be waited for. So all tables are asked for
/// some sequences, which are waited for together, before any is asked for more.
fn live_in(wides: &[Box<[u64]>], coarse: &[u64], bits: u32) -> [u64; TOGETHER] {
    let mut all = [u64::MAX; TOGETHER];
    for some in coarse.chunks(3) {
        let mut rows_of = [(0, 0); 3];
        for (rows_of, hash) in rows_of.iter_mut().zip(some) {
            *rows_of = rows(*hash, bits);
        }
        let rows_of = rows_of.get(..some.len()).unwrap_or_default();
        for (live, wide) in all.iter_mut().zip(wides).filter(|(live, _)| **live != 0) {
            let row = |row: usize| wide.get(row).copied().unwrap_or(0);
            *live = rows_of.iter().fold(*live, |live, (first, second)| {
                live & row(*first) & row(*second)
            });
        }
    }
    all
}

/// The places of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (at < 64).then_some(at as usize)
    })
}

/// From eight sets of bits, one byte a bit: bit `n` of byte `i` is bit `i` of set `n`.
fn sideways(sets: &[Box<[u64]>; 8]) -> Box<[u8]> {
    let [a, b, c, d, e, f, g, h] = sets;
    let rows = a.iter().zip(b).zip(c.iter().zip(d));
    let more = e.iter().zip(f).zip(g.iter().zip(h));
    let mut out = Vec::with_capacity(a.len() * 64);
    for (((a, b), (c, d)), ((e, f), (g, h))) in rows.zip(more) {
        for byte in 0..8 {
            let mut square = 0;
            for word in [h, g, f, e, d, c, b, a] {
                square = square << 8 | (word >> (8 * byte) & 0xff);
            }
            out.extend_from_slice(&transposed(square).to_le_bytes());
        }
    }
    out.into_boxed_slice()
}

/// Eight rows of eight bits, turned over their diagonal.
const fn transposed(square: u64) -> u64 {
    let swap = (square ^ (square >> 7)) & 0x00aa_00aa_00aa_00aa;
    let square = square ^ swap ^ (swap << 7);
    let swap = (square ^ (square >> 14)) & 0x0000_cccc_0000_cccc;
    let square = square ^ swap ^ (swap << 14);
    let swap = (square ^ (square >> 28)) & 0x0000_0000_f0f0_f0f0;
    square ^ swap ^ (swap << 28)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn squares_turn_over() {
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            assert_eq!(transposed(1 << (8 * row + column)), 1 << (8 * column + row));
        }
    }

    const SECRET: u64 = 0x1234_5678_9abc_def1;

    /// One short text a block, so that all kinds of tables are there soon.
    fn filled(texts: usize, largest: usize) -> Signature {
        let mut signature = Signature::new(largest * 4 * BLOCKS, SECRET);
        for number in 0..texts {
            assert_eq!(signature.begin(number * largest), Some(number));
            signature.add(text(number).as_bytes(), usize::MAX);
        }
        signature
    }

    fn text(number: usize) -> String {
        format!("text{number:05}")
    }

    #[test]
    fn every_block_is_found_in_tables_of_every_width() {
        // More than 512 + 64 + 8 full sections, and a few small ones.
        let texts = 590 * BLOCKS + 3;
        let signature = filled(texts, 512);
        let tables = [
            signature.widest.len(),
            signature.wide.len(),
            signature.eights.len(),
        ];
        assert!(signature.small > 0 && tables == [1, 1, 1], "{tables:?}");
        let mut wrong = 0;
        for number in 0..texts {
            let hashes: Vec<u64> = grams::hashes(text(number).as_bytes(), SECRET).collect();
            let mut there = Vec::new();
            let found: Option<()> = signature.search(&hashes, &hashes, |block| {
                there.push(block);
                None
            });
            assert!(
                found.is_none() && there.contains(&number),
                "{number} {there:?}"
            );
            wrong += there.len() - 1;
        }
        assert!(wrong < texts / 100, "{wrong}");
        assert_eq!(signature.search(&[12345 << 40], &[12345 << 40], Some), None);
    }

    proptest! {
        #[test]
        fn rows_differ_and_are_neighbours(hash in any::<u64>(), bits in 6_u32..30) {
            let (first, second) = rows(hash, bits);
            prop_assert!(first != second && first < 1 << bits);
            prop_assert_eq!(first / 8, second / 8);
        }
    }
}
