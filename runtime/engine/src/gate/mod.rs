//! The gate: a loaded plan, the pinned tools, and the decision of each call.

mod approvals;
mod budget;
mod call;
mod carried;
mod codes;
mod conversation;
mod decide;
mod decision;
mod dispatch;
mod eval;
mod grounds;
mod hasher;
mod hidden;
mod near;
mod record;
mod reload;
mod rows;
mod scratch;
mod shared;
mod sink;
mod survey;
mod tool;
mod walk;

pub use call::{Call, CallError, CallMessage};
pub use codes::{VERDICT_CODES, explain_verdict};
pub use conversation::{Conversation, DEFAULT_PROVENANCE_LIMIT};
pub use decision::{Approvable, Decision, ObservedPass, Permit, Position, Unvouched};
pub use grounds::{Grounds, Seen};
pub use record::VerdictRecord;
pub use shared::{SharedTally, Tallied, Tally};
pub use survey::{ContractSeen, Surveyed};

use crate::provenance::{OutputLabels, Source};
use crate::tools::{Heuristics, Lock, ToolDefinition};
use bouncer_plan::Label;
use bouncer_plan::format::{CONTRACT_DISPATCHES, Contract};
use bouncer_plan::{Corrupt, Plan, Tables};
use hasher::Seeded;
use std::collections::HashMap;
use tool::{Status, Tool};

/// A plan together with the tools that are pinned under it. Shared by all
/// conversations.
#[derive(Debug)]
pub struct Gate {
    plan: Plan,
    heuristics: Option<Heuristics>,
    tools: Vec<Tool>,
    /// From [`tool_key`] to an index into `tools`.
    names: HashMap<String, u32, Seeded>,
    /// About how many bytes a conversation remembers of what it reads.
    provenance_limit: usize,
    /// What further conversations count their attempts in, beside themselves.
    tally: Option<SharedTally>,
    /// Whether any server's tools were ever pinned. Before that every tool that a call
    /// names counts as pinned: there is nothing to hold it against.
    listed: bool,
    /// How servers listed their tools last, by [`tool_key`].
    definitions: HashMap<String, reload::Listed, Seeded>,
    /// By row of the plan: it holds for every call. Empty where nothing is hidden.
    rows_always: Vec<bool>,
    /// Counts the plans; a conversation notes the one it was last judged by.
    generation: u64,
}

/// Whether a decision counts against budgets, and what a human has approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// A new call: counts.
    First,
    /// The same call again after a destination was approved: does not count.
    AfterApproval,
    /// The same call again after a human approved exactly this call, once: asks about
    /// the call as a whole are lifted, nothing else is. Does not count.
    ApprovedOnce,
}

impl Gate {
    /// A gate over a plan, with no tools pinned.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        // A loaded plan cannot fail here; if it did, decisions fail closed as well.
        let heuristics = tool::heuristics(plan.tables()).unwrap_or_default();
        let rows_always = hidden::always(plan.tables()).unwrap_or_default();
        let said = plan
            .tables()
            .meta()
            .map_or(0, |meta| meta.provenance_limit.get());
        let provenance_limit = match said {
            0 => DEFAULT_PROVENANCE_LIMIT,
            mib => usize::from(mib) << 20,
        };
        Self {
            plan,
            heuristics,
            tools: Vec::new(),
            names: HashMap::default(),
            provenance_limit,
            tally: None,
            listed: false,
            definitions: HashMap::default(),
            rows_always,
            generation: 0,
        }
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Pins `tools` as the tools of `server`: the first listing of a server. With a
    /// `lock`, tools that the lock lacks stay unpinned and tools that differ from it
    /// are changed. Pinning a server again replaces its pins.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        self.listed = true;
        let prefix = tool_key(server, "");
        // The server's earlier pins go; a tool that comes back keeps its place, and with
        // it what conversations have counted.
        let earlier: HashMap<String, u32> = self
            .names
            .extract_if(|key, _| key.starts_with(&prefix))
            .collect();
        for definition in tools {
            let locked = lock.map(|lock| lock.find(server, &definition.name));
            let status = match locked {
                None => Status::Pinned,
                Some(None) => continue,
                Some(Some(locked)) if locked.digest == definition.digest => Status::Pinned,
                Some(Some(_)) => Status::Changed,
            };
            // A tool that does not link is left unpinned: it is asked about, then denied.
            let Ok(mut tool) = self.link(server, definition) else {
                continue;
            };
            tool.status = status;
            if let Some(Some(locked)) = locked {
                tool.digest = locked.digest;
            }
            let key = tool_key(server, &definition.name);
            let place = earlier.get(&key).or_else(|| self.names.get(&key)).copied();
            let index = place.unwrap_or(self.tools.len() as u32);
            match self.tools.get_mut(index as usize) {
                Some(slot) => *slot = tool,
                None => self.tools.push(tool),
            }
            self.names.insert(key, index);
        }
        self.note_definitions(server, tools);
    }

    fn link(&self, server: Option<&str>, definition: &ToolDefinition) -> Result<Tool, Corrupt> {
        Tool::new(
            self.plan.tables(),
            self.heuristics.as_ref(),
            server,
            definition,
        )
    }

    /// Notes a later listing of the same server: new tools stay unpinned, tools whose
    /// definition differs from the pinned one are denied until they are pinned again.
    pub fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.note_definitions(server, tools);
        for definition in tools {
            let index = self.names.get(&tool_key(server, &definition.name));
            if let Some(tool) = index.and_then(|&index| self.tools.get_mut(index as usize))
                && tool.digest != definition.digest
            {
                // Stays changed even if the server changes it back: what was shown in
                // between may have been acted on.
                tool.status = Status::Changed;
            }
        }
    }

    /// Sets about how many bytes each further conversation remembers of what it reads,
    /// with all that is needed to find it again, whatever the plan says. What is forgotten
    /// is unproven again.
    pub const fn limit_provenance(&mut self, bytes: usize) {
        self.provenance_limit = bytes;
    }

    /// The same, in MiB, where a user said something.
    pub const fn limit_provenance_to(&mut self, mib: Option<u32>) {
        if let Some(mib) = mib {
            self.limit_provenance((mib as usize) << 20);
        }
    }

    /// Has further conversations count their attempts of tools with budgets together with
    /// all others that have the same tally. See [`Tally`].
    pub fn share_budgets(&mut self, tally: SharedTally) {
        self.tally = Some(tally);
    }

    /// Whether a call of that tool would have to wait for others that count their attempts
    /// in the same tally. Never for tools of which it does not matter how often they are
    /// called.
    #[must_use]
    pub fn waits_for_tally(&self, server: Option<&str>, name: &str) -> bool {
        let Some(tally) = &self.tally else {
            return false;
        };
        let index = self.names.get(&tool_key(server, name));
        let known = index.and_then(|&index| self.tools.get(index as usize));
        known.is_some_and(Tool::is_counted) && tally.lock().is_ok_and(|mut tally| tally.is_busy())
    }

    /// Whether it can matter to a call of that tool what was called before: because of
    /// `max_calls`, rates or `calls(this)`, its own or those of a tool that it calls. True
    /// where that cannot be told.
    #[must_use]
    pub fn remembers_attempts(&self, server: Option<&str>, name: &str) -> bool {
        let tables = self.plan.tables();
        let matters = |tool: &Tool| {
            let contract = tables.contracts.get(tool.link.contract as usize);
            let dispatches = contract.is_some_and(|c| c.flags.get() & CONTRACT_DISPATCHES != 0);
            tool.is_counted() || dispatches
        };
        let index = self.names.get(&tool_key(server, name));
        if let Some(known) = index.and_then(|&index| self.tools.get(index as usize)) {
            return matters(known);
        }
        tool::by_name(tables, self.heuristics.as_ref(), server, name)
            .map_or(true, |tool| matters(&tool))
    }

    /// The servers and names of the tools that a call calls in turn, outermost first:
    /// attempts at them count as well. Ends at what cannot be read, which is denied.
    #[must_use]
    pub fn tools_within(
        &self,
        conversation: &mut Conversation,
        call: &Call<'_>,
    ) -> Vec<(Option<String>, String)> {
        dispatch::tools_within(self, self.plan.tables(), conversation, call).unwrap_or_default()
    }

    fn contract_of<'t>(
        &self,
        tables: &Tables<'t>,
        server: Option<&str>,
        name: &str,
    ) -> Result<Option<&'t Contract>, Corrupt> {
        let index = self.names.get(&tool_key(server, name));
        let known = index.and_then(|&index| self.tools.get(index as usize));
        let contract = match known {
            Some(tool) => tool.link.contract,
            None => tool::find_contract(tables, &tool::full_name(server, name), name)?,
        };
        Ok(tables.contracts.get(contract as usize))
    }

    /// A fresh conversation: no budget used, nothing approved, nothing recorded.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        let mut fresh = Conversation::new(self.plan.tables(), self.provenance_limit);
        fresh.generation = self.generation;
        if let Some(tally) = &self.tally {
            fresh.share_budgets(SharedTally::clone(tally));
        }
        fresh
    }

    /// How often the plan was replaced.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Judges a call. `now_ms` is a monotonic clock in milliseconds; it only matters
    /// to rates. Does not touch the heap once the conversation has seen the tools and
    /// arguments of that size; `sql()` views, `resolve_symlinks`, calls within calls and
    /// budgets that are shared are the exceptions.
    pub fn decide<'a>(
        &'a self,
        conversation: &'a mut Conversation,
        call: &Call<'a>,
        attempt: Attempt,
        now_ms: u64,
    ) -> Decision<'a> {
        if conversation.generation != self.generation {
            conversation.follow(self, now_ms);
        }
        let forgotten = conversation.provenance().dropped();
        let mut decision = decide::decide(self, conversation, call, attempt, now_ms);
        decision.forgotten = forgotten;
        decision
    }

    /// Records what a call returned, before the agent sees it: the `result` member of
    /// the answer (or its `error` member), whole.
    pub fn record(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tool: &str,
        result: &serde_json::Value,
    ) {
        conversation.calls += 1;
        let source = Source {
            server,
            tool,
            call: conversation.calls,
        };
        let pinned = self
            .names
            .get(&tool_key(server, tool))
            .and_then(|&index| self.tools.get(index as usize));
        // The labels of a changed tool were chosen for another definition.
        let trusted = pinned.filter(|tool| tool.status == Status::Pinned);
        match trusted {
            Some(tool) => conversation
                .provenance
                .record_result(&source, &tool.labels, result),
            None => {
                let labels = self.unpinned_labels(server, tool);
                conversation
                    .provenance
                    .record_result(&source, &labels, result);
            }
        }
    }

    /// Labels of a tool that is not pinned: the contract's where nothing is pinned at
    /// all, else everything is untrusted.
    fn unpinned_labels(&self, server: Option<&str>, tool: &str) -> OutputLabels {
        if self.listed {
            return OutputLabels::all(Label::Untrusted);
        }
        let tables = self.plan.tables();
        tool::find_contract(tables, &tool::full_name(server, tool), tool)
            .and_then(|contract| tool::output_labels(tables, contract, self.heuristics.as_ref()))
            .unwrap_or_else(|_| OutputLabels::all(Label::Untrusted))
    }

    /// Records how a server describes its tools, before the agent sees it. It is observed:
    /// whoever chose the server has not read every word of it, but nobody who writes a mail
    /// writes there either. Only what vouches or taints changes, no number of a call.
    pub fn record_definitions(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tools: &[ToolDefinition],
    ) {
        let source = Source {
            server,
            tool: "tools/list",
            call: 0,
        };
        for tool in tools {
            conversation
                .provenance
                .record_observed(&source, &tool.name, &tool.json);
        }
    }

    /// Records how a server introduces itself: the result of `initialize`. As observed
    /// as its tools' descriptions are.
    pub fn record_introduction(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        introduction: &serde_json::Value,
    ) {
        let source = Source {
            server,
            tool: "initialize",
            call: 0,
        };
        conversation
            .provenance
            .record_observed(&source, "", introduction);
    }

    /// Records text that reached the agent by another way than a tool's result, such
    /// as a resource, a prompt or a log message. It is untrusted.
    pub fn record_untrusted(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        origin: &str,
        value: &serde_json::Value,
    ) {
        conversation.calls += 1;
        let source = Source {
            server,
            tool: origin,
            call: conversation.calls,
        };
        conversation
            .provenance
            .record_result(&source, &OutputLabels::all(Label::Untrusted), value);
    }
}

/// The key of a tool in the gate's index.
fn tool_key(server: Option<&str>, tool: &str) -> String {
    let mut key = String::new();
    write_tool_key(server, tool, &mut key);
    key
}

/// Writes the key of a tool. The server's length in front keeps the parts apart.
fn write_tool_key(server: Option<&str>, tool: &str, out: &mut String) {
    // Formatting would cost more than the look-up.
    fn decimal(number: usize, out: &mut String) {
        if number >= 10 {
            decimal(number / 10, out);
        }
        out.push(char::from(b'0' + (number % 10) as u8));
    }
    out.clear();
    if let Some(server) = server {
        decimal(server.len(), out);
        out.push(':');
        out.push_str(server);
    }
    out.push('/');
    out.push_str(tool);
}
