//! The decision of a call: the opinion that decided, with what its reason quotes.

use super::attempt::CallAttempt;
use super::carried;
use super::conversation::Conversation;
use super::decision::{Cause, Decision};
use super::dispatch::{Decided, judge_nested};
use super::flow::Objection;
use super::judge::{Found, Opinion};
use super::pins::Pins;
use super::policy::Policy;
use bouncer_plan::{Label, Stage, Verdict};

/// Judges a call. See [`super::Gate::decide`].
pub(super) fn decide<'a>(
    policy: &'a Policy,
    pins: &'a Pins,
    conversation: &'a mut Conversation,
    this: &CallAttempt<'a>,
) -> Decision<'a> {
    let judged = judge_nested(policy, pins, conversation, this);
    // What cannot be judged is denied.
    let Decided { call, opinion } = judged.unwrap_or(Decided {
        call: this.call,
        opinion: Opinion::new(Verdict::Deny, Stage::Malformed, Cause::Corrupt),
    });
    // What the reason names is borrowed only now, when nothing writes to it any more.
    let Conversation {
        provenance,
        session,
        scratch,
        ..
    } = conversation;
    let culprit = &scratch.culprits.decided;
    let lookups = &mut scratch.provenance;
    let cause = match opinion.found {
        Found::Cause(Cause::Rule {
            rule,
            index,
            bounded,
            ..
        }) => Cause::Rule {
            rule,
            index,
            bounded,
            carried: carried::origin(provenance, &culprit.value, lookups),
        },
        Found::Cause(cause) => cause,
        Found::Observed(at) => Cause::Observed {
            at,
            origin: provenance.evidence(&culprit.value, lookups).observed,
        },
        Found::Tainted(at) => Cause::Tainted {
            at,
            origin: provenance.evidence(&culprit.value, lookups).untrusted,
        },
        Found::Effect(effect, objection) => Cause::Effect {
            effect,
            objection,
            origin: match objection {
                Objection::Private => {
                    let private = provenance.private_in(&culprit.value, lookups);
                    private
                        .ok()
                        .flatten()
                        .map(|origin| (Label::Untrusted, origin))
                }
                _ => carried::origin(provenance, &culprit.value, lookups),
            },
        },
    };
    let tables = policy.plan().tables();
    let mut decision = Decision::new(&call, tables, opinion.verdict, opinion.stage, cause);
    decision.outer = (call.tool != this.call.tool).then_some(this.call.tool);
    decision.param = &culprit.param;
    decision.value = &culprit.value;
    decision.forgotten = provenance.dropped();
    decision.read = Some(&session.read);
    decision
}
