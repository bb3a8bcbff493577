//! The words of `packs/effects.yaml`, and looking one up.
//!
//! Knows nothing of names as wholes.

use bouncer_plan::Effects;
use std::cmp::Ordering;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/effects.rs"));
}

/// A list of words with what they say, sorted.
#[derive(Clone, Copy)]
pub(super) struct Table(&'static [(&'static str, u16)]);

/// Words that are verbs wherever they stand.
pub(super) const VERBS: Table = Table(generated::VERBS);
/// Words that are verbs as well as names of things.
pub(super) const EITHER: Table = Table(generated::EITHER);
/// What changing such a thing does besides.
pub(super) const THINGS: Table = Table(generated::THINGS);
/// What reading such a thing does besides.
pub(super) const ASKED: Table = Table(generated::ASKED);
/// Names of arguments, without separators.
pub(super) const ARGUMENTS: Table = Table(generated::ARGUMENTS);
/// Names of arguments whose value says what is done.
pub(super) const CHOICES: Table = Table(generated::CHOICES);

impl Table {
    /// What the table says of a word, without regard to case. Logarithmic; no allocation.
    pub fn get(self, word: &str) -> Option<Effects> {
        let found = self.0.binary_search_by(|(known, _)| compare(known, word));
        let (_, bits) = self.0.get(found.ok()?)?;
        Effects::from_bits(*bits)
    }
}

/// Compares a word of a table with one in any case, of which only letters and digits count.
fn compare(known: &str, word: &str) -> Ordering {
    let letters = word.bytes().filter(u8::is_ascii_alphanumeric);
    known
        .bytes()
        .cmp(letters.map(|byte| byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouncer_plan::Effect;

    #[test]
    fn tables_are_sorted_and_understood() {
        for table in [VERBS, EITHER, THINGS, ASKED, ARGUMENTS, CHOICES] {
            assert!(table.0.is_sorted_by(|a, b| a.0 < b.0));
            for (word, bits) in table.0 {
                assert_eq!(table.get(word).map(Effects::bits), Some(*bits), "{word}");
            }
        }
    }

    #[test]
    fn words_of_any_case() {
        assert_eq!(VERBS.get("DELETE"), Some(Effects::one(Effect::Destroy)));
        assert_eq!(ARGUMENTS.get("chat_ID"), ARGUMENTS.get("chatId"));
        assert_eq!(VERBS.get("deletes_"), None);
        assert_eq!(VERBS.get(""), None);
    }
}
