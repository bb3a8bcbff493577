//! `bouncer inspect`: what a plan holds, and what in it is big.

use crate::cli::InspectArgs;
use crate::output::{Failure, Outcome};
use bouncer_plan::format::{
    AutomatonKind, CONTRACT_CONFIRM, CONTRACT_DISPATCHES, CONTRACT_EXFILTRATING,
    CONTRACT_OPTIONAL_SINKS, ContractLayer, META_HAS_RULES, META_HEURISTICS, NONE, Pos, QUANT_BIT,
    Rule, Section,
};
use bouncer_plan::{Plan, Tables};
use serde_json::{Value, json};
use std::io::Write;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Outcome {
    if let Some(lock) = &args.tools {
        return super::inspect_tools::run(lock, args.json);
    }
    let path = args.plan.clone().unwrap_or_default();
    let bytes = bouncer_system::private::read(&path)
        .map_err(|error| Failure::file("read", &path, &error))?;
    let plan = Plan::load(bytes).map_err(|error| Failure::file("load", &path, &error))?;
    let report = report(&plan);
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{report}")?;
    } else {
        print(&report, &mut stdout)?;
    }
    Ok(0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that `inspect` knows, as JSON.
fn report(plan: &Plan) -> Value {
    let tables = plan.tables();
    let meta = tables.meta().ok();
    let flag = |bit: u32| meta.is_some_and(|meta| meta.flags.get() & bit != 0);
    let text = |string| tables.text(string).unwrap_or_default();
    let sections: Vec<Value> = Section::ALL
        .iter()
        .map(|section| json!({ "name": section.name(), "bytes": plan.section(*section).len() }))
        .collect();
    let defaults = meta.filter(|_| flag(META_HAS_RULES)).map(|meta| {
        json!({
            "onDestructiveHint": meta.on_destructive_hint.name(),
            "onUnknown": meta.on_unknown.name(),
        })
    });
    json!({
        "bytes": plan.bytes().len(),
        "bytes_per_rule": plan.bytes().len().checked_div(tables.rules.len()),
        "digest": hex(plan.digest()),
        "policy_digest": meta.map(|meta| hex(&meta.policy_digest)),
        "compiler": meta.map(|meta| text(&meta.compiler)),
        "files": tables.files.iter().map(text).collect::<Vec<_>>(),
        "heuristics": flag(META_HEURISTICS),
        "defaults": defaults,
        "sections": sections,
        "contracts": contracts(tables),
        "rules": rules(tables),
        "groups": groups(tables),
        "automata": automata(tables),
        "rows": tables.rows.len(),
        "atoms": tables.atoms.len(),
        "paths": tables.paths.iter().map(text).collect::<Vec<_>>(),
        "servers": tables.servers.iter().map(|server| text(&server.name)).collect::<Vec<_>>(),
    })
}

fn contracts(tables: &Tables<'_>) -> Vec<Value> {
    let text = |string| tables.text(string).unwrap_or_default();
    let each = tables.contracts.iter().map(|contract| {
        let start = contract.sinks.start.get() as usize;
        let end = start.saturating_add(contract.sinks.length.get() as usize);
        let sinks = tables.sinks.get(start..end).unwrap_or_default();
        let max_calls = contract.max_calls.get();
        json!({
            "tool": text(&contract.key),
            "layer": match contract.layer {
                ContractLayer::User => "user",
                ContractLayer::Pack => "pack",
            },
            "exfiltrating": contract.flags.get() & CONTRACT_EXFILTRATING != 0,
            "sinks": sinks.iter().map(|sink| text(&sink.name)).collect::<Vec<_>>(),
            "optional_sinks": contract.flags.get() & CONTRACT_OPTIONAL_SINKS != 0,
            "dispatches": (contract.flags.get() & CONTRACT_DISPATCHES != 0)
                .then(|| [text(&contract.dispatch_tool), text(&contract.dispatch_arguments)]),
            "confirm": contract.flags.get() & CONTRACT_CONFIRM != 0,
            "trusted": tables.literal_sets.get(contract.trusted.get() as usize).map_or(0, |set| set.count.get()),
            "constraints": contract.constraints.length.get(),
            "max_calls": (max_calls != u64::MAX).then_some(max_calls),
            "rates": contract.rates.length.get(),
        })
    });
    each.collect()
}

fn rules(tables: &Tables<'_>) -> Vec<Value> {
    let text = |string| tables.text(string).unwrap_or_default();
    let each = tables.rules.iter().map(|rule| {
        let file = tables
            .files
            .get(rule.at.file.get() as usize)
            .map_or("", text);
        let reason = (rule.reason.start.get() != NONE).then(|| text(&rule.reason));
        json!({
            "tools": text(&rule.tools),
            "action": rule.action.name(),
            "reason": reason,
            "at": format!("{file}:{}:{}", rule.at.line, rule.at.column),
        })
    });
    each.collect()
}

/// Rules by tool pattern, with what a call to such a tool runs.
fn groups(tables: &Tables<'_>) -> Vec<Value> {
    let each = tables.groups.iter().map(|group| {
        let start = group.dimensions.start.get() as usize;
        let end = start.saturating_add(group.dimensions.length.get() as usize);
        let dimensions = tables.dimensions.get(start..end).unwrap_or_default();
        let automata: Vec<u32> = dimensions
            .iter()
            .flat_map(|dimension| {
                let start = dimension.matchers.start.get() as usize;
                let end = start.saturating_add(dimension.matchers.length.get() as usize);
                tables.matchers.get(start..end).unwrap_or_default()
            })
            .map(|matcher| matcher.automaton.get())
            .collect();
        json!({
            "pattern": tables.text(&group.pattern).unwrap_or_default(),
            "rows": group.rows.length.get(),
            "paths": dimensions.len(),
            "automata": automata,
        })
    });
    each.collect()
}

/// The automata: how big each is, why, and where its patterns were written.
fn automata(tables: &Tables<'_>) -> Vec<Value> {
    let mut owners = owners(tables);
    let each = tables
        .automata
        .iter()
        .enumerate()
        .map(|(index, automaton)| {
            let patterns = owners
                .get_mut(index)
                .map(std::mem::take)
                .unwrap_or_default();
            json!({
                "index": index,
                "kind": match automaton.kind {
                    AutomatonKind::Dfa => "dfa",
                    AutomatonKind::Nfa => "nfa",
                },
                "bytes": automaton.length.get(),
                "states": tables.states(automaton),
                "patterns": automaton.patterns.get(),
                "fallback": Some(automaton.fallback.get()).filter(|index| *index != NONE),
                "prefilter": automaton.prefilter.length.get() > 0,
                "at": patterns,
            })
        });
    each.collect()
}

/// By automaton: where its patterns were written, each place once.
fn owners(tables: &Tables<'_>) -> Vec<Vec<String>> {
    let mut owners: Vec<Vec<String>> = vec![Vec::new(); tables.automata.len()];
    let mut note = |automaton: u32, at: &Pos| {
        let file = tables.files.get(at.file.get() as usize);
        let name = file.map_or("", |file| tables.text(file).unwrap_or_default());
        let place = format!("{name}:{}:{}", at.line.get(), at.column.get());
        if let Some(places) = owners.get_mut(automaton as usize)
            && places.last() != Some(&place)
        {
            places.push(place);
        }
    };
    for matcher in tables.matchers {
        let automaton = matcher.automaton.get();
        let fallback = tables
            .automata
            .get(automaton as usize)
            .map_or(NONE, |reference| reference.fallback.get());
        let start = matcher.tests.start.get() as usize;
        let end = start.saturating_add(matcher.tests.length.get() as usize);
        for test in tables.lists.get(start..end).unwrap_or_default() {
            if let Some(rule) = rule_of_test(tables, test.get()) {
                note(automaton, &rule.at);
                note(fallback, &rule.at);
            }
        }
    }
    for constraint in tables.constraints {
        note(constraint.automaton.get(), &constraint.at);
    }
    owners
}

/// The first rule that a test matters to.
fn rule_of_test<'p>(tables: &Tables<'p>, test: u32) -> Option<&'p Rule> {
    let test = tables.tests.get(test as usize)?;
    let atoms = [&test.plain, &test.any, &test.all, &test.maybe];
    let atom = atoms.into_iter().map(|atom| atom.get()).find_map(|atom| {
        if atom == NONE {
            None
        } else if atom & QUANT_BIT != 0 {
            let quant = tables.quants.get((atom & !QUANT_BIT) as usize)?;
            Some(quant.atom.get())
        } else {
            Some(atom)
        }
    })?;
    let atom = tables.atoms.get(atom as usize)?;
    let lists = [&atom.requires, &atom.kills];
    let list = lists.into_iter().find(|list| list.length.get() > 0)?;
    let row = tables.lists.get(list.start.get() as usize)?.get();
    let rule = tables.rows.get(row as usize)?.rule.get();
    tables.rules.get(rule as usize)
}

/// Writes the report for people: totals first, then what is big.
fn print(report: &Value, out: &mut impl Write) -> std::io::Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let list = |key: &str| {
        report
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    let field = |value: &Value, key: &str| value.get(key).map(text).unwrap_or_default();
    writeln!(
        out,
        "plan        {} bytes, digest {}",
        number(report, "bytes"),
        field(report, "digest")
    )?;
    writeln!(out, "policy      digest {}", field(report, "policy_digest"))?;
    writeln!(out, "compiler    {}", field(report, "compiler"))?;
    let files: Vec<String> = list("files").iter().map(text).collect();
    writeln!(out, "files       {}", files.join(", "))?;
    if let Some(defaults) = report.get("defaults").filter(|value| value.is_object()) {
        writeln!(
            out,
            "defaults    onDestructiveHint {}, onUnknown {}",
            field(defaults, "onDestructiveHint"),
            field(defaults, "onUnknown")
        )?;
    }
    writeln!(
        out,
        "holds       {} contracts, {} rules in {} groups, {} rows, {} atoms, {} automata",
        list("contracts").len(),
        list("rules").len(),
        list("groups").len(),
        number(report, "rows"),
        number(report, "atoms"),
        list("automata").len(),
    )?;
    writeln!(out, "\nsections")?;
    for section in list("sections") {
        let bytes = number(&section, "bytes");
        if bytes > 0 {
            writeln!(out, "  {bytes:>10}  {}", field(&section, "name"))?;
        }
    }
    let gate =
        |contract: &Value| contract.get("exfiltrating").and_then(Value::as_bool) == Some(true);
    writeln!(out, "\ncontracts")?;
    for contract in list("contracts") {
        let sinks: Vec<String> = contract
            .get("sinks")
            .and_then(Value::as_array)
            .map(|s| s.iter().map(text).collect())
            .unwrap_or_default();
        let gated = if gate(&contract) {
            format!("gated on {}", sinks.join(", "))
        } else {
            "-".to_owned()
        };
        writeln!(
            out,
            "  {:<32} {:<5} {gated}",
            field(&contract, "tool"),
            field(&contract, "layer")
        )?;
    }
    if !list("rules").is_empty() {
        writeln!(out, "\nrules")?;
        for rule in list("rules") {
            writeln!(
                out,
                "  {:<6} {:<32} {}",
                field(&rule, "action"),
                field(&rule, "tools"),
                field(&rule, "at")
            )?;
        }
    }
    let mut automata = list("automata");
    automata.sort_by_key(|automaton| std::cmp::Reverse(number(automaton, "bytes")));
    if !automata.is_empty() {
        let simulated = automata
            .iter()
            .filter(|automaton| field(automaton, "kind") == "nfa")
            .count();
        writeln!(
            out,
            "\nautomata (largest first; an nfa is many times slower to read a text with: here {simulated})"
        )?;
        for automaton in automata.iter().take(20) {
            let places = automaton.get("at").and_then(Value::as_array);
            let places = places.map(Vec::as_slice).unwrap_or_default();
            let more = match places.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            writeln!(
                out,
                "  #{:<4} {} {:>10} bytes, {} states, {} patterns: {}{more}",
                number(automaton, "index"),
                field(automaton, "kind"),
                number(automaton, "bytes"),
                number(automaton, "states"),
                number(automaton, "patterns"),
                places.first().map(text).unwrap_or_default(),
            )?;
        }
    }
    Ok(())
}
