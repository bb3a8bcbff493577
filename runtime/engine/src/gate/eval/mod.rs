//! Tests of one leaf: which atoms it raises, through which forms and views.
//!
//! Every test of a path is answered by one pass over the leaf's text per form and
//! automaton. The outcome of a test is told in four ways (see [`bouncer_plan::format::Test`]),
//! and the compiler has bound to each the rows that care. Knows nothing of rows'
//! order or of verdicts.

mod answers;
mod scratch;
mod simple;
mod views;
mod whole;

pub(super) use answers::fold_ascii;
pub(super) use scratch::EvalScratch;
pub(super) use whole::CallFacts;

use answers::{folded_tests, literal_tests, run};

use super::link::{Aim, Asked};
use super::raised::{Raised, Signature};
use crate::provenance::{self, Provenance};
use bouncer_plan::automaton::Scan;
use bouncer_plan::format::{
    Constraint, ConstraintKind, Dimension, NONE, QUANT_BIT, SimpleKind, Test, TestClass, ViewKind,
};
use bouncer_plan::{Corrupt, Tables, at, slice};
use bouncer_reader::json::Text;
use bouncer_reader::path;
use bouncer_reader::text;
use std::path::Path;

pub(super) use bouncer_plan::format::JsonType as Kind;

/// What is known of where paths lead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'p> {
    /// Symbolic links of this machine are followed.
    pub resolve_symlinks: bool,
    /// The folder that relative paths start in; empty: not known.
    pub base: &'p str,
}

impl<'p> Places<'p> {
    /// Where this program looks for relative paths.
    fn start(self) -> &'p Path {
        match self.base {
            "" => Path::new("."),
            base => Path::new(base),
        }
    }
}

/// A leaf's text as the reader gives it.
#[derive(Debug)]
pub(super) enum LeafText<'a> {
    /// A string, perhaps with escapes.
    Json(Text<'a>),
    /// The JSON text of anything else.
    Plain(&'a str),
}

/// Set in an outcome that only holds in a restrictive reading.
const RESTRICTIVE_ONLY: u8 = 1 << 7;

/// The forms of the current leaf.
#[derive(Clone, Copy, Debug)]
struct Forms {
    kind: Kind,
    /// The raw text is its own plain form.
    plain_is_raw: bool,
    canonical: bool,
    skeleton: bool,
}

/// Evaluates the tests of a tool's groups, leaf by leaf.
pub(super) struct Evaluator<'e, 'p> {
    pub tables: &'e Tables<'p>,
    /// Indices of the tool's groups.
    pub groups: &'e [u32],
    /// What the groups look at, sorted by path.
    pub aims: &'e [Aim],
    pub constraints: &'p [Constraint],
    pub places: Places<'p>,
    pub scratch: &'e mut EvalScratch,
    pub provenance: &'e Provenance,
    pub provenance_scratch: &'e mut provenance::Scratch,
    forms: Forms,
    /// Whether `forms` are those of the current leaf.
    prepared: bool,
}

impl<'e, 'p> Evaluator<'e, 'p> {
    pub fn new(
        tables: &'e Tables<'p>,
        Asked { groups, aims }: Asked<'e>,
        constraints: &'p [Constraint],
        places: Places<'p>,
        scratch: &'e mut EvalScratch,
        provenance: &'e Provenance,
        provenance_scratch: &'e mut provenance::Scratch,
    ) -> Self {
        Self {
            tables,
            groups,
            aims,
            constraints,
            places,
            scratch,
            provenance,
            provenance_scratch,
            forms: Forms {
                kind: Kind::Null,
                plain_is_raw: true,
                canonical: false,
                skeleton: false,
            },
            prepared: false,
        }
    }

    /// Takes the text of the leaf that the next calls of [`Self::leaf`] are about, and the
    /// raw text of the nearest name above it.
    pub fn begin_leaf(&mut self, kind: Kind, text: &LeafText<'_>, name: &str) {
        self.scratch.name.clear();
        self.scratch.name.push_str(name);
        self.scratch.raw.clear();
        match text {
            LeafText::Json(text) => text.decode_into(&mut self.scratch.raw),
            LeafText::Plain(text) => self.scratch.raw.push_str(text),
        }
        self.forms = Forms {
            kind,
            plain_is_raw: true,
            canonical: false,
            skeleton: false,
        };
        self.prepared = false;
    }

    /// Computes the forms of the current leaf, once.
    fn prepare(&mut self) {
        if self.prepared {
            return;
        }
        self.prepared = true;
        if self.forms.kind != Kind::String {
            return;
        }
        let EvalScratch {
            raw,
            plain,
            canonical,
            skeleton,
            ..
        } = &mut *self.scratch;
        // Most text is all its forms at once.
        if text::is_canonical_fast(raw) {
            return;
        }
        self.forms.plain_is_raw = text::is_plain(raw);
        if !self.forms.plain_is_raw {
            text::plain(raw, plain);
        }
        let plain: &str = if self.forms.plain_is_raw { raw } else { plain };
        if raw.is_ascii() && text::is_canonical_fast(plain) {
            return;
        }
        text::canonical(raw, canonical);
        self.forms.canonical = canonical != plain;
        if !canonical.is_ascii() {
            text::skeleton(canonical, skeleton);
            self.forms.skeleton = skeleton != canonical;
        }
    }

    /// Judges the current leaf as a leaf of `path`.
    pub fn leaf(&mut self, path: u32, through: bool) -> Result<(), Corrupt> {
        self.check_constraints(path, through)?;
        let start = self.scratch.raised.events.len();
        let aims = aims_of(self.aims, path);
        if aims.is_empty() {
            return Ok(());
        }
        for aim in aims.iter().filter(|aim| !aim.once) {
            self.dimension(at(self.tables.dimensions, aim.dimension)?, through)?;
        }
        let count = self.scratch.counts.get_mut(path as usize).ok_or(Corrupt)?;
        let first = *count == 0;
        *count = count.saturating_add(1);
        if first {
            self.scratch.count_touched.push(path);
        }
        self.sign(path, start, first);
        Ok(())
    }

    /// Turns the events since `start` into a signature of `path`, unless the path's
    /// last leaf raised the same. `first`: the path has had no leaf so far.
    fn sign(&mut self, path: u32, start: usize, first: bool) {
        let Raised {
            events,
            signatures,
            repeated,
        } = &mut self.scratch.raised;
        if !first {
            let new = events.get(start..).unwrap_or_default();
            if let Some(last) = signatures.last()
                && last.path == path
                && events.get(last.start as usize..last.end as usize) == Some(new)
            {
                events.truncate(start);
                return;
            }
            *repeated = true;
        }
        signatures.push(Signature {
            path,
            start: start as u32,
            end: events.len() as u32,
        });
    }

    /// Judges an object at the end of `path`: no constraint is satisfied by one, also
    /// when it holds no leaf.
    pub fn object_at(&mut self, path: u32) {
        for (index, constraint) in self.constraints.iter().enumerate() {
            let index = index as u32;
            let earlier = self
                .scratch
                .failed_constraint
                .is_some_and(|failed| failed <= index);
            if constraint.path.get() == path && !earlier {
                self.scratch.failed_constraint = Some(index);
                self.scratch.failed_value.clear();
                self.scratch.failed_value.push_str("{…}");
            }
        }
    }

    /// Notes the first constraint, in the contract's order, that the leaf fails.
    fn check_constraints(&mut self, path: u32, through: bool) -> Result<(), Corrupt> {
        for (index, constraint) in self.constraints.iter().enumerate() {
            let index = index as u32;
            if constraint.path.get() != path
                || self
                    .scratch
                    .failed_constraint
                    .is_some_and(|failed| failed <= index)
            {
                continue;
            }
            if through || !self.satisfies(constraint)? {
                let EvalScratch {
                    raw,
                    failed_value,
                    failed_constraint,
                    ..
                } = &mut *self.scratch;
                *failed_constraint = Some(index);
                failed_value.clear();
                failed_value.push_str(raw);
            }
        }
        Ok(())
    }

    /// Whether the raw text of the leaf satisfies a constraint.
    fn satisfies(&mut self, constraint: &Constraint) -> Result<bool, Corrupt> {
        let EvalScratch {
            raw,
            nfa,
            rooms,
            looks,
            ..
        } = &mut *self.scratch;
        let places = self.places;
        // What a null means to a server is anybody's guess.
        if self.forms.kind == Kind::Null {
            return Ok(false);
        }
        if constraint.kind == ConstraintKind::Matches {
            let mut matched = false;
            let scan = run(self.tables, constraint.automaton.get(), raw, nfa, |_| {
                matched = true
            })?;
            return Ok(matched && scan == Scan::Done);
        }
        let prefixes = slice(self.tables.lists, &constraint.prefixes)?;
        let first = constraint.prefixes.start.get() as usize;
        let mut within = false;
        for pair in 0..prefixes.len() / 2 {
            let prefix = self.tables.listed_text(first + 2 * pair)?;
            // Relative paths start where the contract says, or where this program does.
            let known = !places.base.is_empty() || !prefix.starts_with('/');
            let base = known.then(|| places.start());
            let inside = match places.base {
                "" => path::within(raw, prefix),
                base => path::within_based(raw, prefix, base, rooms),
            };
            within |= inside
                && (!places.resolve_symlinks || path::within_resolved(raw, &[prefix], base, looks));
        }
        Ok(within)
    }

    /// Runs all tests of one dimension on the current leaf.
    fn dimension(&mut self, dimension: &Dimension, through: bool) -> Result<(), Corrupt> {
        self.prepare();
        match dimension.view {
            ViewKind::Value => {
                for form in 0..3 {
                    if self.has_form(form) {
                        self.text_tests(dimension, form, Source::Form)?;
                    }
                }
                self.simple_tests(dimension, through)?;
                self.finish(
                    dimension,
                    self.form_mask(),
                    self.forms.kind == Kind::String,
                    through,
                )
            }
            ViewKind::Host | ViewKind::Domain | ViewKind::Scheme => {
                self.host_view(dimension, through)
            }
            ViewKind::Length => self.length_view(dimension, through),
            ViewKind::Name => self.name_view(dimension, through),
            ViewKind::Provenance => {
                let (mut whole, mut inside) = (None, None);
                for test in slice(self.tables.simple_tests, &dimension.simple)? {
                    let verdict = match test.kind {
                        SimpleKind::CarriesUntrusted => *inside
                            .get_or_insert_with(|| self.carries_untrusted(dimension.path.get())),
                        SimpleKind::Provenance => {
                            let (bit, unsure) = *whole.get_or_insert_with(|| self.provenance_bit());
                            match unsure {
                                // Where the record is incomplete, "unproven" may be wrong.
                                true => Tri::Unknown,
                                false => Tri::from_bool(test.operand.get() & bit != 0),
                            }
                        }
                        SimpleKind::CarriesPrivate => self.carries_private(),
                        // Not asked of where a value came from.
                        SimpleKind::Less
                        | SimpleKind::LessEqual
                        | SimpleKind::Greater
                        | SimpleKind::GreaterEqual
                        | SimpleKind::NumberEqual
                        | SimpleKind::Exists
                        | SimpleKind::Type
                        | SimpleKind::Within
                        | SimpleKind::Effect
                        | SimpleKind::ReadUntrusted
                        | SimpleKind::ReadPrivate
                        | SimpleKind::UserNamedEffect
                        | SimpleKind::Integer
                        | SimpleKind::Luhn
                        | SimpleKind::Iban
                        | SimpleKind::Network => Tri::Unknown,
                    };
                    self.raise(at(self.tables.tests, test.test.get())?, verdict, through);
                }
                Ok(())
            }
            ViewKind::Count | ViewKind::Calls | ViewKind::Session => Ok(()),
            ViewKind::SqlVerb | ViewKind::SqlTable | ViewKind::SqlFunction => {
                self.sql_view(dimension, through)
            }
        }
    }

    /// Whether the leaf has a form of its own: plain, canonical, skeleton.
    const fn has_form(&self, form: u8) -> bool {
        match form {
            0 => true,
            1 => self.forms.canonical,
            _ => self.forms.skeleton,
        }
    }

    /// Bits of the forms that the leaf has.
    const fn form_mask(&self) -> u8 {
        1 | (self.forms.canonical as u8) << 1 | (self.forms.skeleton as u8) << 2
    }

    /// Runs the automata and literal sets of a dimension over one form.
    fn text_tests(
        &mut self,
        dimension: &Dimension,
        form: u8,
        source: Source,
    ) -> Result<(), Corrupt> {
        let EvalScratch {
            raw,
            plain,
            canonical,
            skeleton,
            view,
            number,
            outcome,
            touched,
            nfa,
            ..
        } = &mut *self.scratch;
        let text: &str = match (source, form) {
            (Source::View | Source::OtherView | Source::Folded, _) => view,
            (Source::Form, 0) if self.forms.plain_is_raw => raw,
            (Source::Form, 0) => plain,
            (Source::Form, 1) => canonical,
            (Source::Form, _) => skeleton,
        };
        let kind = match source {
            Source::View | Source::OtherView | Source::Folded => Kind::String,
            Source::Form => self.forms.kind,
        };
        let bits = match source {
            Source::OtherView | Source::Folded => RESTRICTIVE_ONLY,
            Source::Form if kind != Kind::String => RESTRICTIVE_ONLY,
            Source::Form | Source::View => 1 << form,
        };
        let literal_bits = match source {
            Source::OtherView | Source::Folded => RESTRICTIVE_ONLY,
            Source::Form | Source::View => 1 << form,
        };
        let mut mark = |test: u32, bits: u8| {
            if let Some(outcome) = outcome.get_mut(test as usize) {
                if *outcome == 0 {
                    touched.push(test);
                }
                *outcome |= bits;
            }
        };
        if kind != Kind::Null {
            // Text tests see numbers and bools only in a restrictive reading.
            for matcher in slice(self.tables.matchers, &dimension.matchers)? {
                let tests = slice(self.tables.lists, &matcher.tests)?;
                let automaton = matcher.automaton.get();
                let scan = run(self.tables, automaton, text, nfa, |pattern| {
                    if let Some(test) = tests.get(pattern as usize) {
                        mark(test.get(), bits);
                    }
                })?;
                if scan == Scan::Quit {
                    // What cannot be evaluated holds in a restrictive rule.
                    for test in tests {
                        mark(test.get(), RESTRICTIVE_ONLY);
                    }
                }
            }
        }
        if dimension.literals.get() != NONE {
            let set = at(self.tables.literal_sets, dimension.literals.get())?;
            if source == Source::Folded {
                return folded_tests(self.tables, set, text, &mut mark);
            }
            literal_tests(
                self.tables,
                set,
                kind,
                text,
                literal_bits,
                number,
                &mut mark,
            )?;
        }
        Ok(())
    }

    fn mark(&mut self, test: u32, bits: u8) {
        if let Some(outcome) = self.scratch.outcome.get_mut(test as usize) {
            if *outcome == 0 {
                self.scratch.touched.push(test);
            }
            *outcome |= bits;
        }
    }

    /// Raises the atoms of the marked tests, and of those that the leaf is unfit for.
    fn finish(
        &mut self,
        dimension: &Dimension,
        mask: u8,
        text: bool,
        through: bool,
    ) -> Result<(), Corrupt> {
        while let Some(index) = self.scratch.touched.pop() {
            let outcome = std::mem::take(
                self.scratch
                    .outcome
                    .get_mut(index as usize)
                    .ok_or(Corrupt)?,
            );
            let test = at(self.tables.tests, index)?;
            if outcome & 1 != 0 && !through {
                self.push(test.plain.get());
            }
            self.push(test.any.get());
            if outcome & mask == mask {
                self.push(test.all.get());
            }
            let unfit = through || (!text && test.class == TestClass::Text);
            if !unfit {
                self.push(test.maybe.get());
            }
        }
        if through || !text {
            // Leaves that no permissive rule may rest on: rare, so a plain loop.
            for test in slice(self.tables.tests, &dimension.tests)? {
                let unfit = match test.class {
                    TestClass::Text => true,
                    TestClass::Equality => through,
                    TestClass::Own => false,
                };
                if unfit {
                    self.push(test.maybe.get());
                }
            }
        }
        Ok(())
    }

    /// Raises the atoms of a test that has one answer for all forms.
    fn raise(&mut self, test: &Test, verdict: Tri, through: bool) {
        if verdict == Tri::True && !through {
            self.push(test.plain.get());
        }
        if verdict != Tri::False {
            self.push(test.any.get());
        }
        if verdict == Tri::True {
            self.push(test.all.get());
        }
        if verdict != Tri::False || through {
            self.push(test.maybe.get());
        }
    }

    /// Raises one atom, or counts it for its quantifier.
    fn push(&mut self, atom: u32) {
        if atom == NONE {
            return;
        }
        if atom & QUANT_BIT == 0 {
            self.scratch.raised.events.push(atom);
            return;
        }
        let quant = atom & !QUANT_BIT;
        if let Some(count) = self.scratch.quants.get_mut(quant as usize) {
            if *count == 0 {
                self.scratch.quant_touched.push(quant);
            }
            *count = count.saturating_add(1);
        }
    }
}

/// Which text an automaton reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A form of the leaf.
    Form,
    /// The computed view.
    View,
    /// Another reading of the view, which only a restrictive rule goes by.
    OtherView,
    /// The view without its case, for the same.
    Folded,
}

/// An answer that may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tri {
    False,
    True,
    Unknown,
}

impl Tri {
    const fn from_bool(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// Those of `aims` that look at `path`: a run, since they are sorted.
fn aims_of(aims: &[Aim], path: u32) -> &[Aim] {
    // Most tools have a handful, which are looked through faster than halved.
    let start = match aims.len() {
        ..=16 => aims.iter().take_while(|aim| aim.path < path).count(),
        _ => aims.partition_point(|aim| aim.path < path),
    };
    let rest = aims.get(start..).unwrap_or_default();
    let length = rest.iter().take_while(|aim| aim.path == path).count();
    rest.get(..length).unwrap_or_default()
}
