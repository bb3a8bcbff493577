//! Blocks on processors whose instructions are not named here, and where the feature
//! `portable` is on: their bytes one by one.

use super::{Kind, Set, lowest};
use std::ops::{BitAnd, BitOr, Not};

/// Blocks of `N` bytes that every processor can read.
#[derive(Clone, Copy)]
pub(super) struct Portable<const N: usize>;

/// Bytes of a text.
#[derive(Clone, Copy)]
pub(super) struct Block<const N: usize>([u8; N]);

/// For each byte of a block, whether it is wanted: a bit each.
#[derive(Clone, Copy)]
pub(super) struct Flags<const N: usize>(u32);

impl<const N: usize> Block<N> {
    fn flags(self, wanted: impl Fn(usize, u8) -> bool) -> Flags<N> {
        let flag = |flags, (at, byte)| flags | u32::from(wanted(at, byte)) << at;
        Flags((0..).zip(self.0).fold(0, flag))
    }
}

impl<const N: usize> Kind<N> for Portable<N> {
    type Block = Block<N>;

    fn of(self, bytes: &[u8; N]) -> Block<N> {
        Block(*bytes)
    }

    fn next(self, Block(bytes): Block<N>) -> Block<N> {
        self.short(bytes.get(1..).unwrap_or_default()).0
    }

    fn short(self, bytes: &[u8]) -> (Block<N>, Block<N>) {
        let filled = |bytes: &[u8]| {
            let mut all = [0; N];
            for (byte, &known) in all.iter_mut().zip(bytes) {
                *byte = known;
            }
            Block(all)
        };
        (filled(bytes), filled(bytes.get(1..).unwrap_or_default()))
    }

    fn in_order(self, mask: u32, length: usize) -> u32 {
        mask & lowest(length)
    }
}

impl<const N: usize> super::Block for Block<N> {
    type Flags = Flags<N>;

    fn is(self, byte: u8) -> Flags<N> {
        self.flags(|_, b| b == byte)
    }

    fn among<const M: usize>(self, set: &Set<M>) -> Flags<N> {
        self.flags(|_, b| set.bytes.contains(&b))
    }

    fn within(self, low: u8, high: u8) -> Flags<N> {
        self.flags(|_, b| (low..=high).contains(&b))
    }

    fn same(self, other: Self) -> Flags<N> {
        self.flags(|at, b| other.0.get(at) == Some(&b))
    }

    fn or(self, bits: u8) -> Self {
        Self(self.0.map(|b| b | bits))
    }
}

impl<const N: usize> super::Flags for Flags<N> {
    fn mask(self) -> u32 {
        self.0
    }
}

impl<const N: usize> BitOr for Flags<N> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl<const N: usize> BitAnd for Flags<N> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl<const N: usize> Not for Flags<N> {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0 & lowest(N))
    }
}
