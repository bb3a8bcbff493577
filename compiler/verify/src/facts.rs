//! Elementary questions about a call, numbered, so that answers can be remembered.
//!
//! Knows the resolved conditions; knows nothing of rules, their order or of tools.

use super::overlap::Overlaps;
use bouncer_compiler::lower::class;
use bouncer_compiler::lower::{Mode, Step, names, steps};
use bouncer_compiler::policy::{Op, Path, Policy, Quantifier, SqlDialect, Subject, Test, View};
use bouncer_plan::format::{TestClass, ViewKind};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What a question looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Look {
    Value,
    Host,
    Domain,
    SqlVerb(SqlDialect),
    SqlTable(SqlDialect),
    SqlFunction(SqlDialect),
    Scheme,
    /// How many characters the text has.
    Length,
    /// What no search makes up: names of members, and paths that lead elsewhere.
    Unsearched,
    Provenance,
    /// Whether a destination inside the text was read before.
    Carries,
    /// Whether something private inside the text was read before.
    Private,
    /// The text as it stands, as constraints see it.
    Raw,
    /// Whether every destination in the text is on a list.
    Trusted,
    /// Whether the text was seen in untrusted output, and a destination in it is not on
    /// the list.
    Tainted,
    /// How many leaves there are.
    Count,
    /// How many attempts there were, within a window of milliseconds (0: ever).
    Calls(u64),
    /// What the call does, and what was before it.
    Session,
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// Number of the path; no meaning for [`Look::Calls`].
    pub path: u32,
    pub look: Look,
    pub op: Op,
    pub class: TestClass,
}

/// Number of a [`Fact`].
pub(super) type FactId = u32;

/// A statement about one leaf: whether a fact holds of it in a mode.
pub(super) type Claim = (FactId, Mode, bool);

/// An elementary statement about a call and a pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Atom {
    /// The tool's name matches this glob.
    Name(u32),
    /// The picked leaf of the fact's path.
    Leaf(FactId, Mode),
    /// Any leaf (`false`) or every leaf (`true`) of the fact's path.
    Bag(FactId, Mode, bool),
    /// The number of leaves of the fact's path.
    Count(FactId, Mode),
    /// The number of attempts.
    Calls(FactId, Mode),
    /// What the call does, and what was before it.
    Session(FactId, Mode),
}

/// An atom, and whether it has to hold.
pub(super) type Lit = (Atom, bool);

/// All questions of the policies at hand.
#[derive(Debug, Default)]
pub(super) struct Facts {
    facts: Vec<Fact>,
    index: HashMap<(u32, Look, String), FactId>,
    paths: Vec<Vec<Step>>,
    path_index: HashMap<Vec<Step>, u32>,
    /// Paths of which rules pick one leaf.
    picked: HashSet<u32>,
    /// Rules ask what a call does, or what was before it.
    pub of_session: bool,
    /// Some contract says where relative paths start, or has links followed: where a path
    /// leads is not searched for.
    pub elsewhere: bool,
    /// Some contract says where relative paths start.
    pub based: bool,
    /// Which paths see which, for so many of them.
    overlaps: Option<(usize, Rc<Overlaps>)>,
}

impl Facts {
    /// None yet, about these policies.
    pub fn of(policies: &[&Policy]) -> Self {
        let mut facts = Self::default();
        for contract in policies.iter().flat_map(|policy| &policy.contracts) {
            facts.based |= contract.base.is_some();
            facts.elsewhere |= contract.base.is_some() || contract.resolve_symlinks;
        }
        facts
    }

    /// A question by its number.
    pub fn get(&self, id: FactId) -> Option<&Fact> {
        self.facts.get(id as usize)
    }

    /// Whether something is asked that no search makes up.
    pub fn any_unsearched(&self) -> bool {
        self.facts.iter().any(|fact| fact.look == Look::Unsearched)
    }

    /// The steps of a path.
    pub fn path(&self, id: u32) -> &[Step] {
        self.paths.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// The number of a path.
    pub fn path_id(&mut self, path: &Path) -> u32 {
        self.steps_id(steps(path))
    }

    fn steps_id(&mut self, steps: Vec<Step>) -> u32 {
        let fresh = self.paths.len() as u32;
        let id = *self.path_index.entry(steps.clone()).or_insert(fresh);
        if id == fresh {
            self.paths.push(steps);
        }
        id
    }

    /// Which paths see the values of which.
    pub fn overlaps(&mut self) -> Rc<Overlaps> {
        if let Some((paths, known)) = &self.overlaps
            && *paths == self.paths.len()
        {
            return Rc::clone(known);
        }
        let fresh = Rc::new(Overlaps::of(&self.paths));
        self.overlaps = Some((self.paths.len(), Rc::clone(&fresh)));
        fresh
    }

    /// Whether rules pick one leaf of a path.
    pub fn is_picked(&self, path: u32) -> bool {
        self.picked.contains(&path)
    }

    /// The same question about another path.
    pub fn moved(&mut self, id: FactId, path: u32) -> FactId {
        match self.facts.get(id as usize) {
            Some(fact) if fact.path != path => {
                let moved = Fact {
                    path,
                    ..fact.clone()
                };
                self.number(moved)
            }
            _ => id,
        }
    }

    /// The number of a question that no rule asks.
    pub fn asked(&mut self, path: &Path, look: Look, op: Op) -> FactId {
        let path = self.path_id(path);
        self.asked_at(path, look, op)
    }

    /// The same, at a numbered path.
    pub fn asked_at(&mut self, path: u32, look: Look, op: Op) -> FactId {
        self.number(Fact {
            path,
            look,
            op,
            class: TestClass::Own,
        })
    }

    fn number(&mut self, fact: Fact) -> FactId {
        let key = (fact.path, fact.look, format!("{:?}", fact.op));
        let fresh = self.facts.len() as FactId;
        let id = *self.index.entry(key).or_insert(fresh);
        if id == fresh {
            self.facts.push(fact);
        }
        id
    }

    /// The literal of a test as a rule of the given kind reads it.
    pub fn literal(&mut self, test: &Test, negated: bool, permissive: bool) -> Lit {
        let mode = match (permissive, negated) {
            (true, false) => Mode::Plain,
            (true, true) => Mode::Maybe,
            (false, false) => Mode::Any,
            (false, true) => Mode::All,
        };
        let (path, look, view) = match &test.subject {
            Subject::Arg(path, view) => {
                let look = match view {
                    View::Value if self.elsewhere && matches!(test.op, Op::Within(_)) => {
                        Look::Unsearched
                    }
                    View::Value => Look::Value,
                    View::Host => Look::Host,
                    View::Domain => Look::Domain,
                    View::SqlVerb(dialect) => Look::SqlVerb(*dialect),
                    View::SqlTable(dialect) => Look::SqlTable(*dialect),
                    View::SqlFunction(dialect) => Look::SqlFunction(*dialect),
                    View::Scheme => Look::Scheme,
                    View::Length => Look::Length,
                    View::Name => Look::Unsearched,
                };
                let (path, kind) = match view {
                    View::Name => (self.steps_id(names(path)), ViewKind::Name),
                    View::Length => (self.path_id(path), ViewKind::Length),
                    _ => (self.path_id(path), ViewKind::Value),
                };
                (path, look, kind)
            }
            Subject::Count(path) => (self.path_id(path), Look::Count, ViewKind::Count),
            Subject::Provenance(path) => {
                let look = match test.op {
                    Op::CarriesUntrusted => Look::Carries,
                    Op::CarriesPrivate => Look::Private,
                    _ => Look::Provenance,
                };
                (self.path_id(path), look, ViewKind::Value)
            }
            Subject::Calls { window_ms } => (
                u32::MAX,
                Look::Calls(window_ms.unwrap_or(0)),
                ViewKind::Calls,
            ),
            Subject::Session => (u32::MAX, Look::Session, ViewKind::Session),
        };
        let fact = self.number(Fact {
            path,
            look,
            op: test.op.clone(),
            class: class(&test.op, view),
        });
        let atom = match (look, test.quantifier) {
            (Look::Count, _) => Atom::Count(fact, mode),
            (Look::Calls(_), _) => Atom::Calls(fact, mode),
            (Look::Session, _) => {
                self.of_session = true;
                Atom::Session(fact, mode)
            }
            (_, Quantifier::Pick) => {
                self.picked.insert(path);
                Atom::Leaf(fact, mode)
            }
            (_, quantifier) => Atom::Bag(fact, mode, quantifier == Quantifier::All),
        };
        (atom, !negated)
    }
}
