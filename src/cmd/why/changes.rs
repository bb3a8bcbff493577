//! What would have changed a verdict, in words, by the code of what decided.

use super::Change;
use bouncer_engine::gate::Grounds;
use bouncer_reader::text::Quoted;

/// The changes that come into question. None of them was tried.
pub(super) fn in_words(
    code: &str,
    verdict: &str,
    tool: &str,
    at: Option<&str>,
    grounds: Option<&Grounds>,
) -> Vec<Change> {
    let tool = Quoted(tool);
    let place = at.map_or_else(String::new, |at| format!(" at {}", super::visible(at)));
    let mut all: Vec<String> = Vec::new();
    if let (true, Some(grounds)) = (code.starts_with("sink_gate."), grounds) {
        let value = Quoted(&grounds.value);
        all.push(format!("{value} on `trusted_destinations` of {tool}"));
        if verdict == "ask" {
            let param = Quoted(&grounds.param);
            all.push(format!(
                "a human's approval of {value} as {param}, for this conversation"
            ));
        }
        if let Some(seen) = &grounds.seen {
            if code == "sink_gate.tainted" && verdict == "deny" {
                all.push(format!(
                    "`on_tainted: ask` in the contract of {tool}: a human would be asked"
                ));
            }
            all.push(format!(
                "another label for field {} in the `outputs` of {}, if its text is not what outsiders write",
                Quoted(&seen.field),
                Quoted(&seen.tool)
            ));
        }
    }
    if let ("rule.matched", Some(grounds)) = (code, grounds) {
        all.push(format!(
            "{} without {}",
            Quoted(&grounds.param),
            Quoted(&grounds.value)
        ));
    }
    all.extend(match code {
        "sink_gate.no_destination" => vec![
            "a destination in the call".to_owned(),
            format!("`optional_sinks: true` in the contract of {tool}, if such a call sends nothing out"),
        ],
        "rule.matched" => vec![
            format!("arguments for which the rule{place} does not hold"),
            format!("a rule before the one{place} that allows this"),
        ],
        "rule.default" => vec![format!("a rule that names {tool} and allows this")],
        "default.confirm" => vec![format!("a contract for {tool} without `confirm: true`")],
        "constraint.path" => vec![format!("a path below one of the prefixes{place}")],
        "constraint.pattern" => vec![format!("a value that matches the pattern{place}")],
        "budget.max_calls" => vec![
            format!("a larger `max_calls`{place}"),
            "a new conversation".to_owned(),
        ],
        "budget.rate" => vec![format!("a later call, or a larger `rate`{place}")],
        "pinning.unknown" => vec![format!(
            "{tool} in the server's list of tools when it is pinned, or in the lock (`bouncer pin`)"
        )],
        "pinning.changed" => vec![format!(
            "the definition of {tool} that was pinned; review the new one and pin it (`bouncer pin --accept`)"
        )],
        "malformed" => vec!["arguments that are one well-formed JSON object".to_owned()],
        _ => Vec::new(),
    });
    if verdict == "ask" && matches!(code, "rule.matched" | "rule.default" | "default.confirm") {
        all.push("a human's approval of exactly this call, once".to_owned());
    }
    all.into_iter()
        .map(|change| Change {
            change,
            verdict: None,
        })
        .collect()
}
