//! The gate: a loaded plan, the pinned tools, and the decision of each call.

mod approvals;
mod attempt;
mod budget;
mod call;
mod carried;
mod codes;
mod conversation;
mod culprit;
mod decide;
mod decision;
mod dispatch;
mod effects;
mod eval;
mod flow;
mod foreign;
mod grounds;
mod hidden;
mod judge;
mod key;
mod leaf;
mod link;
mod pins;
mod policy;
mod raised;
mod reason;
mod record;
mod remembered;
mod request;
mod rows;
mod scratch;
mod session;
mod shared;
mod sink;
mod survey;
mod tool;
mod unmatched;
mod walk;

pub use attempt::Attempt;
pub use call::{Call, CallError, CallMessage};
pub use codes::{VERDICT_CODES, explain_verdict};
pub use conversation::{Conversation, DEFAULT_PROVENANCE_LIMIT};
pub use decision::{Approvable, Decision, ObservedPass, Permit, Position, Unvouched};
pub use grounds::{Grounds, Seen};
pub use record::VerdictRecord;
pub use request::{LISTEN, judged_as, request_arguments};
pub use session::{First, ReadBefore, Session};
pub use shared::{SharedTally, Tallied, Tally};
pub use survey::{ContractSeen, Doing, Surveyed};

use crate::provenance::{OutputLabels, Provenance, Read, Source};
use crate::tools::{Lock, ToolDefinition};
use attempt::CallAttempt;
use bouncer_plan::format::{CONTRACT_DISPATCHES, CONTRACT_EXFILTRATING};
use bouncer_plan::{Corrupt, Effects, Label, Plan};
use key::tool_key;
use pins::Pins;
use policy::Policy;
use serde_json::Value;
use std::sync::Arc;
use tool::{Status, Tool};

/// The server that an agent's own tools count to. What its calls do is not guessed: a hook
/// takes each use of such a tool apart, and makes one call of each thing.
pub const AGENT: &str = "agent";

/// A plan together with the tools that are pinned under it. Shared by all
/// conversations.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
    pins: Pins,
    /// About how many bytes a conversation remembers of what it reads.
    provenance_limit: usize,
    /// What further conversations count their attempts in, beside themselves.
    tally: Option<SharedTally>,
}

/// Whether a value holds any text.
fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(holds_text),
        Value::Object(members) => members.values().any(holds_text),
        _ => false,
    }
}

/// Methods whose answers list what a server offers.
const LISTINGS: [&str; 3] = ["prompts/list", "resources/list", "resources/templates/list"];

impl Gate {
    /// A gate over a plan, with no tools pinned.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let said = plan
            .tables()
            .meta()
            .map_or(0, |meta| meta.provenance_limit.get());
        let provenance_limit = match said {
            0 => DEFAULT_PROVENANCE_LIMIT,
            mib => usize::from(mib) << 20,
        };
        Self {
            policy: Policy::new(plan),
            pins: Pins::default(),
            provenance_limit,
            tally: None,
        }
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        self.policy.plan()
    }

    /// Pins `tools` as the tools of `server`: the first listing of a server. With a
    /// `lock`, tools that the lock lacks stay unpinned and tools that differ from it
    /// are changed. Pinning a server again replaces its pins.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        self.pins.pin(&self.policy, server, tools, lock);
    }

    /// Notes a later listing of the same server: new tools stay unpinned, tools whose
    /// definition differs from the pinned one are denied until they are pinned again, unless
    /// it is another of their accepted forms.
    pub fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.pins.observe(&self.policy, server, tools);
    }

    /// Judges by `plan` from now on. Pinned tools stay pinned, changed ones changed;
    /// conversations keep what they have read and counted.
    ///
    /// # Errors
    /// If the plan's tables contradict themselves. Everything is then as it was.
    pub fn reload(&mut self, plan: Plan) -> Result<(), Corrupt> {
        let policy = self.policy.replaced_by(plan)?;
        self.pins.relink(&policy)?;
        self.policy = policy;
        Ok(())
    }

    /// Holds the tools to another lock from now on. A tool whose entry is the same as
    /// `before` stays as it is; one whose entry is new counts as pinned if the server's
    /// latest definition is the accepted one, and as changed if not; one without an
    /// entry any more counts as changed.
    pub fn accept(&mut self, lock: &Lock, before: Option<&Lock>) {
        self.pins.accept(&self.policy, lock, before);
    }

    /// Whether the policy wants a tool hidden: it says `hide_denied`, and denies every
    /// call of the tool. Never, where some call might be allowed or asked about.
    #[must_use]
    pub fn hides(&self, server: Option<&str>, name: &str) -> bool {
        self.policy.hides(server, name).unwrap_or(false)
    }

    /// How the tools of a server stand, in the order of `names`. Those about which the
    /// plan contradicts itself are left out.
    #[must_use]
    pub fn survey<'n>(
        &self,
        server: Option<&str>,
        names: impl Iterator<Item = &'n str>,
    ) -> Vec<Surveyed> {
        survey::survey(&self.policy, &self.pins, server, names)
    }

    /// The names in rules and in the user's own contracts that mean none of the tools that
    /// were listed so far, in order. Empty where the plan contradicts itself.
    ///
    /// Looks at each name with each tool; for the start and for reloads.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        let tables = self.policy.plan().tables();
        unmatched::unmatched(tables, self.pins.listed()).unwrap_or_default()
    }

    /// The names of the listed tools, as rules know them.
    pub fn listed(&self) -> impl Iterator<Item = String> {
        let listed = self.pins.listed();
        listed.map(|(server, name)| link::full_name(server, name))
    }

    /// What calls of a tool can do, before any; `None` where the plan contradicts itself.
    #[must_use]
    pub fn doing(&self, server: Option<&str>, name: &str) -> Option<Doing> {
        survey::doing(&self.policy, &self.pins, server, name).ok()
    }

    /// What a call does whose arguments at the top are these, with their texts. `None`:
    /// nothing could be told.
    #[must_use]
    pub fn done_by<'t>(
        &self,
        server: Option<&str>,
        name: &'t str,
        arguments: impl Iterator<Item = (&'t str, Option<&'t str>)> + Clone,
    ) -> Option<Effects> {
        survey::done_by(&self.policy, &self.pins, server, name, arguments).unwrap_or_default()
    }

    /// What the user's words ask for, as the policy's words tell; `None`: they are in no
    /// language that is known, or nothing is guessed.
    #[must_use]
    pub fn asked_for(&self, message: &str) -> Option<Effects> {
        self.policy.heuristics().ok()??.asked.named(message)
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

    /// Takes a server that is called [`AGENT`] for one like any other. For a proxy, whose
    /// servers are called what their owner likes. Before any tool is pinned.
    pub const fn fronts_servers(&mut self) {
        self.policy.forget_agent();
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
        let known = self.pins.get(server, name);
        known.is_some_and(Tool::is_counted) && tally.lock().is_ok_and(|mut tally| tally.is_busy())
    }

    /// Whether it can matter to a call of that tool what was called before: because of
    /// `max_calls`, rates or `calls(this)`, its own or those of a tool that it calls. True
    /// where that cannot be told.
    #[must_use]
    pub fn remembers_attempts(&self, server: Option<&str>, name: &str) -> bool {
        let contracts = self.plan().tables().contracts;
        let matters = |tool: &Tool| {
            let contract = contracts.get(tool.link.contract as usize);
            let dispatches = contract.is_some_and(|c| c.flags.get() & CONTRACT_DISPATCHES != 0);
            tool.is_counted() || dispatches
        };
        match self.pins.get(server, name) {
            Some(known) => matters(known),
            None => {
                let linked = self.policy.link_name(server, name);
                linked.map_or(true, |tool| matters(&tool))
            }
        }
    }

    /// Whether a verdict on that tool may depend on where something was read. True where that
    /// cannot be told.
    #[must_use]
    pub fn asks_what_was_read(&self, server: Option<&str>, name: &str) -> bool {
        let contracts = self.plan().tables().contracts;
        let asks = CONTRACT_DISPATCHES | CONTRACT_EXFILTRATING;
        self.policy.asks_what_was_read()
            || self.pins.get(server, name).is_none_or(|tool| {
                let contract = contracts.get(tool.link.contract as usize);
                contract.is_some_and(|contract| contract.flags.get() & asks != 0)
                    || (tool.effects.are_told() && !tool.effects.is_reading(name))
            })
    }

    /// The servers and names of the tools that a call calls in turn, outermost first:
    /// attempts at them count as well. Ends at what cannot be read, which is denied.
    #[must_use]
    pub fn tools_within(
        &self,
        conversation: &mut Conversation,
        call: &Call<'_>,
    ) -> Vec<(Option<String>, String)> {
        dispatch::tools_within(&self.policy, &self.pins, conversation, call).unwrap_or_default()
    }

    /// A fresh conversation: no budget used, nothing approved, nothing recorded.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        let mut fresh = Conversation::new(self.plan().tables(), self.provenance_limit);
        fresh.generation = self.generation();
        if let Some(tally) = &self.tally {
            fresh.share_budgets(SharedTally::clone(tally));
        }
        fresh
    }

    /// How often the plan was replaced.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.policy.generation()
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
        if conversation.generation != self.generation() {
            conversation.follow(&self.policy, &self.pins, now_ms);
        }
        let this = CallAttempt {
            call: *call,
            outer: None,
            attempt,
            now_ms,
        };
        decide::decide(&self.policy, &self.pins, conversation, &this)
    }

    /// Records what a call returned, before the agent sees it: the `result` member of
    /// the answer (or its `error` member), whole.
    pub fn record(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tool: &str,
        result: &Value,
    ) {
        self.record_by(
            conversation,
            server,
            tool,
            result,
            |provenance, source, labels| provenance.record_result(source, labels, result),
        );
    }

    /// As [`Self::record`], of a result that others hold as well: it may be kept as it is until
    /// a decision asks what was read.
    pub fn record_shared(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tool: &str,
        result: &Arc<Value>,
    ) {
        self.record_by(
            conversation,
            server,
            tool,
            result,
            |provenance, source, labels| provenance.record_shared(source, labels, result),
        );
    }

    fn record_by(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        tool: &str,
        result: &Value,
        record: impl FnOnce(&mut Provenance, &Source<'_>, &OutputLabels) -> Read,
    ) {
        conversation.calls += 1;
        let source = Source {
            server,
            tool,
            call: conversation.calls,
        };
        let pinned = self.pins.get(server, tool);
        // The labels of a changed tool were chosen for another definition.
        let trusted = pinned.filter(|tool| tool.status == Status::Pinned);
        let unpinned;
        let labels = match trusted {
            Some(tool) => &tool.labels,
            None => {
                unpinned = self.unpinned_labels(server, tool);
                &unpinned
            }
        };
        let Conversation {
            provenance, echoes, ..
        } = conversation;
        let read = match echoes.get_mut(&tool_key(server, tool)) {
            Some(echo) if labels.can_vouch() => {
                let read = provenance.record_answer(&source, labels, result, echo);
                echo.answered(result);
                read
            }
            _ => record(provenance, &source, labels),
        };
        conversation.note_read(&source, read);
    }

    /// Counts results that were read and are not recorded; `first` is the place among them of the
    /// first that said anything, and its server and tool. Whoever leaves results out has to
    /// record those of them ([`Self::record_left_out`]) that may answer the conversation's
    /// [open questions](Conversation::open_questions), and judge again. Results that
    /// [have to be recorded](Self::has_to_record) cannot be left out. Returns the number of the
    /// call before them.
    pub fn leave_out(
        &self,
        conversation: &mut Conversation,
        results: u64,
        first: Option<(u64, Option<&str>, &str)>,
    ) -> u64 {
        let before = conversation.calls;
        if let Some((place, server, tool)) = first {
            let source = Source {
                server,
                tool,
                call: before + 1 + place,
            };
            let read = Read {
                untrusted: true,
                private: false,
            };
            conversation.note_read(&source, read);
        }
        if results > 0 {
            conversation.provenance.leave_out(first.is_some());
        }
        conversation.calls += results;
        before
    }

    /// Records a result that was left out, whose call had this number.
    pub fn record_left_out(
        &self,
        conversation: &mut Conversation,
        call: u64,
        server: Option<&str>,
        tool: &str,
        result: &Value,
    ) {
        let calls = std::mem::replace(&mut conversation.calls, call.saturating_sub(1));
        self.record(conversation, server, tool, result);
        conversation.calls = calls;
    }

    /// Whether what a tool returns may vouch for a destination or be private, so that it cannot
    /// be left out.
    #[must_use]
    pub fn has_to_record(&self, server: Option<&str>, tool: &str) -> bool {
        let labels = self.unpinned_labels(server, tool);
        self.pins.get(server, tool).is_some() || labels.can_vouch() || labels.any_private()
    }

    /// A fresh conversation that has read what another one had: no budget used, nothing
    /// approved.
    #[must_use]
    pub fn conversation_after(&self, other: Conversation) -> Conversation {
        Conversation {
            provenance: other.provenance,
            session: other.session,
            calls: other.calls,
            ..self.conversation()
        }
    }

    /// Records a message that the user typed: what it names is vouched for as a place that
    /// data may go to, and what it asks for as an effect. Quoted lines, code blocks, long
    /// quotations and messages of more than [`MOST_TYPED`](crate::provenance::MOST_TYPED)
    /// characters are not the user's own words.
    ///
    /// Whoever calls this says that a human typed the message and the agent could not have.
    pub fn record_user(&self, conversation: &mut Conversation, message: &str) {
        let own = conversation.provenance.record_typed(message);
        let heuristics = self.policy.heuristics().ok().flatten();
        let named = own
            .zip(heuristics)
            .and_then(|(own, heuristics)| heuristics.asked.named(&own));
        conversation.session.asked.note(named);
    }

    /// Labels of a tool that is not pinned: the contract's where nothing is pinned at
    /// all, else everything is untrusted.
    fn unpinned_labels(&self, server: Option<&str>, tool: &str) -> OutputLabels {
        if self.pins.any_listed() {
            return OutputLabels::all(Label::Untrusted);
        }
        let labels = self.policy.labels_by_name(server, tool);
        labels.unwrap_or_else(|_| OutputLabels::all(Label::Untrusted))
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
        let tools = tools.iter().map(|tool| Arc::clone(&tool.json));
        conversation
            .provenance
            .record_definitions(&source, tools.collect());
    }

    /// Records how a server introduces itself: the result of `initialize`. As observed
    /// as its tools' descriptions are.
    pub fn record_introduction(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        introduction: &Value,
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
    /// as a resource, a prompt or a log message. It is untrusted; how a server lists what it
    /// offers is observed, as the descriptions of its tools are.
    pub fn record_untrusted(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        origin: &str,
        value: &Value,
    ) {
        self.record_untrusted_shared(conversation, server, origin, &Arc::new(value.clone()));
    }

    /// As [`Self::record_untrusted`], of something that others hold as well.
    pub fn record_untrusted_shared(
        &self,
        conversation: &mut Conversation,
        server: Option<&str>,
        origin: &str,
        value: &Arc<Value>,
    ) {
        conversation.calls += 1;
        let source = Source {
            server,
            tool: origin,
            call: conversation.calls,
        };
        let provenance = &mut conversation.provenance;
        if LISTINGS.contains(&origin) && value.get("code").is_none() {
            provenance.record_observed_shared(&source, "", value);
            let read = Read {
                untrusted: holds_text(value),
                ..Read::default()
            };
            conversation.note_read(&source, read);
        } else {
            let labels = OutputLabels::all(Label::Untrusted);
            let read = provenance.record_shared(&source, &labels, value);
            conversation.note_read(&source, read);
        }
    }
}
