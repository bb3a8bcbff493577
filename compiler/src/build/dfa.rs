//! Writes a table in the plan's layout.

use super::table::{DEAD, QUIT, Table};
use bouncer_plan::format::{DfaHeader, NARROW_DFA};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// Encodes a table. `None` if it has too many states to number.
pub(super) fn encode(table: &Table) -> Option<Vec<u8>> {
    let all = u32::try_from(table.states()).ok()?;
    let end_class = u16::try_from(table.columns.checked_sub(1)?).ok()?;
    // Dead and quit first, then the states that report, then the rest: one comparison
    // tells a scan whether a state needs a look.
    let reports = |state: &u32| !table.reports_of(*state).is_empty();
    let matches: Vec<u32> = (QUIT + 1..all).filter(reports).collect();
    let others = (QUIT + 1..all).filter(|state| !reports(state));
    let stride = u32::from(end_class) + 1;
    let count = all.checked_mul(stride)?;
    let mut targets = vec![DEAD, stride];
    targets.resize(all as usize, stride);
    for (state, number) in matches.iter().copied().chain(others).zip(QUIT + 1..) {
        *targets.get_mut(state as usize)? = number * stride;
    }
    let target = |state: u32| targets.get(state as usize).copied();
    let mut transitions = vec![0_u32; count as usize];
    for state in 0..all {
        let base = target(state)? as usize;
        let row = transitions.get_mut(base..base + table.columns)?;
        for (slot, next) in row.iter_mut().zip(table.row(state)) {
            *slot = target(*next)?;
        }
    }
    let mut match_index = vec![U32::new(0)];
    let mut pattern_list = Vec::new();
    for state in &matches {
        pattern_list.extend(table.reports_of(*state).iter().copied().map(U32::new));
        match_index.push(U32::new(u32::try_from(pattern_list.len()).ok()?));
    }
    let header = DfaHeader {
        states: U32::new(all),
        stride: U32::new(stride),
        end_class: U32::new(u32::from(end_class)),
        start: U32::new(target(table.start)?),
        matches: U32::new(u32::try_from(matches.len()).ok()?),
        pattern_list: U32::new(u32::try_from(pattern_list.len()).ok()?),
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(&table.classes);
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
