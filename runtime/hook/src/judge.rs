//! Judges one use of an agent's tool: all calls that it stands for, with what the
//! conversation has read, and the strictest verdict counts.

use crate::SERVER;
use crate::actions::{self, Action, Base};
use crate::agents::Event;
use crate::budgets::Once;
use crate::store::{Attempt as Used, Held, StoreError};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate, VerdictRecord};
use bouncer_plan::format::VIEW_PROVENANCE;
use bouncer_plan::{Plan, Stage, Verdict};
use bouncer_reader::json::{Limits, Scratch, validate_object};
use bouncer_reader::text::escaped::escape;
use bouncer_system::moment::Moment;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What the clock of rates shows now; earlier uses of tools were before.
const NOW_MS: u64 = 1 << 40;

/// What one use of a tool was found to be.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The tool of the policy that was judged, where the agent has another name for it.
    pub judged_as: Option<String>,
    /// The verdict.
    pub record: VerdictRecord,
}

impl Judged {
    /// About the use of the tool as a whole.
    const fn whole(record: VerdictRecord) -> Self {
        Self {
            judged_as: None,
            record,
        }
    }
}

/// Why no decision could be made. The tool is blocked.
#[derive(Debug)]
pub enum JudgeError {
    /// What was read before cannot be told.
    Store(StoreError),
    /// The use of the tool stands for no call.
    NoCall,
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::NoCall => f.write_str("it stands for no call"),
        }
    }
}

impl std::error::Error for JudgeError {}

impl From<StoreError> for JudgeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Whether a rule of the plan looks at where values came from: then no call can be
/// decided without all that was read.
#[must_use]
pub fn looks_at_provenance(plan: &Plan) -> bool {
    let mut dimensions = plan.tables().dimensions.iter();
    dimensions.any(|dimension| dimension.view.get() == VIEW_PROVENANCE)
}

/// The strictest of all that the use of the tool stands for, and how many uses of tools
/// there are with it.
///
/// # Errors
/// If the memory cannot be used, or the event stands for no call.
pub fn judge(
    gate: &Gate,
    event: &Event,
    base: &Base,
    held: &Held<'_>,
    now: &Moment,
    always: bool,
    once: Option<&Arc<Mutex<Once>>>,
) -> Result<(Judged, u64), JudgeError> {
    let limits = Limits::default();
    let mut scratch = Scratch::new(&limits);
    let used = held.used()?;
    if let Err(error) = validate_object(&event.input, &limits, &mut scratch) {
        let why = format!("malformed arguments: {error}");
        let malformed = VerdictRecord::denial(Stage::Malformed, "malformed", why);
        return Ok((Judged::whole(malformed), used));
    }
    let stands_for = actions::of(event, base);
    let remembers_attempts =
        |action: &Action| gate.remembers_attempts(action.server.as_deref(), &action.tool);
    let earlier = if stands_for.calls.iter().any(remembers_attempts) {
        held.attempts()?
    } else {
        Vec::new()
    };
    let fresh = |with_memory: bool| -> Result<Conversation, JudgeError> {
        let mut conversation = gate.conversation();
        if with_memory {
            for returned in held.returned()? {
                gate.record(
                    &mut conversation,
                    returned.server.as_deref(),
                    &returned.tool,
                    &returned.value,
                );
            }
        }
        // Budgets only count tools and times.
        for attempt in &earlier {
            let call = Call::hypothetical(attempt.server.as_deref(), &attempt.tool, Some(b"{}"));
            gate.decide(
                &mut conversation,
                &call,
                Attempt::First,
                NOW_MS.saturating_sub(now.since(&attempt.at)),
            );
        }
        // Only what follows is an attempt of now.
        if let Some(once) = once {
            once.lock().unwrap_or_else(PoisonError::into_inner).again();
            conversation.share_budgets(Arc::<Mutex<Once>>::clone(once));
        }
        Ok(conversation)
    };
    // What was read can only make a difference where somebody asks, or a rule looks at
    // it: an allow comes from a list of trusted destinations or from a tool without
    // destinations, and neither depends on it.
    let mut conversation = fresh(always)?;
    let mut remembers = always;
    let mut worst: Option<Judged> = None;
    for (at, action) in stands_for.calls.iter().enumerate() {
        let mut judged = one(gate, &mut conversation, action);
        if judged.record.verdict == Verdict::Ask && !remembers {
            conversation = fresh(true)?;
            remembers = true;
            for before in stands_for.calls.iter().take(at) {
                one(gate, &mut conversation, before);
            }
            judged = one(gate, &mut conversation, action);
        }
        if worst
            .as_ref()
            .is_none_or(|worst| judged.record.verdict > worst.record.verdict)
        {
            worst = Some(judged);
        }
    }
    // Those within others count for themselves: which they were is not known later.
    let tried = stands_for.calls.iter().flat_map(|action| {
        let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
        let within = gate.tools_within(&mut conversation, &call);
        std::iter::once((action.server.clone(), action.tool.clone())).chain(within)
    });
    let mut used = used;
    for (server, tool) in tried {
        let attempt = Used {
            server,
            tool,
            at: now.clone(),
        };
        held.attempt(used, &attempt)?;
        used = used.saturating_add(1);
    }
    if let Some(why) = stands_for.unread
        && worst
            .as_ref()
            .is_none_or(|worst| worst.record.verdict < Verdict::Ask)
    {
        let why = format!("what it does cannot be read for certain: {why}");
        let unread = VerdictRecord {
            verdict: Verdict::Ask,
            ..VerdictRecord::denial(Stage::Default, "hook.unread", why)
        };
        return Ok((Judged::whole(unread), used));
    }
    let worst = worst.ok_or(JudgeError::NoCall)?;
    Ok((worst, used))
}

fn one(gate: &Gate, conversation: &mut Conversation, action: &Action) -> Judged {
    let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
    let mut record = gate
        .decide(conversation, &call, Attempt::First, NOW_MS)
        .record();
    if let Some(about) = &action.about
        && record.verdict != Verdict::Allow
    {
        record.reason = format!("{} (in `{}`)", record.reason, escape(about));
    }
    let own = action.server.as_deref() == Some(SERVER);
    Judged {
        judged_as: own.then(|| format!("{SERVER}__{}", action.tool)),
        record,
    }
}
