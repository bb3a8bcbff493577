//! Which rule decides: first match over every pick of one leaf per path.
//!
//! The walk leaves a *signature* per distinct leaf: the atoms it raises. Paths with one
//! signature contribute it to every pick; the others are combined. Rows count the
//! atoms they require and are ruled out by those they exclude, so a pick costs what it
//! raises, not what the policy holds.

use super::raised::{Raised, Signature};
use bouncer_plan::Verdict;
use bouncer_plan::format::NONE;
use bouncer_plan::{Corrupt, Tables, at, slice};

/// Distinct picks that are tried one by one. A call with more is judged by the
/// strictest rule that any of them could reach.
const MAX_PICKS: usize = 4096;

/// Working memory of the rows.
#[derive(Debug)]
pub(super) struct RowScratch {
    states: RowStates,
    /// Runs of signatures with the same path, and the current choice.
    choices: Vec<Choice>,
}

/// What the current pick did to all rows.
#[derive(Debug)]
struct RowStates {
    /// By row.
    states: Vec<RowState>,
    /// The number of the current pick.
    epoch: u32,
    /// Rows that have all the atoms they require.
    satisfied: Vec<u32>,
    /// By atom: the epoch that last saw it.
    atoms: Vec<u32>,
}

impl RowScratch {
    /// Room for everything that the plan can ask for.
    pub fn new(tables: &Tables<'_>) -> Self {
        Self {
            states: RowStates {
                states: vec![RowState::default(); tables.rows.len()],
                epoch: 0,
                satisfied: Vec::with_capacity(tables.rows.len()),
                atoms: vec![0; tables.atoms.len()],
            },
            choices: Vec::with_capacity(tables.paths.len()),
        }
    }
}

/// What the current pick did to a row. Stale unless the epoch is current.
#[derive(Clone, Copy, Debug, Default)]
struct RowState {
    epoch: u32,
    raised: u32,
    dead: bool,
}

/// The signatures of one path, and which of them the current pick takes.
#[derive(Clone, Copy, Debug)]
struct Choice {
    start: u32,
    end: u32,
    current: u32,
}

impl RowStates {
    /// Makes all states stale: another pick is tried.
    fn begin(&mut self) {
        self.satisfied.clear();
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.states.fill(RowState::default());
            self.atoms.fill(0);
            self.epoch = 1;
        }
    }
}

/// What the rule stage says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleVerdict {
    pub verdict: Verdict,
    /// The deciding rule; [`NONE`] for the default.
    pub rule: u32,
    /// There were more picks than are tried: the verdict is the strictest that any
    /// could reach.
    pub bounded: bool,
}

/// Judges all picks. `fallback` is the verdict where no rule matches.
pub(super) fn judge(
    tables: &Tables<'_>,
    groups: &[u32],
    raised: &mut Raised,
    rows: &mut RowScratch,
    fallback: Verdict,
) -> Result<RuleVerdict, Corrupt> {
    let Raised {
        events,
        signatures,
        repeated,
    } = raised;
    let RowScratch { states, choices } = rows;
    if !*repeated {
        // One signature a path: there is one pick, and its order does not matter.
        states.begin();
        let picked = signatures.iter().map(Ok);
        return first_match(tables, groups, picked, events, states, fallback);
    }
    let run = |signature: &Signature| {
        events
            .get(signature.start as usize..signature.end as usize)
            .unwrap_or_default()
    };
    signatures.sort_unstable_by(|a, b| a.path.cmp(&b.path).then_with(|| run(a).cmp(run(b))));
    signatures.dedup_by(|a, b| a.path == b.path && run(a) == run(b));
    choices.clear();
    let mut picks: usize = 1;
    let mut start = 0;
    while let Some(first) = signatures.get(start) {
        let length = signatures
            .iter()
            .skip(start)
            .take_while(|s| s.path == first.path)
            .count();
        let end = start + length;
        choices.push(Choice {
            start: start as u32,
            end: end as u32,
            current: start as u32,
        });
        picks = picks.saturating_mul(length);
        start = end;
    }
    if picks > MAX_PICKS {
        return strictest_reachable(tables, groups, signatures, events, states, fallback);
    }
    let mut best: Option<RuleVerdict> = None;
    loop {
        states.begin();
        let picked = choices.iter().map(|choice| at(signatures, choice.current));
        let found = first_match(tables, groups, picked, events, states, fallback)?;
        let better = best.is_none_or(|best| {
            found.verdict > best.verdict
                || (found.verdict == best.verdict && found.rule < best.rule)
        });
        if better {
            best = Some(found);
        }
        if !next_pick(choices) {
            break;
        }
    }
    best.ok_or(Corrupt)
}

/// Advances to the next pick, the last path fastest. `false` after the last one.
fn next_pick(choices: &mut [Choice]) -> bool {
    for choice in choices.iter_mut().rev() {
        choice.current += 1;
        if choice.current < choice.end {
            return true;
        }
        choice.current = choice.start;
    }
    false
}

/// The first row that a pick satisfies: the signatures that it picks, one a path. The rows'
/// states have to be stale.
fn first_match<'s>(
    tables: &Tables<'_>,
    groups: &[u32],
    picked: impl Iterator<Item = Result<&'s Signature, Corrupt>>,
    events: &[u32],
    rows: &mut RowStates,
    fallback: Verdict,
) -> Result<RuleVerdict, Corrupt> {
    let RowStates {
        states,
        epoch,
        satisfied,
        ..
    } = rows;
    for signature in picked {
        let signature = signature?;
        let run = events
            .get(signature.start as usize..signature.end as usize)
            .ok_or(Corrupt)?;
        for &atom in run {
            raise(tables, atom, states, *epoch, satisfied)?;
            for row in slice(tables.lists, &at(tables.atoms, atom)?.kills)? {
                state(states, *epoch, row.get())?.dead = true;
            }
        }
    }
    let mut rule = NONE;
    let alive = |row: u32| {
        states
            .get(row as usize)
            .is_some_and(|state| state.epoch != *epoch || !state.dead)
    };
    for &row in satisfied.iter() {
        if alive(row) {
            rule = rule.min(at(tables.rows, row)?.rule.get());
        }
    }
    for &group in groups {
        for row in slice(tables.lists, &at(tables.groups, group)?.free_rows)? {
            let candidate = at(tables.rows, row.get())?.rule.get();
            if candidate >= rule {
                break;
            }
            if alive(row.get()) {
                rule = candidate;
                break;
            }
        }
    }
    let verdict = if rule == NONE {
        fallback
    } else {
        action(tables, rule)?
    };
    Ok(RuleVerdict {
        verdict,
        rule,
        bounded: false,
    })
}

fn state(states: &mut [RowState], epoch: u32, row: u32) -> Result<&mut RowState, Corrupt> {
    let state = states.get_mut(row as usize).ok_or(Corrupt)?;
    if state.epoch != epoch {
        *state = RowState {
            epoch,
            raised: 0,
            dead: false,
        };
    }
    Ok(state)
}

/// Counts an atom for the rows that require it, and notes those that have them all now.
fn raise(
    tables: &Tables<'_>,
    atom: u32,
    states: &mut [RowState],
    epoch: u32,
    satisfied: &mut Vec<u32>,
) -> Result<(), Corrupt> {
    for row in slice(tables.lists, &at(tables.atoms, atom)?.requires)? {
        let state = state(states, epoch, row.get())?;
        state.raised += 1;
        if state.raised == at(tables.rows, row.get())?.need.get() {
            satisfied.push(row.get());
        }
    }
    Ok(())
}

fn action(tables: &Tables<'_>, rule: u32) -> Result<Verdict, Corrupt> {
    Ok(at(tables.rules, rule)?.action)
}

/// An upper bound for a call with too many picks: the strictest of the default and of
/// all rows whose requirements are each raised by some leaf.
fn strictest_reachable(
    tables: &Tables<'_>,
    groups: &[u32],
    signatures: &[Signature],
    events: &[u32],
    rows: &mut RowStates,
    fallback: Verdict,
) -> Result<RuleVerdict, Corrupt> {
    rows.begin();
    let RowStates {
        states,
        epoch,
        satisfied,
        atoms,
    } = rows;
    for signature in signatures {
        let run = events
            .get(signature.start as usize..signature.end as usize)
            .ok_or(Corrupt)?;
        for &atom in run {
            // An atom may be raised by several leaves of its path; it counts once.
            let stamp = atoms.get_mut(atom as usize).ok_or(Corrupt)?;
            if std::mem::replace(stamp, *epoch) == *epoch {
                continue;
            }
            raise(tables, atom, states, *epoch, satisfied)?;
        }
    }
    let mut best = RuleVerdict {
        verdict: fallback,
        rule: NONE,
        bounded: true,
    };
    let mut offer = |rule: u32| -> Result<(), Corrupt> {
        let verdict = action(tables, rule)?;
        if verdict > best.verdict || (verdict == best.verdict && rule < best.rule) {
            best = RuleVerdict {
                verdict,
                rule,
                bounded: true,
            };
        }
        Ok(())
    };
    for &row in satisfied.iter() {
        offer(at(tables.rows, row)?.rule.get())?;
    }
    for &group in groups {
        for row in slice(tables.lists, &at(tables.groups, group)?.free_rows)? {
            offer(at(tables.rows, row.get())?.rule.get())?;
        }
    }
    Ok(best)
}
