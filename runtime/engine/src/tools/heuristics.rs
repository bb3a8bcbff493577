//! The patterns that say what a name suggests.
//!
//! They are data (`packs/heuristics.yaml`), carried by the plan; this file holds none of
//! its own. Comparing names is `words.rs`, what the patterns say about a whole tool is
//! `derived.rs`. It knows nothing of tools, plans, calls or contracts.

use super::words::{any_name_matches, any_word_matches, words};
use bouncer_plan::{Effect, Effects, Label};

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
    /// Words by which users ask for something.
    pub asked: AskedWords,
    /// Labels for fields of unlabelled structured output.
    pub labels: LabelHeuristics,
}

/// Words by which users ask for something, and by which their language is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedWords {
    /// The commonest words of the languages that the rest is written in.
    pub common: Vec<String>,
    /// By effect: words that ask for it.
    pub effects: [(Effect, Vec<String>); 5],
}

impl Default for AskedWords {
    fn default() -> Self {
        Self {
            common: Vec::new(),
            effects: [
                Effect::Run,
                Effect::Grant,
                Effect::Pay,
                Effect::Destroy,
                Effect::Publish,
            ]
            .map(|effect| (effect, Vec::new())),
        }
    }
}

/// One word in so many has to be a common one of a language that is known.
const COMMON: usize = 6;

impl AskedWords {
    /// The effects that a message names. `None`: its language is not recognised.
    #[must_use]
    pub fn named(&self, message: &str) -> Option<Effects> {
        let words = words(message);
        let common = words.iter().filter(|word| self.common.contains(word));
        if words.is_empty() || common.count() * COMMON < words.len() {
            return None;
        }
        let named = self.effects.iter();
        let named = named.filter(|(_, patterns)| any_word_matches(patterns, &words));
        Some(named.map(|(effect, _)| *effect).collect())
    }
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
    /// Whether an argument of this name is a destination, going by the name alone.
    #[must_use]
    pub fn is_sink_name(&self, name: &str) -> bool {
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
