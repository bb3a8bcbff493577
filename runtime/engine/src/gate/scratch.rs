//! Working memory of a decision, owned by the conversation and reused, so that a
//! decision need not touch the heap. Each part belongs to the file that writes to it.

use super::culprit::Culprits;
use super::eval::EvalScratch;
use super::flow::FlowScratch;
use super::link::Bare;
use super::rows::RowScratch;
use super::sink::SinkScratch;
use super::walk::WalkScratch;
use crate::provenance;
use bouncer_plan::Tables;
use bouncer_reader::json;

/// Working memory of a decision.
#[derive(Debug)]
pub(super) struct Scratch {
    pub json: json::Scratch,
    pub walk: WalkScratch,
    pub eval: EvalScratch,
    pub rows: RowScratch,
    pub sink: SinkScratch,
    pub flow: FlowScratch,
    pub provenance: provenance::Scratch,
    /// The key or the name by which the tool is looked up.
    pub key: String,
    /// The rules that apply to a tool that is not pinned.
    pub bare: Bare,
    /// What the reason of the decision quotes.
    pub culprits: Culprits,
}

impl Scratch {
    /// Room for everything that the plan can ask for.
    pub fn new(tables: &Tables<'_>, limits: &json::Limits) -> Self {
        Self {
            json: json::Scratch::new(limits),
            walk: WalkScratch::new(limits.max_depth),
            eval: EvalScratch::new(tables),
            rows: RowScratch::new(tables),
            sink: SinkScratch::default(),
            flow: FlowScratch::default(),
            provenance: provenance::Scratch::default(),
            key: String::with_capacity(256),
            bare: Bare::new(tables),
            culprits: Culprits::with_room(),
        }
    }
}
