//! Sixteen bytes in one register of an x86-64 processor.
//!
//! The compiler does not find these instructions by itself: of a loop over sixteen bytes that
//! asks where the wanted ones are it makes some two hundred, where these are a dozen.
#![expect(unsafe_code, reason = "the instructions are only to be had so")]

use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_srli_si128, _mm_sub_epi8, _mm_xor_si128,
};
use std::ops::{BitAnd, BitOr, Not};

// SAFETY, of each block below: what an instruction needs is SSE2, which every x86-64
// processor has. All but the load work on values alone.

/// Sixteen bytes of a text.
#[derive(Clone, Copy)]
pub(crate) struct Block(__m128i);

/// For each byte of a block, whether it is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Flags(__m128i);

#[inline(always)]
fn all(byte: u8) -> __m128i {
    // SAFETY: see above.
    unsafe { _mm_set1_epi8(byte.cast_signed()) }
}

#[inline(always)]
fn equal(a: __m128i, b: __m128i) -> Flags {
    // SAFETY: see above.
    Flags(unsafe { _mm_cmpeq_epi8(a, b) })
}

impl Block {
    /// These bytes.
    #[inline(always)]
    pub fn of(bytes: &[u8; 16]) -> Self {
        // SAFETY: reads the sixteen bytes that the reference is to; they may lie anywhere.
        Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    /// The bytes of two words, the lowest first.
    #[inline(always)]
    pub fn of_words(first: u64, second: u64) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_set_epi64x(second.cast_signed(), first.cast_signed()) })
    }

    /// Which are this byte.
    #[inline(always)]
    pub fn is(self, byte: u8) -> Flags {
        equal(self.0, all(byte))
    }

    /// Which are `low`, `high`, or between them.
    #[inline(always)]
    pub fn within(self, low: u8, high: u8) -> Flags {
        // SAFETY: see above.
        let above = unsafe { _mm_sub_epi8(self.0, all(low)) };
        // SAFETY: see above.
        let capped = unsafe { _mm_min_epu8(above, all(high.wrapping_sub(low))) };
        equal(above, capped)
    }

    /// All bytes with these bits set: `0x20` makes letters small.
    #[inline(always)]
    pub fn or(self, bits: u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_or_si128(self.0, all(bits)) })
    }

    /// For each byte the one after it; after the last a zero.
    #[inline(always)]
    pub fn next(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_srli_si128::<1>(self.0) })
    }
}

impl Flags {
    /// A bit for each byte, the first byte's lowest.
    #[inline(always)]
    pub fn mask(self) -> u32 {
        // SAFETY: see above.
        unsafe { _mm_movemask_epi8(self.0) }.cast_unsigned()
    }
}

impl BitOr for Flags {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_or_si128(self.0, other.0) })
    }
}

impl BitAnd for Flags {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_and_si128(self.0, other.0) })
    }
}

impl Not for Flags {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_xor_si128(self.0, all(u8::MAX)) })
    }
}
