//! Sixteen bytes on processors whose instructions are not named here, one by one.

use std::ops::{BitAnd, BitOr, Not};

/// Sixteen bytes of a text.
#[derive(Clone, Copy)]
pub(crate) struct Block([u8; 16]);

/// For each byte of a block, whether it is wanted: a bit each.
#[derive(Clone, Copy)]
pub(crate) struct Flags(u16);

impl Block {
    /// These bytes.
    pub const fn of(bytes: &[u8; 16]) -> Self {
        Self(*bytes)
    }

    /// The bytes of two words, the lowest first.
    pub fn of_words(first: u64, second: u64) -> Self {
        Self((u128::from(first) | u128::from(second) << 64).to_le_bytes())
    }

    fn flags(self, wanted: impl Fn(u8) -> bool) -> Flags {
        let flag = |flags, (at, byte): (u32, u8)| flags | u16::from(wanted(byte)) << at;
        Flags((0..).zip(self.0).fold(0, flag))
    }

    /// Which are this byte.
    pub fn is(self, byte: u8) -> Flags {
        self.flags(|b| b == byte)
    }

    /// Which are `low`, `high`, or between them.
    pub fn within(self, low: u8, high: u8) -> Flags {
        self.flags(|b| (low..=high).contains(&b))
    }

    /// All bytes with these bits set: `0x20` makes letters small.
    pub fn or(self, bits: u8) -> Self {
        Self(self.0.map(|b| b | bits))
    }

    /// For each byte the one after it; after the last a zero.
    pub const fn next(self) -> Self {
        Self((u128::from_le_bytes(self.0) >> 8).to_le_bytes())
    }
}

impl Flags {
    /// A bit for each byte, the first byte's lowest.
    pub fn mask(self) -> u32 {
        self.0.into()
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Flags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Flags {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}
