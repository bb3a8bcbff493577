//! Running the plan's automata over a text: which patterns match anywhere in it.
//!
//! A dense DFA reads each byte once, however many patterns it carries. Where a DFA
//! would be too big, or where a Unicode word boundary meets non-ASCII text, an NFA
//! is simulated instead, in time proportional to text times states. Neither
//! allocates. This module knows nothing of rules.

use super::format::{
    AutomatonKind, AutomatonRef, DfaHeader, NARROW_DFA, NONE, NfaEdge, NfaHeader, NfaKind, NfaState,
};
use super::prefilter::Prefilter;
use regex_automata::util::look::{Look, LookMatcher};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

/// The plan's bytes are not what its loader accepts. Never seen on a loaded plan; the
/// caller blocks the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// A dense DFA, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Dfa<'p> {
    header: &'p DfaHeader,
    classes: &'p [u8; 256],
    transitions: Transitions<'p>,
    match_index: &'p [U32],
    pattern_list: &'p [U32],
}

/// Where each class leads from each state, two bytes or four for each.
#[derive(Clone, Copy, Debug)]
enum Transitions<'p> {
    Narrow(&'p [U16]),
    Wide(&'p [U32]),
}

/// A state as a table holds it.
trait Entry {
    fn state(&self) -> u32;
}

impl Entry for U16 {
    #[inline]
    fn state(&self) -> u32 {
        u32::from(self.get())
    }
}

impl Entry for U32 {
    #[inline]
    fn state(&self) -> u32 {
        self.get()
    }
}

/// How a DFA's scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The whole text was judged.
    Done,
    /// The DFA cannot judge this text; its fallback has to.
    Quit,
}

impl<'p> Dfa<'p> {
    /// Reads a DFA. Checks lengths only; [`Self::validate`] checks contents.
    pub(super) fn parse(bytes: &'p [u8]) -> Option<Self> {
        let (header, rest) = DfaHeader::ref_from_prefix(bytes).ok()?;
        let (classes, rest) = <[u8; 256]>::ref_from_prefix(rest).ok()?;
        let count = header.states.get().checked_mul(header.stride.get())?;
        let (transitions, rest) = if count <= NARROW_DFA {
            let (table, rest) = <[U16]>::ref_from_prefix_with_elems(rest, count as usize).ok()?;
            (Transitions::Narrow(table), rest)
        } else {
            let (table, rest) = <[U32]>::ref_from_prefix_with_elems(rest, count as usize).ok()?;
            (Transitions::Wide(table), rest)
        };
        let index = (header.matches.get() as usize).checked_add(1)?;
        let (match_index, rest) = <[U32]>::ref_from_prefix_with_elems(rest, index).ok()?;
        let list = header.pattern_list.get() as usize;
        let pattern_list = <[U32]>::ref_from_bytes_with_elems(rest, list).ok()?;
        Some(Self {
            header,
            classes,
            transitions,
            match_index,
            pattern_list,
        })
    }

    /// Checks that every state, class and pattern that a scan can meet exists.
    pub(super) fn validate(&self, patterns: u32) -> bool {
        let stride = self.header.stride.get();
        let states = self.header.states.get();
        let end_class = self.header.end_class.get();
        if states < 2 || end_class >= stride {
            return false;
        }
        // `states * stride` fits 32 bits: the table was cut out by it.
        let numbers = Numbers::of(stride);
        let valid_state = |id: u32| numbers.number(id) < states;
        self.header.matches.get() <= states - 2
            && self.classes.iter().all(|&c| u32::from(c) < end_class)
            && valid_state(self.header.start.get())
            && match self.transitions {
                Transitions::Narrow(table) => table.iter().all(|entry| valid_state(entry.state())),
                Transitions::Wide(table) => table.iter().all(|entry| valid_state(entry.state())),
            }
            && self
                .match_index
                .first()
                .is_some_and(|first| first.get() == 0)
            && self
                .match_index
                .windows(2)
                .all(|w| matches!(w, [a, b] if a.get() <= b.get()))
            && self
                .match_index
                .last()
                .is_some_and(|l| l.get() as usize == self.pattern_list.len())
            && self.pattern_list.iter().all(|p| p.get() < patterns)
            // Each pattern once a state: a scan may report them at every byte.
            && self.match_index.windows(2).all(|bounds| {
                let [from, to] = bounds else { return false };
                let list = self.pattern_list.get(from.get() as usize..to.get() as usize);
                list.is_some_and(|list| list.is_sorted_by(|a, b| a.get() < b.get()))
            })
    }

    /// Calls `report` with each pattern that matches somewhere in `text`, possibly
    /// several times. One table look-up a byte.
    pub fn scan(&self, text: &[u8], report: impl FnMut(u32)) -> Result<Scan, Corrupt> {
        match self.transitions {
            Transitions::Narrow(table) => self.scan_over(table, text, report),
            Transitions::Wide(table) => self.scan_over(table, text, report),
        }
    }

    fn scan_over<T: Entry>(
        &self,
        table: &[T],
        text: &[u8],
        mut report: impl FnMut(u32),
    ) -> Result<Scan, Corrupt> {
        let special = (self.header.matches.get() + 2) * self.header.stride.get();
        let mut state = self.header.start.get();
        // A text that goes on matching mostly stays in one state: that is told once.
        let mut told = u32::MAX;
        if state < special {
            told = state;
            if let Some(end) = self.special(state, &mut report)? {
                return Ok(end);
            }
        }
        for &byte in text {
            let class = u32::from(*self.classes.get(usize::from(byte)).ok_or(Corrupt)?);
            state = table.get((state + class) as usize).ok_or(Corrupt)?.state();
            if state < special && state != told {
                told = state;
                if let Some(end) = self.special(state, &mut report)? {
                    return Ok(end);
                }
            }
        }
        let end = (state + self.header.end_class.get()) as usize;
        state = table.get(end).ok_or(Corrupt)?.state();
        if state < special
            && state != told
            && let Some(end) = self.special(state, &mut report)?
        {
            return Ok(end);
        }
        Ok(Scan::Done)
    }

    /// Handles a dead, quit or match state; `Some` ends the scan. Apart, because the loop over
    /// the text has no registers to spare for it.
    #[inline(never)]
    fn special(&self, state: u32, report: &mut impl FnMut(u32)) -> Result<Option<Scan>, Corrupt> {
        let index = state.checked_div(self.header.stride.get()).ok_or(Corrupt)?;
        match index {
            0 => return Ok(Some(Scan::Done)),
            1 => return Ok(Some(Scan::Quit)),
            _ => {}
        }
        let at = (index - 2) as usize;
        let start = self.match_index.get(at).ok_or(Corrupt)?.get() as usize;
        let end = self.match_index.get(at + 1).ok_or(Corrupt)?.get() as usize;
        for pattern in self.pattern_list.get(start..end).ok_or(Corrupt)? {
            report(pattern.get());
        }
        Ok(None)
    }

    /// How many states it has.
    #[must_use]
    pub fn states(&self) -> u32 {
        self.header.states.get()
    }
}

/// Steps (states times bytes) that NFAs may take for one decision, a fraction of a second.
/// Only patterns with large counted repeats, on long texts, come near it. What is not
/// read any more counts as "cannot be evaluated".
pub const MAX_NFA_STEPS: usize = 50_000_000;

/// A Thompson NFA, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Nfa<'p> {
    header: &'p NfaHeader,
    states: &'p [NfaState],
    edges: &'p [NfaEdge],
}

/// Working memory of an NFA simulation; sized once for the largest NFA of a plan.
#[derive(Debug, Default)]
pub struct NfaScratch {
    current: SparseSet,
    next: SparseSet,
    stack: Vec<u32>,
    /// Steps taken since [`Self::reset`].
    steps: usize,
}

impl NfaScratch {
    /// Room for NFAs of up to `states` states.
    #[must_use]
    pub fn new(states: usize) -> Self {
        Self {
            current: SparseSet::new(states),
            next: SparseSet::new(states),
            stack: Vec::with_capacity(states),
            steps: 0,
        }
    }

    /// Begins a decision: all steps are there to be taken again.
    pub const fn reset(&mut self) {
        self.steps = 0;
    }
}

/// A set of small numbers with insertion order and constant-time clearing.
#[derive(Debug, Default)]
struct SparseSet {
    dense: Vec<u32>,
    sparse: Vec<u32>,
}

impl SparseSet {
    fn new(capacity: usize) -> Self {
        Self {
            dense: Vec::with_capacity(capacity),
            sparse: vec![0; capacity],
        }
    }

    /// Whether `value` was absent and is now present.
    fn insert(&mut self, value: u32) -> bool {
        let Some(&slot) = self.sparse.get(value as usize) else {
            return false;
        };
        if self.dense.get(slot as usize) == Some(&value) {
            return false;
        }
        if let Some(entry) = self.sparse.get_mut(value as usize) {
            *entry = u32::try_from(self.dense.len()).unwrap_or(NONE);
        }
        self.dense.push(value);
        true
    }
}

impl<'p> Nfa<'p> {
    /// Reads an NFA. Checks lengths only; [`Self::validate`] checks contents.
    pub(super) fn parse(bytes: &'p [u8]) -> Option<Self> {
        let (header, rest) = NfaHeader::ref_from_prefix(bytes).ok()?;
        let (states, rest) =
            <[NfaState]>::ref_from_prefix_with_elems(rest, header.states.get() as usize).ok()?;
        let edges =
            <[NfaEdge]>::ref_from_bytes_with_elems(rest, header.edges.get() as usize).ok()?;
        Some(Self {
            header,
            states,
            edges,
        })
    }

    /// Checks that every state, edge and assertion that a simulation can meet exists.
    pub(super) fn validate(&self, patterns: u32) -> bool {
        let count = self.header.states.get();
        self.header.start.get() < count
            && self.edges.iter().all(|e| e.next.get() < count)
            && self
                .states
                .iter()
                .all(|s| match NfaKind::from_byte(s.kind) {
                    Some(NfaKind::Bytes | NfaKind::Union) => {
                        let end = u64::from(s.edges.start.get()) + u64::from(s.edges.length.get());
                        end <= self.edges.len() as u64
                    }
                    Some(NfaKind::Look) => {
                        s.edges.start.get() < count
                            && u16::try_from(s.operand.get()).is_ok()
                            && Look::from_repr(s.operand.get()).is_some()
                    }
                    Some(NfaKind::Match) => s.operand.get() < patterns,
                    Some(NfaKind::Fail) => true,
                    None => false,
                })
    }

    /// How many states it has.
    #[must_use]
    pub fn states(&self) -> u32 {
        self.header.states.get()
    }

    /// Calls `report` with each pattern that matches somewhere in `text`. Quits when the
    /// decision's [`MAX_NFA_STEPS`] are used up.
    pub fn scan(
        &self,
        text: &[u8],
        scratch: &mut NfaScratch,
        mut report: impl FnMut(u32),
    ) -> Result<Scan, Corrupt> {
        let NfaScratch {
            current,
            next,
            stack,
            steps,
        } = scratch;
        current.dense.clear();
        self.close(
            self.header.start.get(),
            text,
            0,
            current,
            stack,
            &mut report,
        )?;
        for (at, &byte) in text.iter().enumerate() {
            if current.dense.is_empty() {
                return Ok(Scan::Done);
            }
            *steps += current.dense.len();
            if *steps > MAX_NFA_STEPS {
                return Ok(Scan::Quit);
            }
            next.dense.clear();
            for &id in &current.dense {
                let state = self.states.get(id as usize).ok_or(Corrupt)?;
                if state.kind != NfaKind::Bytes as u8 {
                    continue;
                }
                for edge in self.edges_of(state)? {
                    if edge.low <= byte && byte <= edge.high {
                        self.close(edge.next.get(), text, at + 1, next, stack, &mut report)?;
                        break;
                    }
                }
            }
            std::mem::swap(current, next);
        }
        Ok(Scan::Done)
    }

    fn edges_of(&self, state: &NfaState) -> Result<&'p [NfaEdge], Corrupt> {
        let start = state.edges.start.get() as usize;
        let end = start
            .checked_add(state.edges.length.get() as usize)
            .ok_or(Corrupt)?;
        self.edges.get(start..end).ok_or(Corrupt)
    }

    /// Adds `start` and all that it reaches without consuming a byte.
    fn close(
        &self,
        start: u32,
        text: &[u8],
        at: usize,
        set: &mut SparseSet,
        stack: &mut Vec<u32>,
        report: &mut impl FnMut(u32),
    ) -> Result<(), Corrupt> {
        stack.push(start);
        while let Some(id) = stack.pop() {
            if !set.insert(id) {
                continue;
            }
            let state = self.states.get(id as usize).ok_or(Corrupt)?;
            match NfaKind::from_byte(state.kind) {
                Some(NfaKind::Union) => {
                    for edge in self.edges_of(state)? {
                        // Only states not yet in the set: the stack never outgrows
                        // the number of edges.
                        stack.push(edge.next.get());
                    }
                }
                Some(NfaKind::Look) => {
                    let look = Look::from_repr(state.operand.get()).ok_or(Corrupt)?;
                    if LookMatcher::new().matches(look, text, at) {
                        stack.push(state.edges.start.get());
                    }
                }
                Some(NfaKind::Match) => report(state.operand.get()),
                Some(NfaKind::Bytes | NfaKind::Fail) => {}
                None => return Err(Corrupt),
            }
        }
        Ok(())
    }
}

/// Which state an id stands for, without a division for each of a table's entries.
///
/// An odd number has an inverse modulo 2^32, by which its multiples are divided exactly;
/// what is left of an even one are the low bits, which a rotation moves to the top. An id
/// that is no multiple becomes more than any multiple below 2^32 does (Granlund and
/// Montgomery, "Division by Invariant Integers using Multiplication", section 9).
#[derive(Clone, Copy, Debug)]
struct Numbers {
    inverse: u32,
    twos: u32,
}

impl Numbers {
    /// For ids that are multiples of `stride`, which is not zero.
    const fn of(stride: u32) -> Self {
        let twos = stride.trailing_zeros();
        let odd = stride >> twos;
        // Right in the lowest three bits; each round doubles them.
        let mut inverse = odd;
        let mut round = 0;
        while round < 4 {
            inverse = inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)));
            round += 1;
        }
        Self { inverse, twos }
    }

    /// `id / stride` if that leaves no rest, otherwise more than `u32::MAX / stride`.
    const fn number(self, id: u32) -> u32 {
        id.wrapping_mul(self.inverse).rotate_right(self.twos)
    }
}

/// An automaton of either kind.
#[derive(Clone, Copy, Debug)]
pub enum Automaton<'p> {
    /// A dense DFA.
    Dfa(Dfa<'p>),
    /// An NFA.
    Nfa(Nfa<'p>),
}

impl<'p> Automaton<'p> {
    /// Reads the automaton that `reference` describes from the section's bytes.
    pub fn parse(reference: &AutomatonRef, bytes: &'p [u8]) -> Option<Self> {
        let start = reference.start.get() as usize;
        let end = start.checked_add(reference.length.get() as usize)?;
        let bytes = bytes.get(start..end)?;
        match reference.kind {
            AutomatonKind::Dfa => Dfa::parse(bytes).map(Self::Dfa),
            AutomatonKind::Nfa => Nfa::parse(bytes).map(Self::Nfa),
        }
    }

    /// The bytes of the prefilter, if any, and of the automaton that `reference` names.
    pub fn bytes(reference: &AutomatonRef, bytes: &'p [u8]) -> Option<[&'p [u8]; 2]> {
        let of = |start: U32, length: U32| {
            let start = start.get() as usize;
            bytes.get(start..start.checked_add(length.get() as usize)?)
        };
        let prefilter = &reference.prefilter;
        Some([
            of(prefilter.start, prefilter.length)?,
            of(reference.start, reference.length)?,
        ])
    }

    /// The prefilter that `reference` names, if any.
    pub fn prefilter(reference: &AutomatonRef, bytes: &'p [u8]) -> Option<Option<Prefilter<'p>>> {
        if reference.prefilter.length.get() == 0 {
            return Some(None);
        }
        let start = reference.prefilter.start.get() as usize;
        let end = start.checked_add(reference.prefilter.length.get() as usize)?;
        Prefilter::parse(bytes.get(start..end)?).map(Some)
    }

    /// See [`Dfa::validate`] and [`Nfa::validate`].
    pub(super) fn validate(&self, patterns: u32) -> bool {
        match self {
            Self::Dfa(dfa) => dfa.validate(patterns),
            Self::Nfa(nfa) => nfa.validate(patterns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_numbered_as_by_division() {
        for stride in (1..=600).chain([1 << 16, (1 << 20) + 7, u32::MAX / 2]) {
            let numbers = Numbers::of(stride);
            let most = u32::MAX / stride;
            let ids = (0..5000)
                .chain((0..50).map(|n| u32::MAX - n))
                .chain((0..most.min(300)).map(|n| (most - n) * stride));
            for id in ids {
                let number = numbers.number(id);
                if id % stride == 0 {
                    assert_eq!(number, id / stride, "{id} by {stride}");
                } else {
                    assert!(number > most, "{id} by {stride}");
                }
            }
        }
    }
}
