//! Tools that no call of which could ever be allowed, whatever its arguments.

use super::link::{find_contract, find_groups, full_name};
use bouncer_plan::Verdict;
use bouncer_plan::format::{META_HAS_RULES, META_HIDE_DENIED, NONE};
use bouncer_plan::{Corrupt, Tables, at, slice};

/// By row: it holds whatever the arguments are. Empty where the policy hides nothing.
pub(super) fn always(tables: &Tables<'_>) -> Result<Vec<bool>, Corrupt> {
    if tables.meta()?.flags.get() & META_HIDE_DENIED == 0 {
        return Ok(Vec::new());
    }
    unconditional(tables)
}

/// By row: it holds whatever the arguments are.
pub(super) fn unconditional(tables: &Tables<'_>) -> Result<Vec<bool>, Corrupt> {
    let mut always: Vec<bool> = tables.rows.iter().map(|row| row.need.get() == 0).collect();
    for atom in tables.atoms {
        for row in slice(tables.lists, &atom.kills)? {
            *always.get_mut(row.get() as usize).ok_or(Corrupt)? = false;
        }
    }
    Ok(always)
}

/// Whether the policy wants a tool hidden: it says `hide_denied`, and denies every call
/// of the tool. `rows_always` is what [`always`] says.
pub(super) fn denies_always(
    tables: &Tables<'_>,
    rows_always: &[bool],
    server: Option<&str>,
    name: &str,
) -> Result<bool, Corrupt> {
    let meta = tables.meta()?;
    if meta.flags.get() & META_HIDE_DENIED == 0 {
        return Ok(false);
    }
    let full = full_name(server, name);
    let contract = find_contract(tables, &full, name)?;
    if contract != NONE && at(tables.contracts, contract)?.max_calls.get() == 0 {
        return Ok(true);
    }
    if meta.flags.get() & META_HAS_RULES == 0 {
        return Ok(false);
    }
    let mut groups = Vec::new();
    find_groups(tables, &full, &mut groups)?;
    let mut rows: Vec<(u32, bool)> = Vec::new();
    for group in groups {
        let range = &at(tables.groups, group)?.rows;
        let start = range.start.get();
        for row in start..start.saturating_add(range.length.get()) {
            let always = *rows_always.get(row as usize).ok_or(Corrupt)?;
            rows.push((at(tables.rows, row)?.rule.get(), always));
        }
    }
    rows.sort_unstable();
    // The first rule that matches decides: as long as all deny, so does it.
    for (rule, always) in rows {
        if at(tables.rules, rule)?.action != Verdict::Deny {
            return Ok(false);
        }
        if always {
            return Ok(true);
        }
    }
    Ok(meta.on_unknown == Verdict::Deny && meta.on_destructive_hint == Verdict::Deny)
}
