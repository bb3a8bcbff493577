//! Tools as the gate knows them: pinned definitions, and which part of the plan
//! applies to each. Computed when tools are listed, not when they are called.

use super::effects::ToolEffects;
use super::foreign::of_other_server;
use super::link::{Link, find_contract, full_name};
use crate::provenance::{FieldRule, LabelStep, OutputLabels};
use crate::tools::{AskedWords, Derived, Heuristics, LabelHeuristics, ToolDefinition};
use bouncer_plan::format::{
    CONTRACT_OUTPUTS, CONTRACT_PROSE, ContractLayer, HeuristicWord, META_HEURISTICS, NONE,
    OutputLabel, Secrecy, WordKind,
};
use bouncer_plan::{Corrupt, Tables, at, slice};
use bouncer_plan::{Effect, Label};
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
    /// What the heuristics say of where it sends things and how often; only without a
    /// contract that speaks for it.
    pub derived: Option<Derived>,
    /// A pack's contract has its name, and was written for another server's tool.
    pub foreign: bool,
    /// What it does.
    pub effects: ToolEffects,
    pub labels: OutputLabels,
}

impl Tool {
    /// Whether something in the policy depends on how often it was called.
    pub fn is_counted(&self) -> bool {
        let derived = self.derived.as_ref();
        self.link.counted || derived.is_some_and(|derived| derived.max_calls.is_some())
    }

    /// Leaves out a pack's contract, which was written for the tool of a server: an agent's
    /// own tool of that name is another. What it returns stays labelled.
    pub fn forget_pack(
        &mut self,
        tables: &Tables<'_>,
        definition: &ToolDefinition,
    ) -> Result<(), Corrupt> {
        let contract = tables.contracts.get(self.link.contract as usize);
        if contract.is_some_and(|contract| contract.layer == ContractLayer::Pack) {
            self.link.contract = NONE;
            self.effects = ToolEffects::new(None, definition, "", false)?;
        }
        Ok(())
    }

    /// Links a definition to the plan.
    pub fn new(
        tables: &Tables<'_>,
        heuristics: Option<&Heuristics>,
        server: Option<&str>,
        definition: &ToolDefinition,
        prefix: &str,
    ) -> Result<Self, Corrupt> {
        let link = Link::new(tables, server, &definition.name)?;
        let contract = match link.contract {
            NONE => None,
            index => Some(at(tables.contracts, index)?),
        };
        let mut derived = heuristics.map(|heuristics| heuristics.derive(definition));
        if let (Some(contract), Some(shown)) = (contract, &derived) {
            derived = of_other_server(tables, contract, definition, shown)?;
        }
        let foreign = contract.is_some() && derived.is_some();
        let mut effects = ToolEffects::new(contract, definition, prefix, heuristics.is_some())?;
        if foreign {
            effects.add(Effect::Send);
        }
        let labelled = if foreign { NONE } else { link.contract };
        Ok(Self {
            effects,
            status: Status::Pinned,
            digest: definition.digest,
            destructive: is_destructive(definition),
            labels: output_labels(tables, labelled, heuristics)?,
            link,
            derived,
            foreign,
        })
    }
}

/// A definition that says nothing but the name.
pub(super) fn bare_definition(name: &str) -> Result<ToolDefinition, Corrupt> {
    ToolDefinition::from_json(serde_json::json!({ "name": name })).map_err(|_| Corrupt)
}

/// `destructiveHint: true` without `readOnlyHint: true`.
fn is_destructive(definition: &ToolDefinition) -> bool {
    definition.destructive_hint == Some(true) && definition.read_only_hint != Some(true)
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
        asked: AskedWords {
            common: words(WordKind::Common)?,
            effects: [
                (Effect::Run, words(WordKind::AskedRun)?),
                (Effect::Grant, words(WordKind::AskedGrant)?),
                (Effect::Pay, words(WordKind::AskedPay)?),
                (Effect::Destroy, words(WordKind::AskedDestroy)?),
                (Effect::Publish, words(WordKind::AskedPublish)?),
            ],
        },
    }))
}

/// The labels of the output of a tool of which only the name is known.
pub(super) fn labels_by_name(
    tables: &Tables<'_>,
    heuristics: Option<&Heuristics>,
    server: Option<&str>,
    name: &str,
) -> Result<OutputLabels, Corrupt> {
    let contract = find_contract(tables, &full_name(server, name), name)?;
    output_labels(tables, contract, heuristics)
}

/// The labels of a tool's output.
fn output_labels(
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
                    private: field.secrecy == Secrecy::Private,
                });
            }
            return Ok(OutputLabels {
                default: contract.output_label,
                private: contract.secrecy == Secrecy::Private,
                fields,
                prose: contract.flags.get() & CONTRACT_PROSE != 0,
                by_name: None,
            });
        }
    }
    Ok(OutputLabels {
        default: Label::Untrusted,
        private: false,
        fields: Vec::new(),
        prose: false,
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
