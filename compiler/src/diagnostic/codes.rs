//! The registry of codes. A code never changes its meaning; its page is in `pages.rs`.

use super::Severity;
use std::fmt;

/// A stable code of one kind of problem, e.g. `B0201`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    name: &'static str,
    warning: bool,
}

impl Code {
    /// The code as it is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Whether the problem is an error or a warning.
    #[must_use]
    pub const fn severity(self) -> Severity {
        if self.warning {
            Severity::Warning
        } else {
            Severity::Error
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares the codes. `warning` after a code makes it one.
macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal $($warning:ident)?;)*) => {
        impl Code {
            $($(#[$doc])* pub const $constant: Self = Self {
                name: $name,
                warning: codes!(@warning $($warning)?),
            };)*

            /// Every code there is.
            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
    (@warning warning) => { true };
    (@warning) => { false };
}

codes! {
    /// The text is not YAML.
    SYNTAX = "B0101";
    /// A key stands twice in one mapping.
    DUPLICATE_KEY = "B0102";
    /// More than one document in a file.
    SEVERAL_DOCUMENTS = "B0103";
    /// A YAML tag that policies do not use.
    TAG = "B0104";
    /// An alias that refers to itself, or aliases that multiply the text.
    ALIAS = "B0105";
    /// Nested too deeply.
    TOO_DEEP = "B0106";
    /// The file is too large.
    TOO_LARGE = "B0107";
    /// The file says nothing.
    EMPTY = "B0108";
    /// The top of the file is not a mapping.
    NOT_A_MAPPING = "B0109";
    /// A merge key where merging is not supported.
    MERGE_KEY = "B0110";
    /// A key that is not text, or that YAML versions read differently.
    KEY_NOT_TEXT = "B0111";

    /// A key that means nothing here.
    UNKNOWN_KEY = "B0201";
    /// A value of the wrong type.
    WRONG_TYPE = "B0202";
    /// A key that has to be there is not.
    MISSING_KEY = "B0203";
    /// A word that is not one of those allowed.
    NOT_ONE_OF = "B0204";
    /// A number out of range, fractional or ambiguous.
    NUMBER = "B0205";
    /// An empty text where one is needed.
    EMPTY_TEXT = "B0206";
    /// A version of the native format that this program does not know.
    VERSION = "B0207";
    /// Plain text that YAML 1.1 and 1.2 read differently.
    AMBIGUOUS_PLAIN = "B0208";
    /// A name with white space, control or invisible characters.
    NAME = "B0209";

    /// A `*` in a trusted destination where it means nothing.
    WILDCARD = "B0301";
    /// White space around a trusted destination.
    DESTINATION_SPACE = "B0302" warning;
    /// An empty path prefix.
    EMPTY_PREFIX = "B0303";
    /// A regular expression that does not compile.
    REGEX = "B0304";
    /// A rate that is not `count/unit`.
    RATE = "B0305";
    /// An argument path that cannot be read.
    PATH = "B0306";
    /// `extends: pack` without a pack entry.
    EXTENDS = "B0307";
    /// Only one of `write_params` and `allowed_path_prefixes`.
    HALF_CONFINEMENT = "B0308" warning;
    /// Sinks on a tool that is not `exfiltrating`.
    SINKS_WITHOUT_GATE = "B0309" warning;

    /// A condition without any test.
    EMPTY_CONDITION = "B0401";
    /// `equals` with a list or a mapping.
    EQUALS_NOT_SCALAR = "B0402";
    /// A `when:` condition that cannot be read.
    CONDITION = "B0403";
    /// A list that is not defined.
    UNKNOWN_LIST = "B0404";
    /// Lists that refer to each other in a circle.
    LIST_CYCLE = "B0405";
    /// A tool glob that cannot be read.
    GLOB = "B0406";
    /// A tool glob with characters that do not show.
    ODD_GLOB = "B0407" warning;
    /// An argument path with an empty step.
    ODD_PATH = "B0408" warning;
    /// A test that is always true.
    ALWAYS_TRUE = "B0409" warning;

    /// One tool in two files.
    TOOL_TWICE = "B0501";
    /// Two files contradict each other.
    FILES_DIFFER = "B0502";
    /// A user entry drops what a pack protected.
    PROTECTION_DROPPED = "B0503" warning;
    /// A pack that does not exist.
    UNKNOWN_PACK = "B0504";
    /// One server in two files.
    SERVER_TWICE = "B0505";

    /// A server that is neither a command nor a URL, or both.
    SERVER_KIND = "B0601";
    /// A URL that is not an `http` or `https` one.
    URL = "B0602";

    /// A rule or pattern that cannot be compiled.
    CANNOT_BUILD = "B0701";
}
