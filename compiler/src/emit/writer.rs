//! The sections of a plan while it is written.

use crate::build::{Automata, LiteralSetBuilder, LiteralTables};
use bouncer_plan::format::{
    Atom, Constraint, Contract, Dimension, Group, HeuristicWord, Matcher, NONE, OutputLabel,
    PathEdge, PathNode, Quant, Range, RateLimit, Row, Rule, ServerEntry, SimpleTest, Sink, Str,
    Test,
};
use std::collections::HashMap;
use zerocopy::little_endian::U32;

/// The sections so far.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub strings: String,
    pub files: Vec<Str>,
    pub path_nodes: Vec<PathNode>,
    pub path_edges: Vec<PathEdge>,
    pub paths: Vec<Str>,
    pub groups: Vec<Group>,
    pub dimensions: Vec<Dimension>,
    pub matchers: Vec<Matcher>,
    pub simple_tests: Vec<SimpleTest>,
    pub tests: Vec<Test>,
    pub atoms: Vec<Atom>,
    pub quants: Vec<Quant>,
    pub rows: Vec<Row>,
    pub rules: Vec<Rule>,
    pub contracts: Vec<Contract>,
    pub sinks: Vec<Sink>,
    pub constraints: Vec<Constraint>,
    pub rates: Vec<RateLimit>,
    pub output_labels: Vec<OutputLabel>,
    pub literals: LiteralTables,
    pub automata: Automata,
    pub lists: Vec<U32>,
    pub heuristic_words: Vec<HeuristicWord>,
    pub servers: Vec<ServerEntry>,
    pub source: Vec<u8>,
    /// Strings already written. Only looked up, never iterated.
    interned: HashMap<String, Str>,
}

impl Writer {
    /// Nothing yet but the automata.
    pub fn new(automata: Automata) -> Self {
        Self {
            automata,
            ..Self::default()
        }
    }

    /// Stores a string once.
    pub fn text(&mut self, text: &str) -> Str {
        Self::intern(&mut self.strings, &mut self.interned, text)
    }

    fn intern(strings: &mut String, interned: &mut HashMap<String, Str>, text: &str) -> Str {
        if let Some(known) = interned.get(text) {
            return *known;
        }
        let stored = Str {
            start: U32::new(strings.len() as u32),
            length: U32::new(text.len() as u32),
        };
        strings.push_str(text);
        interned.insert(text.to_owned(), stored);
        stored
    }

    /// Stores a list of numbers.
    pub fn list(&mut self, items: impl IntoIterator<Item = u32>) -> Range {
        Self::store(&mut self.lists, items)
    }

    fn store(lists: &mut Vec<U32>, items: impl IntoIterator<Item = u32>) -> Range {
        let start = lists.len();
        lists.extend(items.into_iter().map(U32::new));
        Range {
            start: U32::new(start as u32),
            length: U32::new((lists.len() - start) as u32),
        }
    }

    /// Stores strings as pairs of start and length.
    pub fn text_list<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Range {
        let mut items = Vec::new();
        for text in texts {
            let stored = self.text(text);
            items.extend([stored.start.get(), stored.length.get()]);
        }
        self.list(items)
    }

    /// Stores the steps of a path as triples of a key's start, its length and an index.
    pub fn steps(&mut self, steps: &[crate::lower::Step]) -> Range {
        let mut items = Vec::new();
        for step in steps {
            let key = match step {
                crate::lower::Step::Key(key) => key.as_str(),
                crate::lower::Step::Index(_) | crate::lower::Step::Names => "",
            };
            let stored = self.text(key);
            items.extend([
                stored.start.get(),
                stored.length.get(),
                step.index().unwrap_or(NONE),
            ]);
        }
        self.list(items)
    }

    /// Stores a literal set; [`NONE`] for an empty one.
    pub fn literal_set(&mut self, set: &LiteralSetBuilder) -> u32 {
        if set.entries.is_empty() {
            return NONE;
        }
        let Self {
            strings,
            interned,
            lists,
            literals,
            ..
        } = self;
        literals.push(
            set,
            |text| Self::intern(strings, interned, text),
            |values| Self::store(lists, values.iter().copied()),
        )
    }
}

/// A range from `start` to the current length of a section.
pub(super) fn since<T>(section: &[T], start: usize) -> Range {
    Range {
        start: U32::new(start as u32),
        length: U32::new((section.len() - start) as u32),
    }
}
