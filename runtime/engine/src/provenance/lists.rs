//! A map from a hash to a short list of numbers, made to grow without a pause.
//!
//! A conversation records while the agent waits, so no insertion may rebuild everything.
//! The hash picks one of many small tables, and each grows by itself. A table is an array
//! with gaps, sorted by 16 bits of the hash: an entry lies at the place that its bits point
//! to, or close behind. So a table grows in one pass without hashing anything again, and
//! six bytes a slot suffice. A slot holds the only number of its list, or names a block of
//! [`FULL`] numbers.
//!
//! Lists whose hashes agree in the bits that are kept are one list. Callers have to tell
//! apart what they find.

/// Numbers that a list holds at most.
const FULL: usize = 4;
/// Numbers have to be smaller.
const NUMBERS: u32 = 1 << 30;

/// Sixteen bits of the hash, then the content in two halves: a number or a block, and
/// above [`NUMBERS`] which of them.
type Slot = [u16; 3];

const ONE: u32 = 0;
const SOME: u32 = 1;
const ALL: u32 = 2;
const NONE: u32 = 3;
const EMPTY: Slot = [0, u16::MAX, u16::MAX];

/// From hashes to lists of at most [`FULL`] numbers each. A full list may lack some.
pub(super) struct Lists {
    tables: Box<[Table]>,
    bits: u32,
    blocks: Vec<[u32; FULL]>,
    bytes: usize,
}

#[derive(Default)]
struct Table {
    slots: Vec<Slot>,
    /// Slots that hashes point to; a few more may follow.
    capacity: usize,
    used: usize,
}

/// A list, oldest number first.
#[derive(Clone, Copy, Default)]
struct List {
    numbers: [u32; FULL],
    len: usize,
}

impl List {
    #[cfg(test)]
    fn numbers(&self) -> &[u32] {
        self.numbers.get(..self.len).unwrap_or_default()
    }

    /// Whether there may be numbers that found no place.
    const fn is_full(&self) -> bool {
        self.len == FULL
    }
}

const fn content(slot: Slot) -> (u32, u32) {
    let [_, low, high] = slot;
    let content = low as u32 | ((high as u32) << 16);
    (content / NUMBERS, content % NUMBERS)
}

const fn slot(bits: u16, kind: u32, number: u32) -> Slot {
    let content = kind * NUMBERS + number;
    [bits, content as u16, (content >> 16) as u16]
}

impl Lists {
    /// An empty map that is meant for about `expected` numbers.
    pub(super) fn new(expected: usize) -> Self {
        let bits = (expected / 2048).clamp(16, 4096).ilog2();
        let tables = 1 << bits;
        Self {
            tables: (0..tables).map(|_| Table::default()).collect(),
            bits,
            blocks: Vec::new(),
            bytes: tables * size_of::<Table>(),
        }
    }

    const fn place(&self, hash: u64) -> (usize, u16) {
        let table = hash >> (64 - self.bits);
        (table as usize, ((hash << self.bits) >> 48) as u16)
    }

    /// The list of a hash.
    fn list(&self, hash: u64) -> List {
        let (table, bits) = self.place(hash);
        let slot = self
            .tables
            .get(table)
            .and_then(|table| table.slots.get(table.find(bits).ok()?));
        let Some(slot) = slot else {
            return List::default();
        };
        match content(*slot) {
            (ONE, number) => List {
                numbers: [number; FULL],
                len: 1,
            },
            (_, block) => {
                let numbers = self.blocks.get(block as usize).copied();
                let numbers = numbers.unwrap_or([u32::MAX; FULL]);
                let len = numbers.iter().take_while(|n| **n < NUMBERS).count();
                List { numbers, len }
            }
        }
    }

    /// Brings the places of many hashes into the processor's caches at once, which takes
    /// little longer than for one.
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let seen = hashes.fold(0, |seen, hash| {
            let (table, bits) = self.place(hash);
            let slot = self.tables.get(table).and_then(|table| {
                let home = (usize::from(bits) * table.capacity) >> 16;
                table.slots.get(home)
            });
            seen ^ slot.map_or(0, |[bits, _, _]| *bits)
        });
        std::hint::black_box(seen);
    }

    /// Appends a number to the list of a hash; `false` if it is full.
    fn push(&mut self, hash: u64, number: u32) -> bool {
        let (table, bits) = self.place(hash);
        let Some(table) = self.tables.get_mut(table) else {
            return false;
        };
        let at = match table.find(bits) {
            Ok(at) => at,
            Err(at) => {
                // A table that grows may also shrink: what its last slots overflowed into
                // is not needed any more.
                self.bytes -= table.slots.capacity() * size_of::<Slot>();
                table.insert(at, slot(bits, ONE, number));
                self.bytes += table.slots.capacity() * size_of::<Slot>();
                return true;
            }
        };
        let Some(place) = table.slots.get_mut(at) else {
            return false;
        };
        match content(*place) {
            (ONE, first) => {
                let block = self.blocks.len();
                if self.blocks.capacity() == block {
                    // An eighth at a time: doubling would take twice the memory.
                    self.blocks.reserve_exact((block / 8).max(64));
                }
                self.blocks.push([first, number, u32::MAX, u32::MAX]);
                self.bytes += size_of::<[u32; FULL]>();
                *place = slot(bits, SOME, block as u32);
                true
            }
            (SOME, block) => {
                let Some([_, _, third, fourth]) = self.blocks.get_mut(block as usize) else {
                    return false;
                };
                if *third >= NUMBERS {
                    *third = number;
                } else {
                    *fourth = number;
                    *place = slot(bits, ALL, block);
                }
                true
            }
            _ => false,
        }
    }

    /// Appends a number to a list without a limit: full lists are continued under other
    /// hashes.
    pub(super) fn append(&mut self, hash: u64, number: u32) {
        let mut hash = hash;
        while !self.push(hash, number) {
            hash = continued(hash);
        }
    }

    /// The numbers of a list without a limit.
    pub(super) fn all(&self, hash: u64) -> impl Iterator<Item = u32> {
        let mut next = Some(hash);
        std::iter::from_fn(move || {
            let hash = next?;
            let list = self.list(hash);
            next = list.is_full().then(|| continued(hash));
            Some(list)
        })
        .flat_map(|list| list.numbers.into_iter().take(list.len))
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

const fn continued(hash: u64) -> u64 {
    hash.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1)
}

impl Table {
    /// The slot with these bits, or where it belongs.
    fn find(&self, bits: u16) -> Result<usize, usize> {
        let home = (usize::from(bits) * self.capacity) >> 16;
        let mut at = home;
        while let Some([theirs, _, high]) = self.slots.get(at)
            && u32::from(*high) >> 14 != NONE
            && *theirs <= bits
        {
            if *theirs == bits {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    /// Puts a slot where it belongs.
    fn insert(&mut self, at: usize, slot: Slot) {
        let mut at = at;
        if self.used >= self.capacity - self.capacity / 8 {
            self.grow();
            let [bits, _, _] = slot;
            at = self.find(bits).unwrap_or_else(|at| at);
        }
        let mut carried = slot;
        for place in self.slots.iter_mut().skip(at) {
            std::mem::swap(place, &mut carried);
            if content(carried).0 == NONE {
                break;
            }
        }
        if content(carried).0 != NONE {
            self.slots.reserve_exact(8);
            self.slots.push(carried);
        }
        self.used += 1;
    }

    fn grow(&mut self) {
        // Larger steps would leave more slots empty, smaller ones copy more often.
        let step = match self.capacity {
            ..128 => 2,
            128..1024 => 4,
            _ => 8,
        };
        let capacity = self.capacity + (self.capacity / step).max(8);
        let mut slots = Vec::with_capacity(capacity + 8);
        for slot in self.slots.iter().filter(|slot| content(**slot).0 != NONE) {
            let [bits, _, _] = *slot;
            let home = (usize::from(bits) * capacity) >> 16;
            if slots.len() < home {
                slots.resize(home, EMPTY);
            }
            slots.push(*slot);
        }
        if slots.len() < capacity {
            slots.resize(capacity, EMPTY);
        }
        self.slots = slots;
        self.capacity = capacity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn lists_are_kept_in_order(entries in prop::collection::vec((0_u64..400, 0..NUMBERS), 0..3000)) {
            let mut lists = Lists::new(0);
            let mut expected: HashMap<u64, Vec<u32>> = HashMap::new();
            for (key, number) in entries {
                // Few tables, neighbouring bits, and both ends.
                let hash = (key % 3) << 62 | (key << 51) >> 4;
                let list = expected.entry(hash).or_default();
                prop_assert_eq!(lists.push(hash, number), list.len() < FULL);
                if list.len() < FULL {
                    list.push(number);
                }
            }
            for (hash, numbers) in expected {
                let list = lists.list(hash);
                prop_assert_eq!(list.numbers(), numbers);
                prop_assert_eq!(list.is_full(), list.numbers().len() == FULL);
            }
        }

        #[test]
        fn long_lists_lose_nothing(lengths in prop::collection::vec(0_u32..60, 1..20)) {
            let mut lists = Lists::new(0);
            let hash = |n: usize| (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for (n, length) in lengths.iter().enumerate() {
                (0..*length).for_each(|number| lists.append(hash(n), number));
            }
            for (n, length) in lengths.iter().enumerate() {
                prop_assert_eq!(lists.all(hash(n)).collect::<Vec<_>>(), (0..*length).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn many_entries_are_found_again_and_the_bytes_are_counted() {
        let mut lists = Lists::new(0);
        let hash = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in 0..200_000 {
            lists.append(hash(n), n as u32);
        }
        for n in 0..200_000 {
            assert!(lists.all(hash(n)).any(|number| number == n as u32), "{n}");
        }
        let held: usize = lists.tables.iter().map(|t| t.slots.capacity() * 6).sum();
        let tables = lists.tables.len() * size_of::<Table>();
        let more = lists.blocks.len() * 16;
        assert_eq!(lists.bytes(), held + tables + more);
    }
}
