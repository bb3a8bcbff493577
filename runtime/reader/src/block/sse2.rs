//! Sixteen bytes in one register of an x86-64 processor.
//!
//! The compiler does not find these instructions by itself: of a loop over sixteen bytes that
//! asks where the wanted ones are it makes some two hundred, where these are a dozen.
#![expect(unsafe_code, reason = "the instructions are only to be had so")]

use super::{Kind, Set, lowest, tail_word};
use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_srli_si128, _mm_sub_epi8, _mm_xor_si128,
};
use std::ops::{BitAnd, BitOr, Not};

// SAFETY, of each block below: what an instruction needs is SSE2, which every x86-64
// processor has. All but the load work on values alone.

/// Blocks that every x86-64 processor can read.
#[derive(Clone, Copy)]
pub(super) struct Sse2;

/// Sixteen bytes of a text.
#[derive(Clone, Copy)]
pub(super) struct Block(pub(super) __m128i);

/// For each byte of a block, whether it is wanted.
#[derive(Clone, Copy)]
pub(super) struct Flags(__m128i);

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

/// Up to sixteen bytes, and zeros behind them.
#[inline(always)]
fn filled(bytes: &[u8]) -> Block {
    let (first, second) = match bytes.split_first_chunk::<8>() {
        Some((first, rest)) => match rest.first_chunk::<8>() {
            Some(second) => (u64::from_le_bytes(*first), u64::from_le_bytes(*second)),
            None => (u64::from_le_bytes(*first), tail_word(rest)),
        },
        None => (tail_word(bytes), 0),
    };
    // SAFETY: see above.
    Block(unsafe { _mm_set_epi64x(second.cast_signed(), first.cast_signed()) })
}

impl Kind<16> for Sse2 {
    type Block = Block;

    #[inline(always)]
    fn of(self, bytes: &[u8; 16]) -> Block {
        // SAFETY: reads the sixteen bytes that the reference is to; they may lie anywhere.
        Block(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn next(self, Block(block): Block) -> Block {
        // SAFETY: see above.
        Block(unsafe { _mm_srli_si128::<1>(block) })
    }

    #[inline(always)]
    fn short(self, bytes: &[u8]) -> (Block, Block) {
        let block = match bytes.first_chunk::<16>() {
            Some(bytes) => self.of(bytes),
            None => filled(bytes),
        };
        (block, self.next(block))
    }

    #[inline(always)]
    fn in_order(self, mask: u32, length: usize) -> u32 {
        mask & lowest(length)
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
        let mut flags = self.is(0) & !self.is(0);
        for &byte in &set.bytes {
            flags = flags | self.is(byte);
        }
        flags
    }

    #[inline(always)]
    fn within(self, low: u8, high: u8) -> Flags {
        // SAFETY: see above.
        let above = unsafe { _mm_sub_epi8(self.0, all(low)) };
        // SAFETY: see above.
        let capped = unsafe { _mm_min_epu8(above, all(high.wrapping_sub(low))) };
        equal(above, capped)
    }

    #[inline(always)]
    fn same(self, other: Self) -> Flags {
        equal(self.0, other.0)
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm_or_si128(self.0, all(bits)) })
    }
}

impl super::Flags for Flags {
    #[inline(always)]
    fn mask(self) -> u32 {
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
