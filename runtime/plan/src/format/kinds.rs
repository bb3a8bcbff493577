//! What a plan's records can be: one byte each, checked when the plan is loaded.
//!
//! A record with a byte that is none of these does not load, so a kind is read without
//! another look, and everyone who reads one answers for all: a kind that is added here
//! does not compile until the compiler, the loader, the engine and the proofs do.

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Declares a kind: an enum that stands in a record as one byte.
macro_rules! kind {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $byte:literal,)* }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, TryFromBytes, IntoBytes,
            Immutable, KnownLayout, Unaligned,
        )]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_meta])* $variant = $byte,)* }
    };
}

kind! {
    /// How a tool pattern is read ([`Group::kind`](super::Group::kind)).
    GlobKind {
        /// The pattern is a name.
        Exact = 0,
        /// Only `*` is special.
        Star = 1,
        /// `*`, `?` and `[a-z]` are special.
        Native = 2,
        /// The same, and the case of ASCII letters does not count.
        AnyCase = 3,
    }
}

kind! {
    /// As what a dimension sees its path ([`Dimension::view`](super::Dimension::view)).
    ViewKind {
        /// The leaf itself.
        Value = 0,
        /// The host of a URL or address.
        Host = 1,
        /// The domain of an address, or the host.
        Domain = 2,
        /// How many leaves the path has.
        Count = 3,
        /// The provenance of the leaf, and of the destinations inside it.
        Provenance = 4,
        /// Attempts of the tool; only on the path [`NONE`](super::NONE).
        Calls = 5,
        /// Verbs of a query.
        SqlVerb = 6,
        /// Tables of a query.
        SqlTable = 7,
        /// What the call does, and what was read before it; only on the path
        /// [`NONE`](super::NONE).
        Session = 8,
        /// Functions that a query calls.
        SqlFunction = 9,
        /// The scheme of a URL.
        Scheme = 10,
        /// How many characters the text has.
        Length = 11,
        /// The names of members.
        Name = 12,
    }
}

impl ViewKind {
    /// Whether it is asked once for a call, not of each leaf.
    #[must_use]
    pub const fn is_of_the_call(self) -> bool {
        match self {
            Self::Count | Self::Calls | Self::Session => true,
            Self::Value
            | Self::Host
            | Self::Domain
            | Self::Provenance
            | Self::SqlVerb
            | Self::SqlTable
            | Self::SqlFunction
            | Self::Scheme
            | Self::Length
            | Self::Name => false,
        }
    }
}

kind! {
    /// The SQL that a query is read as ([`Dimension::dialect`](super::Dimension::dialect)).
    SqlDialect {
        /// Not known. Views without a query have it too.
        Generic = 0,
        /// PostgreSQL.
        Postgres = 1,
        /// SQLite.
        Sqlite = 2,
        /// MySQL and MariaDB.
        Mysql = 3,
    }
}

kind! {
    /// What a test asks that is evaluated on its own ([`SimpleTest::kind`](super::SimpleTest::kind)).
    SimpleKind {
        /// Number less than `text`.
        Less = 0,
        /// Number at most `text`.
        LessEqual = 1,
        /// Number greater than `text`.
        Greater = 2,
        /// Number at least `text`.
        GreaterEqual = 3,
        /// Number equal to `text` (only for counts, lengths and calls).
        NumberEqual = 4,
        /// There is a leaf.
        Exists = 5,
        /// The leaf's JSON type is `operand`, a [`JsonType`].
        Type = 6,
        /// The path lies within one of the prefixes: `operand` is the start in
        /// [`Section::Lists`](super::Section::Lists) of a count and that many pairs of a
        /// string's start and length.
        Within = 7,
        /// The provenance is in the set `operand` of `PROVENANCE_` bits.
        Provenance = 8,
        /// A destination-shaped token inside the leaf is untrusted or observed; only
        /// under [`ViewKind::Provenance`].
        CarriesUntrusted = 9,
        /// A private value that was read stands inside the leaf; only under
        /// [`ViewKind::Provenance`].
        CarriesPrivate = 10,
        /// The call has one of the effects whose bits are `operand`; this and the ones below
        /// only under [`ViewKind::Session`].
        Effect = 11,
        /// The conversation has read something untrusted or observed.
        ReadUntrusted = 12,
        /// It has read something private.
        ReadPrivate = 13,
        /// The user's own words name what the call does.
        UserNamedEffect = 14,
        /// The leaf is an integer.
        Integer = 15,
        /// The leaf is, or holds, a number with Luhn's check digit.
        Luhn = 16,
        /// The leaf is, or holds, an IBAN.
        Iban = 17,
        /// The host lies in one of the networks: `operand` is the start in
        /// [`Section::Lists`](super::Section::Lists) of a count and that many times five
        /// numbers; only under [`ViewKind::Host`] and [`ViewKind::Domain`].
        Network = 18,
    }
}

kind! {
    /// The JSON type of a leaf, as the operand of [`SimpleKind::Type`] has it.
    JsonType {
        /// A string.
        String = 0,
        /// A number.
        Number = 1,
        /// `true` or `false`.
        Bool = 2,
        /// `null`.
        Null = 3,
    }
}

/// A bit of [`SimpleKind::Provenance`]'s set: a trusted output vouches for the value.
pub const PROVENANCE_TRUSTED: u32 = 1;
/// A bit of the same: an outsider could influence it.
pub const PROVENANCE_OBSERVED: u32 = 1 << 1;
/// A bit of the same: an outsider may have written it.
pub const PROVENANCE_UNTRUSTED: u32 = 1 << 2;
/// A bit of the same: nobody knows where it came from.
pub const PROVENANCE_UNPROVEN: u32 = 1 << 3;
/// A bit of the same: the user typed it.
pub const PROVENANCE_USER: u32 = 1 << 4;

kind! {
    /// Whether what a tool returns is private ([`OutputLabel::secrecy`](super::OutputLabel::secrecy)).
    Secrecy {
        /// Anybody may see it.
        Open = 0,
        /// It should not go where it has not been.
        Private = 1,
    }
}

kind! {
    /// How a test treats a value of a type that it was not made for
    /// ([`Test::class`](super::Test::class)).
    TestClass {
        /// Equality, which every type can answer.
        Equality = 0,
        /// A test of text, which a number, bool or null is unfit for.
        Text = 1,
        /// A [`SimpleTest`](super::SimpleTest) that answers for all forms at once.
        Own = 2,
    }
}

kind! {
    /// Of how many leaves an atom has to be true ([`Quant::kind`](super::Quant::kind)).
    QuantKind {
        /// Of one.
        Any = 0,
        /// Of all, and there is one.
        All = 1,
    }
}

kind! {
    /// Whose contract it is ([`Contract::layer`](super::Contract::layer)); the first found
    /// counts.
    ContractLayer {
        /// The user's.
        User = 0,
        /// A built-in pack's.
        Pack = 1,
    }
}

kind! {
    /// What a constraint demands ([`Constraint::kind`](super::Constraint::kind)).
    ConstraintKind {
        /// The path lies within the prefixes.
        Within = 0,
        /// The value matches the pattern.
        Matches = 1,
    }
}

kind! {
    /// What a slot of a literal set holds ([`LiteralSlot::kind`](super::LiteralSlot::kind)).
    LiteralKind {
        /// A string, byte for byte.
        String = 0,
        /// A number, in canonical decimal form.
        Number = 1,
        /// `true` or `false`.
        Bool = 2,
        /// `null`.
        Null = 3,
        /// A string in ASCII lower case, for comparison without ASCII case.
        Folded = 4,
        /// The domain of `*@domain`, in ASCII lower case.
        AtDomain = 5,
        /// The domain of `*.domain`, in ASCII lower case.
        Below = 6,
        /// Nothing: where looking ends.
        Empty = 7,
    }
}

impl LiteralKind {
    /// Its bit in [`LiteralSet::kinds`](super::LiteralSet::kinds).
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

kind! {
    /// Of which list of the heuristics a word is ([`HeuristicWord::kind`](super::HeuristicWord::kind)).
    WordKind {
        /// A name, or a pattern of names, of arguments that are destinations.
        SinkName = 0,
        /// A word that makes an argument a destination.
        SinkWord = 1,
        /// A `format` of a schema that makes an argument a destination.
        SinkFormat = 2,
        /// A word of a tool's name that makes it destructive.
        Destructive = 3,
        /// A word of a field that anybody may have written.
        Untrusted = 4,
        /// A word of a field that an outsider can influence.
        Observed = 5,
        /// A word by which a language is recognised.
        Common = 6,
        /// A word by which a user asks for something to be run.
        AskedRun = 7,
        /// A word by which a user asks for access to be given or changed.
        AskedGrant = 8,
        /// A word by which a user asks for money to be spent.
        AskedPay = 9,
        /// A word by which a user asks for something to be deleted.
        AskedDestroy = 10,
        /// A word by which a user asks for something to be shown to everybody.
        AskedPublish = 11,
    }
}

kind! {
    /// How an automaton is stored ([`AutomatonRef::kind`](super::AutomatonRef::kind)).
    AutomatonKind {
        /// A dense DFA.
        Dfa = 0,
        /// A Thompson NFA.
        Nfa = 1,
    }
}

kind! {
    /// What a state of an NFA does ([`NfaState::kind`](super::NfaState::kind)).
    NfaKind {
        /// Consumes one byte along an edge.
        Bytes = 0,
        /// Follows every edge without consuming.
        Union = 1,
        /// Goes on if an assertion holds here.
        Look = 2,
        /// Reports a pattern.
        Match = 3,
        /// Goes nowhere.
        Fail = 4,
    }
}

impl NfaKind {
    /// The kind whose byte is `byte`, if there is one. States of an NFA are read where
    /// they stand each time a text is matched, so each is decoded when it is met.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Bytes),
            1 => Some(Self::Union),
            2 => Some(Self::Look),
            3 => Some(Self::Match),
            4 => Some(Self::Fail),
            _ => None,
        }
    }
}
