//! Writes a dense DFA in the plan's layout.

use bouncer_runtime::plan::format::DfaHeader;
use regex_automata::Anchored;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use std::collections::{BTreeMap, HashMap};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// The transitions of one state: by byte, then at the end of the text.
type Row = [StateID; 257];

/// Encodes what is reachable from the start of a text. `None` if there is no such start
/// (never, for DFAs built here) or there are too many states to number.
pub(super) fn encode(dfa: &dense::DFA<Vec<u32>>, anchored: bool) -> Option<Vec<u8>> {
    let mode = if anchored {
        Anchored::Yes
    } else {
        Anchored::No
    };
    let start = dfa.start_state(&start::Config::new().anchored(mode)).ok()?;
    let (order, rows) = explore(dfa, start);
    let (classes, end_class) = byte_classes(&rows);
    // Dead and quit first, then the states that report, then the rest: one comparison
    // tells a scan whether a state needs a look.
    let matching = |id: &&StateID| dfa.is_match_state(**id);
    let matches: Vec<StateID> = order.iter().filter(matching).copied().collect();
    let others = order.iter().filter(|id| {
        !dfa.is_match_state(**id) && !dfa.is_dead_state(**id) && !dfa.is_quit_state(**id)
    });
    let numbered: Vec<StateID> = matches.iter().chain(others).copied().collect();
    let states = u32::try_from(numbered.len()).ok()?.checked_add(2)?;
    let stride_log2 = (u32::from(end_class) + 1)
        .next_power_of_two()
        .trailing_zeros();
    states
        .checked_shl(stride_log2)
        .filter(|total| total >> stride_log2 == states)?;
    let index: HashMap<StateID, u32> = numbered.iter().copied().zip(2..).collect();
    let target = |id: StateID| -> u32 {
        let number = if dfa.is_dead_state(id) {
            0
        } else if dfa.is_quit_state(id) {
            1
        } else {
            index.get(&id).copied().unwrap_or(1)
        };
        number << stride_log2
    };
    let stride = 1_usize << stride_log2;
    let mut transitions = vec![U32::new(0); stride * states as usize];
    // A quit state stays quit.
    for slot in transitions.iter_mut().skip(stride).take(stride) {
        *slot = U32::new(1 << stride_log2);
    }
    for (id, row) in order.iter().zip(&rows) {
        if dfa.is_dead_state(*id) || dfa.is_quit_state(*id) {
            continue;
        }
        let base = target(*id) as usize;
        for (byte, next) in row.iter().enumerate() {
            let class = classes.get(byte).copied().map_or(end_class, u16::from);
            if let Some(slot) = transitions.get_mut(base + usize::from(class)) {
                *slot = U32::new(target(*next));
            }
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
        stride_log2: U32::new(stride_log2),
        end_class: U32::new(u32::from(end_class)),
        start: U32::new(target(start)),
        matches: U32::new(u32::try_from(matches.len()).ok()?),
        pattern_list: U32::new(u32::try_from(pattern_list.len()).ok()?),
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(&classes);
    bytes.extend_from_slice(transitions.as_bytes());
    bytes.extend_from_slice(match_index.as_bytes());
    bytes.extend_from_slice(pattern_list.as_bytes());
    Some(bytes)
}

/// All states reachable from `start`, breadth first, and their transitions.
fn explore(dfa: &dense::DFA<Vec<u32>>, start: StateID) -> (Vec<StateID>, Vec<Row>) {
    let mut order = vec![start];
    let mut seen: HashMap<StateID, ()> = HashMap::from([(start, ())]);
    let mut rows = Vec::new();
    let mut next = 0;
    while let Some(&id) = order.get(next) {
        next += 1;
        let mut row = [id; 257];
        for (byte, slot) in (0..=255_u8).zip(row.iter_mut()) {
            *slot = dfa.next_state(id, byte);
        }
        if let Some(slot) = row.last_mut() {
            *slot = dfa.next_eoi_state(id);
        }
        for target in row {
            if seen.insert(target, ()).is_none() {
                order.push(target);
            }
        }
        rows.push(row);
    }
    (order, rows)
}

/// The coarsest classes of bytes that every state treats alike, and the number of
/// classes, which is the class of "end of text". At most 256 byte classes; with all 256
/// in use the last byte class still fits a byte.
fn byte_classes(rows: &[Row]) -> ([u8; 256], u16) {
    let mut classes = [0_u8; 256];
    let mut count: u16 = 1;
    for row in rows {
        // The first target seen for each class; most rows split nothing.
        let mut first: [Option<StateID>; 256] = [None; 256];
        let splits = classes.iter().zip(row).any(|(class, target)| {
            first
                .get_mut(usize::from(*class))
                .is_some_and(|slot| *slot.get_or_insert(*target) != *target)
        });
        if !splits {
            continue;
        }
        let mut renamed: BTreeMap<(u8, StateID), u8> = BTreeMap::new();
        let mut next: u16 = 0;
        for (class, target) in classes.iter_mut().zip(row) {
            let name = *renamed.entry((*class, *target)).or_insert_with(|| {
                next += 1;
                (next - 1) as u8
            });
            *class = name;
        }
        count = next;
    }
    (classes, count)
}
