//! The simplest call that meets what is wanted, with what has to be before it: what the call
//! does hangs on its tool and its arguments, and what was read on where its values were seen.

use super::leaves::Bags;
use super::{Assignment, Searcher, Wanted};
use crate::arguments::arguments;
use crate::leaf::Leaf;
use crate::names::{Names, Tool, Universe};
use crate::session::{ANYTHING, Given, State};
use crate::theory::Answer;
use bouncer_engine::gate::Doing;

/// Names of which the gate takes each for something else.
const TELLING: [&str; 12] = [
    "run_command",
    "send_message",
    "delete_item",
    "pay_invoice",
    "grant_access",
    "publish_post",
    "fetch_url",
    "write_note",
    "read_note",
    "turn_on_light",
    "move_robot",
    "thing",
];

impl Searcher<'_> {
    /// The simplest call that meets what is wanted.
    pub(super) fn simplest(&mut self, wanted: &Wanted) -> Answer<Assignment> {
        let (tool, doing) = match self.tool(wanted) {
            Answer::Found(found) => found,
            Answer::Empty => return Answer::Empty,
            Answer::Unknown => return Answer::Unknown,
        };
        let calls = self.attempts(&wanted.calls);
        let calls = match calls {
            Some(None) => return Answer::Empty,
            calls => calls.flatten(),
        };
        let mut unknown = calls.is_none();
        // What may have been read is narrowed where the claims leave no other way.
        for may_read in [(true, true), (false, true), (true, false), (false, false)] {
            let given = |(untrusted, private): (bool, bool)| Given {
                doing,
                effects: None,
                untrusted,
                private,
            };
            let narrowed = may_read != (true, true);
            let fits = |searcher: &mut Self, read| {
                searcher
                    .theory
                    .session(&wanted.session, given(read))
                    .is_some()
            };
            // Where nothing says what was read, one way stands for all.
            if narrowed && wanted.session.is_empty() {
                break;
            }
            self.theory.may_read = may_read;
            let found = self.leaves(&wanted.demands);
            self.theory.may_read = (true, true);
            match (found, calls) {
                (Answer::Empty, _) if !narrowed => return Answer::Empty,
                (Answer::Empty, _) => {}
                (Answer::Unknown, _) | (_, None) => {
                    // No call of which more was read than may be.
                    unknown |= fits(self, (false, false));
                }
                (Answer::Found((own, bags)), Some(calls)) => {
                    let mut assignment = Assignment {
                        tool: tool.clone(),
                        own,
                        bags,
                        calls,
                        session: State::default(),
                    };
                    let read = reads(&assignment.own);
                    if !fits(self, read) {
                        // Such a call may be in a conversation that has read less.
                        continue;
                    }
                    if let Some(state) = self.state(&assignment, wanted, given(read)) {
                        assignment.session = state;
                        return Answer::Found(assignment);
                    }
                    unknown = true;
                }
            }
        }
        if unknown {
            Answer::Unknown
        } else {
            Answer::Empty
        }
    }

    /// What is before a call with these arguments.
    fn state(&mut self, assignment: &Assignment, wanted: &Wanted, given: Given) -> Option<State> {
        if !self.theory.facts.of_session {
            return Some(State {
                untrusted: given.untrusted,
                private: given.private,
                ..State::default()
            });
        }
        let text = arguments(&self.theory.facts, &assignment.own);
        let effects = self.names.done_by(&assignment.tool, &text);
        let given = Given {
            effects: Some(effects),
            ..given
        };
        self.theory.session(&wanted.session, given)
    }

    /// A tool that can do what is claimed.
    fn tool(&mut self, wanted: &Wanted) -> Answer<(Tool, Doing)> {
        let (must, not) = (&wanted.must, &wanted.not);
        if wanted.session.is_empty() {
            return match self.names.find(self.theory, must, not, self.universe) {
                Answer::Found(tool) => Answer::Found((tool, ANYTHING)),
                Answer::Empty => Answer::Empty,
                Answer::Unknown => Answer::Unknown,
            };
        }
        let doing = |names: &Names, tool: &Tool| names.doing(tool);
        let can = |searcher: &mut Self, doing: Doing, effects| {
            let given = Given {
                doing,
                effects,
                untrusted: false,
                private: false,
            };
            searcher.theory.session(&wanted.session, given).is_some()
        };
        let exact = must.iter().any(|id| self.names.is_exact(*id));
        let candidates = self.names.candidates(must, not, self.universe, &TELLING);
        let mut maybe = None;
        for tool in candidates {
            let doing = doing(self.names, &tool);
            if !can(self, doing, None) {
                continue;
            }
            let effects = self.names.done_by(&tool, "{}");
            if can(self, doing, Some(effects)) {
                return Answer::Found((tool, doing));
            }
            // Its arguments may say more.
            maybe = maybe.or(Some((tool, doing)));
        }
        if let Some(found) = maybe {
            return Answer::Found(found);
        }
        if self.universe == Universe::Listed {
            return Answer::Empty;
        }
        match self.names.find(self.theory, must, not, self.universe) {
            Answer::Found(tool) => {
                if can(self, ANYTHING, None) && !exact {
                    // Some tool may do it, but this one does not.
                    let doing = doing(self.names, &tool);
                    if can(self, doing, None) {
                        return Answer::Found((tool, doing));
                    }
                    return Answer::Unknown;
                }
                Answer::Empty
            }
            Answer::Empty => Answer::Empty,
            Answer::Unknown if can(self, ANYTHING, None) => Answer::Unknown,
            Answer::Unknown => Answer::Empty,
        }
    }
}

/// What has to have been read for values to have been seen where they were.
fn reads(own: &Bags) -> (bool, bool) {
    let seen = own.values().flatten().map(|leaf: &Leaf| leaf.seen.reads());
    seen.fold((false, false), |(a, b), (c, d)| (a | c, b | d))
}
