//! Each way through a text, with each kind of block there is here, against a plain loop.

use super::*;
use portable::Portable;
use proptest::prelude::*;

const MARKS: Set<4> = Set::of(*b"\"\\;@");

fn is_wanted(byte: u8) -> bool {
    byte < 0x20 || MARKS.bytes.contains(&byte) || (b'a'..=b'c').contains(&(byte | 0x20))
}

#[derive(Clone, Copy)]
struct These;

impl Wanted for These {
    fn flags<B: Block>(&self, block: B) -> B::Flags {
        block.within(0, 0x1f) | block.among(&MARKS) | block.or(0x20).within(b'a', b'c')
    }
}

/// A byte before another, or beyond printable ASCII.
#[derive(Clone, Copy)]
struct Before(u8, u8);

impl Before {
    fn is_wanted(self, byte: u8, next: u8) -> bool {
        (byte == self.0 && next == self.1) || byte == next || !(b' '..=b'~').contains(&byte)
    }
}

impl WantedPair for Before {
    fn flags<B: Block>(&self, block: B, next: B) -> B::Flags {
        let pair = block.is(self.0) & next.is(self.1);
        pair | block.same(next) | !block.within(b' ', b'~')
    }
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        // Wanted ones are rare, or none at all.
        prop::collection::vec(b'd'..=b'z', 0..400),
        "[ x-z\"]{0,150}".prop_map(String::into_bytes),
        "(xy? ?){0,130}".prop_map(String::into_bytes),
        "[xz]{0,400}(xyz)?[xz]{0,150}".prop_map(String::into_bytes),
    ]
}

/// What the functions of one kind of block find.
fn agrees<const N: usize, K: Kind<N>>(kind: K, bytes: &[u8]) -> Result<(), TestCaseError> {
    let wanted: Vec<usize> = (0..bytes.len())
        .filter(|&at| is_wanted(bytes[at]))
        .collect();
    let first = wanted.first().copied();
    if bytes.len() >= N {
        for from in [0, 1, N, first.unwrap_or(bytes.len())] {
            if from <= first.unwrap_or(bytes.len()) {
                prop_assert_eq!(scan::find(kind, bytes, from, These), first);
            }
        }
    }
    if first.is_none_or(|first| first + N >= bytes.len()) {
        prop_assert_eq!(scan::find_last(kind, bytes, These), first);
    }
    let mut masks = [0; 8];
    let filled = scan::masks(kind, bytes, These, &mut masks);
    prop_assert_eq!(filled, (bytes.len() / 64).min(8));
    for (stretch, mask) in bytes.chunks_exact(64).zip(masks) {
        let bit = |(at, &byte): (usize, &u8)| u64::from(is_wanted(byte)) << at;
        prop_assert_eq!(mask, stretch.iter().enumerate().map(bit).sum::<u64>());
    }
    for stretch in bytes.chunks(64) {
        let bit = |(at, &byte): (usize, &u8)| u64::from(is_wanted(byte)) << at;
        let slow = stretch.iter().enumerate().map(bit).sum::<u64>();
        prop_assert_eq!(scan::mask(kind, stretch, These), slow);
    }

    let next = |at: usize| bytes.get(at + 1).copied().unwrap_or(0);
    let each = [Before(b'x', b'y'), Before(b'z', b'x'), Before(b' ', 0)];
    for pair in each {
        let slow = (0..bytes.len()).find(|&at| pair.is_wanted(bytes[at], next(at)));
        prop_assert_eq!(scan::find_pair(kind, bytes, pair), slow);
    }
    let mut slow: Vec<(u8, usize)> = each
        .iter()
        .flat_map(|pair| (0..bytes.len()).map(move |at| (pair, at)))
        .filter(|(pair, at)| pair.is_wanted(bytes[*at], next(*at)))
        .map(|(pair, at)| (pair.0, at))
        .collect();
    slow.sort_unstable();
    let mut all = Vec::new();
    let any = scan::any_pair(kind, bytes, &each, |pair, at| {
        all.push((pair.0, at));
        false
    });
    prop_assert!(!any);
    all.sort_unstable();
    all.dedup();
    prop_assert_eq!(&all, &slow);
    // It ends at the right one.
    if let Some(&right) = slow.last() {
        prop_assert!(scan::any_pair(kind, bytes, &each, |pair, at| (pair.0, at) == right));
    }
    Ok(())
}

/// What the operations of one kind of block say of sixteen or thirty-two bytes.
fn says<const N: usize, K: Kind<N>>(
    kind: K,
    bytes: [u8; N],
    [low, high, bits]: [u8; 3],
) -> Result<(), TestCaseError> {
    let bit = |wanted: &dyn Fn(usize) -> bool| (0..N).map(|at| u32::from(wanted(at)) << at).sum();
    let same = |flags: <K::Block as Block>::Flags, wanted: &dyn Fn(usize) -> bool| {
        let slow: u32 = bit(wanted);
        prop_assert_eq!(flags.mask(), slow);
        Ok(())
    };
    let block = kind.of(&bytes);
    let within = |at: usize| (low..=high).contains(&bytes[at]);
    same(block.is(low), &|at| bytes[at] == low)?;
    same(block.among(&MARKS), &|at| MARKS.bytes.contains(&bytes[at]))?;
    same(block.or(bits).is(low | bits), &|at| {
        bytes[at] | bits == low | bits
    })?;
    same(block.same(kind.next(block)), &|at| {
        bytes[at] == bytes.get(at + 1).copied().unwrap_or(0)
    })?;
    same(block.within(low, high), &within)?;
    same(!block.within(low, high), &|at| !within(at))?;
    same(
        (block.is(low) | block.is(high)) & block.within(low, high),
        &|at| within(at) && (bytes[at] == low || bytes[at] == high),
    )?;
    for length in 0..=N {
        let (block, next) = kind.short(&bytes[..length]);
        let flags = block.within(low, high) & next.is(high);
        let slow = (0..length)
            .filter(|&at| within(at) && high == if at + 1 < length { bytes[at + 1] } else { 0 });
        let slow: u32 = slow.map(|at| 1 << at).sum();
        prop_assert_eq!(kind.in_order(flags.mask(), length), slow);
    }
    Ok(())
}

/// Every length up to beyond the longest stride, at every place within the widest block. All
/// around stand wanted bytes: one that is read beyond the text, or before it, is found.
#[test]
fn every_length_at_every_alignment() {
    for place in 0..32 {
        for length in 0..=200 {
            let mut room = vec![b'"'; place + length + 64];
            for wanted in [None, Some(0), Some(length / 2), length.checked_sub(1)] {
                let bytes = &mut room[place..place + length];
                bytes.fill(b'w');
                if let Some(byte) = wanted.and_then(|at| bytes.get_mut(at)) {
                    *byte = b'x';
                }
                if let Some(byte) = wanted.and_then(|at| bytes.get_mut(at + 1)) {
                    *byte = b'"';
                }
                every_kind_agrees(bytes).unwrap();
                // Nothing lies behind the last byte: a reader that goes on is seen by tools
                // that watch the memory.
                every_kind_agrees(&Box::<[u8]>::from(&*bytes)).unwrap();
            }
        }
    }
}

fn every_kind_agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    agrees(Portable::<16>, bytes)?;
    agrees(Portable::<32>, bytes)?;
    agrees(BLOCKS, bytes)?;
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if let Some(wide) = avx2::Avx2::detected() {
        agrees(wide, bytes)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn all_that_a_plain_loop_finds_is_found(bytes in texts()) {
        let wanted = |at: &usize| is_wanted(bytes[*at]);
        let slow: Vec<usize> = (0..bytes.len()).filter(wanted).collect();
        prop_assert_eq!(find(&bytes, These), slow.first().copied());
        prop_assert_eq!(places(&bytes, These).collect::<Vec<_>>(), slow);
        let next = |at: usize| bytes.get(at + 1).copied().unwrap_or(0);
        let pair = Before(b'x', b'y');
        let slow: Vec<usize> =
            (0..bytes.len()).filter(|&at| pair.is_wanted(bytes[at], next(at))).collect();
        prop_assert_eq!(find_pair(&bytes, pair), slow.first().copied());
        let mut all = Vec::new();
        any_pair(&bytes, &[pair], |_, at| {
            all.push(at);
            false
        });
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all, slow);
    }

    #[test]
    fn long_texts_have_all_their_places(length in 0..3000_usize, every in 1..200_usize) {
        let bytes: Vec<u8> = (0..length).map(|at| if at % every == 0 { b'"' } else { b'x' }).collect();
        let found: Vec<usize> = places(&bytes, These).collect();
        prop_assert_eq!(found, (0..length).step_by(every).collect::<Vec<_>>());
    }

    #[test]
    fn every_kind_of_blocks_finds_what_a_plain_loop_finds(bytes in texts()) {
        every_kind_agrees(&bytes)?;
    }

    #[test]
    fn every_kind_of_blocks_says_the_same(
        bytes: [u8; 32],
        few in prop::array::uniform32(prop::sample::select(b" \"\\;@a\0\x80\xff".as_slice())),
        low: u8,
        high: u8,
        bits: u8,
    ) {
        for bytes in [bytes, few] {
            let values = [low.min(high), low.max(high), bits];
            let first: [u8; 16] = *bytes.first_chunk().unwrap();
            says(Portable::<16>, first, values)?;
            says(Portable::<32>, bytes, values)?;
            says(BLOCKS, first, values)?;
            #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
            if let Some(wide) = avx2::Avx2::detected() {
                says(wide, bytes, values)?;
            }
        }
    }
}
