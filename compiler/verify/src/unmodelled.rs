//! What the search for calls leaves out: where that could decide, an answer of "there is
//! no such call" is no proof.
//!
//! Calls over time, calls within calls, results and their labels, memory that is full, links behind paths, tools of which only the
//! name is known, objects without leaves. What is found stands: the gate judged it.

use super::names::{Glob, Tool};
use super::session::ANYTHING;
use super::stages::{contract_of, trusted_items};
use bouncer_compiler::policy::{Contract, Layer, Policy, RuleSet, TrustedForm};
use bouncer_engine::gate::Doing;
use bouncer_plan::format::{EffectVerdicts, GlobKind};
use bouncer_plan::{Effects, Verdict};

/// What the names of an agent's own tools begin with; a server can be called so as well.
const OWN: &str = "agent__";

/// What is not known of a tool beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// A lock holds its definition.
    pub listed: bool,
    /// It stands for all tools of a pattern.
    pub pattern: bool,
}

/// What calls of a tool can do, or of all tools that it stands for, whose own `doing` is known.
pub(super) fn doing(policy: &Policy, doing: Doing, known: Known) -> Doing {
    if !known.pattern {
        return doing;
    }
    // Another tool of the pattern may do anything.
    Doing {
        by_effect: doing.by_effect || policy.heuristics.is_some(),
        ..ANYTHING
    }
}

/// Patterns for tools to which a contract applies whatever their server is.
pub(super) fn of_any_server<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Vec<Glob> {
    let keys = policies
        .into_iter()
        .flat_map(|policy| &policy.contracts)
        .map(|contract| contract.key.as_str())
        .filter(|key| !key.contains("__") && !key.contains('*'));
    let mut globs: Vec<Glob> = keys
        .map(|key| Glob {
            pattern: format!("*__{key}"),
            kind: GlobKind::Star,
        })
        .collect();
    globs.sort_by(|a, b| a.pattern.cmp(&b.pattern));
    globs.dedup();
    globs
}

/// Whether heuristics decide about the tool, by more than is known of it.
pub(super) fn is_guessed(policy: &Policy, tool: &Tool, known: Known) -> bool {
    policy.heuristics.is_some()
        && (known.pattern || !known.listed)
        && contract_of(policy, tool).is_none()
}

/// Whether a tool's name alone may forbid every call.
pub(super) fn may_be_forbidden(policy: &Policy) -> bool {
    let heuristics = policy.heuristics.as_ref();
    heuristics.is_some_and(|heuristics| heuristics.destructive_max_calls == Some(0))
}

/// Whether another reading of the name finds another contract: servers' names may hold
/// what stands between a server and a tool, and for an agent's own tools no pack speaks.
pub(super) fn is_ambiguous(policy: &Policy, tool: &Tool, known: Known) -> bool {
    let own = tool.full.starts_with(OWN) && !known.listed;
    if own && contract_of(policy, tool).is_some_and(|contract| contract.layer == Layer::Pack) {
        return true;
    }
    if known.listed || known.pattern || tool.full.matches("__").count() < 2 {
        return false;
    }
    let contract = contract_of(policy, tool).map(|contract| &contract.key);
    tool.full.match_indices("__").any(|(at, _)| {
        let (server, name) = (
            tool.full.get(..at).unwrap_or_default(),
            tool.full.get(at + 2..).unwrap_or_default(),
        );
        let other = Tool::new(Some(server), name);
        contract_of(policy, &other).map(|contract| &contract.key) != contract
    })
}

/// The verdicts that may hold where no rule matches: the least and the most strict. Whether
/// a tool destroys is for its definition to say.
pub(super) fn fallbacks(
    policy: &Policy,
    tool: &Tool,
    sure: Verdict,
    known: Known,
) -> (Verdict, Verdict) {
    match &policy.rules {
        Some(_) if known.listed => (sure, sure),
        rules => {
            let [a, b] = RuleSet::fallbacks(rules.as_ref(), &tool.full);
            (a.min(b), a.max(b))
        }
    }
}

/// Whether budgets or rates may end calls of the tool before others.
pub(super) fn is_budgeted(policy: &Policy, tool: &Tool) -> bool {
    match contract_of(policy, tool) {
        Some(contract) => contract.max_calls.is_some() || !contract.rates.is_empty(),
        None => policy
            .heuristics
            .as_ref()
            .is_some_and(|heuristics| heuristics.destructive_max_calls.is_some()),
    }
}

/// Whether the defaults for effects say the same of a call of the tool where no rule decides.
pub(super) fn same_layer(old: &Policy, new: &Policy, tool: &Tool) -> bool {
    let (before, after) = (contract_of(old, tool), contract_of(new, tool));
    layer(old) == layer(new)
        && old.heuristics == new.heuristics
        && effects(before) == effects(after)
        && decides(before) == decides(after)
}

/// What two policies say differently of a tool that no search compares, in words. Whoever
/// adds to the language what the search does not know adds it here.
pub(super) fn differ(
    old: &Policy,
    new: &Policy,
    tool: &Tool,
    known: Known,
) -> Option<&'static str> {
    let (before, after) = (contract_of(old, tool), contract_of(new, tool));
    let differences = [
        (
            before.is_none() && after.is_none() && old.heuristics != new.heuristics,
            "what is guessed from a tool's name and schema is not compared",
        ),
        (
            is_ambiguous(old, tool, known) || is_ambiguous(new, tool, known),
            "its name can be read as that of several servers' tools",
        ),
        (
            dispatch(before) != dispatch(after),
            "one of the policies judges the calls within its calls, and these are not looked at here",
        ),
        (
            old.provenance_limit != new.provenance_limit,
            "one of the policies forgets sooner what was read, and what is forgotten is not compared",
        ),
        (
            budget(before) != budget(after),
            "budgets over time are not compared",
        ),
        (
            places(before) != places(after),
            "where relative paths and links lead is not compared",
        ),
        (
            open_gate(before) != open_gate(after),
            "whom a gate of all arguments trusts is not compared",
        ),
        (
            effects(before) != effects(after),
            "the policies say differently what calls of it do",
        ),
        (
            layer(old) != layer(new) || decides(before) != decides(after),
            "what holds for calls by what they do, where no rule decides, is only tried",
        ),
    ];
    differences
        .into_iter()
        .find(|(differs, _)| *differs)
        .map(|(_, why)| why)
}

/// What a contract says that calls do.
fn effects(contract: Option<&Contract>) -> (Effects, bool) {
    contract.map_or((Effects::NONE, false), |contract| {
        (contract.effects, contract.effects_complete)
    })
}

fn decides(contract: Option<&Contract>) -> bool {
    contract.is_some_and(|contract| contract.decides)
}

/// What holds for calls by what they do.
fn layer(policy: &Policy) -> (EffectVerdicts, EffectVerdicts, &[TrustedForm], bool, bool) {
    let defaults = &policy.effects;
    (
        defaults.on_effect,
        defaults.after_untrusted,
        &defaults.me,
        // Where the rules are the program's own, the defaults speak beside them.
        policy.built_in,
        policy.heuristics.is_some(),
    )
}

/// Which arguments hold a call within a call.
fn dispatch(contract: Option<&Contract>) -> Option<(&str, &str)> {
    let dispatch = contract?.dispatches.as_ref()?;
    Some((&dispatch.tool, &dispatch.arguments))
}

/// Where relative paths start, and whether links are followed.
fn places(contract: Option<&Contract>) -> (Option<&str>, bool) {
    let of = |contract: &'_ Contract| contract.resolve_symlinks;
    (
        contract.and_then(|contract| contract.base.as_deref()),
        contract.is_some_and(of),
    )
}

/// Whether calls of the tool hold others, whose verdict may be stricter.
pub(super) fn dispatches(policy: &Policy, tool: &Tool) -> bool {
    dispatch(contract_of(policy, tool)).is_some()
}

/// What a contract says of calls over time.
fn budget(contract: Option<&Contract>) -> (Option<u64>, Vec<(u32, u64)>) {
    let Some(contract) = contract else {
        return (None, Vec::new());
    };
    let rates = contract.rates.iter();
    let mut rates: Vec<_> = rates.map(|rate| (rate.count, rate.window_ms)).collect();
    rates.sort_unstable();
    (contract.max_calls.map(|(most, _)| most), rates)
}

/// Whom a gate trusts that looks at every argument, or may have to.
fn open_gate(contract: Option<&Contract>) -> Option<String> {
    let contract = contract.filter(|contract| contract.exfiltrating)?;
    let mut items: Vec<String> = trusted_items(contract)
        .iter()
        .map(|item| format!("{item:?}"))
        .collect();
    items.sort_unstable();
    Some(format!("{items:?}"))
}
