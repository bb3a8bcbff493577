//! Tests become automata and tables.
//!
//! Patterns of one dimension share automata, under a size budget: those that fit
//! together are one DFA, one that fits no DFA is an NFA. No policy fails for its size
//! alone. Equal lists of patterns share one automaton, whoever uses them. Knows the
//! plan's bytes, nothing of policies.

mod dfa;
mod list;
mod literals;
mod needles;
mod nfa;
mod products;
mod table;
#[cfg(test)]
mod tests;
mod threads;

pub use literals::{LiteralSetBuilder, LiteralTables};
pub use threads::{MAX_THREADS, Threads};

use list::Built;

use bouncer_plan::format::{AutomatonKind, AutomatonRef, NONE, Range};
use regex_automata::dfa::dense;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{MatchKind, dfa::StartKind};
use regex_syntax::hir::{Hir, Look};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use zerocopy::little_endian::U32;

/// Bytes that one shared DFA may take while it is built.
const SHARED_DFA_LIMIT: usize = 2 << 20;
/// Bytes that the DFA of a single pattern may take.
const SINGLE_DFA_LIMIT: usize = 4 << 20;
/// The same, for each byte of a long pattern: what is one pattern to its author may be an
/// alternation of a thousand.
const DFA_BYTES_PER_BYTE: usize = 512;
/// Bytes that the DFA of a single pattern may take, however long it is.
const LONG_DFA_LIMIT: usize = 32 << 20;
/// Bytes that an NFA may take.
const NFA_LIMIT: usize = 64 << 20;

/// So few patterns are built before a thread has started.
const FEW_PATTERNS: usize = 8;

/// Builds automata for all of these lists, on at most so many threads (and eight).
/// `progress` is told now and then how many patterns are built, and of how many.
pub(crate) fn build(
    lists: &[Arc<[String]>],
    threads: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Automata {
    let all = lists.iter().map(|list| list.len()).sum();
    let threads = if all < FEW_PATTERNS { 1 } else { threads };
    let mut automata = Automata::default();
    automata.prepare(lists, &Threads::new(threads), &mut |done| {
        progress(done, all);
    });
    automata
}

/// The automata of a plan.
#[derive(Debug, Default)]
pub struct Automata {
    /// The plan's automata section.
    pub refs: Vec<AutomatonRef>,
    /// The plan's automata bytes.
    pub bytes: Vec<u8>,
    /// By list of patterns: the automata that cover it, or why there are none.
    shared: BTreeMap<Arc<[String]>, Result<Cover, BuildError>>,
}

/// The automata that cover a list of patterns.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// Each with the positions of its patterns in the list.
    pub automata: Vec<Covering>,
    /// How long it took to build them.
    pub took: Duration,
}

/// An automaton and which patterns of a list it carries.
#[derive(Clone, Debug)]
pub struct Covering {
    /// Index into [`Automata::refs`].
    pub automaton: u32,
    /// By pattern of the automaton: the position in the list it was built from.
    pub positions: Vec<usize>,
}

/// A pattern that cannot be built.
#[derive(Clone, Debug)]
pub struct BuildError {
    /// Its position in the list.
    pub position: usize,
    /// What is wrong.
    pub message: String,
}

/// Patterns that may share an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kin {
    /// All start at the beginning of the text, so a scan ends early when none can match.
    anchored: bool,
    /// Uses Unicode word boundaries, on which a DFA quits outside ASCII.
    word_unicode: bool,
}

impl Kin {
    fn of(hir: &Hir) -> Self {
        let properties = hir.properties();
        Self {
            anchored: properties.look_set_prefix().contains(Look::Start),
            word_unicode: properties.look_set().contains_word_unicode(),
        }
    }
}

impl Automata {
    /// Builds automata for all of these lists, which [`Self::cover`] then finds. What is
    /// built, and in which order it is stored, depends on the lists alone.
    ///
    /// `progress` is told how many patterns are built, now and then.
    pub fn prepare(
        &mut self,
        lists: &[Arc<[String]>],
        threads: &Threads,
        progress: &mut dyn FnMut(usize),
    ) {
        let done = AtomicUsize::new(0);
        let mut order = lists.iter();
        threads.in_order(
            lists.len(),
            |at| {
                let list = lists.get(at).map(AsRef::as_ref).unwrap_or_default();
                let since = Instant::now();
                let built = list::build(list, threads, &|patterns| {
                    done.fetch_add(patterns, Ordering::Relaxed);
                });
                (built, since.elapsed())
            },
            |(built, took)| {
                let stored = built.map(|built| self.store(built, took));
                if let Some(list) = order.next() {
                    self.shared.insert(Arc::clone(list), stored);
                }
            },
            || progress(done.load(Ordering::Relaxed)),
        );
    }

    /// Automata that together report every pattern of the list that matches a text.
    ///
    /// # Errors
    /// If a pattern does not parse or is too big even for an NFA.
    pub fn cover(&mut self, patterns: &[String]) -> Result<Cover, BuildError> {
        if let Some(known) = self.shared.get_mut(patterns) {
            let cover = known.clone();
            // Who asks next pays nothing.
            if let Ok(known) = known {
                known.took = Duration::ZERO;
            }
            return cover;
        }
        if patterns.is_empty() {
            return Ok(Cover::default());
        }
        let list: Arc<[String]> = patterns.into();
        self.prepare(&[list], &Threads::default(), &mut |_| {});
        self.shared.get(patterns).cloned().unwrap_or_else(|| {
            Err(BuildError {
                position: 0,
                message: "it was not built".to_owned(),
            })
        })
    }

    fn store(&mut self, built: Vec<Built>, took: Duration) -> Cover {
        let automata = built.into_iter().map(|built| {
            let count = u32::try_from(built.positions.len()).unwrap_or(u32::MAX);
            let fallback = built
                .fallback
                .map_or(NONE, |nfa| self.push(&nfa, AutomatonKind::Nfa, count, NONE));
            let automaton = self.push(&built.bytes, built.kind, count, fallback);
            if let Some(prefilter) = built.prefilter {
                self.attach(automaton, &prefilter);
            }
            Covering {
                automaton,
                positions: built.positions,
            }
        });
        Cover {
            automata: automata.collect(),
            took,
        }
    }

    fn push(&mut self, bytes: &[u8], kind: AutomatonKind, patterns: u32, fallback: u32) -> u32 {
        let index = self.refs.len() as u32;
        self.refs.push(AutomatonRef {
            start: U32::new(self.bytes.len() as u32),
            length: U32::new(bytes.len() as u32),
            kind,
            patterns: U32::new(patterns),
            fallback: U32::new(fallback),
            prefilter: Range {
                start: U32::new(0),
                length: U32::new(0),
            },
        });
        self.bytes.extend_from_slice(bytes);
        index
    }

    /// Puts a prefilter before an automaton.
    fn attach(&mut self, automaton: u32, prefilter: &[u8]) {
        let range = Range {
            start: U32::new(self.bytes.len() as u32),
            length: U32::new(prefilter.len() as u32),
        };
        if let Some(reference) = self.refs.get_mut(automaton as usize) {
            reference.prefilter = range;
            self.bytes.extend_from_slice(prefilter);
        }
    }
}

/// The NFA of all patterns.
fn thompson<H: Borrow<Hir>>(hirs: &[H]) -> Result<NFA, String> {
    thompson_compiler()
        .build_many_from_hir(hirs)
        .map_err(|error| error.to_string())
}

/// Compiles NFAs; making one is dearer than many a pattern.
fn thompson_compiler() -> thompson::Compiler {
    let mut compiler = thompson::Compiler::new();
    compiler.configure(
        thompson::Config::new()
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(NFA_LIMIT)),
    );
    compiler
}

fn parse(pattern: &str) -> Result<Hir, String> {
    regex_syntax::ParserBuilder::new()
        .nest_limit(512)
        .build()
        .parse(pattern)
        .map_err(|error| error.to_string())
}

/// The DFA of one pattern, if it stays small, and whether it only looks at the start of
/// a text.
pub fn pattern_dfa(pattern: &str) -> Option<(dense::DFA<Vec<u32>>, bool)> {
    let hir = parse(pattern).ok()?;
    let kin = Kin::of(&hir);
    let nfa = thompson(&[hir]).ok()?;
    Some((determinize(&nfa, kin, SINGLE_DFA_LIMIT)?, kin.anchored))
}

/// What a pattern costs that is too large for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternCost {
    /// States that are followed at the same time, at worst.
    pub states: usize,
    /// The size, in bytes, that its table would exceed.
    pub limit: usize,
}

/// What a pattern costs; `None` if it has a table, or does not parse.
pub fn pattern_cost(pattern: &str) -> Option<PatternCost> {
    if pattern_dfa(pattern).is_some() {
        return None;
    }
    let hir = parse(pattern).ok()?;
    Some(PatternCost {
        states: thompson(&[hir]).ok()?.states().len(),
        limit: SINGLE_DFA_LIMIT,
    })
}

/// The DFA, if it stays below `limit`.
fn determinize(nfa: &NFA, kin: Kin, limit: usize) -> Option<dense::DFA<Vec<u32>>> {
    let start = if kin.anchored {
        StartKind::Anchored
    } else {
        StartKind::Unanchored
    };
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .match_kind(MatchKind::All)
                .start_kind(start)
                .unicode_word_boundary(kin.word_unicode)
                .accelerate(false)
                .dfa_size_limit(Some(limit))
                .determinize_size_limit(Some(4 * limit)),
        )
        .build_from_nfa(nfa)
        .ok()
}
