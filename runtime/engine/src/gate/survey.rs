//! What the gate knows about each tool, for people to look at. Decides nothing.

use super::hidden;
use super::link::Link;
use super::pins::Pins;
use super::policy::Policy;
use super::tool::{Status, Tool};
use bouncer_plan::format::{
    CONTRACT_CONFIRM, CONTRACT_DECIDES, CONTRACT_EXFILTRATING, Contract, ContractLayer,
    META_BUILT_IN, META_HAS_RULES, NONE,
};
use bouncer_plan::{Corrupt, Tables, at};
use bouncer_plan::{Effect, Effects, Verdict};
use serde::Serialize;

/// How a tool stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Surveyed {
    /// The tool's own name.
    pub name: String,
    /// `pinned`, `changed`, or `new`: nobody has accepted it.
    pub pin: &'static str,
    /// What it does, as far as is known; empty where nothing could be told.
    pub effects: Vec<&'static str>,
    /// The contract that speaks of it.
    pub contract: Option<ContractSeen>,
    /// No contract speaks of it, and its name or schema says something to the heuristics.
    pub guessed: bool,
    /// How many rules of the policy can match it.
    pub rules: usize,
    /// The verdicts that its calls can get, as far as that shows without looking at
    /// arguments: never one too few.
    pub may: Vec<&'static str>,
    /// The agent is not shown it.
    pub hidden: bool,
}

/// What of a contract people want to know first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContractSeen {
    /// The name that it is written under.
    pub key: String,
    /// It comes with a pack, not with the policy.
    pub from_pack: bool,
    /// It speaks for this tool. Not: a pack wrote it for another server's tool of that name,
    /// and where calls go is told by this tool's own schema.
    pub speaks: bool,
    /// It sends data out: destinations are looked at.
    pub exfiltrating: bool,
}

/// What calls of a tool can do, as far as that shows before any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Doing {
    /// What every call does. Empty: there may be calls of which nothing can be told.
    pub least: Effects,
    /// What no call goes beyond.
    pub most: Effects,
    /// The defaults for effects have a say where no rule decides.
    pub by_effect: bool,
}

/// What calls of a tool can do.
pub(super) fn doing(
    policy: &Policy,
    pins: &Pins,
    server: Option<&str>,
    name: &str,
) -> Result<Doing, Corrupt> {
    let bare;
    let tool = match pins.get(server, name) {
        Some(tool) => tool,
        None => {
            bare = policy.link_name(server, name)?;
            &bare
        }
    };
    let decides = match tool.link.contract {
        NONE => false,
        index => at(policy.plan().tables().contracts, index)?.flags.get() & CONTRACT_DECIDES != 0,
    };
    let (least, most) = tool.effects.bounds();
    let by_effect = !decides && tool.effects.are_told() && !tool.effects.is_reading(name);
    Ok(Doing {
        least,
        most,
        by_effect,
    })
}

/// What one call does; `None`: nothing could be told.
pub(super) fn done_by<'t>(
    policy: &Policy,
    pins: &Pins,
    server: Option<&str>,
    name: &'t str,
    arguments: impl Iterator<Item = (&'t str, Option<&'t str>)> + Clone,
) -> Result<Option<Effects>, Corrupt> {
    Ok(match pins.get(server, name) {
        Some(tool) => tool.effects.of_arguments(name, arguments),
        None => {
            let tool = policy.link_name(server, name)?;
            tool.effects.of_arguments(name, arguments)
        }
    })
}

/// How the tools of a server stand, in the order of `names`. Those about which the plan
/// contradicts itself are left out.
pub(super) fn survey<'n>(
    policy: &Policy,
    pins: &Pins,
    server: Option<&str>,
    names: impl Iterator<Item = &'n str>,
) -> Vec<Surveyed> {
    let Ok(always) = hidden::unconditional(policy.plan().tables()) else {
        return Vec::new();
    };
    names
        .filter_map(|name| look(policy, pins, server, name, &always).ok())
        .collect()
}

fn look(
    policy: &Policy,
    pins: &Pins,
    server: Option<&str>,
    name: &str,
    always: &[bool],
) -> Result<Surveyed, Corrupt> {
    let tables = policy.plan().tables();
    let known = pins.get(server, name);
    let bare;
    let link = match known {
        Some(tool) => &tool.link,
        None => {
            bare = Link::new(tables, server, name)?;
            &bare
        }
    };
    let contract = match link.contract {
        NONE => None,
        index => Some(at(tables.contracts, index)?),
    };
    let mut rows = Vec::new();
    for &group in &link.groups {
        let range = &at(tables.groups, group)?.rows;
        let start = range.start.get();
        for row in start..start.saturating_add(range.length.get()) {
            let holds = *always.get(row as usize).ok_or(Corrupt)?;
            rows.push((at(tables.rows, row)?.rule.get(), holds));
        }
    }
    rows.sort_unstable();
    let effects = match known {
        Some(tool) => tool.effects.clone(),
        None => policy.link_name(server, name)?.effects,
    };
    let is_reading = effects.is_reading(name);
    let may = match known.map(|tool| tool.status) {
        Some(Status::Pinned) => may(tables, is_reading, known, contract, &rows)?,
        _ if known.is_none() && !pins.any_listed() => {
            may(tables, is_reading, None, contract, &rows)?
        }
        _ => vec![Verdict::Deny],
    };
    rows.dedup_by_key(|(rule, _)| *rule);
    let derived = known.and_then(|tool| tool.derived.as_ref());
    Ok(Surveyed {
        name: name.to_owned(),
        pin: match known.map(|tool| tool.status) {
            Some(Status::Pinned) => "pinned",
            Some(Status::Changed) => "changed",
            None => "new",
        },
        effects: effects
            .of_tool(name)
            .unwrap_or_default()
            .iter()
            .map(Effect::name)
            .collect(),
        contract: contract.map(|c| seen(tables, c, known)).transpose()?,
        guessed: derived.is_some_and(|derived| *derived != crate::tools::Derived::default()),
        rules: rows.len(),
        may: may.into_iter().map(Verdict::name).collect(),
        hidden: policy.hides(server, name).unwrap_or(false),
    })
}

fn seen(
    tables: &Tables<'_>,
    contract: &Contract,
    tool: Option<&Tool>,
) -> Result<ContractSeen, Corrupt> {
    let speaks = tool.is_none_or(|tool| !tool.foreign);
    Ok(ContractSeen {
        key: tables.text(&contract.key)?.to_owned(),
        from_pack: contract.layer == ContractLayer::Pack,
        speaks,
        exfiltrating: speaks && contract.flags.get() & CONTRACT_EXFILTRATING != 0,
    })
}

/// The verdicts that calls can get: what the rules may say, or something stricter that
/// another stage may say.
fn may(
    tables: &Tables<'_>,
    is_reading: bool,
    tool: Option<&Tool>,
    contract: Option<&Contract>,
    rows: &[(u32, bool)],
) -> Result<Vec<Verdict>, Corrupt> {
    let (mut by_rules, mut settled, mut by_rule) = (Vec::new(), false, false);
    let meta = tables.meta()?;
    if meta.flags.get() & META_HAS_RULES == 0 {
        by_rules.push(Verdict::Allow);
        settled = true;
    }
    for &(rule, always) in rows {
        if settled {
            break;
        }
        by_rules.push(at(tables.rules, rule)?.action);
        settled = always;
        // Where a rule matches, the defaults for effects are silent.
        by_rule |= always && meta.flags.get() & META_BUILT_IN == 0;
    }
    if !settled {
        let destructive = tool.is_some_and(|tool| tool.destructive);
        let fallback = match destructive {
            true => meta.on_destructive_hint,
            false => meta.on_unknown,
        };
        by_rules.push(fallback);
    }
    let derived = tool.and_then(|tool| tool.derived.as_ref());
    // After untrusted text anything may be asked about that is more than reading, and what
    // goes to an address that stands there denied.
    let says = |flag| contract.is_some_and(|c| c.flags.get() & flag != 0);
    let decided = says(CONTRACT_DECIDES) && !says(CONTRACT_EXFILTRATING) && !says(CONTRACT_CONFIRM);
    let by_effect = !decided && !is_reading && !by_rule;
    let (sends, confirms, limited, never) = match contract {
        Some(contract) => {
            let flags = contract.flags.get();
            let limit = contract.max_calls.get();
            (
                flags & CONTRACT_EXFILTRATING != 0 && tool.is_none_or(|tool| !tool.foreign),
                flags & CONTRACT_CONFIRM != 0,
                limit != u64::MAX
                    || contract.rates.length.get() > 0
                    || contract.constraints.length.get() > 0,
                limit == 0,
            )
        }
        None => (
            false,
            false,
            derived.is_some_and(|derived| derived.max_calls.is_some()),
            derived.is_some_and(|derived| derived.max_calls == Some(0)),
        ),
    };
    let least = match (never, confirms) {
        (true, _) => Verdict::Deny,
        (false, true) => Verdict::Ask,
        (false, false) => Verdict::Allow,
    };
    let mut out: Vec<Verdict> = by_rules.into_iter().map(|v| v.max(least)).collect();
    if sends && !never {
        // An unknown destination is asked about.
        out.extend(out.iter().map(|v| (*v).max(Verdict::Ask)).min());
    }
    if sends {
        // So may be one that an outsider wrote.
        let tainted = match contract {
            Some(contract) => contract.on_tainted,
            None => Verdict::Deny,
        };
        out.extend(out.iter().map(|v| (*v).max(tainted)).min());
    }
    if limited {
        out.push(Verdict::Deny);
    }
    if by_effect && !never {
        out.push(Verdict::Ask);
        if !sends {
            out.push(Verdict::Deny);
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}
