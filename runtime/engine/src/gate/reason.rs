//! A decision's reason, in words. Deterministic; values from outside are quoted and escaped.

use super::decision::{Cause, Decision};
use super::flow::Objection;
use crate::provenance::Origin;
use bouncer_plan::format::{Constraint, ConstraintKind, NONE, Rule};
use bouncer_plan::{Effect, slice};
use bouncer_reader::text::Quoted;
use std::fmt;

impl Decision<'_> {
    /// Why, in words: deterministic, with values from outside quoted and escaped.
    #[must_use]
    pub fn reason(&self) -> String {
        Reason(self).to_string()
    }
}

/// Writes a decision's reason.
struct Reason<'d, 'a>(&'d Decision<'a>);

impl fmt::Display for Reason<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = Quoted(self.0.tool);
        if let Some(outer) = self.0.outer {
            write!(f, "tool {} calls {tool}: ", Quoted(outer))?;
        }
        match self.0.cause {
            Cause::Nothing => f.write_str("nothing in the policy objects"),
            Cause::Malformed(error) => write!(f, "malformed arguments: {error}"),
            Cause::Corrupt => f.write_str("the plan contradicts itself; compile the policy again"),
            Cause::Unpinned => write!(f, "tool {tool} is not in the pinned set"),
            Cause::Changed => write!(
                f,
                "the definition of tool {tool} is not the one that was pinned; review it and pin again"
            ),
            Cause::MaxCalls { limit, .. } => {
                write!(f, "call budget {limit} of tool {tool} is used up")
            }
            Cause::Rate(rate) => write!(
                f,
                "tool {tool} was called more than {} times in {}",
                rate.count.get(),
                Duration(rate.window_ms.get())
            ),
            Cause::Uncounted => write!(
                f,
                "attempts of tool {tool} cannot be counted: the file of shared budgets cannot be used"
            ),
            Cause::Constraint(constraint) => self.constraint(f, constraint),
            Cause::Rule {
                rule,
                bounded,
                carried,
                ..
            } => self.rule(f, rule, bounded, carried.as_ref().map(|(_, origin)| origin)),
            Cause::Fallback {
                destructive,
                bounded,
                ..
            } => self.fallback(f, destructive, bounded),
            Cause::Confirm { .. } => {
                write!(f, "every call of tool {tool} needs a human's consent")
            }
            Cause::Effect {
                effect,
                objection,
                origin,
            } => {
                write!(f, "tool {tool} {}", does(effect))?;
                self.objection(f, objection, origin.as_ref().map(|(_, origin)| origin))
            }
            Cause::Dispatch { too_deep: true, .. } => {
                write!(f, "calls within calls go too deep at tool {tool}")
            }
            Cause::Dispatch { .. } => write!(
                f,
                "tool {tool} calls another, and which, or with what, cannot be read"
            ),
            Cause::NoDestination { .. } => write!(
                f,
                "tool {tool} can send data out, and this call names no destination"
            ),
            Cause::Unproven { .. } => self.destination(f, "is not vouched for by anything", None),
            Cause::Observed { origin, .. } => {
                self.destination(f, "was only observed", origin.as_ref())
            }
            Cause::Tainted { origin, .. } => {
                self.destination(f, "came from untrusted data", origin.as_ref())
            }
        }
    }
}

impl Reason<'_, '_> {
    fn constraint(&self, f: &mut fmt::Formatter<'_>, constraint: &Constraint) -> fmt::Result {
        let Decision {
            tables,
            param,
            value,
            ..
        } = *self.0;
        write!(f, "argument {} is {}, ", Quoted(param), Quoted(value))?;
        if constraint.kind == ConstraintKind::Matches {
            let pattern = tables.text(&constraint.written).unwrap_or_default();
            return write!(f, "which does not match /{pattern}/");
        }
        f.write_str("outside the allowed prefixes")?;
        let first = constraint.prefixes.start.get() as usize;
        let count = slice(tables.lists, &constraint.prefixes).map_or(0, |list| list.len() / 2);
        for index in 0..count {
            let prefix = tables.listed_text(first + 2 * index).unwrap_or_default();
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {}", Quoted(prefix))?;
        }
        Ok(())
    }

    fn rule(
        &self,
        f: &mut fmt::Formatter<'_>,
        rule: &Rule,
        bounded: bool,
        carried: Option<&Origin<'_>>,
    ) -> fmt::Result {
        let tables = self.0.tables;
        if rule.reason.start.get() == NONE {
            let tools = tables.text(&rule.tools).unwrap_or_default();
            let action = self.0.verdict;
            write!(f, "matched rule: tool {} action {action}", Quoted(tools))?;
        } else {
            f.write_str(tables.text(&rule.reason).unwrap_or_default())?;
        }
        if carried.is_some() {
            let (param, value) = (Quoted(self.0.param), Quoted(self.0.value));
            write!(f, ": {param} carries {value}")?;
            from(f, carried)?;
        }
        bounded_note(f, bounded)
    }

    fn fallback(
        &self,
        f: &mut fmt::Formatter<'_>,
        destructive: bool,
        bounded: bool,
    ) -> fmt::Result {
        let verdict = self.0.verdict;
        if destructive {
            write!(
                f,
                "no rule matched and the tool is annotated destructive: defaults.onDestructiveHint is {verdict}"
            )?;
        } else {
            write!(f, "no rule matched: defaults.onUnknown is {verdict}")?;
        }
        bounded_note(f, bounded)
    }

    /// What there is to object to an effect.
    fn objection(
        &self,
        f: &mut fmt::Formatter<'_>,
        objection: Objection,
        origin: Option<&Origin<'_>>,
    ) -> fmt::Result {
        let (param, value) = (Quoted(self.0.param), Quoted(self.0.value));
        let named = !self.0.param.is_empty();
        match objection {
            Objection::Unvouched if !named => {
                f.write_str(", and the call names nothing that anybody vouches for")
            }
            Objection::Unvouched | Objection::Unproven => {
                write!(f, ", and nothing vouches for {param}: {value}")
            }
            Objection::NoTarget => f.write_str(", and the call does not say where"),
            Objection::NotAsked => f.write_str(
                ", which the user's own words do not ask for, after untrusted text was read",
            ),
            Objection::Tainted | Objection::Read | Objection::Observed | Objection::Copied => {
                write!(f, ", and {param}: {value} stands in what was read")?;
                from(f, origin)
            }
            Objection::Carries => {
                write!(f, ", and {param} carries {value}")?;
                from(f, origin)
            }
            Objection::Private => {
                write!(f, ", and {param} carries the private value {value}")?;
                from(f, origin)
            }
        }
    }

    /// What a destination is, and where it was seen.
    fn destination(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        origin: Option<&Origin<'_>>,
    ) -> fmt::Result {
        let (param, value) = (Quoted(self.0.param), Quoted(self.0.value));
        write!(f, "destination {param}: {value} {what}")?;
        from(f, origin)
    }
}

/// What an effect is, as the end of a sentence about a tool.
const fn does(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "reads",
        Effect::Write => "changes what is stored",
        Effect::Send => "sends something out",
        Effect::Publish => "shows something to everybody",
        Effect::Fetch => "asks an address",
        Effect::Run => "runs a program",
        Effect::Pay => "spends money",
        Effect::Grant => "gives or changes access",
        Effect::Destroy => "deletes something",
        Effect::Act => "acts in the physical world",
    }
}

/// Says that a verdict is an upper bound.
fn bounded_note(f: &mut fmt::Formatter<'_>, bounded: bool) -> fmt::Result {
    if bounded {
        f.write_str(" (the lists in this call combine in too many ways to try each; the strictest rule within reach decides)")?;
    }
    Ok(())
}

/// Names where a value came from.
fn from(f: &mut fmt::Formatter<'_>, origin: Option<&Origin<'_>>) -> fmt::Result {
    let Some(origin) = origin else { return Ok(()) };
    let of = if origin.call > 0 {
        "the output of "
    } else {
        ""
    };
    write!(f, " (in {of}{}", Quoted(origin.tool))?;
    if let Some(server) = origin.server {
        write!(f, " of server {}", Quoted(server))?;
    }
    if origin.call > 0 {
        write!(f, ", call {}", origin.call)?;
    }
    if !origin.field.is_empty() {
        write!(f, ", field {}", Quoted(origin.field))?;
    }
    f.write_str(")")
}

/// A duration in the largest unit that fits evenly.
struct Duration(u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [
            (86_400_000, "d"),
            (3_600_000, "h"),
            (60_000, "min"),
            (1000, "s"),
        ] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{}{name}", self.0 / unit);
            }
        }
        write!(f, "{}ms", self.0)
    }
}
