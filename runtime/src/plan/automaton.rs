//! Running the plan's automata over a text: which patterns match anywhere in it.
//!
//! A dense DFA reads each byte once, however many patterns it carries. Where a DFA
//! would be too big, or where a Unicode word boundary meets non-ASCII text, an NFA
//! is simulated instead, in time proportional to text times states. Neither
//! allocates. This module knows nothing of rules.

use super::format::{
    AUTOMATON_DFA, AUTOMATON_NFA, AutomatonRef, DfaHeader, NFA_BYTES, NFA_FAIL, NFA_LOOK,
    NFA_MATCH, NFA_UNION, NONE, NfaEdge, NfaHeader, NfaState,
};
use super::prefilter::Prefilter;
use regex_automata::util::look::{Look, LookMatcher};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// The plan's bytes are not what its loader accepts. Never seen on a loaded plan; the
/// caller blocks the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// A dense DFA, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Dfa<'p> {
    header: &'p DfaHeader,
    classes: &'p [u8; 256],
    transitions: &'p [U32],
    match_index: &'p [U32],
    pattern_list: &'p [U32],
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
        if header.stride_log2.get() > 9 {
            return None;
        }
        let transitions = (header.states.get() as usize).checked_shl(header.stride_log2.get())?;
        let (transitions, rest) = <[U32]>::ref_from_prefix_with_elems(rest, transitions).ok()?;
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
        let shift = self.header.stride_log2.get();
        let states = self.header.states.get();
        let end_class = self.header.end_class.get();
        let valid_state = |id: u32| id & ((1 << shift) - 1) == 0 && (id >> shift) < states;
        states >= 2
            && self.header.matches.get() <= states - 2
            && end_class < (1 << shift)
            && self.classes.iter().all(|&c| u32::from(c) < end_class)
            && valid_state(self.header.start.get())
            && self.transitions.iter().all(|t| valid_state(t.get()))
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
    }

    /// Calls `report` with each pattern that matches somewhere in `text`, possibly
    /// several times. One table look-up a byte.
    pub(crate) fn scan(&self, text: &[u8], mut report: impl FnMut(u32)) -> Result<Scan, Corrupt> {
        let shift = self.header.stride_log2.get();
        let special = (self.header.matches.get() + 2) << shift;
        let mut state = self.header.start.get();
        if state < special
            && let Some(end) = self.special(state >> shift, &mut report)?
        {
            return Ok(end);
        }
        for &byte in text {
            let class = u32::from(*self.classes.get(usize::from(byte)).ok_or(Corrupt)?);
            state = self
                .transitions
                .get((state + class) as usize)
                .ok_or(Corrupt)?
                .get();
            if state < special
                && let Some(end) = self.special(state >> shift, &mut report)?
            {
                return Ok(end);
            }
        }
        let end = (state + self.header.end_class.get()) as usize;
        state = self.transitions.get(end).ok_or(Corrupt)?.get();
        if state < special
            && let Some(end) = self.special(state >> shift, &mut report)?
        {
            return Ok(end);
        }
        Ok(Scan::Done)
    }

    /// Handles a dead, quit or match state; `Some` ends the scan.
    #[inline]
    fn special(&self, index: u32, report: &mut impl FnMut(u32)) -> Result<Option<Scan>, Corrupt> {
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
            && self.states.iter().all(|s| match s.kind.get() {
                NFA_BYTES | NFA_UNION => {
                    let end = u64::from(s.edges.start.get()) + u64::from(s.edges.length.get());
                    end <= self.edges.len() as u64
                }
                NFA_LOOK => {
                    s.edges.start.get() < count
                        && u16::try_from(s.operand.get()).is_ok()
                        && Look::from_repr(s.operand.get()).is_some()
                }
                NFA_MATCH => s.operand.get() < patterns,
                NFA_FAIL => true,
                _ => false,
            })
    }

    /// How many states it has.
    #[must_use]
    pub fn states(&self) -> u32 {
        self.header.states.get()
    }

    /// Calls `report` with each pattern that matches somewhere in `text`. Quits when the
    /// decision's [`MAX_NFA_STEPS`] are used up.
    pub(crate) fn scan(
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
                if state.kind.get() != NFA_BYTES {
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
            match state.kind.get() {
                NFA_UNION => {
                    for edge in self.edges_of(state)? {
                        // Only states not yet in the set: the stack never outgrows
                        // the number of edges.
                        stack.push(edge.next.get());
                    }
                }
                NFA_LOOK => {
                    let look = Look::from_repr(state.operand.get()).ok_or(Corrupt)?;
                    if LookMatcher::new().matches(look, text, at) {
                        stack.push(state.edges.start.get());
                    }
                }
                NFA_MATCH => report(state.operand.get()),
                NFA_BYTES | NFA_FAIL => {}
                _ => return Err(Corrupt),
            }
        }
        Ok(())
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
    pub(crate) fn parse(reference: &AutomatonRef, bytes: &'p [u8]) -> Option<Self> {
        let start = reference.start.get() as usize;
        let end = start.checked_add(reference.length.get() as usize)?;
        let bytes = bytes.get(start..end)?;
        match reference.kind.get() {
            AUTOMATON_DFA => Dfa::parse(bytes).map(Self::Dfa),
            AUTOMATON_NFA => Nfa::parse(bytes).map(Self::Nfa),
            _ => None,
        }
    }

    /// The bytes of the prefilter, if any, and of the automaton that `reference` names.
    pub(crate) fn bytes(reference: &AutomatonRef, bytes: &'p [u8]) -> Option<[&'p [u8]; 2]> {
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
    pub(crate) fn prefilter(
        reference: &AutomatonRef,
        bytes: &'p [u8],
    ) -> Option<Option<Prefilter<'p>>> {
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
