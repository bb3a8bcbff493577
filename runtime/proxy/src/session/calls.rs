//! The way of one call: wait for the tools to be listed, judge, ask a human where the
//! policy wants one, and forward or deny.

use crate::approval::prompt;
use crate::conversation::call::{Case, own};
use crate::conversation::envelope::{FromClient, Id, classify};
use crate::conversation::judge::Judge;
use crate::session::ask::Reply;
use crate::session::mediator::Mediator;
use crate::session::open_requests::Waiting;
use bouncer_audit::Outcome;
use bouncer_engine::gate::{Approvable, Attempt, CallMessage, VerdictRecord};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::id::Key;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Questions that one call may raise, one after the other.
const MAX_QUESTIONS: usize = 32;

/// How long a call waits for other processes that count attempts.
const COUNTING: Duration = Duration::from_secs(2);
/// How often it looks whether they have finished.
const GLANCE: Duration = Duration::from_millis(10);

/// A call that is decided later, with everything it borrowed.
#[derive(Debug)]
struct Later {
    line: Vec<u8>,
    raw_id: Option<Vec<u8>>,
    key: Option<Key>,
    number: u64,
    received: Instant,
}

impl<J: Judge + 'static> Mediator<J> {
    /// Takes a call of the client. Returns once it is forwarded, denied, or waiting.
    pub(crate) async fn on_call(self: &Rc<Self>, id: Option<Id<'_>>, call: &CallMessage<'_>) {
        let case = Case {
            id,
            call,
            number: self.office.next_call(),
            received: Instant::now(),
        };
        self.upstream.room().await;
        self.client.room().await;
        let asked = if self.listing.is_stale() {
            self.list_tools(false);
            None
        } else if self.judge.borrow().is_held_up(call.tool()) {
            None
        } else {
            match self.attempt(&case, Attempt::First) {
                None => return,
                asked => asked,
            }
        };
        let key = case.id.as_ref().map(|id| id.key.clone());
        let waiting = self
            .table
            .borrow_mut()
            .wait(key.as_ref(), call.message().len());
        let Some(waiting) = waiting else {
            let why = own("too many calls wait already");
            return self.block(&case, &why, Outcome::NobodyToAsk);
        };
        let later = Later {
            line: call.message().to_vec(),
            raw_id: case.id.as_ref().map(|id| id.raw.to_vec()),
            key,
            number: case.number,
            received: case.received,
        };
        let mediator = Rc::clone(self);
        tokio::task::spawn_local(async move {
            mediator.decide_later(&later, asked, &waiting).await;
            mediator.decided(later.key.as_ref(), &waiting);
        });
    }

    /// Goes on with a call that could not be decided at once: it waits for a human
    /// because of what was `asked`, or for the tools to be listed.
    async fn decide_later(&self, later: &Later, asked: Option<VerdictRecord>, waiting: &Waiting) {
        // The line was read before; reading it again is simpler than owning its parts.
        let mut reader = FrameReader::new(self.settings.max_message);
        let server = self.server.as_deref();
        let FromClient::Call { call, .. } = classify(&mut reader, server, &later.line) else {
            return;
        };
        let id = later.raw_id.as_deref().zip(later.key.clone());
        let case = Case {
            id: id.map(|(raw, key)| Id { raw, key }),
            call: &call,
            number: later.number,
            received: later.received,
        };
        let asked = match asked {
            None => self.attempt_when_listed(&case, waiting).await,
            asked => asked,
        };
        if let Some(asked) = asked {
            self.ask_until_decided(&case, asked, waiting).await;
        }
    }

    async fn attempt_when_listed(
        &self,
        case: &Case<'_>,
        waiting: &Waiting,
    ) -> Option<VerdictRecord> {
        self.wait_for_listing(waiting).await;
        self.wait_for_others(case, waiting).await;
        self.upstream.room().await;
        self.client.room().await;
        if waiting.is_cancelled() {
            self.log_cancelled(case);
            return None;
        }
        self.attempt(case, Attempt::First)
    }

    /// Waits while other processes count what the call needs, but not for ever: then the
    /// judge finds that it cannot be counted.
    async fn wait_for_others(&self, case: &Case<'_>, waiting: &Waiting) {
        let until = Instant::now() + COUNTING;
        let held_up = || self.judge.borrow().is_held_up(case.call.tool());
        while Instant::now() < until && !waiting.is_cancelled() && held_up() {
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits for the listing under way, if there is one, but not for ever.
    async fn wait_for_listing(&self, waiting: &Waiting) {
        tokio::select! {
            _ = tokio::time::timeout(self.settings.listing_timeout, self.listing.end()) => {}
            () = waiting.cancelled() => {}
        }
    }

    /// Asks about one thing after the other, until the call is allowed or blocked.
    async fn ask_until_decided(
        &self,
        case: &Case<'_>,
        mut asked: VerdictRecord,
        waiting: &Waiting,
    ) {
        let mut attempt = Attempt::AfterApproval;
        for _ in 0..MAX_QUESTIONS {
            let server = self.server.as_deref();
            let Some(message) = prompt::message(server, case.call, &asked) else {
                // A form has no room for it; the store and the page do.
                let why = "a human has to approve it, but it is too large for a form";
                return self.ask_out_of_band(case, &asked, why);
            };
            let generation = self.judge.borrow().generation();
            let reply = self.ask(&message, case, waiting).await;
            // Meanwhile the tool may have changed.
            self.wait_for_listing(waiting).await;
            self.upstream.room().await;
            self.client.room().await;
            if reply == Reply::Cancelled || waiting.is_cancelled() {
                return self.log_cancelled(case);
            }
            match reply {
                Reply::Approved => {}
                Reply::TimedOut => {
                    let why = asked.denied_because("nobody approved in time");
                    return self.block(case, &why, Outcome::TimedOut);
                }
                Reply::Declined => {
                    let why = asked.denied_because("a human declined, in the client");
                    return self.block(case, &why, Outcome::Declined);
                }
                Reply::Unasked => {
                    let why = "a human has to approve it, and the client did not ask one";
                    return self.ask_out_of_band(case, &asked, why);
                }
                Reply::Gone | Reply::Cancelled => {
                    let why = asked.denied_because(
                        "a human has to approve it, and the client did not ask one",
                    );
                    return self.block(case, &why, Outcome::NobodyToAsk);
                }
            }
            // The human answered what another policy asked: that lifts nothing here.
            let outdated = self.judge.borrow().generation() != generation;
            match &asked.approvable {
                _ if outdated => attempt = Attempt::AfterApproval,
                Approvable::Destination(unvouched) => {
                    let mut judge = self.judge.borrow_mut();
                    judge.approve(case.call.tool(), unvouched);
                }
                Approvable::ThisCall => attempt = Attempt::ApprovedOnce,
                Approvable::Never => {}
            }
            match self.attempt(case, attempt) {
                None => return,
                // The approval did not help: asking again would go in circles.
                Some(next) if next == asked && !outdated => {
                    let why = asked.denied_because("an approval does not settle it");
                    return self.block(case, &why, Outcome::Blocked);
                }
                Some(next) => asked = next,
            }
        }
        let why = asked.denied_because("too many questions for one call");
        self.block(case, &why, Outcome::NobodyToAsk);
    }
}
