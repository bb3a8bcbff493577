//! What the two predecessors really answered, compared with both engines.
//!
//! On each vector the verdict is the same, or a stricter one that a named class of
//! difference explains. Two classes may be laxer; they say so. A class is a predicate
//! on the case, never a list of cases, and the number of cases in each is asserted, so
//! that a new difference fails.

pub mod approvals;
pub mod contracts;
pub mod primitives;
pub mod rules;

use bouncer_compiler::diagnostic::{Severity, explain};
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options, load};
use bouncer_plan::Verdict;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

fn lines(name: &str) -> String {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The cases of a file of `tests/vectors`.
fn read(name: &str) -> Vec<Value> {
    lines(name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

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

/// Counts of classes, with an example of each that nothing explains.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, usize>,
    unexplained: String,
}

impl Tally {
    fn count(&mut self, class: impl Into<String>) {
        *self.counts.entry(class.into()).or_default() += 1;
    }

    fn unexplained(&mut self, what: &str, case: &Value) {
        if self.counts.get("UNEXPLAINED").is_none_or(|n| *n < 20) {
            let _ = writeln!(self.unexplained, "{what}: {case}");
        }
        self.count("UNEXPLAINED");
    }

    fn table(&self) -> String {
        self.counts
            .iter()
            .map(|(class, count)| format!("{count:>5}  {class}\n"))
            .collect()
    }

    /// Prints the table and compares it with what is known.
    #[track_caller]
    fn check(&self, expected: &str) {
        let trimmed = |table: &str| -> Vec<String> {
            table
                .lines()
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty())
                .collect()
        };
        println!("{}", self.table());
        assert!(
            self.unexplained.is_empty(),
            "{}\n{}",
            self.table(),
            self.unexplained
        );
        assert_eq!(
            trimmed(&self.table()),
            trimmed(expected),
            "\n{}",
            self.table()
        );
    }
}
