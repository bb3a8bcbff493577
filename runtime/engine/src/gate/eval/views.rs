//! Tests of what a leaf is seen as: its host or domain, a query's verbs, tables and functions, its
//! provenance.

use super::answers::compare_count;
use super::scratch::EvalScratch;
use super::{Evaluator, Kind, RESTRICTIVE_ONLY, Source, Tri};
use bouncer_plan::format::{
    Dimension, NONE, PROVENANCE_OBSERVED, PROVENANCE_TRUSTED, PROVENANCE_UNPROVEN,
    PROVENANCE_UNTRUSTED, PROVENANCE_USER, SimpleKind, ViewKind,
};
use bouncer_plan::{Corrupt, at, slice};
use bouncer_reader::address::{self, Lies};
use bouncer_reader::text;

/// How many tokens of one leaf are looked up before nobody can tell.
const MAX_CARRIED: u32 = 10_000;

impl Evaluator<'_, '_> {
    /// Tests of `host(x)`, `domain(x)` and `scheme(x)`.
    pub(super) fn host_view(
        &mut self,
        dimension: &Dimension,
        through: bool,
    ) -> Result<(), Corrupt> {
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
                other_view,
                ..
            } = &mut *self.scratch;
            let text: &str = match form {
                0 if self.forms.plain_is_raw => raw,
                0 => plain,
                _ => canonical,
            };
            other_view.clear();
            let result = match dimension.view {
                ViewKind::Host => address::host(text, view),
                ViewKind::Scheme => address::scheme(text, view, &mut |other| {
                    other_view.push_str(other);
                    other_view.push(' ');
                }),
                _ => address::domain(text, view),
            };
            if result.is_err() {
                readable = false;
                continue;
            }
            mask |= 1 << form;
            self.text_tests(dimension, form, Source::View)?;
            if dimension.view == ViewKind::Scheme {
                self.inner_schemes(dimension)?;
                continue;
            }
            self.network_tests(dimension, 1 << form)?;
            // Another spelling of an IPv4 host counts as that host, too.
            let EvalScratch {
                view, other_view, ..
            } = &mut *self.scratch;
            if address::host_in_ipv4(view, other_view) {
                std::mem::swap(view, other_view);
                self.text_tests(dimension, form, Source::OtherView)?;
                self.network_tests(dimension, RESTRICTIVE_ONLY)?;
            }
        }
        if readable {
            self.finish(dimension, mask, true, through)
        } else {
            self.unreadable(dimension)
        }
    }

    /// Tests of the schemes inside the scheme, which `other_view` lists: only a restrictive
    /// rule goes by these.
    fn inner_schemes(&mut self, dimension: &Dimension) -> Result<(), Corrupt> {
        while let Some(end) = self.scratch.other_view.find(' ') {
            let EvalScratch {
                view, other_view, ..
            } = &mut *self.scratch;
            view.clear();
            view.push_str(other_view.get(..end).ok_or(Corrupt)?);
            other_view.drain(..=end);
            view.make_ascii_lowercase();
            self.text_tests(dimension, 0, Source::OtherView)?;
        }
        Ok(())
    }

    /// Marks the tests of networks that the host in `view` lies in, or may lie in.
    fn network_tests(&mut self, dimension: &Dimension, inside: u8) -> Result<(), Corrupt> {
        for test in slice(self.tables.simple_tests, &dimension.simple)? {
            if test.kind != SimpleKind::Network {
                continue;
            }
            let mut lies = Lies::Outside;
            for network in self.tables.networks(test)? {
                lies = lies.max(network.ok_or(Corrupt)?.holds(&self.scratch.view));
            }
            match lies {
                Lies::Outside => {}
                Lies::Perhaps => self.mark(test.test.get(), RESTRICTIVE_ONLY),
                Lies::Inside => self.mark(test.test.get(), inside),
            }
        }
        Ok(())
    }

    /// Tests of `length(x)`: of the text as it stands, and of what else it may be read as.
    pub(super) fn length_view(
        &mut self,
        dimension: &Dimension,
        through: bool,
    ) -> Result<(), Corrupt> {
        let EvalScratch {
            raw,
            plain,
            canonical,
            ..
        } = &*self.scratch;
        let text = self.forms.kind == Kind::String;
        let length = |text: &str| text.chars().count() as u64;
        let lengths = [
            (self.forms.kind != Kind::Null).then(|| length(raw)),
            self.forms.canonical.then(|| length(canonical)),
            (!self.forms.plain_is_raw).then(|| length(plain)),
        ];
        let mut mask = 0;
        for (form, length) in (0..).zip(lengths) {
            let Some(length) = length else { continue };
            mask |= 1 << form;
            for test in slice(self.tables.simple_tests, &dimension.simple)? {
                let bound = self.tables.text(&test.text)?;
                if compare_count(test.kind, length, bound) == Tri::True {
                    let bits = if text { 1 << form } else { RESTRICTIVE_ONLY };
                    self.mark(test.test.get(), bits);
                }
            }
        }
        self.finish(dimension, mask, text, through)
    }

    /// Tests of the name of a member, in every form, and without its case.
    pub(super) fn name_view(
        &mut self,
        dimension: &Dimension,
        through: bool,
    ) -> Result<(), Corrupt> {
        for form in 0..3 {
            if self.has_form(form) {
                self.text_tests(dimension, form, Source::Form)?;
            }
        }
        let EvalScratch { raw, view, .. } = &mut *self.scratch;
        text::fold(raw, view);
        self.text_tests(dimension, 0, Source::Folded)?;
        self.simple_tests(dimension, through)?;
        self.finish(dimension, self.form_mask(), true, through)
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

    /// Tests of the values that a query has: its verbs, tables or functions.
    pub(super) fn sql_view(&mut self, dimension: &Dimension, through: bool) -> Result<(), Corrupt> {
        let Some(values) = self.sql_values(dimension) else {
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
    fn sql_values(&self, dimension: &Dimension) -> Option<Vec<String>> {
        use bouncer_plan::format::SqlDialect;
        use bouncer_reader::sql;
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
        let dialect = match dimension.dialect {
            SqlDialect::Generic => sql::Dialect::Generic,
            SqlDialect::Postgres => sql::Dialect::Postgres,
            SqlDialect::Sqlite => sql::Dialect::Sqlite,
            SqlDialect::Mysql => sql::Dialect::Mysql,
        };
        let mut values = Vec::new();
        let mut add = |value: &str| {
            if !values.iter().any(|seen| seen == value) {
                values.push(value.to_owned());
            }
        };
        match dimension.view {
            ViewKind::SqlVerb => sql::verbs(query, dialect, &mut add).ok()?,
            ViewKind::SqlTable => sql::tables(query, dialect, &mut add).ok()?,
            ViewKind::SqlFunction => sql::functions(query, dialect, &mut add).ok()?,
            ViewKind::Value
            | ViewKind::Host
            | ViewKind::Domain
            | ViewKind::Count
            | ViewKind::Provenance
            | ViewKind::Calls
            | ViewKind::Session
            | ViewKind::Scheme
            | ViewKind::Length
            | ViewKind::Name => return None,
        }
        Some(values)
    }

    /// Without the `sql` feature no query can be read.
    #[cfg(not(feature = "sql"))]
    #[expect(clippy::unused_self, reason = "same shape as with the feature")]
    fn sql_values(&self, _dimension: &Dimension) -> Option<Vec<String>> {
        None
    }

    /// Whether a destination-shaped token inside the leaf was read before, and no trusted
    /// output vouches for it.
    pub(super) fn carries_untrusted(&mut self, path: u32) -> Tri {
        let EvalScratch {
            raw,
            view,
            carried,
            carried_in,
            ..
        } = &mut *self.scratch;
        text::fold(raw, view);
        let (mut left, mut unsure, mut found) = (MAX_CARRIED, false, false);
        address::tokens(view, &mut |token| {
            if found || left == 0 {
                return;
            }
            left -= 1;
            let evidence = self
                .provenance
                .evidence(token.text, self.provenance_scratch);
            if evidence.trusted.is_none() {
                found = evidence.untrusted.or(evidence.observed).is_some();
                unsure |= evidence.incomplete;
                if found && *carried_in == NONE {
                    *carried_in = path;
                    carried.push_str(token.text);
                }
            }
        });
        match found {
            true => Tri::True,
            // What was not looked at, or not remembered, may be there.
            false if unsure || left == 0 => Tri::Unknown,
            false => Tri::False,
        }
    }

    /// Whether a private value that was read stands inside the leaf.
    pub(super) fn carries_private(&mut self) -> Tri {
        let raw = &self.scratch.raw;
        match self.provenance.private_in(raw, self.provenance_scratch) {
            Ok(found) => Tri::from_bool(found.is_some()),
            Err(_) => Tri::Unknown,
        }
    }

    /// Whether the user typed the leaf, as a whole.
    fn is_typed(&mut self) -> bool {
        let raw = &self.scratch.raw;
        self.provenance.is_typed(raw, self.provenance_scratch)
    }

    /// The `PROVENANCE_` bit of the leaf, and whether it may
    /// be wrong.
    pub(super) fn provenance_bit(&mut self) -> (u32, bool) {
        let evidence = self
            .provenance
            .evidence(&self.scratch.raw, self.provenance_scratch);
        if evidence.trusted.is_some() {
            (PROVENANCE_TRUSTED, false)
        } else if self.is_typed() {
            (PROVENANCE_USER, false)
        } else if evidence.untrusted.is_some() {
            (PROVENANCE_UNTRUSTED, false)
        } else if evidence.observed.is_some() {
            (PROVENANCE_OBSERVED, evidence.incomplete)
        } else {
            (PROVENANCE_UNPROVEN, evidence.incomplete)
        }
    }
}
