//! Contracts that label fields of outputs, and do not say whose text these stand in.

use super::Doubt;
use crate::diagnostic::{Code, quote};
use crate::policy::{Layer, Outputs, Policy};

pub(super) fn check(policy: &Policy, out: &mut Vec<Doubt>) {
    let own = policy.contracts.iter().filter(|c| c.layer == Layer::User);
    for contract in own {
        if let Some(outputs) = contract.outputs.as_ref().filter(|o| is_unsaid(o)) {
            out.push(Doubt {
                code: Code::TEXT_UNSAID,
                at: outputs.at,
                message: format!(
                    "the contract of {} labels fields, and does not say what the text of its results is",
                    quote(&contract.key)
                ),
                help: "write `text: json` if the server makes that JSON of its own records, else `text: prose`; today fields of any text count, from the next version on only those of structured content".to_owned(),
            });
        }
    }
}

/// Whether a field has more trust than the rest, and may stand in a text.
fn is_unsaid(outputs: &Outputs) -> bool {
    let laxer = outputs
        .fields
        .iter()
        .any(|field| field.label < outputs.label);
    laxer && outputs.text.is_none()
}
