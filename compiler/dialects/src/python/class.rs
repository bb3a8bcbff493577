//! Python's character classes and its idea of case.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::super::node::{Set, set};

/// `\d`, `\s`, `\w` or a complement.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Kind {
    what: char,
    negated: bool,
}

impl Kind {
    /// The class that `\c` names.
    pub(super) fn of(c: char) -> Option<Kind> {
        let what = c.to_ascii_lowercase();
        matches!(what, 'd' | 's' | 'w').then_some(Kind {
            what,
            negated: c.is_ascii_uppercase(),
        })
    }
}

/// The characters of a class.
pub(super) fn set_of(kind: Kind, ascii: bool) -> Set {
    let mut out = match (kind.what, ascii) {
        ('d', true) => set(&[('0', '9')]),
        ('d', false) => DIGIT.clone(),
        ('s', true) => set(&[('\t', '\r'), (' ', ' ')]),
        ('s', false) => set(&[
            ('\t', '\r'),
            ('\u{1C}', ' '),
            ('\u{85}', '\u{85}'),
            ('\u{A0}', '\u{A0}'),
            ('\u{1680}', '\u{1680}'),
            ('\u{2000}', '\u{200A}'),
            ('\u{2028}', '\u{2029}'),
            ('\u{202F}', '\u{202F}'),
            ('\u{205F}', '\u{205F}'),
            ('\u{3000}', '\u{3000}'),
        ]),
        (_, true) => set(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
        (_, false) => WORD.clone(),
    };
    if kind.negated {
        out.negate();
    }
    out
}

static DIGIT: LazyLock<Set> = LazyLock::new(|| unicode("\\p{Nd}"));
/// `str.isalnum()` or `_`.
static WORD: LazyLock<Set> = LazyLock::new(|| unicode("[\\p{L}\\p{N}_]"));
/// Where Rust's `\w` is not Python's.
static DISPUTED: LazyLock<Set> = LazyLock::new(|| unicode("[\\w~~[\\p{L}\\p{N}_]]"));

/// Characters on which Rust and Python disagree whether they belong to words.
pub(super) fn disputed() -> &'static Set {
    &DISPUTED
}

fn unicode(pattern: &str) -> Set {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(set))) => set,
        // The patterns are constants, which a test parses.
        _ => set(&[]),
    }
}

/// All characters that Python takes for one in the set when ignoring case.
pub(super) fn folded(of: &ClassUnicode, ascii: bool) -> Set {
    let mut out = of.clone();
    if ascii {
        let mut letters = of.clone();
        letters.intersect(&set(&[('A', 'Z'), ('a', 'z')]));
        for range in letters.ranges() {
            for c in range.start()..=range.end() {
                out.push(ClassUnicodeRange::new(
                    c.to_ascii_lowercase(),
                    c.to_ascii_lowercase(),
                ));
                out.push(ClassUnicodeRange::new(
                    c.to_ascii_uppercase(),
                    c.to_ascii_uppercase(),
                ));
            }
        }
        return out;
    }
    // Simple folding does not join the Turkish letters; Python does.
    let mut i = of.clone();
    i.intersect(&set(&[('I', 'I'), ('i', 'i'), ('\u{130}', '\u{131}')]));
    out.case_fold_simple();
    if !i.ranges().is_empty() {
        out.union(&set(&[('I', 'I'), ('i', 'i'), ('\u{130}', '\u{131}')]));
    }
    out
}
