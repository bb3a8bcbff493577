//! Which leaves there can be: for a list of claims about one leaf, a leaf that meets
//! them, or the proof that there is none.
//!
//! Two questions are told apart. *Plain*: a leaf that stands at its path as it is and
//! reads as it is written. *All*: any leaf, also one inside an object, encoded, or
//! spelled in look-alike letters. For proofs about all leaves the forms of a text are
//! taken for independent texts: what is impossible then is impossible. Whatever is found
//! is evaluated as the gate would. Knows nothing of rules or calls.

mod limits;
mod named;
mod numbers;
mod schema;
mod texts;

pub(super) use schema::at_path;

use super::automaton::Table;
use super::facts::{Claim, Fact, FactId, Facts, Look};
use super::leaf::{self, Leaf, Outcome, Seen, Value};
use super::overlap::Stands;
use super::session::{self, Given, Happens, State};
use super::words::Constraint;
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Op, Policy};
use bouncer_plan::Label;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The answer to "is there one?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer<T> {
    /// There is this one.
    Found(T),
    /// There is none.
    Empty,
    /// The analysis gave up.
    Unknown,
}

impl<T> Answer<T> {
    /// Adds another place to look in.
    pub fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Found(_) => self,
            Self::Empty => other(),
            Self::Unknown => match other() {
                Self::Empty => Self::Unknown,
                better => better,
            },
        }
    }
}

/// Which leaves a search may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Level {
    Plain,
    All,
}

/// One question may take this part of all steps.
const SHARE: u64 = 10;

/// What is asked of one leaf, how it stands, and what may have been before.
type LeavesKey = (Vec<Claim>, Stands, Level, (bool, bool), bool);

/// Answers questions about leaves, and remembers the answers.
#[derive(Debug)]
pub(super) struct Theory {
    pub facts: Facts,
    /// Steps of work left for the question at hand.
    pub budget: u64,
    /// Steps left for all other questions, and how many one question may take.
    rest: u64,
    share: u64,
    /// Some output of the policy's tools can be trusted, or observed.
    pub can_trust: bool,
    pub can_observe: bool,
    /// What can be before a call.
    pub happens: Happens,
    /// The labels that private outputs have.
    pub private_labels: Vec<Label>,
    /// What may have been read: something untrusted, something private.
    pub may_read: (bool, bool),
    /// The user may have typed something.
    pub vouched: bool,
    sessions: session::Known,
    /// Where the leaf that is being looked for was seen.
    seen: Seen,
    tables: HashMap<String, Option<Rc<Table>>>,
    patterns: HashMap<FactId, Option<Rc<Table>>>,
    /// Patterns too large to reason about, as written.
    too_large: BTreeMap<FactId, String>,
    leaves: HashMap<LeavesKey, Answer<Leaf>>,
    outcomes: HashMap<(Leaf, FactId), Option<Outcome>>,
}

impl Theory {
    pub fn new(facts: Facts, budget: u64) -> Self {
        Self {
            facts,
            budget: budget / SHARE,
            rest: budget - budget / SHARE,
            share: budget / SHARE,
            can_trust: false,
            can_observe: false,
            happens: Happens::default(),
            private_labels: Vec::new(),
            may_read: (true, true),
            vouched: true,
            sessions: HashMap::new(),
            seen: Seen::Nowhere,
            tables: HashMap::new(),
            patterns: HashMap::new(),
            too_large: BTreeMap::new(),
            leaves: HashMap::new(),
            outcomes: HashMap::new(),
        }
    }

    /// Notes what can be before a call under some policies.
    pub fn expect(&mut self, policies: &[&Policy]) {
        let outputs = policies.iter().flat_map(|policy| &policy.contracts);
        let outputs = outputs.filter_map(|contract| contract.outputs.as_ref());
        for outputs in outputs {
            if outputs.private {
                self.private_labels.push(outputs.label);
            }
            let fields = outputs.fields.iter().filter(|field| field.private);
            self.private_labels.extend(fields.map(|field| field.label));
        }
        self.private_labels.sort_unstable();
        self.private_labels.dedup();
        self.happens = Happens {
            private: !self.private_labels.is_empty(),
            words: policies.iter().any(|policy| policy.heuristics.is_some()),
        };
    }

    /// Starts a question, with steps of its own. What is counted depends on nothing but the
    /// question and those before it, so that the answer is the same on every machine.
    pub fn ask(&mut self) {
        self.rest += self.budget;
        self.budget = self.share.min(self.rest);
        self.rest -= self.budget;
    }

    /// Steps that are left for everything.
    pub const fn left(&self) -> u64 {
        self.rest + self.budget
    }

    /// Counts one step. `false`: there is nothing left.
    pub fn spend(&mut self, steps: u64) -> bool {
        self.budget = self.budget.saturating_sub(steps);
        self.budget > 0
    }

    /// The first pattern that was too large to reason about.
    pub fn too_large(&self) -> Option<&str> {
        self.too_large.values().next().map(String::as_str)
    }

    /// The table of a pattern; `None` if it is too large.
    fn table(&mut self, pattern: &str) -> Option<Rc<Table>> {
        if let Some(known) = self.tables.get(pattern) {
            return known.clone();
        }
        let table = Table::build(pattern).map(Rc::new);
        let cost = table.as_ref().map_or(20_000, |table| table.states() as u64);
        self.spend(cost);
        self.tables.insert(pattern.to_owned(), table.clone());
        table
    }

    /// A constraint from a pattern; `None` if it is too large.
    pub fn constraint(&mut self, pattern: &str, wanted: bool) -> Option<Constraint> {
        self.table(pattern)
            .map(|table| Constraint { table, wanted })
    }

    /// The table of a fact's own pattern.
    fn pattern(&mut self, id: FactId) -> Option<Rc<Table>> {
        if let Some(known) = self.patterns.get(&id) {
            return known.clone();
        }
        let (regex, written) = match &self.facts.get(id)?.op {
            Op::Matches(pattern) => (pattern.regex.clone(), pattern.written.clone()),
            _ => return None,
        };
        let table = self.table(&regex);
        if table.is_none() {
            self.too_large.insert(id, written);
        }
        self.patterns.insert(id, table.clone());
        table
    }

    /// What a leaf answers to a fact; `None` if that cannot be told.
    pub fn outcome(&mut self, id: FactId, leaf: &Leaf) -> Option<Outcome> {
        // What is answered at once is not remembered: there is much of it.
        let fact = self.facts.get(id)?;
        let at_once = matches!(fact.look, Look::Value | Look::Raw)
            && matches!(
                fact.op,
                Op::Equals(_)
                    | Op::In(_)
                    | Op::Compare(..)
                    | Op::Exists
                    | Op::Type(_)
                    | Op::Part(..)
            );
        if at_once {
            return leaf::outcome(fact, leaf, None);
        }
        // A tuple key borrows nothing: look-ups clone. Leaves are short.
        let key = (leaf.clone(), id);
        if let Some(known) = self.outcomes.get(&key) {
            return *known;
        }
        let table = self.pattern(id);
        let fact: &Fact = self.facts.get(id)?;
        let outcome = leaf::outcome(fact, leaf, table.as_deref());
        self.outcomes.insert(key, outcome);
        outcome
    }

    /// Whether a leaf meets all claims.
    fn meets(&mut self, leaf: &Leaf, claims: &[Claim]) -> Option<bool> {
        for (id, mode, holds) in claims {
            if self.outcome(*id, leaf)?.in_mode(*mode) != *holds {
                return Some(false);
            }
        }
        Some(true)
    }

    /// A leaf that meets all claims, which are about one path.
    pub fn leaves(&mut self, claims: &[Claim], stands: Stands, level: Level) -> Answer<Leaf> {
        let mut claims = claims.to_vec();
        claims.sort_unstable();
        claims.dedup();
        let key = (claims, stands, level, self.may_read, self.vouched);
        if let Some(known) = self.leaves.get(&key) {
            return known.clone();
        }
        let answer = self.solve(&key.0, stands, level);
        // Another question may have the steps for it.
        if self.budget > 0 {
            self.leaves.insert(key, answer.clone());
        }
        answer
    }

    /// What is before a call that meets all claims; `None` if nothing can be.
    pub fn session(&mut self, claims: &[Claim], given: Given) -> Option<State> {
        session::find(claims, given, self.happens, &self.facts, &mut self.sessions)
    }

    /// Where a leaf can have been seen, and whether such a conversation can be made up.
    fn sources(&self, about: bool, private: bool) -> Vec<(Seen, bool)> {
        let (untrusted, secret) = self.may_read;
        let mut sources = vec![(Seen::Nowhere, true)];
        // Without claims about it, nothing has to have been seen.
        if !about {
            return sources;
        }
        if self.vouched {
            sources.push((Seen::Typed, true));
        }
        if untrusted {
            sources.push((Seen::Untrusted, true));
        }
        if self.can_observe && untrusted {
            sources.push((Seen::Observed, false));
        }
        if self.can_trust {
            sources.push((Seen::Trusted, false));
        }
        if private && secret {
            let labels = self.private_labels.iter();
            let labels = labels.filter(|label| untrusted || **label == Label::Trusted);
            sources.extend(labels.map(|label| (Seen::Private(*label), true)));
        }
        sources
    }

    fn solve(&mut self, claims: &[Claim], stands: Stands, level: Level) -> Answer<Leaf> {
        if contradicts(claims) {
            return Answer::Empty;
        }
        if self.budget == 0 {
            return Answer::Unknown;
        }
        let of = |theory: &Self, look: Look| -> Vec<Claim> {
            let same = |claim: &&Claim| {
                theory
                    .facts
                    .get(claim.0)
                    .is_some_and(|fact| fact.look == look)
            };
            claims.iter().filter(same).copied().collect()
        };
        let origin = of(self, Look::Provenance);
        let (trusted, tainted) = (of(self, Look::Trusted), of(self, Look::Tainted));
        let carried = of(self, Look::Carries);
        let private = of(self, Look::Private);
        let about = [origin.as_slice(), &trusted, &tainted, &carried, &private].concat();
        let text: Vec<Claim> = claims
            .iter()
            .filter(|claim| !about.contains(claim))
            .copied()
            .collect();
        let mut answer = Answer::Empty;
        for (seen, real) in self.sources(!about.is_empty(), !private.is_empty()) {
            // What lists say matters only for what trust or taint does not settle.
            let mut rest = text.clone();
            let vouched = matches!(
                seen,
                Seen::Trusted | Seen::Typed | Seen::Private(Label::Trusted)
            );
            if !vouched {
                rest.extend_from_slice(&trusted);
            } else if trusted.iter().any(|(_, _, holds)| !holds) {
                continue;
            }
            if seen.is_untrusted() {
                if self.both_listed_and_not(&trusted, &tainted) {
                    continue;
                }
                rest.extend_from_slice(&tainted);
            } else if tainted.iter().any(|(_, _, holds)| *holds) {
                continue;
            }
            // What is carried inside may have been read when the whole was not, or was
            // vouched for: such a conversation is not made up here.
            let outside = seen.is_untrusted() || seen == Seen::Observed;
            let elsewhere = [
                (&carried, outside),
                (&private, matches!(seen, Seen::Private(_))),
            ];
            let elsewhere: Vec<Claim> = elsewhere
                .iter()
                .filter(|(_, here)| !here)
                .flat_map(|(claims, _)| claims.iter().copied())
                .collect();
            if outside {
                rest.extend_from_slice(&carried);
            }
            if matches!(seen, Seen::Private(_)) {
                rest.extend_from_slice(&private);
            }
            let ways: &[bool] = match stands {
                Stands::Inside => &[true],
                Stands::Plainly | Stands::Either => &[false, true],
            };
            for &through in ways {
                let probe = Leaf {
                    value: Value::Null,
                    through,
                    seen,
                };
                if self.meets(&probe, &origin) != Some(true) {
                    continue;
                }
                if self.meets(&probe, &elsewhere) != Some(true) {
                    if !self.may_be_elsewhere(&elsewhere) {
                        continue;
                    }
                    answer = answer.or(|| Answer::Unknown);
                    continue;
                }
                if !through || stands != Stands::Plainly {
                    answer = answer.or(|| self.plain(&rest, through, seen, real));
                }
                if level == Level::All {
                    answer = answer.or(|| self.hidden(&rest, through, seen, real));
                }
            }
        }
        // Where the record is incomplete, nobody can say that something was not seen.
        let tainted = tainted.iter().any(|(_, _, holds)| *holds);
        let origin = [origin.as_slice(), &carried, &private].concat();
        if level == Level::All && answer == Answer::Empty && !origin.is_empty() && !tainted {
            let unclear = Outcome::of(None, false);
            if origin
                .iter()
                .all(|(_, mode, holds)| unclear.in_mode(*mode) == *holds)
            {
                let rest = [text.as_slice(), &trusted].concat();
                let through = stands == Stands::Inside;
                answer = self.hidden(&rest, through, Seen::Nowhere, false);
            }
        }
        answer
    }

    /// Whether what is claimed to be carried can have been read at all.
    fn may_be_elsewhere(&self, claims: &[Claim]) -> bool {
        let (untrusted, private) = self.may_read;
        let wanted = |look: Look| {
            let of = |claim: &&Claim| self.facts.get(claim.0).map(|fact| fact.look) == Some(look);
            claims.iter().filter(of).any(|(_, _, holds)| *holds)
        };
        (untrusted || !wanted(Look::Carries))
            && ((private && self.happens.private) || !wanted(Look::Private))
    }

    /// Whether a text would have to be on a list and not on the same list.
    fn both_listed_and_not(&self, trusted: &[Claim], tainted: &[Claim]) -> bool {
        let list = |claim: &Claim| self.facts.get(claim.0).map(|fact| &fact.op);
        trusted.iter().any(|one| {
            tainted
                .iter()
                .any(|other| one.2 == other.2 && list(one) == list(other))
        })
    }

    /// Plain leaves. `real`: a conversation can be made in which the leaf was so seen.
    fn plain(&mut self, claims: &[Claim], through: bool, seen: Seen, real: bool) -> Answer<Leaf> {
        self.seen = seen;
        let found = self
            .plain_text(claims, through, seen != Seen::Nowhere)
            .or(|| self.number(claims, through))
            .or(|| self.constants(claims, through));
        place(found, through, seen, real)
    }

    /// Leaves that are not plain.
    fn hidden(&mut self, claims: &[Claim], through: bool, seen: Seen, real: bool) -> Answer<Leaf> {
        self.seen = seen;
        let found = self
            .hidden_text(claims, through, seen != Seen::Nowhere)
            .or(|| self.number(claims, through))
            .or(|| self.constants(claims, through));
        place(found, through, seen, real)
    }

    fn constants(&mut self, claims: &[Claim], through: bool) -> Answer<Value> {
        for value in [Value::Bool(true), Value::Bool(false), Value::Null] {
            let leaf = Leaf {
                value,
                through,
                seen: self.seen,
            };
            match self.meets(&leaf, claims) {
                Some(true) => return Answer::Found(leaf.value),
                Some(false) => {}
                None => return Answer::Unknown,
            }
        }
        Answer::Empty
    }

    /// The claims about one view, and the others.
    fn of_look(&self, claims: &[Claim], look: Look) -> Vec<Claim> {
        let same = |claim: &&Claim| {
            self.facts
                .get(claim.0)
                .is_some_and(|fact| fact.look == look)
        };
        claims.iter().filter(same).copied().collect()
    }

    /// The views that claims are about, other than the value itself.
    fn looks(&self, claims: &[Claim]) -> Vec<Look> {
        let mut looks: Vec<Look> = claims
            .iter()
            .filter_map(|claim| self.facts.get(claim.0))
            .map(|fact| fact.look)
            .filter(|look| {
                !matches!(
                    look,
                    Look::Value
                        | Look::Raw
                        | Look::Trusted
                        | Look::Tainted
                        | Look::Carries
                        | Look::Private
                )
            })
            .collect();
        looks.sort_unstable();
        looks.dedup();
        looks
    }
}

fn place(found: Answer<Value>, through: bool, seen: Seen, real: bool) -> Answer<Leaf> {
    match found {
        // What is too short to be recognised is never found in what was read.
        Answer::Found(value)
            if !real || (seen != Seen::Nowhere && !matches!(value, Value::Text(_))) =>
        {
            Answer::Unknown
        }
        Answer::Found(value) => Answer::Found(Leaf {
            value,
            through,
            seen,
        }),
        Answer::Empty => Answer::Empty,
        Answer::Unknown => Answer::Unknown,
    }
}

/// Whether the claims contradict each other, whatever the facts are.
pub(super) fn contradicts(claims: &[Claim]) -> bool {
    claims.iter().any(|(fact, mode, holds)| {
        *holds
            && claims.iter().any(|(other, weaker, holds)| {
                !*holds && fact == other && (mode == weaker || implies(*mode, *weaker))
            })
    })
}

/// Whether holding in one mode is holding in the other.
const fn implies(strong: Mode, weak: Mode) -> bool {
    matches!(
        (strong, weak),
        (Mode::Plain | Mode::All, Mode::Any | Mode::Maybe) | (Mode::Any, Mode::Maybe)
    )
}
