//! Policies that would blow one automaton up: each compiles within a stated time and
//! size, decides as a plain loop over regexes does, and takes time linear in its input.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_compiler::{Input, Options, compile_on, load};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;

/// What one worst case may cost to compile: CPU seconds of one thread (of a build that is hardly
/// optimised, on a slow machine), and bytes of the plan.
struct Cost {
    seconds: f64,
    bytes: usize,
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// A rule of the policy under test, and how the plain loop tests it.
struct Rule {
    condition: String,
    regex: regex::Regex,
    verdict: Verdict,
}

impl Rule {
    fn matches(pattern: &str) -> Self {
        Self {
            condition: format!("args.text matches /{}/", pattern.replace('/', "\\/")),
            regex: regex::Regex::new(pattern).unwrap(),
            verdict: Verdict::Deny,
        }
    }

    fn contains(text: &str) -> Self {
        Self {
            condition: format!("args.text contains \"{text}\""),
            regex: regex::Regex::new(&regex::escape(text)).unwrap(),
            verdict: Verdict::Deny,
        }
    }
}

/// The compiled rules behind a gate.
struct Worst {
    name: &'static str,
    rules: Vec<Rule>,
    gate: Gate,
    conversation: Conversation,
}

impl Worst {
    fn new(name: &'static str, rules: Vec<Rule>, cost: Cost) -> Self {
        let mut policy = String::from("version: 1\npacks: []\nrules:\n");
        for rule in &rules {
            writeln!(
                policy,
                "  - tool: t\n    when: '{}'\n    action: {}",
                rule.condition.replace('\'', "''"),
                rule.verdict
            )
            .unwrap();
        }
        let (plan, seconds) = build(&policy);
        println!("{name}: {seconds:.2} s, {} bytes", plan.bytes().len());
        assert!(seconds < cost.seconds, "{name} took {seconds} s to compile");
        let bytes = plan.bytes().len();
        assert!(bytes < cost.bytes, "the plan of {name} has {bytes} bytes");
        let mut gate = Gate::new(plan);
        let tool = ToolDefinition::from_json(serde_json::json!({ "name": "t" })).unwrap();
        gate.pin(None, &[tool], None);
        let conversation = gate.conversation();
        Self {
            name,
            rules,
            gate,
            conversation,
        }
    }

    fn decide(&mut self, text: &str) -> (Verdict, Option<u32>) {
        let arguments = serde_json::json!({ "text": text }).to_string();
        let call = Call::hypothetical(None, "t", Some(arguments.as_bytes()));
        let decision = self
            .gate
            .decide(&mut self.conversation, &call, Attempt::First, 0);
        (decision.verdict(), decision.rule())
    }

    /// Compares the gate with the loop. Texts are their own canonical form.
    fn agrees_on(&mut self, texts: &[&str]) {
        for text in texts {
            let first = self.rules.iter().position(|rule| rule.regex.is_match(text));
            let verdict = first.map_or(Verdict::Allow, |rule| self.rules[rule].verdict);
            let shown: String = text.chars().take(60).collect();
            assert_eq!(
                self.decide(text),
                (verdict, first.map(|rule| rule as u32)),
                "{} on {shown:?}",
                self.name
            );
        }
    }

    /// Ten times the text may take little more than ten times the time, and a megabyte
    /// no longer than `seconds`.
    fn is_linear_on(&mut self, unit: &str, seconds: f64) {
        let mut time = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            self.decide(&text);
            let start = cpu_seconds();
            self.decide(&text);
            cpu_seconds() - start
        };
        let (short, long) = (time(100_000), time(1_000_000));
        println!("{} on {unit:?}: {short:.4} s, {long:.4} s", self.name);
        assert!(long < seconds, "{} on {unit:?} took {long} s", self.name);
        assert!(
            long < 25.0 * short + 0.01,
            "{} on {unit:?}: {short} s, then {long} s",
            self.name
        );
    }
}

fn build(policy: &str) -> (Plan, f64) {
    let start = cpu_seconds();
    let input = Input {
        name: "worst.yaml",
        text: policy,
    };
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let loaded = load(&[input], &options).unwrap_or_else(|_| panic!("the policy does not load"));
    // On this thread, whose time is measured.
    let bytes = compile_on(&loaded.policy, 1, &mut |_| {}).unwrap();
    (Plan::load(bytes).unwrap(), cpu_seconds() - start)
}

/// Texts on which backtracking engines take for ever.
const REDOS: [&str; 4] = ["a", "ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! ", "x=x"];

#[test]
fn fifty_patterns_with_gaps() {
    let rules = (0..50)
        .map(|n| Rule::matches(&format!("a{}.*b{}", n / 10, n % 10)))
        .collect();
    let cost = Cost {
        seconds: 5.0,
        bytes: 2 << 20,
    };
    let mut worst = Worst::new("gaps", rules, cost);
    worst.agrees_on(&["a1 b0", "a0 a1 b9", "b1 a1", "a4b9", "a0b", ""]);
    for unit in REDOS.into_iter().chain(["a0a1a2a3a4 "]) {
        worst.is_linear_on(unit, 1.0);
    }
}

#[test]
fn counted_repeats() {
    let patterns = [
        "a[a-z]{16}b",
        "a[a-z]{20}c",
        "(x[a-y]{1,30}z){2,5}",
        r"(\d{1,40}-){3}x",
        "(a+)+c",
        "(a|aa)+d",
        "(.*a){12}e",
    ];
    let rules = patterns.into_iter().map(Rule::matches).collect();
    let cost = Cost {
        seconds: 20.0,
        bytes: 4 << 20,
    };
    let mut worst = Worst::new("repeats", rules, cost);
    let filler = "a".repeat(40);
    worst.agrees_on(&[
        "abcdefghijklmnopqb",
        "aaaaaaaaaaaaaaaaaaaaac",
        "xabzxabz",
        "1-22-333-x",
        &format!("{filler}c"),
        &format!("{filler}d"),
        &format!("{filler}e"),
        "nothing",
    ]);
    for unit in REDOS {
        worst.is_linear_on(unit, 6.0);
    }
}

#[test]
fn unicode_classes_and_word_boundaries() {
    let mut rules: Vec<Rule> = (0..100)
        .map(|n| Rule::matches(&format!(r"\bword{n}\b")))
        .collect();
    rules.push(Rule::matches(r"\w{1,16}@\w+"));
    rules.push(Rule::matches(r"(?i)straße\s+\p{Lu}"));
    let cost = Cost {
        seconds: 10.0,
        bytes: 2 << 20,
    };
    let mut worst = Worst::new("unicode", rules, cost);
    worst.agrees_on(&[
        "word7",
        "a word77 here",
        "ein Wort: word7 über",
        "überword7",
        "word7é",
        "é word99 é",
        "名前@例え",
        "die Straße É",
        "die straße e",
        "日本語だけ",
    ]);
    for unit in ["é ", "word ", "日本word", "a@"] {
        worst.is_linear_on(unit, 6.0);
    }
}

#[test]
fn a_thousand_contains() {
    let rules = (0..1000)
        .map(|n| Rule::contains(&format!("needle{}x{n}", n % 7)))
        .collect();
    let cost = Cost {
        seconds: 5.0,
        bytes: 2 << 20,
    };
    let mut worst = Worst::new("contains", rules, cost);
    worst.agrees_on(&[
        "needle0x0",
        "a needle3x10 b",
        "needle5x999",
        "needle6x9",
        "needleneedle1x1",
    ]);
    worst.is_linear_on("needle needle0x", 1.0);
}

#[test]
fn a_thousand_secret_shapes() {
    let rules = (0..1000)
        .map(|n| Rule::matches(&format!(r"(?i)key{n}[_-][0-9a-z]{{24}}")))
        .collect();
    let cost = Cost {
        seconds: 40.0,
        bytes: 96 << 20,
    };
    let mut worst = Worst::new("secrets", rules, cost);
    worst.agrees_on(&[
        "key7_0123456789abcdef01234567",
        "KEY999-0123456789ABCDEF01234567",
        "key7_0123456789abcdef0123456",
        "my key12-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ]);
    worst.is_linear_on("key7_0123456789abcdef0123456 ", 3.0);
}

#[test]
fn two_hundred_overlapping_globs() {
    let mut policy = String::from("version: 1\npacks: []\nrules:\n");
    for n in 0..200 {
        let stars = "*".repeat(1 + n % 3);
        writeln!(
            policy,
            "  - tool: \"{stars}t{}*\"\n    when: 'args.text contains \"word{n:03}\"'\n    action: deny",
            "*".repeat(n % 5)
        )
        .unwrap();
    }
    let (plan, seconds) = build(&policy);
    assert!(seconds < 20.0, "took {seconds} s");
    assert!(plan.bytes().len() < 4 << 20);
    let mut gate = Gate::new(plan);
    let tool = ToolDefinition::from_json(serde_json::json!({ "name": "a_tool" })).unwrap();
    gate.pin(None, &[tool], None);
    let mut conversation = gate.conversation();
    for (text, rule) in [
        ("word003 and word150", Some(3)),
        ("word199", Some(199)),
        ("none", None),
    ] {
        let arguments = serde_json::json!({ "text": text }).to_string();
        let call = Call::hypothetical(None, "a_tool", Some(arguments.as_bytes()));
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        assert_eq!(decision.rule(), rule, "{text}");
    }
}

#[test]
fn a_thousand_rules_that_alternate() {
    let rules = (0..1000)
        .map(|n| {
            let mut rule = Rule::matches(&format!("^item{}0*{}$", n % 10, n / 10));
            if n % 2 == 0 {
                rule.verdict = Verdict::Allow;
            }
            rule
        })
        .collect();
    let cost = Cost {
        seconds: 5.0,
        bytes: 1 << 20,
    };
    let mut worst = Worst::new("alternating", rules, cost);
    worst.agrees_on(&[
        "item00",
        "item10",
        "item5007",
        "item900099",
        "item",
        "item100",
    ]);
    worst.is_linear_on("item", 1.0);
}

/// Each index of a sink's path may be any of the arrays that lie in one another.
#[test]
fn sinks_with_indices_in_deep_arrays() {
    let sink = format!("rows{}.email", "[0]".repeat(12));
    let policy = format!(
        "version: 1\npacks: []\ntools: {{t: {{exfiltrating: true, sink_params: ['{sink}'], trusted_destinations: [a@corp.example]}}}}\n"
    );
    let (plan, _) = build(&policy);
    let gate = Gate::new(plan);
    let mut conversation = gate.conversation();
    let mut verdict = |inner: &str, depth: usize| {
        let arguments = format!(
            r#"{{"rows":{}{inner}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let call = Call::hypothetical(None, "t", Some(arguments.as_bytes()));
        let start = cpu_seconds();
        let verdict = gate
            .decide(&mut conversation, &call, Attempt::First, 0)
            .verdict();
        assert!(cpu_seconds() - start < 1.0, "{depth} arrays");
        verdict
    };
    // The bound is generous; trying all choices takes hours.
    assert_eq!(
        verdict(r#"{"email":"a@corp.example"}"#, 100),
        Verdict::Allow
    );
    assert_eq!(verdict(r#"{"email":"b@corp.example"}"#, 100), Verdict::Ask);
    assert_eq!(verdict(&["0"; 1000].join(","), 100), Verdict::Ask);
}

/// A host of many labels is below as many domains.
#[test]
fn hosts_with_many_labels() {
    let policy = "version: 1\npacks: []\n\
        tools: {t: {exfiltrating: true, sink_params: [to], trusted_destinations: ['*.corp.example']}}\n\
        rules: [{tool: t, when: 'host(args.url) in [\"*.evil.example\"]', action: deny}]\n";
    let (plan, _) = build(policy);
    let gate = Gate::new(plan);
    let mut conversation = gate.conversation();
    let mut verdict = |parameter: &str, end: &str, labels: usize| {
        let value = format!("{}{end}", "a.".repeat(labels));
        let arguments = serde_json::json!({ "to": "x.corp.example", parameter: value }).to_string();
        let call = Call::hypothetical(None, "t", Some(arguments.as_bytes()));
        let start = cpu_seconds();
        let verdict = gate
            .decide(&mut conversation, &call, Attempt::First, 0)
            .verdict();
        let seconds = cpu_seconds() - start;
        assert!(seconds < 5.0, "{labels} labels took {seconds} s");
        verdict
    };
    for labels in [2, 1_000, 500_000] {
        assert_eq!(verdict("to", "corp.example", labels), Verdict::Allow);
        assert_eq!(verdict("to", "else.example", labels), Verdict::Ask);
        assert_eq!(verdict("url", "evil.example", labels), Verdict::Deny);
    }
}
