//! A quick look before an automaton runs: which texts cannot hold any of its matches.
//!
//! Where every match of every pattern has to contain one of a few literals, a text
//! without them needs no automaton. Each literal is looked for by its rarest two bytes, at
//! many places at a time, and compared in full where these stand. Says
//! "perhaps" too often, but never "no" wrongly. Linear, and allocates nothing.

use super::format::{NEEDLE_BYTES, Needle, PREFILTER_ASCII_ONLY, PrefilterHeader};
use bouncer_reader::block::{self, Block, WantedPair};
use zerocopy::FromBytes;

/// A prefilter, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Prefilter<'p> {
    header: &'p PrefilterHeader,
    needles: &'p [Needle],
}

/// Bytes that all needles are looked for in before the next ones are read.
const PIECE: usize = 512;

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
            // The second of two bytes may stand in the next piece.
            let piece = text.get(at..text.len().min(end + 1)).unwrap_or_default();
            if block::any_pair(piece, self.needles, |needle, place| {
                stands(needle, text, at + place)
            }) {
                return true;
            }
            if end == text.len() {
                return false;
            }
            at = end;
        }
    }
}

impl WantedPair for Needle {
    #[inline(always)]
    fn flags<B: Block>(&self, block: B, next: B) -> B::Flags {
        let [first, second] = self.pair;
        let [fold_first, fold_second] = self.pair_fold;
        block.or(fold_first).is(first) & next.or(fold_second).is(second)
    }
}

/// Whether `needle` stands in `text` with its rare bytes at `place`. Rarely asked, from many
/// places.
#[inline(never)]
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
