//! The patterns that say what a name suggests.
//!
//! They are data (`packs/heuristics.yaml`), carried by the plan; this file holds none of
//! its own. Comparing names is `words.rs`, what the patterns say about a whole tool is
//! `derived.rs`. It knows nothing of tools, plans, calls or contracts.

use super::words::{any_name_matches, any_word_matches, words};
use bouncer_plan::Label;

/// Patterns over tool names and schemas.
///
/// *Words* patterns are compared with each word of an identifier, which is split at
/// non-alphanumerics, camel-case humps and digits, and lower-cased: `URLPath2` is
/// `url`, `path`, `2`. *Names* patterns are compared with the whole identifier,
/// without case, separators and trailing digits: `share_with` matches `shareWith`.
/// In both, `*` at the start or the end of a pattern stands for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heuristics {
    /// Names patterns for properties that are destinations.
    pub sink_names: Vec<String>,
    /// Words that make a property a destination wherever they stand in its name.
    pub sink_words: Vec<String>,
    /// JSON Schema `format`s of destinations.
    pub sink_formats: Vec<String>,
    /// Words of a tool's name that make it destructive.
    pub destructive_words: Vec<String>,
    /// Attempts per conversation for a destructive tool.
    pub destructive_max_calls: Option<u32>,
    /// Words of a tool's name that make a human decide on every call.
    pub consequential_words: Vec<String>,
    /// Labels for fields of unlabelled structured output.
    pub labels: LabelHeuristics,
}

/// Labels by the words of a field's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelHeuristics {
    /// Fields that anybody may have written.
    pub untrusted_words: Vec<String>,
    /// Fields that the server states and an outsider can influence.
    pub observed_words: Vec<String>,
}

impl Heuristics {
    /// Whether a property of this name is a destination, going by the name alone.
    pub(super) fn is_sink_name(&self, name: &str) -> bool {
        any_name_matches(&self.sink_names, name) || any_word_matches(&self.sink_words, &words(name))
    }

    /// Whether a string of this JSON Schema `format` is a destination.
    pub(super) fn is_sink_format(&self, format: &str) -> bool {
        self.sink_formats
            .iter()
            .any(|known| known.eq_ignore_ascii_case(format))
    }
}

impl LabelHeuristics {
    /// The label that a field's name suggests; the stricter one if its words suggest
    /// both, as in `sender_note`. Never [`Label::Trusted`].
    #[must_use]
    pub fn label_for(&self, field_name: &str) -> Option<Label> {
        let words = words(field_name);
        if any_word_matches(&self.untrusted_words, &words) {
            Some(Label::Untrusted)
        } else if any_word_matches(&self.observed_words, &words) {
            Some(Label::Observed)
        } else {
            None
        }
    }
}
