//! Tools that call other tools: `call_tool {name, arguments}`.
//!
//! The call inside is judged like a call of its own, and so is one inside that; the
//! strictest verdict wins, and among equals that of the outer call. What cannot be read
//! cannot be judged, and is denied.

use super::decide::{Found, judge};
use super::decision::Cause;
use super::{Attempt, Call, Conversation, Gate};
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_plan::format::{CONTRACT_DISPATCHES, Contract, NONE};
use bouncer_plan::{Corrupt, Tables, at};
use bouncer_reader::json::members;

/// Calls within calls within a call.
pub(super) const MAX_NESTED: usize = 4;

/// Judges a call and those within it; gives the one that decided as well.
pub(super) fn judge_nested<'a>(
    gate: &'a Gate,
    tables: &Tables<'a>,
    conversation: &mut Conversation,
    call: &Call<'a>,
    attempt: Attempt,
    now_ms: u64,
) -> Result<(Call<'a>, Verdict, Stage, Found<'a>), Corrupt> {
    let (mut verdict, mut stage, mut cause) =
        judge(gate, tables, conversation, call, None, attempt, now_ms)?;
    let (mut decided, mut current) = (*call, *call);
    for depth in 0..=MAX_NESTED {
        let dispatches = conversation.scratch.dispatches;
        if dispatches == NONE {
            break;
        }
        let contract = at(tables.contracts, dispatches)?;
        let inner = match depth {
            MAX_NESTED => None,
            _ => inner_call(tables, conversation, contract, &current)?,
        };
        let Some(inner) = inner else {
            if verdict < Verdict::Deny {
                conversation.scratch.culprit.clear();
                decided = current;
                (verdict, stage) = (Verdict::Deny, Stage::Constraint);
                cause = Found::Cause(Cause::Dispatch {
                    at: &contract.dispatch_at,
                    too_deep: depth == MAX_NESTED,
                });
            }
            break;
        };
        let scratch = &mut conversation.scratch;
        std::mem::swap(&mut scratch.culprit, &mut scratch.held);
        let found = judge(
            gate,
            tables,
            conversation,
            &inner,
            Some(call.tool),
            attempt,
            now_ms,
        )?;
        if found.0 > verdict {
            (verdict, stage, cause) = found;
            decided = inner;
        } else {
            let scratch = &mut conversation.scratch;
            std::mem::swap(&mut scratch.culprit, &mut scratch.held);
        }
        current = inner;
    }
    Ok((decided, verdict, stage, cause))
}

/// The servers and names of the tools within a call, as far as they can be read.
pub(super) fn tools_within(
    gate: &Gate,
    tables: &Tables<'_>,
    conversation: &mut Conversation,
    call: &Call<'_>,
) -> Result<Vec<(Option<String>, String)>, Corrupt> {
    let mut found = Vec::new();
    let mut current = *call;
    for _ in 0..MAX_NESTED {
        let contract = gate.contract_of(tables, current.server, current.tool)?;
        let Some(contract) = contract.filter(|c| c.flags.get() & CONTRACT_DISPATCHES != 0) else {
            break;
        };
        let Some(inner) = inner_call(tables, conversation, contract, &current)? else {
            break;
        };
        found.push((inner.server.map(str::to_owned), inner.tool.to_owned()));
        current = inner;
    }
    Ok(found)
}

/// The call that a call makes; `None` if it cannot be read. A name is read only if it
/// is written without escapes, so that nobody reads another.
fn inner_call<'a>(
    tables: &Tables<'a>,
    conversation: &mut Conversation,
    contract: &Contract,
    call: &Call<'a>,
) -> Result<Option<Call<'a>>, Corrupt> {
    let names = [
        tables.text(&contract.dispatch_tool)?,
        tables.text(&contract.dispatch_arguments)?,
    ];
    let outer = call.arguments.unwrap_or(b"{}");
    let scratch = &mut conversation.scratch.json;
    let Ok([tool, arguments]) = members(outer, names, &conversation.limits, scratch) else {
        return Ok(None);
    };
    let tool = tool
        .and_then(|raw| raw.strip_prefix(b"\"")?.strip_suffix(b"\""))
        .filter(|name| !name.is_empty() && !name.contains(&b'\\'))
        .and_then(|name| std::str::from_utf8(name).ok());
    let is_object = arguments.is_none_or(|raw| raw.first() == Some(&b'{'));
    Ok(tool.filter(|_| is_object).map(|tool| Call {
        server: call.server,
        tool,
        arguments,
        message: call.message,
    }))
}

/// Writes how a parameter of a call within a call is named: apart from those of the call
/// around it and of others within it.
pub(super) fn within(tool: &str, param: &mut String) {
    let name = std::mem::take(param);
    // Debug's escapes keep the parts apart; writing to a string cannot fail.
    let _ = std::fmt::Write::write_fmt(param, format_args!("call of {tool:?}: {name}"));
}
