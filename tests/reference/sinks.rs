//! The sink gate: which values are destinations, and whether each may be sent to.

use super::condition;
use super::json::Json;
use super::leaves;
use super::shared::{self, Seen};
use super::text;
use bouncer_compiler::policy::{Contract, Path, Segment, TrustedDestination, TrustedForm};
use bouncer_plan::Label;
use bouncer_plan::Verdict;

/// A value that data would go to.
pub struct Destination {
    /// The argument it stands in.
    pub param: String,
    /// The value, as it would be forwarded.
    pub text: String,
}

/// What the sink gate says where it does not let the call pass.
pub struct Objection {
    /// Ask or deny.
    pub verdict: Verdict,
    /// The destination; `None` if the call has none at all.
    pub destination: Option<Destination>,
}

/// Judges every destination of the call.
pub fn judge(
    contract: &Contract,
    arguments: &Json,
    seen: &Seen,
    approved: &dyn Fn(&str, &str) -> bool,
) -> Option<Objection> {
    let destinations = destinations(contract, arguments, seen);
    if destinations.is_empty() {
        if optional(contract) {
            return None;
        }
        return Some(Objection {
            verdict: Verdict::Ask,
            destination: None,
        });
    }
    let mut first_ask = None;
    for destination in destinations {
        let text = destination.text.as_str();
        if trusted(&contract.trusted, text)
            || approved(&destination.param, text)
            || seen.is_typed(text)
        {
            continue;
        }
        let verdict = match seen.classify(text) {
            Some(Label::Trusted) => continue,
            Some(Label::Untrusted) => contract.on_tainted,
            Some(Label::Observed) | None => Verdict::Ask,
        };
        let objection = Objection {
            verdict,
            destination: Some(destination),
        };
        if verdict == Verdict::Deny {
            return Some(objection);
        }
        first_ask.get_or_insert(objection);
    }
    first_ask
}

/// A call that names none of the declared sinks sends nothing out.
fn optional(contract: &Contract) -> bool {
    contract.optional_sinks && !contract.sinks.is_empty()
}

/// All destinations of the call: of the declared sinks in their order, then of what
/// else looks like one, in document order.
fn destinations(contract: &Contract, arguments: &Json, seen: &Seen) -> Vec<Destination> {
    let mut found = Vec::new();
    let declared: Vec<&Json> = contract
        .sinks
        .iter()
        .flat_map(|sink| leaves::nodes(arguments, &sink.path))
        .collect();
    let Json::Object(members) = arguments else {
        return found;
    };
    if !optional(contract) && !declared.iter().any(|node| has_leaf(node)) {
        for (name, value) in members {
            texts(value, &mut |text| {
                push(&mut found, name.clone(), &text);
            });
        }
        return found;
    }
    // A value counts once: for the outermost sink around it, of equals for the first.
    let mut counted: Vec<&Json> = Vec::new();
    for sink in &contract.sinks {
        for node in leaves::nodes(arguments, &sink.path) {
            let inner = |outer: &&Json| !std::ptr::eq::<Json>(*outer, node) && holds(outer, node);
            if declared.iter().any(inner) || counted.iter().any(|n| std::ptr::eq(*n, node)) {
                continue;
            }
            counted.push(node);
            texts(node, &mut |text| {
                push(&mut found, leaves::written(&sink.path), &text);
            });
        }
    }
    for (name, value) in members {
        undeclared(value, name, &declared, &mut |nearest, text, is_text| {
            if shared::is_destination_shaped(&text) {
                push(&mut found, name.clone(), &text);
            } else if is_text && shared::may_name_recipients(nearest, &text) {
                for token in shared::tokens(&text::folded(&text)) {
                    let label = seen.classify(&token);
                    if matches!(label, Some(Label::Untrusted | Label::Observed)) {
                        found.push(Destination {
                            param: name.clone(),
                            text: token,
                        });
                    }
                }
            }
        });
    }
    found
}

fn push(found: &mut Vec<Destination>, param: String, text: &str) {
    for destination in shared::destinations(text) {
        found.push(Destination {
            param: param.clone(),
            text: destination,
        });
    }
}

/// Whether `inner` is `outer` or stands somewhere in it.
fn holds(outer: &Json, inner: &Json) -> bool {
    std::ptr::eq(outer, inner)
        || match outer {
            Json::Array(items) => items.iter().any(|item| holds(item, inner)),
            Json::Object(members) => members.iter().any(|(_, value)| holds(value, inner)),
            _ => false,
        }
}

fn has_leaf(node: &Json) -> bool {
    match node {
        Json::Array(items) => items.iter().any(has_leaf),
        Json::Object(members) => members.iter().any(|(_, value)| has_leaf(value)),
        _ => true,
    }
}

/// Leaves and object keys, a key before its value.
fn texts(node: &Json, visit: &mut impl FnMut(String)) {
    match node {
        Json::Array(items) => {
            for item in items {
                texts(item, visit);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                visit(name.clone());
                texts(value, visit);
            }
        }
        _ => visit(leaves::text(&leaves::scalar(node).unwrap())),
    }
}

/// Leaves and object keys that stand under no declared sink, with the nearest name above
/// them and whether they are texts.
fn undeclared(
    node: &Json,
    nearest: &str,
    declared: &[&Json],
    visit: &mut impl FnMut(&str, String, bool),
) {
    if declared.iter().any(|sink| std::ptr::eq(*sink, node)) {
        return;
    }
    match node {
        Json::Array(items) => {
            for item in items {
                undeclared(item, nearest, declared, visit);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                visit(nearest, name.clone(), true);
                undeclared(value, name, declared, visit);
            }
        }
        _ => {
            let text = leaves::text(&leaves::scalar(node).unwrap());
            visit(nearest, text, matches!(node, Json::Str(_)));
        }
    }
}

fn trusted(list: &[TrustedDestination], text: &str) -> bool {
    list.iter().any(|entry| is_trusted(&entry.form, text))
}

/// Whether a list's entry speaks of the destination.
pub fn is_trusted(form: &TrustedForm, text: &str) -> bool {
    !text.chars().any(char::is_control)
        && match form {
            TrustedForm::Exact(exact) => {
                text.eq_ignore_ascii_case(exact)
                    || shared::origins(text)
                        .iter()
                        .any(|origin| origin.eq_ignore_ascii_case(exact))
            }
            TrustedForm::AtDomain(domain) => condition::at_domain(text, domain),
            TrustedForm::Below(domain) => condition::below_domain(text, domain),
        }
}

/// The path of a sink that heuristics found.
pub fn derived_path(keys: &[String]) -> Path {
    Path(keys.iter().cloned().map(Segment::Key).collect())
}
