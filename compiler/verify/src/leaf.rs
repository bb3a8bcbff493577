//! What one leaf answers to a question: the same answers as the gate's, from the same
//! building blocks, one leaf at a time.
//!
//! Knows nothing of searching. That it agrees with the gate is tested by replaying.

use super::automaton::Table;
use super::facts::{Fact, Look};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Compare, ListItem, Op, Provenance, Scalar, TypeName};
use bouncer_plan::Label;
use bouncer_plan::format::TestClass;
use bouncer_plan::literals::canonical_number;
use bouncer_reader::address::{self, Lies};
use bouncer_reader::number;
use bouncer_reader::path;
use bouncer_reader::sql;
use bouncer_reader::text;
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// A scalar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    Text(String),
    /// A JSON number's text.
    Number(String),
    Bool(bool),
    Null,
}

/// Where a leaf's value was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Seen {
    /// Nowhere.
    Nowhere,
    /// In the output of an untrusted tool.
    Untrusted,
    /// In an observed output.
    Observed,
    /// As a whole leaf of a trusted output.
    Trusted,
    /// Among the user's own words.
    Typed,
    /// As a private leaf of an output with this label.
    Private(Label),
}

impl Seen {
    /// Whether an outsider may have written it.
    pub const fn is_untrusted(self) -> bool {
        matches!(self, Self::Untrusted | Self::Private(Label::Untrusted))
    }

    /// Whether whoever saw it has read what an outsider may have written or influenced, and
    /// whether something private.
    pub const fn reads(self) -> (bool, bool) {
        match self {
            Self::Nowhere | Self::Trusted | Self::Typed => (false, false),
            Self::Untrusted | Self::Observed => (true, false),
            Self::Private(label) => (!matches!(label, Label::Trusted), true),
        }
    }
}

/// A leaf of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Leaf {
    pub value: Value,
    /// It stands inside an object at the path's end.
    pub through: bool,
    pub seen: Seen,
}

/// Whether a text is its own plain form and has no other.
pub(super) fn is_plain_text(raw: &str) -> bool {
    if !text::is_plain(raw) {
        return false;
    }
    if raw.is_ascii() && text::is_canonical_fast(raw) {
        return true;
    }
    let forms = Forms::of(raw);
    forms.canonical.is_none() && forms.skeleton.is_none()
}

/// A text in all its forms; `None`: the same as the form before.
#[derive(Clone, Debug)]
pub(super) struct Forms {
    plain: String,
    canonical: Option<String>,
    skeleton: Option<String>,
}

impl Forms {
    pub fn of(raw: &str) -> Self {
        let mut plain = String::new();
        text::plain(raw, &mut plain);
        if raw.is_ascii() && text::is_canonical_fast(&plain) {
            return Self {
                plain,
                canonical: None,
                skeleton: None,
            };
        }
        let (mut canonical, mut skeleton) = (String::new(), String::new());
        text::canonical(raw, &mut canonical);
        let mut has_skeleton = false;
        if !canonical.is_ascii() {
            text::skeleton(&canonical, &mut skeleton);
            has_skeleton = skeleton != canonical;
        }
        Self {
            canonical: (canonical != plain).then_some(canonical),
            skeleton: has_skeleton.then_some(skeleton),
            plain,
        }
    }

    fn each(&self) -> impl Iterator<Item = (u8, &str)> {
        let all = [
            Some(self.plain.as_str()),
            self.canonical.as_deref(),
            self.skeleton.as_deref(),
        ];
        all.into_iter()
            .zip([1_u8, 2, 4])
            .filter_map(|(text, bit)| Some((bit, text?)))
    }

    fn mask(&self) -> u8 {
        self.each().fold(0, |mask, (bit, _)| mask | bit)
    }
}

/// Whether a fact holds of a leaf, by mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub plain: bool,
    pub any: bool,
    pub all: bool,
    pub maybe: bool,
}

impl Outcome {
    pub const fn in_mode(self, mode: Mode) -> bool {
        match mode {
            Mode::Plain => self.plain,
            Mode::Any => self.any,
            Mode::All => self.all,
            Mode::Maybe => self.maybe,
        }
    }

    /// The outcome of a fact that has one answer for all forms; `None`: it cannot be
    /// evaluated.
    pub fn of(verdict: Option<bool>, through: bool) -> Self {
        let yes = verdict == Some(true);
        let no = verdict == Some(false);
        Self {
            plain: yes && !through,
            any: !no,
            all: yes,
            maybe: !no || through,
        }
    }
}

/// Only in a restrictive reading.
const RESTRICTIVE: u8 = 1 << 7;

/// What a leaf answers. `table` is the automaton of the fact's pattern, where it has
/// one. `None` if the automaton cannot tell, or there is none.
pub(super) fn outcome(fact: &Fact, leaf: &Leaf, table: Option<&Table>) -> Option<Outcome> {
    match fact.look {
        Look::Value => value(fact, leaf, table),
        Look::Host | Look::Domain | Look::Scheme => viewed(fact, leaf, table),
        Look::Length => length(fact, leaf),
        Look::SqlVerb(dialect) => queried(fact, leaf, table, dialect as u8, sql::verbs),
        Look::SqlTable(dialect) => queried(fact, leaf, table, dialect as u8, sql::tables),
        Look::SqlFunction(dialect) => queried(fact, leaf, table, dialect as u8, sql::functions),
        Look::Provenance => {
            let Op::Provenance(labels) = &fact.op else {
                return None;
            };
            let from = match leaf.seen {
                Seen::Nowhere => Provenance::Unproven,
                Seen::Untrusted | Seen::Private(Label::Untrusted) => Provenance::Untrusted,
                Seen::Observed | Seen::Private(Label::Observed) => Provenance::Observed,
                Seen::Trusted | Seen::Private(Label::Trusted) => Provenance::Trusted,
                Seen::Typed => Provenance::User,
            };
            Some(Outcome::of(Some(labels.contains(&from)), leaf.through))
        }
        Look::Private => {
            let private = matches!(leaf.seen, Seen::Private(_));
            Some(Outcome::of(Some(private), leaf.through))
        }
        Look::Carries => Some(Outcome::of(Some(carries(leaf)), leaf.through)),
        Look::Raw => Some(same_everywhere(constrained(fact, leaf, table)?)),
        Look::Trusted => {
            let vouched = matches!(
                leaf.seen,
                Seen::Trusted | Seen::Typed | Seen::Private(Label::Trusted)
            );
            let trusted = vouched || is_listed(fact, leaf);
            Some(same_everywhere(trusted))
        }
        Look::Tainted => {
            let tainted = leaf.seen.is_untrusted() && !is_listed(fact, leaf);
            Some(same_everywhere(tainted))
        }
        Look::Count | Look::Calls(_) | Look::Session | Look::Unsearched => None,
    }
}

/// Whether a leaf that was read from outsiders holds a destination. All that was read is
/// the leaf itself.
fn carries(leaf: &Leaf) -> bool {
    if !leaf.seen.is_untrusted() && leaf.seen != Seen::Observed {
        return false;
    }
    let mut folded = String::new();
    text::fold(own_text(&leaf.value), &mut folded);
    let mut any = false;
    address::tokens(&folded, &mut |_| any = true);
    any
}

/// The outcome of what is not asked by rules, and has no reading.
const fn same_everywhere(holds: bool) -> Outcome {
    Outcome {
        plain: holds,
        any: holds,
        all: holds,
        maybe: holds,
    }
}

/// The JSON text of a scalar; a text's own.
fn own_text(value: &Value) -> &str {
    match value {
        Value::Text(text) | Value::Number(text) => text,
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Null => "null",
    }
}

/// Whether a leaf satisfies a constraint.
fn constrained(fact: &Fact, leaf: &Leaf, table: Option<&Table>) -> Option<bool> {
    if leaf.through || leaf.value == Value::Null {
        return Some(false);
    }
    let text = own_text(&leaf.value);
    match &fact.op {
        Op::Within(prefixes) => Some(prefixes.iter().any(|prefix| path::within(text, prefix))),
        _ => table?.matches(text),
    }
}

/// Whether every destination in a leaf is on the fact's list.
fn is_listed(fact: &Fact, leaf: &Leaf) -> bool {
    let Op::In(items) = &fact.op else {
        return false;
    };
    let mut all = true;
    let _ = address::destinations(own_text(&leaf.value), &mut |destination| {
        let plain = !destination.chars().any(char::is_control);
        all = plain && items.iter().any(|item| trusts(item, destination));
        if all {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    all
}

fn trusts(item: &ListItem, destination: &str) -> bool {
    match item {
        ListItem::Scalar(Scalar::Str(text)) => {
            text.eq_ignore_ascii_case(destination) || leads_to(destination, text)
        }
        ListItem::Scalar(_) => false,
        ListItem::AtDomain(domain) => address::pattern_domain(destination)
            .is_some_and(|found| found.eq_ignore_ascii_case(domain)),
        ListItem::Network(_) => false,
        ListItem::Below(domain) => {
            let mut host = String::new();
            address::host(destination, &mut host).is_ok()
                && host.match_indices('.').any(|(at, _)| {
                    at > 0
                        && host
                            .get(at + 1..)
                            .is_some_and(|parent| parent.eq_ignore_ascii_case(domain))
                })
        }
    }
}

/// Whether a URL, or a host with a port, leads to the host `text`, which may have a port.
fn leads_to(destination: &str, text: &str) -> bool {
    let mut host = String::new();
    let Ok(port) = address::origin(destination, &mut host) else {
        return false;
    };
    let with_port = || port.map(|port| format!("{host}:{port}"));
    address::names_host(&host)
        && (host.eq_ignore_ascii_case(text)
            || with_port().is_some_and(|with_port| with_port.eq_ignore_ascii_case(text)))
}

/// Whether a count answers a fact in a mode.
pub(super) fn counted(op: &Op, count: u64, mode: Mode) -> bool {
    let order = |text: &str| number::compare(&count.to_string(), text);
    let verdict = match op {
        Op::Compare(compare, text) => order(text).map(|order| holds(*compare, order)),
        Op::Equals(Scalar::Number(text)) => order(text).map(|order| order == Ordering::Equal),
        // No count is compared so.
        Op::Checked(_)
        | Op::Equals(_)
        | Op::In(_)
        | Op::Part(..)
        | Op::Matches(_)
        | Op::Within(_)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => None,
    };
    Outcome::of(verdict, false).in_mode(mode)
}

fn holds(compare: Compare, order: Ordering) -> bool {
    match compare {
        Compare::Less => order == Ordering::Less,
        Compare::LessEqual => order != Ordering::Greater,
        Compare::Greater => order == Ordering::Greater,
        Compare::GreaterEqual => order != Ordering::Less,
    }
}

/// Turns the forms in which a test held into an outcome.
fn finish(bits: u8, mask: u8, is_text: bool, through: bool, class: TestClass) -> Outcome {
    let touched = bits != 0;
    let unfit = through || (!is_text && class == TestClass::Text);
    Outcome {
        plain: bits & 1 != 0 && !through,
        any: touched,
        all: touched && bits & mask == mask,
        maybe: (touched && !unfit)
            || ((through || !is_text)
                && (class == TestClass::Text || (through && class == TestClass::Equality))),
    }
}

fn value(fact: &Fact, leaf: &Leaf, table: Option<&Table>) -> Option<Outcome> {
    let simple = |verdict| Some(Outcome::of(verdict, leaf.through));
    match &fact.op {
        Op::Exists => return simple(Some(true)),
        Op::Type(name) => {
            let same = matches!(
                (name, &leaf.value),
                (TypeName::String, Value::Text(_))
                    | (TypeName::Number, Value::Number(_))
                    | (TypeName::Bool, Value::Bool(_))
                    | (TypeName::Null, Value::Null)
            );
            return simple(match (name, &leaf.value) {
                (TypeName::Integer, Value::Number(text)) if number::is_written_whole(text) => {
                    Some(true)
                }
                (TypeName::Integer, Value::Number(text)) => {
                    number::is_whole(text).filter(|whole| !whole)
                }
                _ => Some(same),
            });
        }
        Op::Compare(compare, operand) => {
            let Value::Number(text) = &leaf.value else {
                return simple(None);
            };
            return simple(number::compare(text, operand).map(|order| holds(*compare, order)));
        }
        // Asked of what was read before, not of the value.
        Op::Provenance(_) | Op::CarriesUntrusted | Op::CarriesPrivate | Op::Session(_) => {
            return None;
        }
        Op::Equals(_)
        | Op::In(_)
        | Op::Part(..)
        | Op::Matches(_)
        | Op::Within(_)
        | Op::Checked(_) => {}
    }
    let (bits, mask, is_text) = match &leaf.value {
        Value::Text(raw) => {
            let forms = Forms::of(raw);
            let mut bits = 0;
            for (bit, form) in forms.each() {
                bits |= in_text(fact, form, bit, table)?;
            }
            (bits, forms.mask(), true)
        }
        Value::Null => {
            let null = Scalar::Null;
            let found = match &fact.op {
                Op::Equals(scalar) => *scalar == null,
                Op::In(items) => items.contains(&ListItem::Scalar(null)),
                // It has no text.
                Op::Part(..) | Op::Matches(_) | Op::Within(_) | Op::Checked(_) => false,
                Op::Compare(..)
                | Op::Exists
                | Op::Type(_)
                | Op::Provenance(_)
                | Op::CarriesUntrusted
                | Op::CarriesPrivate
                | Op::Session(_) => return None,
            };
            (u8::from(found), 1, false)
        }
        Value::Number(text) => (in_scalar(fact, text, false, table)?, 1, false),
        Value::Bool(value) => (
            in_scalar(fact, if *value { "true" } else { "false" }, true, table)?,
            1,
            false,
        ),
    };
    Some(finish(bits, mask, is_text, leaf.through, fact.class))
}

/// The bits of a text test, list or path test on one form of a text.
fn in_text(fact: &Fact, form: &str, bit: u8, table: Option<&Table>) -> Option<u8> {
    let when = |holds: bool| if holds { bit } else { 0 };
    Some(match &fact.op {
        Op::Part(part, text) => when(part.holds(form, text)),
        Op::Matches(_) => when(table?.matches(form)?),
        Op::Equals(scalar) => same_text(scalar, form, bit),
        Op::In(items) => {
            let viewed = fact.look != Look::Value;
            items
                .iter()
                .map(|item| listed(item, form, bit, viewed))
                .fold(0, |bits, more| bits | more)
        }
        Op::Within(prefixes) => within(prefixes, form, bit),
        Op::Checked(check) if check.is(form) => bit,
        Op::Checked(check) if check.is_in(form) => RESTRICTIVE,
        Op::Checked(_) => 0,
        // They have no forms.
        Op::Compare(..)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => {
            return None;
        }
    })
}

/// The same on a number or bool, which only restrictive rules take for texts.
fn in_scalar(fact: &Fact, json: &str, is_bool: bool, table: Option<&Table>) -> Option<u8> {
    let same = |scalar: &Scalar| match scalar {
        Scalar::Str(text) if text == json => RESTRICTIVE,
        Scalar::Bool(value) if is_bool && value.to_string() == json => 1,
        Scalar::Number(text) if !is_bool && same_number(text, json) => 1,
        _ => 0,
    };
    Some(match &fact.op {
        Op::Equals(scalar) => same(scalar),
        Op::In(items) => items.iter().fold(0, |bits, item| match item {
            ListItem::Scalar(scalar) => bits | same(scalar),
            _ => bits,
        }),
        Op::Within(prefixes) => within(prefixes, json, RESTRICTIVE),
        Op::Part(..)
        | Op::Matches(_)
        | Op::Checked(_)
        | Op::Compare(..)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => in_text(fact, json, RESTRICTIVE, table)?,
    })
}

fn within(prefixes: &[String], form: &str, bit: u8) -> u8 {
    prefixes.iter().fold(0, |bits, prefix| {
        if path::within(form, prefix) {
            bits | bit
        } else if path::may_be_within(form, prefix) {
            bits | RESTRICTIVE
        } else {
            bits
        }
    })
}

fn same_number(a: &str, b: &str) -> bool {
    let (mut left, mut right) = (String::new(), String::new());
    canonical_number(a, &mut left) && canonical_number(b, &mut right) && left == right
}

/// Equality of a scalar with a text.
fn same_text(scalar: &Scalar, form: &str, bit: u8) -> u8 {
    match scalar {
        Scalar::Str(text) if text == form => bit,
        Scalar::Number(text) if same_number(text, form) => RESTRICTIVE,
        Scalar::Bool(value) if value.to_string() == form => RESTRICTIVE,
        _ => 0,
    }
}

/// A list's item on a text. `viewed`: the text is a host or domain.
fn listed(item: &ListItem, form: &str, bit: u8, viewed: bool) -> u8 {
    match item {
        ListItem::Scalar(scalar) => same_text(scalar, form, bit),
        ListItem::AtDomain(domain) if viewed => {
            if domain.to_ascii_lowercase() == form {
                bit
            } else {
                0
            }
        }
        ListItem::Network(network) => match network.holds(form) {
            Lies::Inside => bit,
            Lies::Perhaps => RESTRICTIVE,
            Lies::Outside => 0,
        },
        ListItem::AtDomain(domain) => match address::pattern_domain(form) {
            Some(found) if found.eq_ignore_ascii_case(domain) => bit,
            Some(_) => 0,
            None if address::is_unclear_address(form) => RESTRICTIVE,
            None => 0,
        },
        ListItem::Below(domain) => {
            let mut host = String::new();
            if address::is_unclear_host(form, &mut host) {
                return RESTRICTIVE;
            }
            if address::host(form, &mut host).is_err() {
                return 0;
            }
            let below = host.match_indices('.').any(|(at, _)| {
                at > 0
                    && host
                        .get(at + 1..)
                        .is_some_and(|parent| parent.eq_ignore_ascii_case(domain))
            });
            if below { bit } else { 0 }
        }
    }
}

/// What every question about a view answers that cannot be read.
const UNREADABLE: Outcome = Outcome {
    plain: false,
    any: true,
    all: false,
    maybe: true,
};

/// How long a text is: as it stands, and as what else it may be read.
fn length(fact: &Fact, leaf: &Leaf) -> Option<Outcome> {
    let count = |text: &str| text.chars().count() as u64;
    let holds = |text: &str| counted(&fact.op, count(text), Mode::All);
    let (bits, mask, is_text) = match &leaf.value {
        Value::Text(raw) => {
            let forms = Forms::of(raw);
            let (mut bits, mut mask) = (u8::from(holds(raw)), 1);
            let others = [(2, forms.canonical), (4, Some(forms.plain))];
            for (bit, form) in others {
                if let Some(form) = form {
                    mask |= bit;
                    bits |= if holds(&form) { bit } else { 0 };
                }
            }
            (bits, mask, true)
        }
        Value::Null => (0, 1, false),
        other => (
            if holds(own_text(other)) {
                RESTRICTIVE
            } else {
                0
            },
            1,
            false,
        ),
    };
    Some(finish(bits, mask, is_text, leaf.through, fact.class))
}

/// A host, a domain or a scheme.
fn viewed(fact: &Fact, leaf: &Leaf, table: Option<&Table>) -> Option<Outcome> {
    let Value::Text(raw) = &leaf.value else {
        return Some(UNREADABLE);
    };
    let forms = Forms::of(raw);
    let (mut bits, mut mask) = (0, 0);
    let (mut view, mut other) = (String::new(), String::new());
    // Skeletons have no host.
    for (bit, form) in forms.each().filter(|(bit, _)| *bit < 4) {
        let mut others: Vec<String> = Vec::new();
        let read = match fact.look {
            Look::Host => address::host(form, &mut view),
            Look::Scheme => address::scheme(form, &mut view, &mut |inner| {
                others.push(inner.to_ascii_lowercase());
            }),
            _ => address::domain(form, &mut view),
        };
        if read.is_err() {
            return Some(UNREADABLE);
        }
        mask |= bit;
        bits |= in_text(fact, &view, bit, table)?;
        // Other spellings of the host, and schemes within the scheme.
        if fact.look != Look::Scheme && address::host_in_ipv4(&view, &mut other) {
            others.push(other.clone());
        }
        for other in &others {
            if in_text(fact, other, RESTRICTIVE, table)? != 0 {
                bits |= RESTRICTIVE;
            }
        }
    }
    Some(finish(bits, mask, true, leaf.through, fact.class))
}

/// What reads the values of a query.
type QueryView = fn(&str, sql::Dialect, &mut dyn FnMut(&str)) -> Result<(), sql::Unreadable>;

fn queried(
    fact: &Fact,
    leaf: &Leaf,
    table: Option<&Table>,
    dialect: u8,
    view: QueryView,
) -> Option<Outcome> {
    let (Value::Text(raw), Some(dialect)) = (&leaf.value, sql::Dialect::from_byte(dialect)) else {
        return Some(UNREADABLE);
    };
    let mut values: Vec<String> = Vec::new();
    let mut add = |value: &str| {
        if !values.iter().any(|seen| seen == value) {
            values.push(value.to_owned());
        }
    };
    if view(raw, dialect, &mut add).is_err() {
        return Some(UNREADABLE);
    }
    let mut hits = 0;
    for value in &values {
        hits += usize::from(in_text(fact, value, 1, table)? != 0);
    }
    let every = hits > 0 && hits == values.len();
    Some(Outcome {
        plain: every && !leaf.through,
        any: hits > 0,
        all: every,
        maybe: hits > 0 || leaf.through,
    })
}
