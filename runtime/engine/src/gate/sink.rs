//! The sink gate: for an exfiltrating tool, who vouches for each destination.
//!
//! Judges the leaves that the walk listed, in the order of section "destinations" of
//! the documentation: declared sinks in their order, then undeclared arguments that
//! look like destinations. Knows nothing of rules.

use super::approvals::Approvals;
use super::dispatch;
use super::scratch::Scratch;
use super::walk::{Frame, Step};
use crate::provenance::{self, Provenance};
use bouncer_plan::Verdict;
use bouncer_plan::format::{LiteralKind, LiteralSet, NONE, Sink};
use bouncer_plan::{Corrupt, Tables, literals, slice};
use bouncer_reader::address;
use bouncer_reader::json::{Text, folds_to};
use std::ops::ControlFlow;

/// More segments than a path has that can match: arguments are read to this depth only.
const MAX_SEGMENTS: usize = 127;

/// "In no declared sink".
pub(super) const NO_SINK: u32 = u32::MAX;

/// A scalar or a key of the arguments. Offsets are into the raw arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub kind: LeafKind,
    pub start: u32,
    pub end: u32,
    /// The declared sink it lies in, or [`NO_SINK`].
    pub sink: u32,
    /// Raw text of the top-level argument's name.
    pub top: (u32, u32),
}

/// What a [`Leaf`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafKind {
    String {
        escaped: bool,
        /// It was seen on the walk not to look like a destination.
        shapeless: bool,
    },
    /// A key of an object below the top level.
    Key {
        escaped: bool,
    },
    /// A number: its text stands in the arguments.
    Other,
    True,
    False,
    Null,
}

/// The sinks that a tool declares, or that the heuristics derived for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum SinkPaths<'a> {
    Declared(&'a [Sink]),
    Derived(&'a [Vec<String>]),
}

impl SinkPaths<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Declared(sinks) => sinks.len(),
            Self::Derived(sinks) => sinks.len(),
        }
    }

    /// The first sink whose path ends exactly at `last` below `frames`.
    pub fn matching(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        frames: &[Frame],
        last: Step,
    ) -> Result<u32, Corrupt> {
        let frames = frames.get(1..).unwrap_or_default();
        // Most keys are a word at the top level, and most sinks are called otherwise: their
        // first letters tell.
        let initial = match frames.first().map_or(last, |frame| frame.step) {
            Step::Key(start, _, false) => arguments.as_bytes().get(start as usize),
            _ => None,
        };
        for sink in 0..self.len() {
            if let Some(initial) = initial
                && self.starts_otherwise(tables, sink, *initial)?
            {
                continue;
            }
            if self.matches(tables, arguments, sink, frames, last)? {
                return Ok(sink as u32);
            }
        }
        Ok(NO_SINK)
    }

    /// Whether a sink's first segment is a name that no reader takes for a key which begins
    /// with `initial`. `false` says nothing.
    fn starts_otherwise(
        &self,
        tables: &Tables<'_>,
        sink: usize,
        initial: u8,
    ) -> Result<bool, Corrupt> {
        let Some((name, _)) = self.segment(tables, sink, 0)? else {
            return Ok(false);
        };
        let Some(&first) = name.as_bytes().first() else {
            return Ok(false);
        };
        Ok(first.is_ascii() && initial.is_ascii() && !first.eq_ignore_ascii_case(&initial))
    }

    /// Whether a sink's segments match the steps exactly; steps of arrays may be passed over.
    /// Takes the steps once, whatever the segments: a bit for each number of segments that
    /// may have been matched so far.
    fn matches(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        sink: usize,
        frames: &[Frame],
        last: Step,
    ) -> Result<bool, Corrupt> {
        let segments = self.segments(tables, sink)?;
        if segments > MAX_SEGMENTS {
            return Ok(false);
        }
        let mut matched: u128 = 1;
        for step in frames.iter().map(|frame| frame.step).chain([last]) {
            let mut next = match step {
                Step::Root | Step::Key(..) => 0,
                Step::Index(_) => matched,
            };
            let mut left = matched;
            while left != 0 {
                let segment = left.trailing_zeros() as usize;
                left &= left - 1;
                if self.takes(tables, arguments, sink, segment, step)? {
                    next |= 2 << segment;
                }
            }
            matched = next;
            if matched == 0 {
                return Ok(false);
            }
        }
        Ok(matched >> segments & 1 != 0)
    }

    /// Whether a sink's segment is this step.
    fn takes(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        sink: usize,
        segment: usize,
        step: Step,
    ) -> Result<bool, Corrupt> {
        let Some((name, index)) = self.segment(tables, sink, segment)? else {
            return Ok(false);
        };
        Ok(match step {
            Step::Root => false,
            Step::Key(start, end, escaped) => {
                if name.is_empty() && index != NONE {
                    return Ok(false);
                }
                let key = raw_text(arguments, start, end).ok_or(Corrupt)?;
                // Some servers' JSON libraries ignore the case of keys.
                if !escaped && key.is_ascii() && name.is_ascii() {
                    key.eq_ignore_ascii_case(name)
                } else {
                    folds_to(Text::new(key, escaped), name)
                }
            }
            Step::Index(wanted) => index == wanted && index != NONE,
        })
    }

    fn segments(&self, tables: &Tables<'_>, sink: usize) -> Result<usize, Corrupt> {
        match self {
            Self::Declared(sinks) => {
                Ok(slice(tables.lists, &sinks.get(sink).ok_or(Corrupt)?.steps)?.len() / 3)
            }
            Self::Derived(sinks) => Ok(sinks.get(sink).ok_or(Corrupt)?.len()),
        }
    }

    /// The name and array index of one segment; `None` past the end.
    fn segment<'s>(
        &'s self,
        tables: &Tables<'s>,
        sink: usize,
        segment: usize,
    ) -> Result<Option<(&'s str, u32)>, Corrupt> {
        match self {
            Self::Declared(sinks) => {
                let steps = &sinks.get(sink).ok_or(Corrupt)?.steps;
                if segment >= steps.length.get() as usize / 3 {
                    return Ok(None);
                }
                let first = steps.start.get() as usize + 3 * segment;
                let index = tables.lists.get(first + 2).ok_or(Corrupt)?.get();
                Ok(Some((tables.listed_text(first)?, index)))
            }
            Self::Derived(sinks) => Ok(sinks
                .get(sink)
                .ok_or(Corrupt)?
                .get(segment)
                .map(|name| (name.as_str(), NONE))),
        }
    }

    /// Writes the sink's path as text.
    fn write_name(&self, tables: &Tables<'_>, sink: u32, out: &mut String) -> Result<(), Corrupt> {
        out.clear();
        match self {
            Self::Declared(sinks) => {
                out.push_str(tables.text(&sinks.get(sink as usize).ok_or(Corrupt)?.name)?)
            }
            Self::Derived(sinks) => {
                for (index, name) in sinks.get(sink as usize).ok_or(Corrupt)?.iter().enumerate() {
                    if index > 0 {
                        out.push('.');
                    }
                    out.push_str(name);
                }
            }
        }
        Ok(())
    }
}

fn raw_text(arguments: &str, start: u32, end: u32) -> Option<&str> {
    arguments.get(start as usize..end as usize)
}

/// What the sink gate says. The destination stands in the scratch's culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SinkVerdict {
    /// Every destination is trusted.
    Trusted,
    /// The call names no destination.
    NoDestination,
    /// Found in untrusted output; the verdict is the contract's `on_tainted`.
    Tainted(Verdict),
    /// Found in observed output only.
    Observed,
    /// Found nowhere.
    Unproven,
}

/// Everything that one judgement looks at.
pub(super) struct SinkGate<'g, 'p> {
    pub tables: &'g Tables<'p>,
    pub arguments: &'g str,
    pub sinks: SinkPaths<'g>,
    /// Trusted destinations; `None` for a derived contract.
    pub trusted: Option<&'p LiteralSet>,
    pub on_tainted: Verdict,
    /// Declared sinks without a leaf mean that nothing is sent.
    pub optional: bool,
    pub approvals: &'g Approvals,
    /// The tool that is called through `tool`, if one is.
    pub within: Option<&'g str>,
    pub server: Option<&'g str>,
    pub tool: &'g str,
    pub provenance: &'g Provenance,
}

/// The evidence for one destination, weakest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Trusted,
    Unproven,
    Observed,
    Tainted,
}

impl SinkGate<'_, '_> {
    /// Judges the leaves listed by the walk.
    pub fn judge(&self, scratch: &mut Scratch) -> Result<SinkVerdict, Corrupt> {
        let leaves = std::mem::take(&mut scratch.walk.leaves);
        let result = self.judge_leaves(&leaves, scratch);
        scratch.walk.leaves = leaves;
        result
    }

    fn judge_leaves(&self, leaves: &[Leaf], scratch: &mut Scratch) -> Result<SinkVerdict, Corrupt> {
        let mut pass = Pass {
            pending: None,
            any: false,
        };
        let is_scalar = |leaf: &&Leaf| !matches!(leaf.kind, LeafKind::Key { .. });
        let declared = self.optional
            || leaves
                .iter()
                .filter(is_scalar)
                .any(|leaf| leaf.sink != NO_SINK);
        if declared {
            for sink in 0..self.sinks.len() as u32 {
                for leaf in leaves.iter().filter(|leaf| leaf.sink == sink) {
                    if let Some(verdict) = self.leaf(leaf, Some(sink), false, scratch, &mut pass)? {
                        return Ok(verdict);
                    }
                }
            }
        }
        for leaf in leaves {
            if declared && leaf.sink != NO_SINK {
                continue;
            }
            if let Some(verdict) = self.leaf(leaf, None, declared, scratch, &mut pass)? {
                return Ok(verdict);
            }
        }
        Ok(match pass.pending {
            Some(pending) => pending,
            None if pass.any || self.optional => SinkVerdict::Trusted,
            None => SinkVerdict::NoDestination,
        })
    }

    /// Judges one leaf. `shaped_only`: it only counts if its whole value looks like a
    /// destination. `Some` ends the judgement.
    fn leaf(
        &self,
        leaf: &Leaf,
        sink: Option<u32>,
        shaped_only: bool,
        scratch: &mut Scratch,
        pass: &mut Pass,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        let text = match leaf.kind {
            LeafKind::True => "true",
            LeafKind::False => "false",
            LeafKind::Null => "null",
            _ => raw_text(self.arguments, leaf.start, leaf.end).ok_or(Corrupt)?,
        };
        let escaped = matches!(
            leaf.kind,
            LeafKind::String { escaped: true, .. } | LeafKind::Key { escaped: true }
        );
        let shapeless = matches!(leaf.kind, LeafKind::String { shapeless, .. } if shapeless);
        if shaped_only && shapeless {
            return Ok(None);
        }
        if !escaped {
            return self.text(text, leaf, sink, shaped_only, scratch, pass);
        }
        let mut value = std::mem::take(&mut scratch.eval.raw);
        value.clear();
        Text::new(text, true).decode_into(&mut value);
        let result = self.text(&value, leaf, sink, shaped_only, scratch, pass);
        scratch.eval.raw = value;
        result
    }

    /// Judges a leaf's decoded text.
    fn text(
        &self,
        text: &str,
        leaf: &Leaf,
        sink: Option<u32>,
        shaped_only: bool,
        scratch: &mut Scratch,
        pass: &mut Pass,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        if shaped_only && !address::is_destination_shaped(text) {
            return Ok(None);
        }
        pass.any = true;
        self.value(text, leaf, sink, scratch, pass)
    }

    /// Judges each destination that a value holds.
    fn value(
        &self,
        value: &str,
        leaf: &Leaf,
        sink: Option<u32>,
        scratch: &mut Scratch,
        pass: &mut Pass,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        let mut result = Ok(None);
        let _ = address::destinations(value, &mut |destination| match self.destination(
            destination,
            leaf,
            sink,
            scratch,
            pass,
        ) {
            Ok(None) => ControlFlow::Continue(()),
            ended => {
                result = ended;
                ControlFlow::Break(())
            }
        });
        result
    }

    fn destination(
        &self,
        destination: &str,
        leaf: &Leaf,
        sink: Option<u32>,
        scratch: &mut Scratch,
        pass: &mut Pass,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        if let Some(trusted) = self.trusted
            && is_trusted(self.tables, trusted, destination, &mut scratch.eval.number)?
        {
            return Ok(None);
        }
        // The parameter's name is needed for approvals and for the question.
        let mut param = std::mem::take(&mut scratch.walk.key);
        let named = self.write_param(leaf, sink, &mut param);
        if let Some(tool) = self.within {
            dispatch::within(tool, &mut param);
        }
        let trust = named.and_then(|()| self.trust(destination, &param, scratch));
        let result = trust.map(|trust| {
            let (verdict, ends) = match trust {
                Trust::Trusted => return None,
                Trust::Tainted => (
                    SinkVerdict::Tainted(self.on_tainted),
                    self.on_tainted == Verdict::Deny,
                ),
                Trust::Observed => (SinkVerdict::Observed, false),
                Trust::Unproven => (SinkVerdict::Unproven, false),
            };
            if ends || pass.pending.is_none() {
                scratch.culprit.param.clear();
                scratch.culprit.param.push_str(&param);
                scratch.culprit.value.clear();
                scratch.culprit.value.push_str(destination);
                pass.pending = Some(verdict);
            }
            ends.then_some(verdict)
        });
        scratch.walk.key = param;
        result
    }

    /// Writes the name under which a human would know the parameter: the sink's path,
    /// or the top-level argument.
    fn write_param(&self, leaf: &Leaf, sink: Option<u32>, out: &mut String) -> Result<(), Corrupt> {
        match sink {
            Some(sink) => self.sinks.write_name(self.tables, sink, out),
            None => {
                let raw = raw_text(self.arguments, leaf.top.0, leaf.top.1).ok_or(Corrupt)?;
                out.clear();
                Text::new(raw, raw.contains('\\')).decode_into(out);
                Ok(())
            }
        }
    }

    /// Who vouches for a destination that the policy does not trust, or who named it.
    fn trust(
        &self,
        destination: &str,
        param: &str,
        scratch: &mut Scratch,
    ) -> Result<Trust, Corrupt> {
        if self
            .approvals
            .holds(self.server, self.tool, param, destination, &mut scratch.key)
        {
            return Ok(Trust::Trusted);
        }
        let evidence = self
            .provenance
            .evidence(destination, &mut scratch.provenance);
        Ok(if evidence.trusted.is_some() {
            Trust::Trusted
        } else if evidence.untrusted.is_some() {
            Trust::Tainted
        } else if evidence.observed.is_some() {
            Trust::Observed
        } else {
            Trust::Unproven
        })
    }
}

/// What a judgement has found so far.
struct Pass {
    /// The first destination to ask about.
    pending: Option<SinkVerdict>,
    /// There was a destination.
    any: bool,
}

/// Whether the policy trusts a destination: the same bytes but for ASCII case, or a
/// pattern over the whole address or host.
fn is_trusted(
    tables: &Tables<'_>,
    set: &LiteralSet,
    destination: &str,
    buffer: &mut String,
) -> Result<bool, Corrupt> {
    // An address of the simplest kind has no control characters, and no host of its own.
    let domain = address::pattern_domain(destination);
    if domain.is_none() && destination.contains(char::is_control) {
        return Ok(false);
    }
    super::eval::fold_ascii(destination, buffer);
    if literals::find(tables, set, LiteralKind::Folded, buffer.as_bytes())?.is_some() {
        return Ok(true);
    }
    let kinds = set.kinds.get();
    if let Some(domain) = domain {
        if kinds & LiteralKind::AtDomain.bit() == 0 {
            return Ok(false);
        }
        super::eval::fold_ascii(domain, buffer);
        let found = literals::find(tables, set, LiteralKind::AtDomain, buffer.as_bytes())?;
        return Ok(found.is_some());
    }
    if kinds & LiteralKind::Below.bit() != 0 && address::host(destination, buffer).is_ok() {
        for parent in literals::parents(buffer) {
            if literals::find(tables, set, LiteralKind::Below, parent.as_bytes())?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Where a destination was seen, for the reason of a decision.
pub(super) fn origin<'c>(
    provenance: &'c Provenance,
    destination: &str,
    scratch: &mut provenance::Scratch,
    tainted: bool,
) -> Option<provenance::Origin<'c>> {
    let evidence = provenance.evidence(destination, scratch);
    if tainted {
        evidence.untrusted
    } else {
        evidence.observed
    }
}
