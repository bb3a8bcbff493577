//! Writes a dense DFA in the plan's layout.

use bouncer_runtime::plan::format::{DfaHeader, NARROW_DFA};
use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use std::collections::BTreeMap;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// "Not reached", or "not numbered yet".
const UNSEEN: u32 = u32::MAX;

/// Encodes what is reachable from the start of a text. `None` if there is no such start
/// (never, for DFAs built here) or there are too many states to number.
pub(super) fn encode(dfa: &dense::DFA<Vec<u32>>, anchored: bool) -> Option<Vec<u8>> {
    let mode = if anchored {
        Anchored::Yes
    } else {
        Anchored::No
    };
    let start = dfa.start_state(&start::Config::new().anchored(mode)).ok()?;
    let reached = Reached::from(dfa, start);
    let (classes, end_class) = reached.byte_classes(dfa);
    // Dead and quit first, then the states that report, then the rest: one comparison
    // tells a scan whether a state needs a look.
    let ends = |id: &StateID| dfa.is_dead_state(*id) || dfa.is_quit_state(*id);
    let matches: Vec<StateID> = reached
        .order
        .iter()
        .copied()
        .filter(|id| dfa.is_match_state(*id))
        .collect();
    let others = reached
        .order
        .iter()
        .copied()
        .filter(|id| !dfa.is_match_state(*id) && !ends(id));
    let numbered: Vec<StateID> = matches.iter().copied().chain(others).collect();
    let states = u32::try_from(numbered.len()).ok()?.checked_add(2)?;
    let stride = u32::from(end_class) + 1;
    let count = states.checked_mul(stride)?;
    let mut numbers = vec![UNSEEN; reached.places.len()];
    for (id, number) in numbered.iter().zip(2..) {
        *numbers.get_mut(place(dfa, *id))? = number;
    }
    let target = |id: StateID| -> u32 {
        let number = if dfa.is_dead_state(id) {
            0
        } else if dfa.is_quit_state(id) {
            1
        } else {
            numbers
                .get(place(dfa, id))
                .copied()
                .filter(|number| *number != UNSEEN)
                .unwrap_or(1)
        };
        number * stride
    };
    let mut transitions = vec![0_u32; count as usize];
    // A quit state stays quit.
    let row = stride as usize;
    for slot in transitions.iter_mut().skip(row).take(row) {
        *slot = stride;
    }
    let columns: Vec<u16> = reached
        .bytes
        .iter()
        .map(|byte| classes.get(usize::from(*byte)).copied().map(u16::from))
        .chain([Some(end_class)])
        .collect::<Option<_>>()?;
    for (id, row) in reached.order.iter().zip(reached.rows()) {
        if ends(id) {
            continue;
        }
        let base = target(*id) as usize;
        for (column, next) in columns.iter().zip(row) {
            *transitions.get_mut(base + usize::from(*column))? = target(*next);
        }
    }
    let mut match_index = vec![U32::new(0)];
    let mut pattern_list = Vec::new();
    for id in &matches {
        let mut patterns: Vec<u32> = (0..dfa.match_len(*id))
            .map(|at| dfa.match_pattern(*id, at).as_u32())
            .collect();
        patterns.sort_unstable();
        pattern_list.extend(patterns.into_iter().map(U32::new));
        match_index.push(U32::new(u32::try_from(pattern_list.len()).ok()?));
    }
    let header = DfaHeader {
        states: U32::new(states),
        stride: U32::new(stride),
        end_class: U32::new(u32::from(end_class)),
        start: U32::new(target(start)),
        matches: U32::new(u32::try_from(matches.len()).ok()?),
        pattern_list: U32::new(u32::try_from(pattern_list.len()).ok()?),
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(&classes);
    if count <= NARROW_DFA {
        // Every id is below the number of transitions.
        let narrow = transitions.iter().map(|id| (*id as u16).to_le_bytes());
        bytes.extend(narrow.flatten());
    } else {
        bytes.extend(transitions.iter().flat_map(|id| id.to_le_bytes()));
    }
    bytes.extend_from_slice(match_index.as_bytes());
    bytes.extend_from_slice(pattern_list.as_bytes());
    Some(bytes)
}

/// A state's place in the DFA's own table.
fn place(dfa: &dense::DFA<Vec<u32>>, id: StateID) -> usize {
    id.as_usize() >> dfa.stride2()
}

/// All states reachable from a start, breadth first, and their transitions.
struct Reached {
    order: Vec<StateID>,
    /// By place: whether the state was reached.
    places: Vec<bool>,
    /// One byte of each class of the DFA.
    bytes: Vec<u8>,
    /// One run a state: where each of `bytes` leads, then the end of the text.
    targets: Vec<StateID>,
}

impl Reached {
    fn from(dfa: &dense::DFA<Vec<u32>>, start: StateID) -> Self {
        let bytes = dfa.byte_classes().representatives(..);
        let mut reached = Self {
            order: Vec::new(),
            places: Vec::new(),
            bytes: bytes.filter_map(|unit| unit.as_u8()).collect(),
            targets: Vec::new(),
        };
        reached.see(dfa, start);
        let mut next = 0;
        while let Some(&id) = reached.order.get(next) {
            next += 1;
            let first = reached.targets.len();
            let targets = reached.bytes.iter().map(|byte| dfa.next_state(id, *byte));
            reached.targets.extend(targets);
            reached.targets.push(dfa.next_eoi_state(id));
            for at in first..reached.targets.len() {
                if let Some(&target) = reached.targets.get(at) {
                    reached.see(dfa, target);
                }
            }
        }
        reached
    }

    fn see(&mut self, dfa: &dense::DFA<Vec<u32>>, id: StateID) {
        let place = place(dfa, id);
        if place >= self.places.len() {
            self.places.resize(place + 1, false);
        }
        if let Some(seen) = self.places.get_mut(place)
            && !std::mem::replace(seen, true)
        {
            self.order.push(id);
        }
    }

    /// The transitions of each state, in order.
    fn rows(&self) -> impl Iterator<Item = &[StateID]> {
        self.targets.chunks_exact(self.bytes.len() + 1)
    }

    /// The coarsest classes of bytes that every reached state treats alike, and the
    /// number of classes, which is the class of "end of text". At most 256 byte classes;
    /// with all 256 in use the last byte class still fits a byte.
    fn byte_classes(&self, dfa: &dense::DFA<Vec<u32>>) -> ([u8; 256], u16) {
        let mut names = vec![0_u8; self.bytes.len()];
        let mut count: u16 = 1;
        let mut first: Vec<Option<StateID>> = Vec::new();
        for row in self.rows() {
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
            let mut renamed: BTreeMap<(u8, StateID), u8> = BTreeMap::new();
            let mut next: u16 = 0;
            for (name, target) in names.iter_mut().zip(row) {
                *name = *renamed.entry((*name, *target)).or_insert_with(|| {
                    next += 1;
                    (next - 1) as u8
                });
            }
            count = next;
        }
        // From the DFA's classes back to bytes.
        let own = dfa.byte_classes();
        let mut by_class = [0_u8; 256];
        for (byte, name) in self.bytes.iter().zip(&names) {
            if let Some(slot) = by_class.get_mut(usize::from(own.get(*byte))) {
                *slot = *name;
            }
        }
        let mut classes = [0_u8; 256];
        for (byte, class) in (0..=255).zip(&mut classes) {
            *class = by_class
                .get(usize::from(own.get(byte)))
                .copied()
                .unwrap_or(0);
        }
        (classes, count)
    }
}
