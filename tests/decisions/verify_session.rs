//! What `verify` and `diff` say where rules ask what a call does, what was read before it and
//! what the user typed, against every conversation of a domain.
//!
//! Nothing that is said may be false, and most has to be said. `BOUNCER_POLICIES` sets how many
//! policies are tried, `BOUNCER_SEED` the first.

use crate::generate::rng::Rng;
use crate::verify_brute::setting;
use bouncer_compiler::policy::Policy;
use bouncer_compiler::{Input, Options as Loading, load};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_plan::{Plan, Verdict};
use bouncer_verify::{Example, Finding, Kind, Options, Relation, diff, verify};
use serde_json::json;

const EFFECTS: [&str; 4] = ["run", "send", "write", "pay"];
const SAYING: [&str; 4] = [
    "",
    "please run it for me",
    "what is in it and what is that about",
    "xyzzy plugh",
];
/// What `x` is: absent, or seen nowhere, in untrusted text, typed, private.
const VALUES: [&str; 5] = ["", "alpha-1", "bravo-22", "charlie-3", "delta-4444"];

fn verdict(rng: &mut Rng) -> &'static str {
    const ALL: [&str; 3] = ["allow", "ask", "deny"];
    ALL[rng.below(ALL.len())]
}

fn effects(rng: &mut Rng) -> String {
    let some: Vec<&str> = EFFECTS.into_iter().filter(|_| rng.chance(40)).collect();
    match some.as_slice() {
        [] => "send".to_owned(),
        some => some.join(", "),
    }
}

fn test(rng: &mut Rng) -> String {
    match rng.below(12) {
        0..=2 => format!("effect in [{}]", effects(rng)),
        3 | 4 => "read_untrusted".to_owned(),
        5 => "read_private".to_owned(),
        6 => "user_named_effect".to_owned(),
        7 => format!(
            "provenance(args.x) == {}",
            rng.choose(&["user", "untrusted", "unproven"])
        ),
        8 => "carries_private(args.x)".to_owned(),
        9 => "args.x exists".to_owned(),
        10 => format!("args.x == '{}'", rng.pick(&VALUES[1..3])),
        _ => format!("args.x starts_with '{}'", rng.choose(&["a", "b", "delta"])),
    }
}

fn condition(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth > 1 { 5 } else { 10 }) {
        0..=3 => test(rng),
        4 => format!("not {}", test(rng)),
        5 => format!(
            "({} or {})",
            condition(rng, depth + 1),
            condition(rng, depth + 1)
        ),
        _ => format!(
            "{} and {}",
            condition(rng, depth + 1),
            condition(rng, depth + 1)
        ),
    }
}

/// A rule on a line of its own.
fn rule(rng: &mut Rng) -> String {
    let tool = rng.choose(&["t", "t", "u", "*"]);
    let action = verdict(rng);
    match rng.chance(85) {
        true => format!(
            "  - {{tool: '{tool}', when: \"{}\", action: {action}}}",
            condition(rng, 0)
        ),
        false => format!("  - {{tool: '{tool}', action: {action}}}"),
    }
}

#[derive(Clone)]
struct Written {
    tools: String,
    rules: Vec<String>,
    defaults: String,
}

impl Written {
    fn make(rng: &mut Rng) -> Self {
        Self {
            tools: format!(
                "tools:\n  t: {{effects: [{}]}}\n  u: {{effects: [{}]}}\n  vault: {{effects: [read], outputs: {{label: {}, private: true}}}}\n",
                effects(rng),
                effects(rng),
                rng.choose(&["trusted", "trusted", "untrusted"]),
            ),
            rules: rng.several(1, 4, rule),
            defaults: defaults(rng),
        }
    }

    /// The text with the rules from line 8 on.
    fn text(&self, extra: &str) -> String {
        format!(
            "version: 1\npacks: []\n{}{}rules:\n{}\n{extra}",
            self.tools,
            self.defaults,
            self.rules.join("\n")
        )
    }
}

fn defaults(rng: &mut Rng) -> String {
    let by = |rng: &mut Rng| match rng.below(4) {
        0 => "{}".to_owned(),
        1 => verdict(rng).to_owned(),
        _ => format!("{{{}: {}}}", rng.pick(&EFFECTS), verdict(rng)),
    };
    let (before, after) = (by(rng), by(rng));
    format!(
        "defaults: {{onUnknown: {0}, onDestructiveHint: {0}, onEffect: {before}, afterUntrusted: {after}}}\n",
        verdict(rng)
    )
}

fn loaded(text: &str) -> Policy {
    let input = Input {
        name: "policy.yaml",
        text,
    };
    let options = Loading {
        packs: false,
        heuristics: true,
    };
    match load(&[input], &options) {
        Ok(loaded) => loaded.policy,
        Err(diagnostics) => panic!(
            "{}\n{text}",
            bouncer_compiler::diagnostic::short(&diagnostics)
        ),
    }
}

fn gate(policy: &Policy) -> Gate {
    Gate::new(Plan::load(bouncer_compiler::compile(policy).unwrap()).unwrap())
}

/// A call and what was before it.
#[derive(Clone, Copy, Debug)]
struct Talk {
    tool: &'static str,
    untrusted: bool,
    private: bool,
    said: usize,
    value: usize,
}

/// All conversations.
fn talks() -> Vec<Talk> {
    let mut talks = Vec::new();
    for tool in ["t", "u"] {
        for reads in 0..4 {
            for said in 0..SAYING.len() {
                for value in 0..VALUES.len() {
                    talks.push(Talk {
                        tool,
                        untrusted: reads & 1 == 1,
                        private: reads & 2 == 2,
                        said,
                        value,
                    });
                }
            }
        }
    }
    talks
}

fn judged(gate: &Gate, talk: &Talk) -> (Verdict, Option<u32>) {
    let mut conversation = gate.conversation();
    let secret = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let value = VALUES[talk.value];
    if talk.value == 4 {
        gate.record(&mut conversation, None, "vault", &secret(value));
    } else if talk.private {
        gate.record(&mut conversation, None, "vault", &secret("hello"));
    }
    if talk.value == 2 {
        gate.record_untrusted(&mut conversation, None, "mail", &json!(value));
    } else if talk.untrusted {
        gate.record_untrusted(&mut conversation, None, "mail", &json!("hello"));
    }
    let mut said = SAYING[talk.said].to_owned();
    if talk.value == 3 {
        said = format!("{said} {value}");
    }
    if !said.is_empty() {
        gate.record_user(&mut conversation, &said);
    }
    let arguments = match talk.value {
        0 => "{}".to_owned(),
        _ => format!("{{\"x\":\"{value}\"}}"),
    };
    let call = Call::hypothetical(None, talk.tool, Some(arguments.as_bytes()));
    let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
    (decision.verdict(), decision.rule())
}

/// How an example is judged, from what it says.
fn replayed(gate: &Gate, example: &Example) -> Verdict {
    let mut conversation = gate.conversation();
    for text in &example.private {
        let result = json!({"content": [{"type": "text", "text": text}]});
        gate.record(&mut conversation, None, "vault", &result);
    }
    for text in &example.untrusted {
        gate.record_untrusted(&mut conversation, None, "mail", &json!(text));
    }
    for text in &example.typed {
        gate.record_user(&mut conversation, text);
    }
    let call = Call::hypothetical(
        example.server.as_deref(),
        &example.tool,
        Some(example.arguments.as_bytes()),
    );
    gate.decide(&mut conversation, &call, Attempt::First, 0)
        .verdict()
}

fn is_dead(finding: &Finding) -> bool {
    match finding.kind {
        Kind::Shadowed => true,
        Kind::Redundant => !finding.message.contains("without it"),
        Kind::Vacuous => finding
            .message
            .starts_with("no call satisfies the condition"),
        _ => false,
    }
}

#[test]
fn rules_of_sessions() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut rules, mut dead, mut found, mut unknown) = (0_u32, 0_u32, 0_u32, 0_u32);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(1500)) {
        let written = Written::make(&mut Rng::new(seed ^ 0x5e55));
        let text = written.text("");
        let policy = loaded(&text);
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let gate = gate(&policy);
        let all: Vec<_> = talks()
            .into_iter()
            .map(|t| (t, judged(&gate, &t)))
            .collect();
        for finding in &report.findings {
            if let Some(example) = &finding.example {
                assert_eq!(
                    replayed(&gate, example),
                    example.verdict,
                    "seed {seed}: {finding:#?}\n{text}"
                );
            }
        }
        for number in 0..written.rules.len() {
            rules += 1;
            let line = policy.rules.as_ref().unwrap().rules[number].at.line;
            let here = || {
                report
                    .findings
                    .iter()
                    .filter(|f| f.places[0].at.line == line)
            };
            let reported = here().find(|finding| is_dead(finding));
            let decides = all.iter().find(|(_, (_, by))| *by == Some(number as u32));
            if let (Some((talk, _)), Some(finding)) = (decides, reported)
                && !finding.message.contains("disguise")
            {
                panic!("seed {seed}: rule {number} decides {talk:?}\n{finding:#?}\n{text}");
            }
            let is_unknown = here().any(|finding| finding.kind == Kind::Undecided);
            unknown += u32::from(is_unknown);
            if decides.is_none() {
                dead += 1;
                found += u32::from(reported.is_some());
            }
            if std::env::var_os("BOUNCER_SHOW").is_some()
                && (is_unknown || decides.is_none() && reported.is_none())
            {
                println!("seed {seed}: rule {number} unknown {is_unknown}\n{text}");
            }
        }
    }
    println!("{rules} rules, {dead} dead, {found} found, {unknown} undecided");
    // Some decide in no conversation of the domain, but in others.
    assert!(
        found * 100 >= dead * 70,
        "{found} of {dead} dead rules found"
    );
    assert!(unknown * 100 <= rules * 5, "{unknown} of {rules} undecided");
}

/// A policy that denies what an assertion is about, or allows it.
fn probe(written: &Written, tool: &str, when: &str, strict: bool) -> Policy {
    let (action, otherwise) = if strict {
        ("deny", "allow")
    } else {
        ("allow", "deny")
    };
    let probe = Written {
        rules: vec![format!(
            "  - {{tool: '{tool}', when: \"{when}\", action: {action}}}"
        )],
        defaults: format!(
            "defaults: {{onUnknown: {otherwise}, onDestructiveHint: {otherwise}, onEffect: allow, afterUntrusted: allow}}\n"
        ),
        ..written.clone()
    };
    loaded(&probe.text(""))
}

#[test]
fn assertions_about_sessions() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut proved, mut refuted, mut unknown, mut nothing) = (0, 0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(1500)) {
        let rng = &mut Rng::new(seed ^ 0xa55e5);
        let written = Written::make(rng);
        let (always, verdict) = (rng.chance(40), verdict(rng));
        let tool = *rng.choose(&["t", "u"]);
        let when = condition(rng, 0);
        let claim = format!(
            "{} {verdict} tool \"{tool}\" when {when}",
            if always { "always" } else { "never" }
        );
        let text = written.text(&format!(
            "assert:\n  - \"{}\"\n",
            claim.replace('"', "\\\"")
        ));
        let policy = loaded(&text);
        let at = policy.assertions[0].at.unwrap();
        let report = verify(&policy, &[], &Options::default()).unwrap();
        let strict = matches!((always, verdict), (false, "allow") | (true, "deny" | "ask"));
        let (gate, about) = (gate(&policy), gate(&probe(&written, tool, &when, strict)));
        let under = if strict {
            Verdict::Deny
        } else {
            Verdict::Allow
        };
        let violates = |judged: Verdict| (judged.name() == verdict) != always;
        let here = report
            .findings
            .iter()
            .find(|f| f.places.first().is_some_and(|p| p.at == at));
        let wrong = talks()
            .into_iter()
            .find(|talk| judged(&about, talk).0 == under && violates(judged(&gate, talk).0));
        match here.map(|finding| finding.kind) {
            Some(Kind::Assertion) => {
                let example = here.and_then(|f| f.example.as_ref()).unwrap();
                assert!(
                    violates(replayed(&gate, example)),
                    "seed {seed}: {here:#?}\n{text}"
                );
                assert_eq!(
                    replayed(&about, example),
                    under,
                    "seed {seed}: {here:#?}\n{text}"
                );
                refuted += 1;
            }
            Some(Kind::Undecided) => {
                unknown += 1;
                if std::env::var_os("BOUNCER_SHOW").is_some() {
                    println!("seed {seed}: undecided, {wrong:?}\n{text}");
                }
            }
            Some(Kind::Vacuous) => {
                let any = talks()
                    .into_iter()
                    .find(|talk| judged(&about, talk).0 == under);
                assert!(any.is_none(), "seed {seed}: {any:?}\n{text}");
                nothing += 1;
            }
            _ => {
                assert!(
                    wrong.is_none(),
                    "seed {seed}: said to hold, but {wrong:?}\n{text}"
                );
                proved += 1;
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {unknown} undecided, {nothing} about nothing");
    let all = proved + refuted + unknown + nothing;
    assert!(unknown * 100 <= all * 12, "{unknown} of {all} undecided");
}

#[test]
fn differences_of_sessions() {
    let first = setting("BOUNCER_SEED", 0);
    let (mut same, mut differ, mut unknown) = (0, 0, 0);
    for seed in first..first + setting("BOUNCER_POLICIES", crate::share(1500)) {
        let rng = &mut Rng::new(seed ^ 0xd1f5);
        let before = Written::make(rng);
        let mut after = before.clone();
        let count = after.rules.len();
        match rng.below(6) {
            0 => after.defaults = defaults(rng),
            1 => after.rules.insert(rng.below(count + 1), rule(rng)),
            2 if count > 1 => {
                after.rules.remove(rng.below(count));
            }
            3 => after.tools = Written::make(rng).tools,
            4 => after.rules.swap(0, count - 1),
            _ => after.rules[rng.below(count)] = rule(rng),
        }
        let (old, new) = (loaded(&before.text("")), loaded(&after.text("")));
        let diffs = diff(&old, &new, &[], &Options::default(), &mut |_| {}).unwrap();
        let (old_gate, new_gate) = (gate(&old), gate(&new));
        for entry in &diffs {
            match entry.relation {
                Relation::Equivalent => same += 1,
                // Where what calls do is said otherwise, or what holds for it, calls are only tried.
                Relation::Undecided if before.tools != after.tools => {}
                Relation::Undecided if before.defaults != after.defaults => {}
                Relation::Undecided => unknown += 1,
                _ => differ += 1,
            }
            for (change, tighter) in [(&entry.tighter, true), (&entry.looser, false)] {
                let Some(change) = change else { continue };
                // Under both, what is private has to be read in the same way.
                if !change.example.private.is_empty() && before.tools != after.tools {
                    continue;
                }
                let (was, is) = (
                    replayed(&old_gate, &change.example),
                    replayed(&new_gate, &change.example),
                );
                assert!(
                    if tighter { is > was } else { is < was },
                    "seed {seed}: {entry:#?}"
                );
            }
        }
        for talk in talks() {
            let ((was, _), (is, _)) = (judged(&old_gate, &talk), judged(&new_gate, &talk));
            let entry = diffs.iter().find(|entry| entry.tool == talk.tool).unwrap();
            let told = was == is
                || (is > was && (entry.tighter.is_some() || entry.maybe_tighter))
                || (is < was && (entry.looser.is_some() || entry.maybe_looser))
                // How results are labelled is told where they are returned.
                || diffs.iter().any(|e| e.tool == "vault" && e.relation == Relation::Undecided);
            assert!(
                told,
                "seed {seed}: {talk:?}: {was} is now {is}\n{entry:#?}\n{}\n{}",
                before.text(""),
                after.text("")
            );
        }
    }
    println!("{same} equivalent, {differ} differ, {unknown} undecided");
    let all = same + differ + unknown;
    assert!(unknown * 100 <= all * 12, "{unknown} of {all} undecided");
}
