//! Tests of one leaf: which atoms it raises, through which forms and views.
//!
//! Every test of a path is answered by one pass over the leaf's text per form and
//! automaton. The outcome of a test is told in four ways (see [`crate::plan::format::Test`]),
//! and the compiler has bound to each the rows that care. Knows nothing of rows'
//! order or of verdicts.

use super::rows::Signature;
use super::scratch::EvalScratch;
use crate::json::Text;
use crate::number;
use crate::path;
use crate::plan::automaton::{Automaton, NfaScratch, Scan};
use crate::plan::format::{
    Constraint, Dimension, Group, LITERAL_AT_DOMAIN, LITERAL_BELOW, LITERAL_BOOL, LITERAL_NULL,
    LITERAL_NUMBER, LITERAL_STRING, LiteralSet, NONE, QUANT_BIT, SimpleTest, TEST_CLASS_EQUALITY,
    TEST_CLASS_TEXT, TEST_EXISTS, TEST_GREATER, TEST_GREATER_EQUAL, TEST_LESS, TEST_LESS_EQUAL,
    TEST_NUMBER_EQUAL, TEST_PROVENANCE, TEST_TYPE, TEST_WITHIN, Test, VIEW_CALLS, VIEW_COUNT,
    VIEW_DOMAIN, VIEW_HOST, VIEW_PROVENANCE, VIEW_VALUE,
};
use crate::plan::{Corrupt, Tables, at, literals, slice};
use crate::provenance::{self, Provenance};
use crate::{address, text};
use std::cmp::Ordering;

/// The JSON type of a leaf; the discriminants are those of [`TEST_TYPE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    String = 0,
    Number = 1,
    Bool = 2,
    Null = 3,
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
    pub constraints: &'p [Constraint],
    pub resolve_symlinks: bool,
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
        groups: &'e [u32],
        constraints: &'p [Constraint],
        resolve_symlinks: bool,
        scratch: &'e mut EvalScratch,
        provenance: &'e Provenance,
        provenance_scratch: &'e mut provenance::Scratch,
    ) -> Self {
        Self {
            tables,
            groups,
            constraints,
            resolve_symlinks,
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

    /// Takes the text of the leaf that the next calls of [`Self::leaf`] are about.
    pub fn begin_leaf(&mut self, kind: Kind, text: &LeafText<'_>) {
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
        if self.groups.is_empty() {
            return Ok(());
        }
        let start = self.scratch.events.len();
        let mut relevant = false;
        for &group in self.groups {
            let group = at(self.tables.groups, group)?;
            for dimension in dimensions_of(self.tables, group, path)? {
                relevant = true;
                self.dimension(dimension, through)?;
            }
        }
        if !relevant {
            return Ok(());
        }
        if let Some(count) = self.scratch.counts.get_mut(path as usize) {
            if *count == 0 {
                self.scratch.count_touched.push(path);
            }
            *count = count.saturating_add(1);
        }
        self.sign(path, start);
        Ok(())
    }

    /// Turns the events since `start` into a signature of `path`, unless the path's
    /// last leaf raised the same.
    fn sign(&mut self, path: u32, start: usize) {
        let EvalScratch {
            events, signatures, ..
        } = &mut *self.scratch;
        let new = events.get(start..).unwrap_or_default();
        if let Some(last) = signatures.last()
            && last.path == path
            && events.get(last.start as usize..last.end as usize) == Some(new)
        {
            events.truncate(start);
            return;
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
        let EvalScratch { raw, nfa, .. } = &mut *self.scratch;
        // What a null means to a server is anybody's guess.
        if self.forms.kind == Kind::Null {
            return Ok(false);
        }
        if constraint.kind.get() == 1 {
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
            within |= path::within(raw, prefix)
                && (!self.resolve_symlinks || path::within_resolved(raw, &[prefix], None));
        }
        Ok(within)
    }

    /// Runs all tests of one dimension on the current leaf.
    fn dimension(&mut self, dimension: &Dimension, through: bool) -> Result<(), Corrupt> {
        self.prepare();
        match dimension.view.get() {
            VIEW_VALUE => {
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
            VIEW_HOST | VIEW_DOMAIN => self.host_view(dimension, through),
            VIEW_PROVENANCE => {
                let set = self.provenance_bit();
                for test in slice(self.tables.simple_tests, &dimension.simple)? {
                    let verdict = Tri::from_bool(test.operand.get() & set.0 != 0);
                    // Where the record is incomplete, "unproven" may be wrong.
                    let verdict = if set.1 { Tri::Unknown } else { verdict };
                    self.raise(at(self.tables.tests, test.test.get())?, verdict, through);
                }
                Ok(())
            }
            VIEW_COUNT | VIEW_CALLS => Ok(()),
            view => self.sql_view(dimension, view, through),
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
            (Source::View, _) => view,
            (Source::Form, 0) if self.forms.plain_is_raw => raw,
            (Source::Form, 0) => plain,
            (Source::Form, 1) => canonical,
            (Source::Form, _) => skeleton,
        };
        let kind = if source == Source::View {
            Kind::String
        } else {
            self.forms.kind
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
            let bits = if kind == Kind::String {
                1 << form
            } else {
                RESTRICTIVE_ONLY
            };
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
            literal_tests(self.tables, set, kind, text, 1 << form, number, &mut mark)?;
        }
        Ok(())
    }

    /// Runs the tests that are evaluated one by one, on the leaf's own value.
    fn simple_tests(&mut self, dimension: &Dimension, through: bool) -> Result<(), Corrupt> {
        for test in slice(self.tables.simple_tests, &dimension.simple)? {
            let verdict = self.simple_test(test)?;
            if let Some(verdict) = verdict {
                self.raise(at(self.tables.tests, test.test.get())?, verdict, through);
            }
        }
        Ok(())
    }

    /// `None`: the outcome was marked like a text test's.
    fn simple_test(&mut self, test: &SimpleTest) -> Result<Option<Tri>, Corrupt> {
        let verdict = match test.kind.get() {
            TEST_EXISTS => Tri::True,
            TEST_TYPE => Tri::from_bool(test.operand.get() == self.forms.kind as u32),
            TEST_WITHIN => {
                self.within_test(test)?;
                return Ok(None);
            }
            kind if self.forms.kind == Kind::Number => {
                compare(kind, &self.scratch.raw, self.tables.text(&test.text)?)
            }
            _ => Tri::Unknown,
        };
        Ok(Some(verdict))
    }

    /// Marks a `within` test for each form that lies inside.
    fn within_test(&mut self, test: &SimpleTest) -> Result<(), Corrupt> {
        if self.forms.kind == Kind::Null {
            return Ok(());
        }
        let start = test.operand.get() as usize;
        let count = self.tables.lists.get(start).ok_or(Corrupt)?.get() as usize;
        let mut bits = 0;
        for form in 0..3 {
            if !self.has_form(form) {
                continue;
            }
            let scratch = &*self.scratch;
            let text: &str = match form {
                0 if self.forms.plain_is_raw => &scratch.raw,
                0 => &scratch.plain,
                1 => &scratch.canonical,
                _ => &scratch.skeleton,
            };
            for pair in 0..count {
                let prefix = self.tables.listed_text(start + 1 + 2 * pair)?;
                if path::within(text, prefix) {
                    bits |= if self.forms.kind == Kind::String {
                        1 << form
                    } else {
                        RESTRICTIVE_ONLY
                    };
                } else if path::may_be_within(text, prefix) {
                    bits |= RESTRICTIVE_ONLY;
                }
            }
        }
        if bits != 0 {
            self.mark(test.test.get(), bits);
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
            let unfit = through || (!text && test.class.get() == TEST_CLASS_TEXT);
            if !unfit {
                self.push(test.maybe.get());
            }
        }
        if through || !text {
            // Leaves that no permissive rule may rest on: rare, so a plain loop.
            for test in slice(self.tables.tests, &dimension.tests)? {
                let class = test.class.get();
                if class == TEST_CLASS_TEXT || (through && class == TEST_CLASS_EQUALITY) {
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
            self.scratch.events.push(atom);
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

    /// Tests of `host(x)` and `domain(x)`.
    fn host_view(&mut self, dimension: &Dimension, through: bool) -> Result<(), Corrupt> {
        let mut readable = self.forms.kind == Kind::String;
        let mut mask = 0;
        for form in 0..2 {
            if !readable || !self.has_form(form) {
                continue;
            }
            let EvalScratch {
                raw,
                plain,
                canonical,
                view,
                ..
            } = &mut *self.scratch;
            let text: &str = match form {
                0 if self.forms.plain_is_raw => raw,
                0 => plain,
                _ => canonical,
            };
            let result = if dimension.view.get() == VIEW_HOST {
                address::host(text, view)
            } else {
                address::domain(text, view)
            };
            if result.is_err() {
                readable = false;
                continue;
            }
            mask |= 1 << form;
            self.text_tests(dimension, form, Source::View)?;
        }
        if readable {
            self.finish(dimension, mask, true, through)
        } else {
            self.unreadable(dimension)
        }
    }

    /// All tests of a view that cannot be computed: they hold in a restrictive rule and
    /// fail in a permissive one.
    fn unreadable(&mut self, dimension: &Dimension) -> Result<(), Corrupt> {
        while let Some(index) = self.scratch.touched.pop() {
            if let Some(outcome) = self.scratch.outcome.get_mut(index as usize) {
                *outcome = 0;
            }
        }
        for test in slice(self.tables.tests, &dimension.tests)? {
            self.push(test.any.get());
            self.push(test.maybe.get());
        }
        Ok(())
    }

    /// Tests of the values that a query has: its verbs or tables.
    fn sql_view(&mut self, dimension: &Dimension, view: u32, through: bool) -> Result<(), Corrupt> {
        let Some(values) = self.sql_values(view) else {
            return self.unreadable(dimension);
        };
        for value in &values {
            self.scratch.view.clear();
            self.scratch.view.push_str(value);
            self.text_tests(dimension, 0, Source::View)?;
            while let Some(test) = self.scratch.touched.pop() {
                let EvalScratch {
                    outcome,
                    hits,
                    hit_tests,
                    ..
                } = &mut *self.scratch;
                if let (Some(outcome), Some(hits)) =
                    (outcome.get_mut(test as usize), hits.get_mut(test as usize))
                {
                    *outcome = 0;
                    if *hits == 0 {
                        hit_tests.push(test);
                    }
                    *hits += 1;
                }
            }
        }
        if through {
            for test in slice(self.tables.tests, &dimension.tests)? {
                self.push(test.maybe.get());
            }
        }
        while let Some(index) = self.scratch.hit_tests.pop() {
            let hits = std::mem::take(self.scratch.hits.get_mut(index as usize).ok_or(Corrupt)?);
            let test = at(self.tables.tests, index)?;
            let every = hits as usize == values.len();
            if every && !through {
                self.push(test.plain.get());
            }
            self.push(test.any.get());
            if every {
                self.push(test.all.get());
            }
            if !through {
                self.push(test.maybe.get());
            }
        }
        Ok(())
    }

    /// The distinct values of a query view; `None` if it cannot be read. Reading SQL is
    /// the one view that allocates.
    #[cfg(feature = "sql")]
    fn sql_values(&self, view: u32) -> Option<Vec<String>> {
        use crate::plan::format::{VIEW_SQL_TABLE, VIEW_SQL_VERB};
        use crate::sql;
        if self.forms.kind != Kind::String {
            return None;
        }
        let text = if self.forms.plain_is_raw {
            &self.scratch.raw
        } else {
            &self.scratch.plain
        };
        // The raw text, not the collapsed one: a line comment ends at a line break.
        let query = if self.forms.plain_is_raw {
            text
        } else {
            &self.scratch.raw
        };
        let tables = view >= VIEW_SQL_TABLE;
        let dialect = sql::Dialect::from_byte(
            (view
                - if tables {
                    VIEW_SQL_TABLE
                } else {
                    VIEW_SQL_VERB
                }) as u8,
        )?;
        let mut values = Vec::new();
        let mut add = |value: &str| {
            if !values.iter().any(|seen| seen == value) {
                values.push(value.to_owned());
            }
        };
        if tables {
            sql::tables(query, dialect, &mut add)
        } else {
            sql::verbs(query, dialect, &mut add)
        }
        .ok()?;
        Some(values)
    }

    /// Without the `sql` feature no query can be read.
    #[cfg(not(feature = "sql"))]
    #[expect(clippy::unused_self, reason = "same shape as with the feature")]
    fn sql_values(&self, _view: u32) -> Option<Vec<String>> {
        None
    }

    /// The bit of the leaf's provenance in [`TEST_PROVENANCE`]'s set, and whether it may
    /// be wrong.
    fn provenance_bit(&mut self) -> (u32, bool) {
        let evidence = self
            .provenance
            .evidence(&self.scratch.raw, self.provenance_scratch);
        if evidence.trusted.is_some() {
            (1, false)
        } else if evidence.untrusted.is_some() {
            (1 << 2, false)
        } else if evidence.observed.is_some() {
            (1 << 1, evidence.incomplete)
        } else {
            (1 << 3, evidence.incomplete)
        }
    }

    /// Raises what is asked once per call: counts, `calls(this)` and quantifiers.
    /// `calls` gives the attempts within a window of milliseconds.
    pub fn finish_call(&mut self, calls: &dyn Fn(u64) -> u64) -> Result<(), Corrupt> {
        let start = self.scratch.events.len();
        for &group in self.groups {
            let group = at(self.tables.groups, group)?;
            for dimension in slice(self.tables.dimensions, &group.dimensions)? {
                if !matches!(dimension.view.get(), VIEW_COUNT | VIEW_CALLS) {
                    continue;
                }
                for test in slice(self.tables.simple_tests, &dimension.simple)? {
                    let value = if dimension.view.get() == VIEW_CALLS {
                        calls(test.window_ms.get())
                    } else {
                        u64::from(
                            self.scratch
                                .counts
                                .get(dimension.path.get() as usize)
                                .copied()
                                .unwrap_or(0),
                        )
                    };
                    let verdict =
                        compare_count(test.kind.get(), value, self.tables.text(&test.text)?);
                    self.raise(at(self.tables.tests, test.test.get())?, verdict, false);
                }
            }
            let first = group.quants.start.get();
            for (offset, quant) in slice(self.tables.quants, &group.quants)?.iter().enumerate() {
                let raised = self
                    .scratch
                    .quants
                    .get(first as usize + offset)
                    .copied()
                    .unwrap_or(0);
                let leaves = self
                    .scratch
                    .counts
                    .get(quant.path.get() as usize)
                    .copied()
                    .unwrap_or(0);
                if raised > 0 && (quant.all.get() == 0 || raised == leaves) {
                    self.push(quant.atom.get());
                }
            }
        }
        // The whole call is one more "path" with one signature.
        let end = self.scratch.events.len();
        if end > start {
            self.scratch.signatures.push(Signature {
                path: NONE,
                start: start as u32,
                end: end as u32,
            });
        }
        Ok(())
    }
}

/// Which text an automaton reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A form of the leaf.
    Form,
    /// The computed view.
    View,
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

/// The dimensions of a group that look at `path`: a run, since they are sorted.
fn dimensions_of<'p>(
    tables: &Tables<'p>,
    group: &Group,
    path: u32,
) -> Result<&'p [Dimension], Corrupt> {
    let all = slice(tables.dimensions, &group.dimensions)?;
    let start = all.partition_point(|dimension| dimension.path.get() < path);
    let rest = all.get(start..).ok_or(Corrupt)?;
    let length = rest
        .iter()
        .take_while(|dimension| dimension.path.get() == path)
        .count();
    rest.get(..length).ok_or(Corrupt)
}

/// Runs an automaton, falling back where its DFA quits. `Quit`: the text is too long for
/// the pattern, and only what was reported is known.
fn run(
    tables: &Tables<'_>,
    automaton: u32,
    text: &str,
    scratch: &mut NfaScratch,
    mut report: impl FnMut(u32),
) -> Result<Scan, Corrupt> {
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
fn literal_tests(
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
            if literals::canonical_number(text, number) {
                look(LITERAL_NUMBER, number.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            if matches!(text, "true" | "false") {
                look(LITERAL_BOOL, text.as_bytes(), RESTRICTIVE_ONLY)?;
            }
            let kinds = set.kinds.get();
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
                let mut rest = number.as_str();
                while let Some((label, parent)) = rest.split_once('.') {
                    if label.is_empty() {
                        break;
                    }
                    look(LITERAL_BELOW, parent.as_bytes(), form)?;
                    rest = parent;
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
pub(super) fn fold_ascii(text: &str, out: &mut String) {
    out.clear();
    out.push_str(text);
    out.make_ascii_lowercase();
}

/// A numeric comparison by its `TEST_` code.
fn compare(kind: u32, value: &str, operand: &str) -> Tri {
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
fn compare_count(kind: u32, value: u64, operand: &str) -> Tri {
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
