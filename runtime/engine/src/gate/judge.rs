//! The judgement of one call: every stage, in the documented order, and the strictest
//! opinion. Each stage is a function. Calls within the call are not looked at here.

use super::approvals::Approvals;
use super::attempt::{Attempt, CallAttempt};
use super::budget::Attempts;
use super::carried;
use super::conversation::{Conversation, MAX_UNLISTED};
use super::culprit::Culprit;
use super::decision::Cause;
use super::effects::ToolEffects;
use super::eval::{CallFacts, EvalScratch, Evaluator, Places};
use super::flow::{Flow, FlowVerdict, Objection};
use super::key::write_tool_key;
use super::link::{Asked, find_contract, write_full_name};
use super::pins::Pins;
use super::policy::Policy;
use super::raised::Raised;
use super::rows::{self, RowScratch, RuleVerdict};
use super::session::Session;
use super::shared::Together;
use super::sink::{SinkGate, SinkPaths, SinkVerdict};
use super::tool::{Status, Tool};
use super::walk::{self, Listing, TopArguments, WalkError, WalkScratch};
use crate::provenance::Provenance;
use crate::tools::{Derived, Heuristics};
use bouncer_plan::format::{
    CONTRACT_CONFIRM, CONTRACT_DECIDES, CONTRACT_DISPATCHES, CONTRACT_EXFILTRATING,
    CONTRACT_OPTIONAL_SINKS, CONTRACT_RESOLVE_SYMLINKS, Constraint, Contract, META_BUILT_IN,
    META_HAS_RULES, NONE, Pos, ViewKind,
};
use bouncer_plan::{Corrupt, Effect, Effects, Stage, Tables, Verdict, at, requests, slice};
use bouncer_reader::json::{Limits, Malformed, Reader, Scratch as JsonScratch};

/// What a stage says.
#[derive(Clone, Copy)]
pub(super) struct Opinion<'a> {
    pub verdict: Verdict,
    pub stage: Stage,
    pub found: Found<'a>,
}

/// A cause, before what it borrows from the conversation can be borrowed.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Cause(Cause<'a>),
    Observed(Option<&'a Pos>),
    Tainted(Option<&'a Pos>),
    Effect(Effect, Objection),
}

impl<'a> Opinion<'a> {
    pub const fn new(verdict: Verdict, stage: Stage, cause: Cause<'a>) -> Self {
        Self {
            verdict,
            stage,
            found: Found::Cause(cause),
        }
    }
}

/// The opinion on a call.
pub(super) struct Judged<'a> {
    pub opinion: Opinion<'a>,
    /// The contract, if it says that the call makes another.
    pub dispatches: Option<&'a Contract>,
}

impl Judged<'_> {
    const fn malformed(malformed: Malformed) -> Self {
        let cause = Cause::Malformed(malformed);
        Self {
            opinion: Opinion::new(Verdict::Deny, Stage::Malformed, cause),
            dispatches: None,
        }
    }
}

/// Judges one call. Writes what the reason quotes into the conversation's current culprit.
pub(super) fn judge<'a>(
    policy: &'a Policy,
    pins: &'a Pins,
    conversation: &mut Conversation,
    this: &CallAttempt<'a>,
) -> Result<Judged<'a>, Corrupt> {
    let tables = policy.judging_tables()?;
    let standing = standing(policy, pins, conversation, this)?;
    let scratch = &mut conversation.scratch;
    let culprits = &mut scratch.culprits;
    culprits.current.clear();
    let key = &mut scratch.key;
    // The tool's own record, or nothing for a tool that nobody listed.
    let (known, own) = match standing {
        Standing::Listed(index, tool) => (Some(tool), conversation.attempts.get_mut(index)),
        Standing::Unlisted => match conversation.unlisted.get_mut(key.as_str()) {
            Some((tool, attempts)) => (Some(&*tool), Some(attempts)),
            None => (None, None),
        },
        Standing::Unknown => (None, None),
    };
    let (contract, asked) = match known {
        Some(tool) => (tool.link.contract, tool.link.asked()),
        None => {
            write_full_name(this.call.server, this.call.tool, key);
            let contract = find_contract(tables, key, this.call.tool)?;
            (contract, scratch.bare.find(tables, key)?)
        }
    };
    let subject = Subject {
        tables,
        this,
        known,
        pinned: !matches!(standing, Standing::Unknown),
        contract: match contract {
            NONE => None,
            index => Some(at(tables.contracts, index)?),
        },
        asked,
        heuristics: policy.heuristics()?,
    };

    let (sinks, constraints) = (subject.sinks()?, subject.constraints()?);
    let session = &conversation.session;
    let by_effect = subject.by_effect(session.read.untrusted.is_some());
    // Whoever asks what was read has to know all of it.
    if sinks.is_some() || by_effect || policy.asks_what_was_read() {
        conversation.provenance.settle();
    }
    let (eval, walk) = (&mut scratch.eval, &mut scratch.walk);
    let (provenance, lookups) = (&conversation.provenance, &mut scratch.provenance);
    eval.reset();
    let mut evaluator = Evaluator::new(
        tables,
        asked,
        constraints,
        subject.places()?,
        eval,
        provenance,
        lookups,
    );
    let (limits, json) = (&conversation.limits, &mut scratch.json);
    let derived = subject.derived_sinks();
    // What the call does takes long to tell, so only where somebody asks.
    let effects_wanted = by_effect || asks_of_session(tables, asked)?;
    let tops = effects_wanted && subject.needs_arguments();
    let listing = match (sinks.as_ref(), derived.as_ref()) {
        (Some(sinks), _) => Listing::Leaves {
            sinks: Some(sinks),
            tops,
        },
        (None, sinks) if by_effect => Listing::Leaves { sinks, tops },
        (None, _) if tops => Listing::Leaves { sinks: None, tops },
        (None, _) => Listing::Nothing,
    };
    let read = subject.read(limits, json, walk, listing, &mut evaluator)?;
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(malformed) => return Ok(Judged::malformed(malformed)),
    };
    let counted = subject.count(own, conversation.together.as_mut(), key);
    let effects = match effects_wanted {
        true => subject.effects(&TopArguments::of(arguments, walk)),
        false => None,
    };
    let facts = CallFacts {
        calls: &|window| counted.within(window, this.now_ms),
        effects,
        read_untrusted: session.read.untrusted.is_some(),
        read_private: session.read.private.is_some(),
        named: session.asked.names(effects),
    };
    evaluator.finish_call(&facts)?;

    let mut strictest = Strictest::default();
    strictest.offer(subject.pinning());
    strictest.offer(subject.budget(&counted)?);
    strictest.offer(constraint(constraints, eval)?);
    let by_rule = subject.rule(&mut eval.raised, &mut scratch.rows)?;
    strictest.offer(by_rule);
    let mut vouched = false;
    if let Some(sinks) = sinks {
        let gate = subject.sink_gate(sinks, arguments, &conversation.approvals, provenance)?;
        let verdict = gate.judge(
            &walk.leaves,
            &mut scratch.sink,
            lookups,
            &mut culprits.current,
        )?;
        vouched = verdict == SinkVerdict::Trusted;
        strictest.offer(subject.sent(verdict));
    }
    strictest.offer(subject.confirm());
    // The weakest layer: silent where a rule or the user's contract has decided.
    let decided = matches!(
        by_rule,
        Some(Opinion {
            found: Found::Cause(Cause::Rule { .. }),
            ..
        })
    );
    let decided = decided && tables.meta()?.flags.get() & META_BUILT_IN == 0;
    if !decided && by_effect && strictest.is_below(Verdict::Deny) {
        let flow = subject.flow(
            effects,
            vouched,
            session,
            arguments,
            &conversation.approvals,
            provenance,
        )?;
        let verdict = flow.judge(
            &walk.leaves,
            &mut scratch.flow,
            lookups,
            &mut culprits.spare,
        )?;
        let opinion = verdict.and_then(|verdict| subject.flowed(verdict));
        if strictest.offer(opinion) {
            culprits.take_spare();
        }
    }

    let opinion = strictest.opinion();
    quote(tables, opinion, eval, &mut culprits.current)?;
    let contract = subject.contract;
    let dispatches = contract.filter(|_| subject.says(CONTRACT_DISPATCHES));
    Ok(Judged {
        opinion,
        dispatches,
    })
}

/// Whether a rule that applies to the tool asks what the call does, or what was read before.
fn asks_of_session(tables: &Tables<'_>, asked: Asked<'_>) -> Result<bool, Corrupt> {
    for aim in asked.aims.iter().filter(|aim| aim.once) {
        if at(tables.dimensions, aim.dimension)?.view == ViewKind::Session {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where the tool of a call stands.
enum Standing<'g> {
    /// In the pinned set, at this index.
    Listed(usize, &'g Tool),
    /// Nothing was ever pinned; known by this conversation.
    Unlisted,
    /// Not in the pinned set.
    Unknown,
}

/// Finds the tool, and notes it where nothing is pinned. Leaves the tool's key in the
/// scratch.
fn standing<'g>(
    policy: &Policy,
    pins: &'g Pins,
    conversation: &mut Conversation,
    this: &CallAttempt<'_>,
) -> Result<Standing<'g>, Corrupt> {
    // New pins since the last call: counters for them, in the order of the gate.
    for tool in pins.tools().iter().skip(conversation.attempts.len()) {
        conversation.attempts.push(Attempts::new(tool.link.history));
    }
    let key = &mut conversation.scratch.key;
    write_tool_key(this.call.server, this.call.tool, key);
    if let Some((index, tool)) = pins.find(key)? {
        return Ok(Standing::Listed(index, tool));
    }
    // What stands behind a tool that dispatches is not listed, nor what is no tool: it is known
    // by its name.
    if pins.any_listed() && this.outer.is_none() && !requests::is_request(this.call.tool) {
        return Ok(Standing::Unknown);
    }
    if !conversation.unlisted.contains_key(key.as_str()) {
        if conversation.unlisted.len() >= MAX_UNLISTED {
            return Ok(Standing::Unknown);
        }
        let tool = policy.link_name(this.call.server, this.call.tool)?;
        let attempts = Attempts::new(tool.link.history);
        conversation.unlisted.insert(key.clone(), (tool, attempts));
    }
    Ok(Standing::Unlisted)
}

/// The call that is judged, and what is known of its tool.
struct Subject<'s, 'a> {
    tables: &'a Tables<'a>,
    this: &'s CallAttempt<'a>,
    /// The tool, if it is pinned or nothing ever was.
    known: Option<&'s Tool>,
    /// It is in the pinned set, or there is none.
    pinned: bool,
    contract: Option<&'a Contract>,
    asked: Asked<'s>,
    heuristics: Option<&'s Heuristics>,
}

/// Attempts of the tool, this one among them.
struct Counted<'s> {
    /// Those of this conversation; `None`: the tool is not known.
    own: Option<&'s Attempts>,
    /// Those of all that share the tally. `Some(None)`: they cannot be counted.
    shared: Option<Option<&'s Attempts>>,
}

impl Counted<'_> {
    /// Attempts within a window of milliseconds; the larger of both numbers.
    fn within(&self, window: u64, now_ms: u64) -> u64 {
        let own = self.own.map_or(1, |own| own.within(window, now_ms));
        let shared = self.shared.flatten();
        shared.map_or(own, |shared| own.max(shared.within(window, now_ms)))
    }
}

impl<'s, 'a> Subject<'s, 'a> {
    /// Whether a contract speaks of the tool, and says that.
    fn says(&self, flag: u32) -> bool {
        self.contract
            .is_some_and(|contract| contract.flags.get() & flag != 0)
    }

    /// Whether the contract's sink gate looks at where a call goes: the contract says so, and
    /// speaks for this tool.
    fn is_gated(&self) -> bool {
        self.says(CONTRACT_EXFILTRATING) && self.known.is_none_or(|tool| !tool.foreign)
    }

    /// What the heuristics say; they only speak where no contract does.
    fn derived(&self) -> Option<&'s Derived> {
        self.known?.derived.as_ref()
    }

    /// The arguments through which the tool sends data out; `None` if it does not.
    fn sinks(&self) -> Result<Option<SinkPaths<'s>>, Corrupt>
    where
        'a: 's,
    {
        Ok(match self.contract {
            Some(contract) if self.is_gated() => {
                let sinks = slice(self.tables.sinks, &contract.sinks)?;
                Some(SinkPaths::Declared(sinks))
            }
            _ => None,
        })
    }

    /// The arguments that the schema shows to say where something goes.
    fn derived_sinks(&self) -> Option<SinkPaths<'s>> {
        let derived = self.derived().filter(|derived| !derived.sinks.is_empty());
        derived.map(|derived| SinkPaths::Derived(&derived.sinks))
    }

    /// What the tool does, as far as it is known before the call.
    fn tool_effects(&self) -> Option<&'s ToolEffects> {
        self.known.map(|tool| &tool.effects)
    }

    /// Whether the call's own arguments say more of what it does.
    fn needs_arguments(&self) -> bool {
        self.tool_effects()
            .is_some_and(ToolEffects::needs_arguments)
    }

    /// What the call does; `None`: nothing could be told.
    fn effects(&self, arguments: &TopArguments<'_>) -> Option<Effects> {
        self.tool_effects()?.of_call(self.this.call.tool, arguments)
    }

    /// Whether the defaults for effects have a say: guesses are on, or a contract names
    /// effects. Where the user's contract decides about calls of the tool they are silent, but
    /// for one that says where calls go or has each asked about: after untrusted text, what
    /// a call carries and whether anybody asked for it are questions of their own.
    fn by_effect(&self, tainted: bool) -> bool {
        let asks = self.says(CONTRACT_EXFILTRATING | CONTRACT_CONFIRM);
        (!self.says(CONTRACT_DECIDES) || (tainted && asks))
            && self.tool_effects().is_some_and(|effects| {
                effects.are_told() && !effects.is_reading(self.this.call.tool)
            })
    }

    /// What the contract says of paths.
    fn places(&self) -> Result<Places<'a>, Corrupt> {
        Ok(Places {
            resolve_symlinks: self.says(CONTRACT_RESOLVE_SYMLINKS),
            base: match self.contract {
                Some(contract) => self.tables.text(&contract.base)?,
                None => "",
            },
        })
    }

    fn constraints(&self) -> Result<&'a [Constraint], Corrupt> {
        match self.contract {
            Some(contract) => slice(self.tables.constraints, &contract.constraints),
            None => Ok(&[]),
        }
    }

    /// Stage *malformed*: reads the arguments to the last byte, and has the tests look at
    /// each leaf. Nothing counts before that.
    fn read(
        &self,
        limits: &Limits,
        json: &mut JsonScratch,
        walk: &mut WalkScratch,
        listing: Listing<'_>,
        evaluator: &mut Evaluator<'_, '_>,
    ) -> Result<Result<&'a str, Malformed>, Corrupt> {
        let arguments = self.this.call.arguments.unwrap_or(b"{}");
        let walked = match Reader::new(arguments, limits, json) {
            Ok(reader) => walk::walk(self.tables, reader, walk, listing, evaluator),
            Err(malformed) => Err(WalkError::Malformed(malformed)),
        };
        match walked {
            Ok(arguments) => Ok(Ok(arguments)),
            Err(WalkError::Malformed(malformed)) => Ok(Err(malformed)),
            Err(WalkError::Corrupt) => Err(Corrupt),
        }
    }

    /// Counts the attempt, if it is a new one. `key` is the tool's where it is known.
    fn count<'c>(
        &self,
        own: Option<&'c mut Attempts>,
        together: Option<&'c mut Together>,
        key: &str,
    ) -> Counted<'c> {
        let CallAttempt {
            attempt, now_ms, ..
        } = *self.this;
        let first = attempt == Attempt::First;
        let own = own.map(|own| {
            if first {
                own.note(now_ms);
            }
            &*own
        });
        let counted = self.known.filter(|tool| tool.is_counted());
        let shared = together
            .zip(counted)
            .map(|(together, tool)| together.attempt(key, first, tool.link.history, now_ms));
        Counted { own, shared }
    }

    /// Stage *pinning*: the tool is in the set that was accepted, as it was accepted.
    fn pinning(&self) -> Option<Opinion<'a>> {
        let stage = Stage::Pinning;
        match self.known.map(|tool| tool.status) {
            Some(Status::Changed) => Some(Opinion::new(Verdict::Deny, stage, Cause::Changed)),
            _ if !self.pinned => Some(Opinion::new(Verdict::Ask, stage, Cause::Unpinned)),
            _ => None,
        }
    }

    /// Stage *budget*: the attempts can be counted, and none is one too many. A call that is
    /// made again after an approval has been counted, and passed, before.
    fn budget(&self, counted: &Counted<'_>) -> Result<Option<Opinion<'a>>, Corrupt> {
        let deny = |cause| Some(Opinion::new(Verdict::Deny, Stage::Budget, cause));
        if matches!(counted.shared, Some(None)) {
            return Ok(deny(Cause::Uncounted));
        }
        if self.this.attempt != Attempt::First {
            return Ok(None);
        }
        let counters = [counted.own, counted.shared.flatten()];
        for counter in counters.into_iter().flatten() {
            if let Some(cause) = self.exceeded(counter)? {
                return Ok(deny(cause));
            }
        }
        Ok(None)
    }

    /// The limit that attempts exceed.
    fn exceeded(&self, counter: &Attempts) -> Result<Option<Cause<'a>>, Corrupt> {
        let (limit, at) = match (self.contract, self.derived()) {
            (Some(contract), _) => (contract.max_calls.get(), Some(&contract.max_calls_at)),
            (None, Some(derived)) => (derived.max_calls.map_or(u64::MAX, u64::from), None),
            (None, None) => (u64::MAX, None),
        };
        if counter.total() > limit {
            return Ok(Some(Cause::MaxCalls { limit, at }));
        }
        let Some(contract) = self.contract else {
            return Ok(None);
        };
        let rates = slice(self.tables.rates, &contract.rates)?;
        let exceeded = counter.exceeded(rates, self.this.now_ms);
        Ok(exceeded.map(Cause::Rate))
    }

    /// Stage *rule*: the first rule that matches, or the default. `None` where the policy
    /// has no rules section, or nobody wrote that the call may pass. An ask is lifted by a
    /// human's approval of this one call.
    fn rule(
        &self,
        raised: &mut Raised,
        rows: &mut RowScratch,
    ) -> Result<Option<Opinion<'a>>, Corrupt> {
        let tables = self.tables;
        let meta = tables.meta()?;
        if meta.flags.get() & META_HAS_RULES == 0 {
            return Ok(None);
        }
        let destructive = self.known.is_some_and(|tool| tool.destructive);
        // The defaults speak of tools; those for other requests are rules.
        let (fallback, written) = if requests::is_request(self.this.call.tool) {
            (Verdict::Allow, &meta.on_unknown_at)
        } else if destructive {
            (meta.on_destructive_hint, &meta.on_destructive_hint_at)
        } else {
            (meta.on_unknown, &meta.on_unknown_at)
        };
        let RuleVerdict {
            verdict,
            rule,
            bounded,
        } = rows::judge(tables, self.asked.groups, raised, rows, fallback)?;
        let cause = match rule {
            NONE if verdict == Verdict::Allow => return Ok(None),
            NONE => Cause::Fallback {
                destructive,
                at: written,
                bounded,
            },
            index => Cause::Rule {
                rule: at(tables.rules, index)?,
                index,
                bounded,
                carried: None,
            },
        };
        let lifted = self.approved_once() && verdict == Verdict::Ask;
        let verdict = if lifted { Verdict::Allow } else { verdict };
        Ok(Some(Opinion::new(verdict, Stage::Rule, cause)))
    }

    /// Whether a human has approved exactly this call.
    fn approved_once(&self) -> bool {
        self.this.attempt == Attempt::ApprovedOnce
    }

    /// Stage *sink_gate*: what it looks at.
    fn sink_gate<'g>(
        &'g self,
        sinks: SinkPaths<'g>,
        arguments: &'g str,
        approvals: &'g Approvals,
        provenance: &'g Provenance,
    ) -> Result<SinkGate<'g, 'a>, Corrupt> {
        let CallAttempt { call, outer, .. } = *self.this;
        Ok(SinkGate {
            tables: self.tables,
            arguments,
            sinks,
            trusted: match self.contract.map(|contract| contract.trusted.get()) {
                None | Some(NONE) => None,
                Some(index) => Some(at(self.tables.literal_sets, index)?),
            },
            on_tainted: on_tainted(self.contract),
            optional: self.says(CONTRACT_OPTIONAL_SINKS),
            approvals,
            server: call.server,
            tool: outer.unwrap_or(call.tool),
            within: outer.map(|_| call.tool),
            provenance,
        })
    }

    /// Stage *sink_gate*: what its verdict means for the call.
    fn sent(&self, verdict: SinkVerdict) -> Option<Opinion<'a>> {
        let at = self.contract.map(|contract| &contract.at);
        let (verdict, found) = match verdict {
            SinkVerdict::Trusted => return None,
            SinkVerdict::NoDestination if self.approved_once() => return None,
            SinkVerdict::NoDestination => (Verdict::Ask, Found::Cause(Cause::NoDestination { at })),
            SinkVerdict::Unproven => (Verdict::Ask, Found::Cause(Cause::Unproven { at })),
            SinkVerdict::Observed => (Verdict::Ask, Found::Observed(at)),
            SinkVerdict::Tainted(verdict) => (verdict, Found::Tainted(at)),
        };
        Some(Opinion {
            verdict,
            stage: Stage::SinkGate,
            found,
        })
    }

    /// Stage *default*: a human decides on every call of this tool.
    fn confirm(&self) -> Option<Opinion<'a>> {
        let contract = self.contract.filter(|_| self.says(CONTRACT_CONFIRM))?;
        if self.approved_once() {
            return None;
        }
        let cause = Cause::Confirm { at: &contract.at };
        Some(Opinion::new(Verdict::Ask, Stage::Default, cause))
    }

    /// Stage *effect*: what it looks at.
    fn flow<'f>(
        &'f self,
        effects: Option<Effects>,
        vouched: bool,
        session: &'f Session,
        arguments: &'f str,
        approvals: &'f Approvals,
        provenance: &'f Provenance,
    ) -> Result<Flow<'f, 'a>, Corrupt> {
        let CallAttempt { call, outer, .. } = *self.this;
        let meta = self.tables.meta()?;
        Ok(Flow {
            tables: self.tables,
            meta,
            arguments,
            effects,
            session,
            heuristics: self.heuristics,
            me: match meta.me.get() {
                NONE => None,
                index => Some(at(self.tables.literal_sets, index)?),
            },
            gated: self.is_gated(),
            vouched,
            by_user: self.says(CONTRACT_DECIDES),
            approvals,
            provenance,
            server: call.server,
            tool: outer.unwrap_or(call.tool),
        })
    }

    /// Stage *effect*: what its verdict means for the call.
    fn flowed(&self, verdict: FlowVerdict) -> Option<Opinion<'a>> {
        let FlowVerdict {
            verdict,
            effect,
            objection,
            one_target,
        } = verdict;
        if verdict == Verdict::Allow || (verdict == Verdict::Ask && self.approved_once()) {
            return None;
        }
        // A target alone is what the sink gate asks about, and is approved as there.
        let asked_alone = one_target && verdict == Verdict::Ask;
        let found = match objection {
            Objection::Tainted => Found::Tainted(None),
            Objection::Read if asked_alone => Found::Tainted(None),
            Objection::Observed if asked_alone => Found::Observed(None),
            Objection::Unproven if asked_alone => Found::Cause(Cause::Unproven { at: None }),
            _ => Found::Effect(effect, objection),
        };
        let stage = match found {
            Found::Effect(..) => Stage::Effect,
            _ => Stage::SinkGate,
        };
        Some(Opinion {
            verdict,
            stage,
            found,
        })
    }
}

/// Stage *constraint*: the first one, in the contract's order, that a leaf fails.
fn constraint<'a>(
    constraints: &'a [Constraint],
    eval: &EvalScratch,
) -> Result<Option<Opinion<'a>>, Corrupt> {
    let Some(index) = eval.failed_constraint else {
        return Ok(None);
    };
    let constraint = at(constraints, index)?;
    let cause = Cause::Constraint(constraint);
    Ok(Some(Opinion::new(Verdict::Deny, Stage::Constraint, cause)))
}

/// The verdict for a tainted destination.
fn on_tainted(contract: Option<&Contract>) -> Verdict {
    contract.map_or(Verdict::Deny, |contract| contract.on_tainted)
}

/// The strictest opinion so far; among equals the first.
#[derive(Default)]
struct Strictest<'a>(Option<Opinion<'a>>);

impl<'a> Strictest<'a> {
    /// Takes an opinion if it is stricter than all so far. Whether it was.
    fn offer(&mut self, opinion: Option<Opinion<'a>>) -> bool {
        let Some(opinion) = opinion else { return false };
        let stricter = self.0.is_none_or(|best| opinion.verdict > best.verdict);
        if stricter {
            self.0 = Some(opinion);
        }
        stricter
    }

    /// Whether the strictest opinion is laxer than that.
    fn is_below(&self, verdict: Verdict) -> bool {
        self.0.is_none_or(|best| best.verdict < verdict)
    }

    /// Where nobody has an objection, nor a rule that allows, the call may pass.
    fn opinion(self) -> Opinion<'a> {
        self.0
            .unwrap_or_else(|| Opinion::new(Verdict::Allow, Stage::Default, Cause::Nothing))
    }
}

/// Leaves in the culprit what the reason of that opinion quotes. The sink gate has left
/// there what its own opinion is about.
fn quote(
    tables: &Tables<'_>,
    opinion: Opinion<'_>,
    eval: &EvalScratch,
    culprit: &mut Culprit,
) -> Result<(), Corrupt> {
    match opinion.found {
        Found::Cause(Cause::Constraint(constraint)) => {
            let param = tables.text(at(tables.paths, constraint.path.get())?)?;
            culprit.set(param, &eval.failed_value);
        }
        _ if matches!(opinion.stage, Stage::SinkGate | Stage::Effect) => {}
        Found::Cause(Cause::Rule { index, .. }) if opinion.verdict != Verdict::Allow => {
            culprit.clear();
            carried::quote(tables, eval, index, culprit)?;
        }
        _ => culprit.clear(),
    }
    Ok(())
}
