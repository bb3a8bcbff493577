//! The answer to a call, its reason, and the permit to forward it.

use super::call::Call;
use super::flow::Objection;
use super::session::ReadBefore;
use crate::provenance::Origin;
use bouncer_plan::Effect;
use bouncer_plan::Label;
use bouncer_plan::Stage;
use bouncer_plan::Tables;
use bouncer_plan::Verdict;
use bouncer_plan::format::{Constraint, ConstraintKind, NONE, Pos, RateLimit, Rule};
use bouncer_reader::json::Malformed;
use std::fmt;

/// The answer to one call. Borrows from the gate and the conversation.
#[derive(Debug)]
pub struct Decision<'a> {
    pub(super) verdict: Verdict,
    pub(super) stage: Stage,
    pub(super) cause: Cause<'a>,
    pub(super) tables: &'a Tables<'a>,
    pub(super) tool: &'a str,
    /// The tool that was called, if `tool` is one that it would call.
    pub(super) outer: Option<&'a str>,
    /// The argument and value in question, where there are any.
    pub(super) param: &'a str,
    pub(super) value: &'a str,
    pub(super) message: Option<&'a [u8]>,
    /// Pieces of what was read that had been forgotten.
    pub(super) forgotten: u64,
    /// What kinds of things had been read; `None`: of no conversation's.
    pub(super) read: Option<&'a ReadBefore>,
}

/// What decided.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause<'a> {
    /// Nothing had an objection.
    Nothing,
    Malformed(Malformed),
    /// The plan's tables contradict themselves; cannot happen on a loaded plan.
    Corrupt,
    Unpinned,
    Changed,
    MaxCalls {
        limit: u64,
        at: Option<&'a Pos>,
    },
    Rate(&'a RateLimit),
    /// Attempts are counted together with others', and that cannot be done.
    Uncounted,
    Constraint(&'a Constraint),
    Rule {
        rule: &'a Rule,
        index: u32,
        bounded: bool,
        /// Where the destination was seen that the rule's `carries_untrusted()` found.
        carried: Option<(Label, Origin<'a>)>,
    },
    Fallback {
        destructive: bool,
        at: &'a Pos,
        bounded: bool,
    },
    /// A human decides on every call: the contract says so.
    Confirm {
        at: &'a Pos,
    },
    /// The call within the call cannot be read, or there are too many.
    Dispatch {
        at: &'a Pos,
        too_deep: bool,
    },
    NoDestination {
        at: Option<&'a Pos>,
    },
    Unproven {
        at: Option<&'a Pos>,
    },
    Observed {
        at: Option<&'a Pos>,
        origin: Option<Origin<'a>>,
    },
    Tainted {
        at: Option<&'a Pos>,
        origin: Option<Origin<'a>>,
    },
    /// The defaults for what the call does, by what was read before it.
    Effect {
        effect: Effect,
        objection: Objection,
        origin: Option<(Label, Origin<'a>)>,
    },
}

/// Where the deciding part of the policy was written. Counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The file's display name.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// The column in characters.
    pub column: u32,
}

impl fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What a human would be asked to vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unvouched<S> {
    /// The parameter (a path of the arguments).
    pub param: S,
    /// The destination, exactly as it would be forwarded.
    pub destination: S,
}

/// How a human can lift an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approvable<S> {
    /// Not at all: the ask ends as a deny.
    Never,
    /// By vouching for one destination, for the rest of the conversation.
    Destination(Unvouched<S>),
    /// By approving this one exact call, once.
    ThisCall,
}

impl Approvable<&str> {
    pub(super) fn owned(self) -> Approvable<String> {
        match self {
            Self::Never => Approvable::Never,
            Self::ThisCall => Approvable::ThisCall,
            Self::Destination(Unvouched { param, destination }) => {
                Approvable::Destination(Unvouched {
                    param: param.to_owned(),
                    destination: destination.to_owned(),
                })
            }
        }
    }
}

/// The right to forward one judged message, byte for byte. Only a decision that allows
/// makes one, and what it forwards is what was judged.
///
/// ```compile_fail
/// let permit = bouncer_engine::gate::Permit { message: Some(b"{}") };
/// ```
#[derive(Debug)]
pub struct Permit<'a> {
    message: Option<&'a [u8]>,
}

impl<'a> Permit<'a> {
    /// The judged message; `None` for a hypothetical call.
    #[must_use]
    pub const fn message(&self) -> Option<&'a [u8]> {
        self.message
    }
}

/// Lets a message through that the policy would have stopped, because the policy is only
/// observed. No permit: who forwards it has chosen to look on, and logs the verdict.
///
/// ```compile_fail
/// let pass = bouncer_engine::gate::ObservedPass { message: Some(b"{}") };
/// ```
///
/// Nor does it stand in for a permit:
///
/// ```compile_fail
/// fn forward(_: bouncer_engine::gate::Permit<'_>) {}
/// fn observed(pass: bouncer_engine::gate::ObservedPass<'_>) {
///     forward(pass);
/// }
/// ```
#[derive(Debug)]
pub struct ObservedPass<'a> {
    message: Option<&'a [u8]>,
}

impl<'a> ObservedPass<'a> {
    /// The judged message; `None` for a hypothetical call.
    #[must_use]
    pub const fn message(&self) -> Option<&'a [u8]> {
        self.message
    }
}

impl<'a> Decision<'a> {
    /// A decision that blocks for `cause`.
    pub(super) const fn new(
        call: &Call<'a>,
        tables: &'a Tables<'a>,
        verdict: Verdict,
        stage: Stage,
        cause: Cause<'a>,
    ) -> Self {
        Self {
            verdict,
            stage,
            cause,
            tables,
            tool: call.tool,
            outer: None,
            param: "",
            value: "",
            message: call.message,
            forgotten: 0,
            read: None,
        }
    }

    /// Allow, ask or deny.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The part of the policy that decided.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// A stable word for machines, for example `sink_gate.tainted`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.cause {
            Cause::Nothing => "default",
            Cause::Malformed(_) => "malformed",
            Cause::Corrupt => "internal",
            Cause::Unpinned => "pinning.unknown",
            Cause::Changed => "pinning.changed",
            Cause::MaxCalls { .. } => "budget.max_calls",
            Cause::Rate(_) => "budget.rate",
            Cause::Uncounted => "budget.uncounted",
            Cause::Constraint(constraint) => match constraint.kind {
                ConstraintKind::Within => "constraint.path",
                ConstraintKind::Matches => "constraint.pattern",
            },
            Cause::Rule { .. } => "rule.matched",
            Cause::Fallback { .. } => "rule.default",
            Cause::Confirm { .. } => "default.confirm",
            Cause::Dispatch { .. } => "constraint.dispatch",
            Cause::NoDestination { .. } => "sink_gate.no_destination",
            Cause::Unproven { .. } => "sink_gate.unproven",
            Cause::Observed { .. } => "sink_gate.observed",
            Cause::Tainted { .. } => "sink_gate.tainted",
            Cause::Effect { objection, .. } => objection.code(),
        }
    }

    /// Where the deciding part of the policy was written, if anywhere.
    #[must_use]
    pub fn position(&self) -> Option<Position<'a>> {
        let pos = match self.cause {
            Cause::Nothing
            | Cause::Malformed(_)
            | Cause::Corrupt
            | Cause::Unpinned
            | Cause::Uncounted
            | Cause::Effect { .. }
            | Cause::Changed => None,
            Cause::MaxCalls { at, .. }
            | Cause::NoDestination { at }
            | Cause::Unproven { at }
            | Cause::Observed { at, .. }
            | Cause::Tainted { at, .. } => at,
            Cause::Rate(rate) => Some(&rate.at),
            Cause::Constraint(constraint) => Some(&constraint.at),
            Cause::Rule { rule, .. } => Some(&rule.at),
            Cause::Fallback { at, .. } | Cause::Dispatch { at, .. } | Cause::Confirm { at } => {
                Some(at)
            }
        }?;
        if pos.file.get() == NONE {
            return None;
        }
        let file = self.tables.files.get(pos.file.get() as usize)?;
        Some(Position {
            file: self.tables.text(file).ok()?,
            line: pos.line.get(),
            column: pos.column.get(),
        })
    }

    /// The index of the rule that decided, in the order of the policy.
    #[must_use]
    pub const fn rule(&self) -> Option<u32> {
        match self.cause {
            Cause::Rule { index, .. } => Some(index),
            _ => None,
        }
    }

    /// How a human can lift the verdict. [`Approvable::Never`] unless it is an ask.
    #[must_use]
    pub fn approvable(&self) -> Approvable<&'a str> {
        if self.verdict != Verdict::Ask {
            return Approvable::Never;
        }
        match self.cause {
            Cause::Rule { .. }
            | Cause::Fallback { .. }
            | Cause::Confirm { .. }
            | Cause::Effect { .. }
            | Cause::NoDestination { .. } => Approvable::ThisCall,
            Cause::Unproven { .. } | Cause::Observed { .. } | Cause::Tainted { .. } => {
                Approvable::Destination(Unvouched {
                    param: self.param,
                    destination: self.value,
                })
            }
            _ => Approvable::Never,
        }
    }

    /// For an ask of the sink gate: what to vouch for.
    #[must_use]
    pub fn unvouched(&self) -> Option<Unvouched<&'a str>> {
        match self.approvable() {
            Approvable::Destination(unvouched) => Some(unvouched),
            Approvable::Never | Approvable::ThisCall => None,
        }
    }

    /// The permit, if the verdict is allow.
    #[must_use]
    pub fn permit(self) -> Option<Permit<'a>> {
        (self.verdict == Verdict::Allow).then_some(Permit {
            message: self.message,
        })
    }
}

impl<'a> Decision<'a> {
    /// What lets a call through that is only observed: whatever the policy's verdict, the
    /// call goes out, and the caller logs what the verdict would have been.
    ///
    /// None for calls that no policy is needed to refuse: malformed ones, and those of
    /// tools that are not pinned or have changed.
    #[must_use]
    pub fn observed(self) -> Option<ObservedPass<'a>> {
        let refused = matches!(self.stage, Stage::Malformed | Stage::Pinning)
            || matches!(self.cause, Cause::Corrupt);
        (!refused).then_some(ObservedPass {
            message: self.message,
        })
    }
}
