//! Policies: contracts and rules over the shared vocabulary.

use super::conditions::{condition, effects, path};
use super::rng::Rng;
use super::vocabulary::{
    DOMAINS, GLOBS, HOSTS, KEYS, NATIVE_GLOBS, PREFIXES, REGEXES, SERVERS, TEXTS, TOOLS,
};
use bouncer_compiler::builtin_heuristics;
use bouncer_compiler::policy::{
    ArgPattern, Cond, Contract, Dispatch, EffectDefaults, Fallback, FieldLabel, Layer, Outputs,
    Path, PathPrefix, Pattern, Policy, Pos, Rate, Rule, RuleSet, Segment, Sink, TextForm, ToolGlob,
    TrustedDestination, TrustedForm, WriteParam,
};
use bouncer_plan::{Effects, Label, Verdict};

/// Gives every part of a policy a position of its own, so that positions tell which
/// part decided.
struct Lines(u32);

impl Lines {
    fn next(&mut self) -> Pos {
        self.0 += 1;
        Pos {
            file: 0,
            line: self.0,
            column: 1,
        }
    }
}

pub fn policy(rng: &mut Rng) -> Policy {
    let mut lines = Lines(0);
    let mut contracts: Vec<Contract> = Vec::new();
    for _ in 0..rng.below(5) {
        let contract = contract(rng, &mut lines);
        if !contracts
            .iter()
            .any(|other| other.key == contract.key && other.layer == contract.layer)
        {
            contracts.push(contract);
        }
    }
    contracts.sort_by(|a, b| (&a.key, a.layer).cmp(&(&b.key, b.layer)));
    Policy {
        files: vec!["policy.yaml".to_owned()],
        contracts,
        built_in: rng.chance(10),
        effects: effect_defaults(rng),
        heuristics: rng.chance(25).then(builtin_heuristics).flatten(),
        rules: rng.chance(85).then(|| rules(rng, &mut lines)),
        ..Policy::default()
    }
}

fn verdict(rng: &mut Rng) -> Verdict {
    *rng.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

fn rules(rng: &mut Rng, lines: &mut Lines) -> RuleSet {
    let paths = rng.several(1, 4, path);
    let fallback = |rng: &mut Rng, lines: &mut Lines| Fallback {
        action: verdict(rng),
        at: rng.chance(70).then(|| lines.next()),
    };
    RuleSet {
        rules: rng.several(0, 7, |rng| rule(rng, lines, &paths)),
        on_destructive_hint: fallback(rng, lines),
        on_unknown: fallback(rng, lines),
    }
}

fn rule(rng: &mut Rng, lines: &mut Lines, paths: &[Path]) -> Rule {
    let at = lines.next();
    let native = rng.chance(30);
    let tools = rng.several(1, 2, |rng| ToolGlob {
        pattern: if native && rng.chance(40) {
            (*rng.pick(NATIVE_GLOBS)).to_owned()
        } else {
            (*rng.pick(GLOBS)).to_owned()
        },
        native,
        at,
    });
    let condition = if rng.chance(5) {
        Cond::All(vec![])
    } else {
        condition(rng, paths, at, 0)
    };
    Rule {
        tools,
        condition,
        action: verdict(rng),
        reason: rng.chance(30).then(|| "because".to_owned()),
        at,
    }
}

fn contract(rng: &mut Rng, lines: &mut Lines) -> Contract {
    let tool = rng.pick(TOOLS);
    let key = if rng.chance(30) {
        format!("{}__{tool}", rng.pick(SERVERS))
    } else {
        (*tool).to_owned()
    };
    let at = lines.next();
    let top = |rng: &mut Rng| {
        if rng.chance(80) {
            Path(vec![Segment::Key((*rng.pick(KEYS)).to_owned())])
        } else {
            // A contract names an argument, never all of them.
            let mut path = path(rng);
            if path.0.is_empty() {
                path.0.push(Segment::Key("to".to_owned()));
            }
            path
        }
    };
    let constrained = rng.chance(30);
    let layer = *rng.choose(&[Layer::User, Layer::User, Layer::Pack]);
    Contract {
        key,
        layer,
        at,
        exfiltrating: rng.chance(60),
        on_tainted: *rng.choose(&[Verdict::Deny, Verdict::Deny, Verdict::Ask]),
        sinks: rng.several(0, 3, |rng| Sink {
            path: top(rng),
            at: lines.next(),
        }),
        optional_sinks: rng.chance(25),
        trusted: rng.several(0, 3, |rng| TrustedDestination {
            form: match rng.below(4) {
                0 => TrustedForm::AtDomain((*rng.pick(DOMAINS)).to_owned()),
                1 => TrustedForm::Below((*rng.pick(DOMAINS)).to_owned()),
                2 => TrustedForm::Exact((*rng.pick(HOSTS)).to_owned()),
                _ => TrustedForm::Exact((*rng.pick(TEXTS)).to_owned()),
            },
            at: lines.next(),
        }),
        write_params: if constrained {
            rng.several(0, 2, |rng| WriteParam {
                path: top(rng),
                at: lines.next(),
            })
        } else {
            vec![]
        },
        prefixes: rng.several(0, 2, |rng| PathPrefix {
            prefix: (*rng.pick(PREFIXES)).to_owned(),
            at: lines.next(),
        }),
        resolve_symlinks: false,
        base: rng
            .chance(20)
            .then(|| (*rng.pick(&["/srv", "/srv/out", "/etc"])).to_owned()),
        arg_patterns: if constrained {
            rng.several(0, 2, |rng| {
                let written = (*rng.pick(REGEXES)).to_owned();
                ArgPattern {
                    path: top(rng),
                    pattern: Pattern {
                        regex: format!(r"\A(?:{written})\z"),
                        written,
                    },
                    at: lines.next(),
                }
            })
        } else {
            vec![]
        },
        confirm: rng.chance(25),
        dispatches: rng.chance(6).then(|| Dispatch {
            tool: (*rng.pick(KEYS)).to_owned(),
            arguments: "arguments".to_owned(),
            at: lines.next(),
        }),
        max_calls: rng.chance(20).then(|| (rng.below(6) as u64, lines.next())),
        rates: if rng.chance(20) {
            rng.several(1, 2, |rng| Rate {
                count: u32::try_from(rng.below(4)).unwrap(),
                window_ms: 1000 * (1 + rng.below(4) as u64),
                at: lines.next(),
            })
        } else {
            vec![]
        },
        outputs: rng.chance(60).then(|| Outputs {
            label: label(rng),
            private: rng.chance(20),
            text: *rng.choose(&[None, Some(TextForm::Json), Some(TextForm::Prose)]),
            fields: rng.several(0, 2, |rng| FieldLabel {
                path: field(rng),
                label: label(rng),
                private: rng.chance(30),
            }),
            at: lines.next(),
        }),
        effects: if rng.chance(40) {
            effects(rng)
        } else {
            Effects::NONE
        },
        effects_complete: rng.chance(20) && layer == Layer::User,
        // No pack decides what the user is not asked about.
        decides: rng.chance(30) && layer == Layer::User,
    }
}

/// What holds by effect, mostly as where nobody says anything.
fn effect_defaults(rng: &mut Rng) -> EffectDefaults {
    let mut defaults = EffectDefaults::default();
    for verdict in defaults
        .on_effect
        .iter_mut()
        .chain(&mut defaults.after_untrusted)
    {
        if rng.chance(20) {
            *verdict = *rng.choose(&[Verdict::Allow, Verdict::Ask, Verdict::Deny, Verdict::Deny]);
        }
    }
    if rng.chance(20) {
        defaults
            .me
            .push(TrustedForm::AtDomain("corp.com".to_owned()));
    }
    defaults
}

fn label(rng: &mut Rng) -> Label {
    *rng.choose(&[Label::Trusted, Label::Observed, Label::Untrusted])
}

fn field(rng: &mut Rng) -> Path {
    let key = Segment::Key((*rng.pick(&["email", "body", "list"])).to_owned());
    Path(match rng.below(3) {
        0 => vec![key],
        1 => vec![Segment::Each, key],
        _ => vec![Segment::Key("list".to_owned()), Segment::Each, key],
    })
}
