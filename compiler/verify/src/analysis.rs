//! What all proofs about one policy share: its rows, its judge, and the findings so far.

use super::facts::{Atom, Facts, Lit};
use super::model::Model;
use super::names::{Names, Universe};
use super::search::{Assignment, Avoid, Row, Searcher, Wanted, lifted};
use super::theory::{Answer, Level, Theory};
use super::{Example, Finding, Kind, ListedTool, Options, Place, Severity};
use bouncer_compiler::CompileError;
use bouncer_compiler::diagnostic::{self, Code};
use bouncer_compiler::policy::{Policy, Pos};
use bouncer_plan::Label;
use std::collections::BTreeSet;

/// Row combinations of one question that are tried.
pub(super) const MOST_ROWS: usize = 256;

/// One verification.
pub(super) struct Analysis<'p> {
    pub theory: Theory,
    pub names: Names,
    pub model: Model<'p>,
    pub findings: Vec<Finding>,
    /// Every pair of rules whose order decides is reported.
    pub all: bool,
    /// Pairs of rules that were looked at for it, and pairs that are not reported.
    pub orders: u32,
    pub folded: u32,
}

/// Rules that are too mild to settle what is asked, see [`Avoid`].
pub(super) type Mild<'f> = &'f dyn Fn(u32) -> bool;

/// Rules to be avoided, by number.
pub(super) type Which<'f> = &'f dyn Fn(u32) -> bool;

impl<'p> Analysis<'p> {
    pub fn new(
        policy: &'p Policy,
        tools: &'p [ListedTool],
        options: &Options,
    ) -> Result<Self, Vec<CompileError>> {
        let mut names = Names::new(&[policy], tools);
        let mut facts = Facts::of(&[policy]);
        let model = Model::new(policy, tools, &mut facts, &mut names)?;
        names.ask_gates(model.judge.gates());
        let mut theory = Theory::new(facts, options.budget);
        theory.expect(&[policy]);
        (theory.can_trust, theory.can_observe) = labels(policy);
        Ok(Self {
            theory,
            names,
            model,
            findings: Vec::new(),
            all: options.all,
            orders: 0,
            folded: 0,
        })
    }

    /// The tools that a rule with these globs is judged on.
    pub fn universe(&self, globs: &[u32]) -> Universe {
        if self.names.any_listed(globs) {
            Universe::Listed
        } else {
            Universe::Open
        }
    }

    /// A call of a tool that matches one glob of each list, in which one row of each list
    /// holds for one pick, and none of the rules to be avoided.
    pub fn seek(
        &mut self,
        globs: &[&[u32]],
        rows: &[&[Row]],
        which: Which<'_>,
        level: Level,
        universe: Universe,
        accept: &mut dyn FnMut(&mut Theory, &Assignment) -> bool,
    ) -> Answer<Assignment> {
        self.seek_lifted(globs, rows, (which, &|_| true), level, universe, accept)
    }

    /// The same, where rules may hold for no other pick of the call either, as far as no
    /// mild rule stands before them.
    pub fn seek_lifted(
        &mut self,
        globs: &[&[u32]],
        rows: &[&[Row]],
        (which, mild): (Which<'_>, Mild<'_>),
        level: Level,
        universe: Universe,
        accept: &mut dyn FnMut(&mut Theory, &Assignment) -> bool,
    ) -> Answer<Assignment> {
        let mut answer = Answer::Empty;
        let mut tried = 0;
        for glob in combinations(globs.iter().map(|list| list.len())) {
            for chosen in combinations(rows.iter().map(|list| list.len())) {
                tried += 1;
                if tried > MOST_ROWS {
                    return answer.or(|| Answer::Unknown);
                }
                let mut wanted = Wanted::default();
                let names = glob
                    .iter()
                    .zip(globs)
                    .filter_map(|(at, list)| list.get(*at));
                let mut fine = names
                    .map(|id| (Atom::Name(*id), true))
                    .all(|lit: Lit| wanted.add(&self.theory, lit));
                for (at, list) in chosen.iter().zip(rows) {
                    fine &= list
                        .get(*at)
                        .is_some_and(|row| wanted.add_row(&self.theory, row));
                }
                if !fine {
                    continue;
                }
                answer = answer.or(|| {
                    let mut searcher =
                        Searcher::new(&mut self.theory, &self.names, universe, level);
                    let rules = &mut self.model.rules;
                    searcher.find(wanted, &mut [Avoid { rules, which, mild }], accept)
                });
                if let Answer::Found(_) = answer {
                    return answer;
                }
            }
        }
        answer
    }

    /// The first rule that decides the pick of an assignment, among those of `which`.
    pub fn decider(&mut self, assignment: &Assignment, which: Which<'_>) -> Option<Option<u32>> {
        self.decider_lifted(assignment, which, &|_| true)
    }

    /// The same, where rules decide if they hold for any pick of the call, as far as no mild
    /// rule stands before them.
    pub fn decider_lifted(
        &mut self,
        assignment: &Assignment,
        which: Which<'_>,
        mild: Mild<'_>,
    ) -> Option<Option<u32>> {
        let applicable = self
            .model
            .rules
            .applicable(&self.names, &assignment.tool.full);
        let mut fixed: BTreeSet<u32> = BTreeSet::new();
        for rule in applicable.iter().copied() {
            let Some(rows) = self.model.rules.get(rule) else {
                continue;
            };
            if mild(rule) {
                fixed.extend(&rows.picked);
            }
            if !which(rule) {
                continue;
            }
            let mut searcher =
                Searcher::new(&mut self.theory, &self.names, Universe::Open, Level::All);
            for row in &rows.rows {
                let row = lifted(row, &fixed, &searcher.theory.facts);
                if searcher.holds(&row, assignment)? {
                    return Some(Some(rule));
                }
            }
        }
        Some(None)
    }

    /// Whether a rule decides the whole call, and not only the pick: no other pick is
    /// decided more strictly, or as strictly by an earlier rule.
    pub fn decides(&mut self, rule: u32, assignment: &Assignment) -> Option<bool> {
        let picks = assignment.picks(&self.theory.facts)?;
        if picks.len() == 1 {
            return Some(true);
        }
        let action = self.model.action(rule);
        let fallback = self.fallback(&assignment.tool);
        for pick in picks {
            let stricter = match self.decider(&pick, &|_| true)? {
                Some(by) => {
                    let other = self.model.action(by);
                    other > action || (other == action && by < rule)
                }
                None => fallback > action,
            };
            if stricter {
                return Some(false);
            }
        }
        Some(true)
    }

    pub fn push(
        &mut self,
        (code, kind): (Code, Kind),
        message: impl Into<String>,
        places: Vec<Place>,
        help: impl Into<String>,
        example: Option<Example>,
    ) {
        let help = help.into();
        self.findings.push(Finding {
            code,
            kind,
            severity: severity(code),
            message: message.into(),
            places,
            help: (!help.is_empty()).then_some(help),
            example,
        });
    }

    /// Reports something that the analysis gave up on.
    pub fn undecided(&mut self, what: &str, places: Vec<Place>) {
        let (why, help) = if self.theory.budget == 0 {
            (
                "the budget for the whole analysis is used up".to_owned(),
                "verify the files one by one",
            )
        } else if let Some(pattern) = self.theory.too_large() {
            (
                format!("the automaton of the pattern `{pattern}` is too large to reason about"),
                "make counted repeats smaller, or anchor the pattern",
            )
        } else if self.theory.facts.any_unsearched() {
            (
                "it depends on the names of arguments, or on where links and relative paths lead, and no search makes those up".to_owned(),
                "",
            )
        } else {
            (
                "too many tests meet on one value".to_owned(),
                "split the rule, or use lists instead of patterns",
            )
        };
        self.push(
            (Code::UNDECIDED, Kind::Undecided),
            format!("{what} was not decided: {why}"),
            places,
            help,
            None,
        );
        // Nothing is wrong with such a rule, and there is nothing to do about it.
        if help.is_empty()
            && let Some(last) = self.findings.last_mut()
        {
            last.severity = Severity::Note;
        }
    }
}

/// The severity of a code, as findings have it.
pub(super) fn severity(code: Code) -> Severity {
    match code.severity() {
        diagnostic::Severity::Error => Severity::Error,
        diagnostic::Severity::Warning => Severity::Warning,
        diagnostic::Severity::Note => Severity::Note,
    }
}

/// A place with something to say.
pub(super) fn place(at: Pos, label: impl Into<String>) -> Place {
    Place {
        at,
        label: label.into(),
    }
}

/// Whether some output of the policy's tools is trusted, or observed.
pub(super) fn labels(policy: &Policy) -> (bool, bool) {
    let has = |label: Label| {
        policy
            .contracts
            .iter()
            .filter_map(|contract| contract.outputs.as_ref())
            .any(|outputs| {
                outputs.label == label || outputs.fields.iter().any(|field| field.label == label)
            })
    };
    let heuristics = policy.heuristics.as_ref();
    let by_name = heuristics.is_some_and(|h| !h.labels.observed_words.is_empty());
    (has(Label::Trusted), has(Label::Observed) || by_name)
}

/// All ways of choosing one index below each of `sizes`, the last fastest.
pub(super) fn combinations(sizes: impl Iterator<Item = usize>) -> impl Iterator<Item = Vec<usize>> {
    let sizes: Vec<usize> = sizes.collect();
    let mut next = sizes
        .iter()
        .all(|size| *size > 0)
        .then(|| vec![0; sizes.len()]);
    std::iter::from_fn(move || {
        let current = next.take()?;
        let mut after = current.clone();
        for (at, size) in after.iter_mut().zip(&sizes).rev() {
            *at += 1;
            if *at < *size {
                next = Some(after);
                break;
            }
            *at = 0;
        }
        Some(current)
    })
}
