//! All leaves of one path at once: the picked one, those that `any` and `all` need, and
//! how many there are.

use super::facts::{Claim, FactId};
use super::leaf::{Leaf, counted};
use super::overlap::Stands;
use super::theory::{Answer, Level, Theory};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Op, Scalar};

/// More leaves than this are not put into an example.
const MOST_LEAVES: u64 = 2000;

/// What is asked of the leaves of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    /// Of the picked leaf.
    pub pick: Vec<Claim>,
    /// Of any leaf (`false`) or every leaf (`true`); whether it has to hold.
    pub bag: Vec<(FactId, Mode, bool, bool)>,
    /// Of the number of leaves.
    pub count: Vec<Claim>,
    /// Of every leaf there is, if there is any.
    pub each: Vec<Claim>,
    /// Of some leaf.
    pub some: Vec<Claim>,
    /// There may be none.
    pub absent: bool,
}

/// The leaves of one path; the first is the picked one.
pub(super) type Bag = Vec<Leaf>;

/// What other paths mean for the leaves of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// What paths at which the leaves are seen ask of every leaf.
    pub every: Vec<Claim>,
    /// Such a path may have no leaf.
    pub forbidden: bool,
    /// Leaves of other paths that are seen at this one.
    pub besides: u64,
    /// How the leaves stand here.
    pub stands: Stands,
    /// There has to be a leaf, be it only for the pick.
    pub forced: bool,
}

impl Demand {
    /// What is asked of every leaf there is.
    pub fn every(&self) -> Vec<Claim> {
        let mut every = self.each.clone();
        every.extend(self.bag.iter().filter_map(|(fact, mode, all, holds)| {
            (all == holds).then_some((*fact, *mode, *holds))
        }));
        every
    }
}

impl Theory {
    /// Leaves for one path that meet a demand.
    pub fn bag(&mut self, demand: &Demand, around: &Around, level: Level) -> Answer<Bag> {
        let numbers = self.counts(&demand.count);
        let Some(mut numbers) = numbers else {
            return Answer::Unknown;
        };
        if !demand.count.is_empty() {
            let own = |n: &u64| n.checked_sub(around.besides);
            numbers = numbers.iter().filter_map(own).collect();
        }
        let stands = around.stands;
        let empty_is_fine = !around.forced
            && demand.some.is_empty()
            && demand.pick.iter().all(|(_, _, holds)| !holds)
            && demand.bag.iter().all(|(_, _, _, holds)| !holds)
            && numbers.contains(&0);
        if empty_is_fine {
            return Answer::Found(Vec::new());
        }
        if demand.absent || around.forbidden {
            return Answer::Empty;
        }
        let mut every = demand.every();
        every.extend_from_slice(&around.every);
        let mut some = demand.some.clone();
        for (fact, mode, all, holds) in &demand.bag {
            match (all, holds) {
                (true, true) | (false, false) => {}
                (true, false) => some.push((*fact, *mode, false)),
                (false, true) => some.push((*fact, *mode, true)),
            }
        }
        let Some(most) = numbers.iter().copied().filter(|n| *n > 0).max() else {
            return Answer::Empty;
        };
        let joined = |parts: &[&[Claim]]| parts.concat();
        // One leaf that meets everything is the simplest.
        let together = joined(&[&demand.pick, &every, &some]);
        let single = self.leaves(&together, stands, level);
        if let Answer::Found(leaf) = &single {
            return filled(vec![leaf.clone()], &numbers);
        }
        if most == 1 || some.is_empty() {
            return match single {
                Answer::Unknown => Answer::Unknown,
                _ => Answer::Empty,
            };
        }
        let mut bag = Vec::new();
        let mut unknown = false;
        let first = joined(&[&demand.pick, &every]);
        match self.leaves(&first, stands, level) {
            Answer::Found(leaf) => bag.push(leaf),
            Answer::Empty => return Answer::Empty,
            Answer::Unknown => unknown = true,
        }
        for one in &some {
            let mut met = false;
            for leaf in &bag {
                let holds = self.outcome(one.0, leaf);
                met |= holds.is_some_and(|outcome| outcome.in_mode(one.1) == one.2);
            }
            if met {
                continue;
            }
            let asked = joined(&[&every, &[*one]]);
            match self.leaves(&asked, stands, level) {
                Answer::Found(leaf) => bag.push(leaf),
                Answer::Empty => return Answer::Empty,
                Answer::Unknown => unknown = true,
            }
        }
        if unknown {
            return Answer::Unknown;
        }
        filled(bag, &numbers)
    }

    /// The numbers that meet claims about a count, as far as they need to be told apart;
    /// `None` if that cannot be said.
    pub(super) fn counts(&self, claims: &[Claim]) -> Option<Vec<u64>> {
        if claims.is_empty() {
            return Some((0..8).chain([MOST_LEAVES]).collect());
        }
        let mut candidates: Vec<u64> = (0..8).collect();
        for (id, _, _) in claims {
            let text = match &self.facts.get(*id)?.op {
                Op::Compare(_, text) | Op::Equals(Scalar::Number(text)) => text,
                _ => return None,
            };
            let value = text.parse::<f64>().ok()?;
            if (0.0..1e9).contains(&value) {
                let whole = value.floor() as u64;
                candidates.extend([whole.saturating_sub(1), whole, whole + 1, whole + 2]);
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|count| {
            claims.iter().all(|(id, mode, holds)| {
                self.facts
                    .get(*id)
                    .is_some_and(|fact| counted(&fact.op, *count, *mode) == *holds)
            })
        });
        Some(candidates)
    }
}

/// The bag with as many leaves as it has to have.
fn filled(mut bag: Bag, numbers: &[u64]) -> Answer<Bag> {
    let enough = |count: &&u64| **count >= bag.len() as u64 && **count > 0;
    let Some(count) = numbers.iter().find(enough).copied() else {
        // Fewer leaves might do if each met more: not tried.
        return Answer::Unknown;
    };
    if count > MOST_LEAVES {
        return Answer::Unknown;
    }
    if let Some(first) = bag.first().cloned() {
        bag.resize(count as usize, first);
    }
    Answer::Found(bag)
}
