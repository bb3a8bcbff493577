//! How a text is gone through, with blocks of any kind.
//!
//! Everything here is inlined into its callers, of which some may use instructions that others
//! may not: no function that is not may stand between them and a block.

use super::{Block, Flags, Kind, Wanted, WantedPair};

/// The flags of four blocks.
type Stretch<B> = [<B as Block>::Flags; 4];

/// Whether any of them is set.
#[inline(always)]
fn any<B: Block>([a, b, c, d]: Stretch<B>) -> bool {
    ((a | b) | (c | d)).mask() != 0
}

/// The first wanted byte. Of those before `from` none is; there are at least `N` in all.
#[inline(always)]
pub(super) fn find<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: &[u8],
    from: usize,
    wanted: impl Wanted,
) -> Option<usize> {
    let mut at = from;
    let (blocks, _) = bytes.get(from..).unwrap_or_default().as_chunks::<N>();
    let (stretches, blocks) = blocks.as_chunks::<4>();
    for [a, b, c, d] in stretches {
        let flags = [
            wanted.flags(kind.of(a)),
            wanted.flags(kind.of(b)),
            wanted.flags(kind.of(c)),
            wanted.flags(kind.of(d)),
        ];
        if any::<K::Block>(flags) {
            for flags in flags {
                let mask = flags.mask();
                if mask != 0 {
                    return Some(at + mask.trailing_zeros() as usize);
                }
                at += N;
            }
        }
        at += 4 * N;
    }
    for block in blocks {
        let mask = wanted.flags(kind.of(block)).mask();
        if mask != 0 {
            return Some(at + mask.trailing_zeros() as usize);
        }
        at += N;
    }
    if at == bytes.len() {
        return None;
    }
    find_last(kind, bytes, wanted)
}

/// The first wanted byte among the last `N`, before which none is.
#[inline(always)]
pub(super) fn find_last<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: &[u8],
    wanted: impl Wanted,
) -> Option<usize> {
    let (start, mask) = match bytes.last_chunk::<N>() {
        Some(block) => (bytes.len() - N, wanted.flags(kind.of(block)).mask()),
        None => {
            let mask = wanted.flags(kind.short(bytes).0).mask();
            (0, kind.in_order(mask, bytes.len()))
        }
    };
    (mask != 0).then(|| start + mask.trailing_zeros() as usize)
}

/// The next block with a wanted byte, from `from` on: where it begins, and its mask. There are
/// more than `N` bytes, and `last` are the last `N` and those after each.
///
/// What is to be done with these is left to the caller, so that nothing is called in between,
/// before which registers would have to be saved.
#[inline(always)]
fn next_pairs<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: &[u8],
    last: (K::Block, K::Block),
    from: usize,
    wanted: impl WantedPair,
) -> Option<(usize, u32)> {
    let mut at = from;
    let (blocks, _) = bytes.get(at..)?.as_chunks::<N>();
    // After the last block stands no full one: it comes by itself.
    let (nexts, _) = bytes.get(at + 1..)?.as_chunks::<N>();
    let (next_stretches, nexts) = nexts.as_chunks::<4>();
    let (stretches, _) = blocks.as_chunks::<4>();
    for ([a, b, c, d], [e, f, g, h]) in stretches.iter().zip(next_stretches) {
        let flags = [
            wanted.flags(kind.of(a), kind.of(e)),
            wanted.flags(kind.of(b), kind.of(f)),
            wanted.flags(kind.of(c), kind.of(g)),
            wanted.flags(kind.of(d), kind.of(h)),
        ];
        if any::<K::Block>(flags) {
            for flags in flags {
                let mask = flags.mask();
                if mask != 0 {
                    return Some((at, mask));
                }
                at += N;
            }
        }
        at += 4 * N;
    }
    let blocks = bytes.get(at..)?.as_chunks::<N>().0;
    for (block, next) in blocks.iter().zip(nexts) {
        let mask = wanted.flags(kind.of(block), kind.of(next)).mask();
        if mask != 0 {
            return Some((at, mask));
        }
        at += N;
    }
    let mask = wanted.flags(last.0, last.1).mask();
    (mask != 0).then_some((bytes.len() - N, mask))
}

/// The last `N` bytes, and for each the one after it, if there are more than `N`.
#[inline(always)]
fn last<const N: usize, K: Kind<N>>(kind: K, bytes: &[u8]) -> Option<(K::Block, K::Block)> {
    let [_, rest @ ..] = bytes else { return None };
    let block = kind.of(rest.last_chunk()?);
    Some((block, kind.next(block)))
}

/// The first byte that is wanted for what it is and for what the byte after it is.
#[inline(always)]
pub(super) fn find_pair<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: &[u8],
    wanted: impl WantedPair,
) -> Option<usize> {
    let (start, mask) = match last(kind, bytes) {
        Some(last) => next_pairs(kind, bytes, last, 0, wanted)?,
        None => {
            let (block, next) = kind.short(bytes);
            let mask = wanted.flags(block, next).mask();
            (0, kind.in_order(mask, bytes.len()))
        }
    };
    (mask != 0).then(|| start + mask.trailing_zeros() as usize)
}

/// Whether one of the places that [`find_pair`] finds, for one of `each`, is the right one.
#[inline(always)]
pub(super) fn any_pair<const N: usize, K: Kind<N>, W: WantedPair>(
    kind: K,
    bytes: &[u8],
    each: &[W],
    mut is_right: impl FnMut(&W, usize) -> bool,
) -> bool {
    if let Some(last) = last(kind, bytes) {
        for wanted in each {
            let mut from = 0;
            while let Some((start, mask)) = next_pairs(kind, bytes, last, from, *wanted) {
                if any_place(start, mask, |at| is_right(wanted, at)) {
                    return true;
                }
                from = start + N;
            }
        }
        return false;
    }
    // A short text is read once, for all of them.
    let (block, next) = kind.short(bytes);
    for wanted in each {
        let mask = wanted.flags(block, next).mask();
        if mask != 0
            && any_place(0, kind.in_order(mask, bytes.len()), |at| {
                is_right(wanted, at)
            })
        {
            return true;
        }
    }
    false
}

#[inline(always)]
fn any_place(start: usize, mut mask: u32, mut is_right: impl FnMut(usize) -> bool) -> bool {
    while mask != 0 {
        if is_right(start + mask.trailing_zeros() as usize) {
            return true;
        }
        mask &= mask - 1;
    }
    false
}

/// Fills words with the masks of as many stretches of sixty-four bytes. Returns how many.
#[inline(always)]
pub(super) fn masks<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: &[u8],
    wanted: impl Wanted,
    masks: &mut [u64],
) -> usize {
    let (stretches, _) = bytes.as_chunks::<64>();
    let mut filled = 0;
    for (stretch, word) in stretches.iter().zip(masks) {
        *word = 0;
        for (number, block) in stretch.as_chunks::<N>().0.iter().enumerate() {
            *word |= u64::from(wanted.flags(kind.of(block)).mask()) << (number * N);
        }
        filled += 1;
    }
    filled
}

/// The mask of up to sixty-four bytes.
#[inline(always)]
pub(super) fn mask<const N: usize, K: Kind<N>>(kind: K, bytes: &[u8], wanted: impl Wanted) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<N>();
    let mut mask = 0;
    let mut at = 0;
    for block in blocks {
        mask |= u64::from(wanted.flags(kind.of(block)).mask()) << at;
        at += N;
    }
    if !rest.is_empty() {
        let last = wanted.flags(kind.short(rest).0).mask();
        mask |= u64::from(kind.in_order(last, rest.len())) << at;
    }
    mask
}
