//! Thirty-two bytes in one register of the x86-64 processors that have AVX2.
//!
//! Whoever goes through a text with them comes in by one of the functions of [`Avx2`], which
//! are compiled for such a processor, with everything that they call inlined.
#![expect(unsafe_code, reason = "the instructions are only to be had so")]

use super::sse2::{self, Sse2};
use super::{Kind, Set, Wanted, WantedPair, lowest, scan};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_setzero_si128, _mm256_alignr_epi8, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_m128i,
    _mm256_set1_epi8, _mm256_shuffle_epi8, _mm256_sub_epi8, _mm256_xor_si256,
};
use std::ops::{BitAnd, BitOr, Not};

/// The processor has AVX2: there is no value of this type where it has not.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Thirty-two bytes of a text. Only an [`Avx2`] makes one.
#[derive(Clone, Copy)]
pub(super) struct Block(__m256i);

/// For each byte of a block, whether it is wanted. Only a [`Block`] has some.
#[derive(Clone, Copy)]
pub(super) struct Flags(__m256i);

// SAFETY, of each block below: what an instruction needs is AVX2, which the processor has where
// there is an `Avx2`, a `Block` or `Flags`. All but the loads work on values alone.

impl Avx2 {
    /// Where the processor has it. Asked once; then this is a look at a byte.
    #[inline(always)]
    pub fn detected() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// See [`scan::find`].
    #[inline(always)]
    pub fn find(self, bytes: &[u8], from: usize, wanted: impl Wanted) -> Option<usize> {
        #[target_feature(enable = "avx2")]
        fn find(this: Avx2, bytes: &[u8], from: usize, wanted: impl Wanted) -> Option<usize> {
            scan::find(this, bytes, from, wanted)
        }
        // SAFETY: see above.
        unsafe { find(self, bytes, from, wanted) }
    }

    /// See [`scan::find_pair`].
    #[inline(always)]
    pub fn find_pair(self, bytes: &[u8], wanted: impl WantedPair) -> Option<usize> {
        #[target_feature(enable = "avx2")]
        fn find_pair(this: Avx2, bytes: &[u8], wanted: impl WantedPair) -> Option<usize> {
            scan::find_pair(this, bytes, wanted)
        }
        // SAFETY: see above.
        unsafe { find_pair(self, bytes, wanted) }
    }

    /// See [`scan::any_pair`].
    #[inline(always)]
    pub fn any_pair<W: WantedPair>(
        self,
        bytes: &[u8],
        each: &[W],
        is_right: impl FnMut(&W, usize) -> bool,
    ) -> bool {
        #[target_feature(enable = "avx2")]
        fn any_pair<W: WantedPair>(
            this: Avx2,
            bytes: &[u8],
            each: &[W],
            is_right: impl FnMut(&W, usize) -> bool,
        ) -> bool {
            scan::any_pair(this, bytes, each, is_right)
        }
        // SAFETY: see above.
        unsafe { any_pair(self, bytes, each, is_right) }
    }

    /// See [`scan::masks`].
    #[inline(always)]
    pub fn masks(self, bytes: &[u8], wanted: impl Wanted, masks: &mut [u64]) -> usize {
        #[target_feature(enable = "avx2")]
        fn fill(this: Avx2, bytes: &[u8], wanted: impl Wanted, masks: &mut [u64]) -> usize {
            scan::masks(this, bytes, wanted, masks)
        }
        // SAFETY: see above.
        unsafe { fill(self, bytes, wanted, masks) }
    }
}

#[inline(always)]
fn all(byte: u8) -> __m256i {
    // SAFETY: see above; only called where there is a block.
    unsafe { _mm256_set1_epi8(byte.cast_signed()) }
}

#[inline(always)]
fn equal(a: __m256i, b: __m256i) -> Flags {
    // SAFETY: see above; only called where there is a block.
    Flags(unsafe { _mm256_cmpeq_epi8(a, b) })
}

impl Kind<32> for Avx2 {
    type Block = Block;

    #[inline(always)]
    fn of(self, bytes: &[u8; 32]) -> Block {
        // SAFETY: reads the thirty-two bytes that the reference is to; they may lie anywhere.
        Block(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn next(self, Block(block): Block) -> Block {
        // SAFETY: see above.
        let upper = unsafe { _mm256_permute2x128_si256::<0x81>(block, block) };
        // SAFETY: see above.
        Block(unsafe { _mm256_alignr_epi8::<1>(upper, block) })
    }

    /// More than sixteen bytes are the first sixteen and the last sixteen.
    #[inline(always)]
    fn short(self, bytes: &[u8]) -> (Block, Block) {
        let both = |first: sse2::Block, second: __m128i| {
            // SAFETY: see above.
            Block(unsafe { _mm256_set_m128i(second, first.0) })
        };
        if let [_, nexts @ ..] = bytes
            && let Some(next) = nexts.first_chunk::<16>()
            && let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk())
        {
            let last = Sse2.of(last);
            return (
                both(Sse2.of(first), last.0),
                both(Sse2.of(next), Sse2.next(last).0),
            );
        }
        let (block, next) = Sse2.short(bytes);
        // SAFETY: see above.
        let zero = unsafe { _mm_setzero_si128() };
        (both(block, zero), both(next, zero))
    }

    #[inline(always)]
    fn in_order(self, mask: u32, length: usize) -> u32 {
        if length > 16 {
            (mask & 0xffff) | (mask >> 16) << (length - 16)
        } else {
            mask & lowest(length)
        }
    }
}

impl super::Block for Block {
    type Flags = Flags;

    #[inline(always)]
    fn is(self, byte: u8) -> Flags {
        equal(self.0, all(byte))
    }

    #[inline(always)]
    fn among<const N: usize>(self, set: &Set<N>) -> Flags {
        // SAFETY: reads the sixteen bytes of the table; they may lie anywhere.
        let table = unsafe { _mm_loadu_si128(set.table.as_ptr().cast()) };
        // SAFETY: see above.
        let table = unsafe { _mm256_broadcastsi128_si256(table) };
        // A byte beyond ASCII is looked up as a zero, and so not equal.
        // SAFETY: see above.
        equal(unsafe { _mm256_shuffle_epi8(table, self.0) }, self.0)
    }

    #[inline(always)]
    fn within(self, low: u8, high: u8) -> Flags {
        // SAFETY: see above.
        let above = unsafe { _mm256_sub_epi8(self.0, all(low)) };
        // SAFETY: see above.
        let capped = unsafe { _mm256_min_epu8(above, all(high.wrapping_sub(low))) };
        equal(above, capped)
    }

    #[inline(always)]
    fn same(self, other: Self) -> Flags {
        equal(self.0, other.0)
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_or_si256(self.0, all(bits)) })
    }
}

impl super::Flags for Flags {
    #[inline(always)]
    fn mask(self) -> u32 {
        // SAFETY: see above.
        unsafe { _mm256_movemask_epi8(self.0) }.cast_unsigned()
    }
}

impl BitOr for Flags {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }
}

impl BitAnd for Flags {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }
}

impl Not for Flags {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_xor_si256(self.0, all(u8::MAX)) })
    }
}
