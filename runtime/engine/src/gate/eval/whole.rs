//! What is asked once per call, after all leaves: counts, `calls(this)`, quantifiers.

use super::Evaluator;
use super::answers::compare_count;
use crate::gate::raised::Signature;
use bouncer_plan::format::{NONE, QuantKind, ViewKind};
use bouncer_plan::{Corrupt, at, slice};

impl Evaluator<'_, '_> {
    /// Raises what is asked once per call: counts, `calls(this)` and quantifiers.
    /// `calls` gives the attempts within a window of milliseconds.
    pub fn finish_call(&mut self, calls: &dyn Fn(u64) -> u64) -> Result<(), Corrupt> {
        let start = self.scratch.raised.events.len();
        for aim in self.aims.iter().filter(|aim| aim.once) {
            let dimension = at(self.tables.dimensions, aim.dimension)?;
            for test in slice(self.tables.simple_tests, &dimension.simple)? {
                let value = if dimension.view == ViewKind::Calls {
                    calls(test.window_ms.get())
                } else {
                    let leaves = self.scratch.counts.get(aim.path as usize);
                    u64::from(leaves.copied().unwrap_or(0))
                };
                let verdict = compare_count(test.kind, value, self.tables.text(&test.text)?);
                self.raise(at(self.tables.tests, test.test.get())?, verdict, false);
            }
        }
        for &group in self.groups {
            let group = at(self.tables.groups, group)?;
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
                let enough = match quant.kind {
                    QuantKind::Any => true,
                    QuantKind::All => raised == leaves,
                };
                if raised > 0 && enough {
                    self.push(quant.atom.get());
                }
            }
        }
        // The whole call is one more "path" with one signature.
        let end = self.scratch.raised.events.len();
        if end > start {
            self.scratch.raised.signatures.push(Signature {
                path: NONE,
                start: start as u32,
                end: end as u32,
            });
        }
        Ok(())
    }
}
