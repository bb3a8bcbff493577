//! A loaded plan, and what is worked out from it once, before any call.

use super::hidden;
use super::tool::{self, Tool};
use crate::provenance::OutputLabels;
use crate::tools::{Heuristics, ToolDefinition};
use bouncer_plan::format::ViewKind;
use bouncer_plan::{Corrupt, Plan, Tables, requests};

/// A plan that judges.
#[derive(Debug)]
pub(super) struct Policy {
    plan: Plan,
    /// An error where the plan contradicts itself. No loaded plan does; if one did, going
    /// on without its heuristics would be laxer than it says, so every call is denied.
    derived: Result<FromPlan, Corrupt>,
    /// Calls of [`super::AGENT`] are those of an agent's own tools.
    knows_agent: bool,
    /// Counts the plans; a conversation notes the one it was last judged by.
    generation: u64,
}

/// What is worked out from a plan.
#[derive(Debug)]
struct FromPlan {
    heuristics: Option<Heuristics>,
    /// By row of the plan: it holds for every call. Empty where nothing is hidden.
    rows_always: Vec<bool>,
    /// Some condition asks what was read.
    asks_what_was_read: bool,
}

impl FromPlan {
    fn of(tables: &Tables<'_>) -> Result<Self, Corrupt> {
        Ok(Self {
            heuristics: tool::heuristics(tables)?,
            rows_always: hidden::always(tables)?,
            asks_what_was_read: {
                let mut dimensions = tables.dimensions.iter();
                dimensions.any(|dimension| dimension.view == ViewKind::Provenance)
            },
        })
    }
}

impl Policy {
    /// The first plan of a gate.
    pub fn new(plan: Plan) -> Self {
        Self {
            derived: FromPlan::of(plan.tables()),
            plan,
            knows_agent: true,
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
            knows_agent: self.knows_agent,
            generation: self.generation + 1,
        })
    }

    /// Takes [`super::AGENT`] for a server like any other.
    pub const fn forget_agent(&mut self) {
        self.knows_agent = false;
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

    pub fn heuristics(&self) -> Result<Option<&Heuristics>, Corrupt> {
        Ok(self.derived()?.heuristics.as_ref())
    }

    /// Whether some condition of the policy asks what was read. True where that cannot be told.
    pub fn asks_what_was_read(&self) -> bool {
        self.derived()
            .map_or(true, |derived| derived.asks_what_was_read)
    }

    /// Whether the policy wants a tool hidden.
    pub fn hides(&self, server: Option<&str>, name: &str) -> Result<bool, Corrupt> {
        let rows_always = &self.derived()?.rows_always;
        hidden::denies_always(self.plan.tables(), rows_always, server, name)
    }

    /// Links a tool's definition to the plan.
    ///
    /// `prefix` is what the names of all tools of the server begin with.
    pub fn link(
        &self,
        server: Option<&str>,
        definition: &ToolDefinition,
        prefix: &str,
    ) -> Result<Tool, Corrupt> {
        let tables = self.plan.tables();
        let agent = self.knows_agent && server == Some(super::AGENT);
        let guess = !agent && !requests::is_request(&definition.name);
        let heuristics = self.heuristics()?.filter(|_| guess);
        let mut tool = Tool::new(tables, heuristics, server, definition, prefix)?;
        if agent {
            tool.forget_pack(tables, definition)?;
        }
        Ok(tool)
    }

    /// Links a tool of which only the name is known.
    pub fn link_name(&self, server: Option<&str>, name: &str) -> Result<Tool, Corrupt> {
        self.link(server, &tool::bare_definition(name)?, "")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Attempt, Call, Gate};
    use bouncer_plan::Verdict;
    use bouncer_plan::format::{self, Header, Meta, PathNode, Section, SectionEntry};

    /// The smallest plan there is: it objects to nothing.
    fn smallest() -> Plan {
        // Both places of the defaults are nowhere; so are the paths of the trie's only node.
        let mut meta = [0_u8; size_of::<Meta>()];
        meta[40..44].fill(0xff);
        meta[52..56].fill(0xff);
        // There are no addresses of the account's own.
        let last = meta.len() - 4;
        meta[last..].fill(0xff);
        let mut node = [0_u8; size_of::<PathNode>()];
        node[8..12].fill(0xff);
        node[24..28].fill(0xff);
        let start = size_of::<Header>() + Section::ALL.len() * size_of::<SectionEntry>();
        let length = start + meta.len() + node.len();
        let mut bytes = format::MAGIC.to_vec();
        let sections = Section::ALL.len() as u32;
        for word in [format::VERSION, format::ENDIAN, sections, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((length as u64).to_le_bytes());
        bytes.extend([0; 32]);
        let mut at = start as u64;
        for section in Section::ALL {
            let length = match section {
                Section::Meta => meta.len(),
                Section::PathNodes => node.len(),
                _ => 0,
            };
            bytes.extend((section as u64).to_le_bytes());
            bytes.extend(at.to_le_bytes());
            bytes.extend((length as u64).to_le_bytes());
            at += length as u64;
        }
        bytes.extend(meta);
        bytes.extend(node);
        let digest = bouncer_plan::digest_of(&bytes);
        let place = size_of::<Header>() - digest.len();
        bytes[place..place + digest.len()].copy_from_slice(&digest);
        Plan::load(bytes).unwrap()
    }

    #[test]
    fn without_its_heuristics_a_plan_allows_nothing() {
        let mut gate = Gate::new(smallest());
        let call = Call::hypothetical(None, "x", None);
        let verdict = |gate: &Gate| {
            let mut conversation = gate.conversation();
            let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
            (decision.verdict(), decision.code())
        };
        assert_eq!(verdict(&gate), (Verdict::Allow, "default"));
        gate.policy.derived = Err(Corrupt);
        assert_eq!(verdict(&gate), (Verdict::Deny, "internal"));
    }
}
