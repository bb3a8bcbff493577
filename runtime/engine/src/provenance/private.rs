//! Private values that were read, and whether one stands inside a text.
//!
//! A value counts if it looks like an identifier: an address, a number, a key. Whether any of
//! many stands somewhere in a text is one search for all of them at once (Aho-Corasick). An
//! automaton cannot be added to, so values are kept in levels, each at least twice as large as
//! the one after it: adding builds only the small ones anew, and a search runs over few.
//!
//! A tripwire, not a boundary: a value that is written in another way is not found.
//! Knows nothing of labels or of how results are laid out.

use super::store::Mark;
use super::typed;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use std::collections::HashSet;

/// Shorter values, in bytes, say nothing.
const SHORTEST: usize = 4;
/// Longer ones are texts.
const LONGEST: usize = 256;
/// So many digits make an identifier of a value without letters.
const DIGITS: usize = 4;
/// About what a value costs in an automaton, for each of its bytes.
const COST: usize = 24;

/// Private values.
#[derive(Default)]
pub(super) struct Private {
    /// Largest first.
    levels: Vec<Level>,
    /// Values that are in no level yet.
    fresh: Vec<(String, Mark)>,
    known: HashSet<String>,
    bytes: usize,
    /// Some value could not be kept.
    incomplete: bool,
}

/// Values that are searched for together.
struct Level {
    values: Vec<(String, Mark)>,
    automaton: AhoCorasick,
}

impl Private {
    /// Keeps a value, given in folded form, if it looks like an identifier. At `limit` bytes
    /// no more are kept.
    pub(super) fn add(&mut self, folded: &str, mark: &Mark, limit: usize) {
        let value = folded.trim();
        if !is_identifier(value) || self.known.contains(value) {
            return;
        }
        let cost = value.len() * COST + mark.cost();
        if self.bytes + cost > limit {
            self.incomplete = true;
            return;
        }
        self.bytes += cost;
        self.known.insert(value.to_owned());
        self.fresh.push((value.to_owned(), mark.clone()));
    }

    /// Makes everything that was added searchable. Called after each result; building takes
    /// time for the new values and for levels no larger than they are.
    pub(super) fn settle(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let mut values = std::mem::take(&mut self.fresh);
        while let Some(last) = self
            .levels
            .pop_if(|last| last.values.len() < 2 * values.len())
        {
            values.extend(last.values);
        }
        let automaton = AhoCorasickBuilder::new()
            .match_kind(MatchKind::Standard)
            .build(values.iter().map(|(value, _)| value));
        match automaton {
            Ok(automaton) => self.levels.push(Level { values, automaton }),
            Err(_) => self.incomplete = true,
        }
    }

    /// The first value that stands in `folded` as a word of its own. Linear in the text, for
    /// each of at most a few dozen levels; allocates nothing.
    pub(super) fn find(&self, folded: &str) -> Option<(&str, &Mark)> {
        self.levels.iter().find_map(|level| {
            let mut found = level.automaton.try_find_overlapping_iter(folded).ok()?;
            found.find_map(|hit| {
                let whole = typed::is_whole(folded, hit.start(), hit.end());
                let (value, mark) = level.values.get(hit.pattern().as_usize())?;
                whole.then_some((value.as_str(), mark))
            })
        })
    }

    /// Whether nothing was kept.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether some value could not be kept, so that "not found" proves nothing.
    pub(super) const fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// About how many bytes are kept.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Whether a whole value looks like an identifier: an address, four digits, or letters mixed
/// with digits. Dates are none.
fn is_identifier(value: &str) -> bool {
    if !(SHORTEST..=LONGEST).contains(&value.len()) || typed::is_date(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.chars().any(char::is_alphabetic);
    let one_word = !value.contains(char::is_whitespace);
    digits >= DIGITS || value.contains('@') || (one_word && digits > 0 && letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        Mark {
            name: 0,
            call: 1,
            time: 0,
            field: "f".into(),
        }
    }

    #[test]
    fn identifiers_are_found_as_whole_words() {
        let mut private = Private::default();
        for value in [
            "4111 1111 1111 1111",
            "ann@corp.example",
            "k9x7",
            "monday",
            "2026-12-01",
        ] {
            private.add(value, &mark(), 1 << 20);
        }
        private.settle();
        let found = |text: &str| private.find(text).map(|(value, _)| value.to_owned());
        assert_eq!(
            found("pay with 4111 1111 1111 1111."),
            Some("4111 1111 1111 1111".into())
        );
        assert_eq!(
            found("see https://x.example/?q=k9x7&z"),
            Some("k9x7".into())
        );
        assert_eq!(
            found("mail ann@corp.example, please"),
            Some("ann@corp.example".into())
        );
        for text in ["ak9x7", "joann@corp.example", "monday", "2026-12-01", ""] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    /// However values are spread over results, the same are found.
    #[test]
    fn levels_find_what_one_search_would() {
        let mut private = Private::default();
        let value = |n: u32| format!("id-{n:05}-x");
        for n in 0..500 {
            private.add(&value(n), &mark(), 1 << 20);
            if n % 3 == 0 {
                private.settle();
            }
        }
        private.settle();
        assert!(private.levels.len() <= 10, "{}", private.levels.len());
        assert!((0..500).all(|n| private.find(&format!("a {} b", value(n))).is_some()));
        assert!(private.find(&value(500)).is_none());
        let sizes: Vec<usize> = private
            .levels
            .iter()
            .map(|level| level.values.len())
            .collect();
        assert!(sizes.is_sorted_by(|a, b| a >= &(2 * b)), "{sizes:?}");
    }

    #[test]
    fn at_the_bound_it_says_so() {
        let mut private = Private::default();
        private.add("ann@corp.example", &mark(), 10);
        private.settle();
        assert!(private.is_incomplete() && private.find("ann@corp.example").is_none());
    }
}
