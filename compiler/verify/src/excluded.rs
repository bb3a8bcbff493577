//! Tests that the schema of every tool they are about excludes.

use super::Kind;
use super::analysis::{Analysis, place};
use super::theory::at_path;
use bouncer_compiler::diagnostic::{Code, quote};
use bouncer_compiler::policy::{Cond, Quantifier, Rule, Subject, Test, View};
use bouncer_plan::Verdict;

impl Analysis<'_> {
    /// Reports tests that no value satisfies which the listed tools' schemas allow.
    pub fn schemas(&mut self) {
        let Some(set) = &self.model.policy.rules else {
            return;
        };
        for rule in &set.rules {
            let tools: Vec<usize> = self
                .names
                .listed
                .iter()
                .enumerate()
                .filter(|(_, tool)| {
                    let globs = rule.tools.iter().map(super::names::Glob::of);
                    globs.into_iter().any(|glob| glob.matches(&tool.full))
                })
                .map(|(place, _)| place)
                .collect();
            if !tools.is_empty() {
                self.theory.ask();
                self.schema_of_rule(rule, &tools);
            }
        }
    }

    fn schema_of_rule(&mut self, rule: &Rule, tools: &[usize]) {
        let mut tests: Vec<&Test> = Vec::new();
        positive(&rule.condition, false, &mut tests);
        for test in tests {
            let Subject::Arg(path, View::Value) = &test.subject else {
                continue;
            };
            // Of `all`, one fitting value is not enough to say anything.
            if test.quantifier == Quantifier::All {
                continue;
            }
            let (lit, _) = self
                .theory
                .facts
                .literal(test, false, rule.action == Verdict::Allow);
            let (super::facts::Atom::Leaf(fact, mode) | super::facts::Atom::Bag(fact, mode, _)) =
                lit
            else {
                continue;
            };
            let excluded = tools.iter().all(|tool| {
                self.model
                    .judge
                    .definition(*tool)
                    .and_then(|definition| definition.input_schema())
                    .and_then(|schema| at_path(schema, path))
                    .is_some_and(|schema| self.theory.is_excluded(fact, mode, schema))
            });
            let Some(first) = tools.first().and_then(|tool| self.names.listed.get(*tool)) else {
                continue;
            };
            if excluded {
                let argument =
                    bouncer_compiler::lower::paths_display(&bouncer_compiler::lower::steps(path));
                let message = format!(
                    "no value that the schema of {} allows for {} satisfies this test",
                    quote(&first.full),
                    quote(&argument)
                );
                self.push(
                    (Code::NEVER, Kind::Vacuous),
                    message,
                    vec![
                        place(test.at, "excluded by the tool's schema"),
                        place(rule.at, "in this rule"),
                    ],
                    "compare with a value that the tool takes; the schema is what the tool's server lists",
                    None,
                );
            }
        }
    }
}

/// The tests that stand under an even number of negations.
fn positive<'p>(condition: &'p Cond, negated: bool, out: &mut Vec<&'p Test>) {
    match condition {
        Cond::All(parts) | Cond::Any(parts) => {
            parts.iter().for_each(|part| positive(part, negated, out));
        }
        Cond::Not(part) => positive(part, !negated, out),
        Cond::Test(test) if !negated => out.push(test),
        Cond::Test(_) => {}
    }
}
