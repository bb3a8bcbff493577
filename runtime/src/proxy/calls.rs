//! The way of one call: wait for the tools to be pinned, judge, log, ask, and forward
//! or deny.

use super::denial::{self, Denial};
use super::elicit::{self, Reply};
use super::envelope::Id;
use super::frame::FrameReader;
use super::id::Key;
use super::log::{note, visible};
use super::mediator::Mediator;
use super::session::{Judge, Question};
use super::table::{Kind, Waiting};
use crate::audit::{Arguments, Entry, Outcome};
use crate::gate::{Attempt, CallMessage};
use crate::{Stage, Verdict};
use std::rc::Rc;
use std::time::Instant;

/// Destinations that one call may ask about, one after the other.
const MAX_QUESTIONS: usize = 32;

/// A call and what surrounds it.
#[derive(Debug)]
struct Case<'a> {
    id: Option<Id<'a>>,
    call: &'a CallMessage<'a>,
    number: u64,
    received: Instant,
}

/// A judged call that needs a human.
#[derive(Debug, PartialEq, Eq)]
struct Ask {
    question: Option<Question>,
    stage: Stage,
    reason: String,
    at: Option<String>,
}

impl<J: Judge + 'static> Mediator<J> {
    /// Takes a call of the client. Returns once it is forwarded, denied, or waiting.
    pub(super) async fn on_call(self: &Rc<Self>, id: Option<Id<'_>>, call: &CallMessage<'_>) {
        let received = Instant::now();
        let case = Case {
            id,
            call,
            number: self.next_call(),
            received,
        };
        self.upstream.room().await;
        self.client.room().await;
        let ready = self.listing.is_pinned();
        let ask = if ready {
            match self.attempt(&case, Attempt::First) {
                None => return,
                Some(ask) => Some(ask),
            }
        } else {
            self.list_tools(false);
            None
        };
        let key = case.id.as_ref().map(|id| id.key.clone());
        let waiting = self.table.borrow_mut().wait(key.as_ref());
        let Some(waiting) = waiting else {
            self.block(&case, "too many calls wait already", Outcome::NobodyToAsk);
            return;
        };
        let later = Later {
            line: call.message().to_vec(),
            raw_id: case.id.as_ref().map(|id| id.raw.to_vec()),
            key,
            number: case.number,
            received,
        };
        let mediator = Rc::clone(self);
        tokio::task::spawn_local(async move {
            mediator.finish_later(&later, ask, &waiting).await;
            mediator.decided(later.key.as_ref(), &waiting);
        });
    }

    /// Goes on with a call that could not be decided at once.
    async fn finish_later(self: &Rc<Self>, later: &Later, ask: Option<Ask>, waiting: &Rc<Waiting>) {
        // The line was read before; reading it again is cheaper than owning its parts.
        let mut reader = FrameReader::new(self.settings.max_message);
        let server = self.server.as_deref();
        let super::envelope::FromClient::Call { call, .. } =
            super::envelope::classify(&mut reader, server, &later.line)
        else {
            return;
        };
        let id = later.raw_id.as_deref().zip(later.key.clone());
        let case = Case {
            id: id.map(|(raw, key)| Id { raw, key }),
            call: &call,
            number: later.number,
            received: later.received,
        };
        let ask = match ask {
            Some(ask) => ask,
            None => {
                let limit = self.settings.listing_timeout;
                tokio::select! {
                    _ = tokio::time::timeout(limit, self.listing.end()) => {}
                    () = waiting.cancelled() => {}
                }
                self.upstream.room().await;
                self.client.room().await;
                if waiting.is_cancelled() {
                    self.log_end(&case, "the client took the call back", Outcome::Cancelled);
                    return;
                }
                match self.attempt(&case, Attempt::First) {
                    None => return,
                    Some(ask) => ask,
                }
            }
        };
        self.ask_until_decided(&case, ask, waiting).await;
    }

    /// Asks about one thing after the other, until the call is allowed or blocked.
    async fn ask_until_decided(&self, case: &Case<'_>, mut ask: Ask, waiting: &Waiting) {
        for _ in 0..MAX_QUESTIONS {
            let question = ask.question.as_ref();
            let server = self.server.as_deref();
            let Some(message) =
                elicit::message(server, case.call, question, &ask.reason, ask.at.as_deref())
            else {
                let why = "a human has to approve it, but it is too large to be shown";
                return self.block(case, why, Outcome::NobodyToAsk);
            };
            let reply = self.ask(&message, waiting).await;
            self.upstream.room().await;
            self.client.room().await;
            if reply == Reply::Cancelled || waiting.is_cancelled() {
                self.log_end(case, "the client took the call back", Outcome::Cancelled);
                return;
            }
            match reply {
                Reply::Approved => {}
                Reply::TimedOut => {
                    let why = format!("nobody approved in time: {}", ask.reason);
                    return self.block_as(case, &ask, &why, Outcome::TimedOut);
                }
                _ => {
                    let why = format!("not approved: {}", ask.reason);
                    return self.block_as(case, &ask, &why, Outcome::Declined);
                }
            }
            match &ask.question {
                Some(question) => self.judge.borrow_mut().approve(case.call.tool(), question),
                None => self.judge.borrow_mut().approve_call(&case.call.call()),
            }
            match self.attempt(case, Attempt::AfterApproval) {
                None => return,
                // The approval did not help: asking again would go in circles.
                Some(next) if next == ask => {
                    let why = format!("the approval does not settle it: {}", ask.reason);
                    return self.block_as(case, &ask, &why, Outcome::Blocked);
                }
                Some(next) => ask = next,
            }
        }
        self.block(
            case,
            "too many questions for one call",
            Outcome::NobodyToAsk,
        );
    }

    /// Judges, logs, and forwards or denies. Some: a human has to be asked first.
    fn attempt(&self, case: &Case<'_>, attempt: Attempt) -> Option<Ask> {
        if self.upstream.is_closed() {
            self.block(case, &self.gone(), Outcome::Blocked);
            return None;
        }
        let call = case.call.call();
        let mut judge = self.judge.borrow_mut();
        let judgement = judge.judge(&call, attempt);
        let (reason, at) = (judgement.reason, judgement.at);
        let ask = Ask {
            question: judgement.question,
            stage: judgement.stage,
            reason,
            at,
        };
        match (judgement.verdict, judgement.permit) {
            (Verdict::Allow, Some(permit)) => {
                if !self.log(case, Verdict::Allow, &ask, Outcome::Forwarded) {
                    drop(permit);
                    drop(judge);
                    self.deny(case, Verdict::Deny, &ask, "the audit log cannot be written");
                    return None;
                }
                if let Some(id) = &case.id {
                    let tool = case.call.tool().to_owned();
                    let kind = Kind::Call { tool };
                    self.table.borrow_mut().open(id.key.clone(), id.raw, kind);
                }
                self.upstream.forward(&permit);
                None
            }
            (Verdict::Ask, _) => {
                drop(judge);
                if let Some(why) = self.cannot_ask(case, &ask) {
                    self.log(case, Verdict::Ask, &ask, Outcome::NobodyToAsk);
                    let reason = format!("{}; {why}", ask.reason);
                    self.deny(case, Verdict::Ask, &ask, &reason);
                    return None;
                }
                if !self.log(case, Verdict::Ask, &ask, Outcome::Asked) {
                    self.deny(case, Verdict::Ask, &ask, "the audit log cannot be written");
                    return None;
                }
                Some(ask)
            }
            (verdict, _) => {
                drop(judge);
                self.log(case, verdict, &ask, Outcome::Blocked);
                self.deny(case, verdict, &ask, &ask.reason);
                None
            }
        }
    }

    /// Why nobody can be asked, if so.
    fn cannot_ask(&self, case: &Case<'_>, ask: &Ask) -> Option<&'static str> {
        if matches!(ask.stage, Stage::Pinning | Stage::Malformed) {
            return Some("there is nothing that a human could vouch for");
        }
        if case.id.is_none() {
            return Some("a human has to approve it, and nobody waits for the answer");
        }
        if !self.table.borrow().client.asks_humans {
            return Some(
                "a human has to approve it, and this client cannot ask one \
                 (it does not offer `elicitation`)",
            );
        }
        None
    }

    /// Blocks a call for a reason of the proxy's own.
    fn block(&self, case: &Case<'_>, why: &str, outcome: Outcome) {
        let own = Ask {
            question: None,
            stage: Stage::Default,
            reason: why.to_owned(),
            at: None,
        };
        self.block_as(case, &own, why, outcome);
    }

    fn block_as(&self, case: &Case<'_>, ask: &Ask, why: &str, outcome: Outcome) {
        let own = Ask {
            question: None,
            stage: ask.stage,
            reason: why.to_owned(),
            at: ask.at.clone(),
        };
        self.log(case, Verdict::Deny, &own, outcome);
        self.deny(case, Verdict::Ask, &own, why);
    }

    /// Logs that a call ends without an answer.
    fn log_end(&self, case: &Case<'_>, why: &str, outcome: Outcome) {
        let own = Ask {
            question: None,
            stage: Stage::Default,
            reason: why.to_owned(),
            at: None,
        };
        self.log(case, Verdict::Deny, &own, outcome);
    }

    fn deny(&self, case: &Case<'_>, verdict: Verdict, ask: &Ask, reason: &str) {
        let Some(id) = &case.id else {
            return;
        };
        let denial = Denial {
            verdict,
            stage: ask.stage,
            reason,
            at: ask.at.as_deref(),
        };
        self.client.push(&if case.call.is_task() {
            denial.error(id.raw)
        } else {
            denial.tool_result(id.raw)
        });
    }

    /// Writes an audit line; `false` if that failed.
    fn log(&self, case: &Case<'_>, verdict: Verdict, ask: &Ask, outcome: Outcome) -> bool {
        self.write_audit(&Entry {
            call: case.number,
            server: self.server.as_deref(),
            tool: Some(case.call.tool()),
            arguments: case
                .call
                .arguments()
                .map_or(Arguments::Absent, Arguments::Json),
            verdict,
            contract: ask.stage,
            reason: &ask.reason,
            at: ask.at.as_deref(),
            outcome,
            latency: case.received.elapsed(),
        })
    }

    pub(super) fn write_audit(&self, entry: &Entry<'_>) -> bool {
        match self.audit.borrow_mut().write(entry) {
            Ok(()) => true,
            Err(error) => {
                note(format_args!(
                    "the audit log cannot be written: {}",
                    visible(&error.to_string())
                ));
                false
            }
        }
    }

    /// Logs and answers a line that is no call this proxy can judge.
    pub(super) async fn refuse(
        &self,
        ids: &[&[u8]],
        line: &[u8],
        why: &str,
        code: i32,
        batch: bool,
    ) {
        self.write_audit(&Entry {
            call: self.next_call(),
            server: self.server.as_deref(),
            tool: None,
            arguments: Arguments::Garbage(line),
            verdict: Verdict::Deny,
            contract: Stage::Malformed,
            reason: why,
            at: None,
            outcome: Outcome::Blocked,
            latency: std::time::Duration::ZERO,
        });
        self.client.room().await;
        self.client.push(&match ids {
            [id] if !batch => denial::error(id, code, why, None),
            [_, ..] => denial::batch_error(ids, why),
            [] => denial::error(b"null", code, why, None),
        });
    }
}

/// A call that is decided later, with everything it borrowed.
#[derive(Debug)]
struct Later {
    line: Vec<u8>,
    raw_id: Option<Vec<u8>>,
    key: Option<Key>,
    number: u64,
    received: Instant,
}
