//! Which blocks of a text hold all sequences (see [`super::grams`]) of a needle.
//!
//! Blocks are numbered, and [`BLOCKS`] of them make a *section*. Each section has a
//! **fine** table: from the hash of a sequence to one bit a block. And it has a **coarse**
//! set of bits that says which sequences stand anywhere in it. So that a question need
//! not be put to each section by itself, the coarse sets of eight, and then of sixty-four
//! sections of full size are turned sideways: from a sequence to one bit a section.
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
    /// Sixty-four sections each: a word a sequence.
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

struct Section {
    /// Bytes in a block.
    block: usize,
    fine: Box<[u64]>,
    /// Empty when it has been turned sideways.
    coarse: Box<[u64]>,
}

/// The two rows of a sequence in a table of `1 << bits` rows; they are neighbours, so that
/// the second costs little. `span` is a power of two.
const fn rows(hash: u64, bits: u32, span: u64) -> (usize, usize) {
    let first = hash >> (64 - bits);
    // Never the same row: from 1 to `span - 1`.
    let step = 1 + (((hash << bits) >> 48) * (span - 1) >> 16);
    (first as usize, (first ^ step) as usize)
}

impl Section {
    fn new(block: usize) -> Self {
        Self {
            block,
            fine: vec![0; ROWS * block].into_boxed_slice(),
            coarse: vec![0; BITS * block / 64].into_boxed_slice(),
        }
    }

    fn bytes(block: usize) -> usize {
        size_of::<Self>() + 8 * ROWS * block + BITS * block / 8
    }

    fn fine_rows(&self, hash: u64) -> (usize, usize) {
        // Other bits than those of the coarse set, so that an error there is none here.
        rows(hash.rotate_left(32), (ROWS * self.block).ilog2(), 8)
    }

    fn coarse_rows(block: usize, hash: u64) -> (usize, usize) {
        rows(hash, (BITS * block).ilog2(), 512)
    }

    fn add(&mut self, text: &[u8], block: usize, secret: u64) {
        let bit = 1 << block;
        for hash in grams::hashes(text, secret) {
            let (first, second) = self.fine_rows(hash);
            for row in [first, second] {
                if let Some(row) = self.fine.get_mut(row) {
                    *row |= bit;
                }
            }
            self.add_coarse(hash);
        }
        for (long, short) in grams::long_hashes(text, secret) {
            for hash in [long, short].into_iter().flatten() {
                self.add_coarse(hash);
            }
        }
    }

    fn add_coarse(&mut self, hash: u64) {
        let (first, second) = Self::coarse_rows(self.block, hash);
        for row in [first, second] {
            if let Some(word) = self.coarse.get_mut(row / 64) {
                *word |= 1 << (row % 64);
            }
        }
    }

    /// Which blocks seem to hold all of these sequences.
    fn blocks_with(&self, hashes: &[u64]) -> u64 {
        let mut live = u64::MAX;
        for hash in hashes {
            let (first, second) = self.fine_rows(*hash);
            let row = |row: usize| self.fine.get(row).copied().unwrap_or(0);
            live &= row(first) & row(second);
            if live == 0 {
                break;
            }
        }
        live
    }

    fn may_hold(&self, hashes: &[u64]) -> bool {
        hashes.iter().all(|hash| {
            let (first, second) = Self::coarse_rows(self.block, *hash);
            let bit = |row: usize| {
                let word = self.coarse.get(row / 64);
                word.is_some_and(|word| word >> (row % 64) & 1 == 1)
            };
            bit(first) & bit(second)
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
        let turned = self.small + BLOCKS * self.wide.len() + 8 * self.eights.len();
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

    /// Hands over the blocks that seem to hold all of these sequences, until `each` returns
    /// something. `some` are those that are asked for first, long ones among them.
    pub(super) fn search<T>(
        &self,
        some: &[u64],
        hashes: &[u64],
        mut each: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let mut look = |section: usize| {
            let number = section * BLOCKS;
            let section = self.sections.get(section)?;
            bits(section.blocks_with(hashes)).find_map(|block| each(number + block))
        };
        // The last blocks of the last section have not been begun, and hold nothing.
        let raw = |from: usize, to: usize| {
            let sections = self.sections.get(from..to).unwrap_or_default();
            (from..)
                .zip(sections)
                .filter(|(_, s)| s.may_hold(some))
                .map(|(at, _)| at)
        };
        for section in raw(0, self.small) {
            if let Some(found) = look(section) {
                return Some(found);
            }
        }
        let coarse = |hash: &u64| Section::coarse_rows(self.largest, *hash);
        let mut from = self.small;
        for wide in &self.wide {
            let mut live = u64::MAX;
            for (first, second) in some.iter().map(coarse) {
                let row = |row: usize| wide.get(row).copied().unwrap_or(0);
                live &= row(first) & row(second);
                if live == 0 {
                    break;
                }
            }
            if let Some(found) = bits(live).find_map(|at| look(from + at)) {
                return Some(found);
            }
            from += BLOCKS;
        }
        for eight in &self.eights {
            let mut live = u8::MAX;
            for (first, second) in some.iter().map(coarse) {
                let row = |row: usize| eight.get(row).copied().unwrap_or(0);
                live &= row(first) & row(second);
                if live == 0 {
                    break;
                }
            }
            if let Some(found) = bits(live.into()).find_map(|at| look(from + at)) {
                return Some(found);
            }
            from += 8;
        }
        let found = raw(from, self.sections.len()).find_map(look);
        found
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
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
        // More than 64 + 8 full sections, and a few small ones.
        let signature = filled(76 * BLOCKS + 3, 512);
        assert!(signature.small > 0 && signature.wide.len() == 1 && signature.eights.len() == 1);
        let mut wrong = 0;
        for number in 0..76 * BLOCKS + 3 {
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
        assert!(wrong < 100, "{wrong}");
        assert_eq!(signature.search(&[12345 << 40], &[12345 << 40], Some), None);
    }

    proptest! {
        #[test]
        fn rows_differ_and_lie_within_their_table(hash in any::<u64>(), bits in 9_u32..30) {
            for span in [8, 512] {
                let (first, second) = rows(hash, bits, span);
                prop_assert!(first != second && first < 1 << bits && second < 1 << bits);
                prop_assert_eq!(first / span as usize, second / span as usize);
            }
        }
    }
}
