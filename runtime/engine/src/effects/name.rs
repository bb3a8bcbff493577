//! What the words of a tool's name say.
//!
//! A name is a verb with things that it is done to, in either order: `delete_file`,
//! `file_delete`, `gitPush`. Knows nothing of arguments.

use super::Because;
use super::tables::{ASKED, EITHER, THINGS, VERBS};
use crate::identifier::parts;
use bouncer_plan::{Effect, Effects};

/// Words of a name that are looked at; longer names are rare, and their verb stands before.
const MOST: usize = 12;

/// What reading is.
const READS: Effects = Effects::one(Effect::Read).with(Effect::Fetch);

/// The words of one name.
pub(super) struct Words<'a> {
    words: [&'a str; MOST],
    count: usize,
}

/// A verb of a name.
#[derive(Clone, Copy)]
struct Verb<'a> {
    at: usize,
    word: &'a str,
    effects: Effects,
}

impl<'a> Words<'a> {
    /// The words of `name` after `prefix`, or all of them if nothing follows it.
    pub fn of(prefix: &str, name: &'a str) -> Self {
        let rest = name.get(prefix.len()..);
        let starts = name
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let rest = rest.filter(|rest| starts && !rest.is_empty());
        let mut this = Self {
            words: [""; MOST],
            count: 0,
        };
        for (slot, word) in this.words.iter_mut().zip(parts(rest.unwrap_or(name))) {
            *slot = word;
            this.count += 1;
        }
        this
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.words.iter().copied().take(self.count).enumerate()
    }

    /// The verb that decides: the first that can be nothing else, before the first word
    /// that could be a thing as well. `order_list` lists, `run_tests` runs.
    fn verb(&self) -> Option<Verb<'a>> {
        let find = |table: super::tables::Table| {
            self.iter().find_map(|(at, word)| {
                let effects = table.get(word)?;
                Some(Verb { at, word, effects })
            })
        };
        find(VERBS).or_else(|| find(EITHER))
    }

    /// What the name says.
    pub fn effects(&self, note: &mut impl FnMut(Effects, Because<'a>)) -> Effects {
        let Some(verb) = self.verb() else {
            return Effects::NONE;
        };
        note(verb.effects, Because::Word(verb.word));
        let mut all = verb.effects;
        // `create_or_update`, `delete_and_recreate`
        for (at, word) in self.iter().skip(verb.at + 1) {
            let joined = self.words.get(at - 1);
            if joined.is_some_and(|word| matches!(*word, "or" | "and" | "Or" | "And"))
                && let Some(effects) = VERBS.get(word)
            {
                note(effects, Because::Word(word));
                all = all.union(effects);
            }
        }
        self.with_things(all, Some(verb.at), note)
    }

    /// What a value such as `delete` says of this name's things.
    pub fn with_choice(&self, value: &str) -> Effects {
        let value = Words::of("", value);
        let effects = value.effects(&mut |_, _| ());
        if effects.is_empty() {
            return effects;
        }
        self.with_things(effects, None, &mut |_, _| ())
    }

    /// Adds what the things of the name make of doing this to them.
    fn with_things(
        &self,
        effects: Effects,
        verb_at: Option<usize>,
        note: &mut impl FnMut(Effects, Because<'a>),
    ) -> Effects {
        let (table, may_add) = if effects.without(READS).is_empty() {
            (ASKED, Effects::ALL)
        } else if effects.contains(Effect::Write) {
            (THINGS, Effects::ALL)
        } else if effects.contains(Effect::Destroy) {
            (THINGS, Effects::one(Effect::Grant))
        } else {
            let some = Effects::one(Effect::Pay).with(Effect::Grant);
            (THINGS, some.with(Effect::Publish))
        };
        let mut all = effects;
        for (at, word) in self.iter() {
            let adds = table.get(word).unwrap_or_default().intersection(may_add);
            if Some(at) != verb_at && !adds.is_empty() {
                note(adds, Because::Word(word));
                all = all.union(adds);
            }
        }
        all
    }
}

/// The words at the start of `name` that end within its first `length` bytes and are no
/// verbs, with the separator behind them.
pub(super) fn whole_words(name: &str, length: usize) -> &str {
    let mut end = 0;
    for word in parts(name) {
        // Both are parts of one text.
        let start = word.as_ptr().addr().saturating_sub(name.as_ptr().addr());
        if start > length {
            break;
        }
        end = start;
        if VERBS.get(word).is_some() {
            break;
        }
    }
    name.get(..end).unwrap_or_default()
}
