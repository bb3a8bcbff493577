//! A policy as numbered rows, and its judge: the compiled plan.

use super::example::Judge;
use super::facts::{Facts, Lit};
use super::names::{Glob, Names};
use super::search::{Row, RuleRows, Rules};
use super::{ListedTool, Place};
use bouncer_compiler::CompileError;
use bouncer_compiler::lower;
use bouncer_compiler::policy::{Cond, Policy, Pos, Rule};
use bouncer_plan::Verdict;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The place and the literal of each test of a rule.
pub(super) type Tests = Vec<(Pos, Lit)>;

/// What one rule does, beside its rows.
#[derive(Clone, Debug)]
pub(super) struct RuleFacts {
    pub action: Verdict,
    pub at: Pos,
    pub tests: Tests,
}

/// A policy, ready for searching and judging.
pub(super) struct Model<'p> {
    pub policy: &'p Policy,
    pub rules: Rules,
    pub facts: Vec<RuleFacts>,
    /// The verdict of each rule.
    pub actions: Rc<[Verdict]>,
    pub judge: Judge<'p>,
}

impl<'p> Model<'p> {
    /// Numbers the rows of a policy, and compiles it.
    pub fn new(
        policy: &'p Policy,
        tools: &'p [ListedTool],
        facts: &mut Facts,
        names: &mut Names,
    ) -> Result<Self, Vec<CompileError>> {
        let judge = Judge::new(policy, tools)?;
        let mut rows = Vec::new();
        let mut rule_facts = Vec::new();
        let mut errors = Vec::new();
        for rule in policy.rules.iter().flat_map(|set| &set.rules) {
            match of_rule(rule, facts, names) {
                Ok((rule_rows, tests)) => {
                    rows.push(rule_rows);
                    rule_facts.push(RuleFacts {
                        action: rule.action,
                        at: rule.at,
                        tests,
                    });
                }
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            policy,
            rules: Rules::new(rows, names),
            actions: rule_facts.iter().map(|facts| facts.action).collect(),
            facts: rule_facts,
            judge,
        })
    }

    pub fn action(&self, rule: u32) -> Verdict {
        self.facts
            .get(rule as usize)
            .map_or(Verdict::Deny, |facts| facts.action)
    }

    pub fn at(&self, rule: u32) -> Pos {
        self.facts
            .get(rule as usize)
            .map(|facts| facts.at)
            .unwrap_or_default()
    }

    /// A rule's place, with something to say about it.
    pub fn place(&self, rule: u32, label: impl Into<String>) -> Place {
        Place {
            at: self.at(rule),
            label: label.into(),
        }
    }
}

fn of_rule(
    rule: &Rule,
    facts: &mut Facts,
    names: &mut Names,
) -> Result<(RuleRows, Tests), CompileError> {
    let globs = rule.tools.iter().map(|glob| names.glob(Glob::of(glob)));
    let mut globs: Vec<u32> = globs.collect();
    globs.sort_unstable();
    globs.dedup();
    let permissive = rule.action == Verdict::Allow;
    let (rows, tests) = of_condition(&rule.condition, rule.at, permissive, facts)?;
    let rows = RuleRows::new(globs, rows, facts);
    Ok((rows, tests))
}

/// The rows of a condition, and where its tests were written.
pub(super) fn of_condition(
    condition: &Cond,
    at: Pos,
    permissive: bool,
    facts: &mut Facts,
) -> Result<(Vec<Row>, Tests), CompileError> {
    let mut tests: BTreeMap<(Pos, Lit), ()> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for literals in lower::rows(condition, at)? {
        let mut row = Row::new();
        for literal in literals {
            let lit = facts.literal(literal.test, literal.negated, permissive);
            tests.insert((literal.test.at, lit), ());
            if !row.contains(&lit) {
                row.push(lit);
            }
        }
        rows.push(row);
    }
    Ok((rows, tests.into_keys().collect()))
}
