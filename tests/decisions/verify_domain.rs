//! The calls that brute force has to try for a small policy to have tried them all.
//!
//! What a policy makes of a call depends on what its tests make of each argument. So for
//! each argument the texts are walked in the order of their length, all tests side by side
//! as automata of their own (built here, with nothing of the analysis), until no longer
//! text could tell anything new: one text is kept for each set of tests that hold. Other
//! scalars are told apart by what a gate with that one test answers. Every combination of
//! what is kept, on every tool that the globs tell apart, is every call there is.

use crate::verify_brute::gate;
use bouncer_compiler::policy::{
    Cond, Fallback, ListItem, Op, Policy, Pos, Quantifier, Rule, RuleSet, Scalar, Segment, Subject,
    Test, ToolGlob,
};
use bouncer_engine::gate::{Attempt, Call};
use bouncer_plan::Verdict;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::{Input, MatchKind};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Tools, one for each way in which the globs of small policies can match or not.
pub const TOOLS: [&str; 6] = ["t", "u", "tu", "ta", "xu", "x"];
/// Letters of the patterns, one that is none of them, the other case, digits, and what ends
/// a word. No space: texts are also judged with the spaces around them taken away.
const ALPHABET: &[u8] = b"abc1A-2";
/// No set of tests needs to be followed further than this.
const MOST_STATES: usize = 50_000;

const SCALARS: [&str; 16] = [
    "1", "true", "null", "0", "1.0", "2", "2.0", "3", "1.5", "2.5", "12", "21", "false", "4",
    "1e0", "2.00",
];
const NUMBERS_AS_TEXT: [&str; 9] = ["1", "2", "3", "1.0", "0", "1.5", "2.5", "true", "null"];
const LISTS: [&str; 4] = ["[]", "[\"a\",\"b\"]", "[\"ab\",1]", "[\"b\",\"c\",2]"];

/// Whether a rule with this glob is about this tool.
pub fn names(glob: &ToolGlob, tool: &str) -> bool {
    match glob.pattern.as_str() {
        "*" => true,
        "t*" => tool.starts_with('t'),
        "*u" => tool.ends_with('u'),
        name => name == tool,
    }
}

/// What policies ask of one argument.
fn asked<'a>(condition: &'a Cond, key: &str, ops: &mut Vec<&'a Op>) {
    match condition {
        Cond::All(parts) | Cond::Any(parts) => {
            for part in parts {
                asked(part, key, ops);
            }
        }
        Cond::Not(part) => asked(part, key, ops),
        Cond::Test(test) => {
            if let Subject::Arg(path, _) | Subject::Count(path) = &test.subject
                && path.0 == [Segment::Key(key.to_owned())]
                && !ops.contains(&&test.op)
            {
                ops.push(&test.op);
            }
        }
    }
}

/// The regexes whose answers tell a test's answer on a text.
fn patterns(op: &Op, out: &mut Vec<String>) {
    let whole = |text: &str| format!("^(?:{})$", regex::escape(text));
    match op {
        Op::Equals(Scalar::Str(text)) => out.push(whole(text)),
        Op::In(items) => out.extend(items.iter().filter_map(|item| match item {
            ListItem::Scalar(Scalar::Str(text)) => Some(whole(text)),
            _ => None,
        })),
        Op::Part(part, text) => out.push(part.pattern(text)),
        Op::Matches(pattern) => out.push(pattern.regex.clone()),
        _ => {}
    }
}

fn automaton(pattern: &str) -> dense::DFA<Vec<u32>> {
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .match_kind(MatchKind::All)
                .start_kind(StartKind::Unanchored)
                .unicode_word_boundary(true),
        )
        .build(pattern)
        .unwrap()
}

thread_local! {
    static AUTOMATA: RefCell<HashMap<String, &'static dense::DFA<Vec<u32>>>> = RefCell::default();
    static ANSWERS: RefCell<HashMap<String, [u64; 4]>> = RefCell::default();
}

/// One text, the shortest, for each set of patterns that some text matches.
fn texts(patterns: &[String]) -> Vec<String> {
    let automata: Vec<&'static dense::DFA<Vec<u32>>> = AUTOMATA.with_borrow_mut(|known| {
        patterns
            .iter()
            .map(|pattern| {
                *known
                    .entry(pattern.clone())
                    .or_insert_with(|| Box::leak(Box::new(automaton(pattern))))
            })
            .collect()
    });
    // `None`: has matched, whatever follows.
    type State = Vec<Option<StateID>>;
    let settle = |state: State| -> State {
        state
            .into_iter()
            .zip(&automata)
            .map(|(state, dfa)| state.filter(|state| !dfa.is_match_state(*state)))
            .collect()
    };
    let start = Input::new("");
    let start = automata
        .iter()
        .map(|dfa| Some(dfa.start_state_forward(&start).unwrap()))
        .collect();
    let mut seen: HashSet<State> = HashSet::new();
    let mut kept: HashMap<Vec<bool>, String> = HashMap::new();
    let mut found = Vec::new();
    let mut layer = vec![(settle(start), String::new())];
    seen.insert(layer[0].0.clone());
    while !layer.is_empty() {
        let mut longer = Vec::new();
        for (state, text) in layer {
            let matched = state
                .iter()
                .zip(&automata)
                .map(|(state, dfa)| {
                    state.is_none_or(|state| dfa.is_match_state(dfa.next_eoi_state(state)))
                })
                .collect();
            kept.entry(matched).or_insert_with(|| {
                found.push(text.clone());
                text.clone()
            });
            for byte in ALPHABET {
                let next = state
                    .iter()
                    .zip(&automata)
                    .map(|(state, dfa)| state.map(|state| dfa.next_state(state, *byte)))
                    .collect();
                let next = settle(next);
                if seen.insert(next.clone()) {
                    longer.push((next, format!("{text}{}", char::from(*byte))));
                }
            }
            assert!(seen.len() < MOST_STATES, "{patterns:?}");
        }
        layer = longer;
    }
    found
}

/// For each scalar a bit: what gates say of it that have this one test, as it is and
/// negated, under an action that may and one that may not let it through.
fn answers_of(op: &Op) -> [u64; 4] {
    let key = format!("{op:?}");
    if let Some(known) = ANSWERS.with_borrow(|known| known.get(&key).copied()) {
        return known;
    }
    let at = Pos {
        file: 0,
        line: 10,
        column: 1,
    };
    let mut out = [0; 4];
    for (number, bits) in out.iter_mut().enumerate() {
        let test = Cond::Test(Test {
            quantifier: Quantifier::Pick,
            subject: Subject::Arg(
                bouncer_compiler::policy::Path(vec![Segment::Key("x".to_owned())]),
                bouncer_compiler::policy::View::Value,
            ),
            op: op.clone(),
            at,
        });
        let (action, otherwise) = if number & 1 == 0 {
            (Verdict::Allow, Verdict::Deny)
        } else {
            (Verdict::Deny, Verdict::Allow)
        };
        let fallback = Fallback {
            action: otherwise,
            at: None,
        };
        let gate = gate(&Policy {
            files: vec!["policy.yaml".to_owned()],
            rules: Some(RuleSet {
                rules: vec![Rule {
                    tools: vec![ToolGlob {
                        pattern: "t".to_owned(),
                        native: false,
                        at,
                    }],
                    condition: if number & 2 == 0 {
                        test
                    } else {
                        Cond::Not(Box::new(test))
                    },
                    action,
                    reason: None,
                    at,
                }],
                on_destructive_hint: fallback,
                on_unknown: fallback,
            }),
            ..Policy::default()
        });
        let mut conversation = gate.conversation();
        for (at, scalar) in SCALARS.iter().enumerate() {
            let arguments = format!("{{\"x\":{scalar}}}");
            let call = Call::hypothetical(None, "t", Some(arguments.as_bytes()));
            let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
            *bits |= u64::from(decision.verdict() == action) << at;
        }
    }
    ANSWERS.with_borrow_mut(|known| known.insert(key, out));
    out
}

/// The scalars besides texts that these tests tell apart.
fn scalars(ops: &[&Op]) -> Vec<&'static str> {
    let answers: Vec<[u64; 4]> = ops.iter().map(|op| answers_of(op)).collect();
    let mut seen = HashSet::new();
    SCALARS
        .iter()
        .enumerate()
        .filter(|(at, _)| {
            let told: Vec<[u64; 4]> = answers
                .iter()
                .map(|bits| bits.map(|bits| bits >> at & 1))
                .collect();
            seen.insert(told)
        })
        .map(|(_, scalar)| *scalar)
        .collect()
}

/// The leaves that these tests tell apart, as JSON.
pub fn leaves_of(ops: &[&Op]) -> Vec<String> {
    let mut all = Vec::new();
    for op in ops {
        patterns(op, &mut all);
    }
    all.sort();
    all.dedup();
    let texts = texts(&all).into_iter().map(|text| format!("\"{text}\""));
    texts
        .chain(scalars(ops).into_iter().map(str::to_owned))
        .collect()
}

/// The values of one argument, as JSON; `None` where it is absent.
fn values(
    policies: &[&Policy],
    conditions: &[&Cond],
    key: &str,
    lists: bool,
) -> Vec<Option<String>> {
    let mut ops = Vec::new();
    let rules = policies.iter().filter_map(|policy| policy.rules.as_ref());
    for rule in rules.flat_map(|set| &set.rules) {
        asked(&rule.condition, key, &mut ops);
    }
    for condition in conditions {
        asked(condition, key, &mut ops);
    }
    if ops.is_empty() {
        return vec![None];
    }
    let mut all = Vec::new();
    for op in &ops {
        patterns(op, &mut all);
    }
    all.sort();
    all.dedup();
    let texts = texts(&all);
    let numeric = ops.iter().any(|op| {
        matches!(op, Op::Compare(..) | Op::Type(_) | Op::In(_))
            || matches!(op, Op::Equals(scalar) if !matches!(scalar, Scalar::Str(_)))
    });
    let leaves: Vec<String> = texts
        .iter()
        .map(|text| format!("\"{text}\""))
        .chain(scalars(&ops).into_iter().map(str::to_owned))
        .collect();
    let mut out = vec![None];
    out.extend(leaves.iter().cloned().map(Some));
    out.extend(LISTS.map(|text| Some(text.to_owned())));
    if numeric {
        out.extend(NUMBERS_AS_TEXT.map(|text| Some(format!("\"{text}\""))));
    }
    if lists {
        for (at, first) in leaves.iter().enumerate() {
            out.push(Some(format!("[{first}]")));
            let mut after = leaves.iter().skip(at + 1);
            if let (Some(second), Some(third)) = (after.next(), after.next()) {
                out.push(Some(format!("[{first},{second},{third}]")));
            }
            for second in &leaves[at..] {
                out.push(Some(format!("[{first},{second}]")));
            }
        }
    }
    out
}

/// Every call: the tool, and the arguments.
pub struct Calls {
    pub calls: Vec<(&'static str, String)>,
    /// Whether there is one way of picking leaves.
    single: Vec<bool>,
}

impl Calls {
    /// For these policies, and conditions that are asked beside them. Without `lists`
    /// they are complete; with them, lists have at most three items, and not all pairs
    /// of lists are there.
    pub fn of(
        policies: &[&Policy],
        conditions: &[&Cond],
        globs: &[&ToolGlob],
        lists: bool,
    ) -> Self {
        let xs = values(policies, conditions, "x", lists);
        let ys = values(policies, conditions, "y", lists);
        let mut told: BTreeMap<Vec<bool>, &'static str> = BTreeMap::new();
        let mut tools = Vec::new();
        for tool in TOOLS {
            let rules = policies.iter().filter_map(|policy| policy.rules.as_ref());
            let of_rules = rules
                .flat_map(|set| &set.rules)
                .map(|rule| rule.tools.iter().any(|glob| names(glob, tool)));
            let matched = of_rules
                .chain(globs.iter().map(|glob| names(glob, tool)))
                .collect();
            told.entry(matched).or_insert_with(|| {
                tools.push(tool);
                tool
            });
        }
        let mut calls = Vec::new();
        let mut single = Vec::new();
        let many = |value: &Option<String>| {
            value
                .as_ref()
                .is_some_and(|value| value.starts_with('[') && value.contains(','))
        };
        for tool in tools {
            for (at, x) in xs.iter().enumerate() {
                for (offset, y) in ys.iter().enumerate() {
                    // Pairs of lists are too many.
                    if many(x) && many(y) && (at + 2 * offset) % 17 != 0 {
                        continue;
                    }
                    let member = |name: &str, value: &Option<String>| {
                        value.as_ref().map(|value| format!("\"{name}\":{value}"))
                    };
                    let members: Vec<String> = [member("x", x), member("y", y)]
                        .into_iter()
                        .flatten()
                        .collect();
                    calls.push((tool, format!("{{{}}}", members.join(","))));
                    single.push(!many(x) && !many(y));
                }
            }
        }
        Self { calls, single }
    }

    /// Whether there is one way of picking leaves.
    pub fn is_single(&self, call: usize) -> bool {
        self.single[call]
    }
}
