//! The patterns that automata are built of, by list: what is asked of one text at once.

use super::{Dimension, Lowered};
use crate::policy::{Contract, Op, Policy};
use std::collections::HashSet;
use std::sync::Arc;

/// The lists of patterns of a policy, each once, in the order in which they are asked for.
pub(crate) fn pattern_lists(policy: &Policy, lowered: &Lowered) -> Vec<Arc<[String]>> {
    let dimensions = lowered
        .groups
        .iter()
        .flat_map(|group| group.dimensions.values());
    let of_rules = dimensions.map(patterns_of);
    let contracts = sorted_contracts(policy);
    let of_contracts = contracts
        .iter()
        .flat_map(|contract| &contract.arg_patterns)
        .map(|pattern| vec![pattern.pattern.regex.clone()]);
    let mut known: HashSet<Arc<[String]>> = HashSet::new();
    let mut lists: Vec<Arc<[String]>> = Vec::new();
    for list in of_rules.chain(of_contracts) {
        if list.is_empty() || known.contains(list.as_slice()) {
            continue;
        }
        let list: Arc<[String]> = list.into();
        known.insert(Arc::clone(&list));
        lists.push(list);
    }
    lists
}

/// All contracts in the order in which they are written.
pub(crate) fn sorted_contracts(policy: &Policy) -> Vec<&Contract> {
    let mut contracts: Vec<&Contract> = policy.contracts.iter().collect();
    contracts.sort_by(|a, b| (&a.key, a.layer).cmp(&(&b.key, b.layer)));
    contracts
}

/// The patterns that a dimension's tests look for, in the order of the tests.
pub(crate) fn patterns_of(dimension: &Dimension) -> Vec<String> {
    let tests = dimension.tests.iter();
    tests.filter_map(|test| pattern(&test.op)).collect()
}

/// The pattern that a test looks for, if its automaton does.
pub(crate) fn pattern(op: &Op) -> Option<String> {
    match op {
        Op::Part(part, text) => Some(part.pattern(text)),
        Op::Matches(pattern) => Some(pattern.regex.clone()),
        Op::Equals(_)
        | Op::In(_)
        | Op::Within(_)
        | Op::Compare(..)
        | Op::Exists
        | Op::Checked(_)
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => None,
    }
}
