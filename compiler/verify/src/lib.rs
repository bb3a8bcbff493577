//! Proofs over the rows and automata that decide, with calls that show each finding.
//!
//! Knows the resolved policy, the lowered rows, the loaded plan and the tools of a lock;
//! knows nothing of files or terminals, and of a policy's text only where things stand.

mod analysis;
mod arguments;
mod automaton;
mod bag;
mod change;
mod cost;
mod coverage;
mod dropped;
mod example;
mod excluded;
mod exfiltration;
mod facts;
mod finding;
mod history;
mod leaf;
#[cfg(test)]
mod lint_tests;
mod model;
mod monotone;
mod names;
mod overlap;
mod probe;
mod property;
mod reach;
mod removal;
pub mod report;
mod rules;
mod run;
mod schema;
mod search;
mod session;
mod show;
mod smells;
mod stages;
mod suppress;
mod table;
mod theory;
mod tool_cost;
mod unmodelled;
mod ways;
mod words;

pub use finding::{Accepted, Example, Finding, Kind, Place, Report, Severity, Share};
pub use run::{run, run_telling};
pub use table::{EffectRow, EffectsTable, STATES, ToolVerdicts, effects_table};
pub use tool_cost::ToolCost;

use bouncer_compiler::condition;
use bouncer_compiler::policy::{Assertion, Policy};
use bouncer_compiler::{CompileError, Progress};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Verdict;

/// A tool of a lock: its server, where one is named, and its definition.
pub type ListedTool = (Option<String>, ToolDefinition);

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is asserted beside the policy's own `assert:`.
    pub assertions: Vec<Assertion>,
    /// Steps of work after which the analysis gives up on the rest. What it did not
    /// get to is reported as undecided.
    pub budget: u64,
    /// Report every pair of rules whose order decides, and not only those that surprise.
    pub all: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            assertions: Vec::new(),
            budget: 20_000_000,
            all: false,
        }
    }
}

/// Reads an assertion that does not stand in the policy. It may name the policy's lists.
///
/// # Errors
/// What is wrong with the text, with byte offsets.
pub fn assertion(text: &str, policy: &Policy) -> Result<Assertion, Vec<condition::Error>> {
    let context = condition::Context {
        lists: &|name| policy.lists.get(name).cloned(),
        list_names: policy.lists.keys().cloned().collect(),
        position: &|_| bouncer_compiler::policy::Pos::default(),
    };
    Ok(Assertion {
        text: text.to_owned(),
        at: None,
        property: condition::parse_assertion(text, &context)?,
    })
}

/// Proves what can be proved about a policy: vacuous, shadowed, redundant and
/// conflicting rules, open exfiltration, cost, assertions. `tools`: those of a lock;
/// without any, every tool that the policy could mean.
///
/// # Errors
/// If the policy does not compile.
pub fn verify(
    policy: &Policy,
    tools: &[ListedTool],
    options: &Options,
) -> Result<Report, Vec<CompileError>> {
    verify_telling(policy, tools, options, &mut |_| {})
}

/// The same; `progress` is told after each question.
fn verify_telling(
    policy: &Policy,
    tools: &[ListedTool],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, Vec<CompileError>> {
    let mut analysis = analysis::Analysis::new(policy, tools, options)?;
    // Each rule is looked at by itself and beside others.
    let rules = 2 * analysis.model.facts.len();
    let all_questions = rules + policy.assertions.len() + options.assertions.len();
    analysis.rules(&mut |done| {
        progress(Progress {
            done,
            all: all_questions,
        });
    });
    let all: Vec<Assertion> = policy
        .assertions
        .iter()
        .chain(&options.assertions)
        .cloned()
        .collect();
    analysis.schemas();
    analysis.exfiltration();
    let costs = analysis.cost(tools);
    let proved = analysis.assertions(&all, &mut |done| {
        progress(Progress {
            done: rules + done,
            all: all_questions,
        });
    });
    let steps = options.budget.saturating_sub(analysis.theory.left());
    let folded = analysis.folded;
    let mut findings = analysis.findings;
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| finding.places.first().map(|place| place.at);
        (key(a), a.code, &a.message).cmp(&(key(b), b.code, &b.message))
    });
    Ok(Report {
        findings,
        steps,
        folded,
        proved,
        costs,
        ..Report::default()
    })
}

/// How the verdicts of a tool's calls changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// No call is judged otherwise.
    Equivalent,
    /// Some calls are judged more strictly, none less.
    Tighter,
    /// Some calls are judged less strictly, none more.
    Looser,
    /// Some calls are judged more strictly, others less.
    Incomparable,
    /// The analysis gave up before it could tell.
    Undecided,
}

impl Relation {
    /// The name that machines read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Tighter => "tighter",
            Self::Looser => "looser",
            Self::Incomparable => "incomparable",
            Self::Undecided => "undecided",
        }
    }
}

/// A call that two policies judge differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The verdict of the old policy.
    pub old: Verdict,
    /// The call, and how the new policy judges it.
    pub example: Example,
}

/// How the verdicts of one tool's calls changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDiff {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool; where no lock says which tools there are, the tools' pattern as far as
    /// the policies tell them apart.
    pub tool: String,
    /// How.
    pub relation: Relation,
    /// A call that is judged more strictly now.
    pub tighter: Option<Change>,
    /// A call that is judged less strictly now.
    pub looser: Option<Change>,
    /// What was not decided, and why.
    pub undecided: Option<String>,
    /// Whether it was not decided if some calls are judged more strictly.
    pub maybe_tighter: bool,
    /// The same for less strictly.
    pub maybe_looser: bool,
}

/// What differs between two policies, tool by tool. `progress` is told after each tool.
///
/// # Errors
/// If one of them does not compile.
pub fn diff(
    old: &Policy,
    new: &Policy,
    tools: &[ListedTool],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<ToolDiff>, Vec<CompileError>> {
    change::diff(old, new, tools, options, progress)
}
