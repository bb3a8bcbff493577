//! What `verify` finds, as data: renderers and thresholds are elsewhere.

use super::ToolCost;
use bouncer_compiler::diagnostic::Code;
use bouncer_compiler::policy::Pos;
use bouncer_plan::Verdict;

/// What sort of problem a finding is about. The name of each is stable: machines read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A rule or test that no call satisfies, or that every call satisfies unmeant.
    Vacuous,
    /// Earlier rules of another verdict decide every call that the rule matches.
    Shadowed,
    /// Removing the rule changes no verdict.
    Redundant,
    /// Two rules of different verdicts overlap: their order decides.
    Conflict,
    /// A user entry replaces a pack's entry and loses a protection.
    GateDropped,
    /// A tool or an argument that the policy does not cover, or an entry that covers nothing.
    Coverage,
    /// An exfiltrating tool lets an untrusted destination through.
    OpenExfiltration,
    /// A pattern that probably means something else than its author thinks.
    PatternSmell,
    /// What is expensive to build or to run.
    Cost,
    /// What the analysis gave up on.
    Undecided,
    /// An assertion of the policy that does not hold.
    Assertion,
    /// A suppression that suppresses nothing.
    UnusedSuppression,
    /// The policy does not compile.
    PolicyError,
}

impl Kind {
    /// The name that machines read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vacuous => "vacuous",
            Self::Shadowed => "shadowed",
            Self::Redundant => "redundant",
            Self::Conflict => "conflict",
            Self::GateDropped => "gate dropped",
            Self::Coverage => "coverage",
            Self::OpenExfiltration => "open exfiltration",
            Self::PatternSmell => "pattern smells",
            Self::Cost => "cost",
            Self::Undecided => "undecided",
            Self::Assertion => "assertion",
            Self::UnusedSuppression => "unused suppression",
            Self::PolicyError => "policy error",
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; never fails a run.
    Note,
    /// Probably a mistake.
    Warning,
    /// A mistake, or a hole.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place that a finding is about, and what to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub at: Pos,
    /// What to say there; may be empty.
    pub label: String,
}

/// A concrete call that shows a finding: the runtime judges it as `verdict` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The server, where the policy or the lock knows one.
    pub server: Option<String>,
    /// The tool's own name.
    pub tool: String,
    /// The arguments: one JSON object.
    pub arguments: String,
    /// Texts that untrusted tools returned before the call.
    pub untrusted: Vec<String>,
    /// What was read before the call that is private.
    pub private: Vec<String>,
    /// What the user typed before the call.
    pub typed: Vec<String>,
    /// How often the same call was made before, in the same moment.
    pub earlier_calls: u32,
    /// The verdict of the compiled policy.
    pub verdict: Verdict,
    /// The stage that decides, as `check` names it.
    pub contract: String,
    /// The position that decides, if the stage has one.
    pub decided_at: Option<Pos>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code; its page says more.
    pub code: Code,
    /// What sort of problem.
    pub kind: Kind,
    /// How bad.
    pub severity: Severity,
    /// What is wrong: lower case, outside text quoted.
    pub message: String,
    /// Where: the first is the rule or entry at fault. Empty for what only a tool list shows.
    pub places: Vec<Place>,
    /// How to fix it.
    pub help: Option<String>,
    /// A call that shows it.
    pub example: Option<Example>,
}

/// The outcome of a verification.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The findings, by position, then code.
    pub findings: Vec<Finding>,
    /// Pairs of rules of different verdicts about the same tools whose order is as usual, or
    /// that were not looked at.
    pub folded: u32,
    /// What the authors accepted in comments.
    pub accepted: Vec<Accepted>,
    /// Steps of work that it took.
    pub steps: u64,
    /// What the calls of each tool can cost, the dearest first.
    pub costs: Vec<ToolCost>,
    /// Assertions that were proved.
    pub proved: u32,
    /// Tools of the lock, and how many of them a contract or a rule covers.
    pub tools: Share,
    /// Arguments of the lock's tools, and how many of them the policy looks at.
    pub arguments: Share,
}

/// Findings that a comment accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Where the comment stands.
    pub at: Pos,
    /// The codes that it accepts.
    pub codes: Vec<Code>,
    /// How many findings there were.
    pub findings: u32,
    /// Why, in the author's words.
    pub reason: String,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The covered part.
    pub covered: u32,
    /// The whole.
    pub all: u32,
}
