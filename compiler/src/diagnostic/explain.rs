//! Finds the page of a code, for `bouncer explain`.

use super::pages::PAGES;
use super::{Code, Page};

/// The page of the code written `code`, e.g. `B0201`; letter case does not matter.
#[must_use]
pub fn explain(code: &str) -> Option<&'static Page> {
    let code = code.trim();
    PAGES
        .iter()
        .find(|page| page.code.name().eq_ignore_ascii_case(code))
}

/// All codes, ascending.
pub fn all_codes() -> impl Iterator<Item = Code> {
    PAGES.iter().map(|page| page.code)
}
