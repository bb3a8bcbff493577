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
pub(super) struct Table(&'static [(&'static str, u32)]);

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
pub(super) const LAUNCHED: Table = Table(generated::LAUNCHED);
pub(super) const ASKED: Table = Table(generated::ASKED);
/// Names of arguments, without separators.
pub(super) const ARGUMENTS: Table = Table(generated::ARGUMENTS);
/// Names of arguments of what is operated.
pub(super) const OPERANDS: Table = Table(generated::OPERANDS);
/// Names of arguments of what a verb gives that makes or changes something.
pub(super) const GIVEN: Table = Table(generated::GIVEN);
/// Names of arguments that say so whatever the name of the tool does.
pub(super) const CERTAIN: Table = Table(generated::CERTAIN);
/// Names of arguments whose value says what is done.
pub(super) const CHOICES: Table = Table(generated::CHOICES);

/// What a table says of a word: effects, and of a verb its kinds.
#[derive(Clone, Copy, Default)]
pub(super) struct Says(u32);

impl Says {
    /// The effects.
    pub const fn effects(self) -> Effects {
        match Effects::from_bits((self.0 & Self::EFFECTS) as u16) {
            Some(effects) => effects,
            None => Effects::NONE,
        }
    }

    /// The tables of the things that this verb can be about, and whether such a thing speaks
    /// in place of the verb.
    pub fn things(self) -> impl Iterator<Item = (Table, bool)> {
        let kinds = [
            (Self::LAUNCH, LAUNCHED, true),
            (0, MADE, true),
            (1, CHANGED, true),
            (2, UNDONE, false),
            (3, OPERATED, true),
            (4, ASKED, true),
        ];
        let of_this = move |(kind, table, replaces)| self.is_of(kind).then_some((table, replaces));
        kinds.into_iter().filter_map(of_this)
    }

    /// Whether it is a verb that makes, changes or undoes something.
    pub const fn alters(self) -> bool {
        self.0 >> Self::FIRST_KIND & 0b111 != 0
    }

    /// Whether it is a verb that asks where an argument says to.
    pub const fn asks(self) -> bool {
        self.is_of(4)
    }

    /// Whether it is a method of HTTP that hands something over, or types something in.
    pub const fn has_body(self) -> bool {
        self.is_of(5)
    }

    /// Whether it is a verb that operates something.
    pub const fn operates(self) -> bool {
        self.is_of(3)
    }

    /// Whether it is a verb that makes or changes something.
    pub const fn gives(self) -> bool {
        self.is_of(0) || self.is_of(1)
    }

    const fn is_of(self, kind: u32) -> bool {
        self.0 >> (Self::FIRST_KIND + kind) & 1 == 1
    }

    #[allow(clippy::cast_lossless, reason = "`From` is not const")]
    const EFFECTS: u32 = Effects::ALL.bits() as u32;
    const FIRST_KIND: u32 = Effects::ALL.bits().count_ones();
    const LAUNCH: u32 = 6;
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
        let kinds = Says::EFFECTS | 0b111_1111 << Says::FIRST_KIND;
        let things = [
            MADE, CHANGED, UNDONE, OPERATED, LAUNCHED, ASKED, ARGUMENTS, OPERANDS, GIVEN, CERTAIN,
            CHOICES,
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
            assert!(bits & !Says::EFFECTS == 0, "{word} has the kind of a verb");
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
