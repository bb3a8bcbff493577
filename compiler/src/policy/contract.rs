//! Contracts, resolved: what one tool may do.

use super::{Path, Pattern, Pos};
use bouncer_plan::Label;
use bouncer_plan::{Effects, Verdict};

/// Where a contract comes from. Earlier layers win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// A file that the user named.
    User,
    /// A built-in pack.
    Pack,
}

/// What one tool may do.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The tool's bare name, or `<server>__<tool>`.
    pub key: String,
    /// Where it comes from.
    pub layer: Layer,
    /// Where the key was written.
    pub at: Pos,
    /// The tool can send data out: the sink gate applies.
    pub exfiltrating: bool,
    /// Verdict for a tainted destination: `Deny`, or `Ask` with `on_tainted: ask`.
    pub on_tainted: Verdict,
    /// Arguments whose leaves are destinations.
    pub sinks: Vec<Sink>,
    /// A call in which no declared sink has a leaf sends nothing anywhere.
    pub optional_sinks: bool,
    /// Destinations that need no proof.
    pub trusted: Vec<TrustedDestination>,
    /// Arguments that are paths to be confined. No effect without `prefixes`.
    pub write_params: Vec<WriteParam>,
    /// Where `write_params` may point. Any of them suffices.
    pub prefixes: Vec<PathPrefix>,
    /// Resolve symbolic links before comparing paths.
    pub resolve_symlinks: bool,
    /// The folder that relative paths start in.
    pub base: Option<String>,
    /// Whole-value patterns on arguments.
    pub arg_patterns: Vec<ArgPattern>,
    /// A human decides on every call.
    pub confirm: bool,
    /// Attempts per conversation, and where it was written.
    pub max_calls: Option<(u64, Pos)>,
    /// Attempts per time.
    pub rates: Vec<Rate>,
    /// Labels of what the tool returns; `None`: untrusted, subject to heuristics.
    pub outputs: Option<Outputs>,
    /// The tool calls another.
    pub dispatches: Option<Dispatch>,
    /// What the tool does: all of it where `effects_complete`, else what is added to what its
    /// name and arguments show.
    pub effects: Effects,
    /// The user said what the tool does.
    pub effects_complete: bool,
    /// The user decided about calls of the tool: where they go, where they write, what their
    /// arguments are, how many there may be, or that each is asked about. The defaults for
    /// effects say nothing of them.
    pub decides: bool,
}

/// How a tool's arguments name the tool that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The argument that holds its name.
    pub tool: String,
    /// The argument that holds its arguments.
    pub arguments: String,
    /// Where `dispatches` was written.
    pub at: Pos,
}

/// An argument whose leaves are destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    /// The argument.
    pub path: Path,
    /// Where it was written.
    pub at: Pos,
}

/// A destination that needs no proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedDestination {
    /// What it matches.
    pub form: TrustedForm,
    /// Where it was written.
    pub at: Pos,
}

/// What a trusted destination matches. All compare without ASCII case, else byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustedForm {
    /// The whole value.
    Exact(String),
    /// `*@corp.com`: an address at exactly this domain.
    AtDomain(String),
    /// `*.corp.com`: a host, or the host of a URL, below this domain.
    Below(String),
}

/// An argument that is a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteParam {
    /// The argument.
    pub path: Path,
    /// Where it was written.
    pub at: Pos,
}

/// A path prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPrefix {
    /// As written; never empty.
    pub prefix: String,
    /// Where it was written.
    pub at: Pos,
}

/// A pattern that the whole value of an argument has to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgPattern {
    /// The argument.
    pub path: Path,
    /// Translated so that it matches whole values only (`\A(?:…)\z`).
    pub pattern: Pattern,
    /// Where the pattern was written.
    pub at: Pos,
}

/// At most `count` attempts within any `window_ms` milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many attempts.
    pub count: u32,
    /// The window, in milliseconds.
    pub window_ms: u64,
    /// Where it was written.
    pub at: Pos,
}

/// Labels of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// For everything that no field covers.
    pub label: Label,
    /// What no field covers is private.
    pub private: bool,
    /// What the text of a result is, if that is said.
    pub text: Option<TextForm>,
    /// By field of structured content (or of text that is JSON of the server's own making);
    /// the longest path wins, among equals the stricter label.
    pub fields: Vec<FieldLabel>,
    /// Where `outputs` was written.
    pub at: Pos,
}

/// What the text of a tool's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// JSON that the server puts together of its own records: fields are told apart.
    Json,
    /// Anything, also what others wrote: nothing in it is a field.
    Prose,
}

impl Outputs {
    /// Whether fields count in text. Where a user's contract does not say, they do; a pack's
    /// has to say it.
    #[must_use]
    pub const fn fields_in_text(&self, layer: Layer) -> bool {
        match (self.text, layer) {
            (Some(TextForm::Json), _) | (None, Layer::User) => true,
            (Some(TextForm::Prose), _) | (None, Layer::Pack) => false,
        }
    }
}

/// The label of one field of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLabel {
    /// The field, from the root of the output.
    pub path: Path,
    /// Its label.
    pub label: Label,
    /// It should not go where it has not been.
    pub private: bool,
}
