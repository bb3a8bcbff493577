//! The resolved policy: what the user means, after reading, layering and list
//! expansion, and before lowering to rows.
//!
//! This is the seam of the compiler. Reading and resolving produce it; lowering,
//! and the tests' reference evaluator, consume it. It knows nothing of YAML
//! syntax, automata or the plan format. Every part that can decide a call carries
//! the position it was written at.

mod condition;
mod contract;
mod part;
mod written;

pub use condition::{
    Check, Compare, Cond, ListItem, Network, NetworkError, NetworkName, Op, Path, Pattern,
    Provenance, Quantifier, Scalar, Segment, SessionTest, SqlDialect, Subject, Test, TypeName,
    View,
};
pub use contract::{
    ArgPattern, Contract, Dispatch, FieldLabel, Layer, Outputs, PathPrefix, Rate, Sink, TextForm,
    TrustedDestination, TrustedForm, WriteParam,
};

pub use part::Part;
pub use written::{Written, WrittenFile};

use bouncer_engine::tools::Heuristics;
use bouncer_plan::format::{EffectVerdicts, GlobKind};
use bouncer_plan::{Effect, Effects, Verdict};
use std::collections::BTreeMap;

/// A place in a policy file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pos {
    /// Index into [`Policy::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Everything one compilation knows, in resolved form.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Display names of the files that positions point into, e.g. `policy.yaml`
    /// or `pack:gmail`. Never absolute unless the user wrote them so.
    pub files: Vec<String>,
    /// Contracts in force, at most one for each key and layer, sorted by key, then layer.
    pub contracts: Vec<Contract>,
    /// Contracts of packs that an entry of the user replaces whole. They decide nothing.
    pub replaced: Vec<Contract>,
    /// The ordered rules; `None` when the policy has no `rules` and no `defaults`
    /// section, and so no opinion at that stage.
    pub rules: Option<RuleSet>,
    /// The keys of `defaults:` that speak of what is no tool, as far as they are written.
    pub said_of_requests: Vec<&'static str>,
    /// Nobody wrote the rules: they come with the program.
    pub built_in: bool,
    /// What holds for calls by what they do, where nobody decides otherwise.
    pub effects: EffectDefaults,
    /// Patterns for tools that no contract names; `None` when switched off.
    pub heuristics: Option<Heuristics>,
    /// Servers that the gateway starts, sorted by name.
    pub servers: Vec<Server>,
    /// Tools of which every call is denied are not shown to the client.
    pub hide_denied: bool,
    /// How much a conversation remembers of what it reads, in MiB.
    pub provenance_limit: Option<u16>,
    /// Where the policy wants the audit log, as written; relative to the policy file.
    pub audit_path: Option<String>,
    /// Where the policy wants approvals kept, as written; relative to the policy file.
    pub approval_path: Option<String>,
    /// How long a human has to decide, in milliseconds.
    pub approval_timeout_ms: Option<u64>,
    /// What the author asserts about the policy, in the order written.
    pub assertions: Vec<Assertion>,
    /// The named lists of the user's files, for what is asserted on the command line.
    /// Where two files define one name, the first.
    pub lists: BTreeMap<String, Vec<ListItem>>,
    /// The texts it was read from, for the plan to keep; `None`: it keeps none.
    pub written: Option<Written>,
}

/// An item of `assert:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// The text as YAML gives it.
    pub text: String,
    /// Where it was written; `None` on the command line.
    pub at: Option<Pos>,
    /// What it says.
    pub property: Property,
}

/// What an assertion says of every call of some tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The verdict is always this one; else it never is.
    pub always: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// The tools it is about.
    pub tools: ToolGlob,
    /// The calls it is about; `None`: all.
    pub condition: Option<Cond>,
}

/// Ordered rules and what holds when none matches.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// The rules, first match wins.
    pub rules: Vec<Rule>,
    /// For an unmatched tool with `destructiveHint: true` and without `readOnlyHint: true`.
    pub on_destructive_hint: Fallback,
    /// For any other unmatched call.
    pub on_unknown: Fallback,
}

impl RuleSet {
    /// What holds for a call that no rule matches. A policy without rules allows it; and what
    /// holds for a request that is no call is a rule.
    #[must_use]
    pub fn unmatched(rules: Option<&Self>, tool: &str, destructive: bool) -> Verdict {
        let [quiet, destroys] = Self::fallbacks(rules, tool);
        if destructive { destroys } else { quiet }
    }

    /// The same, for tools that do not call themselves destructive, and for those that do.
    #[must_use]
    pub fn fallbacks(rules: Option<&Self>, tool: &str) -> [Verdict; 2] {
        let set = rules.filter(|_| !bouncer_plan::requests::is_request(tool));
        set.map_or([Verdict::Allow; 2], |set| {
            [set.on_unknown.action, set.on_destructive_hint.action]
        })
    }
}

/// The weakest layer of a policy: what holds for calls by what they do.
#[derive(Clone, Debug)]
pub struct EffectDefaults {
    /// By effect: before anything untrusted was read (`defaults.onEffect`).
    pub on_effect: EffectVerdicts,
    /// By effect: afterwards (`defaults.afterUntrusted`).
    pub after_untrusted: EffectVerdicts,
    /// The account's own addresses (`me:`).
    pub me: Vec<TrustedForm>,
}

impl EffectDefaults {
    /// Effects that are asked about at any time, unless somebody vouches for their target.
    const ASKED: Effects = Effects::one(Effect::Run)
        .with(Effect::Grant)
        .with(Effect::Pay)
        .with(Effect::Destroy);
}

impl Default for EffectDefaults {
    fn default() -> Self {
        let asked = |effect| match Self::ASKED.contains(effect) {
            true => Verdict::Ask,
            false => Verdict::Allow,
        };
        Self {
            on_effect: Effect::ALL.map(asked),
            after_untrusted: Effect::ALL.map(|_| Verdict::Ask),
            me: Vec::new(),
        }
    }
}

/// A default action (`defaults:`), and where it was written (`None`: built in).
#[derive(Clone, Copy, Debug)]
pub struct Fallback {
    /// The verdict.
    pub action: Verdict,
    /// Where it was written.
    pub at: Option<Pos>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The rule applies where any of these globs matches the tool's name.
    pub tools: Vec<ToolGlob>,
    /// What the call must satisfy; `Cond::All(vec![])` when the rule has no condition.
    pub condition: Cond,
    /// The verdict when the rule is the first that matches.
    pub action: Verdict,
    /// The author's explanation.
    pub reason: Option<String>,
    /// Where the rule starts.
    pub at: Pos,
}

/// A pattern over `<server>__<tool>` (over the tool's name alone where no server is known).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolGlob {
    /// The pattern as written.
    pub pattern: String,
    /// In a native policy `?` and `[a-z]` are special too, and `(?i)` at the start; elsewhere
    /// only `*` is.
    pub native: bool,
    /// Where it was written.
    pub at: Pos,
}

impl ToolGlob {
    /// How it is read, and what is read so. What is not special in it is not looked for.
    #[must_use]
    pub fn glob(&self) -> (GlobKind, &str) {
        let pattern = self.pattern.as_str();
        match pattern.strip_prefix("(?i)").filter(|_| self.native) {
            Some(rest) => (GlobKind::AnyCase, rest),
            None if self.native && pattern.contains(['?', '[']) => (GlobKind::Native, pattern),
            None if pattern.contains('*') => (GlobKind::Star, pattern),
            None => (GlobKind::Exact, pattern),
        }
    }

    /// Whether it matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (kind, pattern) = self.glob();
        bouncer_plan::glob::matches(kind, pattern, name)
    }

    /// Whether it names a request that is judged beside tools, and no tool.
    #[must_use]
    pub fn is_request(&self) -> bool {
        bouncer_plan::requests::is_request(&self.pattern)
    }
}

/// A server that the gateway starts or connects to. `${VAR}` stays as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name, the first half of `<server>__<tool>`.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
    /// Where it was written.
    pub at: Pos,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Extra environment, in order.
        env: Vec<(String, String)>,
        /// Working directory.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Extra headers, in order.
        headers: Vec<(String, String)>,
    },
}
