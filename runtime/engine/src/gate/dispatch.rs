//! Tools that call other tools: `call_tool {name, arguments}`.
//!
//! The call inside is judged like a call of its own, and so is one inside that; the
//! strictest verdict wins, and among equals that of the outer call. What cannot be read
//! cannot be judged, and is denied.

use super::attempt::CallAttempt;
use super::call::Call;
use super::conversation::Conversation;
use super::decision::Cause;
use super::judge::{Judged, Opinion, judge};
use super::key::tool_key;
use super::link::{find_contract, full_name};
use super::pins::Pins;
use super::policy::Policy;
use bouncer_plan::format::{CONTRACT_DISPATCHES, Contract};
use bouncer_plan::{Corrupt, Stage, Tables, Verdict, requests};
use bouncer_reader::json::{Limits, Scratch as JsonScratch, members};

/// Calls within calls within a call.
const MAX_NESTED: usize = 4;

/// The opinion that decided, and the call it is about: the one that was made, or one
/// within it.
pub(super) struct Decided<'a> {
    pub call: Call<'a>,
    pub opinion: Opinion<'a>,
}

/// Judges a call and those within it. Writes what the reason quotes into the
/// conversation's decided culprit.
pub(super) fn judge_nested<'a>(
    policy: &'a Policy,
    pins: &'a Pins,
    conversation: &mut Conversation,
    this: &CallAttempt<'a>,
) -> Result<Decided<'a>, Corrupt> {
    conversation.scratch.culprits.decided.clear();
    let tables = policy.judging_tables()?;
    let Judged {
        opinion,
        mut dispatches,
    } = judge(policy, pins, conversation, this)?;
    conversation.scratch.culprits.decide_current();
    let mut decided = Decided {
        call: this.call,
        opinion,
    };
    let mut current = this.call;
    for depth in 0..=MAX_NESTED {
        let Some(contract) = dispatches else { break };
        let too_deep = depth == MAX_NESTED;
        let inner = if too_deep {
            None
        } else {
            let json = &mut conversation.scratch.json;
            inner_call(tables, &conversation.limits, json, contract, &current)?
        };
        let Some(inner) = inner else {
            if decided.opinion.verdict < Verdict::Deny {
                let at = &contract.dispatch_at;
                let cause = Cause::Dispatch { at, too_deep };
                conversation.scratch.culprits.decided.clear();
                decided = Decided {
                    call: current,
                    opinion: Opinion::new(Verdict::Deny, Stage::Constraint, cause),
                };
            }
            break;
        };
        let judged = judge(
            policy,
            pins,
            conversation,
            &CallAttempt {
                call: inner,
                outer: Some(this.call.tool),
                ..*this
            },
        )?;
        if judged.opinion.verdict > decided.opinion.verdict {
            conversation.scratch.culprits.decide_current();
            decided = Decided {
                call: inner,
                opinion: judged.opinion,
            };
        }
        dispatches = judged.dispatches;
        current = inner;
    }
    Ok(decided)
}

/// The servers and names of the tools within a call, as far as they can be read.
pub(super) fn tools_within(
    policy: &Policy,
    pins: &Pins,
    conversation: &mut Conversation,
    call: &Call<'_>,
) -> Result<Vec<(Option<String>, String)>, Corrupt> {
    let tables = policy.plan().tables();
    let mut found = Vec::new();
    let mut current = *call;
    for _ in 0..MAX_NESTED {
        let contract = contract_of(tables, pins, current.server, current.tool)?;
        let Some(contract) = contract.filter(|c| c.flags.get() & CONTRACT_DISPATCHES != 0) else {
            break;
        };
        let json = &mut conversation.scratch.json;
        let inner = inner_call(tables, &conversation.limits, json, contract, &current)?;
        let Some(inner) = inner else {
            break;
        };
        found.push((inner.server.map(str::to_owned), inner.tool.to_owned()));
        current = inner;
    }
    Ok(found)
}

fn contract_of<'t>(
    tables: &Tables<'t>,
    pins: &Pins,
    server: Option<&str>,
    name: &str,
) -> Result<Option<&'t Contract>, Corrupt> {
    let contract = match pins.find(&tool_key(server, name))? {
        Some((_, tool)) => tool.link.contract,
        None => find_contract(tables, &full_name(server, name), name)?,
    };
    Ok(tables.contracts.get(contract as usize))
}

/// The call that a call makes; `None` if it cannot be read. A name is read only if it
/// is written without escapes, so that nobody reads another.
fn inner_call<'a>(
    tables: &Tables<'_>,
    limits: &Limits,
    scratch: &mut JsonScratch,
    contract: &Contract,
    call: &Call<'a>,
) -> Result<Option<Call<'a>>, Corrupt> {
    let names = [
        tables.text(&contract.dispatch_tool)?,
        tables.text(&contract.dispatch_arguments)?,
    ];
    let outer = call.arguments.unwrap_or(b"{}");
    let Ok([tool, arguments]) = members(outer, names, limits, scratch) else {
        return Ok(None);
    };
    let tool = tool
        .and_then(|raw| raw.strip_prefix(b"\"")?.strip_suffix(b"\""))
        .filter(|name| !name.is_empty() && !name.contains(&b'\\'))
        .and_then(|name| std::str::from_utf8(name).ok())
        .filter(|name| !requests::is_request(name));
    let is_object = arguments.is_none_or(|raw| raw.first() == Some(&b'{'));
    Ok(tool.filter(|_| is_object).map(|tool| Call {
        server: call.server,
        tool,
        arguments,
        message: call.message,
    }))
}
