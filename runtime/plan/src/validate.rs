//! Checks, once at load, everything that deciding relies on.
//!
//! In order of dependence: strings first, then the records that only point at
//! strings and lists, then those that point at these.

use super::automaton::Automaton;
use super::format::{
    AutomatonKind, ConstraintKind, LiteralKind, MAX_WINDOWED_CALLS, NONE, Pos, QUANT_BIT, Range,
    RateLimit, Section, SimpleKind, SimpleTest, Str, ViewKind,
};
use super::literals::MAX_DOMAIN;
use super::{LoadError, Plan, Tables, slice};
use crate::{Effects, Verdict};
use std::cell::Cell;
use zerocopy::little_endian::U32;

/// Checks one plan whose sections are in place.
pub(super) fn validate(plan: &Plan) -> Result<(), LoadError> {
    let tables = plan.tables();
    record_sizes(plan, tables)?;
    let check = Check::new(tables)?;
    check.meta()?;
    check.paths()?;
    check.automata()?;
    check.literals()?;
    check.groups()?;
    check.tests()?;
    check.contracts()?;
    check.rest()
}

/// Refuses a section whose length is not a multiple of its records' size, or in which a
/// kind is none of those there are: such a section reads as empty.
fn record_sizes(plan: &Plan, tables: &Tables<'_>) -> Result<(), LoadError> {
    let sizes = [
        // No text at all where the bytes are none in UTF-8.
        (Section::Strings, tables.strings.len()),
        (Section::Meta, size_of_val(tables.meta)),
        (Section::Files, size_of_val(tables.files)),
        (Section::PathNodes, size_of_val(tables.path_nodes)),
        (Section::PathEdges, size_of_val(tables.path_edges)),
        (Section::Paths, size_of_val(tables.paths)),
        (Section::Groups, size_of_val(tables.groups)),
        (Section::Dimensions, size_of_val(tables.dimensions)),
        (Section::Matchers, size_of_val(tables.matchers)),
        (Section::SimpleTests, size_of_val(tables.simple_tests)),
        (Section::Tests, size_of_val(tables.tests)),
        (Section::Atoms, size_of_val(tables.atoms)),
        (Section::Quants, size_of_val(tables.quants)),
        (Section::Rows, size_of_val(tables.rows)),
        (Section::Rules, size_of_val(tables.rules)),
        (Section::Contracts, size_of_val(tables.contracts)),
        (Section::Sinks, size_of_val(tables.sinks)),
        (Section::Constraints, size_of_val(tables.constraints)),
        (Section::Rates, size_of_val(tables.rates)),
        (Section::OutputLabels, size_of_val(tables.output_labels)),
        (Section::LiteralSets, size_of_val(tables.literal_sets)),
        (Section::LiteralSlots, size_of_val(tables.literal_slots)),
        (Section::Automata, size_of_val(tables.automata)),
        (Section::Lists, size_of_val(tables.lists)),
        (Section::HeuristicWords, size_of_val(tables.heuristic_words)),
        (Section::Servers, size_of_val(tables.servers)),
    ];
    for (section, size) in sizes {
        if plan.section(section).len() != size {
            return Err(LoadError::layout(section.name()));
        }
    }
    Ok(())
}

struct Check<'t, 'p> {
    tables: &'t Tables<'p>,
    strings: &'p str,
    /// What [`Self::spend`] has left.
    left: Cell<usize>,
}

/// `Ok` if `condition`, else an error about `section`.
fn ensure(condition: bool, section: Section) -> Result<(), LoadError> {
    if condition {
        Ok(())
    } else {
        Err(LoadError::content(section.name()))
    }
}

impl<'t, 'p> Check<'t, 'p> {
    fn new(tables: &'t Tables<'p>) -> Result<Self, LoadError> {
        Ok(Self {
            tables,
            strings: tables.strings,
            left: Cell::new((1 << 20) + 4 * tables.bytes.len()),
        })
    }

    /// Takes note of so many more cells, or bytes of text, that records lead to. Records may
    /// share them, but not so many of them so much that checking or copying what they lead
    /// to takes long for a small plan. `false`: they do.
    fn spend(&self, cells: usize) -> bool {
        let left = self.left.get().checked_sub(cells);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn spend_all(&self, ranges: &[&Range]) -> bool {
        let lengths = ranges.iter().map(|range| range.length.get() as usize);
        self.spend(lengths.sum())
    }

    fn text(&self, string: &Str) -> bool {
        let start = string.start.get() as usize;
        start
            .checked_add(string.length.get() as usize)
            .is_some_and(|end| self.strings.get(start..end).is_some())
    }

    /// A string that many records may name, and that is copied for each.
    fn copied(&self, string: &Str) -> bool {
        self.spend(2 + string.length.get() as usize) && self.text(string)
    }

    /// Pairs of a string's start and length.
    fn listed_texts(&self, list: &[U32]) -> bool {
        list.len().is_multiple_of(2)
            && list.chunks_exact(2).all(|pair| {
                matches!(pair, [start, length] if self.copied(&Str { start: *start, length: *length }))
            })
    }

    /// Triples of a string's start, its length, and an array index or [`NONE`].
    fn listed_steps(&self, range: &Range) -> bool {
        slice(self.tables.lists, range).is_ok_and(|list| {
            list.len().is_multiple_of(3)
                && list.chunks_exact(3).all(|step| {
                    matches!(step, [start, length, _] if self.copied(&Str { start: *start, length: *length }))
                })
        })
    }

    fn pos(&self, pos: &Pos) -> bool {
        pos.file.get() == NONE || (pos.file.get() as usize) < self.tables.files.len()
    }

    fn path(&self, id: u32) -> bool {
        (id as usize) < self.tables.paths.len()
    }

    /// A list of indices below `limit`.
    fn indices(&self, range: &Range, limit: usize) -> bool {
        slice(self.tables.lists, range).is_ok_and(|list| {
            self.spend(list.len()) && list.iter().all(|index| (index.get() as usize) < limit)
        })
    }

    fn meta(&self) -> Result<(), LoadError> {
        let ok = matches!(self.tables.meta, [meta]
            if self.pos(&meta.on_destructive_hint_at)
                && self.pos(&meta.on_unknown_at)
                && self.text(&meta.compiler)
                && self.text(&meta.audit_path)
                && self.text(&meta.approval_path)
                && (meta.me.get() == NONE
                    || (meta.me.get() as usize) < self.tables.literal_sets.len())
                && meta.exact_groups.get() as usize <= self.tables.groups.len());
        ensure(ok, Section::Meta)?;
        ensure(
            self.tables.files.iter().all(|file| self.text(file)),
            Section::Files,
        )
    }

    fn paths(&self) -> Result<(), LoadError> {
        let t = self.tables;
        ensure(t.paths.iter().all(|path| self.text(path)), Section::Paths)?;
        // The walk uses the three highest bits of a position for itself.
        let countable = t.path_nodes.len() < 1 << 29 && t.paths.len() < 1 << 29;
        ensure(!t.path_nodes.is_empty() && countable, Section::PathNodes)?;
        let mut has_parent = vec![false; t.path_nodes.len()];
        for (index, node) in t.path_nodes.iter().enumerate() {
            ensure(
                self.spend_all(&[&node.edges, &node.slots]),
                Section::PathNodes,
            )?;
            let edges = slice(t.path_edges, &node.edges)
                .map_err(|_| LoadError::content(Section::PathNodes.name()))?;
            let known = |path: &U32| path.get() == NONE || self.path(path.get());
            ensure(known(&node.path) && known(&node.names), Section::PathNodes)?;
            ensure(self.slots(&node.slots, &node.edges), Section::PathNodes)?;
            // Children come after their parent, so that the trie has no cycle; and each has
            // one, so that a walk is at a place once only.
            let mut child = |child: usize| {
                child > index
                    && has_parent
                        .get_mut(child)
                        .is_some_and(|known| !std::mem::replace(known, true))
            };
            ensure(
                edges
                    .iter()
                    .all(|edge| child(edge.child.get() as usize) && self.text(&edge.key)),
                Section::PathEdges,
            )?;
        }
        Ok(())
    }

    /// A hash table over the edges of a node, with empty slots in it.
    fn slots(&self, slots: &Range, edges: &Range) -> bool {
        let first = edges.start.get();
        slice(self.tables.lists, slots).is_ok_and(|slots| {
            let fits = |slot: &U32| {
                slot.get() == NONE || slot.get().wrapping_sub(first) < edges.length.get()
            };
            let used = slots.iter().filter(|slot| slot.get() != NONE).count();
            (slots.is_empty() || slots.len().is_power_of_two())
                && slots.iter().all(fits)
                && used <= slots.len() / 2
        })
    }

    fn automata(&self) -> Result<(), LoadError> {
        let t = self.tables;
        for reference in t.automata {
            let fallback = reference.fallback.get();
            let prefilter = Automaton::prefilter(reference, t.automata_bytes);
            let ok = automaton_ok(t, reference)
                && prefilter.is_some_and(|filter| filter.is_none_or(|filter| filter.validate()))
                && (fallback == NONE
                    || t.automata.get(fallback as usize).is_some_and(|f| {
                        f.kind == AutomatonKind::Nfa && f.patterns == reference.patterns
                    }));
            ensure(ok, Section::Automata)?;
        }
        Ok(())
    }

    fn literals(&self) -> Result<(), LoadError> {
        let t = self.tables;
        for set in t.literal_sets {
            let slots = slice(t.literal_slots, &set.slots)
                .map_err(|_| LoadError::content(Section::LiteralSets.name()))?;
            let used = slots
                .iter()
                .filter(|slot| slot.kind != LiteralKind::Empty)
                .count();
            ensure(
                (slots.is_empty() || slots.len().is_power_of_two())
                    && used == set.count.get() as usize
                    && used <= slots.len() / 2,
                Section::LiteralSets,
            )?;
        }
        let ok = t.literal_slots.iter().all(|slot| {
            slot.kind == LiteralKind::Empty
                || (self.text(&slot.key)
                    // Longer ones are never looked for.
                    && (slot.kind != LiteralKind::Below
                        || slot.key.length.get() as usize <= MAX_DOMAIN)
                    && slice(t.lists, &slot.values).is_ok())
        });
        ensure(ok, Section::LiteralSlots)
    }

    fn groups(&self) -> Result<(), LoadError> {
        let t = self.tables;
        for group in t.groups {
            let ok = self.spend_all(&[&group.dimensions, &group.quants, &group.rows])
                && self.text(&group.pattern)
                && slice(t.dimensions, &group.dimensions).is_ok()
                && slice(t.quants, &group.quants).is_ok()
                && slice(t.rows, &group.rows).is_ok()
                && group.call_history.get() <= MAX_WINDOWED_CALLS + 2
                && self.indices(&group.free_rows, t.rows.len());
            ensure(ok, Section::Groups)?;
        }
        for dimension in t.dimensions {
            let ok = self.spend_all(&[&dimension.matchers, &dimension.simple, &dimension.tests])
                && (matches!(dimension.view, ViewKind::Calls | ViewKind::Session)
                    || self.path(dimension.path.get()))
                && slice(t.matchers, &dimension.matchers).is_ok()
                && slice(t.simple_tests, &dimension.simple).is_ok()
                && slice(t.tests, &dimension.tests).is_ok()
                && self.literal_values(dimension.literals.get());
            ensure(ok, Section::Dimensions)?;
        }
        for matcher in t.matchers {
            let ok = t
                .automata
                .get(matcher.automaton.get() as usize)
                .is_some_and(|automaton| {
                    automaton.patterns == matcher.tests.length
                        && self.indices(&matcher.tests, t.tests.len())
                });
            ensure(ok, Section::Matchers)?;
        }
        Ok(())
    }

    /// The values of a dimension's literal set are tests.
    fn literal_values(&self, set: u32) -> bool {
        let t = self.tables;
        set == NONE
            || t.literal_sets.get(set as usize).is_some_and(|set| {
                slice(t.literal_slots, &set.slots).is_ok_and(|slots| {
                    let mut slots = slots.iter();
                    self.spend(slots.len())
                        && slots.all(|slot| {
                            slot.kind == LiteralKind::Empty
                                || self.indices(&slot.values, t.tests.len())
                        })
                })
            })
    }

    /// A test of networks has some.
    fn networks(&self, test: &SimpleTest) -> bool {
        test.kind != SimpleKind::Network
            || self
                .tables
                .networks(test)
                .is_ok_and(|mut all| all.all(|network| self.spend(5) && network.is_some()))
    }

    fn tests(&self) -> Result<(), LoadError> {
        let t = self.tables;
        for test in t.simple_tests {
            let within = test.kind != SimpleKind::Within || {
                let start = test.operand.get() as usize;
                t.lists.get(start).is_some_and(|count| {
                    let length = (count.get() as usize).saturating_mul(2);
                    start
                        .checked_add(1)
                        .and_then(|first| t.lists.get(first..first.checked_add(length)?))
                        .is_some_and(|list| self.listed_texts(list))
                })
            };
            let ok = within
                && self.networks(test)
                && self.text(&test.text)
                && (test.test.get() as usize) < t.tests.len();
            ensure(ok, Section::SimpleTests)?;
        }
        let atom = |index: u32| {
            index == NONE
                || if index & QUANT_BIT != 0 {
                    ((index & !QUANT_BIT) as usize) < t.quants.len()
                } else {
                    (index as usize) < t.atoms.len()
                }
        };
        let ok = t.tests.iter().all(|test| {
            atom(test.plain.get())
                && atom(test.any.get())
                && atom(test.all.get())
                && atom(test.maybe.get())
        });
        ensure(ok, Section::Tests)?;
        let ok = t.atoms.iter().all(|atom| {
            self.indices(&atom.requires, t.rows.len()) && self.indices(&atom.kills, t.rows.len())
        });
        ensure(ok, Section::Atoms)?;
        let ok = t.quants.iter().all(|quant| {
            self.path(quant.path.get()) && (quant.atom.get() as usize) < t.atoms.len()
        });
        ensure(ok, Section::Quants)?;
        ensure(
            t.rows
                .iter()
                .all(|row| (row.rule.get() as usize) < t.rules.len()),
            Section::Rows,
        )?;
        let ok = t.rules.iter().all(|rule| {
            self.pos(&rule.at)
                && (rule.reason.start.get() == NONE || self.text(&rule.reason))
                && self.text(&rule.tools)
        });
        ensure(ok, Section::Rules)
    }

    fn contracts(&self) -> Result<(), LoadError> {
        let t = self.tables;
        for contract in t.contracts {
            let ok = self.text(&contract.key)
                && self.pos(&contract.at)
                && self.pos(&contract.max_calls_at)
                && self.text(&contract.base)
                && self.text(&contract.dispatch_tool)
                && self.text(&contract.dispatch_arguments)
                && self.pos(&contract.dispatch_at)
                && contract.on_tainted != Verdict::Allow
                && slice(t.sinks, &contract.sinks).is_ok()
                && slice(t.constraints, &contract.constraints).is_ok()
                && slice(t.rates, &contract.rates).is_ok()
                && slice(t.output_labels, &contract.outputs).is_ok()
                && Effects::from_bits(contract.effects.get()).is_some()
                && (contract.trusted.get() == NONE
                    || (contract.trusted.get() as usize) < t.literal_sets.len());
            ensure(ok, Section::Contracts)?;
        }
        let ok = t.sinks.iter().all(|sink| {
            self.text(&sink.name) && self.pos(&sink.at) && self.listed_steps(&sink.steps)
        });
        ensure(ok, Section::Sinks)?;
        for constraint in t.constraints {
            let subject = match constraint.kind {
                ConstraintKind::Within => {
                    slice(t.lists, &constraint.prefixes).is_ok_and(|list| self.listed_texts(list))
                }
                ConstraintKind::Matches => t
                    .automata
                    .get(constraint.automaton.get() as usize)
                    .is_some_and(|a| a.patterns.get() == 1),
            };
            let ok = subject
                && self.path(constraint.path.get())
                && self.text(&constraint.written)
                && self.pos(&constraint.at);
            ensure(ok, Section::Constraints)?;
        }
        let ok = |rate: &RateLimit| rate.count.get() <= MAX_WINDOWED_CALLS && self.pos(&rate.at);
        ensure(t.rates.iter().all(ok), Section::Rates)?;
        let ok = t
            .output_labels
            .iter()
            .all(|field| self.listed_steps(&field.steps));
        ensure(ok, Section::OutputLabels)
    }

    fn rest(&self) -> Result<(), LoadError> {
        let t = self.tables;
        let ok = t.heuristic_words.iter().all(|word| self.copied(&word.word));
        ensure(ok, Section::HeuristicWords)?;
        let ok = t.servers.iter().all(|server| {
            self.copied(&server.name) && self.copied(&server.json) && self.pos(&server.at)
        });
        ensure(ok, Section::Servers)
    }
}

/// The automaton is well-formed.
fn automaton_ok(tables: &Tables<'_>, reference: &super::AutomatonRef) -> bool {
    Automaton::parse(reference, tables.automata_bytes)
        .is_some_and(|automaton| automaton.validate(reference.patterns.get()))
}
