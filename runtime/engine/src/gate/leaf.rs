//! What a walk over the arguments leaves for the sink gate: leaves, keys, and the way to
//! them. Offsets are into the raw arguments; nothing is copied.

/// "In no declared sink".
pub(super) const NO_SINK: u32 = u32::MAX;

/// A scalar or a key of the arguments. Offsets are into the raw arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub kind: LeafKind,
    pub start: u32,
    pub end: u32,
    /// The declared sink it lies in, or [`NO_SINK`].
    pub sink: u32,
    /// Raw text of the top-level argument's name.
    pub top: (u32, u32),
    /// Raw text of the nearest name above it.
    pub name: (u32, u32),
}

/// An argument at the top level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    /// Its name.
    pub name: Spelled,
    /// Its text, if it is a string.
    pub text: Option<Spelled>,
}

/// A text of the arguments as it reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spelled {
    /// It stands in the arguments, between these offsets.
    There(u32, u32),
    /// It has escapes there; without them it stands in the walk's own buffer.
    Decoded(u32, u32),
}

/// What a [`Leaf`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafKind {
    String {
        escaped: bool,
        /// It was seen on the walk not to look like a destination.
        shapeless: bool,
    },
    /// A key of an object below the top level.
    Key {
        escaped: bool,
    },
    /// A number: its text stands in the arguments.
    Other,
    True,
    False,
    Null,
}

/// An open container of the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// First of its positions in the stack of active positions, and the one after its last.
    pub active: u32,
    pub own_end: u32,
    /// The next element's index.
    pub index: u32,
    /// How it was reached, for sinks: the raw text of a key, or an index.
    pub step: Step,
    /// The sink that it lies in.
    pub sink: u32,
    /// The raw text of the top-level argument it lies in.
    pub top: (u32, u32),
    /// Raw text of its own name, or of the nearest one above it.
    pub name: (u32, u32),
}

/// How a container or leaf was reached from the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The arguments themselves.
    Root,
    /// By a key: start and end of its raw text in the arguments, and whether it has escapes.
    Key(u32, u32, bool),
    /// By an index of an array.
    Index(u32),
}

/// The text between two offsets.
pub(super) fn raw_text(arguments: &str, start: u32, end: u32) -> Option<&str> {
    arguments.get(start as usize..end as usize)
}
