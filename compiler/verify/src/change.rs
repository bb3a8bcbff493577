//! What differs between two policies, tool by tool, with a call for each direction.

use super::analysis::labels;
use super::example::{Written, example};
use super::facts::Facts;
use super::model::Model;
use super::monotone::{View, at_least_as_strict};
use super::names::{Glob, Names, Tool, Universe};
use super::property::Context;
use super::search::{Assignment, Row};
use super::session::ANYTHING;
use super::stages::{Bound, Terms, Way, contract_of, ways};
use super::theory::{Answer, Level, Theory};
use super::unmodelled::{self, Known, differ, is_ambiguous, of_any_server};
use super::ways::{Part, Scope, along};
use super::{Change, ListedTool, Options, Relation, ToolDiff};
use bouncer_compiler::policy::{Policy, RuleSet};
use bouncer_compiler::{CompileError, Progress};
use bouncer_plan::Verdict;
use std::rc::Rc;

/// Attempts beyond which budgets are not compared by playing them.
const MOST_ATTEMPTS: u64 = 20_000;

pub(super) fn diff(
    old: &Policy,
    new: &Policy,
    tools: &[ListedTool],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<ToolDiff>, Vec<CompileError>> {
    let mut names = Names::new(&[old, new], tools);
    let mut facts = Facts::of(&[old, new]);
    let old = Model::new(old, tools, &mut facts, &mut names)?;
    let new = Model::new(new, tools, &mut facts, &mut names)?;
    let mut theory = Theory::new(facts, options.budget);
    names.ask_gates(old.judge.gates());
    theory.expect(&[old.policy, new.policy]);
    let (trust, observe) = (labels(old.policy), labels(new.policy));
    theory.can_trust = trust.0 || observe.0;
    theory.can_observe = trust.1 || observe.1;
    let mut comparison = Comparison {
        theory,
        names,
        old,
        new,
    };
    comparison.theory.ask();
    let contexts = comparison.contexts();
    let all = contexts.len();
    let compared = (1..).zip(&contexts).map(|(done, context)| {
        let diff = comparison.compare(context);
        progress(Progress { done, all });
        diff
    });
    Ok(compared.collect())
}

/// What may differ beyond what a call by itself shows.
#[derive(Clone, Copy, Default)]
struct Beyond {
    tighter: bool,
    looser: bool,
    why: &'static str,
}

/// What one side says of a tool, as it is written.
fn view<'m, 'p>(model: &'m Model<'p>, side: &'m Side, tool: &Tool) -> View<'m, 'p> {
    let rules = model.policy.rules.as_ref();
    let fallbacks = match rules {
        Some(_) if tool.listed.is_some() => [side.fallback; 2],
        _ => RuleSet::fallbacks(rules, &tool.full),
    };
    View {
        model,
        applicable: &side.applicable,
        fallbacks,
        contract: contract_of(model.policy, tool),
        layer: side.terms.layer(),
    }
}

struct Comparison<'p> {
    theory: Theory,
    names: Names,
    old: Model<'p>,
    new: Model<'p>,
}

/// One policy's view of one tool.
struct Side {
    terms: Terms,
    fallback: Verdict,
    applicable: Vec<u32>,
    /// Attempts at one time that the budget allows.
    budget: u64,
}

/// The rules between those that are the same on both sides: where they start, and where what
/// follows does.
struct Changed {
    old: (u32, u32),
    new: (u32, u32),
}

/// Ways by rules that are not the same on both sides, and ways by what comes after them. What
/// comes before them decides both sides alike, and so do all stages that are the same.
fn parted(ways: &[Way], (start, end): (u32, u32)) -> (Vec<&Way>, Vec<&Way>) {
    let place = |way: &&Way| way.rules.as_ref().map(|rules| rules.before);
    let behind = ways.iter().filter(|way| place(way) >= Some(start));
    behind.partition(|way| place(way) < Some(end))
}

impl Comparison<'_> {
    /// The tools to compare, each once.
    fn contexts(&mut self) -> Vec<(Context, String)> {
        let universe = if self.names.listed.is_empty() {
            Universe::Open
        } else {
            Universe::Listed
        };
        let tools: Vec<Tool> = match universe {
            Universe::Listed => self.names.listed.clone(),
            Universe::Open => self.names.mentioned().to_vec(),
        };
        let mut contexts = Vec::new();
        let mut exact = Vec::new();
        for tool in tools {
            let glob = self.names.exactly(&tool.full);
            exact.push(glob);
            let shown = tool.tool.clone();
            let scope = Scope {
                must: vec![glob],
                not: Vec::new(),
                universe,
            };
            contexts.push((Context { scope, tool }, shown));
        }
        if universe == Universe::Listed {
            return contexts;
        }
        // What patterns match beside the names that are written out, and everything else.
        let rules = [self.old.policy, self.new.policy]
            .into_iter()
            .flat_map(|policy| policy.rules.iter().flat_map(|set| &set.rules));
        let mut globs: Vec<Glob> = rules
            .flat_map(|rule| rule.tools.iter().map(Glob::of))
            .filter(|glob| !glob.is_exact())
            .collect();
        globs.sort_by(|a, b| (&a.pattern, a.kind).cmp(&(&b.pattern, b.kind)));
        globs.dedup();
        // A contract may apply whatever the server is: each is a case of its own.
        let keys = of_any_server([self.old.policy, self.new.policy]);
        let everything = globs.iter().position(|glob| glob.pattern == "*");
        if everything.is_none() {
            globs.push(Glob::everything());
        }
        let all: Vec<u32> = globs
            .iter()
            .map(|glob| self.names.glob(glob.clone()))
            .collect();
        let of_keys: Vec<u32> = keys
            .iter()
            .map(|key| self.names.glob(key.clone()))
            .collect();
        let both = globs
            .into_iter()
            .zip(&all)
            .map(|(glob, id)| (glob, id, false));
        let with_keys = keys
            .into_iter()
            .zip(&of_keys)
            .map(|(glob, id)| (glob, id, true));
        for (glob, id, is_key) in both.chain(with_keys).collect::<Vec<_>>() {
            let mut not = exact.clone();
            if !is_key {
                not.extend(&of_keys);
            }
            if glob.pattern == "*" {
                // Everything that no other pattern matches.
                not.extend(all.iter().filter(|other| *other != id));
            }
            let must = vec![*id];
            let found = self
                .names
                .find(&mut self.theory, &must, &not, Universe::Open);
            if let Answer::Found(tool) = found {
                let scope = Scope {
                    must,
                    not,
                    universe,
                };
                contexts.push((Context { scope, tool }, glob.pattern));
            }
        }
        contexts
    }

    fn compare(&mut self, (context, shown): &(Context, String)) -> ToolDiff {
        self.theory.ask();
        let pattern = *shown != context.tool.tool;
        let sides = [false, true].map(|new| self.side(context, new, pattern));
        let mut out = ToolDiff {
            server: context.tool.server.clone(),
            tool: shown.clone(),
            relation: Relation::Equivalent,
            tighter: None,
            looser: None,
            undecided: None,
            maybe_tighter: false,
            maybe_looser: false,
        };
        if *shown != context.tool.tool {
            out.server = None;
        }
        let beyond = self.beyond(context);
        let known = Known {
            listed: context.tool.listed.is_some(),
            pattern,
        };
        let unmodelled = differ(self.old.policy, self.new.policy, &context.tool, known);
        let same_hint = known.listed || self.hints_agree();
        if self.is_same(&sides) && same_hint && beyond.is_none() && unmodelled.is_none() {
            return out;
        }
        let mut hint = false;
        let [tighter, looser] = [true, false].map(|tighter| {
            if self.rules_out(context, known, &sides, tighter) {
                return Answer::Empty;
            }
            let played = self.budgets(context, &sides, tighter);
            let mut found =
                played.map_or_else(|| self.direction(context, &sides, tighter), Answer::Found);
            if found == Answer::Empty && !known.listed && self.hint_matters() {
                found = self.under_hint(context, &sides, tighter);
                hint |= found != Answer::Empty;
            }
            match found {
                // Where they differ in what is not searched, nothing found proves nothing.
                Answer::Empty if unmodelled.is_some() => Answer::Unknown,
                found => found,
            }
        });
        let beyond = beyond.unwrap_or_default();
        out.maybe_tighter = matches!(tighter, Answer::Unknown) || beyond.tighter;
        out.maybe_looser = matches!(looser, Answer::Unknown) || beyond.looser;
        let unknown = out.maybe_tighter || out.maybe_looser;
        let found = |answer: Answer<Change>| match answer {
            Answer::Found(change) => Some(change),
            _ => None,
        };
        (out.tighter, out.looser) = (found(tighter), found(looser));
        out.relation = match (&out.tighter, &out.looser) {
            (Some(_), Some(_)) => Relation::Incomparable,
            _ if unknown => Relation::Undecided,
            (Some(_), None) => Relation::Tighter,
            (None, Some(_)) => Relation::Looser,
            (None, None) => Relation::Equivalent,
        };
        if out.relation == Relation::Undecided {
            out.undecided = Some(if self.theory.budget == 0 {
                "the budget for the whole analysis is used up".to_owned()
            } else if let Some(pattern) = self.theory.too_large() {
                format!("the automaton of the pattern `{pattern}` is too large to reason about")
            } else if !beyond.why.is_empty() {
                beyond.why.to_owned()
            } else if let Some(why) = unmodelled {
                why.to_owned()
            } else if hint {
                "a tool that calls itself destructive may be judged otherwise, and only its definition says whether it does".to_owned()
            } else {
                "values in disguise or several lists at once were not ruled out".to_owned()
            });
        }
        out
    }

    /// What differs in the tool's contract that no single call shows.
    fn beyond(&self, context: &Context) -> Option<Beyond> {
        let of = |model: &Model<'_>| {
            let contract = contract_of(model.policy, &context.tool)?;
            let outputs = contract.outputs.as_ref();
            let outputs =
                outputs.map(|outputs| (outputs.label, outputs.private, outputs.fields.clone()));
            Some((contract.resolve_symlinks, outputs))
        };
        let (old_links, old_outputs) = of(&self.old).unwrap_or_default();
        let (new_links, new_outputs) = of(&self.new).unwrap_or_default();
        if old_outputs != new_outputs {
            return Some(Beyond {
                tighter: true,
                looser: true,
                why: "its results are labelled otherwise: calls that send on what it returned may be judged otherwise",
            });
        }
        (old_links != new_links).then_some(Beyond {
            tighter: new_links,
            looser: old_links,
            why: "symbolic links are followed in one of the policies only, and what they lead to is not known",
        })
    }

    fn side(&mut self, context: &Context, new: bool, pattern: bool) -> Side {
        let model = if new { &mut self.new } else { &mut self.old };
        let definition = context
            .tool
            .listed
            .and_then(|place| model.judge.definition(place));
        let [gate, open] = model.judge.gates();
        let gate = if context.tool.listed.is_some() {
            gate
        } else {
            open
        };
        let doing = gate.doing(context.tool.server.as_deref(), &context.tool.tool);
        let known = Known {
            listed: context.tool.listed.is_some(),
            pattern,
        };
        let doing = unmodelled::doing(model.policy, doing.unwrap_or(ANYTHING), known);
        let terms = Terms::of(
            model.policy,
            &context.tool,
            definition,
            &mut self.theory,
            doing,
        );
        let destructive = context
            .tool
            .listed
            .is_some_and(|place| model.judge.is_destructive(place));
        let fallback =
            RuleSet::unmatched(model.policy.rules.as_ref(), &context.tool.full, destructive);
        let exact = |id: &u32| self.names.get(*id).is_some_and(Glob::is_exact);
        let applicable = if context.scope.must.iter().any(exact) {
            model
                .rules
                .applicable(&self.names, &context.tool.full)
                .to_vec()
        } else {
            model.rules.by_pattern()
        };
        let contract = contract_of(model.policy, &context.tool);
        let budget = contract.map_or(u64::MAX, |contract| {
            let rates = contract.rates.iter().map(|rate| u64::from(rate.count));
            let most = contract.max_calls.map_or(u64::MAX, |(most, _)| most);
            rates.chain([most]).min().unwrap_or(most)
        });
        Side {
            terms,
            fallback,
            applicable,
            budget,
        }
    }

    /// Whether both policies say the same of the tool, word by word.
    fn is_same(&self, [old, new]: &[Side; 2]) -> bool {
        let rules = |model: &Model<'_>, side: &Side| -> Vec<(Verdict, Vec<u32>, Vec<Row>)> {
            side.applicable
                .iter()
                .filter_map(|rule| {
                    let rows = model.rules.get(*rule)?;
                    Some((model.action(*rule), rows.globs.clone(), rows.rows.clone()))
                })
                .collect()
        };
        old.budget == new.budget
            && old.fallback == new.fallback
            && self.old.policy.rules.is_some() == self.new.policy.rules.is_some()
            && old.terms == new.terms
            && rules(&self.old, old) == rules(&self.new, new)
    }

    /// Whether no call can go in this direction, by how the policies are written.
    fn rules_out(
        &mut self,
        context: &Context,
        known: Known,
        [old, new]: &[Side; 2],
        tighter: bool,
    ) -> bool {
        if [self.old.policy, self.new.policy]
            .iter()
            .any(|policy| is_ambiguous(policy, &context.tool, known))
        {
            return false;
        }
        let exact = |id: &u32| self.names.get(*id).is_some_and(Glob::is_exact);
        let globs = !context.scope.must.iter().any(exact);
        let Self {
            theory,
            old: before,
            new: after,
            ..
        } = self;
        let (before, after) = (
            view(before, old, &context.tool),
            view(after, new, &context.tool),
        );
        if tighter {
            at_least_as_strict(theory, &after, &before, globs)
        } else {
            at_least_as_strict(theory, &before, &after, globs)
        }
    }

    /// Whether the defaults for tools that call themselves destructive are the same.
    fn hints_agree(&self) -> bool {
        let of = |policy: &Policy| RuleSet::unmatched(policy.rules.as_ref(), "", true);
        of(self.old.policy) == of(self.new.policy)
    }

    /// Whether a policy's defaults depend on what a tool says of itself.
    fn hint_matters(&self) -> bool {
        [self.old.policy, self.new.policy].iter().any(|policy| {
            let set = policy.rules.as_ref();
            set.is_some_and(|set| set.on_destructive_hint.action != set.on_unknown.action)
        })
    }

    /// The same direction for a tool that calls itself destructive. There is none to show
    /// it with: what is found is not known, what is not found is not there.
    fn under_hint(
        &mut self,
        context: &Context,
        sides: &[Side; 2],
        tighter: bool,
    ) -> Answer<Change> {
        let under = |model: &Model<'_>, side: &Side| Side {
            terms: side.terms.clone(),
            fallback: RuleSet::unmatched(model.policy.rules.as_ref(), &context.tool.full, true),
            applicable: side.applicable.clone(),
            budget: side.budget,
        };
        let [old, new] = sides;
        let sides = [under(&self.old, old), under(&self.new, new)];
        match self.direction(context, &sides, tighter) {
            Answer::Empty => Answer::Empty,
            Answer::Found(_) | Answer::Unknown => Answer::Unknown,
        }
    }

    /// A call that one budget ends and the other does not.
    fn budgets(
        &mut self,
        context: &Context,
        [old, new]: &[Side; 2],
        tighter: bool,
    ) -> Option<Change> {
        let ends = if tighter {
            new.budget < old.budget
        } else {
            old.budget < new.budget
        };
        let least = old.budget.min(new.budget);
        if !ends || least > MOST_ATTEMPTS {
            return None;
        }
        let call = Written {
            arguments: "{}".to_owned(),
            earlier: least,
            ..Written::default()
        };
        self.change(&context.tool, &call, tighter)
    }

    /// The change of a call's verdict, if it goes in this direction.
    fn change(&mut self, tool: &Tool, call: &Written, tighter: bool) -> Option<Change> {
        let before = self.old.judge.judge(tool, call);
        let after = self.new.judge.judge(tool, call);
        let changed = if tighter {
            after.verdict > before.verdict
        } else {
            after.verdict < before.verdict
        };
        changed.then(|| Change {
            old: before.verdict,
            example: example(tool, call, &after),
        })
    }

    /// A call whose verdict goes in this direction.
    fn direction(&mut self, context: &Context, sides: &[Side; 2], tighter: bool) -> Answer<Change> {
        let mut answer = Answer::Empty;
        for level in [Level::Plain, Level::All] {
            answer = Answer::Empty;
            for (mild, strict) in [
                (Verdict::Allow, Verdict::Ask),
                (Verdict::Ask, Verdict::Deny),
            ] {
                let bounds = if tighter {
                    [Bound::AtMost(mild), Bound::AtLeast(strict)]
                } else {
                    [Bound::AtLeast(strict), Bound::AtMost(mild)]
                };
                let found = self.between(context, sides, bounds, tighter, level);
                answer = answer.or(|| found);
                if let Answer::Found(_) = answer {
                    return answer;
                }
            }
        }
        answer
    }

    fn between(
        &mut self,
        context: &Context,
        [old, new]: &[Side; 2],
        bounds: [Bound; 2],
        tighter: bool,
        level: Level,
    ) -> Answer<Change> {
        let [first, second] = bounds;
        let of_old = ways(
            &mut self.old,
            &old.terms,
            old.terms.layer(),
            old.fallback,
            &old.applicable,
            first,
        );
        let of_new = ways(
            &mut self.new,
            &new.terms,
            new.terms.layer(),
            new.fallback,
            &new.applicable,
            second,
        );
        let changed = self.changed(context, [old, new]);
        let same_layer = unmodelled::same_layer(self.old.policy, self.new.policy, &context.tool);
        let mut answer = Answer::Empty;
        // What can be judged otherwise takes a way that is not the same on both sides.
        let all = (Vec::from_iter(&of_old), Vec::from_iter(&of_new));
        let (of_old, of_new, other_old, other_new) = match &changed {
            None => (all.0, all.1, Vec::new(), Vec::new()),
            Some(changed) => {
                let (near, far) = parted(&of_old, changed.old);
                let (also, beyond) = parted(&of_new, changed.new);
                (near, also, far, beyond)
            }
        };
        let pairs = of_old.iter().flat_map(|way| {
            of_new
                .iter()
                .chain(&other_new)
                .map(move |other| (*way, *other))
        });
        let more = other_old
            .iter()
            .flat_map(|way| of_new.iter().map(move |other| (*way, *other)));
        for (way, other) in pairs.chain(more) {
            if same_layer && way.is_alike(other) {
                continue;
            }
            let layer = old.terms.layer().max(new.terms.layer()) > Verdict::Allow;
            let found = self.along(context, (way, other), layer, tighter, level);
            answer = answer.or(|| found);
            if let Answer::Found(_) = answer {
                return answer;
            }
        }
        answer
    }

    /// The rules of each side that are not the same at the same place, from the start or from
    /// the end. `None`: the sides differ in more than rules.
    fn changed(&self, context: &Context, [old, new]: [&Side; 2]) -> Option<Changed> {
        let (before, after) = (self.old.policy, self.new.policy);
        let known = Known {
            listed: context.tool.listed.is_some(),
            // Names are told apart either way.
            pattern: false,
        };
        let same_rest = old.terms == new.terms
            && old.fallback == new.fallback
            && before.rules.is_some() == after.rules.is_some()
            && self.hints_agree()
            && unmodelled::same_layer(before, after, &context.tool)
            && differ(before, after, &context.tool, known).is_none();
        if !same_rest {
            return None;
        }
        let same = |a: u32, b: u32| {
            let (old, new) = (self.old.rules.get(a), self.new.rules.get(b));
            self.old.action(a) == self.new.action(b)
                && old
                    .zip(new)
                    .is_some_and(|(old, new)| old.globs == new.globs && old.rows == new.rows)
        };
        let (a, b) = (&old.applicable, &new.applicable);
        let alike = |pair: &(&u32, &u32)| same(*pair.0, *pair.1);
        let first = a.iter().zip(b).take_while(alike).count();
        let (a, b) = (a.get(first..)?, b.get(first..)?);
        let last = a.iter().rev().zip(b.iter().rev()).take_while(alike).count();
        let span = |side: &[u32], rules: usize| {
            let changed = side.get(..side.len() - last).unwrap_or_default();
            // Behind all rules stands the default.
            let start = side.first().copied().unwrap_or(rules as u32);
            changed
                .last()
                .map_or((start, start), |end| (start, end + 1))
        };
        Some(Changed {
            old: span(a, self.old.facts.len()),
            new: span(b, self.new.facts.len()),
        })
    }

    fn along(
        &mut self,
        context: &Context,
        (way, other): (&Way, &Way),
        layer: bool,
        tighter: bool,
        level: Level,
    ) -> Answer<Change> {
        let (old_actions, new_actions) =
            (Rc::clone(&self.old.actions), Rc::clone(&self.new.actions));
        let mut assignments: Vec<Assignment> = Vec::new();
        let mut shown = None;
        let Self {
            theory,
            names,
            old,
            new,
        } = self;
        let mut parts = [
            Part {
                rules: &mut old.rules,
                actions: &old_actions,
                ways: vec![way.clone()],
            },
            Part {
                rules: &mut new.rules,
                actions: &new_actions,
                ways: vec![other.clone()],
            },
        ];
        let (old_judge, new_judge) = (&mut old.judge, &mut new.judge);
        let found = along(
            theory,
            names,
            &context.scope,
            level,
            &[Row::new()],
            &mut parts,
            &mut |theory, assignment| {
                assignments.push(assignment.clone());
                let mut calls = old_judge
                    .write(&theory.facts, assignment)
                    .unwrap_or_default();
                if layer {
                    calls.extend(old_judge.variants(&calls));
                }
                for call in calls {
                    let before = old_judge.judge(&assignment.tool, &call);
                    let after = new_judge.judge(&assignment.tool, &call);
                    let changed = if tighter {
                        after.verdict > before.verdict
                    } else {
                        after.verdict < before.verdict
                    };
                    if changed {
                        shown = Some(Change {
                            old: before.verdict,
                            example: example(&assignment.tool, &call, &after),
                        });
                        return true;
                    }
                }
                false
            },
        );
        match (found, shown) {
            (Answer::Found(_), Some(change)) => Answer::Found(change),
            (Answer::Empty, _) => Answer::Empty,
            _ => Answer::Unknown,
        }
    }
}
