//! Entries of the user that replace a pack's contract and lose what protected.

use super::schema;
use super::show::Judge;
use super::{Example, Finding, Kind, ListedTool, Place, Severity};
use bouncer_compiler::diagnostic::{Code, quote};
use bouncer_compiler::policy::{Contract, Layer, Path, Policy, Segment};
use bouncer_plan::Label;
use bouncer_plan::Verdict;
use serde_json::json;

/// Compares each entry of the user with the pack's that it stands before.
pub(super) fn check(
    policy: &Policy,
    listed: &[ListedTool],
    judge: &Judge<'_>,
    out: &mut Vec<Finding>,
) {
    let users = policy.contracts.iter().filter(|c| c.layer == Layer::User);
    for user in users {
        let Some(pack) = before(policy, user) else {
            continue;
        };
        let (lost, worst) = losses(user, pack);
        if lost.is_empty() {
            continue;
        }
        let help = if user.key == pack.key {
            "add `extends: pack` to keep what the pack says, or restate it"
        } else {
            "restate what the pack says: `extends: pack` needs the pack's own key"
        };
        out.push(Finding {
            code: Code::GATE_DROPPED,
            kind: Kind::GateDropped,
            severity: worst,
            message: format!(
                "this entry replaces the pack's contract for {} and drops {}",
                quote(&pack.key),
                lost.join(", ")
            ),
            places: vec![
                Place {
                    at: user.at,
                    label: String::new(),
                },
                Place {
                    at: pack.at,
                    label: "the pack's contract".to_owned(),
                },
            ],
            help: Some(help.to_owned()),
            example: (pack.exfiltrating && !user.exfiltrating || pack.confirm && !user.confirm)
                .then(|| open(user, pack, listed, judge))
                .flatten(),
        });
    }
}

/// The pack's contract that would apply without the user's entry.
fn before<'p>(policy: &'p Policy, user: &Contract) -> Option<&'p Contract> {
    let packs = || {
        let in_force = policy.contracts.iter().filter(|c| c.layer == Layer::Pack);
        policy.replaced.iter().chain(in_force)
    };
    let of = |key: &str| packs().find(|pack| pack.key == key);
    of(&user.key).or_else(|| {
        let mut splits = user.key.match_indices("__");
        splits.find_map(|(at, _)| of(user.key.get(at + 2..)?))
    })
}

/// What the pack's contract has and the user's has not, in words; and how bad it is.
fn losses(user: &Contract, pack: &Contract) -> (Vec<String>, Severity) {
    let mut lost = Vec::new();
    let mut worst = Severity::Warning;
    if pack.exfiltrating && !user.exfiltrating {
        lost.push("the sink gate (`exfiltrating: true`)".to_owned());
        worst = Severity::Error;
    } else if pack.exfiltrating && !user.sinks.is_empty() {
        // Without sinks of its own the entry makes every argument one.
        let missing: Vec<String> = pack
            .sinks
            .iter()
            .filter(|sink| !user.sinks.iter().any(|own| above(&own.path, &sink.path)))
            .map(|sink| quote(&schema::shown(&sink.path)))
            .collect();
        if pack.sinks.is_empty() {
            lost.push("that every argument is a sink".to_owned());
        } else if !missing.is_empty() {
            lost.push(format!("the sinks {}", missing.join(", ")));
        }
    }
    if pack.exfiltrating && user.exfiltrating && user.on_tainted < pack.on_tainted {
        lost.push("the denial of tainted destinations (`on_tainted: deny`)".to_owned());
    }
    if pack.confirm && !user.confirm {
        lost.push("the question before every call (`confirm: true`)".to_owned());
    }
    if pack.max_calls.is_some() && user.max_calls.is_none() {
        lost.push("the budget (`max_calls`)".to_owned());
    }
    if !pack.rates.is_empty() && user.rates.is_empty() {
        lost.push("the `rate`".to_owned());
    }
    let confines = |c: &Contract| !c.write_params.is_empty() && !c.prefixes.is_empty();
    if confines(pack) && !confines(user) {
        lost.push("the path confinement (`write_params`)".to_owned());
    }
    if pack
        .arg_patterns
        .iter()
        .any(|p| !user.arg_patterns.iter().any(|own| own.path == p.path))
    {
        lost.push("some of its `arg_patterns`".to_owned());
    }
    if confines(pack) && confines(user) && pack.resolve_symlinks && !user.resolve_symlinks {
        lost.push("the look behind symbolic links (`resolve_symlinks`)".to_owned());
    }
    lost.extend(labels(user, pack));
    (lost, worst)
}

/// Whether looking at `own` is looking at `path` too.
fn above(own: &Path, path: &Path) -> bool {
    let (own, path) = (schema::keys(own), schema::keys(path));
    path.starts_with(&own)
}

/// Output labels that are gone or laxer.
fn labels(user: &Contract, pack: &Contract) -> Option<String> {
    let outputs = pack.outputs.as_ref()?;
    match &user.outputs {
        // Without labels all is untrusted, but for fields that heuristics know.
        None if outputs.fields.is_empty() && outputs.label == Label::Untrusted => None,
        None => Some("the labels of its `outputs`".to_owned()),
        Some(own) => {
            // Labels are ordered from the laxest to the strictest.
            let laxer = own.label < outputs.label
                || outputs.fields.iter().any(|field| {
                    let same = own.fields.iter().find(|other| other.path == field.path);
                    same.map_or(own.label, |other| other.label) < field.label
                });
            laxer.then(|| "some of the strictness of its `outputs`".to_owned())
        }
    }
}

/// A call that the replacement allows: with a tainted destination, where the pack gated it.
fn open(
    user: &Contract,
    pack: &Contract,
    listed: &[ListedTool],
    judge: &Judge<'_>,
) -> Option<Example> {
    let found = listed.iter().find(|(server, tool)| {
        let full = server
            .as_ref()
            .map(|server| format!("{server}__{}", tool.name));
        tool.name == user.key || full.as_deref() == Some(&user.key)
    });
    let (server, tool) = match found {
        Some((server, tool)) => (server.as_deref(), tool.name.as_str()),
        None => match user.key.strip_suffix(&pack.key) {
            Some(front) => (front.strip_suffix("__"), pack.key.as_str()),
            None => (None, user.key.as_str()),
        },
    };
    let schema = found.and_then(|(_, tool)| tool.input_schema());
    if !pack.exfiltrating {
        let arguments = schema::arguments(schema, &Path::default(), &json!({}));
        let example = judge.judge(server, tool, &arguments, &[])?;
        return (example.verdict == Verdict::Allow).then_some(example);
    }
    let path = match pack.sinks.first() {
        Some(sink) => sink.path.clone(),
        None => Path(vec![Segment::Key("to".to_owned())]),
    };
    let value = "mallory@evil.example";
    let arguments = schema::arguments(schema, &path, &json!(value));
    let example = judge.judge(server, tool, &arguments, &[value.to_owned()])?;
    (example.verdict == Verdict::Allow).then_some(example)
}
