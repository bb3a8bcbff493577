//! What happened before a call, and what the call does. There are few ways for that to be, so
//! claims about it are settled by trying all.
//!
//! Knows nothing of arguments; a tool is what its calls can do.

use super::facts::{Claim, Facts};
use super::leaf::Outcome;
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Op, SessionTest};
use bouncer_engine::gate::Doing;
use bouncer_plan::{Effect, Effects};
use std::collections::HashMap;

/// What the user's words have to name, as the gate sees it.
const NAMEABLE: Effects = Effects::HARD.without(Effects::one(Effect::Act));

/// What a call does, and what was before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// What the call does; `None`: nothing could be told.
    pub effects: Option<Effects>,
    pub untrusted: bool,
    pub private: bool,
    /// The user's words name what the call does; `None`: nobody can tell.
    pub named: Option<bool>,
}

/// What can happen under the policies at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Happens {
    /// Some output is private.
    pub private: bool,
    /// The user's words are understood.
    pub words: bool,
}

/// What a state has to be beside what is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Given {
    pub doing: Doing,
    /// What the call does, where it is known.
    pub effects: Option<Option<Effects>>,
    pub untrusted: bool,
    pub private: bool,
}

/// Answers that were worked out.
pub(super) type Known = HashMap<(Vec<Claim>, Given), Option<State>>;

impl State {
    /// Whether a question is answered so in a mode.
    pub fn answers(&self, op: &Op, mode: Mode) -> bool {
        let verdict = match op {
            Op::Session(SessionTest::Effect(asked)) => match self.effects {
                None => None,
                Some(effects) if !effects.intersects(*asked) => Some(false),
                Some(effects) if effects.without(*asked).is_empty() => Some(true),
                // What a call can do beside what was asked for is no certainty.
                Some(_) => None,
            },
            Op::Session(SessionTest::ReadUntrusted) => Some(self.untrusted),
            Op::Session(SessionTest::ReadPrivate) => Some(self.private),
            Op::Session(SessionTest::UserNamedEffect) => self.named,
            // Nothing else is asked of a session.
            _ => None,
        };
        Outcome::of(verdict, false).in_mode(mode)
    }

    /// What the user may have said about what the call does.
    fn namings(effects: Option<Effects>, happens: Happens) -> &'static [Option<bool>] {
        match effects {
            None => &[None],
            Some(effects) if !effects.intersects(NAMEABLE) => &[Some(true)],
            Some(_) if happens.words => &[None, Some(true), Some(false)],
            Some(_) => &[None],
        }
    }

    /// Whether the user has to have said something for it.
    pub fn needs_words(&self) -> bool {
        self.named.is_some() && self.effects.is_some_and(|e| e.intersects(NAMEABLE))
    }
}

/// What calls of a tool can do of which nothing is known.
pub(super) const ANYTHING: Doing = Doing {
    least: Effects::NONE,
    most: Effects::ALL,
    by_effect: true,
};

/// The first state that meets all claims: the simplest. `None`: no state does.
pub(super) fn find(
    claims: &[Claim],
    given: Given,
    happens: Happens,
    facts: &Facts,
    known: &mut Known,
) -> Option<State> {
    let key = (claims.to_vec(), given);
    if let Some(answer) = known.get(&key) {
        return *answer;
    }
    let answer = search(claims, given, happens, facts);
    known.insert(key, answer);
    answer
}

fn search(claims: &[Claim], given: Given, happens: Happens, facts: &Facts) -> Option<State> {
    let meets = |state: &State| {
        claims.iter().all(|(id, mode, holds)| {
            facts
                .get(*id)
                .is_some_and(|fact| state.answers(&fact.op, *mode) == *holds)
        })
    };
    let sets = match given.effects {
        Some(known) => vec![known],
        None => sets(given.doing),
    };
    for effects in sets {
        for (untrusted, private) in [(false, false), (true, false), (false, true), (true, true)] {
            let possible = untrusted >= given.untrusted
                && private >= given.private
                && (happens.private || !private);
            if !possible {
                continue;
            }
            for named in State::namings(effects, happens) {
                let state = State {
                    effects,
                    untrusted,
                    private,
                    named: *named,
                };
                if meets(&state) {
                    return Some(state);
                }
            }
        }
    }
    None
}

/// All that a call of a tool can do: what does one thing first, then what nothing is known of.
fn sets(doing: Doing) -> Vec<Option<Effects>> {
    let spare = doing.most.without(doing.least).bits();
    let mut sets: Vec<Option<Effects>> = Vec::new();
    let mut part = spare;
    loop {
        let set = Effects::from_bits(part).unwrap_or_default();
        let set = set.union(doing.least);
        sets.push((!set.is_empty()).then_some(set));
        if part == 0 {
            break;
        }
        part = (part - 1) & spare;
    }
    sets.sort_by_key(|set| match set {
        None => (2, 0),
        Some(set) => (set.bits().count_ones().max(1) * 2 - 1, set.bits()),
    });
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Look;

    fn given(least: Effects, most: Effects) -> Given {
        Given {
            doing: Doing {
                least,
                most,
                by_effect: true,
            },
            effects: None,
            untrusted: false,
            private: false,
        }
    }

    #[test]
    fn all_sets_between_the_bounds_once() {
        let read = Effects::one(Effect::Read);
        let three = read.with(Effect::Run).with(Effect::Pay);
        let sets = sets(given(read, three).doing);
        assert_eq!(sets.len(), 4);
        assert_eq!(sets.first(), Some(&Some(read)));
        assert_eq!(super::sets(ANYTHING).len(), 1024);
        assert_eq!(super::sets(ANYTHING).get(10), Some(&None));
    }

    #[test]
    fn states_meet_claims_or_there_is_none() {
        let mut facts = Facts::default();
        let run = facts.asked_at(
            u32::MAX,
            Look::Session,
            Op::Session(SessionTest::Effect(Effects::one(Effect::Run))),
        );
        let read = facts.asked_at(
            u32::MAX,
            Look::Session,
            Op::Session(SessionTest::ReadUntrusted),
        );
        let named = facts.asked_at(
            u32::MAX,
            Look::Session,
            Op::Session(SessionTest::UserNamedEffect),
        );
        let happens = Happens {
            private: false,
            words: true,
        };
        let only = |effect| given(Effects::one(effect), Effects::one(effect));
        let find = |claims: &[Claim], given| search(claims, given, happens, &facts);
        let found = find(
            &[(run, Mode::Plain, true), (read, Mode::Any, true)],
            only(Effect::Run),
        );
        assert!(found.is_some_and(|state| state.untrusted));
        assert_eq!(find(&[(run, Mode::Any, true)], only(Effect::Send)), None);
        // What does more than is named satisfies no rule that lets through.
        let both = Effects::one(Effect::Run).with(Effect::Send);
        assert_eq!(find(&[(run, Mode::Plain, true)], given(both, both)), None);
        assert!(find(&[(run, Mode::Any, true)], given(both, both)).is_some());
        // What nobody has to ask for is asked for.
        assert_eq!(find(&[(named, Mode::All, false)], only(Effect::Send)), None);
        assert!(find(&[(named, Mode::Any, false)], only(Effect::Run)).is_some());
    }
}
