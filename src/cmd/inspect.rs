//! `bouncer inspect`: what a plan holds, and what in it is big.

use crate::cli::InspectArgs;
use crate::output::{Failure, Outcome};
use bouncer_runtime::Verdict;
use bouncer_runtime::plan::format::{
    AUTOMATON_DFA, CONTRACT_CONFIRM, CONTRACT_EXFILTRATING, CONTRACT_OPTIONAL_SINKS,
    META_HAS_RULES, META_HEURISTICS, NONE, Section,
};
use bouncer_runtime::plan::{Plan, Tables};
use serde_json::{Value, json};
use std::io::Write;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Outcome {
    let bytes =
        std::fs::read(&args.plan).map_err(|error| Failure::file("read", &args.plan, &error))?;
    let plan = Plan::load(bytes).map_err(|error| Failure::file("load", &args.plan, &error))?;
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

fn verdict(byte: u8) -> &'static str {
    Verdict::from_byte(byte).map_or("?", Verdict::name)
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
            "onDestructiveHint": verdict(meta.on_destructive_hint),
            "onUnknown": verdict(meta.on_unknown),
        })
    });
    json!({
        "bytes": plan.bytes().len(),
        "digest": hex(plan.digest()),
        "policy_digest": meta.map(|meta| hex(&meta.policy_digest)),
        "compiler": meta.map(|meta| text(&meta.compiler)),
        "files": tables.files.iter().map(text).collect::<Vec<_>>(),
        "heuristics": flag(META_HEURISTICS),
        "defaults": defaults,
        "sections": sections,
        "contracts": contracts(&tables),
        "rules": rules(&tables),
        "groups": groups(&tables),
        "automata": automata(&tables),
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
            "layer": if contract.layer.get() == 0 { "user" } else { "pack" },
            "exfiltrating": contract.flags.get() & CONTRACT_EXFILTRATING != 0,
            "sinks": sinks.iter().map(|sink| text(&sink.name)).collect::<Vec<_>>(),
            "optional_sinks": contract.flags.get() & CONTRACT_OPTIONAL_SINKS != 0,
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
            "action": u8::try_from(rule.action.get()).map_or("?", verdict),
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

fn automata(tables: &Tables<'_>) -> Vec<Value> {
    let each = tables
        .automata
        .iter()
        .enumerate()
        .map(|(index, automaton)| {
            json!({
                "index": index,
                "kind": if automaton.kind.get() == AUTOMATON_DFA { "dfa" } else { "nfa" },
                "bytes": automaton.length.get(),
                "patterns": automaton.patterns.get(),
                "fallback": Some(automaton.fallback.get()).filter(|index| *index != NONE),
            })
        });
    each.collect()
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
        writeln!(out, "\nautomata (largest first)")?;
        for automaton in automata.iter().take(20) {
            writeln!(
                out,
                "  #{:<4} {} {:>10} bytes, {} patterns",
                number(automaton, "index"),
                field(automaton, "kind"),
                number(automaton, "bytes"),
                number(automaton, "patterns")
            )?;
        }
    }
    Ok(())
}
