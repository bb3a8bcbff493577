//! How a test treats a value of a type that it was not made for.

use crate::policy::{ListItem, Op, Scalar};
use bouncer_plan::format::{TestClass, ViewKind};

/// How unfit leaves are treated by the test.
#[must_use]
pub fn class(op: &Op, view: ViewKind) -> TestClass {
    match op {
        // A number or a null has no length.
        _ if view == ViewKind::Length => TestClass::Text,
        Op::Equals(_) if view.is_of_the_call() => TestClass::Own,
        // Comparing with text is a test of text; comparing with numbers, bools and null is
        // something that every type can answer.
        Op::Equals(Scalar::Str(_)) => TestClass::Text,
        Op::In(items) if items.iter().any(is_textual) => TestClass::Text,
        Op::Equals(_) | Op::In(_) => TestClass::Equality,
        Op::Part(..) | Op::Matches(_) | Op::Within(_) | Op::Checked(_) => TestClass::Text,
        Op::Compare(..)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => TestClass::Own,
    }
}

/// Whether a list item is text or a pattern over text.
const fn is_textual(item: &ListItem) -> bool {
    matches!(
        item,
        ListItem::Scalar(Scalar::Str(_))
            | ListItem::AtDomain(_)
            | ListItem::Below(_)
            | ListItem::Network(_)
    )
}
