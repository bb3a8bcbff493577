//! A loaded plan: the compiled policy, read in place.
//!
//! [`Plan::load`] checks everything that deciding later relies on, once. Reading
//! never copies records; look-ups that fail all the same (they cannot, on a loaded
//! plan) are reported to the caller, who blocks the call.

pub mod automaton;
mod effects;
mod error;
pub mod format;
pub mod glob;
pub mod literals;
mod prefilter;
pub mod requests;
mod validate;
mod verdict;

pub use automaton::Corrupt;
pub use effects::{Effect, Effects, UnknownEffect};
pub use error::LoadError;
pub use format::SqlDialect;
pub use prefilter::Prefilter;
pub use verdict::{Label, Stage, Verdict};

use bouncer_reader::address::Network;
use format::{
    Atom, AutomatonRef, Constraint, Contract, Dimension, Group, Header, HeuristicWord, LiteralSet,
    LiteralSlot, Matcher, Meta, OutputLabel, PathEdge, PathNode, Quant, Range, RateLimit, Row,
    Rule, Section, SectionEntry, ServerEntry, SimpleTest, Sink, Str, Test,
};
use std::sync::Arc;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, KnownLayout, TryFromBytes};

/// A compiled policy. Cheap to clone: clones share the bytes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The bytes, and the tables that point into them: found once, not on every call.
    loaded: Arc<Loaded>,
    /// Start and end of each section, by [`Section`] number minus one.
    sections: Sections,
    digest: [u8; 32],
}

/// Start and end of each section, by [`Section`] number minus one.
type Sections = [(usize, usize); Section::ALL.len()];

/// The bytes of a plan, wherever they are kept.
struct Bytes(Box<dyn AsRef<[u8]> + Send + Sync>);

impl Bytes {
    fn get(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.get().len())
    }
}

self_cell::self_cell!(
    /// The bytes of a plan with the tables in them.
    struct Loaded {
        owner: Bytes,
        #[covariant]
        dependent: Tables,
    }

    impl {Debug}
);

impl Plan {
    /// Loads a plan from its file's bytes: a `Vec`, or what else holds bytes, such as a
    /// file that is mapped into memory. They are kept, not copied, and must not change.
    ///
    /// Linear in their length; allocates nothing beyond the bytes themselves.
    ///
    /// # Errors
    /// If the bytes are not a plan of this version, are damaged, or refer to something
    /// that is not there.
    pub fn load(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, LoadError> {
        Self::load_kept(Bytes(Box::new(bytes)))
    }

    fn load_kept(kept: Bytes) -> Result<Self, LoadError> {
        let bytes = kept.get();
        let (header, rest) = Header::ref_from_prefix(bytes).map_err(|_| LoadError::not_a_plan())?;
        // The order of checks: what the file is, then whether it is whole, then whether
        // it is authentic to its digest, and only then what it says.
        if header.magic != format::MAGIC {
            return Err(LoadError::not_a_plan());
        }
        if header.version.get() != format::VERSION {
            return Err(LoadError::version(header.version.get()));
        }
        if header.endian.get() != format::ENDIAN {
            return Err(LoadError::endian());
        }
        if header.length.get() != bytes.len() as u64 {
            return Err(LoadError::truncated("sections"));
        }
        let digest = header.digest;
        if digest_of(bytes) != digest {
            return Err(LoadError::digest());
        }
        if header.sections.get() as usize != Section::ALL.len() || header.reserved.get() != 0 {
            return Err(LoadError::layout("section table"));
        }
        let (table, _) = <[SectionEntry]>::ref_from_prefix_with_elems(rest, Section::ALL.len())
            .map_err(|_| LoadError::truncated("section table"))?;
        let mut sections = [(0, 0); Section::ALL.len()];
        let mut position = size_of::<Header>() + size_of_val(table);
        for ((section, entry), slot) in Section::ALL.iter().zip(table).zip(&mut sections) {
            // Sections follow each other without gaps, so that every byte belongs to one.
            let length = usize::try_from(entry.length.get())
                .map_err(|_| LoadError::layout(section.name()))?;
            let end = position
                .checked_add(length)
                .ok_or(LoadError::layout(section.name()))?;
            if entry.kind.get() != *section as u32
                || entry.reserved.get() != 0
                || entry.offset.get() != position as u64
                || end > bytes.len()
            {
                return Err(LoadError::layout(section.name()));
            }
            *slot = (position, end);
            position = end;
        }
        if position != bytes.len() {
            return Err(LoadError::layout("end of file"));
        }
        let plan = Self {
            loaded: Arc::new(Loaded::new(kept, |kept| Tables::of(kept.get(), &sections))),
            sections,
            digest,
        };
        validate::validate(&plan)?;
        Ok(plan)
    }

    /// The digest of the whole plan.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The first 16 hexadecimal digits of the digest, as audit lines show it.
    #[must_use]
    pub fn short_digest(&self) -> String {
        self.digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The file's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.loaded.borrow_owner().get()
    }

    /// The bytes of one section.
    #[must_use]
    pub fn section(&self, section: Section) -> &[u8] {
        section_of(self.bytes(), &self.sections, section)
    }

    /// All tables at once, for reading many records.
    #[must_use]
    pub fn tables(&self) -> &Tables<'_> {
        self.loaded.borrow_dependent()
    }
}

/// The bytes of one section.
fn section_of<'b>(bytes: &'b [u8], sections: &Sections, section: Section) -> &'b [u8] {
    let (start, end) = sections
        .get(section as usize - 1)
        .copied()
        .unwrap_or_default();
    bytes.get(start..end).unwrap_or_default()
}

/// Where the probe for `key` starts in a node's table of edges with `mask + 1` slots.
/// Shared with the compiler, which fills the table.
#[must_use]
pub fn edge_slot(key: &[u8], mask: usize) -> usize {
    (literals::hash(format::LiteralKind::String, key) >> 32) as usize & mask
}

/// BLAKE3 of a plan's bytes with the digest field zeroed. Shared with the compiler so
/// that writing and checking cannot differ.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> [u8; 32] {
    let at = size_of::<Header>() - 32;
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes.get(..at).unwrap_or(bytes));
    hasher.update(&[0; 32]);
    hasher.update(bytes.get(at + 32..).unwrap_or_default());
    *hasher.finalize().as_bytes()
}

/// The tables of a plan.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each field is the section of the same name")]
pub struct Tables<'p> {
    /// The whole plan.
    pub bytes: &'p [u8],
    pub strings: &'p str,
    pub meta: &'p [Meta],
    pub files: &'p [Str],
    pub path_nodes: &'p [PathNode],
    pub path_edges: &'p [PathEdge],
    pub paths: &'p [Str],
    pub groups: &'p [Group],
    pub dimensions: &'p [Dimension],
    pub matchers: &'p [Matcher],
    pub simple_tests: &'p [SimpleTest],
    pub tests: &'p [Test],
    pub atoms: &'p [Atom],
    pub quants: &'p [Quant],
    pub rows: &'p [Row],
    pub rules: &'p [Rule],
    pub contracts: &'p [Contract],
    pub sinks: &'p [Sink],
    pub constraints: &'p [Constraint],
    pub rates: &'p [RateLimit],
    pub output_labels: &'p [OutputLabel],
    pub literal_sets: &'p [LiteralSet],
    pub literal_slots: &'p [LiteralSlot],
    pub automata: &'p [AutomatonRef],
    pub automata_bytes: &'p [u8],
    pub lists: &'p [U32],
    pub heuristic_words: &'p [HeuristicWord],
    pub servers: &'p [ServerEntry],
    pub source: &'p [u8],
}

/// The records of `table` that `range` names.
pub fn slice<'p, T>(table: &'p [T], range: &Range) -> Result<&'p [T], Corrupt> {
    let start = range.start.get() as usize;
    let end = start
        .checked_add(range.length.get() as usize)
        .ok_or(Corrupt)?;
    table.get(start..end).ok_or(Corrupt)
}

/// The record of `table` at `index`.
pub fn at<T>(table: &[T], index: u32) -> Result<&T, Corrupt> {
    table.get(index as usize).ok_or(Corrupt)
}

impl<'p> Tables<'p> {
    /// The tables in a plan's bytes.
    fn of(bytes: &'p [u8], sections: &Sections) -> Self {
        // A section whose length is not a multiple of its record, or with a kind that is
        // none, reads as empty here; the loader refuses it.
        fn records<T: TryFromBytes + Immutable + KnownLayout>(bytes: &[u8]) -> &[T] {
            <[T]>::try_ref_from_bytes(bytes).unwrap_or_default()
        }
        let section = |section| section_of(bytes, sections, section);
        Self {
            bytes,
            // The loader refuses a plan whose strings are no text, too.
            strings: std::str::from_utf8(section(Section::Strings)).unwrap_or_default(),
            meta: records(section(Section::Meta)),
            files: records(section(Section::Files)),
            path_nodes: records(section(Section::PathNodes)),
            path_edges: records(section(Section::PathEdges)),
            paths: records(section(Section::Paths)),
            groups: records(section(Section::Groups)),
            dimensions: records(section(Section::Dimensions)),
            matchers: records(section(Section::Matchers)),
            simple_tests: records(section(Section::SimpleTests)),
            tests: records(section(Section::Tests)),
            atoms: records(section(Section::Atoms)),
            quants: records(section(Section::Quants)),
            rows: records(section(Section::Rows)),
            rules: records(section(Section::Rules)),
            contracts: records(section(Section::Contracts)),
            sinks: records(section(Section::Sinks)),
            constraints: records(section(Section::Constraints)),
            rates: records(section(Section::Rates)),
            output_labels: records(section(Section::OutputLabels)),
            literal_sets: records(section(Section::LiteralSets)),
            literal_slots: records(section(Section::LiteralSlots)),
            automata: records(section(Section::Automata)),
            automata_bytes: section(Section::AutomataBytes),
            lists: records(section(Section::Lists)),
            heuristic_words: records(section(Section::HeuristicWords)),
            servers: records(section(Section::Servers)),
            source: section(Section::Source),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// If it is not there; never on a loaded plan.
    pub fn text(&self, string: &Str) -> Result<&'p str, Corrupt> {
        let start = string.start.get() as usize;
        let end = start
            .checked_add(string.length.get() as usize)
            .ok_or(Corrupt)?;
        self.strings.get(start..end).ok_or(Corrupt)
    }

    /// The bytes of a string, to be compared.
    #[inline]
    pub fn bytes_of(&self, string: &Str) -> Result<&'p [u8], Corrupt> {
        let (start, length) = (string.start.get() as usize, string.length.get() as usize);
        let rest = self.strings.as_bytes().get(start..).ok_or(Corrupt)?;
        rest.get(..length).ok_or(Corrupt)
    }

    /// The plan's [`Meta`].
    ///
    /// # Errors
    /// If it is not there; never on a loaded plan.
    pub fn meta(&self) -> Result<&'p Meta, Corrupt> {
        self.meta.first().ok_or(Corrupt)
    }

    /// The string whose start and length stand at `index` of the lists.
    pub fn listed_text(&self, index: usize) -> Result<&'p str, Corrupt> {
        let start = self.lists.get(index).ok_or(Corrupt)?;
        let length = self.lists.get(index + 1).ok_or(Corrupt)?;
        self.text(&Str {
            start: *start,
            length: *length,
        })
    }

    /// The networks of a test of hosts; `None` for each that is none.
    pub fn networks(
        &self,
        test: &SimpleTest,
    ) -> Result<impl Iterator<Item = Option<Network>> + use<'p>, Corrupt> {
        let start = test.operand.get() as usize;
        let rest = self.lists.get(start..).ok_or(Corrupt)?;
        let (count, rest) = rest.split_first().ok_or(Corrupt)?;
        let (cells, _) = rest.as_chunks::<5>();
        let networks = cells.get(..count.get() as usize).ok_or(Corrupt)?;
        Ok(networks
            .iter()
            .map(|cells| Network::from_cells(cells.map(U32::get))))
    }

    /// Whether the automaton at `index` has to read `text`, by its prefilter.
    pub fn may_match(&self, index: u32, text: &str) -> Result<bool, Corrupt> {
        let reference = at(self.automata, index)?;
        let prefilter = automaton::Automaton::prefilter(reference, self.automata_bytes);
        Ok(prefilter
            .ok_or(Corrupt)?
            .is_none_or(|prefilter| prefilter.may_match(text.as_bytes())))
    }

    /// How many states an automaton has.
    #[must_use]
    pub fn states(&self, automaton: &AutomatonRef) -> u32 {
        match automaton::Automaton::parse(automaton, self.automata_bytes) {
            Some(automaton::Automaton::Dfa(dfa)) => dfa.states(),
            Some(automaton::Automaton::Nfa(nfa)) => nfa.states(),
            None => 0,
        }
    }

    /// The automaton at `index`.
    pub fn automaton(&self, index: u32) -> Result<automaton::Automaton<'p>, Corrupt> {
        automaton::Automaton::parse(at(self.automata, index)?, self.automata_bytes).ok_or(Corrupt)
    }
}
