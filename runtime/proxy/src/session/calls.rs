//! The way of one call: wait for the tools to be listed, judge, ask a human where the
//! policy wants one, and forward or deny.

use crate::approval::prompt::{Question, Words};
use crate::conversation::call::{Asker, CallContext, proxy_denial};
use crate::conversation::envelope::{Id, reread};
use crate::conversation::judge::Judge;
use crate::session::ask::PromptOutcome;
use crate::session::mediator::Mediator;
use crate::session::open_requests::PendingCall;
use bouncer_audit::Outcome;
use bouncer_engine::gate::{Approvable, Attempt, CallMessage, VerdictRecord};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::id::Key;
use bouncer_store::approvals::Choice;
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
struct DeferredCall {
    line: Vec<u8>,
    raw_id: Option<Vec<u8>>,
    key: Option<Key>,
    of_server: bool,
    number: u64,
    received: Instant,
}

impl<J: Judge + 'static> Mediator<J> {
    /// Takes a call of the client. Returns once it is forwarded, denied, or waiting.
    pub(crate) async fn on_call(self: &Rc<Self>, id: Option<Id<'_>>, call: &CallMessage<'_>) {
        let context = CallContext {
            id,
            asker: Asker::Client,
            call,
            number: self.records.next_call(),
            received: Instant::now(),
        };
        self.upstream.room().await;
        self.client.room().await;
        let asked = if self.listing.is_stale() && !call.is_request() {
            self.list_tools(false);
            None
        } else if self.judge.borrow().is_held_up(call.tool()) {
            None
        } else {
            match self.attempt(&context, Attempt::First) {
                None => return,
                asked => asked,
            }
        };
        self.defer(&context, asked);
    }

    /// Takes a request of the server to the client that is judged as a call is. Returns once it
    /// has gone on, is refused, or waits.
    pub(crate) fn on_server_call(self: &Rc<Self>, id: Option<Id<'_>>, call: &CallMessage<'_>) {
        let context = CallContext {
            id,
            asker: Asker::Server,
            call,
            number: self.records.next_call(),
            received: Instant::now(),
        };
        if self.judge.borrow().is_held_up(call.tool()) {
            self.defer(&context, None);
        } else if let Some(asked) = self.attempt(&context, Attempt::First) {
            self.defer(&context, Some(asked));
        }
    }

    /// Decides later, with all that is borrowed now.
    fn defer(self: &Rc<Self>, context: &CallContext<'_>, asked: Option<VerdictRecord>) {
        let of_server = matches!(context.asker, Asker::Server);
        let key = context.id.as_ref().map(|id| id.key.clone());
        // Ids of the server's are none of the client's: it does not take them back by these.
        let of_client = key.as_ref().filter(|_| !of_server);
        let bytes = context.call.message().len();
        let waiting = self.requests.borrow_mut().wait(of_client, bytes);
        let Some(waiting) = waiting else {
            let why = proxy_denial("too many calls wait already");
            return self.block(context, &why, Outcome::NobodyToAsk);
        };
        let deferred = DeferredCall {
            line: context.call.message().to_vec(),
            raw_id: context.id.as_ref().map(|id| id.raw.to_vec()),
            key,
            of_server,
            number: context.number,
            received: context.received,
        };
        let mediator = Rc::clone(self);
        tokio::task::spawn_local(async move {
            mediator.decide_later(&deferred, asked, &waiting).await;
            let of_client = deferred.key.as_ref().filter(|_| !deferred.of_server);
            mediator.decided(of_client, &waiting);
        });
    }

    /// Goes on with a call that could not be decided at once: it waits for a human
    /// because of what was `asked`, or for the tools to be listed.
    async fn decide_later(
        &self,
        deferred: &DeferredCall,
        asked: Option<VerdictRecord>,
        waiting: &PendingCall,
    ) {
        // The line was read before; reading it again is simpler than owning its parts.
        let mut reader = FrameReader::new(self.settings.max_message);
        let server = self.server.as_deref();
        let Some(call) = reread(&mut reader, server, &deferred.line) else {
            return;
        };
        let id = deferred.raw_id.as_deref().zip(deferred.key.clone());
        let context = CallContext {
            id: id.map(|(raw, key)| Id { raw, key }),
            asker: match deferred.of_server {
                true => Asker::Server,
                false => Asker::Client,
            },
            call: &call,
            number: deferred.number,
            received: deferred.received,
        };
        let asked = match asked {
            None => self.attempt_when_listed(&context, waiting).await,
            asked => asked,
        };
        if let Some(asked) = asked {
            self.ask_until_decided(&context, asked, waiting).await;
        }
    }

    async fn attempt_when_listed(
        &self,
        context: &CallContext<'_>,
        waiting: &PendingCall,
    ) -> Option<VerdictRecord> {
        self.wait_for_listing(waiting).await;
        self.wait_for_others(context, waiting).await;
        self.upstream.room().await;
        self.client.room().await;
        if waiting.is_cancelled() {
            self.log_cancelled(context);
            return None;
        }
        self.attempt(context, Attempt::First)
    }

    /// Waits while other processes count what the call needs, but not for ever: then the
    /// judge finds that it cannot be counted.
    async fn wait_for_others(&self, context: &CallContext<'_>, waiting: &PendingCall) {
        let until = Instant::now() + COUNTING;
        let held_up = || self.judge.borrow().is_held_up(context.call.tool());
        while Instant::now() < until && !waiting.is_cancelled() && held_up() {
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits for the listing under way, if there is one, but not for ever.
    async fn wait_for_listing(&self, waiting: &PendingCall) {
        tokio::select! {
            _ = tokio::time::timeout(self.settings.listing_timeout, self.listing.end()) => {}
            () = waiting.cancelled() => {}
        }
    }

    /// The words of a question, and the request under which all of it can be read, if a form
    /// has no room for that.
    fn question(
        &self,
        context: &CallContext<'_>,
        asked: &VerdictRecord,
    ) -> Option<(String, Option<String>)> {
        let approvals = self.records.approvals.as_ref();
        let client = self.requests.borrow().client.name.clone();
        let audit = self.records.audit.borrow();
        let put = |filed: Option<&str>| {
            let question = Question {
                server: self.server.as_deref(),
                call: context.call,
                asked,
                client: client.as_deref(),
                conversation: audit.names().0,
                filed,
            };
            question.words()
        };
        match put(None)? {
            Words { text, whole: true } => Some((text, None)),
            Words { whole: false, .. } => {
                let id = approvals?
                    .ask(self.server.as_deref(), context, asked)
                    .ok()?;
                let words = put(Some(&id))?;
                Some((words.text, Some(id)))
            }
        }
    }

    /// Asks about one thing after the other, until the call is allowed or blocked.
    async fn ask_until_decided(
        &self,
        context: &CallContext<'_>,
        mut asked: VerdictRecord,
        waiting: &PendingCall,
    ) {
        let mut attempt = Attempt::AfterApproval;
        let mut vouched = Vec::new();
        for _ in 0..MAX_QUESTIONS {
            let Some((message, filed)) = self.question(context, &asked) else {
                // A form has no room for it; the store and the page do.
                let why = "a human has to approve it, but it is too large for a form";
                return self.ask_out_of_band(context, &asked, why);
            };
            let generation = self.judge.borrow().generation();
            let reply = self.ask(&message, &asked, context, waiting).await;
            if let (Some(id), Some(approvals)) = (&filed, &self.records.approvals) {
                let choice = match reply {
                    PromptOutcome::Approved(true) => Some(Choice::ApproveForConversation),
                    PromptOutcome::Approved(false) => Some(Choice::Approve),
                    PromptOutcome::Declined => Some(Choice::Deny),
                    _ => None,
                };
                choice.map(|choice| approvals.decided(id, choice));
            }
            // Meanwhile the tool may have changed.
            self.wait_for_listing(waiting).await;
            self.upstream.room().await;
            self.client.room().await;
            if reply == PromptOutcome::Cancelled || waiting.is_cancelled() {
                return self.log_cancelled(context);
            }
            match reply {
                PromptOutcome::Approved(_) => {}
                PromptOutcome::TimedOut => {
                    let why = asked.denied_because("nobody approved in time");
                    return self.block(context, &why, Outcome::TimedOut);
                }
                PromptOutcome::Declined => {
                    let why = asked.denied_because("a human declined, in the client");
                    return self.block(context, &why, Outcome::Declined);
                }
                PromptOutcome::Unasked => {
                    let why = "a human has to approve it, and the client did not ask one";
                    return self.ask_out_of_band(context, &asked, why);
                }
                PromptOutcome::Gone | PromptOutcome::Cancelled => {
                    let why = asked.denied_because(
                        "a human has to approve it, and the client did not ask one",
                    );
                    return self.block(context, &why, Outcome::NobodyToAsk);
                }
            }
            // The human answered what another policy asked: that lifts nothing here.
            let outdated = self.judge.borrow().generation() != generation;
            if outdated {
                vouched.clear();
            }
            match &asked.approvable {
                _ if outdated => attempt = Attempt::AfterApproval,
                // The store has it, and is asked.
                _ if filed.is_some() => {}
                Approvable::Destination(unvouched) => match reply {
                    PromptOutcome::Approved(true) => {
                        let mut judge = self.judge.borrow_mut();
                        judge.approve(context.call.tool(), unvouched);
                    }
                    _ => vouched.push(unvouched.clone()),
                },
                Approvable::ThisCall => attempt = Attempt::ApprovedOnce,
                Approvable::Never => {}
            }
            match self.attempt_vouched(context, attempt, &vouched) {
                None => return,
                // The approval did not help: asking again would go in circles.
                Some(next) if next == asked && !outdated => {
                    let why = asked.denied_because("an approval does not settle it");
                    return self.block(context, &why, Outcome::Blocked);
                }
                Some(next) => asked = next,
            }
        }
        let why = asked.denied_because("too many questions for one call");
        self.block(context, &why, Outcome::NobodyToAsk);
    }
}
