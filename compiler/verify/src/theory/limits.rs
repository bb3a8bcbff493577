//! What a claim says of a text, as patterns: bounds from above for texts that meet it.
//!
//! Exact for `contains`, `starts_with`, `matches` and texts; where a question has no
//! pattern of its own, the bound is wider than the question.

use super::Theory;
use crate::facts::{Claim, FactId, Look};
use crate::words::Constraint;
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{ListItem, Network, NetworkName, Op, Scalar};
use bouncer_reader::address::{self, Ranges};
use regex_syntax::escape;
use std::net::Ipv4Addr;

/// What is asked of one form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// The test holds in this form.
    Yes,
    /// The test does not hold in this form.
    No,
    /// The test holds in this form or cannot be evaluated on it.
    Perhaps,
    /// The test does not hold in this form, and can be evaluated on it.
    Never,
}

/// What a claim says of a text that has only one form.
pub(super) const fn single(mode: Mode, holds: bool) -> Want {
    match (mode, holds) {
        (Mode::Plain | Mode::All, true) => Want::Yes,
        (Mode::Plain | Mode::All, false) => Want::No,
        (Mode::Any | Mode::Maybe, true) => Want::Perhaps,
        (Mode::Any | Mode::Maybe, false) => Want::Never,
    }
}

/// A bound for texts.
#[derive(Clone, Debug)]
pub(super) enum Limit {
    /// No text.
    Nothing,
    /// Any text.
    Anything,
    Pattern(Constraint),
}

/// Patterns of a list: one that each text on it matches, and one that only such texts do.
struct Bounds {
    upper: Vec<String>,
    lower: Vec<String>,
    /// What matches or cannot be evaluated.
    loose: Vec<String>,
    /// What surely matches in a restrictive reading.
    firm: Vec<String>,
}

impl Theory {
    /// The bound of a question on one form.
    pub(super) fn limit(&mut self, id: FactId, want: Want) -> Limit {
        let Some(fact) = self.facts.get(id) else {
            return Limit::Anything;
        };
        if fact.look == Look::Length {
            // Of numbers, not of texts.
            return Limit::Anything;
        }
        if matches!(fact.look, Look::Trusted | Look::Tainted) {
            // Whether the text has to be one that is trusted.
            let listed = matches!(want, Want::Yes | Want::Perhaps) == (fact.look == Look::Trusted);
            let pattern = trusted_part(&fact.op);
            return match (listed, pattern) {
                (false, _) => Limit::Anything,
                (true, None) => Limit::Nothing,
                (true, Some(pattern)) => match self.table(&pattern) {
                    Some(table) => Limit::Pattern(Constraint {
                        table,
                        wanted: true,
                    }),
                    None => Limit::Anything,
                },
            };
        }
        let viewed = !matches!(fact.look, Look::Value | Look::Raw);
        let wanted = matches!(want, Want::Yes | Want::Perhaps);
        let (pattern, exact) = match &fact.op {
            Op::Part(part, text) => (part.pattern(text), true),
            Op::Matches(_) => (String::new(), true),
            Op::Equals(_) | Op::In(_) => {
                let bounds = bounds(&fact.op, viewed);
                let parts = match want {
                    Want::Yes => bounds.upper,
                    Want::No => bounds.lower,
                    Want::Perhaps => bounds.loose,
                    Want::Never => bounds.firm,
                };
                if parts.is_empty() {
                    return if wanted {
                        Limit::Nothing
                    } else {
                        Limit::Anything
                    };
                }
                (parts.join("|"), false)
            }
            // Path tests have no pattern; the others say nothing of a text.
            Op::Within(_)
            | Op::Checked(_)
            | Op::Compare(..)
            | Op::Exists
            | Op::Type(_)
            | Op::Provenance(_)
            | Op::CarriesUntrusted
            | Op::CarriesPrivate
            | Op::Session(_) => return Limit::Anything,
        };
        let table = if exact && pattern.is_empty() {
            self.pattern(id)
        } else {
            self.table(&pattern)
        };
        match table {
            Some(table) => Limit::Pattern(Constraint { table, wanted }),
            None => Limit::Anything,
        }
    }

    /// The bounds of claims on a text with one form; `None`: no text.
    pub(super) fn limits(
        &mut self,
        claims: impl IntoIterator<Item = (FactId, Want)>,
    ) -> Option<Vec<Constraint>> {
        let mut limits = Vec::new();
        for (id, want) in claims {
            match self.limit(id, want) {
                Limit::Nothing => return None,
                Limit::Anything => {}
                Limit::Pattern(constraint) => limits.push(constraint),
            }
        }
        Some(limits)
    }

    /// A pattern that a text has to match.
    pub(super) fn must_match(&mut self, pattern: &str) -> Option<Constraint> {
        self.table(pattern).map(|table| Constraint {
            table,
            wanted: true,
        })
    }

    /// The claims as they are on a text with one form.
    pub(super) fn as_single(claims: &[Claim]) -> Vec<(FactId, Want)> {
        claims
            .iter()
            .map(|(id, mode, holds)| (*id, single(*mode, *holds)))
            .collect()
    }
}

/// A pattern for a text without ASCII case.
fn without_case(text: &str) -> String {
    if text.is_ascii() {
        format!("(?i-u:{})", escape(text))
    } else {
        format!("(?i:{})", escape(text))
    }
}

/// What a text holds of which every destination is on the list.
fn trusted_part(op: &Op) -> Option<String> {
    let Op::In(items) = op else { return None };
    let parts: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            ListItem::Scalar(Scalar::Str(text)) if address::names_host(text) => {
                // A URL has the name without the port that is its scheme's own. A number can
                // be an address, and another alphabet can be the same name.
                let name = text.split(':').next().unwrap_or(text);
                Some(format!(
                    r"(?:{})|//[0-9\[]|[^\x00-\x7f]",
                    without_case(name)
                ))
            }
            ListItem::Scalar(Scalar::Str(text)) => Some(format!("(?:{})", without_case(text))),
            ListItem::Scalar(_) | ListItem::Network(_) => None,
            ListItem::AtDomain(domain) => Some(format!("@(?:{})", without_case(domain))),
            ListItem::Below(domain) => {
                Some(format!(r"\.(?:{})|[^\x00-\x7f]", without_case(domain)))
            }
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("|"))
}

fn bounds(op: &Op, viewed: bool) -> Bounds {
    let mut bounds = Bounds {
        upper: Vec::new(),
        lower: Vec::new(),
        loose: Vec::new(),
        firm: Vec::new(),
    };
    match op {
        Op::Equals(scalar) => bounds.scalar(scalar),
        Op::In(items) => {
            for item in items {
                bounds.item(item, viewed);
            }
        }
        // Asked of these two only.
        Op::Part(..)
        | Op::Matches(_)
        | Op::Within(_)
        | Op::Checked(_)
        | Op::Compare(..)
        | Op::Exists
        | Op::Type(_)
        | Op::Provenance(_)
        | Op::CarriesUntrusted
        | Op::CarriesPrivate
        | Op::Session(_) => {}
    }
    bounds
}

/// The hosts in a range of IPv4 addresses, exactly.
fn in_range(address: Ipv4Addr, bits: u8) -> String {
    let parts: Vec<String> = (0..4)
        .zip(address.octets())
        .map(|(at, octet)| {
            let free = 8 - (i32::from(bits) - 8 * at).clamp(0, 8);
            let all = u16::from(octet)..u16::from(octet) + (1 << free);
            let all: Vec<String> = all.map(|octet| octet.to_string()).collect();
            format!("(?:{})", all.join("|"))
        })
        .collect();
    format!(r"\A{}\z", parts.join(r"\."))
}

impl Bounds {
    fn exactly(&mut self, text: &str) {
        let pattern = format!(r"\A(?:{})\z", escape(text));
        for list in [
            &mut self.upper,
            &mut self.lower,
            &mut self.loose,
            &mut self.firm,
        ] {
            list.push(pattern.clone());
        }
    }

    fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Str(text) => self.exactly(text),
            Scalar::Number(text) => {
                self.loose
                    .push(r"\A-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\z".to_owned());
                self.firm.push(format!(r"\A{}\z", escape(text)));
            }
            Scalar::Bool(value) => {
                self.loose.push(format!(r"\A{value}\z"));
                self.firm.push(format!(r"\A{value}\z"));
            }
            Scalar::Null => {}
        }
    }

    /// Hosts in a network. Of those in IPv6 nothing is known but that they have a colon.
    fn network(&mut self, network: Network) {
        let (sure, perhaps) = match network {
            Network::V4(address, bits) => (vec![in_range(address, bits)], Vec::new()),
            Network::V6(..) => (Vec::new(), vec![":".to_owned()]),
            Network::Named(name) => {
                let four = |(four, _): Ranges| four.iter().map(|(a, bits)| in_range(*a, *bits));
                let mut perhaps: Vec<String> = four(name.perhaps()).collect();
                perhaps.push(":".to_owned());
                let names = name.names().iter();
                perhaps.extend(names.map(|name| format!(r"\A{}\z", escape(name))));
                if name == NetworkName::Loopback {
                    perhaps.push(r"\.localhost\z".to_owned());
                }
                (four(name.sure()).collect(), perhaps)
            }
        };
        self.lower.extend(sure.iter().cloned());
        self.firm.extend(sure.iter().cloned());
        self.upper.extend(sure.iter().cloned());
        self.upper.push(":".to_owned());
        self.loose.extend(sure.into_iter().chain(perhaps));
    }

    fn item(&mut self, item: &ListItem, viewed: bool) {
        match item {
            ListItem::Scalar(scalar) => self.scalar(scalar),
            ListItem::Network(network) => self.network(*network),
            ListItem::AtDomain(domain) if viewed => self.exactly(&domain.to_ascii_lowercase()),
            ListItem::AtDomain(domain) => {
                // Domains are compared without ASCII case only.
                let folded = without_case(domain);
                let escaped = escape(domain);
                self.upper
                    .push(format!(r"\A[A-Za-z0-9._+='-]+@(?:{folded})\z"));
                self.loose.push("@".to_owned());
                let simple = format!("a@{domain}");
                if address::pattern_domain(&simple) == Some(domain) {
                    let pattern = format!(r"\A[a-z0-9]{{1,20}}@(?:{escaped})\z");
                    self.lower.push(pattern.clone());
                    self.firm.push(pattern);
                }
            }
            ListItem::Below(domain) => {
                let escaped = escape(domain);
                // A number can be an address, too.
                let upper = format!(
                    r"\.(?:{})|[^\x00-\x7f]|\A[0-9][0-9a-fA-FxX.]*\z",
                    without_case(domain)
                );
                self.loose.push(format!(r"://|@|\\|\A//|{upper}"));
                self.upper.push(upper);
                let mut host = String::new();
                let simple = format!("a.{domain}");
                if address::host(&simple, &mut host).is_ok() && host == simple {
                    let pattern = format!(r"\A[a-z]{{1,20}}\.(?:{escaped})\z");
                    self.lower.push(pattern.clone());
                    self.firm.push(pattern);
                }
            }
        }
    }
}
