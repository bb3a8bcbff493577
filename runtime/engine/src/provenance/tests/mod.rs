//! Behaviour of the whole module, and a comparison with a naive oracle.

mod bounds;
mod found;
mod labels;
mod left_out;
mod oracle;
mod put_off;
mod results;

use super::*;
use serde_json::json;

const ATTACKER: &str = "attacker@evil.com";

const fn source(call: u64) -> Source<'static> {
    Source {
        server: Some("mail"),
        tool: "read",
        call,
    }
}

fn after(labels: &OutputLabels, result: &Value) -> Provenance {
    let mut provenance = Provenance::default();
    provenance.record_result(&source(1), labels, result);
    provenance
}

fn unlabelled(result: &Value) -> Provenance {
    after(&OutputLabels::default(), result)
}

fn structured(labels: &OutputLabels, content: Value) -> Provenance {
    after(labels, &json!({ "structuredContent": content }))
}

/// `t`, `o` and `u` for what was found.
fn ask(provenance: &Provenance, destination: &str) -> String {
    let evidence = provenance.evidence(destination, &mut Scratch::default());
    let mut said = String::new();
    said.extend(evidence.trusted.map(|_| 't'));
    said.extend(evidence.observed.map(|_| 'o'));
    said.extend(evidence.untrusted.map(|_| 'u'));
    said
}

fn field<'a>(provenance: &'a Provenance, destination: &str) -> &'a str {
    let evidence = provenance.evidence(destination, &mut Scratch::default());
    let origin = evidence
        .trusted
        .or(evidence.untrusted)
        .or(evidence.observed);
    origin.map_or("", |origin| origin.field)
}

fn rule(path: &[&str], label: Label) -> FieldRule {
    let step = |step: &&str| match *step {
        "[*]" => LabelStep::Each,
        step => step
            .parse()
            .map_or_else(|_| LabelStep::Key(step.to_owned()), LabelStep::Index),
    };
    FieldRule {
        path: path.iter().map(step).collect(),
        private: false,
        label,
    }
}

fn labels(default: Label, fields: Vec<FieldRule>) -> OutputLabels {
    OutputLabels {
        private: false,
        default,
        fields,
        prose: false,
        by_name: None,
    }
}
