//! What a tool's name and schema suggest, for tools that no contract names.
//!
//! The patterns are data (`packs/heuristics.yaml`), carried by the plan.

use super::ToolDefinition;

/// Patterns over tool names and schemas. Names are compared by *words*: an
/// identifier is split at non-alphanumerics and at camel-case humps, and lower-cased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heuristics {
    /// Property names that are destinations, all words joined with `_`.
    pub sink_names: Vec<String>,
    /// Words that make a property a destination wherever they stand in its name.
    pub sink_words: Vec<String>,
    /// JSON Schema `format`s of destinations.
    pub sink_formats: Vec<String>,
    /// Words of a tool's name that make it destructive; a trailing `*` matches a prefix of a word.
    pub destructive_words: Vec<String>,
    /// Attempts per conversation for a destructive tool.
    pub destructive_max_calls: Option<u32>,
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

/// What the heuristics say about one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Paths of destination-shaped properties, as object keys from the root of the
    /// arguments (arrays are transparent). Not empty: the tool counts as exfiltrating.
    pub sinks: Vec<Vec<String>>,
    /// Attempts per conversation.
    pub max_calls: Option<u32>,
}

impl Heuristics {
    /// What the heuristics say about `tool`.
    #[must_use]
    pub fn derive(&self, tool: &ToolDefinition) -> Derived {
        let _ = tool;
        Derived::default()
    }
}
