//! The defaults for what a call does: by what was read before it, and by who vouches for
//! where it goes.

use super::json::Json;
use super::leaves;
use super::shared::{self, Seen};
use super::sinks;
use bouncer_compiler::policy::{EffectDefaults, Path, TrustedForm};
use bouncer_engine::tools::Heuristics;
use bouncer_plan::{Effect, Label, Verdict};

/// What the layer looks at.
pub struct Flow<'a> {
    pub defaults: &'a EffectDefaults,
    pub heuristics: Option<&'a Heuristics>,
    /// What the call does; `None`: nobody can tell.
    pub effects: Option<&'a [Effect]>,
    /// The arguments that say where something goes, by the contract or the schema.
    pub sinks: &'a [Path],
    /// The contract's sink gate looks at where it goes.
    pub gated: bool,
    /// It has no objection.
    pub vouched: bool,
    /// The contract is the user's.
    pub by_user: bool,
    /// Something untrusted was read before.
    pub read_untrusted: bool,
    /// Whether the user's words name one of these effects.
    pub named: &'a dyn Fn(&[Effect]) -> Option<bool>,
    pub seen: &'a Seen,
    pub approved: &'a dyn Fn(&str, &str) -> bool,
}

/// What there is to object to.
pub struct Objection {
    pub verdict: Verdict,
    /// It is about one target, in this argument.
    pub target: Option<(String, String)>,
    /// It is about a target alone, as what the sink gate asks about.
    pub by_gate: bool,
}

/// Text of the arguments.
struct Text {
    top: String,
    near: String,
    text: String,
    kind: Kind,
    in_sink: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Key,
    String,
    Number,
}

/// How bad one thing is, best first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Bad {
    /// A target nobody vouches for.
    Target,
    /// Something else that is asked about.
    Other,
    /// An address out of untrusted text.
    Tainted,
}

const OUTWARD: [Effect; 8] = [
    Effect::Send,
    Effect::Publish,
    Effect::Fetch,
    Effect::Run,
    Effect::Pay,
    Effect::Grant,
    Effect::Destroy,
    Effect::Act,
];

fn is_hard(effect: Effect) -> bool {
    OUTWARD.contains(&effect) && !matches!(effect, Effect::Send | Effect::Fetch)
}

impl Flow<'_> {
    /// The objection, if there is one.
    pub fn judge(&self, arguments: &Json) -> Option<Objection> {
        let does: Vec<Effect> = self.effects.map_or(vec![Effect::Write], |all| {
            all.iter().copied().filter(|e| *e != Effect::Read).collect()
        });
        let verdict_of = |effect: Effect| match self.read_untrusted {
            true => self.defaults.after_untrusted[effect as usize],
            false => self.defaults.on_effect[effect as usize],
        };
        let minded: Vec<Effect> = does
            .iter()
            .copied()
            .filter(|effect| verdict_of(*effect) != Verdict::Allow)
            .collect();
        let ask = minded.iter().map(|effect| verdict_of(*effect)).max()?;
        let outward = self.effects.is_none() || minded.iter().any(|e| OUTWARD.contains(e));
        let hard = minded.iter().copied().any(is_hard);
        let others: Vec<Effect> = does
            .iter()
            .copied()
            .filter(|e| *e != Effect::Write)
            .collect();
        let fetch_only = others == [Effect::Fetch];

        let texts = self.texts(arguments);
        // Beside an argument that says where the call goes, an address may be what it says.
        let says_where = |text: &Text| text.kind != Kind::Key && self.is_target(text);
        let beside = texts.iter().any(says_where);
        let mut named_targets = 0;
        let mut bad: Vec<(Bad, String, String)> = Vec::new();
        let mut look = |target: &str, text: &Text| {
            named_targets += 1;
            if let Some(how) = self.bad(target, text, beside, hard, fetch_only) {
                bad.push((how, text.top.clone(), target.to_owned()));
            }
        };
        let held = |path: &Path| !leaves::leaves(arguments, path).is_empty();
        let declared = self.sinks.iter().any(held) || texts.iter().any(|text| text.in_sink);
        for text in &texts {
            let by_name = says_where(text);
            let address = (outward || by_name) && shared::is_destination_shaped(&text.text);
            let named = by_name && !shared::is_date(&text.text);
            let by_gate = self.gated && (text.in_sink || !declared || self.by_user || address);
            let looked_at = text.text.is_empty() || by_gate;
            if !looked_at && (address || named) {
                for target in shared::destinations(&text.text) {
                    look(&target, text);
                }
            }
        }
        if named_targets == 0 && hard && !self.gated {
            for text in texts.iter().filter(|text| text.kind == Kind::String) {
                let names = !self.is_content(text) && !text.text.is_empty();
                if names && !shared::is_date(&text.text) {
                    named_targets += 1;
                    if let Some(how) = self.bad(&text.text, text, beside, hard, fetch_only) {
                        // Nobody vouches for what something is done to but by the call.
                        let how = if how == Bad::Target { Bad::Other } else { how };
                        bad.push((how, text.top.clone(), text.text.clone()));
                    }
                }
            }
        }
        let vouched = self.vouched || (named_targets > 0 && bad.is_empty());
        let tainted = bad.iter().any(|(how, ..)| *how == Bad::Tainted);
        if self.read_untrusted && !tainted {
            for text in &texts {
                let found = if outward {
                    self.carries(text)
                } else {
                    u32::from(self.copies(text))
                };
                for _ in 0..found {
                    bad.push((Bad::Other, text.top.clone(), String::new()));
                }
            }
        }
        let sends = minded.iter().any(|e| is_hard(*e) || *e == Effect::Send);
        let mut found = !bad.is_empty();
        let mut about_target = bad.len() == 1 && bad[0].0 != Bad::Other && self.read_untrusted;
        if named_targets == 0 && !self.gated && sends && !found {
            found = true;
        }
        let mut verdict = if tainted { Verdict::Deny } else { ask };
        let to_name: Vec<Effect> = minded
            .iter()
            .copied()
            .filter(|e| is_hard(*e) && *e != Effect::Act)
            .collect();
        if self.read_untrusted && !tainted && (self.named)(&to_name) == Some(false) {
            found = true;
            about_target = false;
            verdict = if vouched { ask } else { Verdict::Deny };
        }
        found.then(|| Objection {
            verdict,
            by_gate: tainted || (about_target && verdict == Verdict::Ask),
            target: bad
                .first()
                .filter(|_| about_target && verdict == Verdict::Ask)
                .map(|(_, param, target)| (param.clone(), target.clone())),
        })
    }

    /// How bad a target is; `None`: somebody vouches for it, or it does not matter.
    fn bad(
        &self,
        target: &str,
        text: &Text,
        beside: bool,
        hard: bool,
        fetch_only: bool,
    ) -> Option<Bad> {
        let own = self.defaults.me.iter().any(|form| is_listed(form, target));
        let host = shared::host(target);
        let typed = self.seen.is_typed(target)
            || (fetch_only && host.is_some_and(|host| self.seen.is_host_typed(&host)));
        if own || typed || (self.approved)(&text.top, target) {
            return None;
        }
        match self.seen.classify(target) {
            Some(Label::Trusted) => None,
            _ if !self.read_untrusted => hard.then_some(Bad::Other),
            Some(Label::Untrusted)
                if ((self.effects.is_some() && !beside)
                    || (text.kind != Kind::Key && self.is_target(text)))
                    && !fetch_only
                    && shared::is_anywhere(target) =>
            {
                Some(Bad::Tainted)
            }
            _ => Some(Bad::Target),
        }
    }

    /// How many things inside a text should not travel.
    fn carries(&self, text: &Text) -> u32 {
        let private = self.seen.carries_private(&text.text) && !self.seen.is_typed(&text.text);
        let whole = self.is_target(text) || shared::is_destination_shaped(&text.text);
        let address = !whole
            && shared::tokens(&super::text::folded(&text.text))
                .iter()
                .any(|token| {
                    let label = self.seen.classify(token);
                    matches!(label, Some(Label::Untrusted | Label::Observed))
                        && !shared::is_date(token)
                });
        u32::from(private) + u32::from(address)
    }

    /// Whether a text stands in what was read.
    fn copies(&self, text: &Text) -> bool {
        let label = self.seen.classify(&text.text);
        text.kind == Kind::String
            && matches!(label, Some(Label::Untrusted | Label::Observed))
            && !self.seen.is_typed(&text.text)
            && !shared::is_date(&text.text)
    }

    fn is_target(&self, text: &Text) -> bool {
        text.in_sink
            || self
                .heuristics
                .is_some_and(|all| all.is_sink_name(&text.near))
    }

    fn is_content(&self, text: &Text) -> bool {
        !self.is_target(text)
            && self
                .heuristics
                .is_some_and(|all| all.labels.label_for(&text.near).is_some())
    }

    /// All texts of the arguments, in order: keys below the top level, strings, numbers.
    fn texts(&self, arguments: &Json) -> Vec<Text> {
        let sinks: Vec<&Json> = self
            .sinks
            .iter()
            .flat_map(|path| leaves::nodes(arguments, path))
            .collect();
        let mut out = Vec::new();
        if let Json::Object(members) = arguments {
            for (name, value) in members {
                let inside = sinks.iter().any(|sink| std::ptr::eq(*sink, arguments));
                collect(value, &sinks, inside, name, name, &mut out);
            }
        }
        out
    }
}

fn collect(node: &Json, sinks: &[&Json], inside: bool, top: &str, near: &str, out: &mut Vec<Text>) {
    let inside = inside || sinks.iter().any(|sink| std::ptr::eq(*sink, node));
    let text = |near: &str, text: String, kind| Text {
        top: top.to_owned(),
        near: near.to_owned(),
        text,
        kind,
        in_sink: inside,
    };
    match node {
        Json::Array(items) => {
            for item in items {
                collect(item, sinks, inside, top, near, out);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                out.push(text(near, name.clone(), Kind::Key));
                collect(value, sinks, inside, top, name, out);
            }
        }
        Json::Str(value) => out.push(text(near, value.clone(), Kind::String)),
        Json::Number(value) => out.push(text(near, value.clone(), Kind::Number)),
        Json::Bool(_) | Json::Null => {}
    }
}

fn is_listed(form: &TrustedForm, target: &str) -> bool {
    sinks::is_trusted(form, target)
}
