//! Whole leaves that vouch for a destination that is equal to them. Counts its bytes and
//! can forget its oldest half.

use super::store::{Hit, Mark};
use std::collections::HashMap;

struct Leaf {
    order: u64,
    mark: Mark,
}

/// Whole leaves that vouch for a destination equal to them, byte for byte.
#[derive(Default)]
pub(super) struct Leaves {
    leaves: HashMap<Box<str>, Leaf>,
    bytes: usize,
}

impl Leaves {
    /// Keeps a leaf.
    pub(super) fn add(&mut self, leaf: &str, order: u64, mark: &Mark) {
        let key: Box<str> = leaf.into();
        let cost = Self::cost(&key, mark);
        self.leaves.entry(key).or_insert_with(|| {
            self.bytes += cost;
            Leaf {
                order,
                mark: mark.clone(),
            }
        });
    }

    fn cost(key: &str, mark: &Mark) -> usize {
        key.len() + size_of::<(Box<str>, Leaf)>() + mark.cost()
    }

    /// The leaf that is exactly `text`.
    pub(super) fn get(&self, text: &str) -> Option<Hit<'_>> {
        let (leaf, Leaf { mark, .. }) = self.leaves.get_key_value(text)?;
        Some(Hit {
            mark,
            excerpt: leaf,
        })
    }

    /// Forgets the older half. Returns how many.
    pub(super) fn forget_half(&mut self) -> u64 {
        let mut orders: Vec<u64> = self.leaves.values().map(|leaf| leaf.order).collect();
        let middle = orders.len() / 2;
        if orders.is_empty() {
            return 0;
        }
        let limit = *orders.select_nth_unstable(middle).1;
        let before = self.leaves.len();
        let bytes = &mut self.bytes;
        self.leaves.retain(|key, leaf| {
            // At least one goes, also when all are of one age.
            let keep = leaf.order > limit;
            if !keep {
                *bytes = bytes.saturating_sub(Self::cost(key, &leaf.mark));
            }
            keep
        });
        (before - self.leaves.len()) as u64
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}
