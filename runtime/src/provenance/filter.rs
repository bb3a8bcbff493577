//! Which sequences of six bytes a stretch of text holds: one bit for each, so that some
//! seem to be there that are not, and none the other way round.

use super::grams::SHORTEST;

const MASK: u64 = (1 << (8 * SHORTEST)) - 1;

/// The sequences of one stretch of text.
pub(super) struct Filter {
    bits: Box<[u64]>,
    multiplier: u64,
    /// Bytes of text that still find room.
    room: usize,
}

impl Filter {
    /// For `bytes` bytes of text: half a byte each.
    pub(super) fn new(bytes: usize, secret: u64) -> Self {
        Self {
            bits: vec![0; bytes / 16 + 1].into_boxed_slice(),
            multiplier: secret | 1,
            room: bytes,
        }
    }

    /// Bytes of text that still find room.
    pub(super) const fn room(&self) -> usize {
        self.room
    }

    /// Notes all sequences of a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        self.room = self.room.saturating_sub(text.len());
        for gram in grams(text) {
            let (word, bit) = self.place(gram);
            if let Some(word) = self.bits.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Whether the first `most` sequences of a text all seem to be here.
    pub(super) fn may_hold(&self, text: &[u8], most: usize) -> bool {
        grams(text).take(most).all(|gram| {
            let (word, bit) = self.place(gram);
            self.bits.get(word).is_none_or(|word| word & bit != 0)
        })
    }

    fn place(&self, gram: u64) -> (usize, u64) {
        let spread = gram.wrapping_mul(self.multiplier);
        // The upper bits choose the word, those below them the bit.
        let wide = u128::from(spread) * self.bits.len() as u128;
        ((wide >> 64) as usize, 1 << ((wide as u64) >> 58))
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bits.len() * 8
    }
}

fn grams(text: &[u8]) -> impl Iterator<Item = u64> {
    text.iter()
        .scan(0_u64, |gram, byte| {
            *gram = ((*gram << 8) | u64::from(*byte)) & MASK;
            Some(*gram)
        })
        .skip(SHORTEST - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_and_most_else_is_not() {
        let mut filter = Filter::new(4096, 0x1234_5678_9abc_def1);
        let text = "the quick brown fox jumps over the lazy dog";
        filter.add(text.as_bytes());
        for part in [text, "quick ", "lazy dog"] {
            assert!(filter.may_hold(part.as_bytes(), usize::MAX), "{part}");
        }
        for part in ["quick fox", "lazy cat", "something else"] {
            assert!(!filter.may_hold(part.as_bytes(), usize::MAX), "{part}");
        }
        assert!(filter.may_hold(b"short", usize::MAX));
    }
}
