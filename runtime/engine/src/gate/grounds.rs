//! What a verdict rests on, in a form that outlives the decision: the value in
//! question, and where it was first seen. For the audit log and for `bouncer why`.

use super::decision::{Cause, Decision};
use crate::provenance::Origin;
use bouncer_plan::Label;
use serde::{Deserialize, Serialize};

/// The value that a verdict is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// The argument that it stands in.
    pub param: String,
    /// The destination, as it would be forwarded.
    pub value: String,
    /// Where it was seen before; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// Where a value was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The label of the place: `untrusted` or `observed`.
    pub label: String,
    /// The server, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// The number of the result in the conversation.
    pub call: u64,
    /// The field of the result.
    pub field: String,
    /// When it was read, in milliseconds of Unix time.
    #[serde(default)]
    pub time: u64,
    /// What stood there: the value and a little around it, in lower case.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
}

impl Seen {
    fn new(label: Label, origin: &Origin<'_>) -> Self {
        Self {
            label: label.name().to_owned(),
            server: origin.server.map(str::to_owned),
            tool: origin.tool.to_owned(),
            call: origin.call,
            field: origin.field.to_owned(),
            time: origin.time,
            excerpt: origin.excerpt.to_owned(),
        }
    }
}

impl Decision<'_> {
    /// The destination that an ask or a deny of the sink gate is about, or the one that
    /// the deciding rule found inside the text that would be sent.
    #[must_use]
    pub fn grounds(&self) -> Option<Grounds> {
        let seen = match self.cause {
            Cause::Tainted { origin, .. } => origin.map(|o| Seen::new(Label::Untrusted, &o)),
            Cause::Observed { origin, .. } => origin.map(|o| Seen::new(Label::Observed, &o)),
            Cause::Rule {
                carried: Some((label, origin)),
                ..
            } => Some(Seen::new(label, &origin)),
            Cause::Effect { .. } if self.value.is_empty() => return None,
            Cause::Effect { origin, .. } => origin.map(|(label, origin)| Seen::new(label, &origin)),
            Cause::Unproven { .. } => None,
            _ => return None,
        };
        Some(Grounds {
            param: self.param.to_owned(),
            value: self.value.to_owned(),
            seen,
        })
    }
}
