//! The gate with one conversation, which several servers may share.

use crate::conversation::judge::{Judge, Judgement, Pass};
use crate::conversation::unmatched;
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate, Surveyed, Unvouched};
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Verdict;
use bouncer_plan::{Corrupt, Plan};
use bouncer_system::halt::Halt;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;

/// What the clock of a conversation shows at its start: others whose budgets it shares may
/// have called long before.
const BEFORE_MS: u64 = 1 << 40;

/// As many bytes of what was read take as long to take apart as a few dozen calls.
const LONG: usize = 64 * 1024;
/// So many do not wait until somebody asks.
const MUCH: usize = 4 << 20;

/// Has what was read taken apart on another thread, so that nobody else has to wait, if it has
/// so many bytes.
fn settle_elsewhere(conversation: &mut Conversation, least: usize) {
    // Without a runtime there is no other thread: the next decision does it.
    if let Ok(runtime) = Handle::try_current()
        && let Some(settling) = conversation.settle_elsewhere(least)
    {
        runtime.spawn_blocking(|| settling.run());
    }
}

/// The gate and one conversation, as one server takes part in it.
#[derive(Clone, Debug)]
pub(crate) struct GatedConversation {
    shared: Rc<RefCell<Shared>>,
    server: Option<String>,
}

/// What all servers of a conversation share.
#[derive(Debug)]
struct Shared {
    gate: Gate,
    conversation: Conversation,
    lock: Option<Lock>,
    started: Instant,
    /// Servers whose tools are pinned: what they list later is held against that, also
    /// after they were started again.
    pinned: HashSet<Option<String>>,
    /// Servers that take part.
    servers: HashSet<String>,
    /// The policy is only observed.
    observe: bool,
    halt: Halt,
}

impl GatedConversation {
    /// A new conversation with a server.
    pub(crate) fn new(gate: Gate, server: Option<String>, lock: Option<Lock>) -> Self {
        let shared = Rc::new(RefCell::new(Shared {
            conversation: gate.conversation(),
            gate,
            lock,
            started: Instant::now(),
            pinned: HashSet::new(),
            servers: HashSet::new(),
            observe: false,
            halt: Halt::of_user(),
        }));
        Self { shared, server }.unlisted()
    }

    /// The same, with the policy observed rather than held, if `observe`.
    pub(crate) fn observing(self, observe: bool) -> Self {
        self.shared.borrow_mut().observe = observe;
        self
    }

    /// The same conversation, with another server.
    pub(crate) fn with_server(&self, server: &str) -> Self {
        let session = Self {
            shared: Rc::clone(&self.shared),
            server: Some(server.to_owned()),
        };
        self.shared.borrow_mut().take_part(server);
        if self.shared.borrow().pinned.contains(&session.server) {
            return session;
        }
        session.unlisted()
    }

    /// Until the server has listed its tools, none is known.
    fn unlisted(self) -> Self {
        self.shared.borrow_mut().pin(self.server.as_deref(), &[]);
        self
    }
}

impl GatedConversation {
    /// Judges by another plan from now on.
    ///
    /// # Errors
    /// If the plan's tables contradict themselves; nothing has changed then.
    pub(crate) fn reload(&self, plan: Plan) -> Result<(), Corrupt> {
        self.shared.borrow_mut().gate.reload(plan)
    }

    /// Holds the tools to another lock from now on.
    pub(crate) fn accept(&self, lock: Lock) {
        let shared = &mut *self.shared.borrow_mut();
        shared.gate.accept(&lock, shared.lock.as_ref());
        shared.lock = Some(lock);
    }

    /// The plan in force.
    pub(crate) fn plan(&self) -> Plan {
        self.shared.borrow().gate.plan().clone()
    }

    /// The digest of the plan in force, as logs show it.
    pub(crate) fn plan_digest(&self) -> String {
        self.shared.borrow().gate.plan().short_digest()
    }
}

impl Shared {
    fn take_part(&mut self, server: &str) {
        if !self.servers.contains(server) {
            self.servers.insert(server.to_owned());
        }
    }

    fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.gate.pin(server, tools, self.lock.as_ref());
    }

    fn record_definitions(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        self.gate
            .record_definitions(&mut self.conversation, server, tools);
    }
}

impl Judge for GatedConversation {
    fn judge<R>(
        &mut self,
        call: &Call<'_>,
        attempt: Attempt,
        then: impl FnOnce(Judgement<'_>) -> R,
    ) -> R {
        let mut shared = self.shared.borrow_mut();
        let Shared {
            gate,
            conversation,
            started,
            observe,
            halt,
            ..
        } = &mut *shared;
        let since = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now = since.saturating_add(BEFORE_MS);
        let decision = gate.decide(conversation, call, attempt, now);
        let record = decision.record();
        // The user's stop comes before everything, also where the policy is only observed.
        if let Some(why) = halt.reason(self.server.as_deref()) {
            let record = record.halted(why);
            return then(Judgement { record, pass: None });
        }
        let pass = match record.verdict {
            Verdict::Allow => decision.permit().map(Pass::Permit),
            Verdict::Ask | Verdict::Deny if *observe => decision.observed().map(Pass::Observed),
            Verdict::Ask | Verdict::Deny => None,
        };
        then(Judgement { record, pass })
    }

    fn approve(&mut self, tool: &str, unvouched: &Unvouched<String>) -> bool {
        let conversation = &mut self.shared.borrow_mut().conversation;
        let server = self.server.as_deref();
        conversation.approve(server, tool, &unvouched.param, &unvouched.destination)
    }

    fn withdraw(&mut self, tool: &str, unvouched: &Unvouched<String>) {
        let conversation = &mut self.shared.borrow_mut().conversation;
        let server = self.server.as_deref();
        conversation.withdraw(server, tool, &unvouched.param, &unvouched.destination);
    }

    fn pin(&mut self, tools: &[ToolDefinition]) {
        let shared = &mut *self.shared.borrow_mut();
        if shared.pinned.insert(self.server.clone()) {
            shared.pin(self.server.as_deref(), tools);
        } else {
            shared.gate.observe(self.server.as_deref(), tools);
        }
        shared.record_definitions(self.server.as_deref(), tools);
    }

    fn observe(&mut self, tools: &[ToolDefinition]) {
        let shared = &mut *self.shared.borrow_mut();
        shared.gate.observe(self.server.as_deref(), tools);
        shared.record_definitions(self.server.as_deref(), tools);
    }

    fn record(&mut self, tool: &str, result: &Arc<Value>) {
        let shared = &mut *self.shared.borrow_mut();
        let (gate, conversation) = (&shared.gate, &mut shared.conversation);
        gate.record_shared(conversation, self.server.as_deref(), tool, result);
        settle_elsewhere(conversation, MUCH);
    }

    fn record_introduction(&mut self, introduction: &Value) {
        let shared = &mut *self.shared.borrow_mut();
        let (gate, conversation) = (&shared.gate, &mut shared.conversation);
        gate.record_introduction(conversation, self.server.as_deref(), introduction);
    }

    fn record_untrusted(&mut self, origin: &str, value: &Arc<Value>) {
        let shared = &mut *self.shared.borrow_mut();
        let (gate, conversation) = (&shared.gate, &mut shared.conversation);
        gate.record_untrusted_shared(conversation, self.server.as_deref(), origin, value);
        settle_elsewhere(conversation, MUCH);
    }

    fn generation(&self) -> u64 {
        self.shared.borrow().gate.generation()
    }

    fn is_held_up(&self, tool: &str) -> bool {
        let shared = &mut *self.shared.borrow_mut();
        let (gate, server) = (&shared.gate, self.server.as_deref());
        if gate.waits_for_tally(server, tool) {
            return true;
        }
        if !gate.asks_what_was_read(server, tool) {
            return false;
        }
        settle_elsewhere(&mut shared.conversation, LONG);
        shared.conversation.is_settling()
    }

    fn hides(&self, tool: &str) -> bool {
        let gate = &self.shared.borrow().gate;
        gate.hides(self.server.as_deref(), tool)
    }

    fn survey(&self, tools: &mut dyn Iterator<Item = &str>) -> Vec<Surveyed> {
        let gate = &self.shared.borrow().gate;
        gate.survey(self.server.as_deref(), tools)
    }

    fn tell_unmatched(&self) {
        let shared = self.shared.borrow();
        let (servers, pinned) = (&shared.servers, &shared.pinned);
        // Without a server's name there is one server only.
        let all = self.server.is_none()
            || !servers.is_empty() && servers.iter().all(|s| pinned.contains(&Some(s.clone())));
        unmatched::tell(&shared.gate, all);
    }
}
