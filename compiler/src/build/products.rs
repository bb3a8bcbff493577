//! Which tables are multiplied: as few products as possible that stay below a limit.
//!
//! Neighbours are multiplied in pairs, pairs in fours, and so on, until it does not fit.
//! What that leaves unfilled is filled with pieces of what comes next. The result depends
//! on the tables and their order alone. Knows nothing of patterns.

use super::table::Table;
use super::threads::Threads;
use std::sync::Arc;

/// Parts that are filled one after the other. Regions of so many are filled at the same
/// time, at the cost of an unfilled part in each.
const REGION: usize = 16;
/// A part is full if this part more of it does not fit.
const GRAIN: usize = 8;

/// How large a product may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of its table.
    pub table: usize,
    /// The weights of its leaves, together.
    pub weight: usize,
}

/// The product of some leaves.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The product.
    pub table: Arc<Table>,
    /// What its leaves weigh.
    pub weight: usize,
    /// The leaves, in the order of their patterns.
    pub leaves: Vec<usize>,
}

/// All leaves, in parts.
pub(super) fn group(
    leaves: &[(Arc<Table>, usize)],
    limits: Limits,
    threads: &Threads,
) -> Vec<Part> {
    let grouping = Grouping { leaves, limits };
    let parts = grouping.pairs(threads);
    let mut regions = Vec::with_capacity(parts.len().div_ceil(REGION));
    let mut parts = parts.into_iter().peekable();
    while parts.peek().is_some() {
        regions.push(parts.by_ref().take(REGION).collect());
    }
    let (mut full, mut ends) = (Vec::new(), Vec::new());
    for (filled, end) in threads.map(regions, |region| grouping.fill_all(region)) {
        full.extend(filled);
        ends.extend(end);
    }
    if ends.len() > 1 {
        let (filled, end) = grouping.fill_all(ends);
        full.extend(filled);
        ends = end.into_iter().collect();
    }
    full.extend(ends);
    full
}

struct Grouping<'l> {
    /// The leaves and their weights.
    leaves: &'l [(Arc<Table>, usize)],
    limits: Limits,
}

impl Grouping<'_> {
    /// The largest parts of two, four, eight … leaves that fit, in order.
    fn pairs(&self, threads: &Threads) -> Vec<Part> {
        let singles = (0..self.leaves.len()).filter_map(|leaf| self.single(leaf));
        let mut level: Vec<Vec<Part>> = singles.map(|part| vec![part]).collect();
        while level.len() > 1 {
            let mut pairs = Vec::with_capacity(level.len().div_ceil(2));
            let mut parts = level.into_iter();
            while let Some(left) = parts.next() {
                pairs.push((left, parts.next()));
            }
            level = threads.map(pairs, |(mut left, right)| {
                let right = right.unwrap_or_default();
                if let ([a], [b]) = (left.as_slice(), right.as_slice())
                    && let Some(both) = self.both(a, b)
                {
                    return vec![both];
                }
                left.extend(right);
                left
            });
        }
        level.into_iter().flatten().collect()
    }

    /// Fills each part with as much as fits of those that follow. The last may have room
    /// left.
    fn fill_all(&self, parts: Vec<Part>) -> (Vec<Part>, Option<Part>) {
        let mut full = Vec::new();
        let mut open: Option<Part> = None;
        for donor in parts {
            let Some(part) = open.take() else {
                open = Some(donor);
                continue;
            };
            match self.fill(part, donor) {
                (whole, None) => open = Some(whole),
                (part, rest) => {
                    full.push(part);
                    open = rest;
                }
            }
        }
        (full, open)
    }

    /// Fills a part with as much of a donor as fits. Returns what is left of the donor.
    fn fill(&self, part: Part, donor: Part) -> (Part, Option<Part>) {
        if let Some(both) = self.both(&part, &donor) {
            return (both, None);
        }
        let grain = (part.leaves.len() / GRAIN).max(1);
        let mut size = donor.leaves.len() / 2;
        let mut given = 0;
        let mut filled = None;
        while size >= grain {
            let piece = donor.leaves.get(given..given + size).unwrap_or_default();
            if let Some(piece) = self.product(piece)
                && let Some(both) = self.both(filled.as_ref().unwrap_or(&part), &piece)
            {
                filled = Some(both);
                given += size;
            }
            size /= 2;
        }
        // Less than what fits together fits together. Were it not so, nothing is given:
        // no leaf may get lost.
        let rest = self.product(donor.leaves.get(given..).unwrap_or_default());
        match (filled, rest) {
            (Some(filled), Some(rest)) => (filled, Some(rest)),
            _ => (part, Some(donor)),
        }
    }

    fn single(&self, leaf: usize) -> Option<Part> {
        let (table, weight) = self.leaves.get(leaf)?;
        Some(Part {
            table: Arc::clone(table),
            weight: *weight,
            leaves: vec![leaf],
        })
    }

    fn both(&self, a: &Part, b: &Part) -> Option<Part> {
        let weight = a.weight.saturating_add(b.weight);
        if weight > self.limits.weight {
            return None;
        }
        Some(Part {
            table: Arc::new(a.table.with(&b.table, self.limits.table)?),
            weight,
            leaves: [a.leaves.as_slice(), &b.leaves].concat(),
        })
    }

    /// The product of a piece of a part.
    fn product(&self, leaves: &[usize]) -> Option<Part> {
        if let [leaf] = leaves {
            return self.single(*leaf);
        }
        let (left, right) = leaves.split_at_checked(leaves.len() / 2)?;
        if left.is_empty() {
            return None;
        }
        self.both(&self.product(left)?, &self.product(right)?)
    }
}
