//! Where in a text some bytes are, as many at a time as the processor can look at.
//!
//! What is wanted is said of a whole [`Block`], whatever its width, with [`wanted!`]:
//! `wanted!(|block| block.is(b'"') | block.within(0, 0x1f))`. Everything here takes linear
//! time, allocates nothing, and knows nothing of what the bytes mean.
//!
//! A block is sixteen bytes everywhere. Where an x86-64 processor has AVX2, which is asked
//! when this runs, longer texts are looked at thirty-two bytes at a time.

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod avx2;
mod places;
#[cfg(any(test, not(all(target_arch = "x86_64", not(feature = "portable")))))]
mod portable;
mod scan;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod sse2;
#[cfg(test)]
mod tests;

pub use places::places;
use std::ops::{BitAnd, BitOr, Not};

/// Bytes in a block that every processor has.
const NARROW: usize = 16;

/// How such blocks are read on this processor.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
const BLOCKS: sse2::Sse2 = sse2::Sse2;
#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
const BLOCKS: portable::Portable<NARROW> = portable::Portable;

/// Bytes next to each other in a text.
pub trait Block: Copy {
    /// For each byte whether it is wanted.
    type Flags: Flags;

    /// Which are this byte.
    fn is(self, byte: u8) -> Self::Flags;

    /// Which are one of these.
    fn among<const N: usize>(self, set: &Set<N>) -> Self::Flags;

    /// Which are `low`, `high`, or between them.
    fn within(self, low: u8, high: u8) -> Self::Flags;

    /// Which are the same in both blocks.
    fn same(self, other: Self) -> Self::Flags;

    /// All bytes with these bits set: `0x20` makes letters small.
    fn or(self, bits: u8) -> Self;
}

/// For each byte of a block, whether it is wanted.
pub trait Flags: Copy + BitOr<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> {
    /// A bit for each byte, the first byte's lowest.
    fn mask(self) -> u32;
}

/// How blocks of `N` bytes, at most thirty-two, are read. Whoever has one may read them:
/// the processor can.
trait Kind<const N: usize>: Copy {
    type Block: Block;

    /// These bytes.
    fn of(self, bytes: &[u8; N]) -> Self::Block;

    /// For each byte the one after it; after the last a zero.
    fn next(self, block: Self::Block) -> Self::Block;

    /// A whole text of up to `N` bytes, and for each of its bytes the one after it, after the
    /// last a zero. They need not lie in order: [`Self::in_order`] knows where.
    fn short(self, bytes: &[u8]) -> (Self::Block, Self::Block);

    /// The mask of flags of a block of [`Self::short`], as of a text of `length` bytes.
    fn in_order(self, mask: u32, length: usize) -> u32;
}

/// The lowest bits, as many as a text of up to thirty-two bytes has bytes.
#[inline(always)]
const fn lowest(length: usize) -> u32 {
    ((1_u64 << length) - 1) as u32
}

/// A few bytes of which no two end in the same four bits: where a processor can look a
/// byte up by these, a block of them is found in two steps.
pub struct Set<const N: usize> {
    bytes: [u8; N],
    /// By its last four bits: the byte, or one that ends otherwise and so is never equal.
    #[cfg_attr(
        not(all(target_arch = "x86_64", not(feature = "portable"))),
        expect(dead_code)
    )]
    table: [u8; 16],
}

impl<const N: usize> Set<N> {
    /// These, to be evaluated when this is compiled: panics if two end in the same bits or one
    /// is beyond ASCII.
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated when this is compiled: would not build"
    )]
    pub const fn of(bytes: [u8; N]) -> Self {
        let mut table = [0; 16];
        table[0] = 1;
        let mut at = 0;
        while at < N {
            let slot = &mut table[(bytes[at] & 0xf) as usize];
            assert!(bytes[at].is_ascii() && *slot & 0xf != bytes[at] & 0xf);
            *slot = bytes[at];
            at += 1;
        }
        Self { bytes, table }
    }
}

/// Says which bytes are wanted.
pub trait Wanted: Copy {
    /// These, of a block of any width.
    fn flags<B: Block>(&self, block: B) -> B::Flags;
}

/// Says which bytes are wanted for what they are and for what the byte after them is.
pub trait WantedPair: Copy {
    /// These, of a block of any width and the one that begins a byte later. Past the end of
    /// the text stands a zero.
    fn flags<B: Block>(&self, block: B, next: B) -> B::Flags;
}

/// A [`Wanted`] or [`WantedPair`], written as a closure would be: `wanted!(|block| …)` and
/// `wanted!(|block, next| …)`. What it captures is named first: `wanted!([letter: u8]
/// |block| block.is(letter))`.
#[macro_export]
#[doc(hidden)]
macro_rules! wanted {
    (|$($block:ident),+| $flags:expr) => {
        $crate::wanted!([] |$($block),+| $flags)
    };
    ([$($captured:ident: $type:ty),*] |$($block:ident),+| $flags:expr) => {{
        #[derive(Clone, Copy)]
        struct This {
            $($captured: $type,)*
        }
        $crate::wanted!(@ $($captured),* ; $($block),+ ; $flags);
        This { $($captured),* }
    }};
    (@ $($captured:ident),* ; $block:ident ; $flags:expr) => {
        impl $crate::block::Wanted for This {
            #[inline(always)]
            fn flags<B: $crate::block::Block>(&self, $block: B) -> B::Flags {
                let Self { $($captured),* } = *self;
                $flags
            }
        }
    };
    (@ $($captured:ident),* ; $block:ident, $next:ident ; $flags:expr) => {
        impl $crate::block::WantedPair for This {
            #[inline(always)]
            fn flags<B: $crate::block::Block>(&self, $block: B, $next: B) -> B::Flags {
                let Self { $($captured),* } = *self;
                $flags
            }
        }
    };
}
pub use crate::wanted;

/// Up to seven bytes as a little-endian word, the missing ones zero.
pub fn tail_word(tail: &[u8]) -> u64 {
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

/// The first wanted byte.
#[inline(always)]
pub fn find(bytes: &[u8], wanted: impl Wanted) -> Option<usize> {
    // Most are near: two blocks right here, before a whole function is called.
    if let Some((first, rest)) = bytes.split_first_chunk::<NARROW>() {
        let mask = wanted.flags(BLOCKS.of(first)).mask();
        if mask != 0 {
            return Some(mask.trailing_zeros() as usize);
        }
        if let Some(second) = rest.first_chunk::<NARROW>() {
            let mask = wanted.flags(BLOCKS.of(second)).mask();
            if mask != 0 {
                return Some(NARROW + mask.trailing_zeros() as usize);
            }
            if rest.len() == NARROW {
                return None;
            }
            return find_on(bytes, wanted);
        }
    }
    scan::find_last(BLOCKS, bytes, wanted)
}

/// [`find`] where the first two blocks are full and hold none.
#[inline(always)]
fn find_on(bytes: &[u8], wanted: impl Wanted) -> Option<usize> {
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if let Some(wide) = avx2::Avx2::detected() {
        return wide.find(bytes, 2 * NARROW, wanted);
    }
    #[inline(never)]
    fn narrow(bytes: &[u8], wanted: impl Wanted) -> Option<usize> {
        scan::find(BLOCKS, bytes, 2 * NARROW, wanted)
    }
    narrow(bytes, wanted)
}

/// The first byte that is wanted for what it is and for what the byte after it is.
#[inline(always)]
pub fn find_pair(bytes: &[u8], wanted: impl WantedPair) -> Option<usize> {
    if bytes.len() <= 2 * NARROW {
        return scan::find_pair(BLOCKS, bytes, wanted);
    }
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if let Some(wide) = avx2::Avx2::detected() {
        return wide.find_pair(bytes, wanted);
    }
    #[inline(never)]
    fn narrow(bytes: &[u8], wanted: impl WantedPair) -> Option<usize> {
        scan::find_pair(BLOCKS, bytes, wanted)
    }
    narrow(bytes, wanted)
}

/// Whether one of the places that [`find_pair`] finds, for one of `each`, is the right one.
/// Some may be handed over twice.
#[inline(always)]
pub fn any_pair<W: WantedPair>(
    bytes: &[u8],
    each: &[W],
    is_right: impl FnMut(&W, usize) -> bool,
) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if let Some(wide) = avx2::Avx2::detected() {
        return wide.any_pair(bytes, each, is_right);
    }
    #[inline(never)]
    fn narrow<W: WantedPair>(
        bytes: &[u8],
        each: &[W],
        is_right: impl FnMut(&W, usize) -> bool,
    ) -> bool {
        scan::any_pair(BLOCKS, bytes, each, is_right)
    }
    narrow(bytes, each, is_right)
}
