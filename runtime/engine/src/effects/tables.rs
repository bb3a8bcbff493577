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
/// What making such a thing does; below, the same of the other kinds of verbs.
pub(super) const MADE: Table = Table(generated::MADE);
pub(super) const CHANGED: Table = Table(generated::CHANGED);
pub(super) const UNDONE: Table = Table(generated::UNDONE);
/// Words before a thing that is made, changed or undone.
pub(super) const ABOUT: Table = Table(generated::ABOUT);
pub(super) const OPERATED: Table = Table(generated::OPERATED);
pub(super) const ASKED: Table = Table(generated::ASKED);
/// Names of arguments, without separators.
pub(super) const ARGUMENTS: Table = Table(generated::ARGUMENTS);
/// Names of arguments of what is operated.
pub(super) const OPERANDS: Table = Table(generated::OPERANDS);
/// Names of arguments that say so whatever the name of the tool does.
pub(super) const CERTAIN: Table = Table(generated::CERTAIN);
/// Names of arguments whose value says what is done.
pub(super) const CHOICES: Table = Table(generated::CHOICES);

/// What a table says of a word: effects, and of a verb its kinds.
#[derive(Clone, Copy, Default)]
pub(super) struct Says(u16);

impl Says {
    /// The effects.
    pub const fn effects(self) -> Effects {
        match Effects::from_bits(self.0 & Effects::ALL.bits()) {
            Some(effects) => effects,
            None => Effects::NONE,
        }
    }

    /// The tables of the things that this verb can be about, and whether such a thing speaks
    /// in place of the verb.
    pub fn things(self) -> impl Iterator<Item = (Table, bool)> {
        let kinds = [
            (MADE, true),
            (CHANGED, true),
            (UNDONE, false),
            (OPERATED, true),
            (ASKED, true),
        ];
        let numbered = (Self::FIRST_KIND..).zip(kinds);
        numbered.filter_map(move |(bit, kind)| (self.0 >> bit & 1 == 1).then_some(kind))
    }

    /// Whether it is a verb that makes, changes or undoes something.
    pub const fn alters(self) -> bool {
        self.0 >> Self::FIRST_KIND & 0b111 != 0
    }

    /// Whether it is a verb that asks where an argument says to.
    pub const fn asks(self) -> bool {
        self.0 >> (Self::FIRST_KIND + 4) & 1 == 1
    }

    /// Whether it is a method of HTTP that hands something over, or types something in.
    pub const fn has_body(self) -> bool {
        self.0 >> (Self::FIRST_KIND + 5) & 1 == 1
    }

    /// Whether it is a verb that operates something.
    pub const fn operates(self) -> bool {
        self.0 >> (Self::FIRST_KIND + 3) & 1 == 1
    }

    const FIRST_KIND: u32 = Effects::ALL.bits().count_ones();
}

impl Table {
    /// What the table says of a word, or of words that follow each other, without regard to
    /// case and separators. Logarithmic; no allocation.
    pub fn get(self, word: &str) -> Option<Says> {
        let found = self.0.binary_search_by(|(known, _)| compare(known, word));
        let (_, bits) = self.0.get(found.ok()?)?;
        Some(Says(*bits))
    }

    /// As [`Table::get`], for a singular or its plural in -s.
    pub fn get_thing(self, word: &str) -> Option<Says> {
        let singular = || {
            word.strip_suffix(['s', 'S'])
                .and_then(|word| self.get(word))
        };
        self.get(word).or_else(singular)
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

    fn effects(table: Table, word: &str) -> Option<Effects> {
        table.get(word).map(Says::effects)
    }

    #[test]
    fn tables_are_sorted_and_understood() {
        let kinds = Effects::ALL.bits() | 0b11_1111 << Effects::ALL.bits().count_ones();
        let things = [
            MADE, CHANGED, UNDONE, OPERATED, ASKED, ARGUMENTS, OPERANDS, CERTAIN, CHOICES,
        ];
        for table in [VERBS, EITHER].into_iter().chain(things) {
            assert!(table.0.is_sorted_by(|a, b| a.0 < b.0));
            for (word, bits) in table.0 {
                assert_eq!(bits & !kinds, 0, "{word}");
                assert!(
                    effects(table, word).is_some_and(|some| !some.is_empty()),
                    "{word}"
                );
            }
        }
        for (word, bits) in things.iter().flat_map(|table| table.0) {
            assert!(
                Effects::from_bits(*bits).is_some(),
                "{word} has the kind of a verb"
            );
        }
    }

    #[test]
    fn words_of_any_case() {
        assert_eq!(
            effects(VERBS, "DELETE"),
            Some(Effects::one(Effect::Destroy))
        );
        assert_eq!(effects(ARGUMENTS, "chat_ID"), effects(ARGUMENTS, "chatId"));
        assert_eq!(effects(VERBS, "deletes_"), None);
        assert_eq!(effects(VERBS, ""), None);
        assert!(MADE.get_thing("pull_Requests").is_some());
    }
}
