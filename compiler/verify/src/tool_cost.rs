//! What deciding the calls of each tool can cost: read off the plan's own tables.
//!
//! Knows the plan, the listed tools and how long each tool pattern took to build; knows
//! nothing of rules or of what they mean.

use super::ListedTool;
use bouncer_plan::format::{Group, NONE};
use bouncer_plan::{Plan, Tables, glob};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A text is read as it is, in its canonical form, and with look-alikes undone.
const FORMS: u32 = 3;

/// What the calls of a tool, or of the tools of one pattern, can cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCost {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool's name; without a list of tools, a pattern or key of the policy.
    pub tool: String,
    /// Bytes of the automata that its calls can need.
    pub automata: u64,
    /// How long these took to build here.
    pub build: Duration,
    /// Bytes that automata read at worst for each byte of one argument, all forms of a
    /// text included.
    pub scanned_per_byte: u32,
    /// The argument that is read so often; empty if none is read.
    pub argument: String,
}

/// The costs, dearest argument first, then by name. `built`: for each group of the plan.
pub(super) fn costs(plan: &Plan, built: &[Duration], tools: &[ListedTool]) -> Vec<ToolCost> {
    let tables = plan.tables();
    let mut named: BTreeSet<(Option<String>, String)> = BTreeSet::new();
    for (server, tool) in tools {
        named.insert((server.clone(), tool.name.clone()));
    }
    if tools.is_empty() {
        let groups = tables.groups.iter().map(|group| &group.pattern);
        let all = groups.chain(tables.contracts.iter().map(|contract| &contract.key));
        named.extend(all.filter_map(|name| Some((None, tables.text(name).ok()?.to_owned()))));
    }
    let mut out: Vec<ToolCost> = named
        .into_iter()
        .map(|(server, tool)| of_tool(tables, built, server, tool))
        .filter(|cost| cost.automata > 0)
        .collect();
    out.sort_by_key(|cost| std::cmp::Reverse(cost.scanned_per_byte));
    out
}

fn of_tool(
    tables: &Tables<'_>,
    built: &[Duration],
    server: Option<String>,
    tool: String,
) -> ToolCost {
    let full = server
        .as_ref()
        .map_or_else(|| tool.clone(), |server| format!("{server}__{tool}"));
    let names = |group: &Group| {
        tables.text(&group.pattern).is_ok_and(|pattern| {
            let kind = group.kind;
            pattern == full || glob::matches(kind, pattern, &full)
        })
    };
    let mut build = Duration::ZERO;
    let mut automata: BTreeSet<u32> = BTreeSet::new();
    // For each path, how many automata read a leaf there.
    let mut readers: BTreeMap<u32, u32> = BTreeMap::new();
    for (at, group) in tables.groups.iter().enumerate() {
        if !names(group) {
            continue;
        }
        build += built.get(at).copied().unwrap_or_default();
        let dimensions = records(tables.dimensions, group.dimensions);
        for dimension in dimensions {
            for matcher in records(tables.matchers, dimension.matchers) {
                automata.insert(matcher.automaton.get());
                *readers.entry(dimension.path.get()).or_default() += FORMS;
            }
        }
    }
    for contract in tables.contracts {
        let key = tables.text(&contract.key).unwrap_or_default();
        if key != tool && key != full {
            continue;
        }
        for constraint in records(tables.constraints, contract.constraints) {
            if constraint.automaton.get() != NONE {
                automata.insert(constraint.automaton.get());
                // Constraints judge the text as it was sent.
                *readers.entry(constraint.path.get()).or_default() += 1;
            }
        }
    }
    let fallbacks: Vec<u32> = automata
        .iter()
        .filter_map(|at| tables.automata.get(*at as usize))
        .map(|automaton| automaton.fallback.get())
        .collect();
    automata.extend(fallbacks);
    let bytes = automata
        .iter()
        .filter_map(|at| tables.automata.get(*at as usize))
        .map(|automaton| u64::from(automaton.length.get()))
        .sum();
    let worst = readers.iter().max_by_key(|(_, count)| **count);
    let argument = worst
        .and_then(|(path, _)| tables.text(tables.paths.get(*path as usize)?).ok())
        .unwrap_or_default();
    ToolCost {
        server,
        tool,
        automata: bytes,
        build,
        scanned_per_byte: worst.map_or(0, |(_, count)| *count),
        argument: argument.to_owned(),
    }
}

fn records<T>(table: &[T], range: bouncer_plan::format::Range) -> &[T] {
    let start = range.start.get() as usize;
    let end = start.saturating_add(range.length.get() as usize);
    table.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::{Kind, Options, ToolCost, verify};
    use bouncer_compiler::{Input, load};

    fn costs(text: &str) -> (Vec<ToolCost>, usize) {
        let input = Input {
            name: "policy.yaml",
            text,
        };
        let options = bouncer_compiler::Options {
            packs: false,
            heuristics: false,
        };
        let policy = load(&[input], &options).unwrap().policy;
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let findings = report.findings.iter();
        let told = findings
            .filter(|f| f.kind == Kind::Cost && f.message.contains("calls of"))
            .count();
        (report.costs, told)
    }

    #[test]
    fn patterns_that_share_an_automaton_are_read_once() {
        let (costs, told) = costs(
            "version: 1\nrules:\n  - {tool: q, when: 'args.a matches /x/ or args.a matches /y$/', action: deny}\n  \
             - {tool: q, when: 'args.b == 1', action: deny}\n",
        );
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0].tool, "q");
        assert_eq!(costs[0].argument, "a");
        assert_eq!(costs[0].scanned_per_byte, 3);
        assert!(costs[0].automata > 0);
        assert_eq!(told, 0);
    }

    #[test]
    fn many_automata_on_one_argument_are_told() {
        let rules: String = ('a'..='p')
            .map(|letter| {
                format!("  - {{tool: q, when: 'args.a matches /{letter}[0-9]{{1,40}}.{{60}}{letter}/', action: deny}}\n")
            })
            .collect();
        let (costs, told) = costs(&format!("version: 1\nrules:\n{rules}"));
        assert!(costs[0].scanned_per_byte >= 24, "{costs:?}");
        assert!(costs[0].build.as_nanos() > 0);
        assert_eq!(told, 1);
    }
}
