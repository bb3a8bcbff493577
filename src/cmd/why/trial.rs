//! An explanation of a hypothetical call, by trying: each rule and each of its tests
//! alone, and each change that could matter.

use super::{CallName, Change, Explanation, RuleTrial, changes};
use crate::cli::WhyArgs;
use crate::cmd::check;
use crate::output::Failure;
use crate::source::{self, CompileFailure};
use bouncer_compiler::policy::{
    Cond, Contract, Policy, Pos, Rule, RuleSet, TrustedDestination, TrustedForm,
};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate, VerdictRecord};
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use bouncer_reader::text::Quoted;

/// A call, and what was there before it.
struct Scene<'s> {
    server: Option<String>,
    tool: &'s str,
    arguments: Vec<u8>,
    lock: Option<Lock>,
    untrusted: &'s [String],
}

impl Scene<'_> {
    fn judge(&self, plan: Plan, prepare: impl FnOnce(&mut Conversation)) -> VerdictRecord {
        let mut gate = Gate::new(plan);
        if let Some(lock) = &self.lock {
            check::pin_all(&mut gate, lock);
        }
        let mut conversation = gate.conversation();
        for text in self.untrusted {
            let text = serde_json::Value::String(text.clone());
            gate.record_untrusted(&mut conversation, None, "--untrusted", &text);
        }
        prepare(&mut conversation);
        let call = Call::hypothetical(self.server.as_deref(), self.tool, Some(&self.arguments));
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        decision.record()
    }

    /// The answer under a changed policy; `None` if that does not compile.
    fn under(&self, policy: &Policy) -> Option<VerdictRecord> {
        let bytes = bouncer_compiler::compile(policy).ok()?;
        Some(self.judge(Plan::load(bytes).ok()?, |_| {}))
    }

    /// Whether a rule of its own, with this condition, matches the call.
    fn matches(&self, policy: &Policy, rule: &Rule, condition: &Cond) -> bool {
        let rules = policy.rules.as_ref().map(|set| RuleSet {
            rules: vec![Rule {
                condition: condition.clone(),
                ..rule.clone()
            }],
            ..set.clone()
        });
        let alone = Policy {
            files: policy.files.clone(),
            rules,
            ..Policy::default()
        };
        self.under(&alone)
            .is_some_and(|answer| answer.rule.is_some())
    }
}

/// Explains the call that the command line describes.
pub(super) fn explain(args: &WhyArgs, tool: &str) -> Result<Explanation, Failure> {
    let lock = args.tools.as_deref().map(source::lock).transpose()?;
    let named = || {
        lock.as_ref()
            .and_then(|lock| check::only_server(lock, tool))
    };
    let scene = Scene {
        server: args.server.clone().or_else(named),
        tool,
        arguments: check::arguments(&args.args)?,
        untrusted: &args.untrusted,
        lock,
    };
    let (plan, policy) = match args.source.plan {
        // A plan says how its calls are decided, and most keep the policy for the rest.
        Some(_) => {
            let plan = source::plan(&args.source)?;
            let policy = source::decompile(&plan, "the plan").ok();
            (plan, policy.map(|loaded| loaded.policy))
        }
        None => {
            let compiled = source::compile(&args.source.policy, &args.source.layers)
                .map_err(|failure: Box<CompileFailure>| failure.report())?;
            source::print_diagnostics(&compiled.warnings);
            let plan = Plan::load(compiled.bytes).map_err(|error| {
                Failure::Message(format!("the compiled plan does not load: {error}"))
            })?;
            (plan, Some(compiled.policy))
        }
    };
    source::warn_without_server(&plan, scene.server.as_deref(), Some(tool));
    let answer = scene.judge(plan.clone(), |_| {});
    let mut explanation = Explanation {
        call: CallName {
            server: scene.server.clone(),
            tool: Some(tool.to_owned()),
            number: None,
        },
        verdict: answer.verdict.name().to_owned(),
        contract: answer.stage.name().to_owned(),
        code: answer.code.to_owned(),
        reason: answer.reason.clone(),
        at: answer.at.clone(),
        outcome: None,
        grounds: answer.grounds.clone(),
        read: answer.read.clone(),
        rules: Vec::new(),
        changes: Vec::new(),
    };
    match policy {
        Some(policy) => {
            explanation.rules = rules(&scene, &policy);
            explanation.changes = tried(&scene, &policy, &plan, &answer);
        }
        None => {
            explanation.changes = changes::in_words(
                answer.code,
                answer.verdict.name(),
                tool,
                answer.at.as_deref(),
                answer.grounds.as_ref(),
            );
        }
    }
    Ok(explanation)
}

/// How each rule that names the tool fares, up to the first that matches.
fn rules(scene: &Scene<'_>, policy: &Policy) -> Vec<RuleTrial> {
    let mut trials = Vec::new();
    for rule in policy.rules.iter().flat_map(|set| &set.rules) {
        if !scene.matches(policy, rule, &Cond::All(Vec::new())) {
            continue;
        }
        let matched = scene.matches(policy, rule, &rule.condition);
        let mut failed = Vec::new();
        if !matched {
            for part in parts(&rule.condition) {
                if let Some(at) = place(part)
                    && !scene.matches(policy, rule, part)
                {
                    failed.push(written(policy, at));
                }
            }
        }
        trials.push(RuleTrial {
            at: written(policy, rule.at),
            action: rule.action.name().to_owned(),
            matched,
            failed,
        });
        if matched {
            break;
        }
    }
    trials
}

/// The tests of a condition, each with its `not`.
fn parts(condition: &Cond) -> Vec<&Cond> {
    match condition {
        Cond::All(parts) | Cond::Any(parts) => parts.iter().flat_map(self::parts).collect(),
        Cond::Not(_) | Cond::Test(_) => vec![condition],
    }
}

/// Where a part of a condition starts.
fn place(condition: &Cond) -> Option<Pos> {
    match condition {
        Cond::All(parts) | Cond::Any(parts) => parts.iter().find_map(place),
        Cond::Not(part) => place(part),
        Cond::Test(test) => Some(test.at),
    }
}

fn written(policy: &Policy, at: Pos) -> String {
    let file = policy.files.get(at.file as usize);
    let file = file.map_or("", String::as_str);
    format!("{file}:{}:{}", at.line, at.column)
}

/// The changes that come into question, each tried; those in words where nothing was
/// left to try.
fn tried(scene: &Scene<'_>, policy: &Policy, plan: &Plan, answer: &VerdictRecord) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |change: String, then: Option<VerdictRecord>| {
        if let Some(then) = then.filter(|then| then.verdict < answer.verdict) {
            let verdict = Some(then.verdict.name().to_owned());
            all.push(Change { change, verdict });
        }
    };
    let tool = Quoted(scene.tool);
    if let Some(grounds) = &answer.grounds {
        let value = Quoted(&grounds.value);
        let trusted = with_contract(scene, policy, |contract| {
            contract.trusted.push(TrustedDestination {
                form: TrustedForm::Exact(grounds.value.clone()),
                at: contract.at,
            });
        });
        add(
            format!("with {value} on `trusted_destinations` of {tool}"),
            trusted.and_then(|policy| scene.under(&policy)),
        );
        let approved = scene.judge(plan.clone(), |conversation| {
            let (param, value) = (&grounds.param, &grounds.value);
            conversation.approve(scene.server.as_deref(), scene.tool, param, value);
        });
        if answer.verdict == Verdict::Ask {
            add(format!("after a human approves {value}"), Some(approved));
        }
        let asking = with_contract(scene, policy, |contract| contract.on_tainted = Verdict::Ask);
        add(
            format!("with `on_tainted: ask` for {tool}"),
            asking.and_then(|policy| scene.under(&policy)),
        );
    }
    if answer.code == "sink_gate.no_destination" || answer.grounds.is_some() {
        let optional = with_contract(scene, policy, |contract| contract.optional_sinks = true);
        add(
            format!("with `optional_sinks: true` for {tool}"),
            optional.and_then(|policy| scene.under(&policy)),
        );
    }
    if let (Some(rule), Some(set)) = (answer.rule, &policy.rules) {
        let mut without = policy.clone();
        let mut rules = set.clone();
        if (rule as usize) < rules.rules.len() {
            let removed = rules.rules.remove(rule as usize);
            let at = written(policy, removed.at);
            without.rules = Some(rules);
            add(format!("without the rule at {at}"), scene.under(&without));
        }
    }
    if all.is_empty() && answer.verdict != Verdict::Allow {
        all = changes::in_words(
            answer.code,
            answer.verdict.name(),
            scene.tool,
            answer.at.as_deref(),
            answer.grounds.as_ref(),
        );
    }
    all
}

/// The policy with the tool's contract changed; `None` if no contract names the tool.
fn with_contract(
    scene: &Scene<'_>,
    policy: &Policy,
    change: impl Fn(&mut Contract),
) -> Option<Policy> {
    let full = scene
        .server
        .as_ref()
        .map(|server| format!("{server}__{}", scene.tool));
    let mut policy = policy.clone();
    let mut any = false;
    for contract in &mut policy.contracts {
        if contract.key == scene.tool || Some(&contract.key) == full.as_ref() {
            change(contract);
            any = true;
        }
    }
    any.then_some(policy)
}
