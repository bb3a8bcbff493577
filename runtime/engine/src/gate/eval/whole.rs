//! What is asked once per call, after all leaves: counts, `calls(this)`, quantifiers.

use super::answers::compare_count;
use super::{Evaluator, Tri};
use crate::gate::raised::Signature;
use bouncer_plan::format::{NONE, QuantKind, SimpleKind, SimpleTest, ViewKind};
use bouncer_plan::{Corrupt, Effects, at, slice};

/// What is asked of the whole call.
pub(in crate::gate) struct CallFacts<'f> {
    /// Attempts within a window of milliseconds.
    pub calls: &'f dyn Fn(u64) -> u64,
    /// What the call does; `None`: nothing could be told.
    pub effects: Option<Effects>,
    /// Something untrusted or observed was read before.
    pub read_untrusted: bool,
    /// Something private was read before.
    pub read_private: bool,
    /// The user's words name what the call does; `None`: nobody can tell.
    pub named: Option<bool>,
}

impl CallFacts<'_> {
    /// The answer to a test of the session. What a call can do beside what was asked for is
    /// no certainty: such a test holds in restrictive rules, and in no permissive one.
    fn answer(&self, test: &SimpleTest) -> Tri {
        match test.kind {
            SimpleKind::Effect => {
                let asked = u16::try_from(test.operand.get()).ok();
                let asked = asked.and_then(Effects::from_bits);
                let (Some(effects), Some(asked)) = (self.effects, asked) else {
                    return Tri::Unknown;
                };
                if !effects.intersects(asked) {
                    Tri::False
                } else if effects.without(asked).is_empty() {
                    Tri::True
                } else {
                    Tri::Unknown
                }
            }
            SimpleKind::ReadUntrusted => Tri::from_bool(self.read_untrusted),
            SimpleKind::ReadPrivate => Tri::from_bool(self.read_private),
            SimpleKind::UserNamedEffect => self.named.map_or(Tri::Unknown, Tri::from_bool),
            SimpleKind::Less
            | SimpleKind::LessEqual
            | SimpleKind::Greater
            | SimpleKind::GreaterEqual
            | SimpleKind::NumberEqual
            | SimpleKind::Exists
            | SimpleKind::Type
            | SimpleKind::Within
            | SimpleKind::Provenance
            | SimpleKind::CarriesUntrusted
            | SimpleKind::CarriesPrivate
            | SimpleKind::Integer
            | SimpleKind::Luhn
            | SimpleKind::Iban
            | SimpleKind::Network => Tri::Unknown,
        }
    }
}

impl Evaluator<'_, '_> {
    /// Raises what is asked once per call: counts, `calls(this)`, the session, quantifiers.
    pub fn finish_call(&mut self, facts: &CallFacts<'_>) -> Result<(), Corrupt> {
        let start = self.scratch.raised.events.len();
        for aim in self.aims.iter().filter(|aim| aim.once) {
            let dimension = at(self.tables.dimensions, aim.dimension)?;
            for test in slice(self.tables.simple_tests, &dimension.simple)? {
                let bound = self.tables.text(&test.text)?;
                let verdict = match dimension.view {
                    ViewKind::Session => facts.answer(test),
                    ViewKind::Calls => {
                        compare_count(test.kind, (facts.calls)(test.window_ms.get()), bound)
                    }
                    _ => {
                        let leaves = self.scratch.counts.get(aim.path as usize);
                        let leaves = u64::from(leaves.copied().unwrap_or(0));
                        compare_count(test.kind, leaves, bound)
                    }
                };
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
