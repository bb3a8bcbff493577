//! Judges all that one use of a tool stands for, with what is remembered of the session.
//! Knows neither agents' forms nor files.

use crate::SERVER;
use crate::actions::{self, Action};
use crate::budgets::CountedOnce;
use crate::digest::Group;
use crate::disk::Base;
use crate::event::Event;
use crate::judged::Judged;
use crate::memory::{LockedSession, MemoryError, ToolUse};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate, VerdictRecord, judged_as};
use bouncer_plan::{Stage, Verdict};
use bouncer_reader::json::{Limits, Scratch, validate_object};
use bouncer_reader::shown::escape;
use bouncer_system::moment::Moment;
use std::sync::{Arc, Mutex, PoisonError};

/// What the clock of rates shows now; earlier uses of tools were before.
const NOW_MS: u64 = 1 << 40;

/// Why a use of a tool cannot be judged.
#[derive(Debug)]
pub enum JudgeError {
    /// The memory cannot be used.
    Memory(MemoryError),
    /// It stands for nothing that a policy could judge.
    NoCall,
}

impl From<MemoryError> for JudgeError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

/// What a use of a tool is judged with.
pub struct Judge<'j> {
    /// The gate, with its plan.
    pub gate: &'j Gate,
    /// Directories to see paths from.
    pub base: &'j Base,
    /// What is remembered.
    pub session: &'j LockedSession<'j>,
    /// The time of the use.
    pub now: &'j Moment,
    /// Budgets that are counted together with others.
    pub budgets: Option<Arc<Mutex<CountedOnce>>>,
    /// Whether every verdict needs all that was read.
    pub needs_results: bool,
}

/// Results that were not recorded.
struct LeftOut {
    group: Group,
    /// The number of the last call before them.
    calls: u64,
}

impl Judge<'_> {
    /// The strictest verdict on all that the use stands for, and how many uses of tools
    /// there are with it.
    ///
    /// # Errors
    /// If the memory cannot be used, or there is nothing to judge. Then nothing is decided,
    /// and the tool must not run.
    pub fn judge(&self, event: &Event) -> Result<(Judged, u64), JudgeError> {
        let limits = Limits::default();
        let mut scratch = Scratch::new(&limits);
        let mut used = self.session.count_of_uses()?;
        if let Err(error) = validate_object(&event.input, &limits, &mut scratch) {
            let reason = format!("malformed arguments: {error}");
            let record = VerdictRecord::denial(Stage::Malformed, "malformed", reason);
            return Ok((Judged::without_policy(record), used));
        }
        let stands_for = actions::of(event, self.base);
        let (worst, mut conversation) = self.strictest(&stands_for.calls)?;
        for (server, tool) in self.tried(&mut conversation, &stands_for.calls) {
            let at = self.now.clone();
            self.session.count(used, &ToolUse { server, tool, at })?;
            used = used.saturating_add(1);
        }
        let lenient = worst
            .as_ref()
            .is_none_or(|worst| worst.record.verdict < Verdict::Ask);
        // What cannot be read is never less than a question.
        let unread = stands_for.unread.filter(|_| lenient);
        let judged = match unread {
            Some(why) => {
                let reason = format!("what it does cannot be read for certain: {why}");
                Judged::without_policy(VerdictRecord {
                    verdict: Verdict::Ask,
                    ..VerdictRecord::denial(Stage::Default, "hook.unread", reason)
                })
            }
            None => worst.ok_or(JudgeError::NoCall)?,
        };
        Ok((judged, used))
    }

    /// The strictest verdict on the calls, and the conversation as it is after them.
    fn strictest(&self, calls: &[Action]) -> Result<(Option<Judged>, Conversation), MemoryError> {
        let remembers_attempts = |action: &Action| {
            self.gate
                .remembers_attempts(action.server.as_deref(), &action.tool)
        };
        let earlier = if calls.iter().any(remembers_attempts) {
            self.session.uses()?
        } else {
            Vec::new()
        };
        // What was read can only make a difference where somebody asks, or a rule looks at
        // it: an allow comes from a list of trusted destinations or from a tool without
        // destinations, and neither depends on it.
        // Nothing is guessed of the agent's own tools; of others what was read may matter.
        let others = |action: &Action| action.server.as_deref() != Some(SERVER);
        let mut with_results = self.needs_results || calls.iter().any(others);
        let mut read = self.gate.conversation();
        let mut left_out = match with_results {
            true => self.read_latest(&mut read)?,
            false => Vec::new(),
        };
        loop {
            let mut conversation = self.conversation(read, &earlier);
            let mut worst: Option<Judged> = None;
            for action in calls {
                let judged = self.one(&mut conversation, action);
                if worst
                    .as_ref()
                    .is_none_or(|worst| judged.record.verdict > worst.record.verdict)
                {
                    worst = Some(judged);
                }
            }
            let asks = worst
                .as_ref()
                .is_some_and(|worst| worst.record.verdict == Verdict::Ask);
            if asks && !with_results {
                with_results = true;
                read = self.gate.conversation();
                left_out = self.read_latest(&mut read)?;
                continue;
            }
            let questions = conversation.open_questions();
            let Some(at) = self.answers_one(&left_out, &questions)? else {
                return Ok((worst, conversation));
            };
            read = self.gate.conversation_after(conversation);
            self.read_left_out(&mut read, &left_out.remove(at))?;
        }
    }

    /// Records the latest results, and those that have to be in any case. Returns those that
    /// were left out.
    fn read_latest(&self, conversation: &mut Conversation) -> Result<Vec<LeftOut>, MemoryError> {
        let mut left_out = Vec::new();
        let mut before = 0;
        for group in self.session.groups()? {
            before = group.last;
            let has_to = |(server, tool): &(Option<String>, String)| {
                self.gate.has_to_record(server.as_deref(), tool)
            };
            if group.tools.iter().any(has_to) {
                self.read_between(conversation, group.before, group.last)?;
                continue;
            }
            let results = self.session.count_of(&group)?;
            let first = group.said.zip(group.tools.first());
            let first = first
                .filter(|_| results > 0)
                .map(|(place, (server, tool))| (place, server.as_deref(), tool.as_str()));
            let calls = self.gate.leave_out(conversation, results, first);
            left_out.push(LeftOut { group, calls });
        }
        self.read_between(conversation, before, i64::MAX)?;
        Ok(left_out)
    }

    fn read_between(
        &self,
        conversation: &mut Conversation,
        before: i64,
        last: i64,
    ) -> Result<(), MemoryError> {
        for result in self.session.results_between(before, last)? {
            let (server, tool) = (result.server.as_deref(), &result.tool);
            self.gate.record(conversation, server, tool, &result.value);
        }
        Ok(())
    }

    /// Which of those that were left out may answer one of the questions.
    fn answers_one(
        &self,
        left_out: &[LeftOut],
        questions: &[String],
    ) -> Result<Option<usize>, MemoryError> {
        if left_out.is_empty() || questions.is_empty() {
            return Ok(None);
        }
        let mut pages = self.session.pages()?;
        for (at, left) in left_out.iter().enumerate() {
            for question in questions {
                if left.group.may_name(&mut pages, question)? {
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    fn read_left_out(
        &self,
        conversation: &mut Conversation,
        left: &LeftOut,
    ) -> Result<(), MemoryError> {
        let group = &left.group;
        let results = self.session.results_between(group.before, group.last)?;
        for (call, result) in (left.calls + 1..).zip(results) {
            let (server, tool) = (result.server.as_deref(), &result.tool);
            self.gate
                .record_left_out(conversation, call, server, tool, &result.value);
        }
        Ok(())
    }

    /// The conversation as it was before this use, of one that has read what was read.
    fn conversation(&self, read: Conversation, earlier: &[ToolUse]) -> Conversation {
        let mut conversation = read;
        for used in earlier {
            // Budgets only count tools and times.
            let call = Call::hypothetical(used.server.as_deref(), &used.tool, Some(b"{}"));
            let at = NOW_MS.saturating_sub(self.now.since(&used.at));
            self.gate
                .decide(&mut conversation, &call, Attempt::First, at);
        }
        // Only what follows is an attempt of now.
        if let Some(budgets) = &self.budgets {
            budgets
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .again();
            conversation.share_budgets(Arc::<Mutex<CountedOnce>>::clone(budgets));
        }
        conversation
    }

    fn one(&self, conversation: &mut Conversation, action: &Action) -> Judged {
        if judged_as(&action.tool).is_some() {
            // Else a tool of that name would be judged as what is no tool.
            let why = "no tool is called so".to_owned();
            return Judged {
                judged_as: None,
                record: VerdictRecord::denial(Stage::Malformed, "malformed", why),
            };
        }
        let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
        let mut record = self
            .gate
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

    /// The tools that are tried, those within others included: which they were is not known
    /// later.
    fn tried(
        &self,
        conversation: &mut Conversation,
        calls: &[Action],
    ) -> Vec<(Option<String>, String)> {
        let tried = calls.iter().flat_map(|action| {
            let call =
                Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
            let within = self.gate.tools_within(conversation, &call);
            std::iter::once((action.server.clone(), action.tool.clone())).chain(within)
        });
        tried.collect()
    }
}
