//! The sink gate: for an exfiltrating tool, who vouches for each destination.
//!
//! Judges the leaves that the walk listed, in the order of section "destinations" of
//! the documentation: declared sinks in their order, then undeclared arguments that
//! look like destinations. Knows nothing of rules.

mod paths;

pub(super) use paths::SinkPaths;

use super::approvals::Approvals;
use super::culprit::Culprit;
use super::eval::fold_ascii;
use super::leaf::{Leaf, LeafKind, NO_SINK, raw_text};
use super::remembered::Remembered;
use crate::provenance::{self, Provenance};
use bouncer_plan::Verdict;
use bouncer_plan::format::{LiteralKind, LiteralSet};
use bouncer_plan::{Corrupt, Tables, literals};
use bouncer_reader::address::{self, ArgumentRole};
use bouncer_reader::json::Text;
use bouncer_reader::text;
use std::ops::ControlFlow;

/// How many destinations inside one longer text are looked up.
const MAX_SEARCHED: u32 = 10_000;

/// Working memory of the sink gate.
#[derive(Debug)]
pub(super) struct SinkScratch {
    /// A leaf without its escapes.
    decoded: String,
    /// A destination as the policy's lists are searched for it.
    folded: String,
    /// The name of the parameter that a leaf stands in.
    param: String,
    /// What an approval is looked up by.
    approval: String,
    /// A text that is searched, in canonical form.
    searched: String,
    /// What arguments of a name are.
    roles: Remembered<ArgumentRole>,
}

impl Default for SinkScratch {
    fn default() -> Self {
        Self {
            decoded: String::with_capacity(4096),
            folded: String::with_capacity(256),
            param: String::with_capacity(256),
            approval: String::with_capacity(256),
            searched: String::with_capacity(1024),
            roles: Remembered::default(),
        }
    }
}

/// What the sink gate says. The destination stands in the culprit.
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
    /// Judges the leaves listed by the walk. Writes the destination in question, and the
    /// parameter it stands in, into `culprit`.
    pub fn judge(
        &self,
        leaves: &[Leaf],
        scratch: &mut SinkScratch,
        lookups: &mut provenance::Scratch,
        culprit: &mut Culprit,
    ) -> Result<SinkVerdict, Corrupt> {
        let SinkScratch {
            decoded,
            folded,
            param,
            approval,
            searched,
            roles,
        } = scratch;
        let mut pass = Pass {
            gate: self,
            pending: None,
            any: false,
            folded,
            param,
            approval,
            searched,
            roles,
            lookups,
            culprit,
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
                    if let Some(verdict) = pass.leaf(leaf, Some(sink), false, decoded)? {
                        return Ok(verdict);
                    }
                }
            }
        }
        for leaf in leaves {
            if declared && leaf.sink != NO_SINK {
                continue;
            }
            if let Some(verdict) = pass.leaf(leaf, None, declared, decoded)? {
                return Ok(verdict);
            }
        }
        Ok(match pass.pending {
            Some(pending) => pending,
            None if pass.any || self.optional => SinkVerdict::Trusted,
            None => SinkVerdict::NoDestination,
        })
    }

    /// Writes the name under which a human would know the parameter: the sink's path,
    /// or the top-level argument.
    fn write_param(&self, leaf: &Leaf, sink: Option<u32>, out: &mut String) -> Result<(), Corrupt> {
        match sink {
            Some(sink) => self.sinks.write_name(self.tables, sink, out)?,
            None => {
                let raw = raw_text(self.arguments, leaf.top.0, leaf.top.1).ok_or(Corrupt)?;
                out.clear();
                Text::new(raw, raw.contains('\\')).decode_into(out);
            }
        }
        if let Some(tool) = self.within {
            within(tool, out);
        }
        Ok(())
    }
}

/// One judgement: what it has found so far, and what it writes to.
struct Pass<'s, 'g, 'p> {
    gate: &'s SinkGate<'g, 'p>,
    /// The first destination to ask about.
    pending: Option<SinkVerdict>,
    /// There was a destination.
    any: bool,
    folded: &'s mut String,
    param: &'s mut String,
    approval: &'s mut String,
    searched: &'s mut String,
    roles: &'s mut Remembered<ArgumentRole>,
    lookups: &'s mut provenance::Scratch,
    culprit: &'s mut Culprit,
}

impl Pass<'_, '_, '_> {
    /// Judges one leaf. `shaped_only`: it only counts if its whole value looks like a
    /// destination. `Some` ends the judgement.
    fn leaf(
        &mut self,
        leaf: &Leaf,
        sink: Option<u32>,
        shaped_only: bool,
        decoded: &mut String,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        let raw = match leaf.kind {
            LeafKind::True => "true",
            LeafKind::False => "false",
            LeafKind::Null => "null",
            _ => raw_text(self.gate.arguments, leaf.start, leaf.end).ok_or(Corrupt)?,
        };
        let (escaped, shapeless) = match leaf.kind {
            LeafKind::String { escaped, shapeless } => (escaped, shapeless),
            LeafKind::Key { escaped } => (escaped, false),
            _ => (false, false),
        };
        let text: &str = if escaped {
            decoded.clear();
            Text::new(raw, true).decode_into(decoded);
            decoded
        } else {
            raw
        };
        if shaped_only && (shapeless || !address::is_destination_shaped(text)) {
            return self.inside(text, leaf);
        }
        self.any = true;
        self.value(text, leaf, sink)
    }

    /// Searches a value that is no destination as a whole, and that no declared sink holds,
    /// for destinations that were read and that nobody vouches for: where it names
    /// recipients by its argument's name or by its form.
    fn inside(&mut self, text: &str, leaf: &Leaf) -> Result<Option<SinkVerdict>, Corrupt> {
        let gate = self.gate;
        // Only what was read counts.
        if !gate.provenance.any_read() {
            return Ok(None);
        }
        let name = raw_text(gate.arguments, leaf.name.0, leaf.name.1).ok_or(Corrupt)?;
        let name = match name.contains('\\') {
            true => {
                self.param.clear();
                Text::new(name, true).decode_into(self.param);
                self.param.as_str()
            }
            false => name,
        };
        let role = self.roles.of(name, address::argument_role);
        if !matches!(leaf.kind, LeafKind::String { .. } | LeafKind::Key { .. })
            || !address::may_name_recipients(role, text)
        {
            return Ok(None);
        }
        let mut searched = std::mem::take(self.searched);
        text::fold(text, &mut searched);
        let (mut left, mut result) = (MAX_SEARCHED, Ok(None));
        address::tokens(&searched, &mut |token| {
            if left == 0 || !matches!(result, Ok(None)) {
                return;
            }
            left -= 1;
            result = self.found(token.text, leaf);
        });
        *self.searched = searched;
        if left == 0 && matches!(result, Ok(None)) {
            // Too many to look at each: it is judged as one.
            return self.destination(text, leaf, None);
        }
        result
    }

    /// Judges a destination that stands inside a longer text: only one that was read counts.
    fn found(&mut self, token: &str, leaf: &Leaf) -> Result<Option<SinkVerdict>, Corrupt> {
        let evidence = self.gate.provenance.evidence(token, self.lookups);
        let read = evidence.untrusted.or(evidence.observed).is_some();
        if evidence.trusted.is_some() || !read {
            return Ok(None);
        }
        self.any = true;
        self.destination(token, leaf, None)
    }

    /// Judges each destination that a value holds.
    fn value(
        &mut self,
        value: &str,
        leaf: &Leaf,
        sink: Option<u32>,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        let mut result = Ok(None);
        let _ = address::destinations(value, &mut |destination| match self.destination(
            destination,
            leaf,
            sink,
        ) {
            Ok(None) => ControlFlow::Continue(()),
            ended => {
                result = ended;
                ControlFlow::Break(())
            }
        });
        result
    }

    /// Judges one destination, and notes it if it is the first that a human would be
    /// asked about, or one that ends the judgement.
    fn destination(
        &mut self,
        destination: &str,
        leaf: &Leaf,
        sink: Option<u32>,
    ) -> Result<Option<SinkVerdict>, Corrupt> {
        let gate = self.gate;
        if let Some(trusted) = gate.trusted
            && is_trusted(gate.tables, trusted, destination, self.folded)?
        {
            return Ok(None);
        }
        // The parameter's name is needed for approvals and for the prompt.
        gate.write_param(leaf, sink, self.param)?;
        let (verdict, ends) = match self.trust(destination) {
            Trust::Trusted => return Ok(None),
            Trust::Tainted => (
                SinkVerdict::Tainted(gate.on_tainted),
                gate.on_tainted == Verdict::Deny,
            ),
            Trust::Observed => (SinkVerdict::Observed, false),
            Trust::Unproven => (SinkVerdict::Unproven, false),
        };
        if ends || self.pending.is_none() {
            self.culprit.set(self.param, destination);
            self.pending = Some(verdict);
        }
        Ok(ends.then_some(verdict))
    }

    /// Who vouches for a destination that the policy does not trust, or who named it.
    fn trust(&mut self, destination: &str) -> Trust {
        let gate = self.gate;
        let approved = gate.approvals.holds(
            gate.server,
            gate.tool,
            self.param,
            destination,
            self.approval,
        );
        if approved {
            return Trust::Trusted;
        }
        if gate.provenance.is_typed(destination, self.lookups) {
            return Trust::Trusted;
        }
        let evidence = gate.provenance.evidence(destination, self.lookups);
        if evidence.trusted.is_some() {
            Trust::Trusted
        } else if evidence.untrusted.is_some() {
            let (server, tool) = (gate.server, gate.tool);
            let once =
                gate.approvals
                    .held_once(server, tool, self.param, destination, self.approval);
            if once {
                Trust::Observed
            } else {
                Trust::Tainted
            }
        } else if evidence.observed.is_some() {
            Trust::Observed
        } else {
            Trust::Unproven
        }
    }
}

/// Writes how a parameter of a call within a call is named: apart from those of the call
/// around it and of others within it.
fn within(tool: &str, param: &mut String) {
    let name = std::mem::take(param);
    // Debug's escapes keep the parts apart; writing to a string cannot fail.
    let _ = std::fmt::Write::write_fmt(param, format_args!("call of {tool:?}: {name}"));
}

/// Whether the policy trusts a destination: the same bytes but for ASCII case, its host where
/// it is a URL or a host with a port, or a pattern over the whole address or host.
pub(super) fn is_trusted(
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
    fold_ascii(destination, buffer);
    if literals::find(tables, set, LiteralKind::Folded, buffer.as_bytes())?.is_some() {
        return Ok(true);
    }
    let kinds = set.kinds.get();
    if let Some(domain) = domain {
        if kinds & LiteralKind::AtDomain.bit() == 0 {
            return Ok(false);
        }
        fold_ascii(domain, buffer);
        let found = literals::find(tables, set, LiteralKind::AtDomain, buffer.as_bytes())?;
        return Ok(found.is_some());
    }
    let known = |key: &str| literals::find(tables, set, LiteralKind::Folded, key.as_bytes());
    if kinds & LiteralKind::Folded.bit() != 0
        && let Ok(port) = address::origin(destination, buffer)
        && address::names_host(buffer)
    {
        if known(buffer)?.is_some() {
            return Ok(true);
        }
        if let Some(port) = port {
            // Writing to a string cannot fail.
            let _ = std::fmt::Write::write_fmt(buffer, format_args!(":{port}"));
            if known(buffer)?.is_some() {
                return Ok(true);
            }
        }
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
