//! The contract of a verdict, in code that is plain, slow and obviously right: no
//! plan, no automata, every way of picking leaves tried one by one. What the compiler
//! and the gate decide is compared with it.
//!
//! It may not share decision code with the runtime. Functions from one text to
//! another come through [`shared`].

#![allow(dead_code)]

pub mod condition;
pub mod dispatch;
pub mod flow;
pub mod glob;
pub mod json;
pub mod leaves;
pub mod number;
pub mod paths;
pub mod provenance;
pub mod shared;
pub mod sinks;
pub mod text;

use bouncer_compiler::policy::{
    Contract, Layer, Outputs, Path, Policy, Pos, Provenance, Quantifier, Rule, RuleSet, Scalar,
    Segment, Subject, TextForm,
};
use bouncer_engine::gate::Attempt;
use bouncer_engine::provenance::{Echo, Read};
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::{Effect, Effects, Label, Stage, Verdict};
use condition::{Judge, Picks};
use json::Json;
use leaves::Leaf;
use regex::Regex;
use shared::Seen;
use std::collections::{HashMap, HashSet};

/// A call to judge.
#[derive(Clone, Copy, Debug)]
pub struct RefCall<'a> {
    pub server: Option<&'a str>,
    pub tool: &'a str,
    pub arguments: Option<&'a [u8]>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefDecision {
    pub verdict: Verdict,
    pub stage: Stage,
    /// The deciding rule, if one decided.
    pub rule: Option<usize>,
    /// Where the deciding part was written.
    pub at: Option<Pos>,
    /// For an ask of the sink gate: parameter and destination.
    pub question: Option<(String, String)>,
}

impl RefDecision {
    const fn new(verdict: Verdict, stage: Stage, at: Option<Pos>) -> Self {
        Self {
            verdict,
            stage,
            rule: None,
            at,
            question: None,
        }
    }
}

/// A tool of a server; servers without a name have `None`.
type ToolId = (Option<String>, String);

/// What a contract says of outputs, with what it leaves unsaid of their text.
fn said_outputs(contract: Contract) -> Option<Outputs> {
    let layer = contract.layer;
    let text = |outputs: &Outputs| match outputs.fields_in_text(layer) {
        true => TextForm::Json,
        false => TextForm::Prose,
    };
    contract.outputs.map(|outputs| Outputs {
        text: Some(text(&outputs)),
        ..outputs
    })
}

fn can_vouch(outputs: &Outputs) -> bool {
    let mut fields = outputs.fields.iter();
    outputs.label == Label::Trusted || fields.any(|field| field.label == Label::Trusted)
}

fn tool_id(server: Option<&str>, tool: &str) -> ToolId {
    (server.map(str::to_owned), tool.to_owned())
}

/// Requests that are judged under their method's name, though they call no tool.
fn is_request(name: &str) -> bool {
    matches!(
        name,
        "resources/read"
            | "resources/subscribe"
            | "prompts/get"
            | "completion/complete"
            | "sampling/createMessage"
            | "elicitation/create"
    )
}

/// `<server>__<tool>`, or the tool's name where no server is known.
pub fn full_name(server: Option<&str>, tool: &str) -> String {
    let server = server.filter(|_| !is_request(tool));
    server.map_or_else(|| tool.to_owned(), |server| format!("{server}__{tool}"))
}

/// A policy, the pinned tools and one conversation under it.
pub struct Reference {
    policy: Policy,
    regexes: HashMap<String, Regex>,
    any_pin: bool,
    pinned: HashMap<ToolId, ToolDefinition>,
    changed: HashSet<ToolId>,
    /// By server: what the names of its tools begin with.
    prefixes: HashMap<Option<String>, String>,
    attempts: HashMap<ToolId, Vec<u64>>,
    approvals: HashSet<(String, String, String)>,
    seen: Seen,
    read: Read,
    /// Effects that the user's messages name; `None` for one that is not understood.
    asked: Vec<Option<Effects>>,
    /// What calls carried, of tools whose results may vouch.
    sent: HashMap<ToolId, Echo>,
    /// The tool around the call that is looked at, if that is a call within a call.
    outer: Option<String>,
}

impl Reference {
    /// A gate with nothing pinned and a fresh conversation.
    ///
    /// # Panics
    /// If a regex of the policy does not compile.
    pub fn new(policy: &Policy) -> Self {
        let mut regexes = HashMap::new();
        let mut add = |pattern: &str| {
            regexes.entry(pattern.to_owned()).or_insert_with(|| {
                Regex::new(pattern).unwrap_or_else(|error| panic!("`{pattern}`: {error}"))
            });
        };
        for rule in policy.rules.iter().flat_map(|rules| &rules.rules) {
            condition::each_test(&rule.condition, &mut |test| {
                if let bouncer_compiler::policy::Op::Matches(pattern) = &test.op {
                    add(&pattern.regex);
                }
            });
        }
        for contract in &policy.contracts {
            for pattern in &contract.arg_patterns {
                add(&pattern.pattern.regex);
            }
        }
        Self {
            policy: without_each(policy),
            regexes,
            any_pin: false,
            pinned: HashMap::new(),
            changed: HashSet::new(),
            prefixes: HashMap::new(),
            attempts: HashMap::new(),
            approvals: HashSet::new(),
            seen: Seen::default(),
            read: Read::default(),
            asked: Vec::new(),
            sent: HashMap::new(),
            outer: None,
        }
    }

    /// Pins `tools` as the tools of `server`. Tools that the lock lacks stay unpinned,
    /// tools that differ from it are changed.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        self.any_pin = true;
        let shared = shared::common_prefix(tools);
        self.prefixes.insert(server.map(str::to_owned), shared);
        let same_server = |id: &ToolId| id.0.as_deref() == server;
        self.pinned.retain(|id, _| !same_server(id));
        self.changed.retain(|id| !same_server(id));
        for tool in tools {
            let id = tool_id(server, &tool.name);
            match lock {
                None => {
                    self.pinned.insert(id, tool.clone());
                }
                Some(lock) => {
                    let locked = lock.tools.iter().find(|locked| {
                        locked.server.as_deref() == server && locked.definition.name == tool.name
                    });
                    if let Some(locked) = locked {
                        if locked.definition.digest != tool.digest {
                            self.changed.insert(id.clone());
                        }
                        self.pinned.insert(id, tool.clone());
                    }
                }
            }
        }
    }

    /// Notes a later listing: what differs from the pinned definition is changed.
    pub fn observe(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        for tool in tools {
            let id = tool_id(server, &tool.name);
            if self
                .pinned
                .get(&id)
                .is_some_and(|pinned| pinned.digest != tool.digest)
            {
                self.changed.insert(id);
            }
        }
    }

    /// Records what a call returned.
    pub fn record(&mut self, server: Option<&str>, tool: &str, result: &serde_json::Value) {
        // The labels of a changed tool were chosen for another definition.
        let id = tool_id(server, tool);
        let known = !self.any_pin || (self.pinned.contains_key(&id) && !self.changed.contains(&id));
        if !known {
            let read = self.seen.record(result, None, None);
            self.note(read);
            return;
        }
        let outputs = self
            .contract(server, tool)
            .and_then(|found| said_outputs(found.contract));
        let by_name = self.policy.heuristics.as_ref().map(|all| &all.labels);
        let echo = self.sent.entry(id).or_default();
        let read = self
            .seen
            .record_answer(result, outputs.as_ref(), by_name, echo);
        if outputs.is_some_and(|outputs| can_vouch(&outputs)) {
            echo.answered(result);
        }
        self.note(read);
    }

    fn note(&mut self, read: Read) {
        self.read.untrusted |= read.untrusted;
        self.read.private |= read.private;
    }

    /// Records what the user typed.
    pub fn record_user(&mut self, message: &str) {
        let own = self.seen.record_typed(message);
        let heuristics = self.policy.heuristics.as_ref();
        let named = own.zip(heuristics);
        let named = named.and_then(|(own, heuristics)| heuristics.asked.named(&own));
        self.asked.push(named);
    }

    /// Whether the user's words name one of these effects; `None`: nobody can tell.
    fn named(&self, effects: &[Effect]) -> Option<bool> {
        let needs_a_word =
            |effect: &&Effect| Effects::HARD.contains(**effect) && **effect != Effect::Act;
        let effects: Vec<&Effect> = effects.iter().filter(needs_a_word).collect();
        let says = |named: &Effects| effects.iter().any(|effect| named.contains(**effect));
        if effects.is_empty() || self.asked.iter().flatten().any(says) {
            return Some(true);
        }
        let understood = self.asked.iter().all(Option::is_some);
        (!self.asked.is_empty() && understood).then_some(false)
    }

    /// What a call does; `None`: nobody can tell.
    fn effects(&self, call: &RefCall<'_>, arguments: &Json) -> Option<Vec<Effect>> {
        let id = tool_id(call.server, call.tool);
        let found = self.contract(call.server, call.tool);
        let contract = found.filter(|found| !found.derived);
        let contract = contract.map(|found| found.contract);
        if self.any_pin && self.outer.is_none() && !self.pinned.contains_key(&id) {
            return None;
        }
        if let Some(contract) = &contract
            && contract.effects_complete
        {
            return Some(contract.effects.iter().collect());
        }
        let mut all = contract.map_or(Effects::NONE, |contract| contract.effects);
        if self.policy.heuristics.is_some() {
            let schema = self.pinned.get(&id).and_then(|tool| tool.input_schema());
            all = all.union(shared::effects(
                &self.prefix(&id),
                call.tool,
                schema,
                arguments,
            ));
        }
        (!all.is_empty()).then(|| all.iter().collect())
    }

    /// What the names of all tools of a tool's server begin with.
    fn prefix(&self, id: &ToolId) -> String {
        self.prefixes.get(&id.0).cloned().unwrap_or_default()
    }

    /// Records text that reached the agent by another way.
    pub fn record_untrusted(&mut self, value: &serde_json::Value) {
        let read = self.seen.record(value, None, None);
        self.note(read);
    }

    /// Remembers a human's approval of one destination. `tool` is the full name.
    pub fn approve(&mut self, tool: &str, param: &str, destination: &str) {
        self.approvals
            .insert((tool.to_owned(), param.to_owned(), destination.to_owned()));
    }

    /// Judges a call, and the calls within it: the strictest verdict, among equals that of
    /// the outer call.
    pub fn decide(&mut self, call: &RefCall<'_>, attempt: Attempt, now_ms: u64) -> RefDecision {
        self.note_sent(call);
        let mut strictest = self.decide_one(call, attempt, now_ms);
        if strictest.stage == Stage::Malformed {
            return strictest;
        }
        let (mut tool, mut arguments) = (call.tool.to_owned(), call.arguments.map(<[u8]>::to_vec));
        let outermost = tool.clone();
        for depth in 0..=dispatch::MOST {
            self.outer = (depth > 0).then(|| outermost.clone());
            let found = self.contract(call.server, &tool);
            let Some(dispatches) = found.and_then(|found| found.contract.dispatches) else {
                break;
            };
            let inner = dispatch::inner(&dispatches, arguments.as_deref());
            let Some(inner) = inner.filter(|_| depth < dispatch::MOST) else {
                if strictest.verdict < Verdict::Deny {
                    strictest =
                        RefDecision::new(Verdict::Deny, Stage::Constraint, Some(dispatches.at));
                }
                break;
            };
            (tool, arguments) = inner;
            self.outer = Some(outermost.clone());
            let within = RefCall {
                server: call.server,
                tool: &tool,
                arguments: arguments.as_deref(),
            };
            let decision = self.decide_one(&within, attempt, now_ms);
            if decision.verdict > strictest.verdict {
                strictest = decision;
            }
        }
        self.outer = None;
        strictest
    }

    /// Remembers what a call of a tool whose results may vouch carries.
    fn note_sent(&mut self, call: &RefCall<'_>) {
        let outputs = self
            .contract(call.server, call.tool)
            .and_then(|found| said_outputs(found.contract));
        let id = tool_id(call.server, call.tool);
        let known = !self.any_pin || self.pinned.contains_key(&id);
        if known && outputs.is_some_and(|outputs| can_vouch(&outputs)) {
            let echo = self.sent.entry(id);
            echo.or_default().called(call.arguments.unwrap_or(b"{}"));
        }
    }

    fn decide_one(&mut self, call: &RefCall<'_>, attempt: Attempt, now_ms: u64) -> RefDecision {
        let arguments = match call.arguments {
            None => Some(Json::Object(Vec::new())),
            Some(bytes) => json::arguments(bytes),
        };
        let Some(arguments) = arguments else {
            return RefDecision::new(Verdict::Deny, Stage::Malformed, None);
        };
        if attempt == Attempt::First && self.is_counted(call) {
            self.attempts
                .entry(tool_id(call.server, call.tool))
                .or_default()
                .push(now_ms);
        }
        // Nobody is asked twice about a call that a human has approved as a whole.
        let approved = attempt == Attempt::ApprovedOnce;
        let lift = |decision: RefDecision| match decision.stage {
            Stage::Rule if approved && decision.verdict == Verdict::Ask => Some(RefDecision {
                verdict: Verdict::Allow,
                ..decision
            }),
            Stage::Effect if approved && decision.verdict == Verdict::Ask => None,
            Stage::SinkGate
                if approved && decision.verdict == Verdict::Ask && decision.question.is_none() =>
            {
                None
            }
            _ => Some(decision),
        };
        let found = self.contract(call.server, call.tool);
        let effects = self.effects(call, &arguments);
        let by_rule = self
            .policy
            .rules
            .as_ref()
            .and_then(|rules| self.rule(rules, call, &arguments, effects.as_deref(), now_ms));
        let decided = by_rule
            .as_ref()
            .is_some_and(|decision| decision.rule.is_some() && !self.policy.built_in);
        let stages = [
            self.pinning(call),
            found
                .as_ref()
                .filter(|_| attempt == Attempt::First && self.is_counted(call))
                .and_then(|found| self.budget(found, call, now_ms)),
            found
                .as_ref()
                .and_then(|found| self.constraint(&found.contract, &arguments)),
            by_rule.and_then(lift),
            found
                .as_ref()
                .and_then(|found| self.sink_gate(found, call, &arguments))
                .and_then(lift),
            found
                .as_ref()
                .filter(|found| found.contract.confirm && !approved)
                .map(|found| {
                    RefDecision::new(Verdict::Ask, Stage::Default, found.at(found.contract.at))
                }),
            // Where a rule or the user's contract decides, this layer is silent.
            (!decided)
                .then(|| self.flow(call, found.as_ref(), &arguments, effects.as_deref()))
                .flatten()
                .filter(|decision| !(approved && decision.verdict == Verdict::Ask)),
        ];
        let mut strictest = RefDecision::new(Verdict::Allow, Stage::Default, None);
        // From the last stage to the first, so that the earlier one wins among equals.
        for decision in stages.into_iter().rev().flatten() {
            if decision.verdict >= strictest.verdict {
                strictest = decision;
            }
        }
        strictest
    }

    fn pinning(&self, call: &RefCall<'_>) -> Option<RefDecision> {
        let id = tool_id(call.server, call.tool);
        let unlisted = self.outer.is_some() && !self.pinned.contains_key(&id);
        if !self.any_pin || unlisted {
            None
        } else if self.changed.contains(&id) {
            Some(RefDecision::new(Verdict::Deny, Stage::Pinning, None))
        } else if !self.pinned.contains_key(&id) {
            Some(RefDecision::new(Verdict::Ask, Stage::Pinning, None))
        } else {
            None
        }
    }

    /// The contract in force for a tool: a user's before a pack's, `<server>__<tool>`
    /// before the bare name, and what heuristics derive where there is none.
    fn contract(&self, server: Option<&str>, tool: &str) -> Option<Found> {
        let full = full_name(server, tool);
        for layer in [Layer::User, Layer::Pack] {
            for key in [full.as_str(), tool] {
                let found = self
                    .policy
                    .contracts
                    .iter()
                    .find(|contract| contract.layer == layer && contract.key == key);
                if let Some(contract) = found {
                    let mut contract = contract.clone();
                    let foreign = self.shown_instead(server, tool, &contract);
                    if foreign.is_some() {
                        contract.exfiltrating = false;
                        contract.outputs = None;
                        contract.effects = contract.effects.with(Effect::Send);
                    }
                    return Some(Found {
                        contract,
                        foreign,
                        derived: false,
                    });
                }
            }
        }
        let unlisted;
        let definition = match self.pinned.get(&tool_id(server, tool)) {
            Some(definition) => definition,
            // Where nothing was ever listed, a tool is known by its name alone.
            None if !self.any_pin || self.outer.is_some() => {
                unlisted = ToolDefinition::from_json(serde_json::json!({ "name": tool })).ok()?;
                &unlisted
            }
            None => return None,
        };
        let derived = self.policy.heuristics.as_ref()?.derive(definition);
        let at = Pos::default();
        Some(Found {
            contract: Contract {
                key: tool.to_owned(),
                layer: Layer::Pack,
                at,
                exfiltrating: false,
                on_tainted: Verdict::Deny,
                sinks: Vec::new(),
                optional_sinks: false,
                trusted: Vec::new(),
                write_params: Vec::new(),
                prefixes: Vec::new(),
                resolve_symlinks: false,
                base: None,
                arg_patterns: Vec::new(),
                confirm: false,
                max_calls: derived.max_calls.map(|count| (u64::from(count), at)),
                rates: Vec::new(),
                outputs: None,
                dispatches: None,
                effects: Effects::NONE,
                effects_complete: false,
                decides: false,
            },
            foreign: None,
            derived: true,
        })
    }

    /// Where a listed tool sends to, if a pack's contract of its name is about another server's
    /// tool: one whose schema lacks some of the contract's sinks, and has none of them or also
    /// others.
    fn shown_instead(
        &self,
        server: Option<&str>,
        tool: &str,
        contract: &Contract,
    ) -> Option<Vec<Vec<String>>> {
        let heuristics = self.policy.heuristics.as_ref()?;
        let definition = self.pinned.get(&tool_id(server, tool))?;
        let properties = definition.input_schema()?.get("properties")?.as_object()?;
        if contract.layer != Layer::Pack || !contract.exfiltrating || properties.is_empty() {
            return None;
        }
        let same = |a: &String, b: &String| a.eq_ignore_ascii_case(b);
        let keys = |path: &Path| -> Vec<String> {
            let segments = path.0.iter();
            segments
                .filter_map(|segment| match segment {
                    Segment::Key(key) => Some(key.clone()),
                    Segment::Index(_) | Segment::Each => None,
                })
                .collect()
        };
        let paths: Vec<Vec<String>> = contract.sinks.iter().map(|s| keys(&s.path)).collect();
        let here: Vec<Vec<String>> = paths
            .iter()
            .filter(|path| {
                properties
                    .keys()
                    .any(|name| path.first().is_some_and(|first| same(name, first)))
            })
            .cloned()
            .collect();
        let apart = |a: &[String], b: &[String]| a.iter().zip(b).any(|(a, b)| !same(a, b));
        let others: Vec<Vec<String>> = heuristics
            .derive(definition)
            .sinks
            .into_iter()
            .filter(|other| here.iter().all(|path| apart(path, other)))
            .collect();
        let foreign = here.len() < paths.len() && (here.is_empty() || !others.is_empty());
        foreign.then(|| here.into_iter().chain(others).collect())
    }

    /// Attempts are counted for tools that are pinned, or while nothing is: a server or
    /// a client that makes up names must not fill the memory. Calls of others end in
    /// "ask" without anything to approve.
    fn is_counted(&self, call: &RefCall<'_>) -> bool {
        !self.any_pin
            || self.outer.is_some()
            || self.pinned.contains_key(&tool_id(call.server, call.tool))
    }

    /// Attempts of the tool in the half-open window that ends now, this one included.
    fn calls(&self, call: &RefCall<'_>, window_ms: Option<u64>, now_ms: u64) -> usize {
        if !self.is_counted(call) {
            return 1;
        }
        self.attempts
            .get(&tool_id(call.server, call.tool))
            .into_iter()
            .flatten()
            .filter(|then| window_ms.is_none_or(|window| now_ms.saturating_sub(**then) < window))
            .count()
    }

    fn budget(&self, found: &Found, call: &RefCall<'_>, now_ms: u64) -> Option<RefDecision> {
        let deny = |at| Some(RefDecision::new(Verdict::Deny, Stage::Budget, found.at(at)));
        if let Some((most, at)) = found.contract.max_calls
            && self.calls(call, None, now_ms) as u64 > most
        {
            return deny(at);
        }
        for rate in &found.contract.rates {
            if self.calls(call, Some(rate.window_ms), now_ms) > rate.count as usize {
                return deny(rate.at);
            }
        }
        None
    }

    fn constraint(&self, contract: &Contract, arguments: &Json) -> Option<RefDecision> {
        let deny = |at| Some(RefDecision::new(Verdict::Deny, Stage::Constraint, Some(at)));
        let prefixes: Vec<String> = contract
            .prefixes
            .iter()
            .map(|prefix| prefix.prefix.clone())
            .collect();
        let confined = |leaf: &Leaf| {
            let text = leaf.text();
            !leaf.through_object
                && leaf.value != Scalar::Null
                && match &contract.base {
                    Some(base) => paths::within_based(&text, &prefixes, base).must,
                    None => paths::within(&text, &prefixes).must,
                }
                && (!contract.resolve_symlinks
                    || prefixes
                        .iter()
                        .any(|prefix| shared::within_resolved(&text, prefix)))
        };
        // An object is no value that a constraint could accept, an empty one neither.
        let satisfied = |path: &Path, holds: &dyn Fn(&Leaf) -> bool| {
            leaves::leaves(arguments, path).iter().all(holds)
                && !leaves::nodes(arguments, path)
                    .iter()
                    .any(|node| leaves::holds_object(node))
        };
        for param in &contract.write_params {
            if !prefixes.is_empty() && !satisfied(&param.path, &confined) {
                return deny(contract.prefixes[0].at);
            }
        }
        for pattern in &contract.arg_patterns {
            let regex = &self.regexes[&pattern.pattern.regex];
            // `null` is no value, whatever its text would match.
            let matches = |leaf: &Leaf| {
                !leaf.through_object && leaf.value != Scalar::Null && regex.is_match(&leaf.text())
            };
            if !satisfied(&pattern.path, &matches) {
                return deny(pattern.at);
            }
        }
        None
    }

    fn rule(
        &self,
        rules: &RuleSet,
        call: &RefCall<'_>,
        arguments: &Json,
        effects: Option<&[Effect]>,
        now_ms: u64,
    ) -> Option<RefDecision> {
        let name = full_name(call.server, call.tool);
        let applying: Vec<(usize, &Rule)> = rules
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| {
                rule.tools.iter().any(|glob| {
                    // No pattern is about what is no tool.
                    match is_request(call.tool) {
                        true => glob.pattern == name,
                        false => glob::matches(glob, &name),
                    }
                })
            })
            .collect();

        let mut leaves: HashMap<&Path, Vec<Leaf>> = HashMap::new();
        let mut picked: Vec<&Path> = Vec::new();
        for (_, rule) in &applying {
            condition::each_test(&rule.condition, &mut |test| {
                let (path, picks) = match &test.subject {
                    Subject::Arg(path, _) | Subject::Provenance(path) => {
                        (path, test.quantifier == Quantifier::Pick)
                    }
                    Subject::Count(path) => (path, false),
                    Subject::Calls { .. } | Subject::Session => return,
                };
                leaves
                    .entry(path)
                    .or_insert_with(|| leaves::leaves(arguments, path));
                if picks && !picked.contains(&path) {
                    picked.push(path);
                }
            });
        }

        let found = self.contract(call.server, call.tool);
        let judge = Judge {
            base: found
                .as_ref()
                .and_then(|found| found.contract.base.as_deref()),
            regexes: &self.regexes,
            leaves: &leaves,
            calls: &|window| self.calls(call, window, now_ms),
            provenance: &|text| self.comes_from(text),
            read: &|text| {
                let label = self.seen.classify(text);
                matches!(label, Some(Label::Untrusted | Label::Observed))
            },
            private: &|text| self.seen.carries_private(text),
            effects,
            read_untrusted: self.read.untrusted,
            read_private: self.read.private,
            named: effects.and_then(|effects| self.named(effects)),
        };
        let destructive = self
            .pinned
            .get(&tool_id(call.server, call.tool))
            .is_some_and(|tool| {
                tool.destructive_hint == Some(true) && tool.read_only_hint != Some(true)
            });
        let fallback = if destructive {
            rules.on_destructive_hint
        } else {
            rules.on_unknown
        };
        let first_match = |picks: &Picks<'_>| {
            for (index, rule) in &applying {
                let restrictive = rule.action != Verdict::Allow;
                if judge.holds(&rule.condition, picks, restrictive, false) {
                    return (rule.action, *index);
                }
            }
            // What is no tool is let through where no rule speaks of it.
            let otherwise = match is_request(call.tool) {
                true => Verdict::Allow,
                false => fallback.action,
            };
            (otherwise, usize::MAX)
        };

        let mut strictest: Option<(Verdict, usize)> = None;
        for_each_pick(&picked, &leaves, &mut Picks::new(), &mut |picks| {
            let (verdict, index) = first_match(picks);
            let stricter = strictest.is_none_or(|(other, other_index)| {
                verdict > other || (verdict == other && index < other_index)
            });
            if stricter {
                strictest = Some((verdict, index));
            }
        });
        let (verdict, index) = strictest.unwrap();
        match rules.rules.get(index) {
            Some(rule) => Some(RefDecision {
                rule: Some(index),
                ..RefDecision::new(verdict, Stage::Rule, Some(rule.at))
            }),
            // Nobody wrote that this call may pass.
            None if verdict == Verdict::Allow => None,
            None => Some(RefDecision::new(verdict, Stage::Rule, fallback.at)),
        }
    }

    /// Where a value comes from, as conditions ask for it.
    fn comes_from(&self, text: &str) -> Provenance {
        match self.seen.classify(text) {
            Some(Label::Trusted) => Provenance::Trusted,
            _ if self.seen.is_typed(text) => Provenance::User,
            Some(Label::Untrusted) => Provenance::Untrusted,
            Some(Label::Observed) => Provenance::Observed,
            None => Provenance::Unproven,
        }
    }

    /// The defaults for what the call does.
    fn flow(
        &self,
        call: &RefCall<'_>,
        found: Option<&Found>,
        arguments: &Json,
        effects: Option<&[Effect]>,
    ) -> Option<RefDecision> {
        let id = tool_id(call.server, call.tool);
        if self.any_pin && self.outer.is_none() && !self.pinned.contains_key(&id) {
            return None;
        }
        let written = found
            .filter(|found| !found.derived)
            .map(|found| &found.contract);
        let named = written.is_some_and(|contract| !contract.effects.is_empty());
        let heuristics = self.policy.heuristics.as_ref();
        let decided = written.is_some_and(|contract| contract.decides);
        let asks = written.is_some_and(|contract| contract.exfiltrating || contract.confirm);
        if (decided && !(self.read.untrusted && asks)) || !(named || heuristics.is_some()) {
            return None;
        }
        let bare;
        let definition = match self.pinned.get(&id) {
            Some(definition) => definition,
            None => {
                let json = serde_json::json!({ "name": call.tool });
                bare = ToolDefinition::from_json(json).ok()?;
                &bare
            }
        };
        let shown = found.and_then(|found| found.foreign.clone());
        let derived = heuristics.filter(|_| written.is_none());
        let derived = derived.map(|all| all.derive(definition).sinks);
        let derived = shown.or(derived).unwrap_or_default();
        let gated = written.filter(|contract| contract.exfiltrating);
        let sinks: Vec<Path> = match gated {
            Some(contract) => contract
                .sinks
                .iter()
                .map(|sink| sink.path.clone())
                .collect(),
            None => derived
                .iter()
                .map(|keys| sinks::derived_path(keys))
                .collect(),
        };
        let called = full_name(call.server, self.outer.as_deref().unwrap_or(call.tool));
        let flow = flow::Flow {
            defaults: &self.policy.effects,
            heuristics,
            effects,
            sinks: &sinks,
            gated: gated.is_some(),
            vouched: gated.is_some() && self.sink_gate(found?, call, arguments).is_none(),
            by_user: decided,
            read_untrusted: self.read.untrusted,
            named: &|effects| self.named(effects),
            seen: &self.seen,
            approved: &|param, destination| {
                let key = (called.clone(), param.to_owned(), destination.to_owned());
                self.approvals.contains(&key)
            },
        };
        let objection = flow.judge(arguments)?;
        // A target alone is asked about, and approved, as by the sink gate.
        let stage = match objection.by_gate {
            true => Stage::SinkGate,
            false => Stage::Effect,
        };
        Some(RefDecision {
            question: objection.target,
            ..RefDecision::new(objection.verdict, stage, None)
        })
    }

    fn sink_gate(
        &self,
        found: &Found,
        call: &RefCall<'_>,
        arguments: &Json,
    ) -> Option<RefDecision> {
        if !found.contract.exfiltrating {
            return None;
        }
        // What is approved within a call is for the tool within, and for none other.
        let called = self.outer.as_deref().unwrap_or(call.tool);
        let name = full_name(call.server, called);
        let shown = |param: &str| match &self.outer {
            None => param.to_owned(),
            Some(_) => format!("call of {:?}: {param}", call.tool),
        };
        let approved = |param: &str, destination: &str| {
            self.approvals
                .contains(&(name.clone(), shown(param), destination.to_owned()))
        };
        let objection = sinks::judge(&found.contract, arguments, &self.seen, &approved)?;
        let at = found.contract.at;
        let question = objection
            .destination
            .filter(|_| objection.verdict == Verdict::Ask)
            .map(|destination| (shown(&destination.param), destination.text));
        Some(RefDecision {
            question,
            ..RefDecision::new(objection.verdict, Stage::SinkGate, found.at(at))
        })
    }
}

fn without_each(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    for rule in policy.rules.iter_mut().flat_map(|rules| &mut rules.rules) {
        rule.condition = condition::without_each(&rule.condition);
    }
    policy
}

/// A contract, written or derived.
struct Found {
    contract: Contract,
    /// Where the tool sends to by its own schema, if the contract is about another server's.
    foreign: Option<Vec<Vec<String>>>,
    derived: bool,
}

impl Found {
    /// Nothing of a derived contract was written anywhere.
    fn at(&self, at: Pos) -> Option<Pos> {
        (!self.derived).then_some(at)
    }
}

/// Every way of picking one leaf from each path; nothing from a path without leaves.
fn for_each_pick<'a>(
    paths: &[&'a Path],
    leaves: &'a HashMap<&'a Path, Vec<Leaf>>,
    picks: &mut Picks<'a>,
    visit: &mut impl FnMut(&Picks<'a>),
) {
    let Some((path, rest)) = paths.split_first() else {
        visit(picks);
        return;
    };
    let choices = &leaves[path];
    if choices.is_empty() {
        picks.insert(path, None);
        for_each_pick(rest, leaves, picks, visit);
    }
    for leaf in choices {
        picks.insert(path, Some(leaf));
        for_each_pick(rest, leaves, picks, visit);
    }
}
