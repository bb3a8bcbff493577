//! What a report does not show, said as plainly as what it shows.

use super::{list, number, text, tool_name};
use serde_json::{Value, json};

/// What no policy can say anything about.
const NEVER: [&str; 3] = [
    "What a server does with a call that it was given: only what goes in and out is seen.",
    "Servers that a client reaches without bouncer. `bouncer doctor`, on each machine, names those that are in its clients' configurations.",
    "What the agent tells its user, and what the user does because of that.",
];

/// The sentences.
pub(super) fn of(value: &Value) -> Value {
    let mut out = Vec::new();
    let tools = list(value, "/tools");
    if tools.is_empty() {
        out.push("No list of tools was given (`--tools`): which tools there are, and whether rules speak of them, is not known.".to_owned());
    }
    let uncovered: Vec<String> = list(value, "/verified/findings")
        .iter()
        .filter(|finding| text(finding, "/code") == "B0807")
        .map(|finding| text(finding, "/message"))
        .collect();
    out.extend(uncovered.into_iter().map(|message| format!("{message}.")));
    let unknown = tools
        .iter()
        .filter(|tool| list(tool, "/effects").is_empty());
    let unknown: Vec<String> = unknown.map(tool_name).collect();
    if !unknown.is_empty() {
        out.push(format!(
            "What these tools do could not be told by their names and arguments: {}.",
            unknown.join(", ")
        ));
    }
    if number(value, "/policy/assertions") == 0 {
        out.push("The policy has no assertions: nothing was to be proved about it.".to_owned());
    }
    match value.pointer("/tests").filter(|tests| !tests.is_null()) {
        None => out.push("No tests lie beside the policy.".to_owned()),
        Some(tests) => {
            let failed = number(tests, "/failed");
            if failed > 0 {
                out.push(format!("{failed} of the tests fail."));
            }
            for coverage in list(tests, "/coverage") {
                for rule in list(coverage, "/uncovered") {
                    out.push(format!(
                        "No test has a call that the rule at {}:{} decides.",
                        text(rule, "/file"),
                        number(rule, "/line")
                    ));
                }
            }
        }
    }
    match value.pointer("/log").filter(|log| !log.is_null()) {
        None => out
            .push("No audit log was given (`--audit`): what has happened is not known.".to_owned()),
        Some(log) => {
            let faults = number(log, "/chain/fault_count");
            if faults > 0 {
                out.push(format!(
                    "The audit log is not as it was written, in {faults} places: what it says is no evidence."
                ));
            }
            let unreadable = number(log, "/unreadable");
            if unreadable > 0 {
                out.push(format!(
                    "{unreadable} lines of the audit log cannot be read."
                ));
            }
        }
    }
    out.extend(NEVER.map(str::to_owned));
    json!(out)
}
