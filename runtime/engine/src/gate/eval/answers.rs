//! Answers about one text or number: automata, literal sets, comparisons. Knows nothing
//! of dimensions or atoms.

use super::{Kind, RESTRICTIVE_ONLY, Tri};
use bouncer_plan::automaton::{Automaton, NfaScratch, Scan};
use bouncer_plan::format::{LiteralKind, LiteralSet, SimpleKind};
use bouncer_plan::{Corrupt, Tables, at, literals, slice};
use bouncer_reader::address;
use bouncer_reader::number;
use std::cmp::Ordering;

/// Runs an automaton, falling back where its DFA quits. `Quit`: the text is too long for
/// the pattern, and only what was reported is known.
pub(super) fn run(
    tables: &Tables<'_>,
    automaton: u32,
    text: &str,
    scratch: &mut NfaScratch,
    mut report: impl FnMut(u32),
) -> Result<Scan, Corrupt> {
    if !tables.may_match(automaton, text)? {
        return Ok(Scan::Done);
    }
    let mut nfa = match tables.automaton(automaton)? {
        Automaton::Dfa(dfa) => match dfa.scan(text.as_bytes(), &mut report)? {
            Scan::Done => return Ok(Scan::Done),
            Scan::Quit => tables.automaton(at(tables.automata, automaton)?.fallback.get())?,
        },
        nfa @ Automaton::Nfa(_) => nfa,
    };
    let Automaton::Nfa(nfa) = &mut nfa else {
        return Err(Corrupt);
    };
    nfa.scan(text.as_bytes(), scratch, &mut report)
}

/// Looks the value up in a dimension's literal set, in every reading.
pub(super) fn literal_tests(
    tables: &Tables<'_>,
    set: &LiteralSet,
    kind: Kind,
    text: &str,
    form: u8,
    number: &mut String,
    mark: &mut dyn FnMut(u32, u8),
) -> Result<(), Corrupt> {
    let mut look = |literal: LiteralKind, key: &[u8], bits: u8| -> Result<(), Corrupt> {
        if let Some(values) = literals::find(tables, set, literal, key)? {
            for test in slice(tables.lists, values)? {
                mark(test.get(), bits);
            }
        }
        Ok(())
    };
    // Typed equality first; then, in a restrictive reading, equality of the JSON texts.
    match kind {
        Kind::String => {
            look(LiteralKind::String, text.as_bytes(), form)?;
            let kinds = set.kinds.get();
            if kinds & LiteralKind::Number.bit() != 0 && literals::canonical_number(text, number) {
                look(LiteralKind::Number, number.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            if matches!(text, "true" | "false") {
                look(LiteralKind::Bool, text.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            if kinds & LiteralKind::AtDomain.bit() != 0
                && let Some(domain) = address::pattern_domain(text)
            {
                fold_ascii(domain, number);
                look(LiteralKind::AtDomain, number.as_bytes(), form)?;
            }
            // The empty domain stands for every pattern of its kind: what cannot be
            // evaluated holds in a restrictive rule.
            if kinds & LiteralKind::AtDomain.bit() != 0 && address::is_unclear_address(text) {
                look(LiteralKind::AtDomain, b"", RESTRICTIVE_ONLY)?;
            }
            if kinds & LiteralKind::Below.bit() != 0 && address::is_unclear_host(text, number) {
                look(LiteralKind::Below, b"", RESTRICTIVE_ONLY)?;
            }
            if kinds & LiteralKind::Below.bit() != 0 && address::host(text, number).is_ok() {
                for parent in literals::parents(number) {
                    look(LiteralKind::Below, parent.as_bytes(), form)?;
                }
            }
        }
        Kind::Number => {
            if literals::canonical_number(text, number) {
                look(LiteralKind::Number, number.as_bytes(), form)?;
            }
            look(LiteralKind::String, text.as_bytes(), RESTRICTIVE_ONLY)?;
        }
        Kind::Bool => {
            look(LiteralKind::Bool, text.as_bytes(), form)?;
            look(LiteralKind::String, text.as_bytes(), RESTRICTIVE_ONLY)?;
        }
        Kind::Null => look(LiteralKind::Null, b"null", form)?,
    }
    Ok(())
}

/// Looks a folded text up among the literals that are folded.
pub(super) fn folded_tests(
    tables: &Tables<'_>,
    set: &LiteralSet,
    text: &str,
    mark: &mut dyn FnMut(u32, u8),
) -> Result<(), Corrupt> {
    if let Some(values) = literals::find(tables, set, LiteralKind::Folded, text.as_bytes())? {
        for test in slice(tables.lists, values)? {
            mark(test.get(), RESTRICTIVE_ONLY);
        }
    }
    Ok(())
}

/// Writes `text` in ASCII lower case.
pub(in crate::gate) fn fold_ascii(text: &str, out: &mut String) {
    out.clear();
    out.push_str(text);
    out.make_ascii_lowercase();
}

/// A numeric comparison. A test that compares no numbers cannot be evaluated of one.
pub(super) fn compare(kind: SimpleKind, value: &str, operand: &str) -> Tri {
    let Some(order) = number::compare(value, operand) else {
        return Tri::Unknown;
    };
    Tri::from_bool(match kind {
        SimpleKind::Less => order == Ordering::Less,
        SimpleKind::LessEqual => order != Ordering::Greater,
        SimpleKind::Greater => order == Ordering::Greater,
        SimpleKind::GreaterEqual => order != Ordering::Less,
        SimpleKind::NumberEqual => order == Ordering::Equal,
        SimpleKind::Exists
        | SimpleKind::Type
        | SimpleKind::Within
        | SimpleKind::Provenance
        | SimpleKind::CarriesUntrusted
        | SimpleKind::CarriesPrivate
        | SimpleKind::Effect
        | SimpleKind::ReadUntrusted
        | SimpleKind::ReadPrivate
        | SimpleKind::UserNamedEffect
        | SimpleKind::Integer
        | SimpleKind::Luhn
        | SimpleKind::Iban
        | SimpleKind::Network => return Tri::Unknown,
    })
}

/// A comparison of a count, written without the heap.
pub(super) fn compare_count(kind: SimpleKind, value: u64, operand: &str) -> Tri {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let text = digits
        .get(at..)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .unwrap_or("0");
    compare(kind, text, operand)
}
