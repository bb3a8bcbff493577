//! Answers about one text or number: automata, literal sets, comparisons. Knows nothing
//! of dimensions or atoms.

use super::{Kind, RESTRICTIVE_ONLY, Tri};
use bouncer_plan::automaton::{Automaton, NfaScratch, Scan};
use bouncer_plan::format::{
    LITERAL_AT_DOMAIN, LITERAL_BELOW, LITERAL_BOOL, LITERAL_NULL, LITERAL_NUMBER, LITERAL_STRING,
    LiteralSet, TEST_GREATER, TEST_GREATER_EQUAL, TEST_LESS, TEST_LESS_EQUAL, TEST_NUMBER_EQUAL,
    TEST_PROVENANCE, TEST_WITHIN,
};
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
    let mut look = |literal: u32, key: &[u8], bits: u8| -> Result<(), Corrupt> {
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
            look(LITERAL_STRING, text.as_bytes(), form)?;
            let kinds = set.kinds.get();
            if kinds & (1 << LITERAL_NUMBER) != 0 && literals::canonical_number(text, number) {
                look(LITERAL_NUMBER, number.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            if matches!(text, "true" | "false") {
                look(LITERAL_BOOL, text.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            if kinds & (1 << LITERAL_AT_DOMAIN) != 0
                && let Some(domain) = address::pattern_domain(text)
            {
                fold_ascii(domain, number);
                look(LITERAL_AT_DOMAIN, number.as_bytes(), form)?;
            }
            // The empty domain stands for every pattern of its kind: what cannot be
            // evaluated holds in a restrictive rule.
            if kinds & (1 << LITERAL_AT_DOMAIN) != 0 && address::is_unclear_address(text) {
                look(LITERAL_AT_DOMAIN, b"", RESTRICTIVE_ONLY)?;
            }
            if kinds & (1 << LITERAL_BELOW) != 0 && address::is_unclear_host(text, number) {
                look(LITERAL_BELOW, b"", RESTRICTIVE_ONLY)?;
            }
            if kinds & (1 << LITERAL_BELOW) != 0 && address::host(text, number).is_ok() {
                for parent in literals::parents(number) {
                    look(LITERAL_BELOW, parent.as_bytes(), form)?;
                }
            }
        }
        Kind::Number => {
            if literals::canonical_number(text, number) {
                look(LITERAL_NUMBER, number.as_bytes(), form)?;
            }
            look(LITERAL_STRING, text.as_bytes(), RESTRICTIVE_ONLY)?;
        }
        Kind::Bool => {
            look(LITERAL_BOOL, text.as_bytes(), form)?;
            look(LITERAL_STRING, text.as_bytes(), RESTRICTIVE_ONLY)?;
        }
        Kind::Null => look(LITERAL_NULL, b"null", form)?,
    }
    Ok(())
}

/// Writes `text` in ASCII lower case.
pub(in crate::gate) fn fold_ascii(text: &str, out: &mut String) {
    out.clear();
    out.push_str(text);
    out.make_ascii_lowercase();
}

/// A numeric comparison by its `TEST_` code.
pub(super) fn compare(kind: u32, value: &str, operand: &str) -> Tri {
    let Some(order) = number::compare(value, operand) else {
        return Tri::Unknown;
    };
    Tri::from_bool(match kind {
        TEST_LESS => order == Ordering::Less,
        TEST_LESS_EQUAL => order != Ordering::Greater,
        TEST_GREATER => order == Ordering::Greater,
        TEST_GREATER_EQUAL => order != Ordering::Less,
        TEST_NUMBER_EQUAL => order == Ordering::Equal,
        _ => return Tri::Unknown,
    })
}

/// A comparison of a count, written without the heap.
pub(super) fn compare_count(kind: u32, value: u64, operand: &str) -> Tri {
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

const _: () = assert!(
    TEST_PROVENANCE > TEST_WITHIN,
    "simple tests below are numeric or structural"
);
