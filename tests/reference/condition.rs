//! Whether a rule's condition holds.
//!
//! Negation is pushed to the tests. A test then holds or not by four rules, one for
//! each of restrictive/permissive × plain/negated; all four read the same
//! [`Outcome`]s. See [`Judge::leaf_satisfies`].

use super::json::{self, Json};
use super::leaves::{self, Leaf};
use super::{number, paths, shared, text};
use bouncer_compiler::policy::{
    Compare, Cond, ListItem, Op, Part, Path, Provenance, Quantifier, Scalar, Segment, SessionTest,
    Subject, Test, TypeName, View,
};
use bouncer_plan::Effect;
use regex::Regex;
use std::cmp::Ordering;
use std::collections::HashMap;

/// What a positive test says of one form of a leaf. The two differ where the test
/// cannot be evaluated, has several values, or is about another type.
#[derive(Clone, Copy)]
struct Outcome {
    /// The test holds, or nobody can tell.
    may: bool,
    /// The test holds for sure.
    must: bool,
}

const UNKNOWN: Outcome = Outcome {
    may: true,
    must: false,
};

const fn known(holds: bool) -> Outcome {
    Outcome {
        may: holds,
        must: holds,
    }
}

/// One leaf (or none) for each path that the rules pick from.
pub type Picks<'a> = HashMap<&'a Path, Option<&'a Leaf>>;

/// Judges conditions of one call.
pub struct Judge<'a> {
    /// Compiled regexes, by their text.
    pub regexes: &'a HashMap<String, Regex>,
    /// All leaves of each path that is tested.
    pub leaves: &'a HashMap<&'a Path, Vec<Leaf>>,
    /// Attempts of this tool within a window, this one included.
    pub calls: &'a dyn Fn(Option<u64>) -> usize,
    /// Where a leaf comes from.
    pub provenance: &'a dyn Fn(&str) -> Provenance,
    /// Whether an outsider may have written or influenced a value, whoever typed it.
    pub read: &'a dyn Fn(&str) -> bool,
    /// Whether a private value stands inside a text.
    pub private: &'a dyn Fn(&str) -> bool,
    /// The folder that relative paths start in.
    pub base: Option<&'a str>,
    /// What the call does; `None`: nobody can tell.
    pub effects: Option<&'a [Effect]>,
    pub read_untrusted: bool,
    pub read_private: bool,
    /// Whether the user's words name what the call does; `None`: nobody can tell.
    pub named: Option<bool>,
}

impl Judge<'_> {
    /// Whether the condition (or, if `negated`, its negation) holds for these picks.
    pub fn holds(&self, cond: &Cond, picks: &Picks<'_>, restrictive: bool, negated: bool) -> bool {
        let part = |part: &Cond| self.holds(part, picks, restrictive, negated);
        match cond {
            Cond::Not(inner) => self.holds(inner, picks, restrictive, !negated),
            Cond::All(parts) if negated => parts.iter().any(part),
            Cond::All(parts) => parts.iter().all(part),
            Cond::Any(parts) if negated => parts.iter().all(part),
            Cond::Any(parts) => parts.iter().any(part),
            Cond::Test(test) => self.test(test, picks, restrictive, negated),
        }
    }

    fn test(&self, test: &Test, picks: &Picks<'_>, restrictive: bool, negated: bool) -> bool {
        let path = match &test.subject {
            Subject::Arg(path, _) | Subject::Provenance(path) => path,
            Subject::Count(path) => {
                return counts(&test.op, self.leaves[path].len()) != negated;
            }
            Subject::Calls { window_ms } => {
                return counts(&test.op, (self.calls)(*window_ms)) != negated;
            }
            Subject::Session => {
                let outcome = self.session(&test.op);
                return match (restrictive, negated) {
                    (true, false) => outcome.may,
                    (true, true) => !outcome.must,
                    (false, false) => outcome.must,
                    (false, true) => !outcome.may,
                };
            }
        };
        let satisfies = |leaf: &Leaf| self.leaf_satisfies(test, leaf, restrictive, negated);
        let all = &self.leaves[path];
        match (test.quantifier, negated) {
            (Quantifier::Pick, _) => match picks[path] {
                Some(leaf) => satisfies(leaf),
                None => negated,
            },
            (Quantifier::Any, false) => all.iter().any(satisfies),
            (Quantifier::Any, true) => all.iter().all(satisfies),
            (Quantifier::All, false) => !all.is_empty() && all.iter().all(satisfies),
            (Quantifier::All, true) => all.is_empty() || all.iter().any(satisfies),
        }
    }

    /// What a test of the conversation says. What a call does beside what is asked for makes
    /// nothing certain.
    fn session(&self, op: &Op) -> Outcome {
        match op {
            Op::Session(SessionTest::ReadUntrusted) => known(self.read_untrusted),
            Op::Session(SessionTest::ReadPrivate) => known(self.read_private),
            Op::Session(SessionTest::UserNamedEffect) => self.named.map_or(UNKNOWN, known),
            Op::Session(SessionTest::Effect(asked)) => {
                self.effects.map_or(UNKNOWN, |does| Outcome {
                    may: does.iter().any(|effect| asked.contains(*effect)),
                    must: !does.is_empty() && does.iter().all(|effect| asked.contains(*effect)),
                })
            }
            other => unreachable!("not a test of the session: {other:?}"),
        }
    }

    fn leaf_satisfies(&self, test: &Test, leaf: &Leaf, restrictive: bool, negated: bool) -> bool {
        let widened = self.widened(test, leaf);
        match (restrictive, negated) {
            (true, false) => widened.iter().any(|outcome| outcome.may),
            (true, true) => !widened.iter().all(|outcome| outcome.must),
            (false, false) => !leaf.through_object && self.narrow(test, &leaf.value).must,
            (false, true) => {
                !leaf.through_object
                    && evaluable(test, &leaf.value)
                    && !widened.iter().any(|outcome| outcome.may)
            }
        }
    }

    /// The outcome for every reading that a restrictive test tries.
    fn widened(&self, test: &Test, leaf: &Leaf) -> Vec<Outcome> {
        let value = &leaf.value;
        match (&test.subject, value) {
            (Subject::Provenance(_), _) => vec![self.found(&test.op, value)],
            (Subject::Arg(_, View::Value), Scalar::Str(text)) => {
                let mut all: Vec<Outcome> = text::forms(text)
                    .iter()
                    .map(|form| self.value(&test.op, value, form, true))
                    .collect();
                if let Op::Within(prefixes) = &test.op {
                    // A server may take it for a path in a folder of its own.
                    let mut forms = text::forms(text);
                    forms.push(text.clone());
                    all[0].may |= self.base.is_none()
                        && prefixes.iter().any(|prefix| prefix.starts_with('/'))
                        && forms
                            .iter()
                            .any(|form| shared::may_be_relative(form, &leaf.name));
                    // Surely inside is only what lies there as it stands, spaces included.
                    let stands = self.value(&test.op, value, text, true);
                    all[0].may |= stands.may;
                    all[0].must = stands.must;
                }
                all
            }
            (Subject::Arg(_, View::Value), _) => {
                vec![self.value(&test.op, value, &leaves::text(value), true)]
            }
            (Subject::Arg(_, View::Name), Scalar::Str(name)) => {
                let mut all: Vec<Outcome> = text::forms(name)
                    .iter()
                    .map(|form| self.value(&test.op, value, form, true))
                    .collect();
                all[0].may |= self.named_so(&test.op, &text::folded(name));
                all
            }
            (Subject::Arg(_, View::Length), _) => lengths(&test.op, value),
            (Subject::Arg(_, view), _) => self.viewed(&test.op, *view, value),
            _ => unreachable!("counts have no leaves"),
        }
    }

    /// The outcome for the only reading that a permissive test trusts.
    fn narrow(&self, test: &Test, value: &Scalar) -> Outcome {
        match (&test.subject, value) {
            (Subject::Provenance(_), _) => self.found(&test.op, value),
            (Subject::Arg(_, View::Value), Scalar::Str(text))
                if matches!(test.op, Op::Within(_)) =>
            {
                self.value(&test.op, value, text, false)
            }
            (Subject::Arg(_, View::Value | View::Name), Scalar::Str(text)) => {
                self.value(&test.op, value, &text::plain(text), false)
            }
            (Subject::Arg(_, View::Length), _) => lengths(&test.op, value)[0],
            (Subject::Arg(_, View::Value), _) if !evaluable(test, value) => {
                // A list may still hold the typed value beside its strings.
                match &test.op {
                    Op::In(_) => self.value(&test.op, value, &leaves::text(value), false),
                    _ => UNKNOWN,
                }
            }
            (Subject::Arg(_, View::Value), _) => {
                self.value(&test.op, value, &leaves::text(value), false)
            }
            (Subject::Arg(_, view), _) => self.viewed(&test.op, *view, value)[0],
            _ => unreachable!("counts have no leaves"),
        }
    }

    /// The test on the leaf itself, with `form` for its text. With `by_text`, values of
    /// different types may also be equal if their texts are. A number or bool may be its
    /// text under a string test, and may be no string at all.
    fn value(&self, op: &Op, value: &Scalar, form: &str, by_text: bool) -> Outcome {
        let string = matches!(value, Scalar::Str(_));
        match op {
            Op::Exists => known(true),
            // `1.0` is an integer to some readers.
            Op::Type(TypeName::Integer) => match value {
                Scalar::Number(text) if text.bytes().all(|b| b == b'-' || b.is_ascii_digit()) => {
                    known(true)
                }
                Scalar::Number(text) if number::is_whole(text) => UNKNOWN,
                _ => known(false),
            },
            Op::Type(name) => known(match value {
                Scalar::Str(_) => *name == TypeName::String,
                Scalar::Number(_) => *name == TypeName::Number,
                Scalar::Bool(_) => *name == TypeName::Bool,
                Scalar::Null => *name == TypeName::Null,
            }),
            Op::Equals(literal) => Outcome {
                may: equal(value, form, literal, by_text),
                must: equal(value, form, literal, false),
            },
            Op::In(items) => {
                let any = |by_text: bool| {
                    items.iter().any(|item| match item {
                        ListItem::Scalar(literal) => equal(value, form, literal, by_text),
                        ListItem::AtDomain(domain) => string && at_domain(form, domain),
                        ListItem::Below(domain) => string && below_domain(form, domain),
                        ListItem::Network(_) => false,
                    })
                };
                // A pattern over addresses or hosts says nothing of what is neither.
                let unclear = string
                    && items.iter().any(|item| match item {
                        ListItem::Scalar(_) | ListItem::Network(_) => false,
                        ListItem::AtDomain(_) => {
                            form.contains('@') && simple_address(form).is_none()
                        }
                        ListItem::Below(_) => {
                            (form.contains("://")
                                || form.contains(['@', '\\'])
                                || form.starts_with("//"))
                                && !shared::is_address(form)
                                && shared::host(form).is_none()
                        }
                    });
                Outcome {
                    may: any(by_text) || (by_text && unclear),
                    must: any(false),
                }
            }
            Op::Compare(compare, bound) => match value {
                Scalar::Number(number) => known(compares(*compare, number, bound)),
                _ => UNKNOWN,
            },
            Op::Part(..) | Op::Matches(_) | Op::Within(_) | Op::Checked(_)
                if *value == Scalar::Null =>
            {
                known(false)
            }
            // Inside a longer text it counts where a rule restricts.
            Op::Checked(check) => Outcome {
                may: shared::holds_number(*check, form),
                must: string && shared::is_number(*check, form),
            },
            Op::Within(prefixes) => {
                let within = match self.base {
                    Some(base) => paths::within_based(form, prefixes, base),
                    None => paths::within(form, prefixes),
                };
                Outcome {
                    may: within.may,
                    must: within.must && string,
                }
            }
            // A number is its text, or it is no text at all.
            _ => {
                let holds = self.string(op, form);
                Outcome {
                    may: holds,
                    must: holds && string,
                }
            }
        }
    }

    /// The test on a view of the leaf. Its values are compared as they are. Hosts and
    /// domains are read from the plain and from the canonical form; if either cannot be
    /// read, or a query names nothing, the test cannot be evaluated.
    fn viewed(&self, op: &Op, view: View, value: &Scalar) -> Vec<Outcome> {
        let Scalar::Str(text) = value else {
            return vec![UNKNOWN];
        };
        let forms = [text::plain(text), text::canonical(text)];
        let readings: Option<Vec<Vec<String>>> = match view {
            View::Value | View::Name | View::Length => unreachable!("not a view"),
            View::Scheme => forms.iter().map(|form| shared::schemes(form)).collect(),
            View::Host => forms
                .iter()
                .map(|form| Some(vec![shared::host(form)?]))
                .collect(),
            View::Domain => forms
                .iter()
                .map(|form| Some(vec![shared::domain(form)?]))
                .collect(),
            View::SqlVerb(dialect) => shared::sql_verbs(text, dialect).map(|verbs| vec![verbs]),
            View::SqlTable(dialect) => shared::sql_tables(text, dialect).map(|names| vec![names]),
            View::SqlFunction(dialect) => {
                shared::sql_functions(text, dialect).map(|names| vec![names])
            }
        };
        let Some(readings) = readings else {
            return vec![UNKNOWN];
        };
        let holds = |value: &String| match op {
            Op::Equals(literal) => *literal == Scalar::Str(value.clone()),
            Op::In(items) => items.iter().any(|item| match item {
                ListItem::Scalar(literal) => *literal == Scalar::Str(value.clone()),
                ListItem::AtDomain(domain) => value.eq_ignore_ascii_case(domain),
                ListItem::Below(domain) => is_below(value, domain),
                ListItem::Network(network) => shared::lies_inside(network, value),
            }),
            _ => self.string(op, value),
        };
        // A name that machines give such an address, and ranges that are private to some.
        let perhaps = |host: &String| match op {
            Op::In(items) => items.iter().any(|item| match item {
                ListItem::Network(network) => shared::may_lie_inside(network, host),
                _ => false,
            }),
            _ => false,
        };
        // An IPv6 spelling of an IPv4 host may be read as that host.
        let other = |host: &String| {
            matches!(view, View::Host | View::Domain)
                && shared::host_in_ipv4(host).is_some_and(|other| holds(&other) || perhaps(&other))
        };
        readings
            .iter()
            .map(|values| Outcome {
                may: values
                    .iter()
                    .any(|value| holds(value) || perhaps(value) || other(value)),
                must: match view {
                    // What stands inside a scheme is another reading.
                    View::Scheme => holds(&values[0]),
                    _ => !values.is_empty() && values.iter().all(holds),
                },
            })
            .collect()
    }

    /// The test on the name of a member without its case.
    fn named_so(&self, op: &Op, folded: &str) -> bool {
        let same = |scalar: &Scalar| match scalar {
            Scalar::Str(name) => text::folded(name) == folded,
            _ => false,
        };
        match op {
            Op::Exists => true,
            Op::Equals(scalar) => same(scalar),
            Op::In(items) => items.iter().any(|item| match item {
                ListItem::Scalar(scalar) => same(scalar),
                _ => false,
            }),
            _ => self.string(op, folded),
        }
    }

    fn string(&self, op: &Op, text: &str) -> bool {
        match op {
            Op::Part(Part::Anywhere, part) => text.contains(part.as_str()),
            Op::Part(Part::Start, part) => text.starts_with(part.as_str()),
            Op::Part(Part::End, part) => text.ends_with(part.as_str()),
            Op::Matches(pattern) => self.regexes[&pattern.regex].is_match(text),
            other => unreachable!("not a string test: {other:?}"),
        }
    }

    fn found(&self, op: &Op, value: &Scalar) -> Outcome {
        match op {
            Op::CarriesUntrusted => known(
                shared::tokens(&text::folded(&leaves::text(value)))
                    .iter()
                    .any(|token| (self.read)(token)),
            ),
            Op::CarriesPrivate => known((self.private)(&leaves::text(value))),
            Op::Provenance(labels) => {
                known(labels.contains(&(self.provenance)(&leaves::text(value))))
            }
            other => unreachable!("not a provenance test: {other:?}"),
        }
    }
}

/// Whether the leaf's own type is one that the test is about.
fn evaluable(test: &Test, value: &Scalar) -> bool {
    let string = matches!(value, Scalar::Str(_));
    match (&test.subject, &test.op) {
        (
            _,
            Op::Exists
            | Op::Type(_)
            | Op::Provenance(_)
            | Op::CarriesUntrusted
            | Op::CarriesPrivate,
        ) => true,
        (Subject::Arg(_, View::Value), op) => {
            match op {
                Op::Equals(Scalar::Str(_))
                | Op::Part(..)
                | Op::Matches(_)
                | Op::Within(_)
                | Op::Checked(_) => string,
                Op::In(items) => string
                    || items.iter().all(
                        |item| matches!(item, ListItem::Scalar(s) if !matches!(s, Scalar::Str(_))),
                    ),
                _ => true,
            }
        }
        _ => string,
    }
}

fn equal(value: &Scalar, form: &str, literal: &Scalar, by_text: bool) -> bool {
    match (value, literal) {
        (Scalar::Null, _) | (_, Scalar::Null) => value == literal,
        (Scalar::Number(left), Scalar::Number(right)) => {
            number::compare(left, right) == Ordering::Equal
        }
        (Scalar::Bool(left), Scalar::Bool(right)) => left == right,
        (Scalar::Str(_), Scalar::Str(right)) => form == right,
        // A text that is a number is that number, too.
        (Scalar::Str(_), Scalar::Number(number)) => {
            by_text
                && matches!(json::parse(form.as_bytes()), Some(Json::Number(text))
                    if text == form && number::compare(&text, number).is_eq())
        }
        _ => by_text && form == leaves::text(literal),
    }
}

/// `*@corp.com` over a whole text: an address in its simplest spelling.
pub fn at_domain(text: &str, domain: &str) -> bool {
    simple_address(text).is_some_and(|after| after.eq_ignore_ascii_case(domain))
}

/// The domain of an address without routes, quotes or encodings in its local part.
fn simple_address(text: &str) -> Option<&str> {
    let (local, after) = text.split_once('@')?;
    let simple = local
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._+-='".contains(c));
    (simple && shared::is_address(text)).then_some(after)
}

/// `*.corp.com` over a whole text: its host lies below the domain.
pub fn below_domain(text: &str, domain: &str) -> bool {
    shared::host(text).is_some_and(|host| is_below(&host, domain))
}

fn is_below(host: &str, domain: &str) -> bool {
    host.to_ascii_lowercase()
        .strip_suffix(&domain.to_ascii_lowercase())
        .and_then(|rest| rest.strip_suffix('.'))
        .is_some_and(|rest| !rest.is_empty() && !rest.ends_with('.'))
}

fn compares(compare: Compare, left: &str, right: &str) -> bool {
    let order = number::compare(left, right);
    match compare {
        Compare::Less => order.is_lt(),
        Compare::LessEqual => order.is_le(),
        Compare::Greater => order.is_gt(),
        Compare::GreaterEqual => order.is_ge(),
    }
}

/// A test of the length of a text: as it stands first, and as what it may be read.
fn lengths(op: &Op, value: &Scalar) -> Vec<Outcome> {
    let length = |text: &str| counts(op, text.chars().count());
    match value {
        Scalar::Str(text) => [text.clone(), text::canonical(text), text::plain(text)]
            .iter()
            .map(|form| known(length(form)))
            .collect(),
        Scalar::Null => vec![known(false)],
        _ => vec![Outcome {
            may: length(&leaves::text(value)),
            must: false,
        }],
    }
}

fn counts(op: &Op, count: usize) -> bool {
    let count = count.to_string();
    match op {
        Op::Compare(compare, bound) => compares(*compare, &count, bound),
        Op::Equals(Scalar::Number(bound)) => number::compare(&count, bound).is_eq(),
        _ => false,
    }
}

/// The condition with `[*]` left out of its paths: arrays are transparent anyway.
pub fn without_each(cond: &Cond) -> Cond {
    let all = |parts: &[Cond]| parts.iter().map(without_each).collect();
    match cond {
        Cond::All(parts) => Cond::All(all(parts)),
        Cond::Any(parts) => Cond::Any(all(parts)),
        Cond::Not(inner) => Cond::Not(Box::new(without_each(inner))),
        Cond::Test(test) => {
            let mut test = test.clone();
            if let Subject::Arg(path, _) | Subject::Count(path) | Subject::Provenance(path) =
                &mut test.subject
            {
                path.0.retain(|segment| *segment != Segment::Each);
            }
            if let Subject::Arg(path, View::Name) = &mut test.subject {
                path.0.push(leaves::names());
            }
            Cond::Test(test)
        }
    }
}

/// Calls `visit` for every test of the condition.
pub fn each_test<'a>(cond: &'a Cond, visit: &mut impl FnMut(&'a Test)) {
    match cond {
        Cond::All(parts) | Cond::Any(parts) => {
            for part in parts {
                each_test(part, visit);
            }
        }
        Cond::Not(inner) => each_test(inner, visit),
        Cond::Test(test) => visit(test),
    }
}
