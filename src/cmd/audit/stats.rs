//! Counts over the log.

use super::lines::Line;
use bouncer_compiler::diagnostic::escape;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Names that are printed of each kind.
const TOP: usize = 10;

/// What is counted over the lines of a log.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Stats {
    lines: u64,
    first: Option<String>,
    last: Option<String>,
    conversations: BTreeSet<String>,
    /// Calls: the lines of one call count once.
    calls: BTreeSet<(String, u64)>,
    verdicts: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    /// What decided, where it was no allow.
    contracts: BTreeMap<String, u64>,
    tools: BTreeMap<String, u64>,
    /// Tools of lines that are no allow.
    objected: BTreeMap<String, u64>,
    events: BTreeMap<String, u64>,
    latencies: Vec<u64>,
}

#[derive(Serialize)]
struct Printed<'a> {
    lines: u64,
    calls: usize,
    conversations: usize,
    first: Option<&'a str>,
    last: Option<&'a str>,
    verdicts: &'a BTreeMap<String, u64>,
    outcomes: &'a BTreeMap<String, u64>,
    contracts: &'a BTreeMap<String, u64>,
    tools: &'a BTreeMap<String, u64>,
    objected: &'a BTreeMap<String, u64>,
    events: &'a BTreeMap<String, u64>,
    latency_us: Latency,
}

#[derive(Serialize)]
struct Latency {
    median: u64,
    p99: u64,
    max: u64,
}

impl Stats {
    pub(crate) fn add(&mut self, line: &Line) {
        self.lines += 1;
        self.first.get_or_insert_with(|| line.time.clone());
        self.last = Some(line.time.clone());
        let count = |map: &mut BTreeMap<String, u64>, key: &str| {
            *map.entry(key.to_owned()).or_default() += 1;
        };
        if let Some(event) = &line.event {
            return count(&mut self.events, event);
        }
        self.conversations.insert(line.conversation.clone());
        if let Some(call) = line.call {
            self.calls.insert((line.conversation.clone(), call));
        }
        let verdict = line.verdict.as_deref().unwrap_or_default();
        count(&mut self.verdicts, verdict);
        count(
            &mut self.outcomes,
            line.outcome.as_deref().unwrap_or_default(),
        );
        let tool = line.tool.as_deref().unwrap_or("(no tool)");
        let full = line
            .server
            .as_ref()
            .map(|server| format!("{server}__{tool}"));
        let tool = full.as_deref().unwrap_or(tool);
        count(&mut self.tools, tool);
        if verdict != "allow" {
            count(&mut self.objected, tool);
            count(
                &mut self.contracts,
                line.contract.as_deref().unwrap_or_default(),
            );
        }
        self.latencies.extend(line.latency_us);
    }

    fn latency(&mut self) -> Latency {
        self.latencies.sort_unstable();
        let at = |share: usize| {
            let index = self.latencies.len().saturating_sub(1) * share / 100;
            self.latencies.get(index).copied().unwrap_or_default()
        };
        Latency {
            median: at(50),
            p99: at(99),
            max: at(100),
        }
    }

    /// The counts as one value.
    pub(crate) fn value(&mut self) -> serde_json::Value {
        let latency = self.latency();
        serde_json::to_value(self.printed(latency)).unwrap_or_default()
    }

    fn printed(&self, latency_us: Latency) -> Printed<'_> {
        Printed {
            lines: self.lines,
            calls: self.calls.len(),
            conversations: self.conversations.len(),
            first: self.first.as_deref(),
            last: self.last.as_deref(),
            verdicts: &self.verdicts,
            outcomes: &self.outcomes,
            contracts: &self.contracts,
            tools: &self.tools,
            objected: &self.objected,
            events: &self.events,
            latency_us,
        }
    }

    pub(crate) fn print(&mut self, out: &mut impl Write, json: bool) -> io::Result<()> {
        let latency = self.latency();
        let printed = self.printed(latency);
        if json {
            let text = serde_json::to_string_pretty(&printed).unwrap_or_default();
            return writeln!(out, "{text}");
        }
        writeln!(
            out,
            "{} about {} in {}",
            count(printed.lines, "line"),
            count(printed.calls as u64, "call"),
            count(printed.conversations as u64, "conversation")
        )?;
        if let (Some(first), Some(last)) = (printed.first, printed.last) {
            writeln!(out, "from {} to {}", escape(first), escape(last))?;
        }
        for (what, counts) in [
            ("verdicts", printed.verdicts),
            ("outcomes", printed.outcomes),
            ("objections by contract", printed.contracts),
            ("objections by tool", printed.objected),
            ("tools", printed.tools),
            ("events", printed.events),
        ] {
            table(out, what, counts)?;
        }
        let Latency { median, p99, max } = printed.latency_us;
        writeln!(
            out,
            "\ntime from a call to its line: median {median} µs, 99 % within {p99} µs, longest {max} µs"
        )
    }
}

/// "1 call", "2 calls".
pub(super) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn table(out: &mut impl Write, what: &str, counts: &BTreeMap<String, u64>) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{what}")?;
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (name, count) in sorted.iter().take(TOP) {
        writeln!(out, "{count:8}  {}", escape(name))?;
    }
    if sorted.len() > TOP {
        writeln!(out, "          and {} more", sorted.len() - TOP)?;
    }
    Ok(())
}
