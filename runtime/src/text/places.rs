//! Where some bytes stand in a text, found a block at a time.

/// Bytes in a block: the bits of a word.
const BLOCK: usize = 64;

/// Hands over the places of all bytes that are `wanted`, in order. Compiles to vector
/// instructions as long as `wanted` has no branches.
pub(crate) fn places<F: Fn(u8) -> bool>(bytes: &[u8], wanted: F) -> Places<'_, F> {
    Places {
        rest: bytes,
        wanted,
        base: 0,
        mask: 0,
        next: 0,
    }
}

/// See [`places`].
pub(crate) struct Places<'t, F> {
    rest: &'t [u8],
    wanted: F,
    /// Where the block of `mask` begins.
    base: usize,
    /// The places in that block that have not been handed over.
    mask: u64,
    /// Where `rest` begins.
    next: usize,
}

impl<F: Fn(u8) -> bool> Iterator for Places<'_, F> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.base = self.next;
            if let Some((block, rest)) = self.rest.split_first_chunk::<BLOCK>() {
                self.mask = mask(block, &self.wanted);
                self.rest = rest;
                self.next += BLOCK;
            } else {
                let len = self.rest.len();
                if len == 0 {
                    return None;
                }
                let block = super::padded::<BLOCK>(self.rest);
                self.mask = mask(&block, &self.wanted) & !(u64::MAX << len);
                self.rest = &[];
                self.next += len;
            }
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

#[inline]
fn mask(block: &[u8; BLOCK], wanted: impl Fn(u8) -> bool) -> u64 {
    // Eight bytes of zero or one times this have their bits in order at the top.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut flags = [0_u8; BLOCK];
    for (flag, &byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(wanted(byte));
    }
    let (words, _) = flags.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, word| {
        mask << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_places_are_found(bytes in prop::collection::vec(any::<u8>(), 0..300), below in any::<u8>()) {
            let slow: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] < below).collect();
            let fast: Vec<usize> = places(&bytes, |byte| byte < below).collect();
            prop_assert_eq!(fast, slow);
        }
    }
}
