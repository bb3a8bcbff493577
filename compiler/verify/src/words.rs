//! Shortest texts that several patterns agree on: the product of their automata,
//! breadth first, readable characters first.

use super::automaton::{DEAD, MATCHED, QUIT, Table};
use std::collections::HashMap;
use std::rc::Rc;

/// A pattern that has to match somewhere in the text, or nowhere.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub table: Rc<Table>,
    pub wanted: bool,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A text was accepted.
    Found,
    /// There is no other text.
    Exhausted,
    /// There may be more.
    GaveUp,
}

/// Product states that one search may visit.
const MOST_STATES: usize = 40_000;

struct Node {
    states: Box<[u32]>,
    parent: u32,
    byte: u8,
}

/// Hands texts that meet all constraints to `accept`, shortest first, one for each way
/// in which the patterns' states can end, until it takes one. One of the constraints has
/// to admit valid UTF-8 only. Every visited state costs one unit of `budget`.
pub(super) fn search(
    constraints: &[Constraint],
    budget: &mut u64,
    accept: &mut dyn FnMut(&str) -> bool,
) -> End {
    let wanted = || constraints.iter().filter(|one| one.wanted);
    let apart = wanted().enumerate().any(|(at, one)| {
        wanted()
            .skip(at + 1)
            .any(|other| one.table.excludes(&other.table))
    });
    if apart {
        *budget = budget.saturating_sub(1);
        return End::Exhausted;
    }
    let alphabet = alphabet(constraints);
    let start: Box<[u32]> = constraints.iter().map(|c| c.table.start()).collect();
    let mut sure = true;
    if is_hopeless(constraints, &start, &mut sure) {
        return if sure { End::Exhausted } else { End::GaveUp };
    }
    let mut seen: HashMap<Box<[u32]>, ()> = HashMap::from([(start.clone(), ())]);
    let mut nodes = vec![Node {
        states: start,
        parent: 0,
        byte: 0,
    }];
    let mut at = 0;
    let mut next: Vec<u32> = Vec::new();
    while at < nodes.len() {
        if *budget == 0 || nodes.len() > MOST_STATES {
            return End::GaveUp;
        }
        *budget -= 1;
        if ends_well(constraints, &nodes, at, &mut sure)
            && let Some(text) = spell(&nodes, at)
            && accept(&text)
        {
            return End::Found;
        }
        for &byte in &alphabet {
            next.clear();
            let Some(node) = nodes.get(at) else { break };
            next.extend(
                constraints
                    .iter()
                    .zip(&node.states)
                    .map(|(constraint, state)| constraint.table.step(*state, byte)),
            );
            if is_hopeless(constraints, &next, &mut sure) || seen.contains_key(next.as_slice()) {
                continue;
            }
            let states: Box<[u32]> = next.as_slice().into();
            seen.insert(states.clone(), ());
            nodes.push(Node {
                states,
                parent: at as u32,
                byte,
            });
        }
        at += 1;
    }
    if sure { End::Exhausted } else { End::GaveUp }
}

/// Whether no continuation can meet the constraints. Clears `sure` where an automaton
/// cannot tell.
fn is_hopeless(constraints: &[Constraint], states: &[u32], sure: &mut bool) -> bool {
    let mut quits = false;
    for (constraint, state) in constraints.iter().zip(states) {
        match (*state, constraint.wanted) {
            (DEAD, true) | (MATCHED, false) => return true,
            (QUIT, _) => quits = true,
            _ => {}
        }
    }
    if quits {
        *sure = false;
    }
    quits
}

fn ends_well(constraints: &[Constraint], nodes: &[Node], at: usize, sure: &mut bool) -> bool {
    let Some(node) = nodes.get(at) else {
        return false;
    };
    let mut unclear = false;
    for (constraint, state) in constraints.iter().zip(&node.states) {
        match constraint.table.end(*state) {
            QUIT => unclear = true,
            end if (end == MATCHED) != constraint.wanted => return false,
            _ => {}
        }
    }
    if unclear {
        *sure = false;
    }
    !unclear
}

/// The text that leads to a node.
fn spell(nodes: &[Node], mut at: usize) -> Option<String> {
    let mut bytes = Vec::new();
    while at != 0 {
        let node = nodes.get(at)?;
        bytes.push(node.byte);
        at = node.parent as usize;
    }
    bytes.reverse();
    String::from_utf8(bytes).ok()
}

/// One byte of each class that the patterns tell apart, the most readable one.
fn alphabet(constraints: &[Constraint]) -> Vec<u8> {
    let preferred = (b'a'..=b'z')
        .chain(b'0'..=b'9')
        .chain(b'A'..=b'Z')
        .chain(*b"._-/ @:,;")
        .chain(b'!'..=b'~')
        .chain(0x80..=0xff)
        .chain(0..=0x7f);
    let keys = keys(constraints);
    let mut seen: Vec<u64> = Vec::new();
    preferred
        .filter(|byte| {
            let key = keys.get(usize::from(*byte)).copied().unwrap_or_default();
            let is_new = !seen.contains(&key);
            if is_new {
                seen.push(key);
            }
            is_new
        })
        .collect()
}

/// For each byte a number: equal for bytes that no pattern tells apart, and only for those.
fn keys(constraints: &[Constraint]) -> Vec<u64> {
    let mut keys = vec![0_u64; 256];
    // All keys are below this.
    let mut bound: u64 = 1;
    for constraint in constraints {
        let classes = constraint.table.classes() as u64;
        let next = bound.checked_mul(classes).unwrap_or_else(|| {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted.dedup();
            for key in &mut keys {
                *key = sorted.binary_search(key).unwrap_or_default() as u64;
            }
            256 * classes
        });
        for (byte, key) in (0..=u8::MAX).zip(&mut keys) {
            *key = *key * classes + u64::from(constraint.table.class(byte));
        }
        bound = next;
    }
    keys
}
