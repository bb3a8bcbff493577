//! One list of patterns becomes automata.
//!
//! Each pattern gets a DFA of its own; these are multiplied, like with like, while the
//! products stay below a limit. What is tried depends on the list alone, never on how
//! many threads try it. Knows nothing of the plan that automata are stored in.

use super::products::{self, Limits};
use super::table::Table;
use super::threads::Threads;
use super::{
    BuildError, DFA_BYTES_PER_BYTE, Kin, LONG_DFA_LIMIT, NFA_LIMIT, SHARED_DFA_LIMIT,
    SINGLE_DFA_LIMIT, determinize, dfa, needles, nfa, parse, thompson, thompson_compiler,
};
use bouncer_plan::format::AutomatonKind;
use regex_automata::nfa::thompson::Compiler;
use regex_syntax::hir::Hir;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Patterns that one thread builds one after the other.
const BATCH: usize = 16;

/// An automaton, not yet stored.
#[derive(Debug)]
pub(super) struct Built {
    /// How it is stored.
    pub kind: AutomatonKind,
    /// It, in the plan's layout.
    pub bytes: Vec<u8>,
    /// An NFA for texts on which it quits.
    pub fallback: Option<Vec<u8>>,
    /// What rules a text out before it is read.
    pub prefilter: Option<Vec<u8>>,
    /// By pattern: its position in the list.
    pub positions: Vec<usize>,
}

/// Builds all of a list. `done` is told of so many patterns more.
pub(super) fn build(
    patterns: &[String],
    threads: &Threads,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Built>, BuildError> {
    let numbered: Vec<(usize, &String)> = patterns.iter().enumerate().collect();
    let parsed = threads.map(batches(numbered, BATCH), |batch| {
        let parse = |(position, pattern): (usize, &String)| match parse(pattern) {
            Ok(hir) => Ok((position, hir)),
            Err(message) => Err(BuildError { position, message }),
        };
        batch.into_iter().map(parse).collect::<Result<Vec<_>, _>>()
    });
    let mut kin: BTreeMap<Kin, Vec<Member<'_>>> = BTreeMap::new();
    for batch in parsed {
        for (position, hir) in batch? {
            let text = patterns.get(position).map_or("", String::as_str);
            kin.entry(Kin::of(&hir)).or_default().push(Member {
                position,
                text,
                hir,
            });
        }
    }
    let mut built = Vec::new();
    for (kin, members) in kin {
        let family = Family {
            kin,
            members,
            threads,
        };
        built.extend(family.build(done)?);
    }
    Ok(built)
}

/// A pattern of a list.
struct Member<'l> {
    position: usize,
    text: &'l str,
    hir: Hir,
}

/// Patterns that may share automata.
struct Family<'l> {
    kin: Kin,
    members: Vec<Member<'l>>,
    threads: &'l Threads,
}

impl Family<'_> {
    fn build(&self, done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Built>, BuildError> {
        if let Some(table) = self.all_together() {
            let members: Vec<&Member<'_>> = self.members.iter().collect();
            done(members.len());
            return Ok(vec![self.finish(Some(table), &members)?]);
        }
        // What is written alike tends to share states.
        let mut order: Vec<&Member<'_>> = self.members.iter().collect();
        order.sort_by_key(|member| (member.text, member.position));
        let mut groups: Vec<(Option<Arc<Table>>, Vec<usize>)> = Vec::new();
        let (mut tables, mut places) = (Vec::new(), Vec::new());
        for (place, leaf) in self.leaves(&order, done)?.into_iter().enumerate() {
            if let Some((table, weight)) = leaf {
                tables.push((Arc::new(table), weight));
                places.push(place);
            } else {
                groups.push((None, vec![place]));
            }
        }
        let limits = Limits {
            table: SHARED_DFA_LIMIT,
            weight: NFA_LIMIT / 2,
        };
        for group in products::group(&tables, limits, self.threads) {
            let leaves = group.leaves.iter();
            let places = leaves.filter_map(|leaf| places.get(*leaf).copied());
            groups.push((Some(group.table), places.collect()));
        }
        let first = |places: &[usize]| {
            let positions = places.iter().filter_map(|place| order.get(*place));
            positions.map(|member| member.position).min()
        };
        groups.sort_by_cached_key(|(_, places)| first(places));
        drop(tables);
        let finished = self.threads.map(groups, |(table, mut places)| {
            // Patterns stand in an automaton in the order of the list.
            let position = |place: usize| order.get(place).map(|member| member.position);
            let mut by_position: Vec<usize> = (0..places.len()).collect();
            by_position.sort_by_key(|id| places.get(*id).and_then(|place| position(*place)));
            let mut numbers = vec![0_u32; places.len()];
            for (number, id) in (0..).zip(by_position) {
                if let Some(slot) = numbers.get_mut(id) {
                    *slot = number;
                }
            }
            places.sort_by_key(|place| position(*place));
            let members: Vec<&Member<'_>> = places
                .iter()
                .filter_map(|place| order.get(*place).copied())
                .collect();
            let table = table.map(|table| Arc::unwrap_or_clone(table).renumbered(&numbers));
            self.finish(table, &members)
        });
        finished.into_iter().collect()
    }

    /// One DFA for all members of a family that is anchored: these have most of what they
    /// start with in common, and after that hardly any is followed at the same time.
    fn all_together(&self) -> Option<Table> {
        if !self.kin.anchored || self.members.len() < 2 {
            return None;
        }
        let hirs: Vec<&Hir> = self.members.iter().map(|member| &member.hir).collect();
        let nfa = thompson(&hirs).ok()?;
        let dfa = determinize(&nfa, self.kin, SHARED_DFA_LIMIT)?;
        Some(Table::of(&dfa, self.kin.anchored)?.coarse())
    }

    /// The table of each member, if it has one, and the bytes of its NFA if that is kept
    /// beside the table.
    fn leaves(
        &self,
        order: &[&Member<'_>],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Option<(Table, usize)>>, BuildError> {
        let batches = self.threads.map(batches(order.to_vec(), BATCH), |batch| {
            let compiler = thompson_compiler();
            let tables: Vec<_> = batch
                .iter()
                .map(|member| self.leaf(&compiler, member))
                .collect();
            done(batch.len());
            tables
        });
        let mut leaves = Vec::with_capacity(order.len());
        let mut errors = Vec::new();
        for leaf in batches.into_iter().flatten() {
            match leaf {
                Ok(table) => leaves.push(table),
                Err(error) => errors.push(error),
            }
        }
        match errors.into_iter().min_by_key(|error| error.position) {
            Some(error) => Err(error),
            None => Ok(leaves),
        }
    }

    fn leaf(
        &self,
        compiler: &Compiler,
        member: &Member<'_>,
    ) -> Result<Option<(Table, usize)>, BuildError> {
        let nfa = compiler
            .build_from_hir(&member.hir)
            .map_err(|error| BuildError {
                position: member.position,
                message: error.to_string(),
            })?;
        let limit =
            (DFA_BYTES_PER_BYTE * member.text.len()).clamp(SINGLE_DFA_LIMIT, LONG_DFA_LIMIT);
        let dfa = determinize(&nfa, self.kin, limit);
        let table = dfa.and_then(|dfa| Table::of(&dfa, self.kin.anchored));
        let kept = self.kin.word_unicode;
        Ok(table.map(|table| (table.coarse(), if kept { nfa.memory_usage() } else { 0 })))
    }

    /// The automaton of members that share a table, or of one that has none.
    fn finish(&self, table: Option<Table>, members: &[&Member<'_>]) -> Result<Built, BuildError> {
        let hirs: Vec<&Hir> = members.iter().map(|member| &member.hir).collect();
        let simulated = || {
            thompson(&hirs)
                .map(|nfa| nfa::encode(&nfa, self.kin.anchored))
                .map_err(|message| BuildError {
                    position: members.first().map_or(0, |member| member.position),
                    message,
                })
        };
        let dfa = table.and_then(|table| dfa::encode(&table));
        let (kind, bytes, fallback) = match dfa {
            Some(bytes) if self.kin.word_unicode => (AutomatonKind::Dfa, bytes, Some(simulated()?)),
            Some(bytes) => (AutomatonKind::Dfa, bytes, None),
            None => (AutomatonKind::Nfa, simulated()?, None),
        };
        Ok(Built {
            kind,
            bytes,
            fallback,
            // Anchored automata end early by themselves.
            prefilter: (!self.kin.anchored)
                .then(|| needles::prefilter(hirs.iter().copied()))
                .flatten(),
            positions: members.iter().map(|member| member.position).collect(),
        })
    }
}

/// Items in runs of so many.
fn batches<T>(items: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut batches = Vec::with_capacity(items.len().div_ceil(size));
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        batches.push(items.by_ref().take(size).collect());
    }
    batches
}
