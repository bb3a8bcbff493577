//! What a policy was read from: enough to read it again, out of a plan.
//!
//! Knows nothing of reading. Packs are named by the version that carries them, not kept.

use serde::{Deserialize, Serialize};

/// The files that the user named, and what stands below them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Whether the built-in packs were there to be used.
    pub packs: bool,
    /// Whether the heuristics were there to be used.
    pub heuristics: bool,
    /// In the order in which they were named.
    pub files: Vec<WrittenFile>,
}

/// A policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Written {
    /// As the plan keeps it: the same bytes for the same files.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Strings and bools have no way to fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what a plan keeps; `None` for anything else.
    #[must_use]
    pub fn from_json(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
