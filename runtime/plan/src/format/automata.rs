//! Automata as a plan holds them: DFAs, NFAs, and the needles that spare a scan.

use super::{AutomatonKind, Range};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

record! {
    /// Where an automaton lies in [`Section::AutomataBytes`](super::Section::AutomataBytes).
    checked AutomatonRef {
        /// First byte.
        start: U32,
        /// Bytes.
        length: U32,
        /// How it is stored.
        kind: AutomatonKind,
        /// How many patterns.
        patterns: U32,
        /// An NFA to use where the DFA quits, or [`NONE`](super::NONE).
        fallback: U32,
        /// Bytes of [`Section::AutomataBytes`](super::Section::AutomataBytes): a [`PrefilterHeader`] and what follows it.
        /// Empty: every text has to be read.
        prefilter: Range,
    }
}

record! {
    /// The start of a prefilter. Then follow `needles` [`Needle`]: every match of every
    /// pattern contains one of them.
    PrefilterHeader {
        /// How many.
        needles: U32,
        /// [`PREFILTER_ASCII_ONLY`] or 0.
        flags: U32,
    }
}

/// [`PrefilterHeader::flags`]: only true of texts in ASCII, where no letter has another
/// spelling beyond it.
pub const PREFILTER_ASCII_ONLY: u32 = 1;

/// The longest needle.
pub const NEEDLE_BYTES: usize = 8;

record! {
    /// A piece of text that a prefilter looks for. A byte of the text is compared after a
    /// bitwise or with the needle's fold: 0x20 for an ASCII letter in either case, else 0.
    Needle {
        /// The two bytes that are looked for first, folded.
        pair: [u8; 2],
        /// Their folds.
        pair_fold: [u8; 2],
        /// Where they stand in the needle.
        rare: u8,
        /// How long the needle is.
        length: u8,
        /// Zero.
        reserved: [u8; 2],
        /// The needle, folded.
        bytes: [u8; NEEDLE_BYTES],
        /// By byte: its fold.
        fold: [u8; NEEDLE_BYTES],
    }
}

/// Up to so many transitions a DFA's table holds two bytes for each, above four.
pub const NARROW_DFA: u32 = 1 << 16;

record! {
    /// The start of a dense DFA. Then follow the class map (256 bytes), the transitions
    /// (`states * stride`, each a [`U16`] if there are at most [`NARROW_DFA`], else a
    /// [`U32`]), the match index (`matches + 1` [`U32`] offsets into the pattern list) and
    /// the pattern list ([`U32`]).
    ///
    /// State ids are multiples of the stride: 0 is dead, 1 (times the stride) has quit,
    /// the next `matches` states report patterns. The class after the last byte class
    /// stands for the end of the text.
    DfaHeader {
        /// States, dead and quit included.
        states: U32,
        /// Transitions of each state: the byte classes and the end of the text.
        stride: U32,
        /// The class of "end of text".
        end_class: U32,
        /// The start state, multiplied.
        start: U32,
        /// Match states.
        matches: U32,
        /// Length of the pattern list.
        pattern_list: U32,
    }
}

record! {
    /// The start of an NFA. Then follow `states` [`NfaState`] and `edges` [`NfaEdge`].
    NfaHeader {
        /// States.
        states: U32,
        /// Edges.
        edges: U32,
        /// The start state.
        start: U32,
        /// Zero.
        reserved: U32,
    }
}

record! {
    /// A state of an NFA.
    NfaState {
        /// A [`NfaKind`](super::NfaKind) as a byte.
        kind: u8,
        /// Bytes and unions: into the edges. Look: the next state in `start`.
        edges: Range,
        /// Look: the assertion's code. Match: the pattern.
        operand: U32,
    }
}

record! {
    /// An edge of an NFA.
    NfaEdge {
        /// First byte, inclusive.
        low: u8,
        /// Last byte, inclusive.
        high: u8,
        /// Zero.
        reserved: U16,
        /// The state it leads to.
        next: U32,
    }
}
