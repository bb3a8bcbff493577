//! What a tool does, guessed from its name and from the names of its arguments.
//!
//! The words are data (`packs/effects.yaml`); this folder holds none of its own. It runs
//! where a tool is listed, and on calls of tools that nobody listed, so it allocates nothing.
//! It knows no plan, no contract and no policy: what a guess is worth is decided elsewhere.

mod arguments;
mod name;
mod tables;

pub use arguments::schema_arguments;

use bouncer_plan::{Effect, Effects};
use name::Words;
use tables::{ARGUMENTS, CERTAIN, CHOICES, GIVEN, OPERANDS};

/// What a tool, or one call of it, is taken to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess<'a> {
    /// All that it can do. Empty: nothing could be told.
    pub effects: Effects,
    /// What it does whatever the value of `choice` is; a part of `effects`.
    pub always: Effects,
    /// The argument whose value says what is done, such as `action`. What one value
    /// says is asked of [`of_choice`].
    pub choice: Option<&'a str>,
}

/// Where a part of a guess comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because<'a> {
    /// A word of the tool's name.
    Word(&'a str),
    /// The name of an argument.
    Argument(&'a str),
    /// A value that an argument can have, or has.
    Value(&'a str, &'a str),
}

/// Guesses what a tool does.
///
/// `prefix` is what the names of all tools of its server begin with ([`common_prefix`]), or
/// nothing. An argument is its name and a value; one with several values that it can have
/// comes several times, one whose values are not known with `None`. For a listed tool they
/// come from [`schema_arguments`], for a call of an unlisted one from the call.
///
/// Linear in the lengths of names and values; allocates nothing.
pub fn classify<'a>(
    prefix: &str,
    name: &'a str,
    arguments: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
) -> Guess<'a> {
    explain(prefix, name, arguments, |_, _| ())
}

/// As [`classify`], and tells `note` of each part where it comes from. A part that was told
/// of is in the guess, but for one that a later part explains better.
pub fn explain<'a>(
    prefix: &str,
    name: &'a str,
    arguments: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
    mut note: impl FnMut(Effects, Because<'a>),
) -> Guess<'a> {
    let words = Words::of(prefix, name);
    let mut always = words.effects(&mut note);
    let silent = words.is_silent();
    let mut asks = words.asks();
    let mut chosen = Effects::NONE;
    let mut choice = None;
    for (argument, value) in arguments.clone() {
        if CHOICES.get(argument).is_none() {
            continue;
        }
        let effects = value.map_or(Effects::NONE, |value| words.with_choice(value));
        if let Some(value) = value
            && !effects.is_empty()
        {
            note(effects, Because::Value(argument, value));
            chosen = chosen.union(effects);
            asks |= Words::of("", value).brings();
        }
        if !effects.is_empty() || (silent || words.chooses()) && choice.is_none() {
            choice = Some(argument);
        }
    }
    if words.chooses() {
        if !chosen.is_empty() {
            always = Effects::NONE;
        } else if choice.is_some() {
            // Nobody says what there is to choose from.
            chosen = Effects::one(Effect::Read)
                .with(Effect::Write)
                .with(Effect::Destroy);
        }
    }
    if silent && choice.is_some() {
        chosen = chosen.union(words.operated());
    }
    let known = always.union(chosen);
    let fetch = Effects::one(Effect::Fetch);
    for (argument, value) in arguments {
        // What only lists things filters them by its arguments.
        let filters = always == Effects::one(Effect::Read) && !words.asks();
        let speaks = !filters && (value.is_none() || known.is_empty());
        let certain = CERTAIN.get(argument).filter(|_| speaks);
        let operated = OPERANDS.get(argument).filter(|_| words.operates());
        let given = GIVEN.get(argument).filter(|_| words.gives());
        let says = ARGUMENTS.get(argument).unwrap_or_default().effects();
        let adds = may_add(says, known, asks)
            .union(certain.unwrap_or_default().effects())
            .union(operated.unwrap_or_default().effects())
            .union(given.unwrap_or_default().effects());
        if !adds.without(always).is_empty() {
            note(adds, Because::Argument(argument));
            always = always.union(adds);
        }
        if adds == fetch && words.requests() {
            always = fetch.with(Effect::Send);
        }
    }
    Guess {
        effects: always.union(chosen),
        always,
        choice,
    }
}

/// What one value of a [`Guess::choice`] says. Empty: nothing could be told, and all that
/// the tool can do has to be expected.
#[must_use]
pub fn of_choice<'a>(prefix: &str, name: &'a str, value: &'a str) -> Effects {
    Words::of(prefix, name).with_choice(value)
}

/// What of the name of an argument counts beside what is known already.
fn may_add(says: Effects, known: Effects, asks: bool) -> Effects {
    let fetch = Effects::one(Effect::Fetch);
    if known.is_empty() {
        says
    } else if says.contains(Effect::Write) {
        // Those who are invited to what is written are told.
        if known.contains(Effect::Write) {
            says
        } else {
            Effects::NONE
        }
    } else if asks {
        says.intersection(fetch)
    } else {
        Effects::NONE
    }
}

/// What the names of all tools of a server begin with: whole words that are no verbs, with
/// the separator that follows. Empty for fewer than two names.
pub fn common_prefix<'a>(names: impl IntoIterator<Item = &'a str>) -> &'a str {
    let mut names = names.into_iter();
    let Some(first) = names.next() else {
        return "";
    };
    let mut shared = first.len();
    let mut several = false;
    for name in names {
        several = true;
        let same = first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b);
        shared = shared.min(same.count());
    }
    if several {
        name::whole_words(first, shared)
    } else {
        ""
    }
}

#[cfg(test)]
mod tests;
