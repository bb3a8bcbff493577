//! Numbers that meet claims: one of each region between the numbers that the claims
//! name, and, for tests that take numbers for texts, spellings of numbers.

use super::{Answer, Theory};
use crate::facts::{Claim, Fact, Look};
use crate::leaf::{Leaf, Value};
use crate::words::{self, End};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{ListItem, Op, Scalar, TypeName};
use bouncer_plan::format::TestClass;
use bouncer_reader::number;
use std::cmp::Ordering;

/// How JSON spells numbers.
const SPELLING: &str = r"\A-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\z";
/// Texts of one search that are tried.
const MOST_TRIES: usize = 24;

impl Theory {
    pub(super) fn number(&mut self, claims: &[Claim], through: bool) -> Answer<Value> {
        if self.paths_contradict(claims, through) {
            return Answer::Empty;
        }
        let mut textual = false;
        let mut bounds: Vec<String> = Vec::new();
        for (id, mode, holds) in claims {
            let Some(fact) = self.facts.get(*id) else {
                return Answer::Unknown;
            };
            let by_rules = !matches!(fact.look, Look::Raw | Look::Trusted | Look::Tainted);
            let settled = match mode {
                Mode::Plain if through && by_rules => Some(false),
                Mode::Maybe if through && by_rules => Some(true),
                _ => settles_numbers(fact, *mode),
            };
            match settled {
                Some(settled) if settled != *holds => return Answer::Empty,
                // What holds of every number says nothing of this one.
                Some(_) => continue,
                None => {}
            }
            textual |= fact.look == Look::Length
                || matches!(fact.op, Op::Checked(_) | Op::Type(TypeName::Integer))
                || matches!(fact.op, Op::Part(..) | Op::Matches(_) | Op::Within(_))
                    && matches!(fact.look, Look::Value | Look::Raw)
                || matches!(fact.look, Look::Trusted | Look::Tainted);
            named(&fact.op, &mut bounds);
        }
        let mut candidates = regions(&bounds, claims.len());
        let mut tried_all = !textual;
        if textual {
            // Other questions about numbers have no pattern.
            let asked: Vec<Claim> = claims
                .iter()
                .filter(|(id, mode, _)| {
                    self.facts.get(*id).is_some_and(|fact| {
                        settles_numbers(fact, *mode).is_none()
                            && matches!(fact.op, Op::Part(..) | Op::Matches(_))
                    })
                })
                .copied()
                .collect();
            let limits = self.limits(Self::as_single(&asked));
            let Some(mut limits) = limits else {
                return Answer::Empty;
            };
            let Some(spelling) = self.must_match(SPELLING) else {
                return Answer::Unknown;
            };
            limits.push(spelling);
            let mut words = Vec::new();
            let mut budget = self.budget;
            let end = words::search(&limits, &mut budget, &mut |word| {
                words.push(word.to_owned());
                words.len() >= MOST_TRIES
            });
            self.budget = budget;
            tried_all = end == End::Exhausted && words.is_empty();
            if tried_all {
                return Answer::Empty;
            }
            // A spelling may have to be longer to be large enough.
            for word in words {
                for zeros in 1..=bounds.iter().map(String::len).max().unwrap_or(0) + 1 {
                    candidates.push(format!("{word}{}", "0".repeat(zeros)));
                }
                candidates.push(word);
            }
        }
        for text in candidates {
            if !number::is_number(&text) {
                continue;
            }
            let leaf = Leaf {
                value: Value::Number(text),
                through,
                seen: self.seen,
            };
            match self.meets(&leaf, claims) {
                Some(true) => return Answer::Found(leaf.value),
                Some(false) => {}
                None => tried_all = false,
            }
        }
        if tried_all {
            Answer::Empty
        } else {
            Answer::Unknown
        }
    }
}

/// What a fact says of every number in a mode, if it says the same of all.
fn settles_numbers(fact: &Fact, mode: Mode) -> Option<bool> {
    match (fact.look, &fact.op) {
        // A number has no slash: it lies in no directory that starts with one.
        (Look::Raw, Op::Within(prefixes)) if prefixes.iter().all(|p| p.starts_with('/')) => {
            Some(false)
        }
        (Look::Value, Op::Within(prefixes))
            if mode == Mode::Any && prefixes.iter().all(|p| p.starts_with('/')) =>
        {
            Some(false)
        }
        (Look::Length, _) | (Look::Value, Op::Checked(_)) => match mode {
            Mode::Plain | Mode::All => Some(false),
            Mode::Maybe => Some(true),
            Mode::Any => None,
        },
        (Look::Value, Op::Type(TypeName::Integer)) => None,
        (
            Look::Host
            | Look::Domain
            | Look::Scheme
            | Look::SqlVerb(_)
            | Look::SqlTable(_)
            | Look::SqlFunction(_),
            _,
        ) => Some(matches!(mode, Mode::Any | Mode::Maybe)),
        (Look::Value, Op::Part(..) | Op::Matches(_) | Op::Within(_)) => match mode {
            Mode::Plain | Mode::All => Some(false),
            Mode::Maybe => Some(true),
            Mode::Any => None,
        },
        (Look::Value, Op::Exists | Op::Type(TypeName::Number)) => Some(true),
        (Look::Value, Op::Type(_)) => Some(false),
        (Look::Value, Op::Equals(_) | Op::In(_))
            if fact.class == TestClass::Text && mode == Mode::Maybe =>
        {
            Some(true)
        }
        (Look::Value, Op::Equals(scalar)) if !may_be_number(scalar) => Some(false),
        (Look::Value, Op::In(items)) if !items.iter().any(item_may_be_number) => Some(false),
        _ => None,
    }
}

/// Whether a number can be equal to a value, in a rule that also compares texts.
fn may_be_number(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Number(_) => true,
        Scalar::Str(text) => number::is_number(text),
        Scalar::Bool(_) | Scalar::Null => false,
    }
}

fn item_may_be_number(item: &ListItem) -> bool {
    match item {
        ListItem::Scalar(scalar) => may_be_number(scalar),
        // A number can be an address.
        ListItem::AtDomain(_) | ListItem::Below(_) | ListItem::Network(_) => true,
    }
}

/// The numbers that a question names.
fn named(op: &Op, out: &mut Vec<String>) {
    let mut scalar = |scalar: &Scalar| match scalar {
        Scalar::Number(text) => out.push(text.clone()),
        Scalar::Str(text) if number::is_number(text) => out.push(text.clone()),
        _ => {}
    };
    match op {
        Op::Compare(_, text) => out.push(text.clone()),
        Op::Equals(value) => scalar(value),
        Op::In(items) => items.iter().for_each(|item| {
            if let ListItem::Scalar(value) = item {
                scalar(value);
            }
        }),
        // They name none.
        Op::Part(..)
        | Op::Matches(_)
        | Op::Within(_)
        | Op::Checked(_)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => {}
    }
}

/// Numbers from each region that `bounds` tell apart, `spare` more than one from each,
/// readable ones first.
fn regions(bounds: &[String], spare: usize) -> Vec<String> {
    let mut sorted = bounds.to_vec();
    sorted.sort_by(|a, b| number::compare(a, b).unwrap_or(Ordering::Equal));
    sorted.dedup_by(|a, b| number::compare(a, b) == Some(Ordering::Equal));
    let mut out: Vec<String> = (1..=spare + 1).map(|n| n.to_string()).collect();
    out.push("0".to_owned());
    for pair in sorted.windows(2) {
        if let [low, high] = pair {
            between(low, high, spare, &mut out);
        }
    }
    // Equal numbers may be spelled as named, or in a way that no text test names.
    out.extend(bounds.iter().cloned());
    for text in &sorted {
        if let Ok(whole) = text.parse::<i64>() {
            for step in 1..=spare as i64 + 1 {
                out.push(whole.saturating_add(step).to_string());
                out.push(whole.saturating_sub(step).to_string());
            }
        } else if let Ok(value) = text.parse::<f64>()
            && value.is_finite()
            && value.abs() < 1e15
        {
            for step in 1..=spare as i64 + 1 {
                out.push(format!("{}", value.floor() + step as f64));
                out.push(format!("{}", value.ceil() - step as f64));
            }
        }
    }
    for text in &sorted {
        out.extend((1..=spare + 1).map(|zeros| respelled(text, zeros)));
    }
    // Exponents that no comparison can evaluate.
    out.extend(["1e9223372036854775808", "-1e9223372036854775808"].map(str::to_owned));
    // Beyond everything that is named.
    for spare in 0..=spare {
        let digits = sorted.iter().map(String::len).max().unwrap_or(0);
        let exponents = sorted.iter().any(|text| text.contains(['e', 'E']));
        let large = if exponents {
            format!("{}e{}", spare + 1, i32::MAX)
        } else {
            format!("{}{}", spare + 1, "0".repeat(digits))
        };
        out.push(large.clone());
        out.push(format!("-{large}"));
    }
    out
}

/// The same number with more zeros behind the point.
fn respelled(text: &str, zeros: usize) -> String {
    let (digits, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let point = if digits.contains('.') { "" } else { "." };
    format!("{digits}{point}{}{exponent}", "0".repeat(zeros))
}

/// Numbers between two others, exact by digits: `low` with more digits behind it.
fn between(low: &str, high: &str, spare: usize, out: &mut Vec<String>) {
    let inside = |text: &String| {
        number::compare(low, text) == Some(Ordering::Less)
            && number::compare(text, high) == Some(Ordering::Less)
    };
    let mut found = Vec::new();
    if let (Ok(a), Ok(b)) = (low.parse::<f64>(), high.parse::<f64>()) {
        let count = spare as f64 + 2.0;
        for step in 1..=spare + 1 {
            found.push(format!("{}", a + (b - a) * step as f64 / count));
        }
    }
    // Closer than a float can tell: more digits on the one nearer to zero.
    for (near, far) in [(low, high), (high, low)] {
        let _ = far;
        for zeros in 0..24 {
            for digit in 1..=(spare + 1).min(9) {
                let point = if near.contains('.') { "" } else { "." };
                if !near.contains(['e', 'E']) {
                    found.push(format!("{near}{point}{}{digit}", "0".repeat(zeros)));
                }
            }
            if found.iter().filter(|text| inside(text)).count() > spare {
                break;
            }
        }
    }
    out.extend(found.into_iter().filter(inside));
}
