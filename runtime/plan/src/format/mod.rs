//! The bytes of a plan: header, section table and fixed-size records.
//!
//! Everything is little-endian and needs no alignment, so records are read in
//! place. This module is the only description of the layout; the compiler writes
//! these records and [`super::Plan`] reads them. It holds no logic.

use crate::effects::Effect;
use crate::verdict::{Label, Verdict};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// The first eight bytes of every plan.
pub const MAGIC: [u8; 8] = *b"BNCRPLAN";
/// The format this crate reads and the compiler writes. Any change of a record
/// changes it.
pub const VERSION: u32 = 9;
/// Reads back as this number only when the bytes are little-endian.
pub const ENDIAN: u32 = 0x0102_0304;
/// "None" in a field that holds an index.
pub const NONE: u32 = u32::MAX;
/// The most calls that a rate or a windowed `calls(this)` may allow: the time of each is
/// remembered, eight bytes for each tool of each conversation.
pub const MAX_WINDOWED_CALLS: u32 = 100_000;
/// Marks an atom reference as an index into [`Section::Quants`].
pub const QUANT_BIT: u32 = 1 << 31;

/// The sections of a plan, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Section {
    /// UTF-8 text that [`Str`] points into.
    Strings = 1,
    /// One [`Meta`].
    Meta = 2,
    /// [`Str`]: names of the policy's files.
    Files = 3,
    /// [`PathNode`]: the trie of all argument paths; node 0 is the root.
    PathNodes = 4,
    /// [`PathEdge`], sorted by key within a node.
    PathEdges = 5,
    /// [`Str`]: the paths' texts, by path id.
    Paths = 6,
    /// [`Group`]: rules that share a tool pattern.
    Groups = 7,
    /// [`Dimension`]: what a group tests of one path, sorted by path id, then view.
    Dimensions = 8,
    /// [`Matcher`]: automata of a dimension.
    Matchers = 9,
    /// [`SimpleTest`]: tests that are evaluated one by one.
    SimpleTests = 10,
    /// [`Test`]: the atoms that a test's outcome raises.
    Tests = 11,
    /// [`Atom`]: rows that an atom requires or kills.
    Atoms = 12,
    /// [`Quant`]: `any` and `all`.
    Quants = 13,
    /// [`Row`]: conjunctions.
    Rows = 14,
    /// [`Rule`].
    Rules = 15,
    /// [`Contract`], sorted by key, then layer.
    Contracts = 16,
    /// [`Sink`].
    Sinks = 17,
    /// [`Constraint`].
    Constraints = 18,
    /// [`RateLimit`].
    Rates = 19,
    /// [`OutputLabel`].
    OutputLabels = 20,
    /// [`LiteralSet`].
    LiteralSets = 21,
    /// [`LiteralSlot`]: open-addressing tables.
    LiteralSlots = 22,
    /// [`AutomatonRef`].
    Automata = 23,
    /// The automata's bytes.
    AutomataBytes = 24,
    /// [`U32`]: lists of indices, see the fields that point here.
    Lists = 25,
    /// [`HeuristicWord`].
    HeuristicWords = 26,
    /// [`ServerEntry`].
    Servers = 27,
    /// What the plan was compiled from, as JSON; empty where the author left it out. It
    /// decides nothing, and is not part of [`Meta::policy_digest`].
    Source = 28,
}

impl Section {
    /// All sections, in file order.
    pub const ALL: [Self; 28] = [
        Self::Strings,
        Self::Meta,
        Self::Files,
        Self::PathNodes,
        Self::PathEdges,
        Self::Paths,
        Self::Groups,
        Self::Dimensions,
        Self::Matchers,
        Self::SimpleTests,
        Self::Tests,
        Self::Atoms,
        Self::Quants,
        Self::Rows,
        Self::Rules,
        Self::Contracts,
        Self::Sinks,
        Self::Constraints,
        Self::Rates,
        Self::OutputLabels,
        Self::LiteralSets,
        Self::LiteralSlots,
        Self::Automata,
        Self::AutomataBytes,
        Self::Lists,
        Self::HeuristicWords,
        Self::Servers,
        Self::Source,
    ];

    /// A short name for messages and `bouncer inspect`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strings => "strings",
            Self::Meta => "meta",
            Self::Files => "files",
            Self::PathNodes => "path nodes",
            Self::PathEdges => "path edges",
            Self::Paths => "paths",
            Self::Groups => "groups",
            Self::Dimensions => "dimensions",
            Self::Matchers => "matchers",
            Self::SimpleTests => "simple tests",
            Self::Tests => "tests",
            Self::Atoms => "atoms",
            Self::Quants => "quantifiers",
            Self::Rows => "rows",
            Self::Rules => "rules",
            Self::Contracts => "contracts",
            Self::Sinks => "sinks",
            Self::Constraints => "constraints",
            Self::Rates => "rates",
            Self::OutputLabels => "output labels",
            Self::LiteralSets => "literal sets",
            Self::LiteralSlots => "literal slots",
            Self::Automata => "automata",
            Self::AutomataBytes => "automata bytes",
            Self::Lists => "lists",
            Self::HeuristicWords => "heuristic words",
            Self::Servers => "servers",
            Self::Source => "source",
        }
    }
}

/// Declares a plan record: a plain little-endian struct. A `checked` one holds kinds, so
/// that not all bytes are one.
macro_rules! record {
    ($(#[$meta:meta])* checked $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    };
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    };
}

mod automata;
mod kinds;

pub use automata::*;
pub use kinds::*;

record! {
    /// The start of the file. `digest` is BLAKE3 over the whole file with this field zeroed.
    Header {
        /// [`MAGIC`].
        magic: [u8; 8],
        /// [`VERSION`].
        version: U32,
        /// [`ENDIAN`].
        endian: U32,
        /// How many [`SectionEntry`] follow.
        sections: U32,
        /// Zero.
        reserved: U32,
        /// Length of the file in bytes.
        length: U64,
        /// See above.
        digest: [u8; 32],
    }
}

record! {
    /// Where a section lies.
    SectionEntry {
        /// [`Section`] as a number.
        kind: U32,
        /// Zero.
        reserved: U32,
        /// From the start of the file.
        offset: U64,
        /// In bytes.
        length: U64,
    }
}

record! {
    /// A piece of [`Section::Strings`].
    Str {
        /// First byte.
        start: U32,
        /// Bytes.
        length: U32,
    }
}

record! {
    /// A run of records in another section.
    Range {
        /// First record.
        start: U32,
        /// How many.
        length: U32,
    }
}

record! {
    /// A place in a policy file; `file` is [`NONE`] where there is none.
    Pos {
        /// Index into [`Section::Files`].
        file: U32,
        /// From 1.
        line: U32,
        /// In characters, from 1.
        column: U32,
    }
}

record! {
    /// Facts about the whole plan.
    checked Meta {
        /// Digest of the sections that decide: equal for equal policies.
        policy_digest: [u8; 32],
        /// Bit 0: there is a rules section. Bit 1: heuristics are on. Bit 2: tools that are
        /// always denied are hidden.
        flags: U32,
        /// For unmatched destructive tools.
        on_destructive_hint: Verdict,
        /// For other unmatched calls.
        on_unknown: Verdict,
        /// How much a conversation remembers of what it reads, in MiB; 0: not said.
        provenance_limit: U16,
        /// Where `onDestructiveHint` was written.
        on_destructive_hint_at: Pos,
        /// Where `onUnknown` was written.
        on_unknown_at: Pos,
        /// Attempts for tools that heuristics call destructive; [`NONE`]: unlimited.
        destructive_max_calls: U32,
        /// How many leading groups have an exact name as pattern, sorted by it.
        exact_groups: U32,
        /// Version of the compiler.
        compiler: Str,
        /// The policy's audit path; length 0: none.
        audit_path: Str,
        /// Where the policy wants approvals kept; length 0: nowhere in particular.
        approval_path: Str,
        /// How long a human has to decide, in milliseconds; 0: not said.
        approval_timeout_ms: U64,
        /// By effect: what its defaults say of a call before anything untrusted was read.
        on_effect: EffectVerdicts,
        /// By effect: what they say afterwards, where nobody vouches for the call's target.
        after_untrusted: EffectVerdicts,
        /// The literal set of the account's own addresses, or [`NONE`].
        me: U32,
    }
}

/// A verdict for each [`Effect`], by its number.
pub type EffectVerdicts = [Verdict; Effect::ALL.len()];

/// [`Meta::flags`]: the policy has rules or defaults.
pub const META_HAS_RULES: u32 = 1;
/// [`Meta::flags`]: heuristics apply to tools without a contract.
pub const META_HEURISTICS: u32 = 2;
/// [`Meta::flags`]: tools of which every call is denied are not shown.
pub const META_HIDE_DENIED: u32 = 4;
/// [`Meta::flags`]: nobody wrote the rules, they come with the program. They do not silence
/// the defaults for effects.
pub const META_BUILT_IN: u32 = 8;
/// [`Meta::flags`]: rules test names of members.
pub const META_NAMES: u32 = 16;

record! {
    /// A node of the path trie.
    PathNode {
        /// Into [`Section::PathEdges`], sorted by key bytes.
        edges: Range,
        /// The path that ends here, or [`NONE`].
        path: U32,
        /// How many of the edges have a key with capitals or beyond ASCII.
        mixed: U32,
        /// Into [`Section::Lists`]: an open-addressing table over the edges that keys can
        /// take, a power of two of slots, at most half of them used. A slot holds an edge's
        /// index in [`Section::PathEdges`] or [`NONE`]; see [`super::edge_slot`].
        slots: Range,
        /// The path of the names of the members here, or [`NONE`].
        names: U32,
    }
}

record! {
    /// An edge of the path trie. `child` is greater than the node it leaves.
    PathEdge {
        /// The object key.
        key: Str,
        /// The array index that the key spells, or [`NONE`].
        index: U32,
        /// The node it leads to.
        child: U32,
        /// 1: the edge applies to array elements only.
        index_only: U32,
    }
}

record! {
    /// Rules that share one tool pattern.
    checked Group {
        /// The pattern.
        pattern: Str,
        /// How it is read.
        kind: GlobKind,
        /// Into [`Section::Dimensions`].
        dimensions: Range,
        /// Into [`Section::Quants`].
        quants: Range,
        /// Into [`Section::Rows`], in rule order.
        rows: Range,
        /// Into [`Section::Lists`]: rows that require nothing, ascending.
        free_rows: Range,
        /// How many attempts' times a conversation must remember for `calls(this)`: at
        /// most [`MAX_WINDOWED_CALLS`] and the two that show a limit to be exceeded.
        call_history: U32,
    }
}

record! {
    /// What a group tests of one path through one view.
    checked Dimension {
        /// The path; [`NONE`] for `calls(this)`.
        path: U32,
        /// As what the path is seen.
        view: ViewKind,
        /// The SQL that a query is read as.
        dialect: SqlDialect,
        /// Into [`Section::Matchers`].
        matchers: Range,
        /// The literal set of `equals` and `in`, or [`NONE`]. Values are lists of tests.
        literals: U32,
        /// Into [`Section::SimpleTests`].
        simple: Range,
        /// Into [`Section::Tests`]: all tests of this dimension.
        tests: Range,
    }
}

record! {
    /// An automaton run over the text of a dimension.
    Matcher {
        /// Into [`Section::Automata`].
        automaton: U32,
        /// Into [`Section::Lists`]: for each pattern of the automaton, its test.
        tests: Range,
    }
}

record! {
    /// A test that is evaluated on its own.
    checked SimpleTest {
        /// What it asks.
        kind: SimpleKind,
        /// Depends on the kind; see there.
        operand: U32,
        /// Depends on the kind; see there.
        text: Str,
        /// A window in milliseconds for [`ViewKind::Calls`]; 0: for ever.
        window_ms: U64,
        /// Into [`Section::Tests`].
        test: U32,
    }
}

record! {
    /// The atoms that a test's outcome raises; each is [`NONE`], an index into
    /// [`Section::Atoms`], or with [`QUANT_BIT`] into [`Section::Quants`].
    checked Test {
        /// Holds for a permissive rule: plain form, own type, not through an object.
        plain: U32,
        /// Holds for a restrictive rule: any form, or cannot be evaluated.
        any: U32,
        /// Holds in every form and can be evaluated.
        all: U32,
        /// `any`, or the leaf is unfit for a permissive rule.
        maybe: U32,
        /// How it treats what it is unfit for.
        class: TestClass,
    }
}

record! {
    /// An elementary fact about a pick.
    Atom {
        /// Into [`Section::Lists`]: rows that need it.
        requires: Range,
        /// Into [`Section::Lists`]: rows that it rules out.
        kills: Range,
    }
}

record! {
    /// A quantified atom: raised once for all leaves of a path.
    checked Quant {
        /// The path whose leaves are counted.
        path: U32,
        /// How many of them have to raise it.
        kind: QuantKind,
        /// The atom to raise.
        atom: U32,
    }
}

record! {
    /// A conjunction of atoms.
    Row {
        /// Into [`Section::Rules`].
        rule: U32,
        /// How many atoms it requires.
        need: U32,
    }
}

record! {
    /// A rule, as far as a verdict needs it.
    checked Rule {
        /// What it says.
        action: Verdict,
        /// Where it was written.
        at: Pos,
        /// The author's reason; length 0 and start [`NONE`]: none.
        reason: Str,
        /// Its tool patterns as written, joined by `, `.
        tools: Str,
    }
}

record! {
    /// A contract.
    checked Contract {
        /// Bare name or `<server>__<tool>`.
        key: Str,
        /// Whose it is.
        layer: ContractLayer,
        /// `CONTRACT_` bits.
        flags: U32,
        /// Where it was written.
        at: Pos,
        /// For tainted destinations; not [`Verdict::Allow`].
        on_tainted: Verdict,
        /// Into [`Section::Sinks`].
        sinks: Range,
        /// The literal set of trusted destinations, or [`NONE`].
        trusted: U32,
        /// Into [`Section::Constraints`].
        constraints: Range,
        /// Attempts per conversation; `u64::MAX`: unlimited.
        max_calls: U64,
        /// Where `max_calls` was written.
        max_calls_at: Pos,
        /// Into [`Section::Rates`].
        rates: Range,
        /// Of outputs without a field label.
        output_label: Label,
        /// Into [`Section::OutputLabels`].
        outputs: Range,
        /// With [`CONTRACT_DISPATCHES`]: the argument that names the tool that is called.
        dispatch_tool: Str,
        /// The argument that holds that tool's arguments.
        dispatch_arguments: Str,
        /// Where `dispatches` was written.
        dispatch_at: Pos,
        /// What the tool does, as bits of [`Effects`](crate::Effects): all of it with
        /// [`CONTRACT_EFFECTS`], else what is added to what its name and arguments show.
        effects: U16,
        /// Of outputs without a field label.
        secrecy: Secrecy,
        /// The folder that relative paths start in; length 0: not known.
        base: Str,
    }
}

/// [`Contract::flags`]: the sink gate applies.
pub const CONTRACT_EXFILTRATING: u32 = 1;
/// [`Contract::flags`]: paths are resolved on disk.
pub const CONTRACT_RESOLVE_SYMLINKS: u32 = 2;
/// [`Contract::flags`]: the contract labels its outputs.
pub const CONTRACT_OUTPUTS: u32 = 4;
/// [`Contract::flags`]: a call in which no declared sink has a leaf sends nothing out.
pub const CONTRACT_OPTIONAL_SINKS: u32 = 8;
/// [`Contract::flags`]: a human decides on every call.
pub const CONTRACT_CONFIRM: u32 = 16;
/// [`Contract::flags`]: the tool calls another, which its arguments name.
pub const CONTRACT_DISPATCHES: u32 = 32;
/// [`Contract::flags`]: the contract says all that the tool does.
pub const CONTRACT_EFFECTS: u32 = 64;
/// [`Contract::flags`]: the user has decided about calls of this tool, and the defaults for
/// effects say nothing of them.
pub const CONTRACT_DECIDES: u32 = 128;
/// Nothing in the text of a result is a field.
pub const CONTRACT_PROSE: u32 = 256;

record! {
    /// A sink of a contract.
    Sink {
        /// The path as text.
        name: Str,
        /// Into [`Section::Lists`]: for each step of the path three numbers: a string's
        /// start and length, and the array index or [`NONE`].
        steps: Range,
        /// Where it was written.
        at: Pos,
    }
}

record! {
    /// A constraint of a contract on one path.
    checked Constraint {
        /// The path.
        path: U32,
        /// What is demanded of it.
        kind: ConstraintKind,
        /// The automaton of the pattern, or [`NONE`].
        automaton: U32,
        /// Prefixes: into [`Section::Lists`], pairs of a string's start and length.
        prefixes: Range,
        /// The pattern as written.
        written: Str,
        /// Where it was written.
        at: Pos,
    }
}

record! {
    /// At most `count` attempts in any window.
    RateLimit {
        /// Attempts, at most [`MAX_WINDOWED_CALLS`].
        count: U32,
        /// Zero.
        reserved: U32,
        /// The window in milliseconds.
        window_ms: U64,
        /// Where it was written.
        at: Pos,
    }
}

record! {
    /// The label of a field of an output.
    checked OutputLabel {
        /// Into [`Section::Lists`]: for each step of the path three numbers, as [`Sink::steps`].
        steps: Range,
        /// The label.
        label: Label,
        /// Whether it is private.
        secrecy: Secrecy,
    }
}

record! {
    /// An open-addressing table: a power of two of slots, at most half of them used.
    LiteralSet {
        /// Into [`Section::LiteralSlots`].
        slots: Range,
        /// How many are used.
        count: U32,
        /// [`LiteralKind::bit`] of each that occurs.
        kinds: U32,
    }
}

record! {
    /// A slot.
    checked LiteralSlot {
        /// Low half of the key's hash.
        hash: U32,
        /// What it holds.
        kind: LiteralKind,
        /// The key.
        key: Str,
        /// Into [`Section::Lists`]; empty in sets of destinations.
        values: Range,
    }
}

record! {
    /// A word of the heuristics.
    checked HeuristicWord {
        /// Of which list.
        kind: WordKind,
        /// The word.
        word: Str,
    }
}

record! {
    /// A server of the gateway, as JSON.
    ServerEntry {
        /// Its name.
        name: Str,
        /// Transport and options as one JSON object, `${VAR}` unexpanded.
        json: Str,
        /// Where it was written.
        at: Pos,
    }
}
