//! The decision of one call: every stage, in order, and the strictest verdict.

use super::budget::Attempts;
use super::carried;
use super::conversation::{Conversation, MAX_UNLISTED};
use super::decision::{Cause, Decision};
use super::dispatch;
use super::eval::Evaluator;
use super::rows::{self, RuleVerdict};
use super::sink::{self, SinkGate, SinkPaths, SinkVerdict};
use super::tool::{self, Asked, Status, Tool};
use super::walk::{self, WalkError};
use super::{Attempt, Call, Gate, write_tool_key};
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_plan::format::{
    CONTRACT_CONFIRM, CONTRACT_DISPATCHES, CONTRACT_EXFILTRATING, CONTRACT_OPTIONAL_SINKS,
    CONTRACT_RESOLVE_SYMLINKS, Constraint, Contract, META_HAS_RULES, NONE, Pos,
};
use bouncer_plan::{Corrupt, Tables, at, slice};
use bouncer_reader::json::Reader;

/// Where the tool of a call stands.
enum Standing<'g> {
    /// In the pinned set, at this index.
    Listed(usize, &'g Tool),
    /// Nothing was ever pinned; known by this conversation.
    Unlisted,
    /// Not in the pinned set.
    Unknown,
}

/// Judges a call. See [`Gate::decide`].
pub(super) fn decide<'a>(
    gate: &'a Gate,
    conversation: &'a mut Conversation,
    call: &Call<'a>,
    attempt: Attempt,
    now_ms: u64,
) -> Decision<'a> {
    let tables = gate.plan.tables();
    let judged = dispatch::judge_nested(gate, tables, conversation, call, attempt, now_ms);
    let (decided, verdict, stage, cause) = judged.unwrap_or((
        *call,
        Verdict::Deny,
        Stage::Malformed,
        Found::Cause(Cause::Corrupt),
    ));
    // What the reason names is borrowed only now, when nothing writes to it any more.
    let Conversation {
        provenance,
        scratch,
        ..
    } = conversation;
    let cause = match cause {
        Found::Cause(Cause::Rule {
            rule,
            index,
            bounded,
            ..
        }) => Cause::Rule {
            rule,
            index,
            bounded,
            carried: carried::origin(provenance, &scratch.culprit.value, &mut scratch.provenance),
        },
        Found::Cause(cause) => cause,
        Found::Observed(at) => {
            let origin = sink::origin(
                provenance,
                &scratch.culprit.value,
                &mut scratch.provenance,
                false,
            );
            Cause::Observed { at, origin }
        }
        Found::Tainted(at) => {
            let origin = sink::origin(
                provenance,
                &scratch.culprit.value,
                &mut scratch.provenance,
                true,
            );
            Cause::Tainted { at, origin }
        }
    };
    let mut decision = Decision::new(&decided, tables, verdict, stage, cause);
    decision.outer = (decided.tool != call.tool).then_some(call.tool);
    decision.param = &scratch.culprit.param;
    decision.value = &scratch.culprit.value;
    decision
}

/// A cause, before what it borrows from the conversation can be borrowed.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Cause(Cause<'a>),
    Observed(Option<&'a Pos>),
    Tainted(Option<&'a Pos>),
}

/// Judges one call; with `outer`, the tool that would make it.
pub(super) fn judge<'a>(
    gate: &'a Gate,
    tables: &Tables<'a>,
    conversation: &mut Conversation,
    call: &Call<'a>,
    outer: Option<&str>,
    attempt: Attempt,
    now_ms: u64,
) -> Result<(Verdict, Stage, Found<'a>), Corrupt> {
    conversation.scratch.culprit.clear();
    conversation.scratch.dispatches = NONE;
    let standing = standing(gate, tables, conversation, call, outer.is_some())?;
    let Conversation {
        limits,
        attempts,
        unlisted,
        together,
        approvals,
        provenance,
        scratch,
        ..
    } = conversation;
    // The tool's own record, or a temporary link for a tool that nobody listed.
    let (known, mut counter) = match standing {
        Standing::Listed(index, tool) => (Some(tool), attempts.get_mut(index)),
        Standing::Unlisted => match unlisted.get_mut(&scratch.key) {
            Some((tool, attempts)) => (Some(&*tool), Some(attempts)),
            None => (None, None),
        },
        Standing::Unknown => (None, None),
    };
    // Lent for as long as the rest of the scratch is written.
    let mut found = (
        std::mem::take(&mut scratch.groups),
        std::mem::take(&mut scratch.aims),
    );
    let (contract_index, asked) = match known {
        Some(tool) => {
            tool.near.touch(tables);
            (tool.link.contract, tool.link.asked())
        }
        None => {
            full_name(call, &mut scratch.key);
            let (groups, aims) = &mut found;
            tool::find_groups(tables, &scratch.key, groups)?;
            tool::find_aims(tables, groups, aims)?;
            let contract = tool::find_contract(tables, &scratch.key, call.tool)?;
            (contract, Asked { groups, aims })
        }
    };
    let contract: Option<&'a Contract> = match contract_index {
        NONE => None,
        index => Some(at(tables.contracts, index)?),
    };
    let dispatches = contract.is_some_and(|c| c.flags.get() & CONTRACT_DISPATCHES != 0);
    let derived = known.and_then(|tool| tool.derived.as_ref());

    // Malformed: the walk reads every byte, and nothing counts before it has.
    let sinks = match contract {
        Some(contract) if contract.flags.get() & CONTRACT_EXFILTRATING != 0 => {
            Some(SinkPaths::Declared(slice(tables.sinks, &contract.sinks)?))
        }
        Some(_) => None,
        None => derived
            .filter(|derived| !derived.sinks.is_empty())
            .map(|d| SinkPaths::Derived(&d.sinks)),
    };
    let constraints = match contract {
        Some(contract) => slice(tables.constraints, &contract.constraints)?,
        None => &[],
    };
    let resolve = contract.is_some_and(|c| c.flags.get() & CONTRACT_RESOLVE_SYMLINKS != 0);
    let arguments = call.arguments.unwrap_or(b"{}");
    scratch.eval.reset();
    let mut evaluator = Evaluator::new(
        tables,
        asked,
        constraints,
        resolve,
        &mut scratch.eval,
        provenance,
        &mut scratch.provenance,
    );
    let walked = match Reader::new(arguments, limits, &mut scratch.json) {
        Ok(reader) => walk::walk(
            tables,
            reader,
            &mut scratch.walk,
            sinks.as_ref(),
            &mut evaluator,
        ),
        Err(error) => Err(WalkError::Malformed(error)),
    };
    let arguments = match walked {
        Ok(arguments) => arguments,
        Err(WalkError::Malformed(error)) => {
            (scratch.groups, scratch.aims) = found;
            return Ok((
                Verdict::Deny,
                Stage::Malformed,
                Found::Cause(Cause::Malformed(error)),
            ));
        }
        Err(WalkError::Corrupt) => return Err(Corrupt),
    };
    if dispatches {
        scratch.dispatches = contract_index;
    }
    if attempt == Attempt::First
        && let Some(counter) = &mut counter
    {
        counter.note(now_ms);
    }
    let counter = counter.as_deref();
    // The key is the tool's where the tool is known.
    let shared = match (together, known.filter(|tool| tool.is_counted())) {
        (Some(together), Some(tool)) => {
            let first = attempt == Attempt::First;
            let all = together.attempt(&scratch.key, first, tool.link.history, now_ms);
            Some(all)
        }
        _ => None,
    };
    let uncounted = matches!(shared, Some(None));
    let shared = shared.flatten();
    evaluator.finish_call(&|window| {
        let own = counter.map_or(1, |counter| counter.within(window, now_ms));
        shared.map_or(own, |shared| own.max(shared.within(window, now_ms)))
    })?;

    let mut strictest = Strictest::new();
    match (&standing, known.map(|tool| tool.status)) {
        (_, Some(Status::Changed)) => {
            strictest.offer(Verdict::Deny, Stage::Pinning, Found::Cause(Cause::Changed));
        }
        (Standing::Unknown, _) => {
            strictest.offer(Verdict::Ask, Stage::Pinning, Found::Cause(Cause::Unpinned));
        }
        _ => {}
    }
    if uncounted {
        strictest.offer(Verdict::Deny, Stage::Budget, Found::Cause(Cause::Uncounted));
    }
    if attempt == Attempt::First {
        for counter in [counter, shared].into_iter().flatten() {
            if let Some(cause) = budget(tables, contract, derived, counter, now_ms)? {
                strictest.offer(Verdict::Deny, Stage::Budget, Found::Cause(cause));
            }
        }
    }
    if let Some(index) = scratch.eval.failed_constraint {
        let constraint = constraints.get(index as usize).ok_or(Corrupt)?;
        strictest.offer(
            Verdict::Deny,
            Stage::Constraint,
            Found::Cause(Cause::Constraint(constraint)),
        );
    }
    let approved_once = attempt == Attempt::ApprovedOnce;
    let destructive = known.is_some_and(|tool| tool.destructive);
    if let Some((verdict, cause)) = rule_stage(tables, asked.groups, scratch, destructive)? {
        let lifted = approved_once && verdict == Verdict::Ask;
        strictest.offer(
            if lifted { Verdict::Allow } else { verdict },
            Stage::Rule,
            Found::Cause(cause),
        );
    }
    (scratch.groups, scratch.aims) = found;
    if let Some(sinks) = sinks {
        let gate = SinkGate {
            tables,
            arguments,
            sinks,
            trusted: match contract.map(|c| c.trusted.get()) {
                None | Some(NONE) => None,
                Some(index) => Some(at(tables.literal_sets, index)?),
            },
            on_tainted: on_tainted(contract),
            optional: contract.is_some_and(|c| c.flags.get() & CONTRACT_OPTIONAL_SINKS != 0),
            approvals,
            server: call.server,
            tool: outer.unwrap_or(call.tool),
            within: outer.map(|_| call.tool),
            provenance,
        };
        let declared_at = contract.map(|contract| &contract.at);
        let (verdict, found) = match gate.judge(scratch)? {
            SinkVerdict::Trusted => (Verdict::Allow, Found::Cause(Cause::Nothing)),
            SinkVerdict::NoDestination if approved_once => {
                (Verdict::Allow, Found::Cause(Cause::Nothing))
            }
            SinkVerdict::NoDestination => (
                Verdict::Ask,
                Found::Cause(Cause::NoDestination { at: declared_at }),
            ),
            SinkVerdict::Unproven => (
                Verdict::Ask,
                Found::Cause(Cause::Unproven { at: declared_at }),
            ),
            SinkVerdict::Observed => (Verdict::Ask, Found::Observed(declared_at)),
            SinkVerdict::Tainted(verdict) => (verdict, Found::Tainted(declared_at)),
        };
        if verdict != Verdict::Allow {
            strictest.offer(verdict, Stage::SinkGate, found);
        }
    }
    let confirm = match contract {
        Some(contract) => contract.flags.get() & CONTRACT_CONFIRM != 0,
        None => derived.is_some_and(|derived| derived.consequential),
    };
    if confirm && !approved_once {
        let at = contract.map(|contract| &contract.at);
        strictest.offer(
            Verdict::Ask,
            Stage::Default,
            Found::Cause(Cause::Confirm { at }),
        );
    }
    let decided = strictest.best;
    if let Found::Cause(Cause::Constraint(constraint)) = decided.2 {
        quote_constraint(tables, scratch, constraint)?;
    } else if decided.1 != Stage::SinkGate {
        scratch.culprit.param.clear();
        scratch.culprit.value.clear();
        if let Found::Cause(Cause::Rule { index, .. }) = decided.2
            && decided.0 != Verdict::Allow
        {
            carried::quote(tables, scratch, index)?;
        }
    }
    Ok(decided)
}

/// The strictest opinion so far; among equals the first.
struct Strictest<'a> {
    best: (Verdict, Stage, Found<'a>),
    any: bool,
}

impl<'a> Strictest<'a> {
    const fn new() -> Self {
        Self {
            best: (Verdict::Allow, Stage::Default, Found::Cause(Cause::Nothing)),
            any: false,
        }
    }

    fn offer(&mut self, verdict: Verdict, stage: Stage, cause: Found<'a>) {
        if !self.any || verdict > self.best.0 {
            self.best = (verdict, stage, cause);
            self.any = true;
        }
    }
}

/// Finds the tool, and notes it where nothing is pinned. Leaves the tool's key in the
/// scratch.
fn standing<'g>(
    gate: &'g Gate,
    tables: &Tables<'_>,
    conversation: &mut Conversation,
    call: &Call<'_>,
    dispatched: bool,
) -> Result<Standing<'g>, Corrupt> {
    // New pins since the last call: counters for them, in the order of the gate.
    for tool in gate.tools.iter().skip(conversation.attempts.len()) {
        conversation.attempts.push(Attempts::new(tool.link.history));
    }
    let key = &mut conversation.scratch.key;
    write_tool_key(call.server, call.tool, key);
    if let Some(&index) = gate.names.get(key.as_str()) {
        let tool = gate.tools.get(index as usize).ok_or(Corrupt)?;
        return Ok(Standing::Listed(index as usize, tool));
    }
    // What stands behind a tool that dispatches is not listed: it is known by its name.
    if gate.listed && !dispatched {
        return Ok(Standing::Unknown);
    }
    if !conversation.unlisted.contains_key(key.as_str()) {
        if conversation.unlisted.len() >= MAX_UNLISTED {
            return Ok(Standing::Unknown);
        }
        let tool = tool::by_name(tables, gate.heuristics.as_ref(), call.server, call.tool)?;
        let attempts = Attempts::new(tool.link.history);
        conversation.unlisted.insert(key.clone(), (tool, attempts));
    }
    Ok(Standing::Unlisted)
}

/// Writes the name that rules match.
fn full_name(call: &Call<'_>, out: &mut String) {
    out.clear();
    if let Some(server) = call.server {
        out.push_str(server);
        out.push_str("__");
    }
    out.push_str(call.tool);
}

/// The budget stage.
fn budget<'a>(
    tables: &Tables<'a>,
    contract: Option<&'a Contract>,
    derived: Option<&crate::tools::Derived>,
    counter: &Attempts,
    now_ms: u64,
) -> Result<Option<Cause<'a>>, Corrupt> {
    let (limit, at) = match (contract, derived) {
        (Some(contract), _) => (contract.max_calls.get(), Some(&contract.max_calls_at)),
        (None, Some(derived)) => (derived.max_calls.map_or(u64::MAX, u64::from), None),
        (None, None) => (u64::MAX, None),
    };
    if counter.total() > limit {
        return Ok(Some(Cause::MaxCalls { limit, at }));
    }
    let Some(contract) = contract else {
        return Ok(None);
    };
    Ok(counter
        .exceeded(slice(tables.rates, &contract.rates)?, now_ms)
        .map(Cause::Rate))
}

/// The rule stage; `None` where the policy has no rules section.
fn rule_stage<'a>(
    tables: &Tables<'a>,
    groups: &[u32],
    scratch: &mut super::scratch::Scratch,
    destructive: bool,
) -> Result<Option<(Verdict, Cause<'a>)>, Corrupt> {
    let meta = tables.meta()?;
    if meta.flags.get() & META_HAS_RULES == 0 {
        return Ok(None);
    }
    let (fallback, written) = if destructive {
        (meta.on_destructive_hint, &meta.on_destructive_hint_at)
    } else {
        (meta.on_unknown, &meta.on_unknown_at)
    };
    let RuleVerdict {
        verdict,
        rule,
        bounded,
    } = rows::judge(
        tables,
        groups,
        &mut scratch.eval,
        &mut scratch.rows,
        fallback,
    )?;
    Ok(match rule {
        // Nobody wrote that this call may pass: the default stage says so.
        NONE if verdict == Verdict::Allow => None,
        NONE => Some((
            verdict,
            Cause::Fallback {
                destructive,
                at: written,
                bounded,
            },
        )),
        index => Some((
            verdict,
            Cause::Rule {
                rule: at(tables.rules, index)?,
                index,
                bounded,
                carried: None,
            },
        )),
    })
}

/// The verdict for a tainted destination.
fn on_tainted(contract: Option<&Contract>) -> Verdict {
    contract.map_or(Verdict::Deny, |contract| contract.on_tainted)
}

/// Writes the parameter and the value of the failing constraint for the reason.
fn quote_constraint(
    tables: &Tables<'_>,
    scratch: &mut super::scratch::Scratch,
    constraint: &Constraint,
) -> Result<(), Corrupt> {
    let super::scratch::Scratch { culprit, eval, .. } = scratch;
    culprit.param.clear();
    culprit
        .param
        .push_str(tables.text(at(tables.paths, constraint.path.get())?)?);
    culprit.value.clear();
    culprit.value.push_str(&eval.failed_value);
    Ok(())
}
