//! Fills literal sets: open-addressing tables with a fixed hash.

use bouncer_plan::format::{LiteralKind, LiteralSet, LiteralSlot, Range, Str};
use bouncer_plan::literals::hash;
use std::collections::BTreeMap;
use zerocopy::little_endian::U32;

/// The literal tables of a plan.
#[derive(Debug, Default)]
pub struct LiteralTables {
    /// The plan's literal sets.
    pub sets: Vec<LiteralSet>,
    /// The plan's literal slots.
    pub slots: Vec<LiteralSlot>,
}

/// Collects one set: keys with their values, sorted for a stable layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiteralSetBuilder {
    /// By kind and key: the values.
    pub entries: BTreeMap<(LiteralKind, String), Vec<u32>>,
}

impl LiteralSetBuilder {
    /// Adds a key.
    pub fn add(&mut self, kind: LiteralKind, key: impl Into<String>) {
        self.entries.entry((kind, key.into())).or_default();
    }

    /// Adds a key with a value. Values come in ascending order.
    pub fn add_value(&mut self, kind: LiteralKind, key: impl Into<String>, value: u32) {
        let values = self.entries.entry((kind, key.into())).or_default();
        if values.last() != Some(&value) {
            values.push(value);
        }
    }
}

impl LiteralTables {
    /// Writes a set; `text` and `list` store its keys and values in the plan.
    pub fn push(
        &mut self,
        set: &LiteralSetBuilder,
        mut text: impl FnMut(&str) -> Str,
        mut list: impl FnMut(&[u32]) -> Range,
    ) -> u32 {
        let size = (set.entries.len() * 2).next_power_of_two().max(2);
        let first = self.slots.len();
        let empty = LiteralSlot {
            hash: U32::new(0),
            kind: LiteralKind::Empty,
            key: Str {
                start: U32::new(0),
                length: U32::new(0),
            },
            values: Range {
                start: U32::new(0),
                length: U32::new(0),
            },
        };
        self.slots.resize(first + size, empty);
        let mask = size - 1;
        let mut kinds = 0;
        for ((kind, key), values) in &set.entries {
            kinds |= kind.bit();
            let hash = hash(*kind, key.as_bytes());
            let mut at = (hash >> 32) as usize & mask;
            while self
                .slots
                .get(first + at)
                .is_some_and(|slot| slot.kind != LiteralKind::Empty)
            {
                at = (at + 1) & mask;
            }
            let slot = LiteralSlot {
                hash: U32::new(hash as u32),
                kind: *kind,
                key: text(key),
                values: list(values),
            };
            if let Some(place) = self.slots.get_mut(first + at) {
                *place = slot;
            }
        }
        self.sets.push(LiteralSet {
            slots: Range {
                start: U32::new(first as u32),
                length: U32::new(size as u32),
            },
            count: U32::new(set.entries.len() as u32),
            kinds: U32::new(kinds),
        });
        (self.sets.len() - 1) as u32
    }
}
