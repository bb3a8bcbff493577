//! Tests that are evaluated one by one on the leaf's own value: comparisons, types,
//! existence, path prefixes.

use super::answers::compare;
use super::scratch::EvalScratch;
use super::{Evaluator, Kind, RESTRICTIVE_ONLY, Tri};
use bouncer_plan::format::{Dimension, SimpleKind, SimpleTest};
use bouncer_plan::{Corrupt, at, slice};
use bouncer_reader::checked::Check;
use bouncer_reader::json::Text;
use bouncer_reader::number;
use bouncer_reader::path;

impl Evaluator<'_, '_> {
    /// Runs the tests that are evaluated one by one, on the leaf's own value.
    pub(super) fn simple_tests(
        &mut self,
        dimension: &Dimension,
        through: bool,
    ) -> Result<(), Corrupt> {
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
        let verdict = match test.kind {
            SimpleKind::Exists => Tri::True,
            SimpleKind::Type => Tri::from_bool(test.operand.get() == self.forms.kind as u32),
            SimpleKind::Within => {
                self.within_test(test)?;
                return Ok(None);
            }
            SimpleKind::Luhn | SimpleKind::Iban => {
                let check = match test.kind {
                    SimpleKind::Luhn => Check::Luhn,
                    _ => Check::Iban,
                };
                self.checked_test(test, check);
                return Ok(None);
            }
            SimpleKind::Integer if self.forms.kind != Kind::Number => Tri::False,
            SimpleKind::Integer if number::is_written_whole(&self.scratch.raw) => Tri::True,
            // Some readers take `1.0` for an integer.
            SimpleKind::Integer => match number::is_whole(&self.scratch.raw) {
                Some(false) => Tri::False,
                Some(true) | None => Tri::Unknown,
            },
            SimpleKind::Less
            | SimpleKind::LessEqual
            | SimpleKind::Greater
            | SimpleKind::GreaterEqual
            | SimpleKind::NumberEqual
                if self.forms.kind == Kind::Number =>
            {
                compare(test.kind, &self.scratch.raw, self.tables.text(&test.text)?)
            }
            // Only numbers compare. The rest is asked in views of their own.
            SimpleKind::Less
            | SimpleKind::LessEqual
            | SimpleKind::Greater
            | SimpleKind::GreaterEqual
            | SimpleKind::NumberEqual
            | SimpleKind::Provenance
            | SimpleKind::CarriesUntrusted
            | SimpleKind::CarriesPrivate
            | SimpleKind::Effect
            | SimpleKind::ReadUntrusted
            | SimpleKind::ReadPrivate
            | SimpleKind::UserNamedEffect
            | SimpleKind::Network => Tri::Unknown,
        };
        Ok(Some(verdict))
    }

    /// Marks a test of a check digit for each form that is such a number, or holds one.
    fn checked_test(&mut self, test: &SimpleTest, check: Check) {
        let mut bits = 0;
        for form in (0..3).filter(|form| self.has_form(*form)) {
            let text = self.form(form);
            if self.forms.kind == Kind::String && check.is(text) {
                bits |= 1 << form;
            } else if self.forms.kind != Kind::Null && check.is_in(text) {
                bits |= RESTRICTIVE_ONLY;
            }
        }
        if bits != 0 {
            self.mark(test.test.get(), bits);
        }
    }

    /// The text of a form that the leaf has.
    fn form(&self, form: u8) -> &str {
        match form {
            0 if self.forms.plain_is_raw => &self.scratch.raw,
            0 => &self.scratch.plain,
            1 => &self.scratch.canonical,
            _ => &self.scratch.skeleton,
        }
    }

    /// Marks a `within` test for each form that lies inside.
    fn within_test(&mut self, test: &SimpleTest) -> Result<(), Corrupt> {
        if self.forms.kind == Kind::Null {
            return Ok(());
        }
        let start = test.operand.get() as usize;
        let count = self.tables.lists.get(start).ok_or(Corrupt)?.get() as usize;
        let mut bits = 0;
        if self.scratch.name.contains('\\') {
            let EvalScratch { name, number, .. } = &mut *self.scratch;
            number.clear();
            Text::new(name, true).decode_into(number);
            std::mem::swap(name, number);
        }
        let string = self.forms.kind == Kind::String;
        for form in 0..3 {
            if !self.has_form(form) {
                continue;
            }
            for pair in 0..count {
                let prefix = self.tables.listed_text(start + 1 + 2 * pair)?;
                let (surely, perhaps) = self.lies_within(form, prefix);
                if surely && string {
                    bits |= 1 << form;
                } else if surely || perhaps {
                    bits |= RESTRICTIVE_ONLY;
                }
            }
        }
        if bits != 0 {
            self.mark(test.test.get(), bits);
        }
        Ok(())
    }

    /// Whether a form of the leaf lies within a folder: surely, and perhaps.
    fn lies_within(&mut self, form: u8, prefix: &str) -> (bool, bool) {
        let (forms, places) = (self.forms, self.places);
        let EvalScratch {
            name,
            raw,
            plain,
            canonical,
            skeleton,
            rooms,
            looks,
            ..
        } = &mut *self.scratch;
        let text: &str = match form {
            0 if forms.plain_is_raw => raw,
            0 => plain,
            1 => canonical,
            _ => skeleton,
        };
        // A permissive rule takes the text as it stands, spaces included.
        let stands: &str = if form == 0 { raw } else { text };
        let (surely, perhaps) = if places.base.is_empty() {
            // A server with a folder of its own may take it for a path there.
            let relative = || {
                forms.kind == Kind::String
                    && prefix.starts_with('/')
                    && (path::may_be_relative(stands, name) || path::may_be_relative(text, name))
            };
            let surely = path::within(stands, prefix);
            let perhaps = surely
                || relative()
                || path::may_be_within(stands, prefix)
                || path::may_be_within(text, prefix);
            (surely, perhaps)
        } else {
            let base = places.base;
            let surely = path::within_based(stands, prefix, base, rooms);
            let perhaps = path::may_be_within_based(stands, prefix, base, rooms)
                || path::may_be_within_based(text, prefix, base, rooms);
            (surely, perhaps)
        };
        if !places.resolve_symlinks || forms.kind != Kind::String {
            return (surely, perhaps);
        }
        let start = places.start();
        let leads = surely && path::within_resolved(stands, &[prefix], Some(start), looks);
        let may = perhaps || surely || path::may_be_within_resolved(stands, prefix, start, looks);
        (leads, may)
    }
}
