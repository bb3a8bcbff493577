//! A quick look before an automaton runs: which texts cannot hold any of its matches.
//!
//! Where every match of every pattern has to contain one of a few literals, a text
//! without them needs no automaton. Each literal is looked for by its rarest two bytes, at
//! many places at a time, and compared in full where these stand. Says
//! "perhaps" too often, but never "no" wrongly. Linear, and allocates nothing.

use super::format::{NEEDLE_BYTES, Needle, PREFILTER_ASCII_ONLY, PrefilterHeader};
use crate::text::padded;
use zerocopy::FromBytes;

/// A prefilter, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Prefilter<'p> {
    header: &'p PrefilterHeader,
    needles: &'p [Needle],
}

/// Places that are looked at together.
const BLOCK: usize = 32;
/// Bytes that all needles are looked for in before the next ones are read.
const PIECE: usize = 16 * BLOCK;

impl<'p> Prefilter<'p> {
    /// Reads a prefilter. Checks lengths only; [`Self::validate`] checks contents.
    pub(super) fn parse(bytes: &'p [u8]) -> Option<Self> {
        let (header, rest) = PrefilterHeader::ref_from_prefix(bytes).ok()?;
        let count = header.needles.get() as usize;
        let needles = <[Needle]>::ref_from_bytes_with_elems(rest, count).ok()?;
        Some(Self { header, needles })
    }

    /// Reads a prefilter from the bytes that the compiler wrote, checked.
    #[must_use]
    pub fn of_bytes(bytes: &'p [u8]) -> Option<Self> {
        Self::parse(bytes).filter(Self::validate)
    }

    /// Checks that every needle has its two rare bytes within its length.
    pub(super) fn validate(&self) -> bool {
        self.needles.iter().all(|needle| {
            let length = usize::from(needle.length);
            (2..=NEEDLE_BYTES).contains(&length) && usize::from(needle.rare) + 2 <= length
        })
    }

    /// Whether an automaton has to read `text`. `false`: none of its patterns matches.
    #[must_use]
    pub fn may_match(&self, text: &[u8]) -> bool {
        if self.header.flags.get() & PREFILTER_ASCII_ONLY != 0 && !text.is_ascii() {
            return true;
        }
        // In pieces that stay in the nearest cache while each needle is looked for.
        let mut at = 0;
        loop {
            let end = text.len().min(at + PIECE);
            let piece = text.get(at..end).unwrap_or_default();
            let next = text.get(at + 1..text.len().min(end + 1));
            let next = next.unwrap_or_default();
            let found = |needle: &Needle| {
                rare_bytes_stand(needle, piece, next) && stands_in(needle, text, at, end)
            };
            if self.needles.iter().any(found) {
                return true;
            }
            if end == text.len() {
                return false;
            }
            at = end;
        }
    }
}

/// Whether the rare bytes of a needle stand in `piece`; `next` is one byte further.
fn rare_bytes_stand(needle: &Needle, piece: &[u8], next: &[u8]) -> bool {
    let [first, second] = needle.pair;
    let [fold_first, fold_second] = needle.pair_fold;
    // Written so that it compiles to vector instructions, with the needle's bytes in
    // registers. Leaving at the first hit keeps the compiler from taking many blocks at
    // once, which costs short texts more than it gains long ones.
    let any = |block: &[u8; BLOCK], next: &[u8; BLOCK]| {
        let mut hits = [0; BLOCK];
        for ((hit, a), b) in hits.iter_mut().zip(block).zip(next) {
            *hit = u8::from(a | fold_first == first) & u8::from(b | fold_second == second);
        }
        hits != [0; BLOCK]
    };
    let (blocks, _) = piece.as_chunks::<BLOCK>();
    let (nexts, _) = next.as_chunks::<BLOCK>();
    let mut pairs = blocks.iter().zip(nexts);
    if pairs.any(|(block, next)| any(block, next)) {
        return true;
    }
    // The rest of a longer piece is looked at together with bytes before it, which costs
    // less than a copy. A pair is lost only where there is no next byte: at the very end.
    let pairs = piece.get(..next.len()).unwrap_or_default();
    if let (Some(block), Some(next)) = (pairs.last_chunk(), next.last_chunk()) {
        return any(block, next);
    }
    let block = padded(pairs);
    let next = padded(next);
    any(&block, &next)
}

/// Whether a whole needle stands in `text`, its rare bytes from `at` on, before `end`.
#[cold]
fn stands_in(needle: &Needle, text: &[u8], at: usize, end: usize) -> bool {
    let places = text.get(at..end).unwrap_or_default().iter().zip(at..);
    places
        .filter(|(byte, _)| **byte | needle.pair_fold[0] == needle.pair[0])
        .any(|(_, place)| stands(needle, text, place))
}

/// Whether `needle` stands in `text` with its rare bytes at `place`.
fn stands(needle: &Needle, text: &[u8], place: usize) -> bool {
    let length = usize::from(needle.length);
    let Some(start) = place.checked_sub(usize::from(needle.rare)) else {
        return false;
    };
    let Some(window) = text.get(start..start + length) else {
        return false;
    };
    window
        .iter()
        .zip(&needle.bytes)
        .zip(&needle.fold)
        .all(|((&byte, &wanted), &fold)| byte | fold == wanted)
}
