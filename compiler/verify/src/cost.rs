//! Patterns that are expensive to build or to run.

use super::analysis::{Analysis, place};
use super::{Kind, ListedTool, Place, ToolCost, tool_cost};
use bouncer_compiler::build::{PatternCost, pattern_cost};
use bouncer_compiler::diagnostic::{Code, quote};
use bouncer_compiler::policy::{Cond, Op, Pos};
use bouncer_plan::format::AutomatonKind;
use std::collections::BTreeMap;

/// Bytes of automata of one policy that are worth a word.
const MUCH: usize = 32 << 20;
/// The same for the calls of one tool.
const MUCH_FOR_ONE: u64 = 8 << 20;
/// Bytes read for each byte of an argument that are worth a word: eight automata.
const OFTEN: u32 = 24;

impl Analysis<'_> {
    /// Names the tools whose calls are dear, and the patterns that no small automaton
    /// exists for. Gives what the calls of each tool can cost.
    pub fn cost(&mut self, tools: &[ListedTool]) -> Vec<ToolCost> {
        let judge = &self.model.judge;
        let costs = tool_cost::costs(&judge.plan(), judge.built(), tools);
        for cost in &costs {
            self.dear(cost);
        }
        self.patterns();
        costs
    }

    fn dear(&mut self, cost: &ToolCost) {
        if cost.scanned_per_byte < OFTEN && cost.automata < MUCH_FOR_ONE {
            return;
        }
        let name = match &cost.server {
            Some(server) => format!("{server}__{}", cost.tool),
            None => cost.tool.clone(),
        };
        self.push(
            (Code::COST, Kind::Cost),
            format!(
                "calls of {} can cost much: for each byte of {}, automata read up to {} bytes; they take {} KiB, built in {} ms",
                quote(&name),
                quote(&cost.argument),
                cost.scanned_per_byte,
                cost.automata.div_ceil(1024),
                cost.build.as_millis(),
            ),
            Vec::new(),
            "patterns of one argument share an automaton until they grow it too large: those with gaps such as `a.*b`, and large counted repeats, are what keeps them apart",
            None,
        );
    }

    fn patterns(&mut self) {
        let plan = self.model.judge.plan();
        let tables = plan.tables();
        let simulated = tables
            .automata
            .iter()
            .enumerate()
            .any(|(index, automaton)| {
                // Those that only stand in for a DFA are rarely needed.
                let stands_in = tables
                    .automata
                    .iter()
                    .any(|other| other.fallback.get() as usize == index);
                automaton.kind == AutomatonKind::Nfa && !stands_in
            });
        let size = tables.automata_bytes.len();
        if !simulated && size < MUCH {
            return;
        }
        let mut patterns: BTreeMap<String, (String, Vec<Pos>)> = BTreeMap::new();
        let policy = self.model.policy;
        for rule in policy.rules.iter().flat_map(|set| &set.rules) {
            collect(&rule.condition, &mut patterns);
        }
        for contract in &policy.contracts {
            for pattern in &contract.arg_patterns {
                let known = patterns
                    .entry(pattern.pattern.regex.clone())
                    .or_insert_with(|| (pattern.pattern.written.clone(), Vec::new()));
                known.1.push(pattern.at);
            }
        }
        for (regex, (written, at)) in patterns {
            let Some(cost) = pattern_cost(&regex) else {
                continue;
            };
            let places: Vec<Place> = at.into_iter().map(|at| place(at, "this pattern")).collect();
            self.pattern(&written, &cost, places);
        }
        if size >= MUCH {
            self.push(
                (Code::COST, Kind::Cost),
                format!("the policy's automata take {} MiB", size >> 20),
                Vec::new(),
                "the patterns of one argument share automata: fewer gaps such as `a.*b`, and smaller counted repeats, make them smaller",
                None,
            );
        }
    }

    fn pattern(&mut self, written: &str, cost: &PatternCost, places: Vec<Place>) {
        let PatternCost { states, limit } = cost;
        self.push(
            (Code::COST, Kind::Cost),
            format!(
                "the pattern {} takes more than {} MiB as a table and is simulated instead: up to {states} steps for each byte of the argument",
                quote(written),
                limit >> 20
            ),
            places,
            "make counted repeats such as `{1,500}` smaller, or anchor the pattern; a text on which it takes more than 50 million steps counts as one that cannot be evaluated",
            None,
        );
    }
}

/// The patterns of a condition, with their places.
fn collect(condition: &Cond, out: &mut BTreeMap<String, (String, Vec<Pos>)>) {
    match condition {
        Cond::All(parts) | Cond::Any(parts) => parts.iter().for_each(|part| collect(part, out)),
        Cond::Not(part) => collect(part, out),
        Cond::Test(test) => {
            if let Op::Matches(pattern) = &test.op {
                let known = out
                    .entry(pattern.regex.clone())
                    .or_insert_with(|| (pattern.written.clone(), Vec::new()));
                known.1.push(test.at);
            }
        }
    }
}
