//! The contract of a verdict, in code that is plain, slow and obviously right: no
//! plan, no automata, every way of picking leaves tried one by one. What the compiler
//! and the gate decide is compared with it.
//!
//! It may not share decision code with the runtime. Functions from one text to
//! another come through [`shared`].

#![allow(dead_code)]

pub mod condition;
pub mod dispatch;
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
    Contract, Layer, Outputs, Path, Policy, Pos, Quantifier, Rule, RuleSet, Scalar, Sink, Subject,
};
use bouncer_engine::gate::Attempt;
use bouncer_engine::provenance::Echo;
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Label;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
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

fn can_vouch(outputs: &Outputs) -> bool {
    let mut fields = outputs.fields.iter();
    outputs.label == Label::Trusted || fields.any(|field| field.label == Label::Trusted)
}

fn tool_id(server: Option<&str>, tool: &str) -> ToolId {
    (server.map(str::to_owned), tool.to_owned())
}

/// `<server>__<tool>`, or the tool's name where no server is known.
pub fn full_name(server: Option<&str>, tool: &str) -> String {
    server.map_or_else(|| tool.to_owned(), |server| format!("{server}__{tool}"))
}

/// A policy, the pinned tools and one conversation under it.
pub struct Reference {
    policy: Policy,
    regexes: HashMap<String, Regex>,
    any_pin: bool,
    pinned: HashMap<ToolId, ToolDefinition>,
    changed: HashSet<ToolId>,
    attempts: HashMap<ToolId, Vec<u64>>,
    approvals: HashSet<(String, String, String)>,
    seen: Seen,
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
            attempts: HashMap::new(),
            approvals: HashSet::new(),
            seen: Seen::default(),
            sent: HashMap::new(),
            outer: None,
        }
    }

    /// Pins `tools` as the tools of `server`. Tools that the lock lacks stay unpinned,
    /// tools that differ from it are changed.
    pub fn pin(&mut self, server: Option<&str>, tools: &[ToolDefinition], lock: Option<&Lock>) {
        self.any_pin = true;
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
            self.seen.record(result, None, None);
            return;
        }
        let outputs = self
            .contract(server, tool)
            .and_then(|found| found.contract.outputs);
        let by_name = self.policy.heuristics.as_ref().map(|all| &all.labels);
        let echo = self.sent.entry(id).or_default();
        self.seen
            .record_answer(result, outputs.as_ref(), by_name, echo);
        if outputs.is_some_and(|outputs| can_vouch(&outputs)) {
            echo.answered(result);
        }
    }

    /// Records text that reached the agent by another way.
    pub fn record_untrusted(&mut self, value: &serde_json::Value) {
        self.seen.record(value, None, None);
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
            .and_then(|found| found.contract.outputs);
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
            Stage::SinkGate
                if approved && decision.verdict == Verdict::Ask && decision.question.is_none() =>
            {
                None
            }
            _ => Some(decision),
        };
        let found = self.contract(call.server, call.tool);
        let stages = [
            self.pinning(call),
            found
                .as_ref()
                .filter(|_| attempt == Attempt::First && self.is_counted(call))
                .and_then(|found| self.budget(found, call, now_ms)),
            found
                .as_ref()
                .and_then(|found| self.constraint(&found.contract, &arguments)),
            self.policy
                .rules
                .as_ref()
                .and_then(|rules| self.rule(rules, call, &arguments, now_ms))
                .and_then(lift),
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
                    return Some(Found {
                        contract: contract.clone(),
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
                exfiltrating: !derived.sinks.is_empty(),
                on_tainted: Verdict::Deny,
                sinks: derived
                    .sinks
                    .iter()
                    .map(|keys| Sink {
                        path: sinks::derived_path(keys),
                        at,
                    })
                    .collect(),
                optional_sinks: false,
                trusted: Vec::new(),
                write_params: Vec::new(),
                prefixes: Vec::new(),
                resolve_symlinks: false,
                arg_patterns: Vec::new(),
                confirm: derived.consequential,
                max_calls: derived.max_calls.map(|count| (u64::from(count), at)),
                rates: Vec::new(),
                outputs: None,
                dispatches: None,
            },
            derived: true,
        })
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
                && paths::within(&text, &prefixes).must
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
        now_ms: u64,
    ) -> Option<RefDecision> {
        let name = full_name(call.server, call.tool);
        let applying: Vec<(usize, &Rule)> = rules
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.tools.iter().any(|glob| glob::matches(glob, &name)))
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
                    Subject::Calls { .. } => return,
                };
                leaves
                    .entry(path)
                    .or_insert_with(|| leaves::leaves(arguments, path));
                if picks && !picked.contains(&path) {
                    picked.push(path);
                }
            });
        }

        let judge = Judge {
            regexes: &self.regexes,
            leaves: &leaves,
            calls: &|window| self.calls(call, window, now_ms),
            provenance: &|text| self.seen.classify(text),
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
            (fallback.action, usize::MAX)
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
