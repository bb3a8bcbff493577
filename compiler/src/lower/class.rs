//! How a test treats a value of a type that it was not made for.

use crate::policy::{ListItem, Op, Scalar};
use bouncer_plan::format::{
    TEST_CLASS_EQUALITY, TEST_CLASS_OWN, TEST_CLASS_TEXT, VIEW_CALLS, VIEW_COUNT,
};

/// How unfit leaves are treated by the test.
#[must_use]
pub fn class(op: &Op, view: u32) -> u32 {
    match op {
        Op::Equals(_) if matches!(view, VIEW_COUNT | VIEW_CALLS) => TEST_CLASS_OWN,
        // Comparing with text is a test of text; comparing with numbers, bools and null is
        // something that every type can answer.
        Op::Equals(Scalar::Str(_)) => TEST_CLASS_TEXT,
        Op::In(items) if items.iter().any(is_textual) => TEST_CLASS_TEXT,
        Op::Equals(_) | Op::In(_) => TEST_CLASS_EQUALITY,
        Op::Contains(_) | Op::StartsWith(_) | Op::Matches(_) | Op::Within(_) => TEST_CLASS_TEXT,
        Op::Compare(..) | Op::Exists | Op::Type(_) | Op::Provenance(_) | Op::CarriesUntrusted => {
            TEST_CLASS_OWN
        }
    }
}

/// Whether a list item is text or a pattern over text.
const fn is_textual(item: &ListItem) -> bool {
    matches!(
        item,
        ListItem::Scalar(Scalar::Str(_)) | ListItem::AtDomain(_) | ListItem::Below(_)
    )
}
