//! Findings as SARIF 2.1.0, which code scanning services read.

use super::{example_json, file_of, human};
use crate::{Finding, Report, Severity};
use bouncer_compiler::diagnostic::{Page, SourceMap, explain};
use bouncer_compiler::policy::Pos;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A log with one run. Findings without a place of their own point at the start of the
/// first file, because readers of logs expect one.
#[must_use]
pub fn sarif(report: &Report, sources: &SourceMap) -> Value {
    let codes: BTreeSet<&str> = report.findings.iter().map(|f| f.code.name()).collect();
    let pages: Vec<&Page> = codes.iter().filter_map(|code| explain(code)).collect();
    let rules: Vec<Value> = pages.iter().map(|page| rule(page)).collect();
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let index = pages.iter().position(|page| page.code == finding.code);
            result(finding, index, sources)
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bouncer",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn rule(page: &Page) -> Value {
    let default = match page.severity {
        bouncer_compiler::diagnostic::Severity::Error => "error",
        bouncer_compiler::diagnostic::Severity::Warning => "warning",
        bouncer_compiler::diagnostic::Severity::Note => "note",
    };
    json!({
        "id": page.code.name(),
        "shortDescription": { "text": page.title },
        "fullDescription": { "text": format!("{} {}", page.means, page.why) },
        "help": { "text": page.fix, "markdown": page.to_string() },
        "defaultConfiguration": { "level": default },
    })
}

fn result(finding: &Finding, index: Option<usize>, sources: &SourceMap) -> Value {
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        // Writing to a string does not fail.
        let _ = write!(text, "\nhelp: {help}");
    }
    if let Some(example) = &finding.example {
        let _ = write!(text, "\nexample: {}", human::example(example, sources));
    }
    let start = Pos {
        file: 0,
        line: 1,
        column: 1,
    };
    let at = finding.places.first().map_or(start, |place| place.at);
    let related: Vec<Value> = (1..)
        .zip(finding.places.iter().skip(1))
        .map(|(id, place)| {
            let mut value = location(place.at, sources);
            if let Some(object) = value.as_object_mut() {
                object.insert("id".to_owned(), json!(id));
                if !place.label.is_empty() {
                    object.insert("message".to_owned(), json!({ "text": place.label }));
                }
            }
            value
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.code.name(),
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location(at, sources)],
        "properties": {
            "kind": finding.kind.name(),
            "example": finding.example.as_ref().map(|e| example_json(e, sources)),
        },
    });
    if let Some(object) = result.as_object_mut() {
        if let Some(index) = index {
            object.insert("ruleIndex".to_owned(), json!(index));
        }
        if !related.is_empty() {
            object.insert("relatedLocations".to_owned(), Value::Array(related));
        }
    }
    result
}

fn location(at: Pos, sources: &SourceMap) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(file_of(at, sources)) },
        "region": { "startLine": at.line, "startColumn": at.column },
    }})
}

/// A file's name as a URI reference. Packs are `pack:NAME`, which is one already.
fn uri(name: &str) -> String {
    if name.starts_with("pack:") {
        return name.to_owned();
    }
    let mut out = String::new();
    for byte in name.replace('\\', "/").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
