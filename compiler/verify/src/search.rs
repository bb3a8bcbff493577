//! A call and a pick that satisfy some literals, and none of the rows to be avoided.
//!
//! Makes the simplest call that meets what is asked; if a row to be avoided holds, splits
//! on which of its literals is to fail, and asks again. Complete: where every branch is
//! impossible there is no such pick. Knows rows; knows nothing of what they decide.

mod before;
mod leaves;

use super::bag::{Bag, Demand};
use super::facts::{Atom, Claim, FactId, Facts, Lit};
use super::leaf::{Leaf, counted};
use super::names::{Names, Tool, Universe};
use super::session::State;
use super::theory::{Answer, Level, Theory, contradicts};
use bouncer_compiler::lower::Mode;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// One way for a rule to hold: all of these.
pub(super) type Row = Vec<Lit>;

/// A rule as rows.
#[derive(Clone, Debug)]
pub(super) struct RuleRows {
    pub globs: Vec<u32>,
    pub rows: Vec<Row>,
    /// Paths of which the rows look at one leaf that is picked.
    pub picked: Vec<u32>,
}

impl RuleRows {
    pub fn new(globs: Vec<u32>, rows: Vec<Row>, facts: &Facts) -> Self {
        let atoms = rows.iter().flatten().filter_map(|(atom, _)| match atom {
            Atom::Leaf(fact, _) => facts.get(*fact).map(|fact| fact.path),
            _ => None,
        });
        let mut picked: Vec<u32> = atoms.collect();
        picked.sort_unstable();
        picked.dedup();
        Self {
            globs,
            rows,
            picked,
        }
    }
}

/// A row that holds where the row holds for some way of picking leaves, of all paths but
/// `fixed` ones. Tests that look at the same leaf of one path stay as they are.
pub(super) fn lifted<'r>(row: &'r Row, fixed: &BTreeSet<u32>, facts: &Facts) -> Cow<'r, Row> {
    let path = |fact: FactId| facts.get(fact).map_or(u32::MAX, |fact| fact.path);
    let alone = |fact: FactId| {
        let same = |lit: &&Lit| matches!(lit.0, Atom::Leaf(other, _) if path(other) == path(fact));
        row.iter().filter(same).count() == 1 && !fixed.contains(&path(fact))
    };
    let lift = |(atom, holds): &Lit| match atom {
        Atom::Leaf(fact, mode) if alone(*fact) => (Atom::Bag(*fact, *mode, !holds), *holds),
        _ => (*atom, *holds),
    };
    let liftable = |(atom, _): &Lit| matches!(atom, Atom::Leaf(fact, _) if alone(*fact));
    if !row.iter().any(liftable) {
        return Cow::Borrowed(row);
    }
    Cow::Owned(row.iter().map(lift).collect())
}

/// A call, the pick in it, and what was before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub tool: Tool,
    /// By path: the leaves that are written there.
    pub own: BTreeMap<u32, Bag>,
    /// By path: the leaves that are seen there; the first is picked.
    pub bags: BTreeMap<u32, Bag>,
    /// Attempts, this one included.
    pub calls: u64,
    /// What the call does, and what was before it.
    pub session: State,
}

/// Ways of picking leaves of one call that are tried.
const MOST_PICKS: usize = 64;

impl Assignment {
    /// The same call with every way of picking leaves; `None` if there are too many.
    pub fn picks(&self, facts: &Facts) -> Option<Vec<Self>> {
        let mut picks = vec![self.clone()];
        for (path, bag) in self.bags.iter().filter(|(path, _)| facts.is_picked(**path)) {
            let mut leaves: Vec<&Leaf> = bag.iter().collect();
            leaves.sort_unstable();
            leaves.dedup();
            if leaves.len() < 2 {
                continue;
            }
            let mut more = Vec::new();
            for pick in &picks {
                for leaf in &leaves {
                    let at = bag.iter().position(|other| other == *leaf)?;
                    let mut other = pick.clone();
                    other.bags.get_mut(path)?.swap(0, at);
                    more.push(other);
                }
            }
            picks = more;
            if picks.len() > MOST_PICKS {
                return None;
            }
        }
        Some(picks)
    }
}

/// What is asked of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub must: Vec<u32>,
    pub not: Vec<u32>,
    demands: BTreeMap<u32, Demand>,
    calls: Vec<Claim>,
    session: Vec<Claim>,
}

/// Branches of one search.
const MOST_BRANCHES: u32 = 2_000;

/// The rules of a policy, for searching.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub rules: Vec<RuleRows>,
    exact: HashMap<String, Vec<u32>>,
    /// Rules with a glob that is no whole name.
    globs: Vec<(u32, u32)>,
    applicable: HashMap<String, Rc<Vec<u32>>>,
}

impl Rules {
    pub fn new(rules: Vec<RuleRows>, names: &Names) -> Self {
        let mut out = Self::default();
        for (index, rule) in (0..).zip(&rules) {
            for id in &rule.globs {
                match names.get(*id) {
                    Some(glob) if glob.is_exact() => {
                        out.exact
                            .entry(glob.pattern.clone())
                            .or_default()
                            .push(index);
                    }
                    _ => out.globs.push((*id, index)),
                }
            }
        }
        out.rules = rules;
        out
    }

    /// The rules whose globs match a name, in order.
    pub fn applicable(&mut self, names: &Names, full: &str) -> Rc<Vec<u32>> {
        if let Some(known) = self.applicable.get(full) {
            return Rc::clone(known);
        }
        let mut rules: Vec<u32> = self.exact.get(full).cloned().unwrap_or_default();
        let matching = self.globs.iter().filter(|(id, _)| names.matches(*id, full));
        rules.extend(matching.map(|(_, rule)| *rule));
        rules.sort_unstable();
        rules.dedup();
        let rules = Rc::new(rules);
        self.applicable.insert(full.to_owned(), Rc::clone(&rules));
        rules
    }

    /// The rules that may match a tool that none of them names, in order.
    pub fn by_pattern(&self) -> Vec<u32> {
        let mut rules: Vec<u32> = self.globs.iter().map(|(_, rule)| *rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    pub fn get(&self, rule: u32) -> Option<&RuleRows> {
        self.rules.get(rule as usize)
    }
}

impl Wanted {
    /// Asks for a literal. `false`: that contradicts what is asked already.
    pub fn add(&mut self, theory: &Theory, lit: Lit) -> bool {
        let (atom, holds) = lit;
        let demand = |wanted: &mut Self, fact: FactId| {
            let path = theory.facts.get(fact).map_or(u32::MAX, |fact| fact.path);
            let demand = wanted.demands.entry(path).or_default();
            std::mem::take(demand)
        };
        let put = |wanted: &mut Self, fact: FactId, demand: Demand| {
            let path = theory.facts.get(fact).map_or(u32::MAX, |fact| fact.path);
            wanted.demands.insert(path, demand);
        };
        match atom {
            Atom::Name(glob) => {
                let (list, other) = if holds {
                    (&mut self.must, &self.not)
                } else {
                    (&mut self.not, &self.must)
                };
                if !list.contains(&glob) {
                    list.push(glob);
                }
                !other.contains(&glob)
            }
            Atom::Leaf(fact, mode) => {
                let mut asked = demand(self, fact);
                if !asked.pick.contains(&(fact, mode, holds)) {
                    asked.pick.push((fact, mode, holds));
                }
                let fine = !contradicts(&asked.pick);
                put(self, fact, asked);
                fine
            }
            Atom::Bag(fact, mode, all) => {
                let mut asked = demand(self, fact);
                if !asked.bag.contains(&(fact, mode, all, holds)) {
                    asked.bag.push((fact, mode, all, holds));
                }
                let fine = !asked.bag.contains(&(fact, mode, all, !holds));
                put(self, fact, asked);
                fine
            }
            Atom::Count(fact, mode) => {
                let mut asked = demand(self, fact);
                if !asked.count.contains(&(fact, mode, holds)) {
                    asked.count.push((fact, mode, holds));
                }
                let fine = !contradicts(&asked.count);
                put(self, fact, asked);
                fine
            }
            Atom::Calls(fact, mode) => {
                if !self.calls.contains(&(fact, mode, holds)) {
                    self.calls.push((fact, mode, holds));
                }
                !contradicts(&self.calls)
            }
            Atom::Session(fact, mode) => {
                if let Err(at) = self.session.binary_search(&(fact, mode, holds)) {
                    self.session.insert(at, (fact, mode, holds));
                }
                !contradicts(&self.session)
            }
        }
    }

    /// Asks something of every leaf of a path, if there is any.
    pub fn each(&mut self, path: u32, claim: Claim) {
        self.demands.entry(path).or_default().each.push(claim);
    }

    /// Asks something of some leaf of a path.
    pub fn some(&mut self, path: u32, claim: Claim) {
        self.demands.entry(path).or_default().some.push(claim);
    }

    /// Asks for no leaf at a path.
    pub fn absent(&mut self, path: u32) {
        self.demands.entry(path).or_default().absent = true;
    }

    /// Whether a literal is asked for already.
    fn asks(&self, theory: &Theory, lit: Lit) -> bool {
        let (atom, holds) = lit;
        let demand = |fact: FactId| {
            let path = theory.facts.get(fact).map_or(u32::MAX, |fact| fact.path);
            self.demands.get(&path)
        };
        match atom {
            Atom::Name(glob) => if holds { &self.must } else { &self.not }.contains(&glob),
            Atom::Leaf(fact, mode) => {
                demand(fact).is_some_and(|asked| asked.pick.contains(&(fact, mode, holds)))
            }
            Atom::Bag(fact, mode, all) => {
                demand(fact).is_some_and(|asked| asked.bag.contains(&(fact, mode, all, holds)))
            }
            Atom::Count(fact, mode) => {
                demand(fact).is_some_and(|asked| asked.count.contains(&(fact, mode, holds)))
            }
            Atom::Calls(fact, mode) => self.calls.contains(&(fact, mode, holds)),
            Atom::Session(fact, mode) => self.session.contains(&(fact, mode, holds)),
        }
    }

    /// Asks for a whole row.
    pub fn add_row(&mut self, theory: &Theory, row: &Row) -> bool {
        row.iter().all(|lit| self.add(theory, *lit))
    }
}

/// What a search works with.
pub(super) struct Searcher<'a> {
    pub theory: &'a mut Theory,
    pub names: &'a Names,
    pub universe: Universe,
    pub level: Level,
    branches: u32,
}

/// What to do with a call that meets everything.
pub(super) type Accept<'f> = &'f mut dyn FnMut(&mut Theory, &Assignment) -> bool;

/// Which rules of which policies may not hold.
pub(super) struct Avoid<'f> {
    pub rules: &'f mut Rules,
    pub which: &'f dyn Fn(u32) -> bool,
    /// Rules that are too mild to settle what is asked. Until one comes that looks at the
    /// leaf that is picked of a path, rules may hold for no other leaf of it either.
    pub mild: &'f dyn Fn(u32) -> bool,
}

impl<'a> Searcher<'a> {
    pub const fn new(
        theory: &'a mut Theory,
        names: &'a Names,
        universe: Universe,
        level: Level,
    ) -> Self {
        Self {
            theory,
            names,
            universe,
            level,
            branches: 0,
        }
    }

    /// A call that meets what is wanted and in which, for the pick, none of the rules to
    /// be avoided holds. A call that `accept` refuses leaves the answer unknown, unless
    /// another is found.
    pub fn find(
        &mut self,
        wanted: Wanted,
        avoid: &mut [Avoid<'_>],
        accept: Accept<'_>,
    ) -> Answer<Assignment> {
        self.branches = 0;
        self.branch(wanted, avoid, accept)
    }

    fn branch(
        &mut self,
        mut wanted: Wanted,
        avoid: &mut [Avoid<'_>],
        accept: Accept<'_>,
    ) -> Answer<Assignment> {
        self.branches += 1;
        if self.branches > MOST_BRANCHES || !self.theory.spend(10) {
            return Answer::Unknown;
        }
        let assignment = match self.simplest(&wanted) {
            Answer::Found(assignment) => assignment,
            Answer::Empty => return Answer::Empty,
            Answer::Unknown => return Answer::Unknown,
        };
        let mut hit: Option<(Vec<u32>, Row)> = None;
        for avoided in avoid.iter_mut() {
            let applicable = avoided.rules.applicable(self.names, &assignment.tool.full);
            let mut fixed: BTreeSet<u32> = BTreeSet::new();
            for rule in applicable.iter() {
                let Some(rows) = avoided.rules.get(*rule) else {
                    continue;
                };
                if (avoided.mild)(*rule) {
                    fixed.extend(&rows.picked);
                }
                if !(avoided.which)(*rule) {
                    continue;
                }
                let mut holding = None;
                for row in &rows.rows {
                    let row = lifted(row, &fixed, &self.theory.facts);
                    match self.holds(&row, &assignment) {
                        Some(true) => {
                            holding = Some(row.into_owned());
                            break;
                        }
                        Some(false) => {}
                        None => return Answer::Unknown,
                    }
                }
                if let Some(row) = holding {
                    hit = Some((rows.globs.clone(), row));
                    break;
                }
            }
            if hit.is_some() {
                break;
            }
        }
        let Some((globs, row)) = hit else {
            return if accept(self.theory, &assignment) {
                Answer::Found(assignment)
            } else {
                Answer::Unknown
            };
        };
        let mut answer = Answer::Empty;
        for (atom, holds) in row {
            if wanted.asks(self.theory, (atom, holds)) {
                continue;
            }
            let mut other = wanted.clone();
            if other.add(self.theory, (atom, !holds)) {
                answer = answer.or(|| self.branch(other, avoid, accept));
                if let Answer::Found(_) = answer {
                    return answer;
                }
            }
            // The other branches need not look there again.
            if !wanted.add(self.theory, (atom, holds)) {
                return answer;
            }
        }
        // Or the rule is about other tools.
        let mut other = wanted;
        let fine = globs
            .iter()
            .all(|glob| other.add(self.theory, (Atom::Name(*glob), false)));
        if fine {
            answer = answer.or(|| self.branch(other, avoid, accept));
        }
        answer
    }

    /// How many attempts meet the claims: `Some(None)` if none do.
    fn attempts(&self, claims: &[Claim]) -> Option<Option<u64>> {
        if claims.is_empty() {
            return Some(Some(1));
        }
        let counts = self.theory.counts(claims)?;
        let fitting = counts.into_iter().find(|count| *count > 0);
        if fitting.is_none() {
            // Several windows may count differently.
            let mut looks: Vec<_> = claims
                .iter()
                .filter_map(|claim| self.theory.facts.get(claim.0))
                .map(|fact| fact.look)
                .collect();
            looks.sort_unstable();
            looks.dedup();
            if looks.len() > 1 {
                return None;
            }
        }
        Some(fitting)
    }

    /// Whether a row holds for the pick; `None` if that cannot be told.
    pub fn holds(&mut self, row: &Row, assignment: &Assignment) -> Option<bool> {
        for (atom, wanted) in row {
            if self.atom(*atom, assignment)? != *wanted {
                return Some(false);
            }
        }
        Some(true)
    }

    fn atom(&mut self, atom: Atom, assignment: &Assignment) -> Option<bool> {
        let bag = |fact: FactId, theory: &Theory| {
            theory
                .facts
                .get(fact)
                .and_then(|fact| assignment.bags.get(&fact.path))
                .map_or(&[][..], Vec::as_slice)
        };
        Some(match atom {
            Atom::Name(glob) => self.names.matches(glob, &assignment.tool.full),
            Atom::Leaf(fact, mode) => match bag(fact, self.theory).first() {
                Some(leaf) => self.theory.outcome(fact, leaf)?.in_mode(mode),
                None => false,
            },
            Atom::Bag(fact, mode, all) => {
                let leaves = bag(fact, self.theory);
                let mut hits = 0;
                for leaf in leaves {
                    hits += usize::from(self.theory.outcome(fact, leaf)?.in_mode(mode));
                }
                hits > 0 && (!all || hits == leaves.len())
            }
            Atom::Count(fact, mode) => {
                let count = bag(fact, self.theory).len() as u64;
                self.count(fact, mode, count)?
            }
            Atom::Calls(fact, mode) => self.count(fact, mode, assignment.calls)?,
            Atom::Session(fact, mode) => {
                let fact = self.theory.facts.get(fact)?;
                assignment.session.answers(&fact.op, mode)
            }
        })
    }

    fn count(&self, fact: FactId, mode: Mode, count: u64) -> Option<bool> {
        let fact = self.theory.facts.get(fact)?;
        Some(counted(&fact.op, count, mode))
    }
}
