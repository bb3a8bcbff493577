//! What a report says, in the order in which it says it, whatever it is printed as.

use super::{list, number, text, tool_name, words};
use serde_json::{Map, Value};

/// A piece of a report.
#[derive(Debug)]
pub(super) enum Block {
    Title(String),
    Section(&'static str),
    Words(String),
    /// Whether something is as it should be, and what.
    Judgement(bool, String),
    Points(Vec<String>),
    Table(Vec<&'static str>, Vec<Vec<String>>),
}

/// All of it.
pub(super) fn of(value: &Value) -> Vec<Block> {
    let mut out = vec![
        Block::Title(format!(
            "What bouncer guards: {}",
            words(value, "/policy/files")
        )),
        Block::Words(format!(
            "Made by `bouncer report` {} from the policy, its tests, the accepted tools and the audit log, as far as they were given. The same files give the same report.",
            text(value, "/bouncer")
        )),
    ];
    summary(value, &mut out);
    guarded(value, &mut out);
    findings(value, &mut out);
    tests(value, &mut out);
    tools(value, &mut out);
    log(value, &mut out);
    out.push(Block::Section("What is not covered"));
    let missing = list(value, "/not_covered").iter().filter_map(Value::as_str);
    out.push(Block::Points(missing.map(str::to_owned).collect()));
    out
}

fn summary(value: &Value, out: &mut Vec<Block>) {
    out.push(Block::Section("In short"));
    let errors = number(value, "/verified/counts/errors");
    out.push(Block::Judgement(
        errors == 0,
        match errors {
            0 => "`bouncer verify` finds no error in the policy".to_owned(),
            _ => format!("`bouncer verify` finds {errors} errors in the policy"),
        },
    ));
    let assertions = number(value, "/policy/assertions");
    let proved = number(value, "/policy/proved");
    if assertions > 0 {
        let all = proved == assertions;
        out.push(Block::Judgement(
            all,
            format!("{proved} of {assertions} assertions are proved"),
        ));
    }
    if let Some(tests) = value.pointer("/tests").filter(|tests| !tests.is_null()) {
        let (passed, failed) = (number(tests, "/passed"), number(tests, "/failed"));
        let all = passed + failed;
        out.push(Block::Judgement(
            failed == 0,
            format!("{passed} of {all} tests pass"),
        ));
    }
    if let Some(log) = value.pointer("/log").filter(|log| !log.is_null()) {
        let faults = number(log, "/chain/fault_count");
        let lines = number(log, "/chain/lines");
        out.push(Block::Judgement(
            faults == 0,
            match faults {
                0 => format!("all {lines} lines of the audit log are as they were written"),
                _ => format!("the audit log is not as it was written, in {faults} places"),
            },
        ));
    }
}

fn guarded(value: &Value, out: &mut Vec<Block>) {
    out.push(Block::Section("What is guarded"));
    let on = |at: &str| match value.pointer(at).and_then(Value::as_bool) {
        Some(true) => "on".to_owned(),
        _ => "off".to_owned(),
    };
    let row = |what: &str, is: String| vec![what.to_owned(), is];
    out.push(Block::Table(
        vec!["", ""],
        vec![
            row("policy", words(value, "/policy/files")),
            row("plan", text(value, "/policy/plan")),
            row("rules", number(value, "/policy/rules").to_string()),
            row("servers of the gateway", words(value, "/policy/servers")),
            row("built-in packs", on("/policy/packs")),
            row("heuristics for unknown tools", on("/policy/heuristics")),
            row("accepted tools", list(value, "/tools").len().to_string()),
            row(
                "tools that a rule or contract covers",
                share(value, "/verified/coverage/tools"),
            ),
            row(
                "arguments of these that one looks at",
                share(value, "/verified/coverage/arguments"),
            ),
        ],
    ));
}

fn share(value: &Value, at: &str) -> String {
    let of = |what: &str| number(value, &format!("{at}/{what}"));
    format!("{} of {}", of("covered"), of("all"))
}

fn findings(value: &Value, out: &mut Vec<Block>) {
    out.push(Block::Section("What was found about the policy"));
    let rows: Vec<Vec<String>> = list(value, "/verified/findings")
        .iter()
        .map(finding)
        .collect();
    if rows.is_empty() {
        return out.push(Block::Words("`bouncer verify` found nothing.".to_owned()));
    }
    let head = vec!["", "code", "where", "what", "a call that shows it"];
    out.push(Block::Table(head, rows));
}

fn finding(finding: &Value) -> Vec<String> {
    let at = finding.pointer("/positions/0").map(|at| {
        let (line, column) = (number(at, "/line"), number(at, "/column"));
        format!("{}:{line}:{column}", text(at, "/file"))
    });
    let example = finding
        .pointer("/example")
        .filter(|example| !example.is_null());
    let example = example.map(|example| {
        format!(
            "{} {} → {}",
            tool_name(example),
            text(example, "/arguments_raw"),
            text(example, "/verdict")
        )
    });
    vec![
        text(finding, "/severity"),
        text(finding, "/code"),
        at.unwrap_or_default(),
        text(finding, "/message"),
        example.unwrap_or_default(),
    ]
}

fn tests(value: &Value, out: &mut Vec<Block>) {
    let Some(tests) = value.pointer("/tests").filter(|tests| !tests.is_null()) else {
        return;
    };
    out.push(Block::Section("Tests"));
    let rows = list(tests, "/tests").iter().map(|test| {
        let failed = !list(test, "/failures").is_empty();
        vec![
            if failed { "fails" } else { "passes" }.to_owned(),
            text(test, "/file"),
            text(test, "/name"),
            number(test, "/calls").to_string(),
        ]
    });
    out.push(Block::Table(
        vec!["", "file", "test", "calls"],
        rows.collect(),
    ));
    for coverage in list(tests, "/coverage") {
        let (covered, rules) = (number(coverage, "/covered"), number(coverage, "/rules"));
        let policy = text(coverage, "/policy");
        out.push(Block::Words(format!(
            "Calls of the tests are decided by {covered} of the {rules} rules of {policy}."
        )));
    }
}

fn tools(value: &Value, out: &mut Vec<Block>) {
    out.push(Block::Section("Tools, by what they do"));
    let rows = list(value, "/effects/rows").iter().map(|row| {
        let mut cells = vec![text(row, "/effect"), number(row, "/tools").to_string()];
        cells.extend(list(row, "/cells").iter().map(cell));
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return out.push(Block::Words("No tools are known.".to_owned()));
    }
    out.push(Block::Words(
        "Verdicts of calls for whose targets nobody vouches, over all arguments: at the beginning of a conversation, and after text was read that is untrusted, private, or both.".to_owned(),
    ));
    let head = vec![
        "effect",
        "tools",
        "nothing read",
        "untrusted read",
        "private read",
        "both read",
    ];
    out.push(Block::Table(head, rows));
    let rows = list(value, "/tools").iter().map(|tool| {
        let digest: String = text(tool, "/digest").chars().take(16).collect();
        vec![tool_name(tool), words(tool, "/effects"), digest]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        out.push(Block::Table(
            vec!["tool", "taken to", "accepted definition"],
            rows,
        ));
    }
}

fn cell(cell: &Value) -> String {
    let verdicts = words(cell, "/verdicts");
    match (
        verdicts.is_empty(),
        cell.pointer("/proved").and_then(Value::as_bool),
    ) {
        (true, _) => "–".to_owned(),
        (false, Some(true)) => verdicts,
        (false, _) => format!("{verdicts} (others were not ruled out)"),
    }
}

fn log(value: &Value, out: &mut Vec<Block>) {
    let Some(log) = value.pointer("/log").filter(|log| !log.is_null()) else {
        return;
    };
    out.push(Block::Section("What has happened"));
    let counted = |what: &str| number(log, &format!("/counts/{what}"));
    out.push(Block::Words(format!(
        "The audit log has {} lines about {} calls in {} conversations, from {} to {}. Its last line is {}.",
        counted("lines"),
        counted("calls"),
        counted("conversations"),
        text(log, "/counts/first"),
        text(log, "/counts/last"),
        text(log, "/chain/anchor"),
    )));
    let faults = list(log, "/chain/faults").iter().map(|fault| {
        format!(
            "{}:{}: {}",
            text(fault, "/file"),
            number(fault, "/line"),
            text(fault, "/what")
        )
    });
    let faults: Vec<String> = faults.collect();
    if !faults.is_empty() {
        out.push(Block::Points(faults));
    }
    for (what, at) in [
        ("verdict", "/counts/verdicts"),
        ("outcome", "/counts/outcomes"),
        ("what objected", "/counts/contracts"),
        ("tool that was objected to", "/counts/objected"),
    ] {
        let rows = counts(log.pointer(at).and_then(Value::as_object));
        if !rows.is_empty() {
            out.push(Block::Table(vec![what, "lines"], rows));
        }
    }
}

/// The most frequent first.
fn counts(counts: Option<&Map<String, Value>>) -> Vec<Vec<String>> {
    let counts = counts.into_iter().flatten();
    let mut counts: Vec<(u64, &String)> = counts
        .map(|(name, count)| (count.as_u64().unwrap_or_default(), name))
        .collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let row = |(count, name): (u64, &String)| vec![name.clone(), count.to_string()];
    counts.into_iter().map(row).collect()
}
