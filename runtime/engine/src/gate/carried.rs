//! What a rule's `carries_untrusted()` found, for the rule's reason. Looks at a
//! decision that is made; decides nothing.

use super::culprit::Culprit;
use super::eval::EvalScratch;
use crate::provenance::{self, Origin, Provenance};
use bouncer_plan::Label;
use bouncer_plan::format::{NONE, QUANT_BIT, SimpleKind};
use bouncer_plan::{Corrupt, Tables, at, slice};

/// Writes the destination that was found, and the argument it stands in, into the
/// culprit, if the rule asks for such a thing.
pub(super) fn quote(
    tables: &Tables<'_>,
    eval: &EvalScratch,
    rule: u32,
    culprit: &mut Culprit,
) -> Result<(), Corrupt> {
    if eval.carried_in == NONE || !asks(tables, rule)? {
        return Ok(());
    }
    let path = at(tables.paths, eval.carried_in)?;
    culprit.set(tables.text(path)?, &eval.carried);
    Ok(())
}

/// Where the destination was seen; `None` for an empty one.
pub(super) fn origin<'c>(
    provenance: &'c Provenance,
    carried: &str,
    scratch: &mut provenance::Scratch,
) -> Option<(Label, Origin<'c>)> {
    if carried.is_empty() {
        return None;
    }
    let evidence = provenance.evidence(carried, scratch);
    let untrusted = evidence.untrusted.map(|origin| (Label::Untrusted, origin));
    untrusted.or_else(|| evidence.observed.map(|origin| (Label::Observed, origin)))
}

/// Whether a row of the rule needs a `carries_untrusted()` test.
fn asks(tables: &Tables<'_>, rule: u32) -> Result<bool, Corrupt> {
    let tests = tables.simple_tests.iter();
    for test in tests.filter(|test| test.kind == SimpleKind::CarriesUntrusted) {
        let test = at(tables.tests, test.test.get())?;
        for mode in [test.plain, test.any, test.all, test.maybe] {
            let atom = match mode.get() {
                NONE => continue,
                quant if quant & QUANT_BIT != 0 => {
                    at(tables.quants, quant & !QUANT_BIT)?.atom.get()
                }
                atom => atom,
            };
            for row in slice(tables.lists, &at(tables.atoms, atom)?.requires)? {
                if at(tables.rows, row.get())?.rule.get() == rule {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}
