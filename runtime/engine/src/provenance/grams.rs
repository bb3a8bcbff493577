//! Sequences of bytes: the parts that a text is known by in the tables of
//! [`super::signature`].
//!
//! Each six bytes in a row are one, since nothing shorter is looked for. Most texts hold
//! all sequences of common words, though; so a space with what stands around it, two or three
//! words mostly, is one as well.

use bouncer_reader::block::{places, wanted};

/// Bytes in a sequence. Shorter texts have none.
pub(super) const SHORTEST: usize = 6;

/// Bytes before a space in the two sequences around it, and as many from it on.
const AROUND: (usize, usize) = (6, 10);

/// Hands over hashes of the sequences around the spaces of `text`, in order: the longer and
/// the shorter, where there is enough text for them.
pub(super) fn long_hashes(
    text: &[u8],
    secret: u64,
) -> impl Iterator<Item = (Option<u64>, Option<u64>)> {
    let word = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let hash = move |bytes: &[u8]| {
        let first = fold(word(bytes.first_chunk()) ^ secret, MIX);
        fold(first ^ word(bytes.last_chunk()), secret | 1)
    };
    places(text, wanted!(|block| block.is(b' '))).map(move |at| {
        let around = |half: usize| text.get(at.checked_sub(half)?..at + half);
        let short = around(AROUND.0).map(hash);
        let long = around(AROUND.1).zip(short);
        (
            long.map(|(long, short)| fold(hash(long) ^ short, MIX)),
            short,
        )
    })
}

/// Hands over a hash of each six bytes of `text`, in order. Nobody can aim at one without
/// knowing `secret`.
pub(super) fn hashes(text: &[u8], secret: u64) -> impl Iterator<Item = u64> {
    text.array_windows::<SHORTEST>()
        .map(move |&[a, b, c, d, e, f]| {
            of_six(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), secret)
        })
}

/// As [`hashes`], each handed to `each`: quicker for long texts.
#[inline(always)]
pub(super) fn each_hash(text: &[u8], secret: u64, mut each: impl FnMut(u64)) {
    // Eight bytes are read at once; behind the last eight stand two more sequences.
    for eight in text.array_windows::<8>() {
        each(of_six(u64::from_le_bytes(*eight) & SIX, secret));
    }
    let last = text.len().min(7);
    let last = text.get(text.len() - last..).unwrap_or_default();
    hashes(last, secret).for_each(each);
}

const SIX: u64 = (1 << 48) - 1;

#[inline(always)]
const fn of_six(six: u64, secret: u64) -> u64 {
    fold((six | 1 << 56) ^ secret, secret | 1)
}

/// How common the bytes of each sequence of `text` are, in order. Only affects speed: what
/// is rare is asked for first.
pub(super) fn ranks(text: &[u8]) -> impl Iterator<Item = u32> {
    let rank = |byte: &u8| u32::from(RANKS.get(usize::from(*byte)).copied().unwrap_or(0));
    text.array_windows::<SHORTEST>()
        .map(move |gram| gram.iter().map(rank).sum())
}

/// How common a byte is.
const RANKS: [u8; 256] = rank_bytes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when this is compiled: out of bounds would not build"
)]
const fn rank_bytes() -> [u8; 256] {
    let listed = b"@~^|\\`{}[]<>$&*+;!?%#=_\"()zqjx9876543210kv/:'-bywgpfmucdlhrsnioate,. ";
    // Bytes of other scripts are taken for rare ones.
    let mut ranks = [10; 256];
    let mut at = 0;
    while at < listed.len() {
        ranks[listed[at] as usize] = at as u8;
        at += 1;
    }
    ranks
}

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

const fn fold(a: u64, b: u64) -> u64 {
    let wide = a as u128 * b as u128;
    wide as u64 ^ (wide >> 64) as u64
}

/// A hash of a whole text that nobody can aim at without knowing `secret`.
pub(super) fn whole(secret: u64, text: &[u8]) -> u64 {
    let mut hash = secret ^ (text.len() as u64).wrapping_mul(MIX);
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        hash = fold(hash ^ u64::from_le_bytes(*word), secret | 1);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    fold(fold(hash ^ u64::from_le_bytes(last), secret | 1) ^ MIX, MIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hashes_depend_on_every_byte(mut text in prop::collection::vec(any::<u8>(), 1..64), at in any::<prop::sample::Index>()) {
            let before = whole(7, &text);
            prop_assert_ne!(before, whole(8, &text));
            prop_assert_ne!(before, whole(7, &text[1..]));
            let at = at.index(text.len());
            text[at] ^= 1;
            prop_assert_ne!(before, whole(7, &text));
        }

        #[test]
        fn a_part_has_the_sequences_that_the_whole_has_there(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let all: Vec<u64> = hashes(&text, 9).collect();
            prop_assert_eq!(all.len(), (text.len() + 1).saturating_sub(SHORTEST));
            prop_assert_eq!(all.len(), ranks(&text).count());
            for (at, hash) in all.iter().enumerate() {
                prop_assert_eq!(Some(*hash), hashes(&text[at..], 9).next());
            }
        }
    }

    #[test]
    fn spaces_have_sequences_where_there_is_enough_around_them() {
        let all = |text: &str| long_hashes(text.as_bytes(), 9).collect::<Vec<_>>();
        let some = all("the quick brown fox jumps over it");
        let long = some.iter().filter(|(long, _)| long.is_some()).count();
        let short = some.iter().filter(|(_, short)| short.is_some()).count();
        assert_eq!((long, short), (2, 4));
        // A part knows what stands in it, and nothing else.
        assert_eq!(all("quick brown fox jumps")[1], some[2]);
        assert_eq!(all("k brown fox jumps")[1], (None, some[2].1));
        assert_ne!(all("k brown fox jumpt")[1].1, all("k brawn fox jumps")[1].1);
        assert_eq!(all("brown fox"), [(None, None)]);
    }

    #[test]
    fn rare_bytes_come_first() {
        let ranks: Vec<u32> = ranks(b"an eve@x").collect();
        assert!(ranks[0] > ranks[2], "{ranks:?}");
    }
}
