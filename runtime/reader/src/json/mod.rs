//! A strict reader for the JSON of a tool call.
//!
//! The bytes that are judged are the bytes that are forwarded, so no parser
//! upstream may read them differently. This reader therefore accepts only texts
//! that every parser reads alike: well-formed RFC 8259 in UTF-8, without
//! duplicate keys at any depth, lone surrogates, or a byte order mark, and within
//! [`Limits`]. Everything else is [`Malformed`]; there is no lenient mode.
//!
//! Nothing here knows about policies, tools or MCP. Reading allocates only to
//! grow a caller's [`Scratch`], never recurses, and takes linear time (objects
//! with many keys: `n log n` in their keys).

mod keys;
mod malformed;
mod members;
mod reader;
mod text;

pub use keys::Scratch;
pub use malformed::{Malformed, MalformedKind};
pub use members::folds_to;
pub use members::{Nested, members, members_within};
pub use reader::{Event, Reader};
pub use text::hash_bytes;
pub use text::{DecodedChars, Text, hash_str};

/// How much a reader takes before it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest input, in bytes. Values past 4 GiB count as 4 GiB - 1.
    pub max_bytes: usize,
    /// How many objects and arrays may be open at once: `[]` needs 1, `[{}]` 2.
    pub max_depth: usize,
}

impl Default for Limits {
    /// 8 MiB and 128 levels.
    fn default() -> Self {
        Self {
            max_bytes: 8 << 20,
            max_depth: 128,
        }
    }
}

/// Checks that `bytes` are exactly one JSON object, white space around it allowed.
///
/// Time: linear in `bytes`, plus `n log n` in the keys of large objects.
///
/// # Errors
/// The first defect found, or [`MalformedKind::NotAnObject`] for any other value.
pub fn validate_object(
    bytes: &[u8],
    limits: &Limits,
    scratch: &mut Scratch,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(bytes, limits, scratch)?;
    reader.open_object()?;
    while reader.next()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests;
