//! All places of wanted bytes, in order.

use super::{BLOCKS, NARROW, Wanted, scan};

/// How many masks of sixty-four bytes are made at once.
const WORDS: usize = 8;

/// Hands over the places of all wanted bytes, in order.
pub const fn places<W: Wanted>(bytes: &[u8], wanted: W) -> Places<'_, W> {
    Places {
        rest: bytes,
        wanted,
        base: 0,
        mask: 0,
        masks: [0; WORDS],
        word: 0,
        words: 0,
        next: 0,
    }
}

/// See [`places`].
pub struct Places<'t, W> {
    /// What has not been looked at.
    rest: &'t [u8],
    wanted: W,
    /// Where the stretch of `mask` begins.
    base: usize,
    /// The places in that stretch that have not been handed over.
    mask: u64,
    /// The masks of the stretches from there on.
    masks: [u64; WORDS],
    /// Which is the next of them, and how many there are.
    word: usize,
    words: usize,
    /// Where the stretch of the next one begins.
    next: usize,
}

impl<W: Wanted> Places<'_, W> {
    /// Looks at the next bytes, of which there are some.
    #[inline(always)]
    fn fill(&mut self) {
        self.word = 0;
        if self.rest.len() < 64 {
            let bytes = std::mem::take(&mut self.rest);
            let [first, ..] = &mut self.masks;
            *first = scan::mask(BLOCKS, bytes, self.wanted);
            self.words = 1;
            return;
        }
        self.words = masks(self.rest, self.wanted, &mut self.masks);
        self.rest = self.rest.get(64 * self.words..).unwrap_or_default();
    }
}

/// [`scan::masks`] with the widest blocks.
#[inline(always)]
fn masks(bytes: &[u8], wanted: impl Wanted, masks: &mut [u64; WORDS]) -> usize {
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if let Some(wide) = super::avx2::Avx2::detected() {
        return wide.masks(bytes, wanted, masks);
    }
    scan::masks::<NARROW, _>(BLOCKS, bytes, wanted, masks)
}

impl<W: Wanted> Iterator for Places<'_, W> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            if self.word == self.words {
                if self.rest.is_empty() {
                    return None;
                }
                self.fill();
            }
            self.mask = self.masks.get(self.word).copied().unwrap_or(0);
            self.word += 1;
            self.base = self.next;
            self.next += 64;
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}
