//! Tools as the gate knows them: pinned definitions, and which part of the plan
//! applies to each. Computed when tools are listed, not when they are called.

use super::near::Near;
use crate::provenance::{FieldRule, LabelStep, OutputLabels};
use crate::tools::{Derived, Heuristics, LabelHeuristics, ToolDefinition};
use bouncer_plan::Label;
use bouncer_plan::format::{
    CONTRACT_OUTPUTS, Contract, ContractLayer, HeuristicWord, META_HEURISTICS, NONE, OutputLabel,
    ViewKind, WordKind,
};
use bouncer_plan::{Corrupt, Tables, at, glob, slice};
use std::sync::Arc;

/// Whether a tool's definition is the pinned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Pinned,
    /// The definition differs from the pinned one.
    Changed,
}

/// A tool in the pinned set.
#[derive(Debug)]
pub(super) struct Tool {
    pub status: Status,
    pub digest: [u8; 32],
    /// `destructiveHint: true` without `readOnlyHint: true`.
    pub destructive: bool,
    pub link: Link,
    pub near: Near,
    /// What the heuristics say; only without a contract.
    pub derived: Option<Derived>,
    pub labels: OutputLabels,
}

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

impl Tool {
    /// Whether something in the policy depends on how often it was called.
    pub fn is_counted(&self) -> bool {
        let derived = self.derived.as_ref();
        self.link.counted || derived.is_some_and(|derived| derived.max_calls.is_some())
    }

    /// Links a definition to the plan.
    pub fn new(
        tables: &Tables<'_>,
        heuristics: Option<&Heuristics>,
        server: Option<&str>,
        definition: &ToolDefinition,
    ) -> Result<Self, Corrupt> {
        let link = Link::new(tables, server, &definition.name)?;
        let derived = match heuristics {
            Some(heuristics) if link.contract == NONE => Some(heuristics.derive(definition)),
            _ => None,
        };
        Ok(Self {
            status: Status::Pinned,
            digest: definition.digest,
            destructive: is_destructive(definition),
            labels: output_labels(tables, link.contract, heuristics)?,
            near: Near::of(tables, &link),
            link,
            derived,
        })
    }
}

/// A tool of which only the name is known.
pub(super) fn by_name(
    tables: &Tables<'_>,
    heuristics: Option<&Heuristics>,
    server: Option<&str>,
    name: &str,
) -> Result<Tool, Corrupt> {
    let definition = serde_json::json!({ "name": name });
    let definition = ToolDefinition::from_json(definition).map_err(|_| Corrupt)?;
    Tool::new(tables, heuristics, server, &definition)
}

/// `destructiveHint: true` without `readOnlyHint: true`.
fn is_destructive(definition: &ToolDefinition) -> bool {
    definition.destructive_hint == Some(true) && definition.read_only_hint != Some(true)
}

impl Link {
    /// The rules, as a decision takes them.
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            groups: &self.groups,
            aims: &self.aims,
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
    match server {
        Some(server) => format!("{server}__{tool}"),
        None => tool.to_owned(),
    }
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
pub(super) fn find_aims(
    tables: &Tables<'_>,
    groups: &[u32],
    out: &mut Vec<Aim>,
) -> Result<(), Corrupt> {
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

/// The heuristics that the plan carries, if they are on.
pub(super) fn heuristics(tables: &Tables<'_>) -> Result<Option<Heuristics>, Corrupt> {
    let meta = tables.meta()?;
    if meta.flags.get() & META_HEURISTICS == 0 {
        return Ok(None);
    }
    let words = |kind: WordKind| -> Result<Vec<String>, Corrupt> {
        let of_kind = tables
            .heuristic_words
            .iter()
            .filter(|word: &&HeuristicWord| word.kind == kind);
        of_kind
            .map(|word| tables.text(&word.word).map(str::to_owned))
            .collect()
    };
    Ok(Some(Heuristics {
        sink_names: words(WordKind::SinkName)?,
        sink_words: words(WordKind::SinkWord)?,
        sink_formats: words(WordKind::SinkFormat)?,
        destructive_words: words(WordKind::Destructive)?,
        destructive_max_calls: Some(meta.destructive_max_calls.get()).filter(|&max| max != NONE),
        labels: LabelHeuristics {
            untrusted_words: words(WordKind::Untrusted)?,
            observed_words: words(WordKind::Observed)?,
        },
        consequential_words: words(WordKind::Consequential)?,
    }))
}

/// The labels of a tool's output.
pub(super) fn output_labels(
    tables: &Tables<'_>,
    contract: u32,
    heuristics: Option<&Heuristics>,
) -> Result<OutputLabels, Corrupt> {
    if contract != NONE {
        let contract = at(tables.contracts, contract)?;
        if contract.flags.get() & CONTRACT_OUTPUTS != 0 {
            let mut fields = Vec::new();
            for field in slice(tables.output_labels, &contract.outputs)? {
                fields.push(FieldRule {
                    path: label_steps(tables, field)?,
                    label: field.label,
                });
            }
            return Ok(OutputLabels {
                default: contract.output_label,
                fields,
                by_name: None,
            });
        }
    }
    Ok(OutputLabels {
        default: Label::Untrusted,
        fields: Vec::new(),
        by_name: heuristics.map(|heuristics| Arc::new(heuristics.labels.clone())),
    })
}

fn label_steps(tables: &Tables<'_>, field: &OutputLabel) -> Result<Vec<LabelStep>, Corrupt> {
    let first = field.steps.start.get() as usize;
    (0..field.steps.length.get() as usize / 3)
        .map(|step| {
            let index = tables.lists.get(first + 3 * step + 2).ok_or(Corrupt)?.get();
            let name = tables.listed_text(first + 3 * step)?;
            Ok(if index != NONE && name.is_empty() {
                LabelStep::Index(index)
            } else {
                LabelStep::Key(name.to_owned())
            })
        })
        .collect()
}
