//! A loaded plan, and what is worked out from it once, before any call.

use super::hidden;
use super::tool::{self, Tool};
use crate::provenance::OutputLabels;
use crate::tools::{Heuristics, ToolDefinition};
use bouncer_plan::{Corrupt, Plan, Tables};

/// A plan that judges.
#[derive(Debug)]
pub(super) struct Policy {
    plan: Plan,
    /// An error where the plan contradicts itself. No loaded plan does; if one did, going
    /// on without its heuristics would be laxer than it says, so every call is denied.
    derived: Result<FromPlan, Corrupt>,
    /// Counts the plans; a conversation notes the one it was last judged by.
    generation: u64,
}

/// What is worked out from a plan.
#[derive(Debug)]
struct FromPlan {
    heuristics: Option<Heuristics>,
    /// By row of the plan: it holds for every call. Empty where nothing is hidden.
    rows_always: Vec<bool>,
}

impl FromPlan {
    fn of(tables: &Tables<'_>) -> Result<Self, Corrupt> {
        Ok(Self {
            heuristics: tool::heuristics(tables)?,
            rows_always: hidden::always(tables)?,
        })
    }
}

impl Policy {
    /// The first plan of a gate.
    pub fn new(plan: Plan) -> Self {
        Self {
            derived: FromPlan::of(plan.tables()),
            plan,
            generation: 0,
        }
    }

    /// The policy that follows this one.
    ///
    /// # Errors
    /// If the plan's tables contradict themselves.
    pub fn replaced_by(&self, plan: Plan) -> Result<Self, Corrupt> {
        Ok(Self {
            derived: Ok(FromPlan::of(plan.tables())?),
            plan,
            generation: self.generation + 1,
        })
    }

    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The plan's tables, for a decision: an error where the plan contradicts itself.
    pub fn judging_tables(&self) -> Result<&Tables<'_>, Corrupt> {
        match self.derived {
            Ok(_) => Ok(self.plan.tables()),
            Err(corrupt) => Err(corrupt),
        }
    }

    fn derived(&self) -> Result<&FromPlan, Corrupt> {
        self.derived.as_ref().map_err(|corrupt| *corrupt)
    }

    fn heuristics(&self) -> Result<Option<&Heuristics>, Corrupt> {
        Ok(self.derived()?.heuristics.as_ref())
    }

    /// Whether the policy wants a tool hidden.
    pub fn hides(&self, server: Option<&str>, name: &str) -> Result<bool, Corrupt> {
        let rows_always = &self.derived()?.rows_always;
        hidden::denies_always(self.plan.tables(), rows_always, server, name)
    }

    /// Links a tool's definition to the plan.
    pub fn link(&self, server: Option<&str>, definition: &ToolDefinition) -> Result<Tool, Corrupt> {
        Tool::new(self.plan.tables(), self.heuristics()?, server, definition)
    }

    /// Links a tool of which only the name is known.
    pub fn link_name(&self, server: Option<&str>, name: &str) -> Result<Tool, Corrupt> {
        self.link(server, &tool::bare_definition(name)?)
    }

    /// The labels of the output of a tool of which only the name is known.
    pub fn labels_by_name(
        &self,
        server: Option<&str>,
        name: &str,
    ) -> Result<OutputLabels, Corrupt> {
        tool::labels_by_name(self.plan.tables(), self.heuristics()?, server, name)
    }
}
