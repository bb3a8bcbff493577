//! Working memory of the tests, and what they found.

use crate::gate::raised::Raised;
use bouncer_plan::Tables;
use bouncer_plan::automaton::{Automaton, NfaScratch};
use bouncer_plan::format::{AutomatonKind, NONE};
use bouncer_reader::path::{Looks, Rooms};

/// State of the tests.
#[derive(Debug)]
pub(in crate::gate) struct EvalScratch {
    /// The nearest name above the leaf.
    pub name: String,
    /// The leaf's text in its forms.
    pub raw: String,
    pub plain: String,
    pub canonical: String,
    pub skeleton: String,
    pub view: String,
    pub other_view: String,
    pub number: String,
    /// Paths below the contract's folder.
    pub rooms: Rooms,
    /// What of the file system may still be looked at for this call.
    pub looks: Looks,
    /// By test: the forms that satisfied it.
    pub outcome: Vec<u8>,
    /// Tests with a non-zero outcome.
    pub touched: Vec<u32>,
    /// By test: how many values of a query satisfied it.
    pub hits: Vec<u32>,
    pub hit_tests: Vec<u32>,
    pub raised: Raised,
    /// By quantifier: leaves that raised it.
    pub quants: Vec<u32>,
    pub quant_touched: Vec<u32>,
    /// By path: leaves seen.
    pub counts: Vec<u32>,
    pub count_touched: Vec<u32>,
    pub nfa: NfaScratch,
    /// Index of the first failing constraint.
    pub failed_constraint: Option<u32>,
    /// The value that failed it.
    pub failed_value: String,
    /// The first destination that `carries_untrusted()` found, and the path it stands at.
    pub carried: String,
    pub carried_in: u32,
}

impl EvalScratch {
    /// Room for everything that the plan can ask for.
    pub fn new(tables: &Tables<'_>) -> Self {
        Self {
            name: String::with_capacity(256),
            raw: String::with_capacity(4096),
            plain: String::with_capacity(4096),
            canonical: String::with_capacity(4096),
            skeleton: String::with_capacity(4096),
            view: String::with_capacity(1024),
            other_view: String::with_capacity(64),
            number: String::with_capacity(256),
            rooms: Rooms::default(),
            looks: Looks::of_a_call(),
            outcome: vec![0; tables.tests.len()],
            touched: Vec::with_capacity(tables.tests.len()),
            hits: vec![0; tables.tests.len()],
            hit_tests: Vec::with_capacity(tables.tests.len()),
            raised: Raised::new(tables.atoms.len()),
            quants: vec![0; tables.quants.len()],
            quant_touched: Vec::with_capacity(tables.quants.len()),
            counts: vec![0; tables.paths.len()],
            count_touched: Vec::with_capacity(tables.paths.len()),
            nfa: NfaScratch::new(nfa_states(tables)),
            failed_constraint: None,
            failed_value: String::with_capacity(4096),
            carried: String::with_capacity(256),
            carried_in: NONE,
        }
    }

    /// Forgets the last call. Proportional to what it touched.
    pub fn reset(&mut self) {
        self.raised.clear();
        self.nfa.reset();
        self.failed_constraint = None;
        self.carried.clear();
        self.carried_in = NONE;
        self.looks = Looks::of_a_call();
        for quant in self.quant_touched.drain(..) {
            if let Some(count) = self.quants.get_mut(quant as usize) {
                *count = 0;
            }
        }
        for path in self.count_touched.drain(..) {
            if let Some(count) = self.counts.get_mut(path as usize) {
                *count = 0;
            }
        }
    }
}

/// The states of the plan's largest automaton that keeps a set of them.
fn nfa_states(tables: &Tables<'_>) -> usize {
    let automata = tables.automata.iter();
    automata
        .filter(|automaton| automaton.kind == AutomatonKind::Nfa)
        .filter_map(|automaton| Automaton::parse(automaton, tables.automata_bytes))
        .map(|automaton| match automaton {
            Automaton::Nfa(nfa) => nfa.states() as usize,
            Automaton::Dfa(_) => 0,
        })
        .max()
        .unwrap_or(0)
}
