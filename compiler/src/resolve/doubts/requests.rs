//! Policies that deny every tool that they do not name, and say nothing of what is no tool.

use super::Doubt;
use crate::diagnostic::Code;
use crate::policy::{Cond, Policy, Pos};
use bouncer_plan::Verdict;

/// What such a policy should say something of.
const KEYS: [&str; 3] = ["resources", "prompts", "sampling"];

pub(super) fn check(policy: &Policy, out: &mut Vec<Doubt>) {
    let unsaid: Vec<&str> = KEYS
        .into_iter()
        .filter(|key| !policy.said_of_requests.contains(key))
        .collect();
    let Some(at) = denies_the_rest(policy).filter(|_| !unsaid.is_empty()) else {
        return;
    };
    let wanted = unsaid.join(": deny, ");
    out.push(Doubt {
        code: Code::ONLY_TOOLS,
        at,
        message: format!(
            "this denies every other tool, and lets {} through",
            unsaid.join(", ").replace("sampling", "what servers ask")
        ),
        help: format!("say what holds for them: `defaults: {{{wanted}: deny}}`, or `allow`"),
    });
}

/// Where the policy says that what it does not name is denied.
fn denies_the_rest(policy: &Policy) -> Option<Pos> {
    let set = policy.rules.as_ref()?;
    let everything = set.rules.iter().find(|rule| {
        rule.action == Verdict::Deny
            && matches!(&rule.condition, Cond::All(parts) if parts.is_empty())
            && rule.tools.iter().any(|glob| glob.pattern == "*")
    });
    let fallback = Some(set.on_unknown).filter(|fallback| fallback.action == Verdict::Deny);
    everything
        .map(|rule| rule.at)
        .or_else(|| fallback.and_then(|fallback| fallback.at))
}
