//! Where in a text some bytes are, sixteen at a time.
//!
//! What is wanted is said in terms of a whole [`Block`]: `block.is(b'"') | block.within(0,
//! 0x1f)`. Everything here takes linear time, allocates nothing, and knows nothing of
//! what the bytes mean.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{Block, Flags};
#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::{Block, Flags};

/// Bytes in a block.
const BYTES: usize = 16;

/// Fewer bytes than a block has, and zeros behind them.
#[inline(always)]
fn short(bytes: &[u8]) -> Block {
    match bytes.split_first_chunk::<8>() {
        Some((first, rest)) => Block::of_words(u64::from_le_bytes(*first), tail_word(rest)),
        None => Block::of_words(tail_word(bytes), 0),
    }
}

/// Up to seven bytes as a little-endian word, the missing ones zero.
pub(crate) fn tail_word(tail: &[u8]) -> u64 {
    // From four bytes up two overlapping reads do; what overlaps is the same.
    if let (Some(first), Some(last)) = (tail.first_chunk::<4>(), tail.last_chunk::<4>()) {
        let shift = (tail.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*first))
            | (u64::from(u32::from_le_bytes(*last)) << shift);
    }
    tail.iter()
        .rev()
        .fold(0, |word, &byte| (word << 8) | u64::from(byte))
}

/// Flags of four blocks, joined only to see whether there are any.
struct Wide([Flags; 4]);

impl Wide {
    #[inline(always)]
    fn any(&self) -> bool {
        let [a, b, c, d] = self.0;
        (a | b | c | d).mask() != 0
    }

    /// A bit for each of sixty-four bytes.
    #[inline(always)]
    fn mask(&self) -> u64 {
        let word = |mask, flags: &Flags| mask << BYTES | u64::from(flags.mask());
        self.0.iter().rev().fold(0, word)
    }
}

/// The first wanted byte.
#[inline(always)]
pub(crate) fn find(bytes: &[u8], wanted: impl Fn(Block) -> Flags) -> Option<usize> {
    let mut at = 0;
    let mut rest = bytes;
    loop {
        // Most are near: two blocks by themselves, before four are looked at together.
        for _ in 0..2 {
            let Some((block, tail)) = rest.split_first_chunk::<BYTES>() else {
                return find_last(bytes, rest, wanted);
            };
            let mask = wanted(Block::of(block)).mask();
            if mask != 0 {
                return Some(at + mask.trailing_zeros() as usize);
            }
            at += BYTES;
            rest = tail;
        }
        while let Some((stretch, tail)) = rest.split_first_chunk::<{ 4 * BYTES }>() {
            let (blocks, _) = stretch.as_chunks::<BYTES>();
            let &[a, b, c, d] = blocks else { break };
            let flags = Wide([a, b, c, d].map(|block| wanted(Block::of(&block))));
            if flags.any() {
                return Some(at + flags.mask().trailing_zeros() as usize);
            }
            at += 4 * BYTES;
            rest = tail;
        }
    }
}

/// The first wanted byte of `rest`, the last bytes of `bytes`, fewer than a block has. Before
/// them none is wanted.
#[inline(always)]
fn find_last(bytes: &[u8], rest: &[u8], wanted: impl Fn(Block) -> Flags) -> Option<usize> {
    if rest.is_empty() {
        return None;
    }
    let (start, mask) = match bytes.last_chunk::<BYTES>() {
        Some(block) => (bytes.len() - BYTES, wanted(Block::of(block)).mask()),
        None => (0, wanted(short(bytes)).mask() & !(u32::MAX << bytes.len())),
    };
    (mask != 0).then(|| start + mask.trailing_zeros() as usize)
}

/// The first byte that is wanted for what it is and for what the byte after it is, the
/// second block. Past the end stands a zero.
#[inline(always)]
pub(crate) fn find_pair(bytes: &[u8], wanted: impl Fn(Block, Block) -> Flags) -> Option<usize> {
    let mut found = None;
    any_pair(bytes, wanted, |at| {
        found = Some(at);
        true
    });
    found
}

/// Whether one of the places that [`find_pair`] finds is the right one. Some may be handed
/// over twice.
#[inline(always)]
pub(crate) fn any_pair(
    bytes: &[u8],
    wanted: impl Fn(Block, Block) -> Flags,
    mut is_right: impl FnMut(usize) -> bool,
) -> bool {
    let mut any = |start: usize, mut mask: u64| {
        while mask != 0 {
            if is_right(start + mask.trailing_zeros() as usize) {
                return true;
            }
            mask &= mask - 1;
        }
        false
    };
    let mut at = 0;
    let mut rest = bytes;
    // One byte more than is looked at, for the last one's sake.
    while let Some([_, nexts @ ..]) = rest.first_chunk::<{ 4 * BYTES + 1 }>() {
        let (blocks, nexts) = (rest.as_chunks::<BYTES>().0, nexts.as_chunks::<BYTES>().0);
        let (Some(&[a, b, c, d]), &[e, f, g, h]) = (blocks.first_chunk(), nexts) else {
            break;
        };
        let pairs = [(a, e), (b, f), (c, g), (d, h)];
        let flags = Wide(pairs.map(|(a, b)| wanted(Block::of(&a), Block::of(&b))));
        if flags.any() && any(at, flags.mask()) {
            return true;
        }
        at += 4 * BYTES;
        rest = rest.get(4 * BYTES..).unwrap_or_default();
    }
    while let Some([_, next @ ..]) = rest.first_chunk::<{ BYTES + 1 }>()
        && let Some(block) = rest.first_chunk::<BYTES>()
    {
        let mask = wanted(Block::of(block), Block::of(next)).mask();
        if mask != 0 && any(at, mask.into()) {
            return true;
        }
        at += BYTES;
        rest = rest.get(BYTES..).unwrap_or_default();
    }
    let (start, block, bits) = match bytes.last_chunk::<BYTES>() {
        Some(block) => (bytes.len() - BYTES, Block::of(block), u32::MAX),
        None => (0, short(bytes), !(u32::MAX << bytes.len())),
    };
    any(start, (wanted(block, block.next()).mask() & bits).into())
}

/// Hands over the places of all wanted bytes, in order.
pub(crate) fn places<F: Fn(Block) -> Flags>(bytes: &[u8], wanted: F) -> Places<'_, F> {
    Places {
        rest: bytes,
        wanted,
        base: 0,
        mask: 0,
        next: 0,
    }
}

/// See [`places`].
pub(crate) struct Places<'t, F> {
    rest: &'t [u8],
    wanted: F,
    /// Where the stretch of `mask` begins.
    base: usize,
    /// The places in that stretch that have not been handed over.
    mask: u64,
    /// Where `rest` begins.
    next: usize,
}

impl<F: Fn(Block) -> Flags> Places<'_, F> {
    /// The wanted ones of the next bytes, and how many these are.
    #[inline(always)]
    fn stretch(&mut self) -> (u64, usize) {
        if let Some((stretch, rest)) = self.rest.split_first_chunk::<{ 4 * BYTES }>() {
            let (blocks, _) = stretch.as_chunks::<BYTES>();
            if let &[a, b, c, d] = blocks {
                self.rest = rest;
                let flags = Wide([a, b, c, d].map(|block| (self.wanted)(Block::of(&block))));
                return (flags.mask(), 4 * BYTES);
            }
        }
        if let Some((block, rest)) = self.rest.split_first_chunk::<BYTES>() {
            self.rest = rest;
            return ((self.wanted)(Block::of(block)).mask().into(), BYTES);
        }
        let bytes = std::mem::take(&mut self.rest);
        let mask = (self.wanted)(short(bytes)).mask() & !(u32::MAX << bytes.len());
        (mask.into(), bytes.len())
    }
}

impl<F: Fn(Block) -> Flags> Iterator for Places<'_, F> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            if self.rest.is_empty() {
                return None;
            }
            self.base = self.next;
            let (mask, bytes) = self.stretch();
            self.mask = mask;
            self.next += bytes;
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wanted(byte: u8) -> bool {
        byte < 0x20 || byte == b'"' || (b'a'..=b'c').contains(&(byte | 0x20))
    }

    fn wanted_in(block: Block) -> Flags {
        block.within(0, 0x1f) | block.is(b'"') | block.or(0x20).within(b'a', b'c')
    }

    fn pair(byte: u8, next: u8) -> bool {
        (byte == b' ' && next == b' ') || !(b' '..=b'~').contains(&byte)
    }

    fn pair_in(block: Block, next: Block) -> Flags {
        (block.is(b' ') & next.is(b' ')) | !block.within(b' ', b'~')
    }

    proptest! {
        #[test]
        fn all_that_a_plain_loop_finds_is_found(bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[ xyz\"]{0,100}".prop_map(String::into_bytes),
            "(xx? ?){0,90}".prop_map(String::into_bytes),
        ]) {
            let slow: Vec<usize> = (0..bytes.len()).filter(|&at| wanted(bytes[at])).collect();
            prop_assert_eq!(find(&bytes, wanted_in), slow.first().copied());
            prop_assert_eq!(places(&bytes, wanted_in).collect::<Vec<_>>(), slow);

            let next = |at: usize| bytes.get(at + 1).copied().unwrap_or(0);
            let slow: Vec<usize> =
                (0..bytes.len()).filter(|&at| pair(bytes[at], next(at))).collect();
            prop_assert_eq!(find_pair(&bytes, pair_in), slow.first().copied());
            let mut all = Vec::new();
            any_pair(&bytes, pair_in, |at| {
                all.push(at);
                false
            });
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all, slow);
        }

        #[test]
        fn both_kinds_of_blocks_agree(bytes: [u8; 16], low: u8, high: u8, bits: u8) {
            let (low, high) = (low.min(high), low.max(high));
            let (fast, slow) = (Block::of(&bytes), portable::Block::of(&bytes));
            prop_assert_eq!(fast.is(low).mask(), slow.is(low).mask());
            prop_assert_eq!(fast.within(low, high).mask(), slow.within(low, high).mask());
            prop_assert_eq!((!fast.within(low, high)).mask(), (!slow.within(low, high)).mask());
            prop_assert_eq!(fast.or(bits).is(low | bits).mask(), slow.or(bits).is(low | bits).mask());
            prop_assert_eq!(fast.next().is(bytes[7]).mask(), slow.next().is(bytes[7]).mask());
            prop_assert_eq!(
                ((fast.is(low) | fast.is(high)) & fast.within(low, high)).mask(),
                ((slow.is(low) | slow.is(high)) & slow.within(low, high)).mask()
            );
            let [first, second] = [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
            prop_assert_eq!(Block::of_words(first, second).is(low).mask(), fast.is(low).mask());
            prop_assert_eq!(portable::Block::of_words(first, second).is(low).mask(), fast.is(low).mask());
        }

        #[test]
        fn short_ends_are_read_whole(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
            let mut padded = [0; 16];
            padded[..bytes.len()].copy_from_slice(&bytes);
            for byte in 0..=u8::MAX {
                prop_assert_eq!(short(&bytes).is(byte).mask(), Block::of(&padded).is(byte).mask());
            }
        }
    }
}
