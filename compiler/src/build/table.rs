//! Small automata as plain tables, and their products.
//!
//! The states of an automaton for two lists of patterns are pairs of states of the two
//! automata: it is made by looking pairs up, which is a hundred times cheaper than
//! following all patterns through their NFAs. If both are minimal, and no byte makes them
//! quit, so is the product. Knows nothing of patterns or plans.

use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// The state that nothing leads out of.
pub(super) const DEAD: u32 = 0;
/// The state of a text that cannot be decided by a table.
pub(super) const QUIT: u32 = 1;

/// What is reachable from the start of a text.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// By byte: its class.
    pub classes: [u8; 256],
    /// Columns of a row: one for each class, then the end of the text.
    pub columns: usize,
    /// The state at the start of a text.
    pub start: u32,
    /// By state and column: the next state. Dead and quit come first.
    pub next: Vec<u32>,
    /// By state: how many of `reported` belong to it and those before.
    pub reports: Vec<u32>,
    /// The patterns that states report, ascending in each.
    pub reported: Vec<u32>,
    /// How many patterns there are.
    pub patterns: u32,
}

impl Table {
    /// A table with the states that lead nowhere, and no others.
    fn empty(classes: [u8; 256], columns: usize, patterns: u32) -> Self {
        let mut next = vec![DEAD; columns];
        next.resize(2 * columns, QUIT);
        Self {
            classes,
            columns,
            start: DEAD,
            next,
            reports: vec![0, 0],
            reported: Vec::new(),
            patterns,
        }
    }

    /// The table of a DFA. `None` if it has no start, which none that is built here lacks,
    /// or too many states to number.
    pub fn of(dfa: &dense::DFA<Vec<u32>>, anchored: bool) -> Option<Self> {
        let mode = if anchored {
            Anchored::Yes
        } else {
            Anchored::No
        };
        let start = dfa.start_state(&start::Config::new().anchored(mode)).ok()?;
        let bytes: Vec<u8> = dfa
            .byte_classes()
            .representatives(..)
            .filter_map(|unit| unit.as_u8())
            .collect();
        let own = dfa.byte_classes();
        // The DFA's own classes are numbered in the order of their representatives.
        let mut by_own = [0_u8; 256];
        for (name, byte) in (0..=255).zip(&bytes) {
            *by_own.get_mut(usize::from(own.get(*byte)))? = name;
        }
        let mut classes = [0_u8; 256];
        for (byte, class) in (0..=255).zip(&mut classes) {
            *class = *by_own.get(usize::from(own.get(byte)))?;
        }
        let patterns = u32::try_from(dfa.pattern_len()).ok()?;
        let mut table = Self::empty(classes, bytes.len() + 1, patterns);
        let mut numbers: Vec<u32> = Vec::new();
        let mut order: Vec<StateID> = Vec::new();
        let mut number = |id: StateID, order: &mut Vec<StateID>| {
            if dfa.is_dead_state(id) {
                return Some(DEAD);
            }
            if dfa.is_quit_state(id) {
                return Some(QUIT);
            }
            let place = id.as_usize() >> dfa.stride2();
            if place >= numbers.len() {
                numbers.resize(place + 1, DEAD);
            }
            let known = numbers.get_mut(place)?;
            if *known == DEAD {
                order.push(id);
                *known = u32::try_from(order.len() + 1).ok()?;
            }
            Some(*known)
        };
        table.start = number(start, &mut order)?;
        let mut done = 0;
        while let Some(&id) = order.get(done) {
            done += 1;
            for byte in &bytes {
                table
                    .next
                    .push(number(dfa.next_state(id, *byte), &mut order)?);
            }
            table.next.push(number(dfa.next_eoi_state(id), &mut order)?);
            if dfa.is_match_state(id) {
                let first = table.reported.len();
                let patterns = (0..dfa.match_len(id)).map(|at| dfa.match_pattern(id, at).as_u32());
                table.reported.extend(patterns);
                table.reported.get_mut(first..)?.sort_unstable();
            }
            table
                .reports
                .push(u32::try_from(table.reported.len()).ok()?);
        }
        Some(table)
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.reports.len()
    }

    /// The patterns that a state reports.
    pub fn reports_of(&self, state: u32) -> &[u32] {
        let state = state as usize;
        let end = self.reports.get(state).copied().unwrap_or(0);
        let start = state
            .checked_sub(1)
            .and_then(|before| self.reports.get(before).copied())
            .unwrap_or(0);
        self.reported
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// The transitions of a state.
    pub fn row(&self, state: u32) -> &[u32] {
        let start = state as usize * self.columns;
        self.next
            .get(start..start + self.columns)
            .unwrap_or_default()
    }

    /// What a dense DFA of as many states takes.
    pub fn size(&self) -> usize {
        size(self.states(), self.columns, self.reported.len())
    }

    /// The automaton for the patterns of both, ours first, if it stays below `limit`.
    pub fn with(&self, other: &Self, limit: usize) -> Option<Self> {
        let mut pairs: Vec<(u8, u8)> = Vec::new();
        let mut names: BTreeMap<(u8, u8), u8> = BTreeMap::new();
        let mut classes = [0_u8; 256];
        for (class, pair) in classes
            .iter_mut()
            .zip(self.classes.iter().copied().zip(other.classes))
        {
            *class = *names.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                (pairs.len() - 1) as u8
            });
        }
        let columns: Vec<(usize, usize)> = pairs
            .iter()
            .map(|&(ours, theirs)| (usize::from(ours), usize::from(theirs)))
            .chain([(self.columns - 1, other.columns - 1)])
            .collect();
        let patterns = self.patterns.checked_add(other.patterns)?;
        let mut table = Self::empty(classes, columns.len(), patterns);
        let most = limit / row_bytes(table.columns);
        let mut numbers: HashMap<u64, u32, BuildHasherDefault<PairHasher>> = HashMap::default();
        let mut order: Vec<(u32, u32)> = Vec::new();
        let mut number = |ours: u32, theirs: u32, order: &mut Vec<(u32, u32)>| {
            if ours == QUIT || theirs == QUIT {
                return QUIT;
            }
            if ours == DEAD && theirs == DEAD {
                return DEAD;
            }
            *numbers
                .entry(u64::from(ours) << 32 | u64::from(theirs))
                .or_insert_with(|| {
                    order.push((ours, theirs));
                    (order.len() + 1) as u32
                })
        };
        table.start = number(self.start, other.start, &mut order);
        let mut done = 0;
        while let Some(&(ours, theirs)) = order.get(done) {
            done += 1;
            if order.len() > most || size(0, 1, table.reported.len()) > limit {
                return None;
            }
            let (our_row, their_row) = (self.row(ours), other.row(theirs));
            // Neighbouring classes often lead to the same state.
            let mut last = (DEAD, DEAD, DEAD);
            for &(our_column, their_column) in &columns {
                let ours = *our_row.get(our_column)?;
                let theirs = *their_row.get(their_column)?;
                if (ours, theirs) != (last.0, last.1) {
                    last = (ours, theirs, number(ours, theirs, &mut order));
                }
                table.next.push(last.2);
            }
            table.reported.extend(self.reports_of(ours));
            let shifted = other.reports_of(theirs).iter();
            table
                .reported
                .extend(shifted.map(|pattern| pattern + self.patterns));
            table.reports.push(table.reported.len() as u32);
        }
        (table.size() <= limit).then_some(table)
    }

    /// The same with other numbers for the patterns; `numbers` has one for each.
    pub fn renumbered(mut self, numbers: &[u32]) -> Self {
        for pattern in &mut self.reported {
            if let Some(number) = numbers.get(*pattern as usize) {
                *pattern = *number;
            }
        }
        let mut start = 0;
        for end in &self.reports {
            let end = *end as usize;
            if let Some(reported) = self.reported.get_mut(start..end) {
                reported.sort_unstable();
            }
            start = end;
        }
        self
    }

    /// The same with the coarsest classes of bytes that every state treats alike.
    pub fn coarse(self) -> Self {
        let bytes = self.columns - 1;
        let mut names = vec![0_u8; bytes];
        let mut count: u16 = 1;
        let mut first: Vec<Option<u32>> = Vec::new();
        for row in self.next.chunks_exact(self.columns) {
            // The first target seen for each class; most rows split nothing.
            first.clear();
            first.resize(usize::from(count), None);
            let splits = names.iter().zip(row).any(|(name, target)| {
                first
                    .get_mut(usize::from(*name))
                    .is_some_and(|slot| *slot.get_or_insert(*target) != *target)
            });
            if !splits {
                continue;
            }
            let mut renamed: BTreeMap<(u8, u32), u8> = BTreeMap::new();
            let mut fresh: u16 = 0;
            for (name, target) in names.iter_mut().zip(row) {
                *name = *renamed.entry((*name, *target)).or_insert_with(|| {
                    fresh += 1;
                    (fresh - 1) as u8
                });
            }
            count = fresh;
        }
        if usize::from(count) == bytes {
            return self;
        }
        // One old class of each new one, in the order of the new ones.
        let mut kept: Vec<usize> = Vec::new();
        for (column, name) in names.iter().enumerate() {
            if usize::from(*name) == kept.len() {
                kept.push(column);
            }
        }
        kept.push(bytes);
        let mut next = Vec::with_capacity(self.states() * kept.len());
        for row in self.next.chunks_exact(self.columns) {
            next.extend(kept.iter().filter_map(|column| row.get(*column)));
        }
        let classes = self
            .classes
            .map(|class| names.get(usize::from(class)).copied().unwrap_or(0));
        Self {
            classes,
            columns: kept.len(),
            next,
            ..self
        }
    }
}

/// Bytes of a row of a dense DFA.
const fn row_bytes(columns: usize) -> usize {
    columns.next_power_of_two() * size_of::<u32>()
}

/// Bytes of a dense DFA.
const fn size(states: usize, columns: usize, reported: usize) -> usize {
    states * row_bytes(columns) + reported * size_of::<u32>()
}

/// Hashes a pair of states, for a table that nobody else fills.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, pair: u64) {
        let mixed = (self.0 ^ pair).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
