//! Everything one agent does in one run: budgets, approvals, provenance, and the
//! working memory of its decisions.

use super::approvals::Approvals;
use super::budget::Attempts;
use super::key::split_key;
use super::link::Link;
use super::pins::Pins;
use super::policy::Policy;
use super::scratch::Scratch;
use super::session::{First, Session};
use super::shared::{SharedTally, Together};
use super::tool::Tool;
use crate::provenance::{Echo, Provenance, Read, Settling, Source};
use bouncer_plan::Tables;
use bouncer_reader::json::Limits;
use std::collections::HashMap;

/// Text that a conversation's provenance keeps unless told otherwise, in bytes.
pub const DEFAULT_PROVENANCE_LIMIT: usize = 64 << 20;

/// Names of unlisted tools that a conversation remembers where nothing is pinned.
pub(super) const MAX_UNLISTED: usize = 10_000;

/// One agent's run.
#[derive(Debug)]
pub struct Conversation {
    pub(super) limits: Limits,
    /// By tool index of the gate.
    pub(super) attempts: Vec<Attempts>,
    /// Where no tools were ever listed: the tools named so far.
    pub(super) unlisted: HashMap<String, (Tool, Attempts)>,
    /// Attempts that are counted together with other conversations'.
    pub(super) together: Option<Together>,
    pub(super) approvals: Approvals,
    pub(super) provenance: Provenance,
    pub(super) session: Session,
    /// By tool, of those whose results may vouch: what its calls carried.
    pub(super) echoes: HashMap<String, Echo>,
    pub(super) scratch: Scratch,
    /// Results recorded so far: the number of the latest call.
    pub(super) calls: u64,
    /// The gate's plan that the rest belongs to; see [`super::Gate::generation`].
    pub(super) generation: u64,
}

impl Conversation {
    pub(super) fn new(tables: &Tables<'_>, provenance_limit: usize) -> Self {
        let limits = Limits::default();
        Self {
            scratch: Scratch::new(tables, &limits),
            limits,
            attempts: Vec::new(),
            unlisted: HashMap::new(),
            together: None,
            approvals: Approvals::default(),
            provenance: Provenance::new(provenance_limit),
            session: Session::default(),
            echoes: HashMap::new(),
            calls: 0,
            generation: 0,
        }
    }

    /// Goes on under another plan of the same gate. What it has read and how often it
    /// called what stays. What humans vouched for goes: they did so under another policy.
    pub(super) fn follow(&mut self, policy: &Policy, pins: &Pins, now_ms: u64) {
        self.scratch = Scratch::new(policy.plan().tables(), &self.limits);
        self.approvals = Approvals::default();
        for (attempts, tool) in self.attempts.iter_mut().zip(pins.tools()) {
            attempts.resize(tool.link.history, now_ms);
        }
        for (key, (tool, attempts)) in &mut self.unlisted {
            let linked = split_key(key).map(|(server, name)| policy.link_name(server, name));
            match linked {
                Some(Ok(linked)) => *tool = linked,
                // The old plan's places mean something else in the new one.
                Some(Err(_)) | None => tool.link = Link::nowhere(),
            }
            attempts.resize(tool.link.history, now_ms);
        }
        self.generation = policy.generation();
    }

    /// Remembers a human's approval of one destination of one parameter of one tool,
    /// for the rest of the conversation, or until it is withdrawn. `false`: it was approved.
    pub fn approve(
        &mut self,
        server: Option<&str>,
        tool: &str,
        param: &str,
        destination: &str,
    ) -> bool {
        self.approvals.add(server, tool, param, destination)
    }

    /// Forgets such an approval: it was for one call.
    pub fn withdraw(&mut self, server: Option<&str>, tool: &str, param: &str, destination: &str) {
        self.approvals.remove(server, tool, param, destination);
    }

    /// Counts attempts of tools with budgets together with all conversations that have
    /// the same tally, from now on.
    pub fn share_budgets(&mut self, tally: SharedTally) {
        self.together = Some(Together::new(tally));
    }

    /// Notes what kinds of things a result said, if it is the first to.
    pub(super) fn note_read(&mut self, source: &Source<'_>, read: Read) {
        let first = || First {
            server: source.server.map(str::to_owned),
            tool: source.tool.to_owned(),
            call: source.call,
            time: self.provenance.latest(),
        };
        if read.untrusted && self.session.read.untrusted.is_none() {
            self.session.read.untrusted = Some(first());
        }
        if read.private && self.session.read.private.is_none() {
            self.session.read.private = Some(first());
        }
    }

    /// What kinds of things were read so far, and what the user asked for.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What decisions asked about since the last time, of a conversation in which something was
    /// left out, see [`Gate::leave_out`](super::Gate::leave_out).
    #[must_use]
    pub fn open_questions(&self) -> Vec<String> {
        self.provenance.open_questions()
    }

    /// What was read and waits to be taken apart, if it has at least so many bytes: to be run on
    /// another thread. A decision that needs it waits for that.
    #[must_use]
    pub fn settle_elsewhere(&mut self, least: usize) -> Option<Settling> {
        match self.provenance.unread_bytes() < least {
            true => None,
            false => self.provenance.settle_elsewhere(),
        }
    }

    /// Whether a decision that needs what was read would have to wait for another thread.
    pub fn is_settling(&mut self) -> bool {
        self.provenance.is_elsewhere()
    }

    /// What the conversation has read.
    #[must_use]
    pub const fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}
