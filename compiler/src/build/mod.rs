//! Tests become automata and tables.
//!
//! Patterns of one dimension share automata, under a size budget: those that fit
//! together are one DFA, one that fits no DFA is an NFA. No policy fails for its size
//! alone. Equal lists of patterns share one automaton, whoever uses them. Knows the
//! plan's bytes, nothing of policies.

mod dfa;
mod literals;
mod needles;
mod nfa;

pub use literals::{LiteralSetBuilder, LiteralTables};

use bouncer_runtime::plan::format::{AUTOMATON_DFA, AUTOMATON_NFA, AutomatonRef, NONE, Range};
use regex_automata::dfa::dense;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{MatchKind, dfa::StartKind};
use regex_syntax::hir::{Hir, Look};
use std::collections::BTreeMap;
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
/// Groups in a row that have to fit before larger ones are tried again.
const PATIENCE: usize = 8;
/// Bytes that an NFA may take.
const NFA_LIMIT: usize = 64 << 20;

/// The automata of a plan.
#[derive(Debug, Default)]
pub struct Automata {
    /// The plan's automata section.
    pub refs: Vec<AutomatonRef>,
    /// The plan's automata bytes.
    pub bytes: Vec<u8>,
    /// By list of patterns: the automata that cover it, each with the positions of its
    /// patterns in the list.
    shared: BTreeMap<Vec<String>, Vec<Covering>>,
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

impl Automata {
    /// Automata that together report every pattern of the list that matches a text.
    ///
    /// # Errors
    /// If a pattern does not parse or is too big even for an NFA.
    pub fn cover(&mut self, patterns: &[String]) -> Result<Vec<Covering>, BuildError> {
        if let Some(covering) = self.shared.get(patterns) {
            return Ok(covering.clone());
        }
        let mut kin: BTreeMap<Kin, Vec<(usize, Hir)>> = BTreeMap::new();
        for (position, pattern) in patterns.iter().enumerate() {
            let hir = regex_syntax::ParserBuilder::new()
                .nest_limit(512)
                .build()
                .parse(pattern)
                .map_err(|error| BuildError {
                    position,
                    message: error.to_string(),
                })?;
            let properties = hir.properties();
            let family = Kin {
                anchored: properties.look_set_prefix().contains(Look::Start),
                word_unicode: properties.look_set().contains_word_unicode(),
            };
            kin.entry(family).or_default().push((position, hir));
        }
        let mut covering = Vec::new();
        for (family, members) in kin {
            self.build_groups(family, patterns, &members, &mut covering)?;
        }
        self.shared.insert(patterns.to_vec(), covering.clone());
        Ok(covering)
    }

    /// Builds automata for all members, each for as many in a row as fit one.
    ///
    /// All together are tried first. After that each group is tried at a size between what
    /// fitted last and what did not: an attempt that fails costs as much as one that does
    /// not, so few should.
    fn build_groups(
        &mut self,
        kin: Kin,
        patterns: &[String],
        members: &[(usize, Hir)],
        covering: &mut Vec<Covering>,
    ) -> Result<(), BuildError> {
        let mut rest = members;
        let mut size = members.len();
        let mut too_many = members.len() + 1;
        let mut fitted = 0;
        while !rest.is_empty() {
            size = size.clamp(1, rest.len());
            let (group, after) = rest.split_at(size);
            if let Some(built) = self.build_group(kin, patterns, group)? {
                covering.push(built);
                rest = after;
                fitted += 1;
                if fitted % PATIENCE == 0 {
                    // What was too many there may fit here.
                    too_many *= 2;
                }
                size += (too_many - size) / 2;
            } else {
                fitted = 0;
                too_many = size;
                size /= 2;
            }
        }
        Ok(())
    }

    /// One automaton for all of a group; `None` if it would be too large, which one
    /// pattern alone never is.
    fn build_group(
        &mut self,
        kin: Kin,
        patterns: &[String],
        members: &[(usize, Hir)],
    ) -> Result<Option<Covering>, BuildError> {
        let hirs: Vec<Hir> = members.iter().map(|(_, hir)| hir.clone()).collect();
        let single = members.len() == 1;
        let position = members.first().map_or(0, |(position, _)| *position);
        let limit = if single {
            let length = patterns.get(position).map_or(0, String::len);
            (DFA_BYTES_PER_BYTE * length).clamp(SINGLE_DFA_LIMIT, LONG_DFA_LIMIT)
        } else {
            SHARED_DFA_LIMIT
        };
        let nfa = thompson(&hirs);
        let dfa = nfa.as_ref().ok().and_then(|nfa| dense_dfa(nfa, kin, limit));
        if dfa.is_none() && !single {
            return Ok(None);
        }
        let nfa = nfa.map_err(|message| BuildError { position, message })?;
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let simulated = || nfa::encode(&nfa, kin.anchored);
        let automaton = match dfa {
            Some(dfa) => {
                let fallback = if kin.word_unicode {
                    self.push(&simulated(), AUTOMATON_NFA, count, NONE)
                } else {
                    NONE
                };
                self.push(&dfa, AUTOMATON_DFA, count, fallback)
            }
            None => self.push(&simulated(), AUTOMATON_NFA, count, NONE),
        };
        // Anchored automata end early by themselves.
        if !kin.anchored
            && let Some(prefilter) = needles::prefilter(&hirs)
        {
            self.attach(automaton, &prefilter);
        }
        let positions = members.iter().map(|(position, _)| *position).collect();
        Ok(Some(Covering {
            automaton,
            positions,
        }))
    }

    fn push(&mut self, bytes: &[u8], kind: u32, patterns: u32, fallback: u32) -> u32 {
        let index = self.refs.len() as u32;
        self.refs.push(AutomatonRef {
            start: U32::new(self.bytes.len() as u32),
            length: U32::new(bytes.len() as u32),
            kind: U32::new(kind),
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
fn thompson(hirs: &[Hir]) -> Result<NFA, String> {
    thompson::Compiler::new()
        .configure(
            thompson::Config::new()
                .which_captures(WhichCaptures::None)
                .nfa_size_limit(Some(NFA_LIMIT)),
        )
        .build_many_from_hir(hirs)
        .map_err(|error| error.to_string())
}

/// The DFA of one pattern, if it stays small, and whether it only looks at the start of
/// a text.
pub(crate) fn pattern_dfa(pattern: &str) -> Option<(dense::DFA<Vec<u32>>, bool)> {
    let hir = regex_syntax::ParserBuilder::new()
        .nest_limit(512)
        .build()
        .parse(pattern)
        .ok()?;
    let properties = hir.properties();
    let kin = Kin {
        anchored: properties.look_set_prefix().contains(Look::Start),
        word_unicode: properties.look_set().contains_word_unicode(),
    };
    let nfa = thompson(&[hir]).ok()?;
    Some((determinize(&nfa, kin, SINGLE_DFA_LIMIT)?, kin.anchored))
}

/// What a pattern costs that is too large for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternCost {
    /// States that are followed at the same time, at worst.
    pub states: usize,
    /// The size, in bytes, that its table would exceed.
    pub limit: usize,
}

/// What a pattern costs; `None` if it has a table, or does not parse.
pub(crate) fn pattern_cost(pattern: &str) -> Option<PatternCost> {
    if pattern_dfa(pattern).is_some() {
        return None;
    }
    let hir = regex_syntax::ParserBuilder::new()
        .nest_limit(512)
        .build()
        .parse(pattern)
        .ok()?;
    Some(PatternCost {
        states: thompson(&[hir]).ok()?.states().len(),
        limit: SINGLE_DFA_LIMIT,
    })
}

/// The DFA in the plan's layout, if it stays below `limit`.
fn dense_dfa(nfa: &NFA, kin: Kin, limit: usize) -> Option<Vec<u8>> {
    dfa::encode(&determinize(nfa, kin, limit)?, kin.anchored)
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
