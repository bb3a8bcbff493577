//! Patterns and texts that probably mean something else than their author thinks.
//!
//! Where a pattern lets calls through, texts that should not get through are tried on it:
//! what is reported is a text that does. Whether a test lets through depends on where it
//! stands: a match in an `allow` rule does, and so does one under `not` in a `deny` rule.

mod blocks;
mod starts;
mod texts;

use super::probe::{self, Host, Probe, Sample};
use super::reach;
use super::schema;
use super::show::Judge;
use super::{Example, Finding, Kind, ListedTool, Place, Severity};
use blocks::{
    KEYWORDS, has_keyword, holds_sql, letter_case, line_breaks, other_case, start_only, upper,
};
use bouncer_compiler::diagnostic::{Code, escape, quote};
use bouncer_compiler::policy::{
    Contract, ListItem, Op, Part, Path, Pattern, Policy, Pos, Rule, Scalar, Segment, Subject, Test,
    View,
};
use bouncer_plan::Verdict;
use serde_json::json;

/// Looks at every pattern, glob, key and text of the policy.
pub(super) fn check(
    policy: &Policy,
    listed: &[ListedTool],
    judge: &Judge<'_>,
    out: &mut Vec<Finding>,
) {
    let smells = Smells { listed, judge };
    let rules = policy.rules.iter().flat_map(|set| &set.rules);
    for rule in rules {
        for glob in &rule.tools {
            texts::glob(glob, out);
        }
        reach::each_test(&rule.condition, &mut |test, positive| {
            smells.test(rule, test, positive, out);
        });
    }
    for contract in &policy.contracts {
        texts::contract(contract, out);
        for pattern in &contract.arg_patterns {
            let place = Spot {
                at: pattern.at,
                path: &pattern.path,
                view: View::Value,
                lets: true,
                raw: true,
                whose: Whose::Contract(contract),
            };
            smells.pattern(&place, &pattern.pattern, out);
        }
    }
}

/// Who a test belongs to.
#[derive(Clone, Copy)]
enum Whose<'a> {
    Rule(&'a Rule),
    Contract(&'a Contract),
}

/// Where a test stands.
struct Spot<'a> {
    at: Pos,
    path: &'a Path,
    view: View,
    /// A match lets the call through.
    lets: bool,
    /// The value is compared as it stands, line breaks included.
    raw: bool,
    whose: Whose<'a>,
}

struct Smells<'a> {
    listed: &'a [ListedTool],
    judge: &'a Judge<'a>,
}

/// What decides whether a text matches.
enum Matcher<'a> {
    Regex(Box<Probe>),
    Part(Part, &'a str),
}

impl Matcher<'_> {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Regex(probe) => probe.matches(text),
            Self::Part(place, part) => place.holds(text, part),
        }
    }

    fn misses(&self, text: &str) -> bool {
        match self {
            Self::Regex(probe) => probe.misses(text),
            Self::Part(..) => !self.matches(text),
        }
    }
}

impl Smells<'_> {
    fn test(&self, rule: &Rule, test: &Test, positive: bool, out: &mut Vec<Finding>) {
        let Subject::Arg(path, view) = &test.subject else {
            return;
        };
        let spot = Spot {
            at: test.at,
            path,
            view: *view,
            lets: (rule.action == Verdict::Allow) == positive,
            raw: false,
            whose: Whose::Rule(rule),
        };
        match &test.op {
            Op::Matches(pattern) => self.pattern(&spot, pattern, out),
            Op::Part(part, text) => {
                texts::literal(text, part.name(), &spot, out);
                self.written(
                    &spot,
                    &Matcher::Part(*part, text),
                    text,
                    &[Sample::of(text)],
                    out,
                );
            }
            Op::Equals(Scalar::Str(text)) => {
                texts::literal(text, "equals", &spot, out);
                self.letter_case_of_value(&spot, text, Severity::Warning, out);
            }
            Op::In(items) => {
                for item in items.iter().take(1000) {
                    if let ListItem::Scalar(Scalar::Str(text)) = item {
                        texts::confusable(text, spot.at, "this text", out);
                        // A list may serve other rules too.
                        self.letter_case_of_value(&spot, text, Severity::Note, out);
                    }
                }
            }
            Op::Within(prefixes) => {
                for prefix in prefixes {
                    texts::prefix(prefix, spot.at, out);
                }
            }
            _ => {}
        }
    }

    fn pattern(&self, spot: &Spot<'_>, pattern: &Pattern, out: &mut Vec<Finding>) {
        texts::confusable(&pattern.written, spot.at, "this pattern", out);
        texts::dialect(pattern, spot.at, out);
        let Ok(hir) = regex_syntax::parse(&pattern.regex) else {
            return;
        };
        let samples = probe::samples(&hir);
        line_breaks(spot, &hir, &samples, pattern, out);
        // Only a pattern that is about hosts, paths or queries is worth an automaton.
        let worth = samples.iter().any(|sample| {
            !probe::hosts(sample).is_empty() || is_path(sample) || has_keyword(sample).is_some()
        }) || starts::reader(spot).is_some();
        if !worth {
            return;
        }
        if let Some(probe) = Probe::new(&pattern.regex) {
            let matcher = Matcher::Regex(Box::new(probe));
            self.written(spot, &matcher, &pattern.written, &samples, out);
        }
    }

    /// Tries texts that should not match on what was written.
    fn written(
        &self,
        spot: &Spot<'_>,
        matcher: &Matcher<'_>,
        written: &str,
        samples: &[Sample],
        out: &mut Vec<Finding>,
    ) {
        let before = out.len();
        for sample in samples {
            for host in probe::hosts(sample) {
                if spot.lets {
                    self.unanchored(spot, matcher, written, sample, &host, out);
                }
                self.bare_dot(spot, matcher, written, sample, &host, out);
                if !spot.lets && spot.view == View::Value {
                    letter_case(
                        spot,
                        matcher,
                        written,
                        sample,
                        (host.start, host.end),
                        "a host",
                        out,
                    );
                }
            }
            if !spot.lets
                && spot.view == View::Value
                && holds_sql(spot.path)
                && let Some(word) = has_keyword(sample)
            {
                start_only(spot, matcher, written, sample, word, out);
                letter_case(spot, matcher, written, sample, word, "SQL", out);
            }
            if let Some(reader) = starts::reader(spot) {
                self.starts(spot, reader, matcher, written, sample, out);
            }
            if spot.lets && spot.view == View::Value && is_path(sample) {
                self.climbs(spot, matcher, written, sample, out);
            }
        }
        // One finding of a kind for one pattern is enough.
        let mut seen = Vec::new();
        let mut at = 0;
        out.retain(|finding| {
            at += 1;
            if at <= before {
                return true;
            }
            let fresh = !seen.contains(&finding.code);
            seen.push(finding.code);
            fresh
        });
    }

    /// Another host or address around the one that is written.
    fn unanchored(
        &self,
        spot: &Spot<'_>,
        matcher: &Matcher<'_>,
        written: &str,
        sample: &Sample,
        host: &Host,
        out: &mut Vec<Finding>,
    ) {
        let length = sample.chars.len();
        let (before, after) = (sample.part(0, host.start), sample.part(host.end, length));
        let name = shown_host(sample, host);
        let user = if before == "@" { "user" } else { "" };
        let base = format!("{user}{before}{name}{after}");
        if !matcher.matches(&base) {
            return;
        }
        let is_url = before.contains("://");
        let is_address = before.ends_with('@');
        let mut tries = vec![format!("{user}{before}{name}.evil.example{after}")];
        if is_address {
            tries.push(format!("{user}{before}evil{name}{after}"));
        } else {
            tries.push(format!("{before}evil{name}{after}"));
        }
        if spot.view == View::Value {
            if is_url {
                tries.push(format!("{before}{name}@evil.example{after}"));
                tries.push(format!("https://evil.example/?u={base}"));
                tries.push(format!(
                    "https://evil.example/?u=x{}",
                    base.split("://").nth(1).unwrap_or_default()
                ));
            } else {
                for between in [",", ", ", ";", " "] {
                    tries.push(format!("mallory@evil.example{between}{base}"));
                    tries.push(format!("{base}{between}mallory@evil.example"));
                }
                if spot.raw {
                    tries.push(format!("mallory@evil.example\n{base}"));
                    tries.push(format!("{base}\nmallory@evil.example"));
                }
                if !is_address {
                    tries.push(format!("https://evil.example/?u={base}"));
                }
            }
        }
        let Some(slips) = tries.iter().find(|text| matcher.matches(text)) else {
            return;
        };
        let help = match spot.view {
            View::Host | View::Domain => {
                format!(
                    "compare the whole with `==` or `in [\"*.{name}\"]`, or write `^…$` around the pattern"
                )
            }
            _ if is_url => format!(
                "compare `host(…)` with {}, or match the whole value",
                quote(&name)
            ),
            _ => {
                format!("write `in [\"*@{name}\"]`, compare `domain(…)`, or match the whole value")
            }
        };
        out.push(Finding {
            code: Code::UNANCHORED,
            kind: Kind::PatternSmell,
            severity: Severity::Warning,
            message: format!("{} is also found in `{}`", quote(written), escape(slips)),
            places: place(spot.at, "this lets more through than it seems"),
            help: Some(help),
            example: self.example(spot, slips),
        });
    }

    /// A dot of a host that matches anything.
    fn bare_dot(
        &self,
        spot: &Spot<'_>,
        matcher: &Matcher<'_>,
        written: &str,
        sample: &Sample,
        host: &Host,
        out: &mut Vec<Finding>,
    ) {
        let Some(&dot) = host.any_dots.first() else {
            return;
        };
        let name = shown_host(sample, host);
        let mut other = String::new();
        if sample.part(0, host.start) == "@" {
            other.push_str("user");
        }
        for (at, (c, _)) in sample.chars.iter().enumerate() {
            other.push(match () {
                () if at == dot => 'x',
                () if host.any_dots.contains(&at) => '.',
                () => *c,
            });
        }
        if !matcher.matches(&other) {
            return;
        }
        out.push(Finding {
            code: Code::BARE_DOT,
            kind: Kind::PatternSmell,
            // Where a match blocks, the bare dot only blocks more.
            severity: if spot.lets {
                Severity::Warning
            } else {
                Severity::Note
            },
            message: format!(
                "the `.` of {} is any character: {} also matches `{}`",
                quote(&name),
                quote(written),
                escape(&other)
            ),
            places: place(spot.at, ""),
            help: Some(format!("write `{}`", name.replace('.', "\\."))),
            example: if spot.lets {
                self.example(spot, &other)
            } else {
                None
            },
        });
    }

    /// A path that starts as written and leads elsewhere.
    fn climbs(
        &self,
        spot: &Spot<'_>,
        matcher: &Matcher<'_>,
        written: &str,
        sample: &Sample,
        out: &mut Vec<Finding>,
    ) {
        // The contract may confine the same argument.
        if let Whose::Contract(contract) = spot.whose
            && !contract.prefixes.is_empty()
            && contract
                .write_params
                .iter()
                .any(|param| &param.path == spot.path)
        {
            return;
        }
        let text = sample.text();
        let joint = if text.ends_with('/') { "" } else { "/" };
        let mut tries = vec![format!("{text}{joint}../../etc/passwd")];
        if let Some(at) = sample
            .chars
            .iter()
            .rposition(|(_, mark)| *mark != probe::Mark::Literal)
        {
            let (front, back) = (sample.part(0, at), sample.part(at + 1, sample.chars.len()));
            tries.push(format!("{front}../../etc/x{back}"));
            tries.push(format!("{front}/../../etc/x{back}"));
        }
        let Some(slips) = tries.iter().find(|text| matcher.matches(text)) else {
            return;
        };
        out.push(Finding {
            code: Code::ODD_PREFIX,
            kind: Kind::PatternSmell,
            severity: Severity::Warning,
            message: format!("{} compares a path as a text, and also holds for `{}`", quote(written), escape(slips)),
            places: place(spot.at, ""),
            help: Some("write `within`, which compares folders, or `allowed_path_prefixes` in the tool's contract".to_owned()),
            example: self.example(spot, slips),
        });
    }

    /// A value of an `equals` or `in` that has other spellings.
    fn letter_case_of_value(
        &self,
        spot: &Spot<'_>,
        text: &str,
        severity: Severity,
        out: &mut Vec<Finding>,
    ) {
        if spot.lets || spot.view != View::Value || text.starts_with('*') {
            return;
        }
        let sample = Sample::of(text);
        let whole = |host: &Host| {
            let before = sample.part(0, host.start);
            host.start == 0 || before.ends_with('@') || before.ends_with("://")
        };
        if let Some(host) = probe::hosts(&sample).into_iter().find(whole) {
            let upper = upper(&sample, (host.start, host.end));
            if upper != text {
                out.push(Finding {
                    severity,
                    ..other_case(spot, text, &upper, "a host")
                });
            }
        } else if holds_sql(spot.path)
            && KEYWORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        {
            let other = if text.chars().any(char::is_lowercase) {
                text.to_ascii_uppercase()
            } else {
                text.to_ascii_lowercase()
            };
            out.push(Finding {
                severity,
                ..other_case(spot, text, &other, "SQL")
            });
        }
    }

    /// A call with this value that is allowed.
    fn example(&self, spot: &Spot<'_>, value: &str) -> Option<Example> {
        if spot.view != View::Value && !matches!(spot.view, View::Host | View::Domain) {
            return None;
        }
        let value = match spot.view {
            View::Value => value.to_owned(),
            View::Domain => format!("user@{value}"),
            _ => format!("https://{value}/"),
        };
        let fits = |server: &Option<String>, name: &str| {
            let full = server
                .as_ref()
                .map_or_else(|| name.to_owned(), |server| format!("{server}__{name}"));
            match spot.whose {
                Whose::Rule(rule) => rule.tools.iter().any(|glob| reach::matches(glob, &full)),
                Whose::Contract(contract) => contract.key == full || contract.key == name,
            }
        };
        let listed = self
            .listed
            .iter()
            .find(|(server, tool)| fits(server, &tool.name));
        let (server, tool) = match (listed, spot.whose) {
            (Some((server, tool)), _) => (server.clone(), tool.name.clone()),
            (None, Whose::Rule(rule)) => reach::some_tool(rule)?,
            (None, Whose::Contract(contract)) => (None, contract.key.clone()),
        };
        let path = if spot.path.0.is_empty() {
            Path(vec![Segment::Key("to".to_owned())])
        } else {
            spot.path.clone()
        };
        let schema = listed.and_then(|(_, tool)| tool.input_schema());
        let arguments = schema::arguments(schema, &path, &json!(value));
        let example = self
            .judge
            .judge(server.as_deref(), &tool, &arguments, &[])?;
        let decided = match spot.whose {
            Whose::Rule(rule) if rule.action == Verdict::Allow => {
                example.decided_at == Some(rule.at)
            }
            Whose::Rule(_) => true,
            Whose::Contract(_) => example.contract != "constraint",
        };
        (example.verdict == Verdict::Allow && decided).then_some(example)
    }
}

/// The host with its dots.
fn shown_host(sample: &Sample, host: &Host) -> String {
    (host.start..host.end)
        .filter_map(|at| {
            sample
                .chars
                .get(at)
                .map(|(c, _)| if host.any_dots.contains(&at) { '.' } else { *c })
        })
        .collect()
}

/// Whether the sample starts as a path to some folder.
fn is_path(sample: &Sample) -> bool {
    let literal: String = sample
        .chars
        .iter()
        .take_while(|(_, mark)| *mark == probe::Mark::Literal)
        .map(|(c, _)| *c)
        .collect();
    let rest = ["./", "/"]
        .iter()
        .find_map(|start| literal.strip_prefix(start));
    rest.is_some_and(|rest| {
        let name: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
            .collect();
        name.len() >= 2 && name.contains(|c: char| c.is_ascii_alphabetic())
    })
}

fn place(at: Pos, label: &str) -> Vec<Place> {
    vec![Place {
        at,
        label: label.to_owned(),
    }]
}
