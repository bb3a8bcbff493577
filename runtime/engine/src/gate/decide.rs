//! The decision of a call: the opinion that decided, with what its reason quotes.

use super::attempt::CallAttempt;
use super::carried;
use super::conversation::Conversation;
use super::decision::{Cause, Decision};
use super::dispatch::{Decided, judge_nested};
use super::flow::Objection;
use super::judge::{Found, Opinion};
use super::key::{tool_key, write_tool_key};
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
    note_sent(policy, pins, conversation, this);
    // What cannot be judged is denied.
    let Decided { call, opinion } = judged.unwrap_or(Decided {
        call: this.call,
        opinion: Opinion::new(Verdict::Deny, Stage::Malformed, Cause::Corrupt),
    });
    // Where the reason names a value, it also says where that was read.
    if !conversation.scratch.culprits.decided.value.is_empty() {
        conversation.provenance.settle();
    }
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

/// Notes what a call carries, of tools whose results may vouch for something: what they
/// only repeat does not.
fn note_sent(
    policy: &Policy,
    pins: &Pins,
    conversation: &mut Conversation,
    this: &CallAttempt<'_>,
) {
    let (server, tool) = (this.call.server, this.call.tool);
    let key = &mut conversation.scratch.key;
    write_tool_key(server, tool, key);
    let vouches = match pins.find(key) {
        Ok(Some((_, tool))) => tool.labels.can_vouch(),
        // What is not listed beside tools that are vouches for nothing.
        _ if pins.any_listed() => false,
        _ => match conversation.unlisted.get(key.as_str()) {
            Some((tool, _)) => tool.labels.can_vouch(),
            None => policy
                .labels_by_name(server, tool)
                .is_ok_and(|labels| labels.can_vouch()),
        },
    };
    if vouches {
        let echo = conversation.echoes.entry(tool_key(server, tool));
        let arguments = this.call.arguments.unwrap_or(b"{}");
        echo.or_default().called(arguments);
    }
}
