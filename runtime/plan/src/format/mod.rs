//! The bytes of a plan: header, section table and fixed-size records.
//!
//! Everything is little-endian and needs no alignment, so records are read in
//! place. This module is the only description of the layout; the compiler writes
//! these records and [`super::Plan`] reads them. It holds no logic.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first eight bytes of every plan.
pub const MAGIC: [u8; 8] = *b"BNCRPLAN";
/// The format this crate reads and the compiler writes. Any change of a record
/// changes it.
pub const VERSION: u32 = 5;
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

/// Declares a plan record: a plain little-endian struct.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    };
}

mod automata;

pub use automata::*;

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
    Meta {
        /// Digest of the sections that decide: equal for equal policies.
        policy_digest: [u8; 32],
        /// Bit 0: there is a rules section. Bit 1: heuristics are on. Bit 2: tools that are
        /// always denied are hidden.
        flags: U32,
        /// Verdict byte for unmatched destructive tools.
        on_destructive_hint: u8,
        /// Verdict byte for other unmatched calls.
        on_unknown: u8,
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
    }
}

/// [`Meta::flags`]: the policy has rules or defaults.
pub const META_HAS_RULES: u32 = 1;
/// [`Meta::flags`]: heuristics apply to tools without a contract.
pub const META_HEURISTICS: u32 = 2;
/// [`Meta::flags`]: tools of which every call is denied are not shown.
pub const META_HIDE_DENIED: u32 = 4;

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
    Group {
        /// The pattern.
        pattern: Str,
        /// [`GLOB_EXACT`], [`GLOB_STAR`] or [`GLOB_NATIVE`].
        kind: U32,
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

/// [`Group::kind`]: the pattern is a name.
pub const GLOB_EXACT: u32 = 0;
/// [`Group::kind`]: only `*` is special.
pub const GLOB_STAR: u32 = 1;
/// [`Group::kind`]: `*`, `?` and `[a-z]` are special.
pub const GLOB_NATIVE: u32 = 2;

record! {
    /// What a group tests of one path through one view.
    Dimension {
        /// The path; [`NONE`] for `calls(this)`.
        path: U32,
        /// One of the `VIEW_` constants.
        view: U32,
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

/// The leaf itself.
pub const VIEW_VALUE: u32 = 0;
/// The host of a URL or address.
pub const VIEW_HOST: u32 = 1;
/// The domain of an address, or the host.
pub const VIEW_DOMAIN: u32 = 2;
/// How many leaves the path has.
pub const VIEW_COUNT: u32 = 3;
/// The provenance of the leaf, and of the destinations inside it.
pub const VIEW_PROVENANCE: u32 = 4;
/// Attempts of the tool; only on the path [`NONE`].
pub const VIEW_CALLS: u32 = 5;
/// Verbs of a query: `VIEW_SQL_VERB + dialect`.
pub const VIEW_SQL_VERB: u32 = 16;
/// Tables of a query: `VIEW_SQL_TABLE + dialect`.
pub const VIEW_SQL_TABLE: u32 = 32;

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
    SimpleTest {
        /// One of the `TEST_` constants.
        kind: U32,
        /// Depends on the kind; see the constants.
        operand: U32,
        /// Depends on the kind; see the constants.
        text: Str,
        /// A window in milliseconds for `VIEW_CALLS`; 0: for ever.
        window_ms: U64,
        /// Into [`Section::Tests`].
        test: U32,
    }
}

/// Number less than `text`.
pub const TEST_LESS: u32 = 0;
/// Number at most `text`.
pub const TEST_LESS_EQUAL: u32 = 1;
/// Number greater than `text`.
pub const TEST_GREATER: u32 = 2;
/// Number at least `text`.
pub const TEST_GREATER_EQUAL: u32 = 3;
/// Number equal to `text` (only for counts and calls).
pub const TEST_NUMBER_EQUAL: u32 = 4;
/// There is a leaf.
pub const TEST_EXISTS: u32 = 5;
/// The leaf's JSON type is `operand`: 0 string, 1 number, 2 bool, 3 null.
pub const TEST_TYPE: u32 = 6;
/// The path lies within one of the prefixes: `operand` is the start in
/// [`Section::Lists`] of a count and that many pairs of a string's start and length.
pub const TEST_WITHIN: u32 = 7;
/// The provenance is in the set `operand`: bit 0 trusted, 1 observed, 2 untrusted, 3 unproven.
pub const TEST_PROVENANCE: u32 = 8;
/// A destination-shaped token inside the leaf is untrusted or observed; only under
/// [`VIEW_PROVENANCE`].
pub const TEST_CARRIES_UNTRUSTED: u32 = 9;

record! {
    /// The atoms that a test's outcome raises; each is [`NONE`], an index into
    /// [`Section::Atoms`], or with [`QUANT_BIT`] into [`Section::Quants`].
    Test {
        /// Holds for a permissive rule: plain form, own type, not through an object.
        plain: U32,
        /// Holds for a restrictive rule: any form, or cannot be evaluated.
        any: U32,
        /// Holds in every form and can be evaluated.
        all: U32,
        /// `any`, or the leaf is unfit for a permissive rule.
        maybe: U32,
        /// One of the `TEST_CLASS_` constants.
        class: U32,
    }
}

/// [`Test::class`]: equality, which every type can answer.
pub const TEST_CLASS_EQUALITY: u32 = 0;
/// [`Test::class`]: a test of text, which a number, bool or null is unfit for.
pub const TEST_CLASS_TEXT: u32 = 1;
/// [`Test::class`]: a [`SimpleTest`] that answers for all forms at once.
pub const TEST_CLASS_OWN: u32 = 2;

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
    Quant {
        /// The path whose leaves are counted.
        path: U32,
        /// 0: any leaf raised it; 1: all did, and there is one.
        all: U32,
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
    Rule {
        /// Verdict byte.
        action: U32,
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
    Contract {
        /// Bare name or `<server>__<tool>`.
        key: Str,
        /// 0 user, 1 pack.
        layer: U32,
        /// `CONTRACT_` bits.
        flags: U32,
        /// Where it was written.
        at: Pos,
        /// Verdict byte for tainted destinations.
        on_tainted: U32,
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
        /// Label byte of outputs without a field label.
        output_label: U32,
        /// Into [`Section::OutputLabels`].
        outputs: Range,
        /// With [`CONTRACT_DISPATCHES`]: the argument that names the tool that is called.
        dispatch_tool: Str,
        /// The argument that holds that tool's arguments.
        dispatch_arguments: Str,
        /// Where `dispatches` was written.
        dispatch_at: Pos,
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
    Constraint {
        /// The path.
        path: U32,
        /// 0: within the prefixes; 1: matches the pattern.
        kind: U32,
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
    OutputLabel {
        /// Into [`Section::Lists`]: for each step of the path three numbers, as [`Sink::steps`].
        steps: Range,
        /// Label byte.
        label: U32,
    }
}

record! {
    /// An open-addressing table: a power of two of slots, at most half of them used.
    LiteralSet {
        /// Into [`Section::LiteralSlots`].
        slots: Range,
        /// How many are used.
        count: U32,
        /// Bit per `LITERAL_` kind that occurs.
        kinds: U32,
    }
}

record! {
    /// A slot; `kind` is [`NONE`] when it is empty.
    LiteralSlot {
        /// Low half of the key's hash.
        hash: U32,
        /// One of the `LITERAL_` constants.
        kind: U32,
        /// The key.
        key: Str,
        /// Into [`Section::Lists`]; empty in sets of destinations.
        values: Range,
    }
}

/// A string, byte for byte.
pub const LITERAL_STRING: u32 = 0;
/// A number, in canonical decimal form.
pub const LITERAL_NUMBER: u32 = 1;
/// `true` or `false`.
pub const LITERAL_BOOL: u32 = 2;
/// `null`.
pub const LITERAL_NULL: u32 = 3;
/// A string in ASCII lower case, for comparison without ASCII case.
pub const LITERAL_FOLDED: u32 = 4;
/// The domain of `*@domain`, in ASCII lower case.
pub const LITERAL_AT_DOMAIN: u32 = 5;
/// The domain of `*.domain`, in ASCII lower case.
pub const LITERAL_BELOW: u32 = 6;

record! {
    /// A word of the heuristics.
    HeuristicWord {
        /// 0 sink name, 1 sink word, 2 sink format, 3 destructive, 4 untrusted, 5 observed,
        /// 6 consequential.
        kind: U32,
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
