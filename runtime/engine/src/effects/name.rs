//! What the words of a tool's name say.
//!
//! A name is a verb and the thing that it is about, in either order: `delete_file`,
//! `file_delete`, `gitPush`. Knows nothing of arguments.

use super::Because;
use super::tables::{ABOUT, EITHER, OPERATED, Says, Table, VERBS};
use crate::identifier::parts;
use bouncer_plan::{Effect, Effects};
use std::ops::Range;

/// Words of a name that are looked at; longer names are rare, and their verb stands before.
const MOST: usize = 12;
/// Words that are looked up together at most.
const TOGETHER: usize = 3;
/// What stands between a thing and what else has to do with it.
const BETWEEN: [&str; 14] = [
    "to", "from", "for", "in", "of", "by", "with", "on", "into", "at", "as", "via", "and", "or",
];
/// What stands behind a thing and says nothing of it.
const BEHIND: [&str; 12] = [
    "tool", "bulk", "batch", "id", "ids", "all", "async", "sync", "many", "unsafe", "details",
    "info",
];

/// Verbs that decide where they stand last, also behind words that are verbs elsewhere:
/// `schedule_delete`, `draft_update`. Not in the plural: `get_updates`.
const LAST: [&str; 11] = [
    "get", "create", "update", "delete", "remove", "add", "edit", "start", "stop", "enable",
    "disable",
];

/// The words of one name.
pub(super) struct Words<'a> {
    text: &'a str,
    words: [Range<usize>; MOST],
    count: usize,
}

/// A verb of a name: where its words are, and what is said of it.
struct Verb {
    words: Range<usize>,
    says: Says,
}

impl<'a> Words<'a> {
    /// The words of `name` after `prefix`, or all of them if nothing follows it.
    pub fn of(prefix: &str, name: &'a str) -> Self {
        let starts = name
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let rest = name.get(prefix.len()..);
        let rest = rest.filter(|rest| starts && !rest.is_empty());
        let text = rest.unwrap_or(name);
        let mut this = Self {
            text,
            words: [const { 0..0 }; MOST],
            count: 0,
        };
        for (slot, word) in this.words.iter_mut().zip(parts(text)) {
            // A word is a part of the text.
            let start = word.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            *slot = start..start.saturating_add(word.len());
            this.count += 1;
        }
        this
    }

    /// The text from the first to the last of some words.
    fn text(&self, words: Range<usize>) -> &'a str {
        let first = self.words.get(words.start);
        let last = words
            .end
            .checked_sub(1)
            .and_then(|last| self.words.get(last));
        let whole = first.zip(last).map(|(first, last)| first.start..last.end);
        whole
            .and_then(|range| self.text.get(range))
            .unwrap_or_default()
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        let word = self.text(at..at.saturating_add(1));
        words.iter().any(|known| word.eq_ignore_ascii_case(known))
    }

    /// The verb that begins with the word at `at`: the longest.
    fn verb_at(&self, table: Table, at: usize) -> Option<Verb> {
        let most = self.count.min(at.saturating_add(TOGETHER));
        (at + 1..=most).rev().find_map(|end| {
            let says = table.get(self.text(at..end))?;
            Some(Verb {
                words: at..end,
                says,
            })
        })
    }

    /// The verb that decides. Of words that are nothing else, the first. Where there is none,
    /// of words that can be things as well: the first word of the name, then the last.
    fn verb(&self) -> Option<Verb> {
        let first = (0..self.count).find_map(|at| self.verb_at(VERBS, at));
        first.or_else(|| {
            let ends = [Some(0), self.count.checked_sub(1)];
            let at_ends = ends.into_iter().flatten();
            let verb = at_ends.into_iter().find_map(|at| self.verb_at(EITHER, at));
            let reads = |verb: &Verb| verb.says.effects() == Effects::one(Effect::Read);
            let within = || (1..self.count).find_map(|at| self.verb_at(EITHER, at).filter(reads));
            verb.or_else(within)
        })
    }

    /// The verb at the end of a name that begins with another.
    fn last_verb(&self, first: &Verb) -> Option<Verb> {
        let last = self.count.checked_sub(1)?;
        let reads = !first.says.effects().contains(Effect::Write);
        let decides = first.words == (0..1) && !reads && !self.is_any(0, &LAST);
        let decides = decides && last > 0 && self.is_any(last, &LAST);
        decides.then(|| self.verb_at(VERBS, last))?
    }

    /// Whether the verb makes or changes something.
    pub fn gives(&self) -> bool {
        self.verb().is_some_and(|verb| verb.says.gives())
    }

    /// Whether the name has no verb.
    pub fn is_silent(&self) -> bool {
        self.verb().is_none()
    }

    /// Whether the verb brings something in that an argument can say where from.
    pub fn brings(&self) -> bool {
        let verb = self.verb();
        verb.is_some_and(|verb| verb.says.asks() && verb.says.effects().contains(Effect::Write))
    }

    /// Whether the verb asks where an argument says to.
    pub fn asks(&self) -> bool {
        self.verb().is_some_and(|verb| verb.says.asks())
    }

    /// Whether the verb hands over what it is given: a method of HTTP at the end of the name
    /// (`http_post`), or one that types into something (`fill_form`).
    pub fn requests(&self) -> bool {
        let verb = self.verb();
        verb.is_some_and(|verb| {
            let types = !verb.says.alters();
            verb.says.has_body() && (types || verb.words.end == self.count)
        })
    }

    /// Whether the verb operates something.
    pub fn operates(&self) -> bool {
        self.verb().is_some_and(|verb| verb.says.operates())
    }

    /// What operating the thing of a name without a verb does: `light`.
    pub fn operated(&self) -> Effects {
        let thing = self.thing(OPERATED, 0..0);
        let act = Effects::one(Effect::Act);
        thing.map_or(Effects::NONE, |(_, effects)| effects.intersection(act))
    }

    /// Whether the name only says that an argument chooses what is done: `manage_users`.
    pub fn chooses(&self) -> bool {
        let verb = self.verb().map(|verb| self.text(verb.words));
        verb.is_some_and(|verb| verb.eq_ignore_ascii_case("manage"))
    }

    /// What the name says.
    pub fn effects(&self, note: &mut impl FnMut(Effects, Because<'a>)) -> Effects {
        let Some(verb) = self.verb() else {
            return Effects::NONE;
        };
        if let Some(last) = self.last_verb(&verb) {
            // What the first says still counts where it is more than reading or writing.
            let harmless = Effects::one(Effect::Read).with(Effect::Write);
            let first = verb.says.effects().without(harmless);
            note(first, Because::Word(self.text(verb.words)));
            return self.done(&last, self, note).union(first);
        }
        let mut all = self.done(&verb, self, note);
        for at in verb.words.end + 1..self.count {
            // `create_or_update`, `delete_and_recreate`
            if self.is_any(at - 1, &["or", "and"])
                && let Some(other) = self.verb_at(VERBS, at)
            {
                all = all.union(self.done(&other, self, note));
            }
        }
        // `access_list_create`: of a verb at the end and one in the middle, both.
        if verb.words.start > 0
            && let Some(last) = self.count.checked_sub(1)
            && last > verb.words.start
            && let Some(other) = self.verb_at(VERBS, last)
        {
            all = all.union(self.done(&other, self, note));
        }
        all
    }

    /// What a value such as `delete` says, done to the thing of this name.
    pub fn with_choice(&self, value: &'a str) -> Effects {
        let value = Words::of("", value);
        let Some(verb) = value.verb() else {
            return Effects::NONE;
        };
        let ignore = &mut |_, _| ();
        let own = value.done(&verb, &value, ignore);
        let things = value.done(&verb, self, ignore);
        let plain = verb.says.effects();
        // The thing may stand in the value (`create_comment`) or in the name.
        if own == plain { things } else { own }
    }

    /// What it is to do `verb`, which is a verb of this name, to the thing of the name `of`.
    fn done(
        &self,
        verb: &Verb,
        of: &Words<'a>,
        note: &mut impl FnMut(Effects, Because<'a>),
    ) -> Effects {
        let word = self.text(verb.words.clone());
        let own = verb.says.effects();
        let same = std::ptr::eq(self, of);
        let used = if same { verb.words.clone() } else { 0..0 };
        let mut all = own;
        for (table, replaces) in verb.says.things() {
            if let Some((thing, says)) = of.thing(table, used.clone()) {
                note(says, Because::Word(thing));
                all = if replaces { says } else { all.union(says) };
                break;
            }
        }
        if all == own && verb.says.alters() {
            let phrase = of.phrase(used.end);
            let before = phrase.start..phrase.end.saturating_sub(1);
            let about = before.into_iter().find_map(|at| {
                let word = of.text(at..at + 1);
                Some((word, ABOUT.get_thing(word)?.effects()))
            });
            if let Some((word, says)) = about {
                note(says, Because::Word(word));
                all = all.without(Effects::one(Effect::Write)).union(says);
            }
        }
        note(all.intersection(own), Because::Word(word));
        all
    }

    /// What `table` says of the thing that this name is about: the last words before what
    /// only has to do with it, behind the verb or, if nothing stands there, before it.
    fn thing(&self, table: Table, verb: Range<usize>) -> Option<(&'a str, Effects)> {
        let behind = self.phrase(verb.end);
        let phrases = [behind, self.trimmed(0..verb.start)];
        phrases.into_iter().find_map(|phrase| {
            let starts = phrase.start.max(phrase.end.saturating_sub(TOGETHER))..phrase.end;
            starts.into_iter().find_map(|start| {
                let words = self.text(start..phrase.end);
                Some((words, table.get_thing(words)?.effects()))
            })
        })
    }

    /// The words from `start` to the first that stands between things, but for one that
    /// stands at `start`: `reply_to_comment`.
    fn phrase(&self, start: usize) -> Range<usize> {
        let start = start.saturating_add(usize::from(self.is_any(start, &BETWEEN)));
        let between = (start..self.count).find(|&at| self.is_any(at, &BETWEEN));
        self.trimmed(start..between.unwrap_or(self.count))
    }

    /// Some words without those at their end that say nothing.
    fn trimmed(&self, words: Range<usize>) -> Range<usize> {
        let mut end = words.end;
        while end > words.start + 1
            && (self.is_any(end - 1, &BEHIND)
                || self.text(end - 1..end).bytes().all(|b| b.is_ascii_digit()))
        {
            end -= 1;
        }
        words.start..end
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
