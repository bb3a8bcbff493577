//! Leaves for all paths of a call at once, where paths overlap: what is written at one path is
//! seen at others, and has to meet what is asked there.

use super::Searcher;
use crate::bag::{Around, Bag, Demand};
use crate::facts::{Claim, Facts, Look};
use crate::leaf::Leaf;
use crate::overlap::{Overlaps, Seen};
use crate::theory::Answer;
use bouncer_compiler::lower::Mode;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Leaves by path.
pub(in crate::search) type Bags = BTreeMap<u32, Bag>;

/// The leaves that are seen at each path, from those that are written at each.
fn gathered(own: &Bags, overlaps: &Overlaps) -> Bags {
    let mut seen = own.clone();
    for (path, bag) in own {
        for (upper, how) in overlaps.above(*path) {
            let there = seen.entry(*upper).or_default();
            there.extend(bag.iter().map(|leaf| Leaf {
                through: leaf.through || *how == Seen::Inside,
                ..leaf.clone()
            }));
        }
    }
    seen
}

impl Searcher<'_> {
    /// Leaves for all paths that meet what is asked of each: those that are written at each
    /// path, and those that are seen there.
    pub(super) fn leaves(&mut self, demands: &BTreeMap<u32, Demand>) -> Answer<(Bags, Bags)> {
        let overlaps = self.theory.facts.overlaps();
        let mut order: Vec<u32> = demands.keys().copied().collect();
        // What is deeper is seen by what is not.
        order.sort_by_key(|path| Reverse(self.theory.facts.path(*path).len()));
        let mut own = Bags::new();
        let mut unknown = false;
        for path in &order {
            match self.own(*path, demands, &own, &overlaps, false) {
                Answer::Found(bag) if bag.is_empty() => {}
                Answer::Found(bag) => {
                    own.insert(*path, bag);
                }
                Answer::Empty => return Answer::Empty,
                Answer::Unknown => unknown = true,
            }
        }
        if unknown {
            return Answer::Unknown;
        }
        let mut seen = gathered(&own, &overlaps);
        for path in &order {
            let Some(demand) = demands.get(path) else {
                continue;
            };
            if self.is_met(demand, &mut seen, *path) {
                continue;
            }
            // What is seen from elsewhere does not do: one of its own may.
            if own.contains_key(path) {
                return Answer::Unknown;
            }
            match self.own(*path, demands, &own, &overlaps, true) {
                Answer::Found(bag) => {
                    own.insert(*path, bag);
                }
                // What no leaf here meets, none that is seen here does.
                Answer::Empty if demand.count.is_empty() => return Answer::Empty,
                Answer::Empty => return Answer::Unknown,
                Answer::Unknown => return Answer::Unknown,
            }
            seen = gathered(&own, &overlaps);
        }
        let all_met = order.iter().all(|path| {
            let demand = demands.get(path);
            demand.is_none_or(|demand| self.is_met(demand, &mut seen, *path))
        });
        if all_met {
            Answer::Found((own, seen))
        } else {
            Answer::Unknown
        }
    }

    /// The leaves that are written at one path.
    fn own(
        &mut self,
        path: u32,
        demands: &BTreeMap<u32, Demand>,
        own: &Bags,
        overlaps: &Overlaps,
        forced: bool,
    ) -> Answer<Bag> {
        let Some(demand) = demands.get(&path) else {
            return Answer::Found(Vec::new());
        };
        let besides = own
            .iter()
            .filter(|(lower, _)| {
                overlaps
                    .above(**lower)
                    .iter()
                    .any(|(upper, _)| *upper == path)
            })
            .map(|(_, bag)| bag.len() as u64)
            .sum();
        let mut around = Around {
            besides,
            forced,
            stands: overlaps.stands(path),
            ..Around::default()
        };
        for (upper, seen) in overlaps.above(path) {
            let Some(upper) = demands.get(upper) else {
                continue;
            };
            around.forbidden |= upper.absent;
            for claim in upper.every() {
                match project(&mut self.theory.facts, claim, *seen, path) {
                    Projected::Claim(claim) => around.every.push(claim),
                    Projected::Nothing => {}
                    Projected::Impossible => around.forbidden = true,
                }
            }
        }
        self.theory.bag(demand, &around, self.level)
    }

    /// Whether the leaves that are seen at a path meet what is asked of them. Brings one to
    /// the front that may be picked.
    fn is_met(&mut self, demand: &Demand, seen: &mut Bags, path: u32) -> bool {
        let mut bag = seen.remove(&path).unwrap_or_default();
        let met = self.meets(demand, &mut bag) == Some(true);
        if !bag.is_empty() {
            seen.insert(path, bag);
        }
        met
    }

    fn meets(&mut self, demand: &Demand, bag: &mut Bag) -> Option<bool> {
        let count = bag.len() as u64;
        for (fact, mode, holds) in &demand.count {
            if self.count(*fact, *mode, count)? != *holds {
                return Some(false);
            }
        }
        if demand.absent && count > 0 {
            return Some(false);
        }
        let holds = |searcher: &mut Self, claim: &Claim, leaf: &Leaf| {
            let outcome = searcher.theory.outcome(claim.0, leaf)?;
            Some(outcome.in_mode(claim.1) == claim.2)
        };
        for claim in &demand.each {
            for leaf in bag.iter() {
                if !holds(self, claim, leaf)? {
                    return Some(false);
                }
            }
        }
        for claim in &demand.some {
            let mut any = false;
            for leaf in bag.iter() {
                any |= holds(self, claim, leaf)?;
            }
            if !any {
                return Some(false);
            }
        }
        for (fact, mode, all, wanted) in &demand.bag {
            let mut hits = 0;
            for leaf in bag.iter() {
                hits += u64::from(self.theory.outcome(*fact, leaf)?.in_mode(*mode));
            }
            if (hits > 0 && (!all || hits == count)) != *wanted {
                return Some(false);
            }
        }
        if bag.is_empty() {
            return Some(demand.pick.iter().all(|(_, _, holds)| !holds));
        }
        for at in 0..bag.len() {
            let Some(leaf) = bag.get(at).cloned() else {
                break;
            };
            let mut fits = true;
            for claim in &demand.pick {
                fits &= holds(self, claim, &leaf)?;
            }
            if fits {
                bag.swap(0, at);
                return Some(true);
            }
        }
        Some(false)
    }
}

/// What a claim about every value of a path says of a value that is seen there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Projected {
    /// The same, of the value at its own path.
    Claim(Claim),
    /// Nothing: it holds of all such values.
    Nothing,
    /// That it may not be there.
    Impossible,
}

/// Projects a claim about values of one path to those of another.
fn project(facts: &mut Facts, claim: Claim, seen: Seen, path: u32) -> Projected {
    let (id, mode, holds) = claim;
    let Some(look) = facts.get(id).map(|fact| fact.look) else {
        return Projected::Nothing;
    };
    if seen == Seen::Inside {
        // Reached through an object a value satisfies no test that lets through and
        // no constraint.
        let settled = match (look, mode) {
            (Look::Trusted | Look::Tainted, _) => None,
            (Look::Raw, _) | (_, Mode::Plain) => Some(false),
            (_, Mode::Maybe) => Some(true),
            (_, Mode::Any | Mode::All) => None,
        };
        match settled {
            Some(settled) if settled == holds => return Projected::Nothing,
            Some(_) => return Projected::Impossible,
            None => {}
        }
    }
    Projected::Claim((facts.moved(id, path), mode, holds))
}
