//! Assertions: proved, or refuted with a call.
//!
//! An assertion that promises strictness (`never allow`, `always deny`, `always ask`) is
//! about every call that a `deny` rule with its condition would match. One that promises
//! that calls get through (`never deny`, `never ask`, `always allow`) is about every call
//! that an `allow` rule with its condition would let through: every way of picking
//! leaves satisfies it.

use super::analysis::{Analysis, place};
use super::example::{Judge, Judged, Written};
use super::facts::Atom;
use super::model::of_condition;
use super::names::{Glob, Names, Tool, Universe};
use super::search::{Assignment, Row, Searcher};
use super::stages::{Bound, Terms, ways};
use super::theory::{Answer, Level, Theory};
use super::unmodelled::{self, Known};
use super::ways::{Part, Scope, along};
use super::{Example, Kind, Place, Severity};
use bouncer_compiler::diagnostic::Code;
use bouncer_compiler::policy::{
    Assertion, Cond, Contract, EffectDefaults, Fallback, Policy, Pos, Property, Rule, RuleSet,
};
use bouncer_engine::tools::Heuristics;
use bouncer_plan::{Effect, Verdict};
use std::rc::Rc;

/// Tools that one question is asked about together.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub scope: Scope,
    /// The tool itself, or one like them.
    pub tool: Tool,
}

/// What is looked for in a context: a call that the rows describe, within the bounds.
#[derive(Clone, Copy)]
pub(super) struct Claimed<'c> {
    pub rows: &'c [Row],
    /// Every way of picking leaves satisfies one of the rows.
    pub of_every_pick: bool,
    pub bounds: &'c [Bound],
    /// What was read before: something untrusted, something private. `None`: whatever.
    pub read: Option<(bool, bool)>,
    /// The user, or a trusted record, may vouch for something.
    pub vouched: bool,
    /// What no call gets less than where no rule decides.
    pub floor: Verdict,
}

impl<'c> Claimed<'c> {
    /// What is looked for in any conversation.
    pub const fn anyhow(rows: &'c [Row], of_every_pick: bool, bounds: &'c [Bound]) -> Self {
        Self {
            rows,
            of_every_pick,
            bounds,
            read: None,
            vouched: true,
            floor: Verdict::Allow,
        }
    }
}

/// Says which calls an assertion is about: the plan of a policy that asks nothing else.
pub(super) struct Meant<'p> {
    judge: Judge<'p>,
    permissive: bool,
}

impl Meant<'_> {
    fn is_about(&mut self, tool: &Tool, call: &Written) -> bool {
        let verdict = self.judge.judge(tool, call).verdict;
        (verdict == Verdict::Allow) == self.permissive
    }
}

impl Analysis<'_> {
    /// Proves assertions. Returns how many hold.
    pub fn assertions(&mut self, assertions: &[Assertion], told: &mut dyn FnMut(usize)) -> u32 {
        let mut proved = 0;
        for (done, assertion) in assertions.iter().enumerate() {
            told(done);
            proved += u32::from(self.assertion(assertion));
        }
        proved
    }

    fn assertion(&mut self, assertion: &Assertion) -> bool {
        let property = &assertion.property;
        let at = assertion.at.unwrap_or_default();
        let places = |label: &str| -> Vec<Place> {
            assertion
                .at
                .map(|at| place(at, label))
                .into_iter()
                .collect()
        };
        let permissive = !promises_strictness(property);
        let rows = match &property.condition {
            None => vec![Row::new()],
            Some(condition) => {
                match of_condition(condition, at, permissive, &mut self.theory.facts) {
                    Ok((rows, _)) => rows,
                    Err(error) => {
                        self.undecided(&error.message, places("this assertion"));
                        return false;
                    }
                }
            }
        };
        self.theory.ask();
        let contexts = self.contexts(&Glob::of(&property.tools));
        let about_nothing = contexts.is_empty() || self.about_nothing(&contexts, &rows);
        if about_nothing {
            self.push(
                (Code::NEVER, Kind::Vacuous),
                format!("the assertion `{}` is about no call", assertion.text),
                places("holds only because there is no such call"),
                "correct the tool's pattern or the condition",
                None,
            );
            // Who asserts something wants it proved: of nothing everything holds.
            if let Some(finding) = self.findings.last_mut() {
                finding.severity = Severity::Error;
            }
            return false;
        }
        let probe = probe(self.model.policy, property, permissive);
        let mut meant = match Judge::new(&probe, self.model.judge.tools()) {
            Ok(judge) => Some(Meant { judge, permissive }),
            Err(_) => None,
        };
        let mut unknown = false;
        for level in [Level::Plain, Level::All] {
            unknown = false;
            for context in &contexts {
                for bounds in violations(property) {
                    let claim = Claimed::anyhow(&rows, permissive, &bounds);
                    let mut answer = self.violated(context, &claim, level, meant.as_mut());
                    // Another leaf of the same list may decide than the one that is meant.
                    let other_leaf = answer == Answer::Empty
                        && !permissive
                        && matches!(bounds.as_slice(), [Bound::AtLeast(_)]);
                    if other_leaf {
                        let every = [Row::new()];
                        let claim = Claimed::anyhow(&every, false, &bounds);
                        answer = self.violated(context, &claim, level, meant.as_mut());
                    }
                    match answer {
                        Answer::Found((example, decided)) => {
                            self.refuted(assertion, example, decided);
                            return false;
                        }
                        Answer::Empty => {}
                        Answer::Unknown => unknown = true,
                    }
                }
            }
        }
        if unknown {
            let what = format!("whether `{}` holds", assertion.text);
            if self.theory.budget > 0 && self.theory.too_large().is_none() {
                self.push(
                    (Code::UNDECIDED, Kind::Undecided),
                    format!("{what} was not decided: no call was found that refutes it, but values in disguise or several lists at once were not ruled out"),
                    places("neither proved nor refuted"),
                    "where an `allow` rule lets arguments through by a pattern, a list of whole values is easier to prove",
                    None,
                );
            } else {
                self.undecided(&what, places("neither proved nor refuted"));
            }
        }
        !unknown
    }

    fn refuted(&mut self, assertion: &Assertion, example: Example, decided: Option<Pos>) {
        let verdict = example.verdict;
        let mut places: Vec<Place> = assertion
            .at
            .map(|at| place(at, "does not hold"))
            .into_iter()
            .collect();
        if let Some(at) = decided {
            places.push(place(at, format!("decides the example: `{verdict}`")));
        }
        self.push(
            (Code::ASSERTION, Kind::Assertion),
            format!("the assertion `{}` does not hold", assertion.text),
            places,
            "change the rules so that the example is judged as asserted, or correct the assertion",
            Some(example),
        );
    }

    /// Whether no call at all is meant.
    fn about_nothing(&mut self, contexts: &[Context], rows: &[Row]) -> bool {
        for context in contexts {
            let Analysis { theory, names, .. } = self;
            let found = along(
                theory,
                names,
                &context.scope,
                Level::All,
                rows,
                &mut [],
                &mut |_, _| true,
            );
            if found != Answer::Empty {
                return false;
            }
        }
        true
    }

    /// A call in the context that keeps all bounds, as the gate judges it.
    pub(super) fn violated(
        &mut self,
        context: &Context,
        claim: &Claimed<'_>,
        level: Level,
        mut meant: Option<&mut Meant<'_>>,
    ) -> Answer<(Example, Option<Pos>)> {
        let Claimed {
            rows,
            of_every_pick,
            bounds,
            read,
            vouched,
            floor,
        } = *claim;
        if self.is_stopped(context, rows, bounds) {
            return Answer::Empty;
        }
        let known = self.known(context);
        let guessed = unmodelled::is_guessed(self.model.policy, &context.tool, known);
        // What only a name suggests is not counted on.
        let terms = if guessed {
            Terms::guessed(self.model.policy)
        } else {
            self.terms(context)
        };
        let sure = self.fallback(&context.tool);
        let (least, most) = match read {
            None => unmodelled::fallbacks(self.model.policy, &context.tool, sure, known),
            // In a picture no tool calls itself destructive that no lock lists.
            Some(_) => (sure, sure),
        };
        let applicable = self.applicable(context);
        let choices: Vec<Vec<_>> = bounds
            .iter()
            .map(|bound| {
                let fallback = match bound {
                    Bound::AtMost(_) => least.max(floor),
                    Bound::AtLeast(_) | Bound::Never => most,
                };
                let layer = terms.layer_after(read);
                ways(
                    &mut self.model,
                    &terms,
                    layer,
                    fallback,
                    &applicable,
                    *bound,
                )
            })
            .collect();
        let mut answer = if self.may_be_missed(context, known, &terms, rows, bounds) {
            Answer::Unknown
        } else {
            Answer::Empty
        };
        for chosen in super::analysis::combinations(choices.iter().map(Vec::len)) {
            let ways = chosen
                .iter()
                .zip(&choices)
                .filter_map(|(at, list)| list.get(*at).cloned());
            let Analysis {
                theory,
                names,
                model,
                ..
            } = self;
            let actions = Rc::clone(&model.actions);
            let mut part = [Part {
                rules: &mut model.rules,
                actions: &actions,
                ways: ways.collect(),
            }];
            let judge = &mut model.judge;
            let mut shown = None;
            let found = along(
                theory,
                names,
                &context.scope,
                level,
                rows,
                &mut part,
                &mut |theory, assignment| {
                    if of_every_pick && !holds_for_every_pick(theory, names, assignment, rows) {
                        return false;
                    }
                    let kept = |judged: &Judged| {
                        bounds.iter().all(|bound| bound.holds(judged.verdict))
                            && read.is_none_or(|read| judged.read == read)
                    };
                    let mut calls = judge.write(&theory.facts, assignment).unwrap_or_default();
                    if terms.layer() > Verdict::Allow {
                        calls.extend(judge.variants(&calls));
                    }
                    calls.retain(|call| vouched || call.typed.is_empty());
                    shown = judge.among(&assignment.tool, &calls, &kept, &mut |tool, call| {
                        let meant = meant.as_mut();
                        meant.is_none_or(|meant| meant.is_about(tool, call))
                    });
                    shown.is_some()
                },
            );
            match (found, shown) {
                (Answer::Found(_), Some((example, judged))) => {
                    return Answer::Found((example, judged.at));
                }
                (Answer::Empty, _) => {}
                _ => answer = Answer::Unknown,
            }
        }
        answer
    }

    /// Whether a rule stops every call that is meant, as it is written: it asks for no more
    /// than the condition does, and nothing milder comes before it.
    fn is_stopped(&mut self, context: &Context, rows: &[Row], bounds: &[Bound]) -> bool {
        let [Bound::AtMost(most)] = bounds else {
            return false;
        };
        let exact = context.scope.must.iter().any(|id| self.is_exact(*id));
        for rule in self.applicable(context) {
            if self.model.action(rule) <= *most {
                return false;
            }
            let Some(of_rule) = self.model.rules.get(rule) else {
                return false;
            };
            let all_tools = of_rule.globs.iter().any(|id| {
                context.scope.must.contains(id)
                    || (exact && self.names.matches(*id, &context.tool.full))
                    || self.names.get(*id).is_some_and(|glob| glob.pattern == "*")
            });
            let less = |row: &Row| {
                let mut of_rule = of_rule.rows.iter();
                of_rule.any(|less| less.iter().all(|lit| row.contains(lit)))
            };
            if all_tools && rows.iter().all(less) {
                return true;
            }
        }
        false
    }

    fn known(&self, context: &Context) -> Known {
        Known {
            listed: context.tool.listed.is_some(),
            pattern: !context.scope.must.iter().any(|id| self.is_exact(*id)),
        }
    }

    /// Whether calls with such verdicts could escape the search.
    fn may_be_missed(
        &self,
        context: &Context,
        known: Known,
        terms: &Terms,
        rows: &[Row],
        bounds: &[Bound],
    ) -> bool {
        let (policy, tool) = (self.model.policy, &context.tool);
        let at_least = bounds.iter().any(|bound| match bound {
            Bound::AtLeast(least) => *least > Verdict::Allow,
            Bound::AtMost(_) | Bound::Never => false,
        });
        let counts = rows
            .iter()
            .flatten()
            .any(|(atom, _)| matches!(atom, Atom::Calls(..)));
        unmodelled::is_ambiguous(policy, tool, known)
            || at_least
                && (unmodelled::is_guessed(policy, tool, known)
                    && unmodelled::may_be_forbidden(policy)
                    // What a call holds is judged too, and the stricter verdict counts.
                    || unmodelled::dispatches(policy, tool)
                    // An object without leaves satisfies no constraint.
                    || terms.is_constrained()
                    || counts && unmodelled::is_budgeted(policy, tool))
    }

    fn terms(&mut self, context: &Context) -> Terms {
        let definition = context
            .tool
            .listed
            .and_then(|place| self.model.judge.definition(place));
        let doing = self.names.doing(&context.tool);
        let doing = unmodelled::doing(self.model.policy, doing, self.known(context));
        Terms::of(
            self.model.policy,
            &context.tool,
            definition,
            &mut self.theory,
            doing,
        )
    }

    /// What holds for a tool where no rule matches.
    pub(super) fn fallback(&self, tool: &Tool) -> Verdict {
        let destructive = tool
            .listed
            .is_some_and(|place| self.model.judge.is_destructive(place));
        RuleSet::unmatched(self.model.policy.rules.as_ref(), &tool.full, destructive)
    }

    /// The rules that may match the tools of a context.
    fn applicable(&mut self, context: &Context) -> Vec<u32> {
        if context.scope.must.iter().any(|id| self.is_exact(*id)) {
            let full = &context.tool.full;
            return self.model.rules.applicable(&self.names, full).to_vec();
        }
        self.model.rules.by_pattern()
    }

    fn is_exact(&self, glob: u32) -> bool {
        self.names.get(glob).is_some_and(Glob::is_exact)
    }

    /// The tools that a glob means, as far as they have to be told apart.
    pub(super) fn contexts(&mut self, glob: &Glob) -> Vec<Context> {
        let listed: Vec<Tool> = self
            .names
            .listed
            .iter()
            .filter(|tool| glob.matches(&tool.full))
            .cloned()
            .collect();
        let by_name = |analysis: &mut Self, tool: Tool, universe| {
            let exact = analysis.names.exactly(&tool.full);
            Context {
                scope: Scope {
                    must: vec![exact],
                    not: Vec::new(),
                    universe,
                },
                tool,
            }
        };
        if !listed.is_empty() {
            return listed
                .into_iter()
                .map(|tool| by_name(self, tool, Universe::Listed))
                .collect();
        }
        let mentioned: Vec<Tool> = self.names.mentioned().to_vec();
        let (inside, _): (Vec<Tool>, Vec<Tool>) = mentioned
            .into_iter()
            .partition(|tool| glob.matches(&tool.full));
        let not: Vec<u32> = inside
            .iter()
            .map(|tool| self.names.exactly(&tool.full))
            .collect();
        let mut contexts: Vec<Context> = inside
            .into_iter()
            .map(|tool| by_name(self, tool, Universe::Open))
            .collect();
        let id = self.names.glob(glob.clone());
        let mut not = not;
        if !self.is_exact(id) {
            // A contract may apply whatever the server is: each is a case of its own.
            for key in unmodelled::of_any_server([self.model.policy]) {
                let key = self.names.glob(key);
                let found = self
                    .names
                    .find(&mut self.theory, &[id, key], &not, Universe::Open);
                if let Answer::Found(tool) = found {
                    let must = vec![id, key];
                    let scope = Scope {
                        must,
                        not: not.clone(),
                        universe: Universe::Open,
                    };
                    contexts.push(Context { scope, tool });
                    not.push(key);
                }
            }
        }
        if !self.is_exact(id)
            && let Answer::Found(tool) =
                self.names
                    .find(&mut self.theory, &[id], &not, Universe::Open)
        {
            contexts.push(Context {
                scope: Scope {
                    must: vec![id],
                    not,
                    universe: Universe::Open,
                },
                tool,
            });
        } else if contexts.is_empty() && self.is_exact(id) {
            contexts.push(by_name(self, Tool::of_full(&glob.pattern), Universe::Open));
        }
        contexts
    }
}

/// A policy of one rule: what it says of a call tells whether an assertion is about it. What
/// tools return and do stays as it is.
fn probe(policy: &Policy, property: &Property, permissive: bool) -> Policy {
    let (action, otherwise) = if permissive {
        (Verdict::Allow, Verdict::Deny)
    } else {
        (Verdict::Deny, Verdict::Allow)
    };
    let fallback = Fallback {
        action: otherwise,
        at: None,
    };
    let contracts = policy.contracts.iter().map(|contract| Contract {
        exfiltrating: false,
        write_params: Vec::new(),
        arg_patterns: Vec::new(),
        confirm: false,
        max_calls: None,
        rates: Vec::new(),
        dispatches: None,
        decides: true,
        ..contract.clone()
    });
    let heuristics = policy.heuristics.clone().map(|heuristics| Heuristics {
        destructive_max_calls: None,
        ..heuristics
    });
    let silent = Effect::ALL.map(|_| Verdict::Allow);
    Policy {
        files: policy.files.clone(),
        contracts: contracts.collect(),
        heuristics,
        effects: EffectDefaults {
            on_effect: silent,
            after_untrusted: silent,
            me: Vec::new(),
        },
        rules: Some(RuleSet {
            rules: vec![Rule {
                tools: vec![property.tools.clone()],
                condition: property.condition.clone().unwrap_or(Cond::All(Vec::new())),
                action,
                reason: None,
                at: Pos::default(),
            }],
            on_destructive_hint: fallback,
            on_unknown: fallback,
        }),
        ..Policy::default()
    }
}

/// Whether one of the rows holds for every way of picking leaves.
fn holds_for_every_pick(
    theory: &mut Theory,
    names: &Names,
    assignment: &Assignment,
    rows: &[Row],
) -> bool {
    let Some(picks) = assignment.picks(&theory.facts) else {
        return false;
    };
    let mut searcher = Searcher::new(theory, names, Universe::Open, Level::All);
    picks.iter().all(|pick| {
        rows.iter()
            .any(|row| searcher.holds(row, pick) == Some(true))
    })
}

/// Whether an assertion promises that calls are stopped, rather than that they get through.
const fn promises_strictness(property: &Property) -> bool {
    matches!(
        (property.always, property.verdict),
        (false, Verdict::Allow) | (true, Verdict::Deny | Verdict::Ask)
    )
}

/// The verdicts that refute an assertion: any of these sets of bounds.
fn violations(property: &Property) -> Vec<Vec<Bound>> {
    use Bound::{AtLeast, AtMost};
    match (property.always, property.verdict) {
        (false, Verdict::Allow) => vec![vec![AtMost(Verdict::Allow)]],
        (false, Verdict::Ask) => vec![vec![AtMost(Verdict::Ask), AtLeast(Verdict::Ask)]],
        (false, Verdict::Deny) => vec![vec![AtLeast(Verdict::Deny)]],
        (true, Verdict::Allow) => vec![vec![AtLeast(Verdict::Ask)]],
        (true, Verdict::Ask) => vec![vec![AtMost(Verdict::Allow)], vec![AtLeast(Verdict::Deny)]],
        (true, Verdict::Deny) => vec![vec![AtMost(Verdict::Ask)]],
    }
}
