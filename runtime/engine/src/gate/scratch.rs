//! Working memory of a decision, owned by the conversation and reused, so that a
//! decision need not touch the heap.

use crate::provenance;
use bouncer_plan::Tables;
use bouncer_plan::automaton::{Automaton, NfaScratch};
use bouncer_plan::format::{AutomatonKind, NONE};
use bouncer_reader::json;

/// Distinct picks that are tried one by one. A call with more is judged by the
/// strictest rule that any of them could reach.
pub(super) const MAX_PICKS: usize = 4096;

/// Working memory of a decision.
#[derive(Debug)]
pub(super) struct Scratch {
    pub json: json::Scratch,
    pub walk: WalkScratch,
    pub eval: EvalScratch,
    pub rows: RowScratch,
    pub provenance: provenance::Scratch,
    /// Composed look-up keys.
    pub key: String,
    /// Groups of a tool that is not pinned.
    pub groups: Vec<u32>,
    /// What these look at.
    pub aims: Vec<super::tool::Aim>,
    /// What the reason of the decision quotes.
    pub culprit: Culprit,
    /// The same, of the call around the one that is looked at.
    pub held: Culprit,
    /// The contract of the call that was judged last, if it dispatches; else [`NONE`].
    pub dispatches: u32,
}

/// The argument and value that decided.
#[derive(Debug, Default)]
pub(super) struct Culprit {
    pub param: String,
    pub value: String,
}

/// State of the walk over the arguments.
#[derive(Debug, Default)]
pub(super) struct WalkScratch {
    pub frames: Vec<super::walk::Frame>,
    /// Trie positions of the open containers, one run a frame.
    pub active: Vec<u32>,
    /// Leaves and keys, for the sink gate.
    pub leaves: Vec<super::sink::Leaf>,
    /// A decoded key.
    pub key: String,
}

/// State of the tests.
#[derive(Debug, Default)]
pub(super) struct EvalScratch {
    /// The leaf's text in its forms.
    pub raw: String,
    pub plain: String,
    pub canonical: String,
    pub skeleton: String,
    pub view: String,
    pub number: String,
    /// By test: the forms that satisfied it.
    pub outcome: Vec<u8>,
    /// Tests with a non-zero outcome.
    pub touched: Vec<u32>,
    /// By test: how many values of a query satisfied it.
    pub hits: Vec<u32>,
    pub hit_tests: Vec<u32>,
    /// Raised atoms: one run a signature.
    pub events: Vec<u32>,
    pub signatures: Vec<super::rows::Signature>,
    /// Some path may have several signatures: picks have to be made.
    pub repeated: bool,
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

/// State of the rows.
#[derive(Debug, Default)]
pub(super) struct RowScratch {
    pub states: Vec<super::rows::RowState>,
    pub epoch: u32,
    pub satisfied: Vec<u32>,
    /// By atom: the epoch that last saw it.
    pub atoms: Vec<u32>,
    /// Runs of signatures with the same path, and the current choice.
    pub choices: Vec<super::rows::Choice>,
}

impl Scratch {
    /// Room for everything that the plan can ask for.
    pub fn new(tables: &Tables<'_>, limits: &json::Limits) -> Self {
        let nfa_states = tables
            .automata
            .iter()
            .filter(|automaton| automaton.kind == AutomatonKind::Nfa)
            .filter_map(|automaton| Automaton::parse(automaton, tables.automata_bytes))
            .map(|automaton| match automaton {
                Automaton::Nfa(nfa) => nfa.states() as usize,
                Automaton::Dfa(_) => 0,
            })
            .max()
            .unwrap_or(0);
        Self {
            json: json::Scratch::new(limits),
            walk: WalkScratch {
                frames: Vec::with_capacity(limits.max_depth + 1),
                active: Vec::with_capacity(1024),
                leaves: Vec::with_capacity(1024),
                key: String::with_capacity(256),
            },
            eval: EvalScratch {
                raw: String::with_capacity(4096),
                plain: String::with_capacity(4096),
                canonical: String::with_capacity(4096),
                skeleton: String::with_capacity(4096),
                view: String::with_capacity(1024),
                number: String::with_capacity(256),
                outcome: vec![0; tables.tests.len()],
                touched: Vec::with_capacity(tables.tests.len()),
                hits: vec![0; tables.tests.len()],
                hit_tests: Vec::with_capacity(tables.tests.len()),
                events: Vec::with_capacity(4096.max(tables.atoms.len())),
                signatures: Vec::with_capacity(1024),
                repeated: false,
                quants: vec![0; tables.quants.len()],
                quant_touched: Vec::with_capacity(tables.quants.len()),
                counts: vec![0; tables.paths.len()],
                count_touched: Vec::with_capacity(tables.paths.len()),
                nfa: NfaScratch::new(nfa_states),
                failed_constraint: None,
                failed_value: String::with_capacity(4096),
                carried: String::with_capacity(256),
                carried_in: NONE,
            },
            rows: RowScratch {
                states: vec![super::rows::RowState::default(); tables.rows.len()],
                epoch: 0,
                satisfied: Vec::with_capacity(tables.rows.len()),
                atoms: vec![0; tables.atoms.len()],
                choices: Vec::with_capacity(tables.paths.len()),
            },
            provenance: provenance::Scratch::default(),
            key: String::with_capacity(256),
            groups: Vec::with_capacity(tables.groups.len()),
            aims: Vec::with_capacity(tables.dimensions.len()),
            culprit: Culprit {
                param: String::with_capacity(256),
                value: String::with_capacity(4096),
            },
            held: Culprit::default(),
            dispatches: NONE,
        }
    }
}

impl Culprit {
    /// Forgets what stood here.
    pub fn clear(&mut self) {
        self.param.clear();
        self.value.clear();
    }
}

impl EvalScratch {
    /// Forgets the last call. Proportional to what it touched.
    pub fn reset(&mut self) {
        self.events.clear();
        self.signatures.clear();
        self.repeated = false;
        self.nfa.reset();
        self.failed_constraint = None;
        self.carried.clear();
        self.carried_in = NONE;
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
