//! What has to be asked of a call for a policy's verdict on it to be at most, or at
//! least, something: over all stages, for one tool.
//!
//! Every way is asked for in a form that no call with that verdict escapes; whether a call
//! that is found really has the verdict is for the gate to say.

use super::facts::{Claim, FactId, Look};
use super::model::Model;
use super::names::Tool;
use super::search::{Row, Wanted};
use super::session::ANYTHING;
use super::theory::Theory;
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Contract, Layer, ListItem, Op, Path, Policy, Scalar, TrustedForm};
use bouncer_engine::gate::Doing;
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::format::EffectVerdicts;
use bouncer_plan::{Effect, Effects, Verdict};

/// A bound on a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    AtMost(Verdict),
    AtLeast(Verdict),
    /// No verdict keeps it: what holds is that no rule decides.
    Never,
}

impl Bound {
    pub fn holds(self, verdict: Verdict) -> bool {
        match self {
            Self::AtMost(most) => verdict <= most,
            Self::AtLeast(least) => verdict >= least,
            Self::Never => false,
        }
    }
}

/// What a rule stage has to do.
#[derive(Clone, Debug)]
pub(super) struct ByRules {
    pub rows: Vec<Row>,
    pub globs: Vec<u32>,
    /// No rule with a verdict outside the bound matches before this one.
    pub before: u32,
    pub bound: Bound,
}

/// One way to a verdict.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub rules: Option<ByRules>,
    each: Vec<(u32, Claim)>,
    some: Vec<(u32, Claim)>,
    absent: Vec<u32>,
}

impl Way {
    /// Whether it is the way of calls that no rule decides.
    fn is_undecided(&self) -> bool {
        self.rules
            .as_ref()
            .is_some_and(|rules| rules.globs.is_empty())
    }

    /// Whether it is the way of calls of which the defaults for effects say something.
    fn is_by_effect(&self) -> bool {
        let rules = self.rules.as_ref();
        rules.is_some_and(|rules| rules.bound == Bound::Never)
    }

    /// Whether both ways are of calls that no rule decides, and one is by what the defaults for
    /// effects say: where these are the same, so is what they say.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.is_undecided() && other.is_undecided() && (self.is_by_effect() || other.is_by_effect())
    }

    /// Asks for everything but the rules.
    pub fn ask(&self, wanted: &mut Wanted) {
        for (path, claim) in &self.each {
            wanted.each(*path, *claim);
        }
        for (path, claim) in &self.some {
            wanted.some(*path, *claim);
        }
        for path in &self.absent {
            wanted.absent(*path);
        }
    }
}

/// What a tool's contract asks, in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Terms {
    /// Facts that every leaf of a path has to meet.
    constraints: Vec<(u32, FactId)>,
    /// The sink gate applies.
    gated: bool,
    on_tainted: Option<Verdict>,
    /// By declared sink: its path, whether its leaves are trusted, whether tainted.
    sinks: Vec<(u32, FactId, FactId)>,
    /// A call without a leaf in any declared sink sends nothing.
    optional: bool,
    /// A human decides on every call.
    confirm: bool,
    /// Not even the first call is within the budget.
    never: bool,
    /// The strictest that the defaults for effects can say where no rule decides, and the same
    /// before anything untrusted was read.
    layer: Option<(Verdict, Verdict)>,
}

/// The contract that applies to a tool: the user's before a pack's, the longer key before
/// the bare name.
pub(super) fn contract_of<'p>(policy: &'p Policy, tool: &Tool) -> Option<&'p Contract> {
    for layer in [Layer::User, Layer::Pack] {
        for key in [&tool.full, &tool.tool] {
            let found = policy
                .contracts
                .iter()
                .find(|contract| contract.layer == layer && contract.key == *key);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// A contract's trusted destinations, as items of a list.
pub(super) fn trusted_items(contract: &Contract) -> Vec<ListItem> {
    let item = |form: &TrustedForm| match form {
        TrustedForm::Exact(text) => ListItem::Scalar(Scalar::Str(text.clone())),
        TrustedForm::AtDomain(domain) => ListItem::AtDomain(domain.clone()),
        TrustedForm::Below(domain) => ListItem::Below(domain.clone()),
    };
    contract
        .trusted
        .iter()
        .map(|trusted| item(&trusted.form))
        .collect()
}

impl Terms {
    /// The terms of one tool. `definition`: as its server lists it.
    pub fn of(
        policy: &Policy,
        tool: &Tool,
        definition: Option<&ToolDefinition>,
        theory: &mut Theory,
        doing: Doing,
    ) -> Self {
        let mut terms = Self {
            layer: Some(layer(policy, doing)),
            ..Self::default()
        };
        let Some(contract) = contract_of(policy, tool) else {
            let named = || ToolDefinition::from_json(serde_json::json!({ "name": tool.tool })).ok();
            let definition = definition.cloned().or_else(named);
            let derived = policy
                .heuristics
                .as_ref()
                .zip(definition)
                .map(|(heuristics, definition)| heuristics.derive(&definition));
            if let Some(derived) = derived {
                terms.never = derived.max_calls == Some(0);
            }
            return terms;
        };
        for param in &contract.write_params {
            if !contract.prefixes.is_empty() {
                let prefixes = contract.prefixes.iter().map(|p| p.prefix.clone());
                let op = Op::Within(prefixes.collect());
                terms.constraint(&param.path, op, theory);
            }
        }
        for pattern in &contract.arg_patterns {
            let op = Op::Matches(pattern.pattern.clone());
            terms.constraint(&pattern.path, op, theory);
        }
        terms.never = contract.max_calls.is_some_and(|(most, _)| most == 0)
            || contract.rates.iter().any(|rate| rate.count == 0);
        terms.confirm = contract.confirm;
        terms.optional = contract.optional_sinks;
        terms.gated = contract.exfiltrating;
        if contract.exfiltrating {
            terms.on_tainted = Some(contract.on_tainted);
            let listed = trusted_items(contract);
            for sink in &contract.sinks {
                terms.sink(&sink.path, listed.clone(), theory);
            }
        }
        terms
    }

    /// The terms of a tool of which only the name is known: what it suggests is not counted on,
    /// but for what the defaults say of it.
    pub fn guessed(policy: &Policy) -> Self {
        Self {
            layer: Some(layer(policy, ANYTHING)),
            ..Self::default()
        }
    }

    /// The strictest that the defaults for effects can say where no rule decides.
    pub fn layer(&self) -> Verdict {
        self.layer.map_or(Verdict::Allow, |(any, _)| any)
    }

    /// The same where what was read is known.
    pub fn layer_after(&self, read: Option<(bool, bool)>) -> Verdict {
        match (self.layer, read) {
            (Some((_, before)), Some((false, _))) => before,
            _ => self.layer(),
        }
    }

    /// Whether arguments have to be so and so.
    pub const fn is_constrained(&self) -> bool {
        !self.constraints.is_empty()
    }

    fn constraint(&mut self, path: &Path, op: Op, theory: &mut Theory) {
        // Where a path leads from a folder of the server's own is not searched for.
        let look = match op {
            Op::Within(_) if theory.facts.based => Look::Unsearched,
            _ => Look::Raw,
        };
        let fact = theory.facts.asked(path, look, op);
        let path = theory.facts.path_id(path);
        self.constraints.push((path, fact));
    }

    fn sink(&mut self, path: &Path, listed: Vec<ListItem>, theory: &mut Theory) {
        let trusted = theory
            .facts
            .asked(path, Look::Trusted, Op::In(listed.clone()));
        let tainted = theory.facts.asked(path, Look::Tainted, Op::In(listed));
        let path = theory.facts.path_id(path);
        self.sinks.push((path, trusted, tainted));
    }

    /// The ways in which the stages other than rules keep within a bound: all of them if
    /// it is an upper bound, one of them if it is a lower one.
    fn ways(&self, bound: Bound) -> Vec<Way> {
        let yes = |fact: FactId| (fact, Mode::Plain, true);
        let no = |fact: FactId| (fact, Mode::Plain, false);
        match bound {
            Bound::AtMost(Verdict::Deny) => vec![Way::default()],
            Bound::AtMost(most) => {
                if self.never || (self.confirm && most == Verdict::Allow) {
                    return Vec::new();
                }
                let each: Vec<(u32, Claim)> = self
                    .constraints
                    .iter()
                    .map(|(path, fact)| (*path, yes(*fact)))
                    .collect();
                let mut way = Way {
                    each,
                    ..Way::default()
                };
                if !self.gated {
                    return vec![way];
                }
                if most == Verdict::Ask {
                    if self.on_tainted != Some(Verdict::Ask) {
                        let clean = self.sinks.iter().map(|(path, _, fact)| (*path, no(*fact)));
                        way.each.extend(clean);
                    }
                    return vec![way];
                }
                let mut ways = Vec::new();
                for (path, fact, _) in &self.sinks {
                    let mut with = way.clone();
                    with.some.push((*path, yes(*fact)));
                    let all = self.sinks.iter().map(|(path, fact, _)| (*path, yes(*fact)));
                    with.each.extend(all);
                    ways.push(with);
                }
                // Without a leaf in any of them, every argument is a sink: which, is not
                // asked here.
                way.absent
                    .extend(self.sinks.iter().map(|(path, _, _)| *path));
                ways.push(way);
                ways
            }
            Bound::AtLeast(Verdict::Allow) => vec![Way::default()],
            Bound::Never => Vec::new(),
            Bound::AtLeast(least) => {
                if self.never || (self.confirm && least == Verdict::Ask) {
                    return vec![Way::default()];
                }
                let failing = self.constraints.iter().map(|(path, fact)| Way {
                    some: vec![(*path, no(*fact))],
                    ..Way::default()
                });
                let mut ways: Vec<Way> = failing.collect();
                if !self.gated {
                    return ways;
                }
                if least == Verdict::Ask {
                    // Nearly every call: which, is for the gate to say.
                    for (path, fact, _) in &self.sinks {
                        ways.push(Way {
                            some: vec![(*path, no(*fact))],
                            ..Way::default()
                        });
                    }
                    ways.push(Way::default());
                } else if self.on_tainted != Some(Verdict::Ask) {
                    for (path, _, fact) in &self.sinks {
                        ways.push(Way {
                            some: vec![(*path, yes(*fact))],
                            ..Way::default()
                        });
                    }
                    ways.push(Way::default());
                }
                ways
            }
        }
    }
}

/// All ways for a policy's verdict on a tool to keep a bound. `names`: the tool's own, or
/// `None` if the rules are not known from its name.
pub(super) fn ways(
    model: &mut Model<'_>,
    terms: &Terms,
    layer: Verdict,
    fallback: Verdict,
    applicable: &[u32],
    bound: Bound,
) -> Vec<Way> {
    let others = terms.ways(bound);
    let mut by_rules: Vec<ByRules> = Vec::new();
    let count = model.facts.len() as u32;
    let silent = model.policy.rules.is_none();
    let fallback = if silent { Verdict::Allow } else { fallback };
    if bound.holds(fallback) {
        by_rules.push(ByRules {
            rows: vec![Row::new()],
            globs: Vec::new(),
            before: count,
            bound,
        });
    }
    for rule in applicable {
        if bound.holds(model.action(*rule))
            && let Some(rows) = model.rules.get(*rule)
        {
            by_rules.push(ByRules {
                rows: rows.rows.clone(),
                globs: rows.globs.clone(),
                before: *rule,
                bound,
            });
        }
    }
    let mut ways = Vec::new();
    match bound {
        // Every stage has to keep an upper bound.
        Bound::AtMost(_) => {
            for rules in &by_rules {
                for other in &others {
                    ways.push(Way {
                        rules: Some(rules.clone()),
                        ..other.clone()
                    });
                }
            }
        }
        // One stage is enough for a lower bound.
        Bound::AtLeast(_) => {
            ways.extend(by_rules.into_iter().map(|rules| Way {
                rules: Some(rules),
                ..Way::default()
            }));
            ways.extend(others);
            if bound.holds(layer) {
                ways.push(Way {
                    rules: Some(ByRules {
                        rows: vec![Row::new()],
                        globs: Vec::new(),
                        before: count,
                        bound: Bound::Never,
                    }),
                    ..Way::default()
                });
            }
        }
        Bound::Never => {}
    }
    ways
}

/// What a call with these effects gets at least where no rule decides and nobody vouches for
/// its target. `untrusted`: something untrusted was read before.
pub(super) fn floor(
    policy: &Policy,
    contract: Option<&Contract>,
    effects: Effects,
    untrusted: bool,
) -> Verdict {
    let gated = contract.is_some_and(|contract| contract.exfiltrating);
    if gated || !policy.effects.me.is_empty() {
        return Verdict::Allow;
    }
    let (verdicts, surely) = if untrusted {
        let outward = Effects::HARD.with(Effect::Send);
        (&policy.effects.after_untrusted, outward)
    } else {
        (&policy.effects.on_effect, Effects::HARD)
    };
    let of = |effect: Effect| verdicts.get(effect as usize).copied();
    let asked = effects.without(Effects::one(Effect::Read)).iter();
    let asked = asked.filter(|effect| of(*effect) > Some(Verdict::Allow));
    let asked: Effects = asked.collect();
    let said = asked.iter().filter_map(of).max();
    said.filter(|_| asked.intersects(surely))
        .unwrap_or(Verdict::Allow)
}

/// The strictest that the defaults for effects can say of calls that do such things.
fn layer(policy: &Policy, doing: Doing) -> (Verdict, Verdict) {
    if !doing.by_effect {
        return (Verdict::Allow, Verdict::Allow);
    }
    // A call of which nothing is known is taken to read and to write.
    let mut effects = doing.most;
    if doing.least.is_empty() {
        effects = effects.with(Effect::Write);
    }
    let said = |verdicts: &EffectVerdicts| {
        let each = effects.without(Effects::one(Effect::Read)).iter();
        each.filter_map(|effect| verdicts.get(effect as usize).copied())
            .max()
            .unwrap_or(Verdict::Allow)
    };
    let before = said(&policy.effects.on_effect);
    match said(&policy.effects.after_untrusted) {
        Verdict::Allow => (before, before),
        // An address out of what was read is denied.
        Verdict::Ask | Verdict::Deny => (Verdict::Deny, before),
    }
}
