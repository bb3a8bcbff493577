//! Which places of a text are indexed, and under which keys.
//!
//! **Anchors.** A place is an anchor if of some four neighbouring places it is the one
//! that starts with the rarest characters. This depends on nothing but the six bytes
//! there, so whatever six bytes of a text are asked about, the anchor that is found in the
//! question is an anchor of the text too. About two places in five are anchors.
//!
//! **Keys.** An anchor is kept in one list: under its first three bytes, or if that list
//! is full, under its first five, and so on up the [`LADDER`]. So
//! every list is short, and common beginnings are told apart by what follows them. Reading
//! up the ladder until a list is not full meets every anchor that starts like the
//! question. Where all lists up to the end of the question are full, nobody can say
//! without reading on: see [`super::store`].

/// Lengths of keys, in bytes.
pub(super) const LADDER: [usize; 8] = [3, 5, 7, 10, 14, 20, 28, 40];
/// Shorter texts have no anchors.
pub(super) const SHORTEST: usize = 6;

/// How common a byte is. Only affects speed: rare anchors make short lists.
const RANKS: [u8; 256] = ranks();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when this is compiled: out of bounds would not build"
)]
const fn ranks() -> [u8; 256] {
    let listed = b"@~^|\\`{}[]<>$&*+;!?%#=_\"()zqjx9876543210kv/:'-bywgpfmucdlhrsnioate,. ";
    let mut ranks = [0; 256];
    let mut byte = 0;
    while byte < ranks.len() {
        // Bytes of other scripts: anything, as long as neighbours differ.
        ranks[byte] = (byte as u8).wrapping_mul(151);
        byte += 1;
    }
    let mut at = 0;
    while at < listed.len() {
        ranks[listed[at] as usize] = at as u8 * 3;
        at += 1;
    }
    ranks
}

fn order(place: &[u8; 3]) -> i32 {
    let [first, second, _] = *place;
    let rank = |byte: u8| i32::from(RANKS.get(usize::from(byte)).copied().unwrap_or(0));
    rank(first) << 8 | rank(second)
}

/// How common the characters at a place are.
pub(super) fn rank(behind: &[u8]) -> i32 {
    behind.first_chunk().map_or(i32::MAX, order)
}

/// Hands over the anchors of `text`, in order. Of equals, the first is the one.
pub(super) fn anchors(text: &[u8], mut each: impl FnMut(usize)) {
    // Smaller than any: where no place is, there is no window of four.
    const NONE: i32 = -1;
    let mut places = text.array_windows::<3>().map(order);
    let mut next = || places.next().unwrap_or(NONE);
    let (mut before, mut here, mut after) = ([NONE; 3], next(), [next(), next(), next()]);
    for at in 0..text.len().saturating_sub(2) {
        let [x, y, z] = before;
        let [u, v, w] = after;
        // How many of the places beside it, in a row, it may stand in one window with.
        let left = if here >= z {
            0
        } else if here >= y {
            1
        } else {
            2 + usize::from(here < x)
        };
        let right = if here > u {
            0
        } else if here > v {
            1
        } else {
            2 + usize::from(here <= w)
        };
        if left + right >= 3 {
            each(at);
        }
        before = [y, z, here];
        here = u;
        after = [v, w, next()];
    }
}

const fn fold(a: u64, b: u64) -> u64 {
    let wide = a as u128 * b as u128;
    wide as u64 ^ (wide >> 64) as u64
}

fn word(bytes: Option<&[u8; 8]>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A hash of `bytes` that nobody can aim at without knowing `secret`.
pub(super) fn key(secret: u64, bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = secret ^ (bytes.len() as u64).wrapping_mul(MIX);
    let last = if bytes.len() < 8 {
        let half = |half: Option<&[u8; 4]>| half.map_or(0, |h| u64::from(u32::from_le_bytes(*h)));
        match bytes {
            [] => 0,
            &[a] => u64::from(a),
            &[a, b] => u64::from_le_bytes([a, b, 0, 0, 0, 0, 0, 0]),
            &[a, b, c] => u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]),
            _ => half(bytes.first_chunk()) | half(bytes.last_chunk()) << 32,
        }
    } else {
        let mut rest = bytes;
        while let Some((chunk, behind)) = rest.split_first_chunk::<8>()
            && !behind.is_empty()
        {
            hash = fold(hash ^ word(Some(chunk)), secret | 1);
            rest = behind;
        }
        word(bytes.last_chunk())
    };
    fold(fold(hash ^ last, secret | 1) ^ MIX, MIX)
}

/// Two bits about what stands eight to twelve bytes behind an anchor.
pub(super) fn check(behind: &[u8]) -> Option<u32> {
    let four = behind.get(8..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*four).wrapping_mul(0x9e37_79b1) >> 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        anchors(text, |at| found.push(at));
        found
    }

    proptest! {
        #[test]
        fn every_six_bytes_have_an_anchor_that_their_surroundings_share(
            text in prop::collection::vec(prop_oneof![97_u8..100, any::<u8>()], 6..40)
        ) {
            let whole = all(&text);
            for (start, part) in text.windows(SHORTEST).enumerate() {
                let here = all(part);
                prop_assert!(!here.is_empty());
                prop_assert!(here.iter().all(|at| at + 3 <= part.len()));
                prop_assert!(here.iter().all(|at| whole.contains(&(start + at))));
            }
        }

        #[test]
        fn keys_depend_on_every_byte(mut text in prop::collection::vec(any::<u8>(), 1..64), at in any::<prop::sample::Index>()) {
            let before = key(7, &text);
            prop_assert_ne!(before, key(8, &text));
            prop_assert_ne!(before, key(7, &text[1..]));
            let at = at.index(text.len());
            text[at] ^= 1;
            prop_assert_ne!(before, key(7, &text));
        }
    }

    #[test]
    fn anchors_are_few_in_ordinary_text() {
        let text = "please send the quarterly report to bob.smith@corp.example by friday, \
                    and ask him about invoice 4711 of last year; thanks in advance. "
            .repeat(8);
        let share = all(text.as_bytes()).len() as f64 / text.len() as f64;
        assert!(share < 0.5, "{share}");
    }
}
