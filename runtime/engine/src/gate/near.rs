//! Which parts of a large plan a tool's calls are judged by, so that they can be fetched
//! together.
//!
//! What belongs to one tool lies in some fifteen tables. In a large plan none of these
//! places is in the processor's caches when the tool's turn comes, and following one to the
//! next waits for each in turn. A glance at all of them beforehand waits about as long as for
//! one. It changes nothing but time: a place that is missing here is waited for later.

use super::tool::Link;
use bouncer_plan::automaton::Automaton;
use bouncer_plan::format::NONE;
use bouncer_plan::{Corrupt, Tables, at, slice};

/// Bytes that come into the caches together.
const LINE: usize = 64;
/// Plans up to this many bytes stay in the caches anyhow.
const SMALL: usize = 256 << 10;
/// Lines that are looked at for one tool at most.
const MOST: usize = 96;
/// Lines of one automaton: its header, its classes, and the states near the start.
const AUTOMATON: usize = 8;

/// Places in a plan's bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Near(Box<[u32]>);

impl Near {
    /// What calls of a linked tool are judged by; nothing in a small plan, nor in one that
    /// contradicts itself, which is for the decision to notice.
    pub fn of(tables: &Tables<'_>, link: &Link) -> Self {
        if tables.bytes.len() <= SMALL {
            return Self::default();
        }
        let mut lines = Lines {
            base: tables.bytes.as_ptr() as usize,
            found: Vec::new(),
        };
        let groups = |lines: &mut Lines| {
            let mut groups = link.groups.iter();
            groups.try_for_each(|&group| lines.group(tables, group))
        };
        if lines.contract(tables, link.contract).is_err() || groups(&mut lines).is_err() {
            return Self::default();
        }
        lines.found.dedup();
        lines.found.truncate(MOST);
        Self(lines.found.into())
    }

    /// Has all of them fetched.
    #[inline]
    pub fn touch(&self, tables: &Tables<'_>) {
        let byte = |place: &u32| tables.bytes.get(*place as usize).copied().unwrap_or(0);
        std::hint::black_box(self.0.iter().fold(0, |seen, place| seen ^ byte(place)));
    }
}

struct Lines {
    /// Where the plan's bytes begin.
    base: usize,
    found: Vec<u32>,
}

impl Lines {
    /// Adds the lines of some records, the first `most` of them.
    fn add<T>(&mut self, records: &[T], most: usize) {
        // Records of no length lie nowhere.
        let Some(start) = (records.as_ptr() as usize).checked_sub(self.base) else {
            return;
        };
        let end = start + size_of_val(records);
        let places = (start..end).step_by(LINE).take(most);
        // What does not fit 32 bits is only not fetched beforehand.
        self.found
            .extend(places.filter_map(|place| u32::try_from(place).ok()));
    }

    fn one<T>(&mut self, record: &T) {
        self.add(std::slice::from_ref(record), 1);
    }

    fn contract(&mut self, tables: &Tables<'_>, contract: u32) -> Result<(), Corrupt> {
        if contract == NONE {
            return Ok(());
        }
        let contract = at(tables.contracts, contract)?;
        self.add(std::slice::from_ref(contract), 4);
        let sinks = slice(tables.sinks, &contract.sinks)?;
        self.add(sinks, 4);
        for sink in sinks.iter().take(4) {
            self.add(slice(tables.lists, &sink.steps)?, 1);
            self.add(tables.text(&sink.name)?.as_bytes(), 1);
        }
        self.literals(tables, contract.trusted.get())?;
        let constraints = slice(tables.constraints, &contract.constraints)?;
        self.add(constraints, 4);
        for constraint in constraints.iter().take(4) {
            self.add(slice(tables.lists, &constraint.prefixes)?, 1);
            self.automaton(tables, constraint.automaton.get())?;
        }
        Ok(())
    }

    fn group(&mut self, tables: &Tables<'_>, group: u32) -> Result<(), Corrupt> {
        let group = at(tables.groups, group)?;
        self.one(group);
        self.add(slice(tables.lists, &group.free_rows)?, 1);
        let dimensions = slice(tables.dimensions, &group.dimensions)?;
        self.add(dimensions, 8);
        for dimension in dimensions.iter().take(16) {
            self.literals(tables, dimension.literals.get())?;
            self.add(slice(tables.simple_tests, &dimension.simple)?, 2);
            self.add(slice(tables.tests, &dimension.tests)?, 2);
            let matchers = slice(tables.matchers, &dimension.matchers)?;
            self.add(matchers, 2);
            for matcher in matchers.iter().take(4) {
                self.add(slice(tables.lists, &matcher.tests)?, 1);
                self.automaton(tables, matcher.automaton.get())?;
            }
        }
        Ok(())
    }

    fn automaton(&mut self, tables: &Tables<'_>, automaton: u32) -> Result<(), Corrupt> {
        if automaton == NONE {
            return Ok(());
        }
        let reference = at(tables.automata, automaton)?;
        self.one(reference);
        let [prefilter, bytes] =
            Automaton::bytes(reference, tables.automata_bytes).ok_or(Corrupt)?;
        self.add(prefilter, 2);
        self.add(bytes, AUTOMATON);
        Ok(())
    }

    fn literals(&mut self, tables: &Tables<'_>, set: u32) -> Result<(), Corrupt> {
        if set == NONE {
            return Ok(());
        }
        let set = at(tables.literal_sets, set)?;
        self.one(set);
        // In a large set each value has a place of its own.
        let slots = slice(tables.literal_slots, &set.slots)?;
        if size_of_val(slots) <= 4 * LINE {
            self.add(slots, 4);
        }
        Ok(())
    }
}
