//! Searching for a call that takes one way through each of several policies.

use super::analysis::{MOST_ROWS, combinations};
use super::facts::Atom;
use super::names::{Names, Universe};
use super::search::{Assignment, Avoid, Row, Rules, Searcher, Wanted};
use super::stages::{Bound, Way};
use super::theory::{Answer, Level, Theory};
use bouncer_plan::Verdict;

/// Which tools, and how they are to be found.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub must: Vec<u32>,
    pub not: Vec<u32>,
    pub universe: Universe,
}

/// A policy's rules, and the ways that the call has to take through them.
pub(super) struct Part<'m> {
    pub rules: &'m mut Rules,
    pub actions: &'m [Verdict],
    pub ways: Vec<Way>,
}

/// A call in `scope` in which one row of `condition` holds for the pick, and which takes
/// all ways of each part.
pub(super) fn along(
    theory: &mut Theory,
    names: &Names,
    scope: &Scope,
    level: Level,
    condition: &[Row],
    parts: &mut [Part<'_>],
    accept: &mut dyn FnMut(&mut Theory, &Assignment) -> bool,
) -> Answer<Assignment> {
    let by_rules: Vec<_> = parts
        .iter()
        .flat_map(|part| &part.ways)
        .filter_map(|way| way.rules.clone())
        .collect();
    let globs: Vec<Vec<u32>> = by_rules.iter().map(|rules| rules.globs.clone()).collect();
    let mut rows: Vec<&[Row]> = vec![condition];
    rows.extend(by_rules.iter().map(|rules| rules.rows.as_slice()));
    let mut answer = Answer::Empty;
    let mut tried = 0;
    // A scope may leave out a thousand names: they are gone through once.
    let mut of_scope = Wanted::default();
    let mut fits = true;
    for (ids, holds) in [(&scope.must, true), (&scope.not, false)] {
        for id in ids {
            fits &= of_scope.add(theory, (Atom::Name(*id), holds));
        }
    }
    // A rule that has to match does so by one of its globs.
    let choices = |list: &Vec<u32>| list.len().max(1);
    for glob in combinations(globs.iter().map(choices)) {
        for chosen in combinations(rows.iter().map(|list| list.len())) {
            tried += 1;
            if tried > MOST_ROWS {
                return answer.or(|| Answer::Unknown);
            }
            let mut wanted = of_scope.clone();
            let mut fine = fits;
            for (at, list) in glob.iter().zip(&globs) {
                if let Some(id) = list.get(*at) {
                    fine &= wanted.add(theory, (Atom::Name(*id), true));
                }
            }
            for (at, list) in chosen.iter().zip(&rows) {
                fine &= list.get(*at).is_some_and(|row| wanted.add_row(theory, row));
            }
            if !fine {
                continue;
            }
            for way in parts.iter().flat_map(|part| &part.ways) {
                way.ask(&mut wanted);
            }
            answer = answer.or(|| search(theory, names, scope, level, wanted, parts, accept));
            if let Answer::Found(_) = answer {
                return answer;
            }
        }
    }
    answer
}

fn search(
    theory: &mut Theory,
    names: &Names,
    scope: &Scope,
    level: Level,
    wanted: Wanted,
    parts: &mut [Part<'_>],
    accept: &mut dyn FnMut(&mut Theory, &Assignment) -> bool,
) -> Answer<Assignment> {
    // The closures have to live as long as the rules they choose from.
    let mut all: Vec<&mut Rules> = Vec::new();
    let mut which: Vec<Box<dyn Fn(u32) -> bool + '_>> = Vec::new();
    let mut mild: Vec<Box<dyn Fn(u32) -> bool + '_>> = Vec::new();
    for part in parts.iter_mut() {
        let (ways, actions) = (&part.ways, part.actions);
        let avoided = move |rule: u32| {
            let action = actions.get(rule as usize).copied().unwrap_or(Verdict::Deny);
            ways.iter()
                .filter_map(|way| way.rules.as_ref())
                .any(|rules| rule < rules.before && !rules.bound.holds(action))
        };
        all.push(&mut *part.rules);
        which.push(Box::new(avoided));
        // Every pick keeps an upper bound: what is stricter may decide none. Where there is
        // none, one pick is enough.
        let strict = move |rule: u32| {
            let action = actions.get(rule as usize).copied().unwrap_or(Verdict::Deny);
            ways.iter()
                .filter_map(|way| way.rules.as_ref())
                .any(|rules| matches!(rules.bound, Bound::AtMost(most) if action > most))
        };
        mild.push(Box::new(move |rule: u32| !strict(rule)));
    }
    let mut avoid: Vec<Avoid<'_>> = all
        .into_iter()
        .zip(&which)
        .zip(&mild)
        .map(|((rules, which), mild)| Avoid {
            rules,
            which: which.as_ref(),
            mild: mild.as_ref(),
        })
        .collect();
    Searcher::new(theory, names, scope.universe, level).find(wanted, &mut avoid, accept)
}
