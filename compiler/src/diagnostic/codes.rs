//! The registry of codes. A code never changes its meaning; its page is in `pages.rs`.

use super::Severity;
use std::fmt;

/// A stable code of one kind of problem, e.g. `B0201`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    name: &'static str,
    severity: Severity,
}

impl Code {
    /// The code as it is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// How bad the problem is, where nothing is known of the case at hand.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.severity
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares the codes. `warning` or `note` after a code makes it one.
macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal $($severity:ident)?;)*) => {
        impl Code {
            $($(#[$doc])* pub const $constant: Self = Self {
                name: $name,
                severity: codes!(@severity $($severity)?),
            };)*

            /// Every code there is.
            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
    (@severity note) => { Severity::Note };
    (@severity warning) => { Severity::Warning };
    (@severity) => { Severity::Error };
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
    /// A pattern or contract that no tool can be meant by.
    NO_SUCH_TOOL = "B0410" warning;
    /// A value that nothing can have.
    NO_SUCH_VALUE = "B0411" warning;
    /// A habit of another language that means something else here.
    OTHER_LANGUAGE = "B0412" warning;
    /// Fields of an output of which nobody says that its text is the server's own.
    TEXT_UNSAID = "B0413" warning;
    /// A host that is trusted without encryption too.
    PLAIN_HTTP = "B0414" warning;

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
    /// A policy denies all other tools, and says nothing of what is no tool.
    ONLY_TOOLS = "B0506" warning;

    /// A server that is neither a command nor a URL, or both.
    SERVER_KIND = "B0601";
    /// A URL that is not an `http` or `https` one.
    URL = "B0602";
    /// A server's name that clients do not take in the names of its tools.
    SERVER_NAME = "B0603" warning;
    /// A command that is several words.
    SERVER_COMMAND = "B0604" warning;

    /// A rule or pattern that cannot be compiled.
    CANNOT_BUILD = "B0701";

    /// A rule or test that no call satisfies.
    NEVER = "B0801" warning;
    /// A rule or test that every call satisfies, where that looks unmeant.
    ALWAYS = "B0802" warning;
    /// Earlier rules of another verdict decide every call that the rule matches.
    SHADOWED = "B0803";
    /// Removing the rule changes no verdict.
    REDUNDANT = "B0804" warning;
    /// Two rules of different verdicts overlap, so that their order decides.
    CONFLICT = "B0805" note;
    /// An entry of the user replaces a pack's and loses a protection.
    GATE_DROPPED = "B0806" warning;
    /// A tool that no contract and no rule names.
    UNCOVERED_TOOL = "B0807" warning;
    /// An argument that looks like a destination and is not declared as one.
    UNDECLARED_DESTINATION = "B0808" warning;
    /// An argument that the tool's schema does not have.
    NO_SUCH_ARGUMENT = "B0809" warning;
    /// A key or glob that matches no tool of the lock.
    MATCHES_NO_TOOL = "B0810" warning;
    /// A tool whose calls a default decides.
    DECIDED_BY_DEFAULT = "B0811" note;
    /// A tool that reads, without a label for what it returns.
    UNLABELLED_OUTPUT = "B0812" note;
    /// An exfiltrating tool lets an untrusted destination through.
    OPEN_EXFILTRATION = "B0813";
    /// A pattern that matches a part where the whole was meant.
    UNANCHORED = "B0814" warning;
    /// A dot that matches any character, in what looks like a host.
    BARE_DOT = "B0815" warning;
    /// A pattern that a line break gets around.
    LINE_BREAK = "B0816" warning;
    /// A pattern that minds letter case where the compared value does not.
    LETTER_CASE = "B0817" warning;
    /// Characters that do not show, or that look like others.
    CONFUSABLE = "B0818" warning;
    /// A path prefix that is not in its plain form.
    ODD_PREFIX = "B0819" warning;
    /// A construct that means something else in another dialect of regular expressions.
    OTHER_DIALECT = "B0820" warning;
    /// What is expensive to build or to run.
    COST = "B0821" warning;
    /// What the analysis gave up on.
    UNDECIDED = "B0822" warning;
    /// An assertion that does not hold.
    ASSERTION = "B0823";
    /// An assertion that cannot be read.
    ASSERTION_SYNTAX = "B0824";
    /// A suppression that suppresses nothing.
    UNUSED_SUPPRESSION = "B0825" warning;
    /// A suppression that cannot be read, or gives no reason.
    BAD_SUPPRESSION = "B0826";
    /// A pattern that only looks at the start of a query.
    START_ONLY = "B0827" warning;
    /// A rule that lets a command or query through by how it starts.
    ALLOW_BY_START = "B0828" warning;
}
