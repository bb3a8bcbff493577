//! What `verify` says of small random policies, against every call there is.
//!
//! Policies have a few rules over two arguments, a few letters and small numbers; the
//! calls are those of `verify_domain`, which leave nothing out that the policy could tell
//! apart. Each finding has to be true of all these calls, and what is true of them has to be
//! found. `BOUNCER_POLICIES` sets how many policies are tried, `BOUNCER_SEED` the first.

use crate::generate::rng::Rng;
use crate::verify_domain::{Calls, names};
use bouncer_compiler::policy::{
    Compare, Cond, Fallback, ListItem, Op, Part, Path, Pattern, Policy, Pos, Quantifier, Rule,
    RuleSet, Scalar, Segment, Subject, Test, ToolGlob, TypeName, View,
};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use bouncer_verify::{Example, Finding, Kind, Options, verify};
use std::collections::BTreeSet;

pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

const TEXTS: [&str; 8] = ["a", "b", "ab", "ba", "aa", "bb", "aab", "1"];
const REGEXES: [&str; 16] = [
    "^a",
    "b$",
    "^(ab)*$",
    "a.b",
    "^.$",
    "[^ab]",
    "^[ab]+$",
    "(?i)A",
    "^a?b?$",
    "^$",
    "a|b",
    "ab|ba",
    "^(a|b){2}$",
    "^1",
    r"\ba",
    "^[^b]*$",
];

fn pos(line: u32) -> Pos {
    Pos {
        file: 0,
        line,
        column: 1,
    }
}

fn verdict(rng: &mut Rng) -> Verdict {
    *rng.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

fn op(rng: &mut Rng) -> Op {
    let text = |rng: &mut Rng| (*rng.pick(&TEXTS)).to_owned();
    match rng.below(24) {
        0..=3 => Op::Equals(Scalar::Str(text(rng))),
        4 => Op::Equals(Scalar::Number((*rng.pick(&["1", "2", "1.0"])).to_owned())),
        5 => Op::Equals(rng.choose(&[Scalar::Bool(true), Scalar::Null]).clone()),
        6..=8 => Op::In(rng.several(1, 3, |rng| {
            ListItem::Scalar(if rng.chance(80) {
                Scalar::Str((*rng.pick(&TEXTS)).to_owned())
            } else {
                Scalar::Number("2".to_owned())
            })
        })),
        // Not the end: which numbers end in a digit the domain of calls does not know.
        9..=12 => Op::Part(Part::Anywhere, text(rng)),
        13 | 14 => Op::Part(Part::Start, text(rng)),
        15..=18 => {
            let regex = (*rng.pick(&REGEXES)).to_owned();
            Op::Matches(Pattern {
                written: regex.clone(),
                regex,
            })
        }
        19..=21 => Op::Compare(
            *rng.choose(&[
                Compare::Less,
                Compare::LessEqual,
                Compare::Greater,
                Compare::GreaterEqual,
            ]),
            (*rng.pick(&["1", "2", "3"])).to_owned(),
        ),
        22 => Op::Exists,
        _ => Op::Type(*rng.choose(&[TypeName::String, TypeName::Number, TypeName::Null])),
    }
}

pub fn test(rng: &mut Rng, lists: bool, at: Pos) -> Test {
    let path = Path(vec![Segment::Key((*rng.pick(&["x", "y"])).to_owned())]);
    if lists && rng.chance(12) {
        return Test {
            quantifier: Quantifier::Pick,
            subject: Subject::Count(path),
            op: Op::Compare(
                *rng.choose(&[Compare::Less, Compare::Greater]),
                (*rng.pick(&["1", "2"])).to_owned(),
            ),
            at,
        };
    }
    Test {
        quantifier: if lists && rng.chance(50) {
            *rng.choose(&[Quantifier::Any, Quantifier::All])
        } else {
            Quantifier::Pick
        },
        subject: Subject::Arg(path, View::Value),
        op: op(rng),
        at,
    }
}

pub fn condition(rng: &mut Rng, lists: bool, at: Pos, depth: usize) -> Cond {
    let part = |rng: &mut Rng| condition(rng, lists, at, depth + 1);
    match rng.below(if depth > 1 { 6 } else { 12 }) {
        0..=5 => Cond::Test(test(rng, lists, at)),
        6 | 7 => Cond::Not(Box::new(part(rng))),
        8 | 9 => Cond::Any(rng.several(2, 2, part)),
        _ => Cond::All(rng.several(2, 3, part)),
    }
}

pub fn glob(rng: &mut Rng, at: Pos) -> ToolGlob {
    ToolGlob {
        pattern: (*rng.pick(&["t", "t", "t", "u", "*", "t*", "*u"])).to_owned(),
        native: false,
        at,
    }
}

/// A policy of a few rules. `lists`: with quantifiers and counts.
pub fn policy(rng: &mut Rng, lists: bool) -> Policy {
    let mut line = 0;
    let rules = rng.several(1, 4, |rng| {
        line += 10;
        let at = pos(line);
        let most = if rng.chance(15) { 2 } else { 1 };
        Rule {
            tools: rng.several(1, most, |rng| glob(rng, at)),
            condition: if rng.chance(10) {
                Cond::All(vec![])
            } else {
                condition(rng, lists, pos(line + 1), 0)
            },
            action: verdict(rng),
            reason: None,
            at,
        }
    });
    let fallback = verdict(rng);
    let fallback = Fallback {
        action: fallback,
        at: None,
    };
    Policy {
        files: vec!["policy.yaml".to_owned()],
        rules: Some(RuleSet {
            rules,
            on_destructive_hint: fallback,
            on_unknown: fallback,
        }),
        ..Policy::default()
    }
}

pub fn gate(policy: &Policy) -> Gate {
    Gate::new(Plan::load(bouncer_compiler::compile(policy).unwrap()).unwrap())
}

/// What a policy answers to all calls: the verdict and the deciding rule.
pub fn answers(policy: &Policy, calls: &Calls) -> Vec<(Verdict, Option<u32>)> {
    answers_to(policy, &calls.calls)
}

/// The same to a list of calls: the tool, and the arguments.
pub fn answers_to(
    policy: &Policy,
    calls: &[(&'static str, String)],
) -> Vec<(Verdict, Option<u32>)> {
    let gate = gate(policy);
    let mut conversation = gate.conversation();
    calls
        .iter()
        .map(|(tool, arguments)| {
            let call = Call::hypothetical(None, tool, Some(arguments.as_bytes()));
            let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
            (decision.verdict(), decision.rule())
        })
        .collect()
}

/// How a policy judges an example.
fn judged(policy: &Policy, example: &Example) -> (Verdict, Option<u32>) {
    let gate = gate(policy);
    let mut conversation = gate.conversation();
    let arguments = example.arguments.as_bytes();
    let call = Call::hypothetical(example.server.as_deref(), &example.tool, Some(arguments));
    let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
    (decision.verdict(), decision.rule())
}

fn with_rules(policy: &Policy, keep: impl Fn(usize) -> bool) -> Policy {
    let mut policy = policy.clone();
    if let Some(set) = &mut policy.rules {
        let mut at = 0;
        set.rules.retain(|_| {
            at += 1;
            keep(at - 1)
        });
    }
    policy
}

/// A policy in few lines.
pub fn shown(policy: &Policy) -> String {
    let case = crate::generate::Case {
        policy: policy.clone(),
        steps: Vec::new(),
    };
    case.to_string()
}

/// The rule that a finding is about: rules stand on lines 10, 20, …
fn rule_of(finding: &Finding) -> u32 {
    finding
        .places
        .iter()
        .map(|place| place.at.line)
        .find(|line| line % 10 == 0)
        .unwrap()
        / 10
        - 1
}

/// How often each kind of finding was seen.
#[derive(Debug, Default)]
struct Tally {
    policies: u64,
    dead: u64,
    shadowed: u64,
    redundant: u64,
    vacuous: u64,
    conflicts: u64,
    undecided: u64,
    live_redundant: u64,
}

fn check(policy: &Policy, lists: bool, tally: &mut Tally) -> Result<(), String> {
    let set = policy.rules.as_ref().unwrap();
    let rules = &set.rules;
    let calls = Calls::of(&[policy], &[], &[], lists);
    let report = verify(policy, &[], &Options::default()).unwrap();
    let full = answers(policy, &calls);
    let alone: Vec<_> = (0..rules.len())
        .map(|rule| answers(&with_rules(policy, |at| at == rule), &calls))
        .collect();
    let matches = |rule: usize, call: usize| alone[rule][call].1 == Some(0);
    let fail = |what: String| Err(format!("{what}\n{}\n{:#?}", shown(policy), report.findings));

    let find = |kind: Kind, rule: usize| {
        report.findings.iter().find(|finding| {
            finding.kind == kind
                && finding.places[0].at.line % 10 == 0
                && rule_of(finding) as usize == rule
        })
    };
    let undecided: BTreeSet<u32> = report
        .findings
        .iter()
        .filter(|finding| finding.kind == Kind::Undecided)
        .map(rule_of)
        .collect();
    tally.policies += 1;
    tally.undecided += undecided.len() as u64;
    for rule in 0..rules.len() {
        if undecided.contains(&(rule as u32)) {
            continue;
        }
        let decides = full.iter().any(|(_, by)| *by == Some(rule as u32));
        let satisfiable = (0..calls.calls.len()).any(|call| matches(rule, call));
        let never = find(Kind::Vacuous, rule).filter(|f| f.message.starts_with("no call"));
        if satisfiable == never.is_some() && (satisfiable || !lists) {
            return fail(format!(
                "rule {rule}: vacuous {} but satisfiable {satisfiable}",
                never.is_some()
            ));
        }
        tally.vacuous += u64::from(never.is_some());
        let always = find(Kind::Vacuous, rule).filter(|f| f.message.starts_with("every call"));
        if always.is_some() {
            let globs = &rules[rule].tools;
            let named = |tool: &str| globs.iter().any(|glob| names(glob, tool));
            for (call, (tool, arguments)) in calls.calls.iter().enumerate() {
                if named(tool) && !matches(rule, call) {
                    return fail(format!(
                        "rule {rule} is said to match always, but not {tool} {arguments}"
                    ));
                }
            }
        }
        let shadowed = find(Kind::Shadowed, rule);
        let redundant = find(Kind::Redundant, rule);
        let dead_redundant = redundant.filter(|f| !f.message.contains("without it"));
        let reported = shadowed.or(dead_redundant).is_some();
        if satisfiable && decides == reported && (reported || !lists) {
            return fail(format!(
                "rule {rule}: decides {decides}, reported dead {reported}"
            ));
        }
        if reported {
            tally.dead += 1;
            tally.shadowed += u64::from(shadowed.is_some());
            let other = (0..calls.calls.len())
                .filter(|call| calls.is_single(*call))
                .any(|call| matches(rule, call) && full[call].0 != rules[rule].action);
            if !lists && other != shadowed.is_some() {
                return fail(format!(
                    "rule {rule}: another verdict {other}, shadowed {}",
                    shadowed.is_some()
                ));
            }
        }
        if satisfiable && decides {
            let without = answers(&with_rules(policy, |at| at != rule), &calls);
            let changes = (0..calls.calls.len()).any(|call| without[call].0 != full[call].0);
            if changes == redundant.is_some() && !lists {
                return fail(format!(
                    "rule {rule}: changes {changes}, redundant {}",
                    redundant.is_some()
                ));
            }
            if changes && redundant.is_some() {
                return fail(format!("rule {rule}: said to change nothing, but does"));
            }
            tally.live_redundant += u64::from(redundant.is_some());
        }
        tally.redundant += u64::from(redundant.is_some());
        for later in rule + 1..rules.len() {
            if undecided.contains(&(later as u32)) || rules[later].action == rules[rule].action {
                continue;
            }
            let found = report.findings.iter().find(|finding| {
                finding.kind == Kind::Conflict
                    && finding.places[0].at.line as usize == 10 * (rule + 1)
                    && finding.places[1].at.line as usize == 10 * (later + 1)
            });
            let overlap = (0..calls.calls.len())
                .filter(|call| calls.is_single(*call))
                .any(|call| full[call].1 == Some(rule as u32) && matches(later, call));
            if overlap && found.is_none() {
                return fail(format!(
                    "rules {rule} and {later} overlap, but are in no conflict"
                ));
            }
            if let Some(example) = found.and_then(|finding| finding.example.as_ref()) {
                let decider = |policy: &Policy| judged(policy, example).1;
                // Where nothing is stricter the later rule decides if any pick matches it.
                let mut alone = with_rules(policy, |at| at == later);
                if let Some(set) = &mut alone.rules {
                    set.on_unknown.action = Verdict::Allow;
                    set.on_destructive_hint.action = Verdict::Allow;
                }
                let (here, there) = (decider(policy), decider(&alone));
                if here != Some(rule as u32) || there != Some(0) {
                    return fail(format!(
                        "rules {rule} and {later}: no conflict in {example:?}"
                    ));
                }
            }
            tally.conflicts += u64::from(found.is_some());
        }
    }
    replay(policy, &report.findings);
    Ok(())
}

/// Every example is judged as the finding says.
pub fn replay(policy: &Policy, findings: &[Finding]) {
    let gate = gate(policy);
    for finding in findings {
        let Some(example) = &finding.example else {
            assert!(
                matches!(finding.kind, Kind::Vacuous | Kind::Undecided),
                "no example: {finding:#?}\n{}",
                shown(policy)
            );
            continue;
        };
        let mut conversation = gate.conversation();
        let call = Call::hypothetical(
            example.server.as_deref(),
            &example.tool,
            Some(example.arguments.as_bytes()),
        );
        for _ in 0..example.earlier_calls {
            gate.decide(&mut conversation, &call, Attempt::First, 0);
        }
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        assert_eq!(
            decision.verdict(),
            example.verdict,
            "{finding:#?}\n{}",
            shown(policy)
        );
        assert_eq!(
            decision.position().map(|at| (at.line, at.column)),
            example.decided_at.map(|at| (at.line, at.column)),
            "{finding:#?}\n{}",
            shown(policy)
        );
        if finding.kind == Kind::Conflict {
            assert_eq!(
                example.decided_at,
                Some(finding.places[0].at),
                "{finding:#?}\n{}",
                shown(policy)
            );
        }
    }
}

fn run(policies: u64, lists: bool) {
    let first = setting("BOUNCER_SEED", 0);
    let last = first + setting("BOUNCER_POLICIES", policies);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = |thread: u64| {
        let mut tally = Tally::default();
        for seed in (first + thread..last).step_by(threads as usize) {
            let policy = policy(&mut Rng::new(seed), lists);
            if let Err(what) = check(&policy, lists, &mut tally) {
                panic!("seed {seed}: {what}");
            }
        }
        tally
    };
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || part(thread)))
            .collect();
        running
            .into_iter()
            .map(|part| part.join().unwrap())
            .collect()
    });
    println!("{tallies:#?}");
    let policies: u64 = tallies.iter().map(|tally| tally.policies).sum();
    let undecided: u64 = tallies.iter().map(|tally| tally.undecided).sum();
    let share = if lists { 5 } else { 20 };
    assert!(undecided * share <= policies, "{tallies:#?}");
}

#[test]
fn findings_are_what_trying_every_call_shows() {
    run(crate::share(8000), false);
}

#[test]
fn findings_about_lists_are_what_trying_every_call_shows() {
    run(crate::share(1000), true);
}
