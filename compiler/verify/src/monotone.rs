//! Whether one policy is surely at least as strict as another for a tool, from how they
//! are written: a rule that was added can only tighten if it denies, one that was taken
//! away only if it allowed, a shorter list of what is trusted always.
//!
//! Says yes or "not this way", never no. It needs no examples and no search, and so holds
//! where texts in disguise or views of queries make searching give up. Every step keeps
//! the order for each call and each pick of leaves: stages are judged side by side, and
//! the strictest counts.

use super::facts::{Atom, Fact, FactId, Lit};
use super::model::Model;
use super::search::{Row, RuleRows};
use super::theory::Theory;
use super::words::{self, End};
use bouncer_compiler::policy::{Compare, Contract, ListItem, Op, Policy, Scalar, SessionTest};
use bouncer_plan::Verdict;
use bouncer_plan::format::EffectVerdicts;
use bouncer_reader::number;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Rules of one tool beyond which lists of rules are not lined up.
const MOST_RULES: usize = 2_000;

/// One policy's say on a tool.
pub(super) struct View<'m, 'p> {
    pub model: &'m Model<'p>,
    /// The rules that may be about the tool, in order.
    pub applicable: &'m [u32],
    /// The verdicts where no rule matches: the tool's own, where its hints are known.
    pub fallbacks: [Verdict; 2],
    pub contract: Option<&'p Contract>,
    /// The strictest that the defaults for effects can say where no rule decides.
    pub layer: Verdict,
}

/// Whether `new` is surely at least as strict as `old`. `globs`: rules can differ in the
/// tools that they are about.
pub(super) fn at_least_as_strict(
    theory: &mut Theory,
    old: &View<'_, '_>,
    new: &View<'_, '_>,
    globs: bool,
) -> bool {
    contracts(old, new) && effects(old, new) && Lines::new(theory, old, new, globs).hold()
}

/// Whether what holds by effect is at least as strict, call by call, where no rule decides.
fn effects(old: &View<'_, '_>, new: &View<'_, '_>) -> bool {
    let (before, after) = (&old.model.policy.effects, &new.model.policy.effects);
    let said = |contract: Option<&Contract>| {
        contract.map(|contract| {
            (
                contract.effects,
                contract.effects_complete,
                contract.decides,
            )
        })
    };
    let stricter = |before: &EffectVerdicts, after: &EffectVerdicts| {
        before
            .iter()
            .zip(after)
            .all(|(before, after)| after >= before)
    };
    // The user has to have named one of the effects that are asked about: with one less, what
    // they named may be none of them.
    let asked = |verdicts: &EffectVerdicts| verdicts.map(|verdict| verdict == Verdict::Allow);
    let same_asked = asked(&before.after_untrusted) == asked(&after.after_untrusted);
    let (was, is) = (old.model.policy, new.model.policy);
    (old.layer == Verdict::Allow && said(old.contract) == said(new.contract))
        || (was.built_in == is.built_in
            && was.heuristics == is.heuristics
            && said(old.contract) == said(new.contract)
            && stricter(&before.on_effect, &after.on_effect)
            && stricter(&before.after_untrusted, &after.after_untrusted)
            && same_asked
            && has_all(before.me.iter(), after.me.iter()))
}

fn contracts(old: &View<'_, '_>, new: &View<'_, '_>) -> bool {
    // What is forgotten may have been trusted or not.
    if old.model.policy.provenance_limit != new.model.policy.provenance_limit {
        return false;
    }
    let heuristics = |policy: &Policy| policy.heuristics.clone();
    match (old.contract, new.contract) {
        (None, None) => heuristics(old.model.policy) == heuristics(new.model.policy),
        (Some(old), Some(new)) => contract(old, new),
        _ => false,
    }
}

/// Whether `more` has everything of `less`.
fn has_all<T: PartialEq>(
    more: impl Iterator<Item = T> + Clone,
    mut less: impl Iterator<Item = T>,
) -> bool {
    less.all(|one| more.clone().any(|other| one == other))
}

fn contract(old: &Contract, new: &Contract) -> bool {
    let paths = |contract: &Contract| -> Vec<_> {
        contract
            .sinks
            .iter()
            .map(|sink| sink.path.clone())
            .collect()
    };
    // Where the gate looks, and whether it does, stays as it was.
    let same_gate = paths(old) == paths(new)
        && old.exfiltrating == new.exfiltrating
        && old.optional_sinks == new.optional_sinks
        && old.resolve_symlinks == new.resolve_symlinks
        && old.base == new.base;
    let trusted = has_all(
        old.trusted.iter().map(|trusted| &trusted.form),
        new.trusted.iter().map(|trusted| &trusted.form),
    );
    let params = |contract: &Contract| -> Vec<_> {
        contract
            .write_params
            .iter()
            .map(|param| param.path.clone())
            .collect()
    };
    // No prefixes, no constraint.
    let confined = old.prefixes.is_empty()
        || old.write_params.is_empty()
        || (!new.prefixes.is_empty()
            && has_all(params(new).iter(), params(old).iter())
            && has_all(
                old.prefixes.iter().map(|prefix| &prefix.prefix),
                new.prefixes.iter().map(|prefix| &prefix.prefix),
            ));
    let patterns = has_all(
        new.arg_patterns.iter().map(|p| (&p.path, &p.pattern.regex)),
        old.arg_patterns.iter().map(|p| (&p.path, &p.pattern.regex)),
    );
    let most = |contract: &Contract| contract.max_calls.map_or(u64::MAX, |(most, _)| most);
    let rates = old.rates.iter().all(|rate| {
        new.rates
            .iter()
            .any(|other| other.count <= rate.count && other.window_ms >= rate.window_ms)
    });
    let within = |contract: &Contract| {
        let dispatch = contract.dispatches.as_ref();
        dispatch.map(|dispatch| (dispatch.tool.clone(), dispatch.arguments.clone()))
    };
    // A call within the call is one more that has to pass.
    let looks_within = old.dispatches.is_none() || within(old) == within(new);
    same_gate
        && looks_within
        && trusted
        && confined
        && patterns
        && new.on_tainted >= old.on_tainted
        && (new.confirm || !old.confirm)
        && most(new) <= most(old)
        && rates
}

/// Two lists of rules, lined up.
struct Lines<'t, 'm> {
    theory: &'t mut Theory,
    old: Vec<(Verdict, &'m RuleRows)>,
    new: Vec<(Verdict, &'m RuleRows)>,
    /// By place: the least and the most strict of what may still decide.
    old_most: Vec<Verdict>,
    new_least: Vec<Verdict>,
    fallbacks: bool,
    globs: bool,
    known: HashMap<(usize, usize), bool>,
}

impl<'t, 'm> Lines<'t, 'm> {
    fn new(theory: &'t mut Theory, old: &View<'m, '_>, new: &View<'m, '_>, globs: bool) -> Self {
        let rules = |view: &View<'m, '_>| -> Vec<(Verdict, &'m RuleRows)> {
            let each = view.applicable.iter();
            each.filter_map(|rule| Some((view.model.action(*rule), view.model.rules.get(*rule)?)))
                .collect()
        };
        let (of_old, of_new) = (rules(old), rules(new));
        let from_end = |rules: &[(Verdict, &RuleRows)],
                        start: Verdict,
                        pick: fn(Verdict, Verdict) -> Verdict| {
            let mut out = vec![start];
            for (action, _) in rules.iter().rev() {
                out.push(pick(*action, out.last().copied().unwrap_or(start)));
            }
            out.reverse();
            out
        };
        let [a, b] = old.fallbacks;
        let [c, d] = new.fallbacks;
        Self {
            theory,
            // Where a rule decides, the defaults for effects are silent.
            old_most: from_end(&of_old, a.max(b).max(old.layer), Verdict::max),
            new_least: from_end(&of_new, c.min(d), Verdict::min),
            old: of_old,
            new: of_new,
            fallbacks: c >= a && d >= b,
            globs,
            known: HashMap::new(),
        }
    }

    fn hold(&mut self) -> bool {
        self.old.len() <= MOST_RULES && self.new.len() <= MOST_RULES && self.from(0, 0)
    }

    /// Whether what follows in the new list is at least as strict as what follows in the
    /// old one, for every call that gets there.
    fn from(&mut self, at: usize, other: usize) -> bool {
        // Equal rules one after the other would recurse as deep as the list is long.
        let (mut i, mut j) = (at, other);
        while let (Some(old), Some(new)) = (self.old.get(i), self.new.get(j)) {
            if !(new.0 >= old.0 && self.same(old.1, new.1)) {
                break;
            }
            i += 1;
            j += 1;
        }
        if let Some(known) = self.known.get(&(i, j)) {
            return *known;
        }
        let holds = self.step(i, j);
        self.known.insert((i, j), holds);
        holds
    }

    fn step(&mut self, i: usize, j: usize) -> bool {
        let most = self.old_most.get(i).copied().unwrap_or(Verdict::Deny);
        let least = self.new_least.get(j).copied().unwrap_or(Verdict::Allow);
        if least >= most {
            return true;
        }
        let (old, new) = (self.old.get(i).copied(), self.new.get(j).copied());
        if old.is_none() && new.is_none() {
            return self.fallbacks;
        }
        if !self.theory.spend(50) {
            return false;
        }
        // A new rule, as strict as anything that could have decided.
        if new.is_some_and(|(action, _)| action >= most) && self.from(i, j + 1) {
            return true;
        }
        // An old rule less, as mild as anything that can decide now.
        if old.is_some_and(|(action, _)| action <= least) && self.from(i + 1, j) {
            return true;
        }
        let (Some((was, before)), Some((is, after))) = (old, new) else {
            return false;
        };
        let rest = |list: &[Verdict], at: usize, end| list.get(at).copied().unwrap_or(end);
        if is >= was && self.same_tools(before, after) {
            // Wider, and strict enough for what it takes from later rules.
            let wide = is >= rest(&self.old_most, i + 1, Verdict::Deny);
            // Narrower, and so mild that what it leaves to later rules is judged no milder.
            let narrow = was <= rest(&self.new_least, j + 1, Verdict::Allow);
            if ((wide && self.within(&before.rows, &after.rows))
                || (narrow && self.within(&after.rows, &before.rows))
                || (self.within(&before.rows, &after.rows)
                    && self.within(&after.rows, &before.rows)))
                && self.from(i + 1, j + 1)
            {
                return true;
            }
        }
        // The same rules of one verdict in another order.
        let run = |list: &[(Verdict, &'m RuleRows)], at: usize| {
            let rest = list.get(at..).unwrap_or_default();
            rest.iter().take_while(|(action, _)| *action == was).count()
        };
        let (of_old, of_new) = (run(&self.old, i), run(&self.new, j));
        if was == is && of_old > 1 && of_old == of_new {
            let old = self.old.get(i..i + of_old).unwrap_or_default().to_vec();
            let new = self.new.get(j..j + of_new).unwrap_or_default().to_vec();
            let all = old
                .iter()
                .all(|(_, rule)| new.iter().any(|(_, other)| self.same(rule, other)))
                && new
                    .iter()
                    .all(|(_, rule)| old.iter().any(|(_, other)| self.same(rule, other)));
            return all && self.from(i + of_old, j + of_new);
        }
        false
    }

    fn same_tools(&self, old: &RuleRows, new: &RuleRows) -> bool {
        !self.globs || old.globs == new.globs
    }

    fn same(&self, old: &RuleRows, new: &RuleRows) -> bool {
        self.same_tools(old, new) && old.rows == new.rows
    }

    /// Whether one of the wider rows holds wherever one of the narrower ones does.
    fn within(&mut self, narrow: &[Row], wide: &[Row]) -> bool {
        narrow.iter().all(|row| {
            wide.iter().any(|other| {
                other
                    .iter()
                    .all(|lit| row.iter().any(|given| self.implies(*given, *lit)))
            })
        })
    }

    /// Whether a literal holds wherever another does.
    fn implies(&mut self, given: Lit, wanted: Lit) -> bool {
        if given == wanted {
            return true;
        }
        let ((from, holds), (to, also)) = (given, wanted);
        if holds != also {
            return false;
        }
        let (first, second) = match (from, to) {
            (Atom::Leaf(a, mode), Atom::Leaf(b, other)) if mode == other => (a, b),
            (Atom::Bag(a, mode, every), Atom::Bag(b, other, all))
                if mode == other && every == all =>
            {
                (a, b)
            }
            (Atom::Count(a, mode), Atom::Count(b, other)) if mode == other => (a, b),
            (Atom::Calls(a, mode), Atom::Calls(b, other)) if mode == other => (a, b),
            (Atom::Session(a, mode), Atom::Session(b, other)) if mode == other => (a, b),
            _ => return false,
        };
        if holds {
            self.part_of(first, second)
        } else {
            self.part_of(second, first)
        }
    }

    /// Whether a question is answered with yes wherever another is, for every form of every
    /// value, and cannot be answered where the other cannot.
    fn part_of(&mut self, narrow: FactId, wide: FactId) -> bool {
        let (Some(a), Some(b)) = (self.theory.facts.get(narrow), self.theory.facts.get(wide))
        else {
            return false;
        };
        if a.path != b.path || a.look != b.look || a.class != b.class {
            return false;
        }
        if let (Op::Matches(p), Op::Matches(q)) = (&a.op, &b.op) {
            let (p, q) = (p.regex.clone(), q.regex.clone());
            return self.language_within(&p, &q);
        }
        answers_within(a, b)
    }

    /// Whether every text in which one pattern is found has the other in it.
    fn language_within(&mut self, narrow: &str, wide: &str) -> bool {
        let any = r"(?s)\A.*\z";
        let limits = [(narrow, true), (wide, false), (any, true)]
            .into_iter()
            .map(|(pattern, wanted)| self.theory.constraint(pattern, wanted))
            .collect::<Option<Vec<_>>>();
        limits.is_some_and(|limits| {
            words::search(&limits, &mut self.theory.budget, &mut |_| true) == End::Exhausted
        })
    }
}

/// The same, for what is no pattern.
fn answers_within(a: &Fact, b: &Fact) -> bool {
    let compared = |a: &str, b: &str| number::compare(a, b);
    match (&a.op, &b.op) {
        // What stands in a part stands where the part does.
        (Op::Part(how, a), Op::Part(other, b)) if how == other => how.holds(a, b),
        (Op::Within(a), Op::Within(b)) => has_all(b.iter(), a.iter()),
        (Op::Provenance(a), Op::Provenance(b)) => has_all(b.iter(), a.iter()),
        (Op::Session(SessionTest::Effect(a)), Op::Session(SessionTest::Effect(b))) => {
            a.without(*b).is_empty()
        }
        (Op::Compare(how, a), Op::Compare(other, b)) if how == other => match how {
            Compare::Less | Compare::LessEqual => {
                matches!(compared(a, b), Some(Ordering::Less | Ordering::Equal))
            }
            Compare::Greater | Compare::GreaterEqual => {
                matches!(compared(a, b), Some(Ordering::Greater | Ordering::Equal))
            }
        },
        (Op::Equals(_) | Op::In(_), Op::Equals(_) | Op::In(_)) => {
            let items = |op: &Op| match op {
                Op::Equals(scalar) => vec![ListItem::Scalar(scalar.clone())],
                Op::In(items) => items.clone(),
                _ => Vec::new(),
            };
            // Numbers, bools and null are told from texts in ways of their own.
            let texts = |item: &ListItem| !matches!(item, ListItem::Scalar(scalar) if !matches!(scalar, Scalar::Str(_)));
            let (a, b) = (items(&a.op), items(&b.op));
            has_all(b.iter(), a.iter()) && b.iter().all(texts)
        }
        _ => false,
    }
}
