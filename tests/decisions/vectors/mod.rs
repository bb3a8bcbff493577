//! What the two predecessors really answered, compared with both engines.
//!
//! On each vector the verdict is the same, or a stricter one that a named class of
//! difference explains. Two classes may be laxer; they say so. A class is a predicate
//! on the case, never a list of cases, and the number of cases in each is asserted, so
//! that a new difference fails.

pub mod contracts;
pub mod primitives;
pub mod rules;

use crate::recorded::tally::{Tally, lines, read};
use bouncer_compiler::diagnostic::{Severity, explain};
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options, load};
use bouncer_plan::Verdict;
use serde_json::Value;

/// The cases of a file, each with the bytes of its calls' arguments: members in the
/// order they are written, which a parsed value forgets.
fn read_with_arguments(name: &str) -> Vec<(Value, Vec<Vec<u8>>)> {
    #[derive(serde::Deserialize)]
    struct Case<'a> {
        #[serde(borrow)]
        calls: Vec<Call<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        args: &'a serde_json::value::RawValue,
    }
    lines(name)
        .lines()
        .map(|line| {
            let case: Case<'_> = serde_json::from_str(line).unwrap();
            let bytes = |call: &Call<'_>| call.args.get().as_bytes().to_vec();
            let arguments = case.calls.iter().map(bytes).collect();
            (serde_json::from_str(line).unwrap(), arguments)
        })
        .collect()
}

/// Reads a policy, or names the first error.
fn policy(text: &str, options: &Options) -> Result<Policy, String> {
    let input = Input {
        name: "policy.yaml",
        text,
    };
    match load(&[input], options) {
        Ok(loaded) => Ok(loaded.policy),
        Err(diagnostics) => Err(diagnostics
            .list()
            .iter()
            .filter_map(|diagnostic| explain(&diagnostic.code.to_string()))
            .find(|page| page.severity == Severity::Error)
            .map_or("?".to_owned(), |page| {
                format!("{} {}", page.code, page.title)
            })),
    }
}

fn verdict(value: &Value) -> Verdict {
    match value.as_str() {
        Some("allow") => Verdict::Allow,
        Some("ask") => Verdict::Ask,
        Some("deny") => Verdict::Deny,
        _ => panic!("not a verdict: {value}"),
    }
}

/// How our verdict lies to a predecessor's.
fn direction(ours: Verdict, theirs: Verdict) -> &'static str {
    match ours.cmp(&theirs) {
        std::cmp::Ordering::Less => "laxer",
        std::cmp::Ordering::Equal => "same verdict",
        std::cmp::Ordering::Greater => "stricter",
    }
}
