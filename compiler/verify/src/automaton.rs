//! Patterns as tables that can be walked side by side.
//!
//! A [`Table`] answers "does the pattern match somewhere in the text" one byte at a time,
//! and knows when the answer is settled. Knows nothing of policies.

use bouncer_compiler::build::pattern_dfa;
use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use std::collections::HashMap;

/// No continuation matches.
pub(super) const DEAD: u32 = 0;
/// The text matches, whatever follows.
pub(super) const MATCHED: u32 = 1;
/// The automaton cannot tell: a Unicode word boundary beside non-ASCII text.
pub(super) const QUIT: u32 = 2;
const FIRST: u32 = 3;

/// A deterministic automaton over bytes.
#[derive(Debug)]
pub(super) struct Table {
    classes: [u8; 256],
    stride: usize,
    next: Vec<u32>,
    /// What holds if the text ends in a state: [`DEAD`], [`MATCHED`] or [`QUIT`].
    end: Vec<u32>,
    start: u32,
    /// By place, the bytes that a text can have there that matches, as far as every such text
    /// is longer.
    places: Vec<Bytes>,
}

/// A set of bytes.
type Bytes = [u64; 4];

/// So many places are looked at.
const MOST_PLACES: usize = 32;
/// States that are looked at for one place.
const MOST_AT_ONCE: usize = 64;

impl Table {
    /// The table of a pattern; `None` if it would be too large.
    pub fn build(pattern: &str) -> Option<Self> {
        let (dfa, anchored) = pattern_dfa(pattern)?;
        Self::read(&dfa, anchored)
    }

    fn read(dfa: &dense::DFA<Vec<u32>>, anchored: bool) -> Option<Self> {
        let mode = if anchored {
            Anchored::Yes
        } else {
            Anchored::No
        };
        let start = dfa.start_state(&start::Config::new().anchored(mode)).ok()?;
        let mut numbers: HashMap<StateID, u32> = HashMap::new();
        let mut order: Vec<StateID> = Vec::new();
        let mut number = |id: StateID, order: &mut Vec<StateID>| {
            if dfa.is_dead_state(id) {
                DEAD
            } else if dfa.is_quit_state(id) {
                QUIT
            } else if dfa.is_match_state(id) {
                MATCHED
            } else {
                *numbers.entry(id).or_insert_with(|| {
                    order.push(id);
                    FIRST + order.len() as u32 - 1
                })
            }
        };
        let start = number(start, &mut order);
        let mut rows: Vec<[u32; 256]> = Vec::new();
        let mut end = vec![DEAD, MATCHED, QUIT];
        let mut at = 0;
        while let Some(&id) = order.get(at) {
            at += 1;
            let mut row = [DEAD; 256];
            for (byte, slot) in (0..=255_u8).zip(row.iter_mut()) {
                *slot = number(dfa.next_state(id, byte), &mut order);
            }
            rows.push(row);
            let last = number(dfa.next_eoi_state(id), &mut order);
            end.push(if last >= FIRST { DEAD } else { last });
        }
        let mut table = Self::compress(start, &rows, end);
        table.settle();
        table.places = table.leading();
        Some(table)
    }

    /// Joins bytes that every state treats alike.
    fn compress(start: u32, rows: &[[u32; 256]], end: Vec<u32>) -> Self {
        let mut columns: HashMap<Vec<u32>, u8> = HashMap::new();
        let mut classes = [0_u8; 256];
        let mut kept: Vec<usize> = Vec::new();
        for (byte, class) in classes.iter_mut().enumerate() {
            let column: Vec<u32> = rows
                .iter()
                .map(|row| row.get(byte).copied().unwrap_or(DEAD))
                .collect();
            let fresh = kept.len().min(255) as u8;
            *class = *columns.entry(column).or_insert_with(|| {
                kept.push(byte);
                fresh
            });
        }
        let stride = kept.len();
        let mut next = Vec::with_capacity((rows.len() + 3) * stride);
        for fixed in [DEAD, MATCHED, QUIT] {
            next.extend(std::iter::repeat_n(fixed, stride));
        }
        for row in rows {
            next.extend(
                kept.iter()
                    .map(|byte| row.get(*byte).copied().unwrap_or(DEAD)),
            );
        }
        Self {
            classes,
            stride,
            next,
            end,
            start,
            places: Vec::new(),
        }
    }

    /// The bytes at the first places of texts that match.
    fn leading(&self) -> Vec<Bytes> {
        let mut places = Vec::new();
        let mut states = vec![self.start];
        while places.len() < MOST_PLACES && states.len() <= MOST_AT_ONCE {
            // A text that may end here has nothing at this place.
            let open = |state: &u32| *state < FIRST || self.end(*state) != DEAD;
            if states.iter().any(open) {
                break;
            }
            let mut bytes: Bytes = [0; 4];
            let mut next = Vec::new();
            for state in &states {
                for byte in 0..=u8::MAX {
                    let to = self.step(*state, byte);
                    if to == DEAD {
                        continue;
                    }
                    if let Some(part) = bytes.get_mut(usize::from(byte / 64)) {
                        *part |= 1 << (byte % 64);
                    }
                    if !next.contains(&to) {
                        next.push(to);
                    }
                }
            }
            places.push(bytes);
            states = next;
        }
        places
    }

    /// Whether surely no text matches both, since they differ at one place.
    pub fn excludes(&self, other: &Self) -> bool {
        let both = self.places.iter().zip(&other.places);
        both.into_iter()
            .any(|(a, b)| a.iter().zip(b).all(|(a, b)| a & b == 0))
    }

    /// Replaces states whose answer is settled by [`MATCHED`] and [`DEAD`].
    fn settle(&mut self) {
        let states = self.end.len();
        // Who cannot but match; then who can still match or quit.
        let mut sure = vec![false; states];
        let mut hope = vec![false; states];
        if let [_, matched, ..] = sure.as_mut_slice() {
            *matched = true;
        }
        if let [_, matched, quit, ..] = hope.as_mut_slice() {
            *matched = true;
            *quit = true;
        }
        let flag = |flags: &[bool], state: u32| flags.get(state as usize).copied() == Some(true);
        loop {
            let mut changed = false;
            for state in (FIRST as usize..states).rev() {
                let last = self.end.get(state).copied().unwrap_or(DEAD);
                let row = self.row(state as u32);
                if !flag(&sure, state as u32)
                    && last == MATCHED
                    && row.iter().all(|to| flag(&sure, *to))
                    && let Some(slot) = sure.get_mut(state)
                {
                    *slot = true;
                    changed = true;
                }
                if !flag(&hope, state as u32)
                    && (last != DEAD || row.iter().any(|to| flag(&hope, *to)))
                    && let Some(slot) = hope.get_mut(state)
                {
                    *slot = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let settled = |state: u32| {
            if flag(&sure, state) {
                MATCHED
            } else if flag(&hope, state) {
                state
            } else {
                DEAD
            }
        };
        for to in &mut self.next {
            *to = settled(*to);
        }
        self.start = settled(self.start);
    }

    fn row(&self, state: u32) -> &[u32] {
        let from = state as usize * self.stride;
        self.next.get(from..from + self.stride).unwrap_or_default()
    }

    /// Where a text starts.
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// How many classes of bytes there are.
    pub const fn classes(&self) -> usize {
        self.stride
    }

    /// The class of a byte: bytes of one class lead to the same states.
    pub fn class(&self, byte: u8) -> u8 {
        self.classes
            .get(usize::from(byte))
            .copied()
            .unwrap_or_default()
    }

    /// The state after one more byte.
    pub fn step(&self, state: u32, byte: u8) -> u32 {
        let at = state as usize * self.stride + usize::from(self.class(byte));
        self.next.get(at).copied().unwrap_or(QUIT)
    }

    /// What holds if the text ends here: [`DEAD`], [`MATCHED`] or [`QUIT`].
    pub fn end(&self, state: u32) -> u32 {
        self.end.get(state as usize).copied().unwrap_or(QUIT)
    }

    /// How many states it has.
    pub fn states(&self) -> usize {
        self.end.len()
    }

    /// Whether the pattern matches in `text`; `None` if the automaton cannot tell.
    pub fn matches(&self, text: &str) -> Option<bool> {
        let mut state = self.start;
        for byte in text.bytes() {
            if state < FIRST {
                break;
            }
            state = self.step(state, byte);
        }
        match self.end(state) {
            MATCHED => Some(true),
            DEAD => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_at_one_place_excludes() {
        let table = |pattern: &str| Table::build(pattern).unwrap();
        for (a, b, excludes) in [
            ("(?i)^name12[0-9]*$", "(?i)^name13[0-9]*$", true),
            ("(?i)^name1[0-9]*$", "(?i)^name13[0-9]*$", false),
            (r"\Aab\z", r"\Aac\z", true),
            // One may end where the other goes on: that is for a search to say.
            (r"\Aab\z", r"\Aabc\z", false),
            ("ab", "ac", false),
            ("^(a|bc)d", "^b", false),
            ("^(a|bc)d", "^x", true),
        ] {
            let (one, other) = (table(a), table(b));
            assert_eq!(one.excludes(&other), excludes, "{a} {b}");
            assert_eq!(other.excludes(&one), excludes, "{a} {b}");
        }
    }
}
