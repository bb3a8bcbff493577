//! What a policy says and nothing can meet: names of tools that no tool can have, values
//! that no argument can have. Such a rule does nothing, and nothing else would tell.
//!
//! Asks only the policy itself: the servers, contracts and packs that it names. Where these
//! leave a doubt, nothing is said. Knows the resolved policy; knows nothing of YAML.

mod names;
mod outputs;
mod requests;
mod slips;
mod values;

use crate::diagnostic::{Code, Diagnostic, Sink, SourceMap, token_at};
use crate::policy::{Policy, Pos};

/// One doubt.
struct Doubt {
    code: Code,
    at: Pos,
    message: String,
    help: String,
}

/// Warns about everything of the user's files that nothing can meet.
pub(super) fn check(policy: &Policy, sources: &SourceMap, sink: &mut Sink) {
    let mut doubts = Vec::new();
    names::check(policy, &mut doubts);
    values::check(policy, &mut doubts);
    requests::check(policy, &mut doubts);
    outputs::check(policy, &mut doubts);
    for doubt in doubts {
        let span = token_at(doubt.at, sources);
        sink.push(Diagnostic::new(doubt.code, span, doubt.message).help(doubt.help));
    }
}
