//! The weakest layer of every policy: what holds for a call by what it does, by what was read
//! before it, and by who vouches for where it goes. A rule or a contract of the user's that
//! decides about the call comes before it.
//!
//! Before anything untrusted was read, only effects that cannot be taken back are asked about
//! (`defaults.onEffect`), unless somebody vouches for what they are done to. Afterwards
//! (`defaults.afterUntrusted`) a target has to be vouched for: by the user, who typed it, by a
//! trusted record, or as one of the account's own. An address out of what was read is denied,
//! anything else asked about, and so is content that carries what should not travel.
//!
//! Knows nothing of rules. Its questions are one a call: an approval of a single target
//! vouches for the target, and all others are about the call as a whole.

mod roles;

pub(super) use roles::{Role, Roles};

use super::approvals::Approvals;
use super::culprit::Culprit;
use super::leaf::{Leaf, LeafKind, NO_SINK, raw_text};
use super::session::{NAMEABLE, Session};
use super::sink::is_trusted;
use crate::provenance::{self, Provenance, is_address, is_date};
use crate::tools::Heuristics;
use bouncer_plan::format::{LiteralSet, Meta};
use bouncer_plan::{Corrupt, Effect, Effects, Tables, Verdict};
use bouncer_reader::address;
use bouncer_reader::json::Text;
use bouncer_reader::text;
use std::ops::ControlFlow;

/// Effects that take something to somebody, or cannot be taken back.
const OUTWARD: Effects = Effects::HARD.with(Effect::Send).with(Effect::Fetch);
/// Effects that keep to the user's own things.
const INWARD: Effects = Effects::one(Effect::Read).with(Effect::Write);
/// So many places inside one text are looked at before nobody can tell.
const MAX_CARRIED: u32 = 10_000;

/// What the layer objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    /// An address out of untrusted text.
    Tainted,
    /// A target that stands in untrusted text, and is asked about.
    Read,
    /// A target that was only observed.
    Observed,
    /// A target that nothing vouches for.
    Unproven,
    /// The effect cannot be taken back, and nothing vouches for what it is done to.
    Unvouched,
    /// The call says nothing of where it goes.
    NoTarget,
    /// The user's own words do not name the effect.
    NotAsked,
    /// The content carries an address out of what was read.
    Carries,
    /// The content carries a private value.
    Private,
    /// What is written stands in what was read.
    Copied,
}

impl Objection {
    /// The code of a verdict that rests on it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Tainted => "effect.tainted",
            Self::Read | Self::Observed => "effect.read_target",
            Self::Unproven => "effect.target",
            Self::Unvouched => "effect.unvouched",
            Self::NoTarget => "effect.no_target",
            Self::NotAsked => "effect.not_asked",
            Self::Carries => "effect.carries",
            Self::Private => "effect.private",
            Self::Copied => "effect.copied",
        }
    }
}

/// What the layer says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowVerdict {
    pub verdict: Verdict,
    pub effect: Effect,
    pub objection: Objection,
    /// It is about one target alone, which a human can vouch for.
    pub one_target: bool,
}

/// What was said about arguments and targets, kept between calls.
#[derive(Debug, Default)]
pub(super) struct FlowScratch {
    decoded: String,
    name: String,
    folded: String,
    approval: String,
    pub roles: Roles,
}

/// Everything that one judgement looks at.
pub(super) struct Flow<'f, 'p> {
    pub tables: &'f Tables<'p>,
    pub meta: &'p Meta,
    pub arguments: &'f str,
    /// What the call does; `None`: nothing could be told.
    pub effects: Option<Effects>,
    pub session: &'f Session,
    pub heuristics: Option<&'f Heuristics>,
    /// The account's own addresses.
    pub me: Option<&'p LiteralSet>,
    /// The contract's sink gate has looked at where it goes.
    pub gated: bool,
    /// It vouches for where it goes.
    pub vouched: bool,
    /// The contract is the user's, who has decided which arguments say where it goes.
    pub by_user: bool,
    pub approvals: &'f Approvals,
    pub provenance: &'f Provenance,
    pub server: Option<&'f str>,
    pub tool: &'f str,
}

/// Who vouches for a target, or who named it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Vouched,
    Unproven,
    Observed,
    Tainted,
}

impl<'p> Flow<'_, 'p> {
    /// Judges the leaves listed by the walk. Writes what it is about into `culprit`.
    pub fn judge(
        &self,
        leaves: &[Leaf],
        scratch: &mut FlowScratch,
        lookups: &mut provenance::Scratch,
        culprit: &mut Culprit,
    ) -> Result<Option<FlowVerdict>, Corrupt> {
        let tainted = self.session.read.untrusted.is_some();
        let effects = self.effects.unwrap_or(INWARD);
        let unknown = self.effects.is_none();
        let verdicts = match tainted {
            true => &self.meta.after_untrusted,
            false => &self.meta.on_effect,
        };
        // The effects that anything is said of, and the strictest thing.
        let mut asked = Effects::NONE;
        let mut strictest = Verdict::Allow;
        let mut first = None;
        for effect in effects.iter().filter(|effect| *effect != Effect::Read) {
            let verdict = verdicts.get(effect as usize).copied().ok_or(Corrupt)?;
            if verdict != Verdict::Allow {
                asked = asked.with(effect);
                if verdict > strictest {
                    strictest = verdict;
                    first = Some(effect);
                }
            }
        }
        let Some(effect) = first else {
            return Ok(None);
        };
        let outward = asked.intersects(OUTWARD);
        let mut pass = Pass {
            flow: self,
            scratch,
            lookups,
            culprit,
            outward: outward || unknown,
            hard: asked.intersects(Effects::HARD),
            fetch_only: effects.without(INWARD) == Effects::one(Effect::Fetch),
            tainted,
            named: false,
            targets: 0,
            found: None,
            objections: 0,
        };
        pass.targets(leaves)?;
        // Where no argument says where it goes, all that name something do.
        if pass.targets == 0 && pass.hard && !self.gated {
            pass.names(leaves)?;
        }
        let vouched = self.vouched || (pass.targets > 0 && pass.found.is_none());
        if tainted && pass.found != Some(Objection::Tainted) {
            match pass.outward {
                true => pass.content(leaves)?,
                false => pass.copies(leaves)?,
            }
        }
        let (targets, objections) = (pass.targets, pass.objections);
        let mut found = pass.found;
        let hard_or_sent = asked.intersects(Effects::HARD.with(Effect::Send));
        let nothing_named = targets == 0 && !self.gated && hard_or_sent;
        if nothing_named && found.is_none() {
            found = Some(match asked.intersects(Effects::HARD) {
                true => Objection::Unvouched,
                false => Objection::NoTarget,
            });
            culprit.clear();
        }
        let mut ask = strictest;
        let named = self.session.asked.names(Some(asked.intersection(NAMEABLE)));
        if tainted && named == Some(false) {
            // What a user who asked for it would have named.
            if found != Some(Objection::Tainted) {
                found = Some(Objection::NotAsked);
                ask = if vouched { ask } else { Verdict::Deny };
            }
        }
        let Some(objection) = found else {
            return Ok(None);
        };
        let verdict = match objection {
            Objection::Tainted => Verdict::Deny,
            _ => ask,
        };
        let one_target = objections == 1
            && matches!(
                objection,
                Objection::Read | Objection::Observed | Objection::Unproven | Objection::Tainted
            );
        let hard = asked.intersection(Effects::HARD).iter().next();
        Ok(Some(FlowVerdict {
            verdict,
            effect: hard.unwrap_or(effect),
            objection,
            one_target,
        }))
    }
}

/// One judgement: what it has found so far, and what it writes to.
struct Pass<'s, 'f, 'p> {
    flow: &'s Flow<'f, 'p>,
    scratch: &'s mut FlowScratch,
    lookups: &'s mut provenance::Scratch,
    culprit: &'s mut Culprit,
    /// The call takes something to somebody, or may.
    outward: bool,
    /// Its effect cannot be taken back.
    hard: bool,
    /// It does no more than ask an address.
    fetch_only: bool,
    /// Untrusted text was read before.
    tainted: bool,
    /// An argument says by its name where the call goes.
    named: bool,
    /// Targets that were looked at.
    targets: u32,
    found: Option<Objection>,
    /// How many things there are to object to.
    objections: u32,
}

impl Pass<'_, '_, '_> {
    /// Looks at arguments that say where something goes, and at those that are an address as
    /// a whole.
    fn targets(&mut self, leaves: &[Leaf]) -> Result<(), Corrupt> {
        // The sink gate looks at the contract's sinks, or at everything where a call has none.
        let in_sink = |leaf: &Leaf| leaf.sink != NO_SINK;
        let declared = leaves.iter().any(in_sink);
        for leaf in leaves {
            self.named |= self.is_named(leaf)?;
        }
        for leaf in leaves {
            if !self.read(leaf)? {
                continue;
            }
            let value = std::mem::take(&mut self.scratch.decoded);
            let by_name = self.is_named(leaf)?;
            let address = (self.outward || by_name) && address::is_destination_shaped(&value);
            // It also looks at whatever else is an address as a whole.
            let gated =
                self.flow.gated && (in_sink(leaf) || !declared || self.flow.by_user || address);
            let judged = if value.is_empty() || gated {
                Ok(())
            } else if address || (by_name && !is_date(&value)) {
                self.destinations(&value, leaf)
            } else {
                Ok(())
            };
            self.scratch.decoded = value;
            judged?;
        }
        Ok(())
    }

    /// Whether a leaf says, by the name of its argument, where something goes.
    fn is_named(&mut self, leaf: &Leaf) -> Result<bool, Corrupt> {
        let says = matches!(leaf.kind, LeafKind::String { .. } | LeafKind::Other);
        Ok(says && self.role(leaf)? == Role::Target)
    }

    /// Looks at all arguments that name something, whatever they are called.
    fn names(&mut self, leaves: &[Leaf]) -> Result<(), Corrupt> {
        for leaf in leaves {
            if !matches!(leaf.kind, LeafKind::String { .. }) || !self.read(leaf)? {
                continue;
            }
            let value = std::mem::take(&mut self.scratch.decoded);
            let content = self.role(leaf)? == Role::Content;
            if !content && !value.is_empty() && !is_date(&value) {
                self.target(&value, leaf, true)?;
            }
            self.scratch.decoded = value;
        }
        Ok(())
    }

    /// Each target that a value holds.
    fn destinations(&mut self, value: &str, leaf: &Leaf) -> Result<(), Corrupt> {
        let mut result = Ok(());
        let _ = address::destinations(value, &mut |target| {
            result = self.target(target, leaf, false);
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        result
    }

    /// Judges one target, and notes the first that is the worst. `anything`: its argument only
    /// says what something is done to, so that there is no vouching for it but by this call.
    fn target(&mut self, target: &str, leaf: &Leaf, anything: bool) -> Result<(), Corrupt> {
        self.targets += 1;
        let trust = self.trust(target, leaf)?;
        if trust == Trust::Vouched {
            return Ok(());
        }
        if !self.tainted {
            // Nobody else can have named it; only what cannot be taken back is asked about.
            if self.hard {
                self.object(Objection::Unvouched, target, leaf)?;
            }
            return Ok(());
        }
        let objection = match trust {
            // What a tool does of which nothing could be told may be to read, and beside an
            // argument that says where the call goes an address may be what it says.
            Trust::Tainted
                if (self.is_named(leaf)? || (self.flow.effects.is_some() && !self.named))
                    && !self.fetch_only
                    && is_address(target, &mut self.scratch.folded) =>
            {
                Objection::Tainted
            }
            Trust::Tainted | Trust::Observed if anything => Objection::Copied,
            Trust::Unproven if anything => Objection::Unvouched,
            Trust::Tainted => Objection::Read,
            Trust::Observed => Objection::Observed,
            Trust::Unproven | Trust::Vouched => Objection::Unproven,
        };
        self.object(objection, target, leaf)
    }

    fn trust(&mut self, target: &str, leaf: &Leaf) -> Result<Trust, Corrupt> {
        let flow = self.flow;
        if let Some(me) = flow.me
            && is_trusted(flow.tables, me, target, &mut self.scratch.folded)?
        {
            return Ok(Trust::Vouched);
        }
        self.name_of(leaf)?;
        let FlowScratch { name, approval, .. } = &mut *self.scratch;
        if flow
            .approvals
            .holds(flow.server, flow.tool, name, target, approval)
        {
            return Ok(Trust::Vouched);
        }
        let once = flow
            .approvals
            .held_once(flow.server, flow.tool, name, target, approval);
        let evidence = flow.provenance.evidence(target, self.lookups);
        let typed = flow.provenance.is_typed(target, self.lookups)
            || (self.fetch_only && self.host_is_typed(target));
        let evidence = match evidence.trusted.is_some() || typed {
            true => return Ok(Trust::Vouched),
            false => evidence,
        };
        Ok(if evidence.untrusted.is_some() && !once {
            Trust::Tainted
        } else if once || evidence.observed.is_some() {
            Trust::Observed
        } else {
            Trust::Unproven
        })
    }

    /// Whether the user typed the host of an address, below which one may look around.
    fn host_is_typed(&mut self, target: &str) -> bool {
        let typed = self.flow.provenance.typed();
        !typed.is_empty()
            && address::host(target, &mut self.scratch.folded).is_ok()
            && typed.holds_host(&self.scratch.folded)
    }

    /// Looks for addresses and private values inside what is sent.
    fn content(&mut self, leaves: &[Leaf]) -> Result<(), Corrupt> {
        for leaf in leaves {
            if !self.read(leaf)? {
                continue;
            }
            let value = std::mem::take(&mut self.scratch.decoded);
            let judged = self.carried(&value, leaf);
            self.scratch.decoded = value;
            judged?;
        }
        Ok(())
    }

    fn carried(&mut self, value: &str, leaf: &Leaf) -> Result<(), Corrupt> {
        let provenance = self.flow.provenance;
        let private = provenance.private_in(value, self.lookups);
        if !matches!(private, Ok(None)) && !provenance.is_typed(value, self.lookups) {
            let excerpt = private
                .ok()
                .flatten()
                .map_or(value, |origin| origin.excerpt);
            self.object(Objection::Private, excerpt, leaf)?;
        }
        // A target was looked at as a whole.
        if self.role(leaf)? == Role::Target || address::is_destination_shaped(value) {
            return Ok(());
        }
        let mut folded = std::mem::take(&mut self.scratch.folded);
        text::fold(value, &mut folded);
        let mut left = MAX_CARRIED;
        let mut result = Ok(());
        address::tokens(&folded, &mut |token| {
            if left == 0 || result.is_err() {
                return;
            }
            left -= 1;
            let evidence = provenance.evidence(token.text, self.lookups);
            let read =
                evidence.trusted.is_none() && evidence.untrusted.or(evidence.observed).is_some();
            if read && !is_date(token.text) {
                result = self.object(Objection::Carries, token.text, leaf);
                left = 0;
            }
        });
        self.scratch.folded = folded;
        result
    }

    /// Looks for arguments that stand in what was read.
    fn copies(&mut self, leaves: &[Leaf]) -> Result<(), Corrupt> {
        for leaf in leaves {
            if !matches!(leaf.kind, LeafKind::String { .. }) || !self.read(leaf)? {
                continue;
            }
            let value = std::mem::take(&mut self.scratch.decoded);
            let evidence = self.flow.provenance.evidence(&value, self.lookups);
            let read =
                evidence.trusted.is_none() && evidence.untrusted.or(evidence.observed).is_some();
            let own = self.flow.provenance.is_typed(&value, self.lookups) || is_date(&value);
            if read && !own {
                self.object(Objection::Copied, &value, leaf)?;
            }
            self.scratch.decoded = value;
        }
        Ok(())
    }

    /// Notes an objection; the first counts, unless a worse one follows.
    fn object(&mut self, objection: Objection, value: &str, leaf: &Leaf) -> Result<(), Corrupt> {
        self.objections += 1;
        let worse = objection == Objection::Tainted && self.found != Some(Objection::Tainted);
        if self.found.is_none() || worse {
            self.name_of(leaf)?;
            self.culprit.set(&self.scratch.name, value);
            self.found = Some(objection);
        }
        Ok(())
    }

    /// Writes a leaf's text into `decoded`. `false`: it has none.
    fn read(&mut self, leaf: &Leaf) -> Result<bool, Corrupt> {
        let escaped = match leaf.kind {
            LeafKind::String { escaped, .. } | LeafKind::Key { escaped } => escaped,
            LeafKind::Other => false,
            LeafKind::True | LeafKind::False | LeafKind::Null => return Ok(false),
        };
        let raw = raw_text(self.flow.arguments, leaf.start, leaf.end).ok_or(Corrupt)?;
        self.scratch.decoded.clear();
        Text::new(raw, escaped).decode_into(&mut self.scratch.decoded);
        Ok(true)
    }

    /// The role that a leaf's name gives it.
    fn role(&mut self, leaf: &Leaf) -> Result<Role, Corrupt> {
        if leaf.sink != NO_SINK {
            return Ok(Role::Target);
        }
        let raw = raw_text(self.flow.arguments, leaf.name.0, leaf.name.1).ok_or(Corrupt)?;
        let heuristics = self.flow.heuristics;
        let FlowScratch { name, roles, .. } = &mut *self.scratch;
        if !raw.contains('\\') {
            return Ok(roles.of(raw, |name| Role::of(name, heuristics)));
        }
        name.clear();
        Text::new(raw, true).decode_into(name);
        Ok(roles.of(name, |name| Role::of(name, heuristics)))
    }

    /// Writes the name of the argument that a leaf stands in.
    fn name_of(&mut self, leaf: &Leaf) -> Result<(), Corrupt> {
        let raw = raw_text(self.flow.arguments, leaf.top.0, leaf.top.1).ok_or(Corrupt)?;
        self.scratch.name.clear();
        Text::new(raw, raw.contains('\\')).decode_into(&mut self.scratch.name);
        Ok(())
    }
}
