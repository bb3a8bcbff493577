//! One run of a hook: from the agent's message to the answer. A decision is written down
//! before it is told. Knows no agent by name, and not how a plan is made.

use crate::actions;
use crate::agents::{self, Agent};
use crate::budgets::CountedOnce;
use crate::disk::Base;
use crate::event::{Answer, Event, Phase};
use crate::judge::{Judge, JudgeError};
use crate::judged::Judged;
use crate::memory::{Memory, MemoryError};
use crate::message::{MAX_MESSAGE, MessageError};
use crate::plans;
use bouncer_audit::{Arguments, Audit, Entry, Outcome};
use bouncer_engine::gate::{Gate, Tally};
use bouncer_plan::{Plan, Verdict};
use bouncer_system::halt::Halt;
use bouncer_system::moment::Moment;
use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A hook of one agent, and where it keeps what it needs.
#[derive(Debug)]
pub struct Hook {
    /// Whose hook it is.
    pub agent: &'static dyn Agent,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The project, where the agent's environment names it.
    pub project: Option<PathBuf>,
    /// The file of what is remembered; by default in the user's home.
    pub memory: Option<PathBuf>,
    /// When the hook was started.
    pub start: Instant,
}

/// What decides.
#[derive(Debug)]
pub struct Policy {
    /// The plan.
    pub plan: Plan,
    /// The audit log; by default in the user's home.
    pub audit: Option<PathBuf>,
    /// Budgets that are counted together with others.
    pub budgets: Option<Box<dyn Tally>>,
}

/// Why there is no decision. `E`: why there is no policy.
#[derive(Debug)]
pub enum HookError<E> {
    /// The agent's message cannot be used.
    Message(MessageError),
    /// The policy cannot be used.
    Policy(E),
    /// What is remembered cannot be used.
    Memory(MemoryError),
    /// The tool stands for nothing that a policy could judge.
    NoCall,
    /// Nothing says where to remember.
    NoPlaceForMemory,
    /// Nothing says where to log.
    NoPlaceForAudit,
    /// The audit log cannot be written.
    Audit(PathBuf, String),
}

impl<E: fmt::Display> fmt::Display for HookError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::NoCall => f.write_str("it stands for no call"),
            Self::NoPlaceForMemory => {
                f.write_str("there is no home directory for what is remembered: give `--store`")
            }
            Self::NoPlaceForAudit => {
                f.write_str("there is no home directory for the audit log: give `--audit`")
            }
            Self::Audit(path, error) => {
                write!(
                    f,
                    "cannot write the audit log `{}`: {error}",
                    path.display()
                )
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for HookError<E> {}

impl<E> From<MemoryError> for HookError<E> {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

impl<E> From<JudgeError> for HookError<E> {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::Memory(error) => Self::Memory(error),
            JudgeError::NoCall => Self::NoCall,
        }
    }
}

/// The directory of what belongs to the user's bouncer.
#[must_use]
pub fn own_directory(home: Option<&Path>) -> Option<PathBuf> {
    home.map(|home| home.join(".bouncer"))
}

impl Hook {
    /// Answers one message. `policy` is only called where something is to be decided.
    ///
    /// # Errors
    /// If no decision can be made: the agent then has to be told so
    /// ([`failed`](agents::failed)), and the tool must not run.
    pub fn answer<E>(
        &self,
        message: impl Read,
        policy: impl FnOnce() -> Result<Policy, E>,
    ) -> Result<Answer, HookError<E>> {
        let mut bytes = Vec::new();
        let read = message.take(MAX_MESSAGE as u64 + 1).read_to_end(&mut bytes);
        let event = match read {
            Ok(length) if length > MAX_MESSAGE => Err(MessageError::TooLong),
            Ok(_) => self.agent.read(&bytes),
            Err(error) => Err(MessageError::Read(error)),
        };
        let event = event.map_err(HookError::Message)?;
        match event.phase {
            Phase::Other => Ok(agents::noted()),
            Phase::After => self.remember(&event),
            Phase::Before => {
                let policy = policy().map_err(HookError::Policy)?;
                let judged = self.decide(&event, policy)?;
                Ok(agents::decided(self.agent, &event, &judged))
            }
        }
    }

    fn memory<E>(&self) -> Result<Memory, HookError<E>> {
        let own = || Some(own_directory(self.home.as_deref())?.join("hook.db"));
        let path = self.memory.clone().or_else(own);
        let path = path.ok_or(HookError::NoPlaceForMemory)?;
        Ok(Memory::open(&path)?)
    }

    /// Agents choose their sessions' names; of two agents they may be the same.
    fn session(&self, event: &Event) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.agent.key().as_bytes());
        hasher.update(b"\0");
        hasher.update(event.session.as_bytes());
        hasher
            .finalize()
            .to_hex()
            .get(..32)
            .unwrap_or_default()
            .to_owned()
    }

    fn remember<E>(&self, event: &Event) -> Result<Answer, HookError<E>> {
        if let Some(output) = &event.output {
            let mut memory = self.memory()?;
            memory.wait_longer()?;
            let session = memory.lock(&self.session(event), &Moment::now())?;
            let (server, tool) = actions::name(event);
            session.remember(server, tool, output)?;
            session.commit()?;
        }
        Ok(agents::noted())
    }

    fn decide<E>(&self, event: &Event, policy: Policy) -> Result<Judged, HookError<E>> {
        let base = Base {
            home: self.home.clone(),
            project: self
                .project
                .clone()
                .or_else(|| event.cwd.clone())
                .or_else(|| std::env::current_dir().ok())
                .unwrap_or_default(),
        };
        let needs_results = plans::looks_at_provenance(&policy.plan);
        let gate = Gate::new(policy.plan);
        let mut memory = self.memory()?;
        let now = Moment::now();
        let name = self.session(event);
        let session = memory.lock(&name, &now)?;
        let judge = Judge {
            gate: &gate,
            base: &base,
            session: &session,
            now: &now,
            budgets: policy
                .budgets
                .map(|budgets| Arc::new(Mutex::new(CountedOnce::new(budgets)))),
            needs_results,
        };
        let (mut judged, call) = judge.judge(event)?;
        judged.record.forgotten = session.forgotten()?;
        let (server, _) = actions::name(event);
        let own = own_directory(self.home.as_deref());
        let place = own.map(|own| own.join("halted"));
        let mut halt = Halt::at(place.or_else(bouncer_system::halt::default_path));
        if let Some(why) = halt.reason(server) {
            judged.record = judged.record.halted(why);
        }
        if judged.record.verdict == Verdict::Allow
            && let Some((server, tool)) = self.agent.shown_before(event)
            && let Some(content) = &event.output
        {
            session.remember(Some(server), tool, content)?;
        }
        session.commit()?;
        let entry = Written {
            event,
            judged: &judged,
            call,
            start: self.start,
        };
        let path = policy.audit.or_else(Audit::default_path);
        let path = path.ok_or(HookError::NoPlaceForAudit)?;
        entry
            .write(&path, &name, &gate)
            .map_err(|error| HookError::Audit(path, error.to_string()))?;
        Ok(judged)
    }
}

/// A line of the audit log.
struct Written<'w> {
    event: &'w Event,
    judged: &'w Judged,
    call: u64,
    start: Instant,
}

impl Written<'_> {
    fn write(
        &self,
        path: &Path,
        session: &str,
        gate: &Gate,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let mut audit = Audit::open(path, session, &gate.plan().short_digest())?;
        let (event, judged) = (self.event, self.judged);
        let (server, _) = actions::name(event);
        let one_line = serde_json::from_slice::<Value>(&event.input).map(|value| value.to_string());
        let arguments = one_line.as_deref().map_or_else(
            |_| Arguments::Garbage(&event.input),
            |text| Arguments::Json(text.as_bytes()),
        );
        audit.write(&Entry {
            call: self.call,
            server,
            tool: Some(&event.tool),
            judged_as: judged.judged_as.as_deref(),
            arguments,
            record: &judged.record,
            approval: None,
            outcome: match judged.record.verdict {
                Verdict::Allow => Outcome::Forwarded,
                Verdict::Ask => Outcome::Asked,
                Verdict::Deny => Outcome::Blocked,
            },
            latency: self.start.elapsed(),
        })?;
        Ok(())
    }
}
