//! The picture of a policy, as text and for programs.

use super::{example, example_json};
use crate::{EffectRow, EffectsTable, Example, STATES, ToolVerdicts};
use bouncer_compiler::diagnostic::{SourceMap, escape};
use bouncer_plan::{Effect, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Tools that are named for one verdict.
const MOST_NAMED: usize = 4;

fn name(row: &EffectRow) -> &'static str {
    row.effect.map_or("not known", Effect::name)
}

fn tools(row: &EffectRow) -> usize {
    row.cells.first().map_or(0, Vec::len)
}

fn tool_name(tool: &ToolVerdicts) -> String {
    let named = tool.tool.as_deref().map(escape);
    named.unwrap_or_else(|| "tools that the policy does not name".to_owned())
}

/// What stands in a cell.
fn cell(row: &EffectRow, state: usize) -> String {
    let (verdicts, sure) = row.verdicts(state);
    let tools = row.cells.get(state).map_or(&[][..], Vec::as_slice);
    if verdicts.is_empty() && sure {
        return "-".to_owned();
    }
    let names: Vec<&str> = verdicts.iter().map(|verdict| verdict.name()).collect();
    let mut out = names.join(", ");
    if !sure {
        out.push('?');
    }
    if tools.iter().any(|tool| tool.vouched.is_some()) {
        out.push('*');
    }
    out
}

/// The table, and below it a call for each verdict where a cell has several.
#[must_use]
pub fn effects_human(table: &EffectsTable, sources: &SourceMap) -> String {
    let mut out = String::from("effect      tools");
    for (state, _, _) in STATES {
        let _ = write!(out, "  {state:<17}");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    let mut marks = String::new();
    for row in &table.rows {
        let mut line = format!("{:<12}{:>5}", name(row), tools(row));
        for state in 0..STATES.len() {
            let cell = cell(row, state);
            marks.push_str(&cell);
            let _ = write!(line, "  {cell:<17}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str(
        "\nVerdicts of calls for whose targets nobody vouches, over all arguments and tools.\n",
    );
    if marks.contains('*') {
        out.push_str("*: passes where the user typed the target.\n");
    }
    if marks.contains('?') {
        out.push_str("?: whether there is another verdict was not decided.\n");
    }
    if table.nothing_private {
        out.push_str("-: no output is labelled private, so that nothing private is read.\n");
    }
    for row in &table.rows {
        let mut told: Vec<String> = Vec::new();
        for (state, (words, _, _)) in STATES.iter().enumerate() {
            let details = details(row, state, sources);
            let verdicts = cell(row, state);
            // What was read more often changes nothing.
            if details.is_empty() || told.contains(&verdicts) {
                continue;
            }
            let _ = write!(out, "\n{}, {words}: {verdicts}\n{details}", name(row));
            told.push(verdicts);
        }
    }
    out
}

/// The tools and a call for each verdict of a cell; nothing where it has only one.
fn details(row: &EffectRow, state: usize, sources: &SourceMap) -> String {
    let mut out = String::new();
    let tools = row.cells.get(state).map_or(&[][..], Vec::as_slice);
    let (verdicts, _) = row.verdicts(state);
    let vouched: Vec<(&ToolVerdicts, &Example)> = tools
        .iter()
        .filter_map(|tool| Some((tool, tool.vouched.as_ref()?)))
        .collect();
    if verdicts.len() < 2 && vouched.is_empty() {
        return out;
    }
    for verdict in verdicts {
        let with = |tool: &'_ ToolVerdicts| {
            let mut found = tool.found.iter();
            found.position(|example| example.verdict == verdict)
        };
        let of: Vec<(&ToolVerdicts, &Example)> = tools
            .iter()
            .filter_map(|tool| Some((tool, tool.found.get(with(tool)?)?)))
            .collect();
        list(verdict.name(), &of, sources, &mut out);
    }
    list("allow, if vouched for", &vouched, sources, &mut out);
    out
}

fn list(what: &str, of: &[(&ToolVerdicts, &Example)], sources: &SourceMap, out: &mut String) {
    let Some((_, first)) = of.first() else {
        return;
    };
    let named = of.iter().take(MOST_NAMED).map(|(tool, _)| tool_name(tool));
    let mut names = named.collect::<Vec<_>>().join(", ");
    if of.len() > MOST_NAMED {
        let _ = write!(names, " and {} more", of.len() - MOST_NAMED);
    }
    let _ = writeln!(out, "  {what}: {names}");
    for line in example(first, sources).lines() {
        let _ = writeln!(out, "    {line}");
    }
}

/// One object: `states`, and `rows` with `effect` (or null) and `cells`, in the order of the
/// states. A cell has `verdicts`, the mildest first, whether that is `proved`, and for each of
/// its `tools` a call with each verdict, and one that passes because somebody vouches for it.
#[must_use]
pub fn effects_json(table: &EffectsTable, sources: &SourceMap) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            let cells: Vec<Value> = (0..STATES.len())
                .map(|at| cell_json(row, at, sources))
                .collect();
            json!({ "effect": row.effect.map(Effect::name), "tools": tools(row), "cells": cells })
        })
        .collect();
    let states: Vec<Value> = STATES
        .iter()
        .map(|(name, untrusted, private)| {
            json!({ "name": name, "read_untrusted": untrusted, "read_private": private })
        })
        .collect();
    json!({ "states": states, "rows": rows, "nothing_private": table.nothing_private })
}

fn cell_json(row: &EffectRow, state: usize, sources: &SourceMap) -> Value {
    let (verdicts, sure) = row.verdicts(state);
    let of = row.cells.get(state).map_or(&[][..], Vec::as_slice);
    let names = |verdicts: &[Verdict]| -> Vec<&str> {
        verdicts.iter().map(|verdict| verdict.name()).collect()
    };
    let tools: Vec<Value> = of
        .iter()
        .map(|tool| {
            let examples: Vec<Value> = tool
                .found
                .iter()
                .map(|e| example_json(e, sources))
                .collect();
            json!({
                "tool": tool.tool,
                "examples": examples,
                "undecided": names(&tool.undecided),
                "vouched": tool.vouched.as_ref().map(|e| example_json(e, sources)),
            })
        })
        .collect();
    json!({
        "verdicts": names(&verdicts),
        "proved": sure,
        "vouched": of.iter().any(|tool| tool.vouched.is_some()),
        "tools": tools,
    })
}
