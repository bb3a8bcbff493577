//! A quick look before an automaton runs: which texts cannot hold any of its matches.
//!
//! Where every match of every pattern has to contain one of a few literals, a text
//! without them needs no automaton. Each literal is looked for by its rarest two bytes,
//! sixteen or more places at a time, and compared in full where these stand. Says
//! "perhaps" too often, but never "no" wrongly. Linear, and allocates nothing.

use super::format::{NEEDLE_BYTES, Needle, PREFILTER_ASCII_ONLY, PrefilterHeader};
use zerocopy::FromBytes;

/// A prefilter, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Prefilter<'p> {
    header: &'p PrefilterHeader,
    needles: &'p [Needle],
}

/// Places that are looked at together.
const BLOCK: usize = 32;

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
        let mut at = 0;
        while let (Some(block), Some(next)) = (
            text.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()),
            text.get(at + 1..).and_then(|rest| rest.first_chunk::<BLOCK>()),
        ) {
            let hits = self.hits(block, next);
            if hits != [0; BLOCK] && self.confirm(text, at, &hits) {
                return true;
            }
            at += BLOCK;
        }
        // The rest is at most a block; padded to one, for the padding confirms nothing.
        let rest = text.get(at..).unwrap_or_default();
        let (mut block, mut next) = ([0; BLOCK], [0; BLOCK]);
        for (slot, byte) in block.iter_mut().zip(rest) {
            *slot = *byte;
        }
        for (slot, byte) in next.iter_mut().zip(rest.iter().skip(1)) {
            *slot = *byte;
        }
        let hits = self.hits(&block, &next);
        hits != [0; BLOCK] && self.confirm(text, at, &hits)
    }

    /// Non-zero where the rare bytes of some needle stand.
    #[inline]
    fn hits(&self, block: &[u8; BLOCK], next: &[u8; BLOCK]) -> [u8; BLOCK] {
        let mut hits = [0; BLOCK];
        for needle in self.needles {
            let [first, second] = needle.pair;
            let [fold_first, fold_second] = needle.pair_fold;
            // Written so that it compiles to vector instructions.
            for ((hit, &a), &b) in hits.iter_mut().zip(block).zip(next) {
                *hit |= u8::from(a | fold_first == first) & u8::from(b | fold_second == second);
            }
        }
        hits
    }

    /// Whether a whole needle stands where its rare bytes were seen.
    #[cold]
    fn confirm(&self, text: &[u8], at: usize, hits: &[u8; BLOCK]) -> bool {
        let places = (at..).zip(hits).filter(|(_, hit)| **hit != 0);
        places
            .map(|(place, _)| place)
            .any(|place| self.needles.iter().any(|needle| stands(needle, text, place)))
    }
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
