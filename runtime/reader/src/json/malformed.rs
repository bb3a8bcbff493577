//! What can be wrong with a JSON text. Knows nothing of how it is found.

use std::fmt;

/// A defect in a JSON text, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub kind: MalformedKind,
    /// The byte it was noticed at, counted from 0; at most the input's length.
    pub offset: usize,
}

/// The ways in which a JSON text can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MalformedKind {
    /// More bytes than [`Limits::max_bytes`](super::Limits::max_bytes).
    TooLong,
    /// More open objects and arrays than
    /// [`Limits::max_depth`](super::Limits::max_depth).
    TooDeep,
    /// The input starts with a UTF-8 byte order mark.
    ByteOrderMark,
    /// Not UTF-8.
    InvalidUtf8,
    /// Two keys of one object are equal once their escapes are resolved.
    DuplicateKey,
    /// A key that some parsers take for another one: they ignore case, end it at U+0000, or
    /// give `__proto__` a meaning.
    AmbiguousKey,
    /// A `\u` escape names half of a surrogate pair.
    LoneSurrogate,
    /// A byte below 0x20 inside a string.
    ControlCharacter,
    /// A backslash is followed by something JSON does not know.
    BadEscape,
    /// A number outside the JSON grammar: leading zero, `+`, a bare dot.
    BadNumber,
    /// A byte that cannot stand here.
    UnexpectedByte,
    /// The input ends inside a value.
    UnexpectedEnd,
    /// Something other than white space follows the value.
    TrailingBytes,
    /// A well-begun value, but not the object it has to be.
    NotAnObject,
}

impl MalformedKind {
    /// A stable word for logs and tests.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::TooDeep => "too_deep",
            Self::ByteOrderMark => "byte_order_mark",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::DuplicateKey => "duplicate_key",
            Self::AmbiguousKey => "ambiguous_key",
            Self::LoneSurrogate => "lone_surrogate",
            Self::ControlCharacter => "control_character",
            Self::BadEscape => "bad_escape",
            Self::BadNumber => "bad_number",
            Self::UnexpectedByte => "unexpected_byte",
            Self::UnexpectedEnd => "unexpected_end",
            Self::TrailingBytes => "trailing_bytes",
            Self::NotAnObject => "not_an_object",
        }
    }

    /// The defect in words, without its place.
    const fn phrase(self) -> &'static str {
        match self {
            Self::TooLong => "input longer than the limit",
            Self::TooDeep => "nesting deeper than the limit",
            Self::ByteOrderMark => "byte order mark",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::DuplicateKey => "duplicate key",
            Self::AmbiguousKey => "key that some readers take for another",
            Self::LoneSurrogate => "lone surrogate",
            Self::ControlCharacter => "unescaped control character",
            Self::BadEscape => "unknown escape",
            Self::BadNumber => "malformed number",
            Self::UnexpectedByte => "unexpected byte",
            Self::UnexpectedEnd => "unexpected end of input",
            Self::TrailingBytes => "trailing bytes after the value",
            Self::NotAnObject => "value that is not an object",
        }
    }

    /// This defect at `offset`.
    pub(super) const fn at(self, offset: usize) -> Malformed {
        Malformed { kind: self, offset }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.phrase(), self.offset)
    }
}

impl std::error::Error for Malformed {}
