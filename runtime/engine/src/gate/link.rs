//! Which parts of a plan apply to a tool of that name: its contract, the groups of rules
//! that can match it, and what these look at. Knows nothing of definitions or calls.

use bouncer_plan::format::{Contract, ContractLayer, NONE, ViewKind};
use bouncer_plan::{Corrupt, Tables, at, glob, requests, slice};

/// The parts of the plan that apply to a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Index of the contract, or [`NONE`].
    pub contract: u32,
    pub groups: Vec<u32>,
    /// What the groups look at, by path.
    pub aims: Vec<Aim>,
    /// Attempts whose times matter.
    pub history: usize,
    /// Whether it matters at all how many there were.
    pub counted: bool,
}

/// One dimension of a tool's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aim {
    /// The path that it looks at; [`NONE`] for `calls(this)`.
    pub path: u32,
    /// Its index in the plan.
    pub dimension: u32,
    /// It is asked once a call, not of each leaf: a count, or `calls(this)`.
    pub once: bool,
}

/// The rules that apply to a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'l> {
    /// The groups that they stand in.
    pub groups: &'l [u32],
    /// What these look at, sorted by path.
    pub aims: &'l [Aim],
}

/// The rules that apply to a tool of which only the name is known: found anew for each
/// call, in memory that is kept.
#[derive(Debug)]
pub(super) struct Bare {
    groups: Vec<u32>,
    aims: Vec<Aim>,
}

impl Bare {
    /// Room for all that the plan can ask.
    pub fn new(tables: &Tables<'_>) -> Self {
        Self {
            groups: Vec::with_capacity(tables.groups.len()),
            aims: Vec::with_capacity(tables.dimensions.len()),
        }
    }

    /// Finds the rules of the tool that rules know as `full`.
    pub fn find(&mut self, tables: &Tables<'_>, full: &str) -> Result<Asked<'_>, Corrupt> {
        find_groups(tables, full, &mut self.groups)?;
        find_aims(tables, &self.groups, &mut self.aims)?;
        Ok(Asked {
            groups: &self.groups,
            aims: &self.aims,
        })
    }
}

impl Link {
    /// The rules, as a decision takes them.
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            groups: &self.groups,
            aims: &self.aims,
        }
    }

    /// Leads to no contract of any plan: whatever is judged by it is denied.
    pub fn nowhere() -> Self {
        Self {
            contract: NONE - 1,
            ..Self::default()
        }
    }

    /// Finds the contract and the groups of a tool.
    pub fn new(tables: &Tables<'_>, server: Option<&str>, tool: &str) -> Result<Self, Corrupt> {
        let full = full_name(server, tool);
        let mut link = Self {
            contract: find_contract(tables, &full, tool)?,
            ..Self::default()
        };
        find_groups(tables, &full, &mut link.groups)?;
        find_aims(tables, &link.groups, &mut link.aims)?;
        let mut history = 0_usize;
        for &group in &link.groups {
            let group = at(tables.groups, group)?;
            history = history.max(group.call_history.get() as usize);
            let mut dimensions = slice(tables.dimensions, &group.dimensions)?.iter();
            link.counted |= dimensions.any(|dimension| dimension.view == ViewKind::Calls);
        }
        if link.contract != NONE {
            let contract = at(tables.contracts, link.contract)?;
            link.counted |= contract.max_calls.get() != u64::MAX;
            for rate in slice(tables.rates, &contract.rates)? {
                link.counted = true;
                history = history.max((rate.count.get() as usize).saturating_add(1));
            }
        }
        link.history = history;
        Ok(link)
    }
}

/// The name that rules match: `<server>__<tool>`, or the tool's name alone.
pub(super) fn full_name(server: Option<&str>, tool: &str) -> String {
    let mut full = String::new();
    write_full_name(server, tool, &mut full);
    full
}

/// Writes the name that rules match. What is no tool has the same name at every server.
pub(super) fn write_full_name(server: Option<&str>, tool: &str, out: &mut String) {
    out.clear();
    if let Some(server) = server.filter(|_| !requests::is_request(tool)) {
        out.push_str(server);
        out.push_str("__");
    }
    out.push_str(tool);
}

/// The contract of a tool: the user's before a pack's, the longer key before the bare name.
pub(super) fn find_contract(tables: &Tables<'_>, full: &str, tool: &str) -> Result<u32, Corrupt> {
    for layer in [ContractLayer::User, ContractLayer::Pack] {
        for key in [full, tool] {
            let index = partition(tables.contracts, |contract: &Contract| {
                Ok((tables.text(&contract.key)?, contract.layer) < (key, layer))
            })?;
            if let Some(contract) = tables.contracts.get(index)
                && contract.layer == layer
                && tables.text(&contract.key)? == key
            {
                return Ok(index as u32);
            }
        }
    }
    Ok(NONE)
}

/// Writes the groups whose pattern matches `full`, in plan order.
pub(super) fn find_groups(
    tables: &Tables<'_>,
    full: &str,
    out: &mut Vec<u32>,
) -> Result<(), Corrupt> {
    out.clear();
    let exact = tables.meta()?.exact_groups.get() as usize;
    let named = tables.groups.get(..exact).ok_or(Corrupt)?;
    let index = partition(named, |group| Ok(tables.text(&group.pattern)? < full))?;
    if let Some(group) = named.get(index)
        && tables.text(&group.pattern)? == full
    {
        out.push(index as u32);
    }
    for (index, group) in tables.groups.iter().enumerate().skip(exact) {
        if glob::matches(group.kind, tables.text(&group.pattern)?, full) {
            out.push(index as u32);
        }
    }
    Ok(())
}

/// Writes what the groups look at, sorted by path.
fn find_aims(tables: &Tables<'_>, groups: &[u32], out: &mut Vec<Aim>) -> Result<(), Corrupt> {
    out.clear();
    for &group in groups {
        let range = &at(tables.groups, group)?.dimensions;
        for (dimension, record) in (range.start.get()..).zip(slice(tables.dimensions, range)?) {
            out.push(Aim {
                path: record.path.get(),
                dimension,
                once: record.view.is_of_the_call(),
            });
        }
    }
    out.sort_unstable_by_key(|aim| (aim.path, aim.dimension));
    Ok(())
}

/// Like `partition_point`, with a predicate that can fail.
fn partition<T>(
    items: &[T],
    before: impl Fn(&T) -> Result<bool, Corrupt>,
) -> Result<usize, Corrupt> {
    let (mut low, mut high) = (0, items.len());
    while low < high {
        let middle = low.midpoint(high);
        if before(items.get(middle).ok_or(Corrupt)?)? {
            low = middle + 1
        } else {
            high = middle
        }
    }
    Ok(low)
}
