//! Rules that never decide, rules that change nothing, and rules whose order decides.
//!
//! All claims are about picks: a rule decides a pick if it is the first that matches. A
//! rule that decides no plainly written pick is reported; whether values in disguise can
//! still reach it is said with the finding.

use super::analysis::{Analysis, MOST_ROWS, Mild, Which, place};
use super::example::Judged;
use super::facts::Lit;
use super::model::of_condition;
use super::names::Universe;
use super::reach::{each_test, tested};
use super::search::{Assignment, Row};
use super::theory::{Answer, Level};
use super::{Example, Kind, Place};
use bouncer_compiler::diagnostic::Code;
use bouncer_compiler::policy::Pos;
use bouncer_plan::{Stage, Verdict};
use std::collections::BTreeMap;

/// Covering rules that one finding names.
const MOST_COVERING: usize = 12;

/// Pairs of rules whose order is looked at, and orders that are shown, unless all are asked
/// for.
const MOST_ORDERS: u32 = 2_000;
const MOST_SHOWN: usize = 20;

/// What a rule is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Decides(Assignment),
    Dead,
    Unknown,
}

const NOT_WRITTEN_PLAINLY: &str =
    "values inside objects, encoded values and look-alike letters were not ruled out";

impl Analysis<'_> {
    /// Everything about rules.
    pub fn rules(&mut self, told: &mut dyn FnMut(usize)) {
        let count = self.model.facts.len() as u32;
        let mut alive = Vec::new();
        for rule in 0..count {
            told(rule as usize);
            self.theory.ask();
            // What is about no tool that there is decides nothing, whatever it says.
            let globs = self.globs(rule);
            if !self.names.listed.is_empty() && !self.names.any_listed(&globs) {
                alive.push(false);
                continue;
            }
            let standing = self.standing(rule);
            match &standing {
                Standing::Decides(assignment) => {
                    self.tests(rule);
                    self.unfit_only(rule, assignment);
                    self.tautology(rule);
                    self.changes_nothing(rule, assignment);
                }
                Standing::Dead => {}
                Standing::Unknown => {
                    let at = self.model.place(rule, "this rule");
                    self.undecided("whether this rule ever decides", vec![at]);
                }
            }
            alive.push(matches!(standing, Standing::Decides(_)));
        }
        for rule in 0..count {
            told((count + rule) as usize);
            self.theory.ask();
            if alive.get(rule as usize) == Some(&true) {
                self.conflicts(rule);
            }
        }
        self.fold_orders();
    }

    /// Leaves out orders beyond those that anybody reads.
    fn fold_orders(&mut self) {
        if self.all {
            return;
        }
        let (mut shown, mut folded) = (0, 0);
        self.findings.retain(|finding| {
            let order = finding.code == Code::CONFLICT;
            shown += usize::from(order);
            let kept = !order || shown <= MOST_SHOWN;
            folded += u32::from(!kept);
            kept
        });
        self.folded += folded;
    }

    pub(super) fn globs(&self, rule: u32) -> Vec<u32> {
        self.model
            .rules
            .get(rule)
            .map_or_else(Vec::new, |rows| rows.globs.clone())
    }

    pub(super) fn rows(&self, rule: u32) -> Vec<Row> {
        self.model
            .rules
            .get(rule)
            .map_or_else(Vec::new, |rows| rows.rows.clone())
    }

    /// A pick that the rule matches and none of `which`.
    pub(super) fn seek_rule(
        &mut self,
        rule: u32,
        which: Which<'_>,
        level: Level,
    ) -> Answer<Assignment> {
        self.seek_decided(rule, which, &|_| true, level)
    }

    /// A pick that the rule matches and none of `which`, in a call of which no other pick
    /// does, as far as no mild rule decides it.
    fn seek_decided(
        &mut self,
        rule: u32,
        which: Which<'_>,
        mild: Mild<'_>,
        level: Level,
    ) -> Answer<Assignment> {
        let (globs, rows) = (self.globs(rule), self.rows(rule));
        let universe = self.universe(&globs);
        let avoid = (which, mild);
        self.seek_lifted(&[&globs], &[&rows], avoid, level, universe, &mut |_, _| {
            true
        })
    }

    /// Rules that are milder than a rule. What is not, and decides another pick of a call,
    /// decides the call.
    fn milder(&self, rule: u32) -> impl Fn(u32) -> bool + use<> {
        let action = self.model.action(rule);
        let actions: Vec<Verdict> = self.model.facts.iter().map(|facts| facts.action).collect();
        move |other| actions.get(other as usize).is_some_and(|a| *a < action)
    }

    /// A pick that both rules match and none of `which`.
    pub(super) fn seek_both(
        &mut self,
        first: u32,
        second: u32,
        which: Which<'_>,
    ) -> Answer<Assignment> {
        let (globs, rows) = (self.globs(first), self.rows(first));
        let (other_globs, other_rows) = (self.globs(second), self.rows(second));
        // A lock settles the question for the rules it knows tools for.
        let universe = match (self.universe(&globs), self.universe(&other_globs)) {
            (Universe::Open, Universe::Open) => Universe::Open,
            _ => Universe::Listed,
        };
        self.seek(
            &[&globs, &other_globs],
            &[&rows, &other_rows],
            which,
            Level::Plain,
            universe,
            &mut |_, _| true,
        )
    }

    /// Whether the rule decides anything. Reports it if it does not.
    fn standing(&mut self, rule: u32) -> Standing {
        let milder = self.milder(rule);
        let live = self.seek_decided(rule, &|other| other < rule, &milder, Level::Plain);
        if let Answer::Found(assignment) = live {
            return if self.decides(rule, &assignment) == Some(true)
                && self.is_confirmed(rule, &assignment)
            {
                Standing::Decides(assignment)
            } else {
                Standing::Unknown
            };
        }
        match self.seek_rule(rule, &|_| false, Level::Plain) {
            Answer::Empty => {
                self.vacuous(rule);
                Standing::Dead
            }
            Answer::Found(assignment) if live == Answer::Empty => {
                self.dead(rule, &assignment);
                Standing::Dead
            }
            _ => Standing::Unknown,
        }
    }

    /// Whether the plan agrees that the rule decides, or that a stage beside the rules does.
    fn is_confirmed(&mut self, rule: u32, assignment: &Assignment) -> bool {
        let (theory, judge) = (&self.theory, &mut self.model.judge);
        let agrees = |judged: &Judged| judged.rule == Some(rule) || judged.stage != Stage::Rule;
        judge.show(&theory.facts, assignment, &agrees).is_some()
    }

    /// Reports a rule that matches no plainly written call.
    fn vacuous(&mut self, rule: u32) {
        let hidden = self.seek_rule(rule, &|_| false, Level::All);
        let (note, example) = match &hidden {
            Answer::Empty => ("", None),
            Answer::Found(assignment) => (
                "; only a value in disguise, as in the example, does",
                self.shown(assignment),
            ),
            Answer::Unknown => ("; values in disguise were not ruled out", None),
        };
        let action = self.model.action(rule);
        let places = self.culprits(rule);
        self.push(
            (Code::NEVER, Kind::Vacuous),
            format!("no call satisfies the condition of this `{action}` rule{note}"),
            places,
            "correct the test, or remove the rule: it does nothing",
            example,
        );
    }

    /// The rule, and the tests that no call satisfies on their own.
    fn culprits(&mut self, rule: u32) -> Vec<Place> {
        let mut places = vec![self.model.place(rule, "never matches")];
        for (at, lit) in self.tests_of(rule) {
            if self.seek_row(rule, &vec![lit], Level::Plain) == Answer::Empty
                && !places.iter().any(|known| known.at == at)
            {
                places.push(place(at, "no value satisfies this"));
            }
        }
        if places.len() == 1 {
            for (at, _) in self.tests_of(rule).into_iter().take(MOST_COVERING) {
                if !places.iter().any(|known| known.at == at) {
                    places.push(place(at, "contradicts the others"));
                }
            }
        }
        places
    }

    fn tests_of(&self, rule: u32) -> Vec<(Pos, Lit)> {
        self.model
            .facts
            .get(rule as usize)
            .map_or_else(Vec::new, |facts| facts.tests.clone())
    }

    fn seek_row(&mut self, rule: u32, row: &Row, level: Level) -> Answer<Assignment> {
        let globs = self.globs(rule);
        let universe = self.universe(&globs);
        let rows = [row.clone()];
        self.seek(
            &[&globs],
            &[&rows],
            &|_| false,
            level,
            universe,
            &mut |_, _| true,
        )
    }

    /// Reports tests of a rule with alternatives that no call satisfies.
    fn tests(&mut self, rule: u32) {
        let rows = self.rows(rule);
        if rows.len() < 2 || rows.len() > MOST_ROWS {
            return;
        }
        let mut dead = Vec::new();
        for row in &rows {
            dead.push(self.seek_row(rule, row, Level::Plain) == Answer::Empty);
        }
        if !dead.contains(&true) {
            return;
        }
        let mut by_place: BTreeMap<Pos, bool> = BTreeMap::new();
        for (at, lit) in self.tests_of(rule) {
            let mut of_test = rows.iter().zip(&dead).filter(|(row, _)| row.contains(&lit));
            let vacuous = of_test.clone().count() > 0 && of_test.all(|(_, dead)| *dead);
            *by_place.entry(at).or_insert(true) &= vacuous;
        }
        for (at, vacuous) in by_place {
            if !vacuous {
                continue;
            }
            let rows: Vec<Row> = rows
                .iter()
                .zip(&dead)
                .filter(|(_, dead)| **dead)
                .map(|(row, _)| row.clone())
                .collect();
            let mut hidden = Answer::Empty;
            for row in &rows {
                hidden = hidden.or(|| self.seek_row(rule, row, Level::All));
            }
            let note = match hidden {
                Answer::Empty => "",
                _ => "; only values in disguise might",
            };
            let owner = self.model.place(rule, "in this rule");
            self.push(
                (Code::NEVER, Kind::Vacuous),
                format!("no call satisfies this test{note}"),
                vec![place(at, "never holds here"), owner],
                "correct the test, or remove it: the rule's other tests do all the work",
                None,
            );
        }
    }

    /// Reports a restrictive rule whose tests contradict each other: only what they cannot
    /// judge, such as a text where a number is compared, makes it match.
    fn unfit_only(&mut self, rule: u32, sample: &Assignment) {
        let action = self.model.action(rule);
        let written = self.model.policy.rules.as_ref();
        let Some(condition) = written.and_then(|set| set.rules.get(rule as usize)) else {
            return;
        };
        if action == Verdict::Allow {
            return;
        }
        // What stands anywhere in the arguments is reached through an object, so no rule that
        // lets through could read it; one that stops does.
        let mut anywhere = false;
        each_test(&condition.condition, &mut |test, _| {
            anywhere |= tested(test).is_some_and(|path| path.0.is_empty());
        });
        if anywhere {
            return;
        }
        // As a rule that lets through would read it.
        let read = of_condition(
            &condition.condition,
            condition.at,
            true,
            &mut self.theory.facts,
        );
        let Ok((rows, _)) = read else { return };
        let globs = self.globs(rule);
        let universe = self.universe(&globs);
        let fitting = self.seek(
            &[&globs],
            &[&rows],
            &|_| false,
            Level::Plain,
            universe,
            &mut |_, _| true,
        );
        if fitting != Answer::Empty {
            return;
        }
        let mut places = vec![self.model.place(rule, "hardly ever matches")];
        for (at, _) in self.tests_of(rule).into_iter().take(MOST_COVERING) {
            if !places.iter().any(|known| known.at == at) {
                places.push(place(at, "contradicts the others"));
            }
        }
        let example = self.shown(sample);
        self.push(
            (Code::NEVER, Kind::Vacuous),
            format!(
                "no value that its tests can judge satisfies the condition of this `{action}` rule"
            ),
            places,
            "correct the tests: as they are, only what they cannot judge is stopped, as in the example",
            example,
        );
    }

    /// Reports a condition that every call satisfies.
    fn tautology(&mut self, rule: u32) {
        let rows = self.rows(rule);
        if rows.iter().any(Vec::is_empty) {
            return;
        }
        let globs = self.globs(rule);
        let universe = self.universe(&globs);
        let misses = |analysis: &mut Self, level| {
            analysis.seek(
                &[&globs],
                &[&[Row::new()]],
                &|other| other == rule,
                level,
                universe,
                &mut |_, _| true,
            )
        };
        if misses(self, Level::Plain) != Answer::Empty {
            return;
        }
        let note = if misses(self, Level::All) == Answer::Empty {
            ""
        } else {
            " that is written plainly"
        };
        let action = self.model.action(rule);
        let mut places = vec![self.model.place(rule, "matches always")];
        for (at, _) in self.tests_of(rule).into_iter().take(MOST_COVERING) {
            if !places.iter().any(|known| known.at == at) {
                places.push(place(at, ""));
            }
        }
        let example = match self.seek_rule(rule, &|other| other < rule, Level::Plain) {
            Answer::Found(assignment) => self.shown(&assignment),
            _ => None,
        };
        self.push(
            (Code::ALWAYS, Kind::Vacuous),
            format!("every call{note} satisfies the condition of this `{action}` rule"),
            places,
            "leave the condition out if that is meant; `a != x or a != y` always holds: write `and`, or `not in [x, y]`",
            example,
        );
    }

    /// Reports a rule whose picks are all decided by earlier ones.
    fn dead(&mut self, rule: u32, sample: &Assignment) {
        let action = self.model.action(rule);
        let covering = self.covering(rule, sample);
        let other = covering
            .iter()
            .find(|(by, _)| self.model.action(*by) != action)
            .cloned();
        let milder = self.milder(rule);
        let exotic = self.seek_decided(rule, &|earlier| earlier < rule, &milder, Level::All);
        let (note, in_disguise) = match &exotic {
            Answer::Empty => (String::new(), None),
            Answer::Found(assignment) => (
                ", unless a value is in disguise".to_owned(),
                self.shown(assignment),
            ),
            Answer::Unknown => (String::new(), None),
        };
        let together = if covering.len() > 1 { " together" } else { "" };
        let by = match (covering.len(), &other) {
            (1, Some((by, _))) => format!("an earlier `{}` rule", self.model.action(*by)),
            (1, None) => format!("an earlier `{action}` rule"),
            _ => "earlier rules".to_owned(),
        };
        let shadowed = other.is_some();
        let witness = other.or_else(|| covering.first().cloned());
        let example = witness.and_then(|(by, assignment)| self.decided_by(&assignment, by));
        let mut places = vec![self.model.place(rule, "never decides")];
        for (by, _) in covering.iter().take(MOST_COVERING) {
            let label = format!("this `{}` rule decides first", self.model.action(*by));
            places.push(self.model.place(*by, label));
        }
        let (code, message, help) = if shadowed {
            (
                (Code::SHADOWED, Kind::Shadowed),
                format!(
                    "this `{action}` rule never decides: {by}{together} decide every call that it matches{note}"
                ),
                "move it in front of them, or narrow them; if it is not needed, remove it",
            )
        } else {
            (
                (Code::REDUNDANT, Kind::Redundant),
                format!(
                    "this `{action}` rule changes nothing: {by}{together} decide every call that it matches, with the same verdict{note}"
                ),
                "remove it",
            )
        };
        let message = if covering.len() == 1 {
            message.replacen(" decide every", " decides every", 1)
        } else {
            message
        };
        let help = match exotic {
            Answer::Unknown => format!(
                "{help}. Of every call that is written plainly this is proved; {NOT_WRITTEN_PLAINLY}"
            ),
            Answer::Found(_) => format!(
                "{help}. It still decides calls such as the example, where the value stands in an object or is encoded"
            ),
            Answer::Empty => help.to_owned(),
        };
        self.push(code, message, places, help, in_disguise.or(example));
    }

    /// Earlier rules that decide calls of a rule that decides none, each with such a call:
    /// enough to decide all of them, those of another verdict if there are any.
    fn covering(&mut self, rule: u32, sample: &Assignment) -> Vec<(u32, Assignment)> {
        let action = self.model.action(rule);
        let mut covering: Vec<(u32, Assignment)> = Vec::new();
        let mut next = Some(sample.clone());
        let milder = self.milder(rule);
        while let Some(assignment) = next.take() {
            let decider = self.decider_lifted(&assignment, &|other| other < rule, &milder);
            let Some(Some(by)) = decider else {
                break;
            };
            covering.push((by, assignment));
            let known: Vec<u32> = covering.iter().map(|(by, _)| *by).collect();
            if known.len() > 64 {
                break;
            }
            if let Answer::Found(more) =
                self.seek_decided(rule, &|other| known.contains(&other), &milder, Level::Plain)
            {
                next = Some(more);
            }
        }
        if covering
            .iter()
            .all(|(by, _)| self.model.action(*by) == action)
        {
            // A rule of another verdict may still take some of the calls first.
            for by in self.partners(rule) {
                if by >= rule || self.model.action(by) == action {
                    continue;
                }
                if let Answer::Found(more) = self.seek_both(rule, by, &|other| other < by) {
                    covering.push((by, more));
                    break;
                }
            }
        }
        covering.sort_by_key(|(by, _)| *by);
        covering
    }

    /// Rules that may match the same tools.
    pub(super) fn partners(&mut self, rule: u32) -> Vec<u32> {
        let globs = self.globs(rule);
        let mut tools: Vec<String> = Vec::new();
        for id in &globs {
            match self.names.get(*id) {
                Some(glob) if glob.is_exact() => tools.push(glob.pattern.clone()),
                _ => return (0..self.model.facts.len() as u32).collect(),
            }
        }
        let mut partners: Vec<u32> = Vec::new();
        for tool in tools {
            partners.extend(self.model.rules.applicable(&self.names, &tool).iter());
        }
        partners.sort_unstable();
        partners.dedup();
        partners
    }

    /// Whether a rule is plainly an exception to a later one: the later one is stricter, and
    /// about every call that this rule is about.
    fn is_exception(&mut self, rule: u32, later: u32) -> bool {
        let catches_all = self.rows(later).iter().any(Vec::is_empty);
        if catches_all {
            let (inner, outer) = (self.globs(rule), self.globs(later));
            let names = &self.names;
            let within = |id: &u32| {
                names.get(*id).is_some_and(|glob| {
                    outer.contains(id)
                        || outer
                            .iter()
                            .any(|outer| names.matches(*outer, &glob.pattern))
                })
            };
            if inner.iter().all(within) {
                return true;
            }
        }
        let reaches_beyond =
            self.seek_rule(rule, &|other| other < rule || other == later, Level::Plain);
        !matches!(reaches_beyond, Answer::Found(_))
    }

    /// Reports later rules of another verdict that match what this rule decides: where it is
    /// milder and no mere exception to them, or all of them.
    fn conflicts(&mut self, rule: u32) {
        let action = self.model.action(rule);
        for other in self.partners(rule) {
            if other <= rule || self.model.action(other) == action {
                continue;
            }
            let later = self.model.action(other);
            if !self.all {
                // What is stricter and comes first is how policies are written.
                let looked_at = action < later && self.orders < MOST_ORDERS;
                self.orders += u32::from(looked_at);
                if !looked_at || self.is_exception(rule, other) {
                    self.folded += 1;
                    continue;
                }
            }
            match self.seek_both(rule, other, &|earlier| earlier < rule) {
                Answer::Empty => {}
                Answer::Found(assignment) if self.decides(rule, &assignment) == Some(true) => {
                    let example = self.decided_by(&assignment, rule);
                    let places = vec![
                        self.model.place(rule, format!("decides: `{action}`")),
                        self.model.place(other, format!("would decide: `{later}`")),
                    ];
                    self.push(
                        (Code::CONFLICT, Kind::Conflict),
                        format!("a call can match this `{action}` rule and a later `{later}` rule: their order decides"),
                        places,
                        "fine if the earlier rule is the exception to the later one; else swap or narrow them",
                        example,
                    );
                }
                Answer::Found(_) | Answer::Unknown if !self.all => self.folded += 1,
                Answer::Found(_) | Answer::Unknown => {
                    let places = vec![
                        self.model.place(rule, "this rule"),
                        self.model.place(other, "and this one"),
                    ];
                    self.undecided("whether these rules overlap", places);
                }
            }
        }
    }

    /// An example call, as the gate judges it.
    fn shown(&mut self, assignment: &Assignment) -> Option<Example> {
        let (theory, judge) = (&self.theory, &mut self.model.judge);
        let shown = judge.show(&theory.facts, assignment, &|_| true);
        shown.map(|(example, _)| example)
    }

    /// An example call that a rule decides; a call that a stricter stage decides if there
    /// is none.
    pub(super) fn decided_by(&mut self, assignment: &Assignment, rule: u32) -> Option<Example> {
        let (theory, judge) = (&self.theory, &mut self.model.judge);
        let decided = judge.show(&theory.facts, assignment, &|judged| {
            judged.rule == Some(rule)
        });
        if let Some((example, _)) = decided {
            return Some(example);
        }
        self.shown(assignment)
    }
}
