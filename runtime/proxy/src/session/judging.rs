//! One judgement of one call and what follows at once: the audit line, then the call
//! goes out or the denial goes back. Nothing here waits, so nothing can come between.

use crate::approval::out_of_band::{GrantedApproval, NotAsked};
use crate::conversation::call::{Asker, CallContext, proxy_denial};
use crate::conversation::judge::{Judge, Judgement, Pass};
use crate::session::denial::Denial;
use crate::session::mediator::Mediator;
use crate::session::open_requests::RequestKind;
use crate::upstream::proxy_message::ProxyMessage;
use bouncer_audit::{Arguments, Entry, Outcome};
use bouncer_engine::gate::{Approvable, Attempt, Unvouched, VerdictRecord};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc;
use bouncer_mcp::params::progress_key;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_system::log::{note, quoted, visible};
use std::time::Duration;

/// Why a call that was allowed does not go out.
const UNLOGGED: &str = "the audit log cannot be written";

/// Approvals that one attempt may find given already, one after the other.
const MAX_APPROVALS: usize = 32;

impl<J: Judge> Mediator<J> {
    /// Judges, logs, and forwards or denies. Some: a human has to be asked first.
    pub(crate) fn attempt(
        &self,
        context: &CallContext<'_>,
        attempt: Attempt,
    ) -> Option<VerdictRecord> {
        self.attempt_vouched(context, attempt, &[])
    }

    /// The same, of a call for which a human vouched already.
    pub(crate) fn attempt_vouched(
        &self,
        context: &CallContext<'_>,
        attempt: Attempt,
        before: &[Unvouched<String>],
    ) -> Option<VerdictRecord> {
        let mut vouched = Vec::new();
        for unvouched in before {
            let mut judge = self.judge.borrow_mut();
            if judge.approve(context.call.tool(), unvouched) {
                vouched.push(unvouched.clone());
            }
        }
        let asked = self.attempt_with(context, attempt, &mut vouched);
        // What was vouched for is for this call; other calls ask for themselves.
        let mut judge = self.judge.borrow_mut();
        for unvouched in vouched {
            judge.withdraw(context.call.tool(), &unvouched);
        }
        asked
    }

    /// Judges, and again as long as approvals are found for what is asked. Notes what was
    /// vouched for.
    fn attempt_with(
        &self,
        context: &CallContext<'_>,
        mut attempt: Attempt,
        vouched: &mut Vec<Unvouched<String>>,
    ) -> Option<VerdictRecord> {
        let approvals = self
            .records
            .approvals
            .as_ref()
            .filter(|_| attempt == Attempt::First);
        if approvals.is_some_and(|approvals| approvals.comes_back(self.server.as_deref(), context))
        {
            attempt = Attempt::AfterApproval;
        }
        let mut held: Vec<GrantedApproval> = Vec::new();
        for _ in 0..MAX_APPROVALS {
            let asked = self.judge_once(context, attempt, &held)?;
            // An approval of the whole call lifts all there is to lift, once.
            let given = self
                .records
                .approvals
                .as_ref()
                .filter(|_| {
                    attempt != Attempt::ApprovedOnce || asked.approvable != Approvable::ThisCall
                })
                .and_then(|approvals| approvals.held(self.server.as_deref(), context, &asked));
            match (&asked.approvable, given) {
                (Approvable::Destination(unvouched), Some(given)) => {
                    let mut judge = self.judge.borrow_mut();
                    if judge.approve(context.call.tool(), unvouched) {
                        vouched.push(unvouched.clone());
                    }
                    held.push(given);
                    if attempt == Attempt::First {
                        attempt = Attempt::AfterApproval;
                    }
                }
                (Approvable::ThisCall, Some(given)) => {
                    attempt = Attempt::ApprovedOnce;
                    held.push(given);
                }
                _ => return self.ask_or_deny(context, asked),
            }
        }
        self.block(
            context,
            &proxy_denial("too many approvals for one call"),
            Outcome::Blocked,
        );
        None
    }

    /// One judgement. Some: the verdict is ask. `held` are approvals of this very call, used
    /// up if it goes out.
    fn judge_once(
        &self,
        context: &CallContext<'_>,
        attempt: Attempt,
        held: &[GrantedApproval],
    ) -> Option<VerdictRecord> {
        if self.upstream.is_closed() {
            self.block(context, &proxy_denial(&self.gone()), Outcome::Blocked);
            return None;
        }
        let arguments = context.call.arguments().unwrap_or(b"{}");
        if let Some(place) = self.settings.guarded.named_in(arguments) {
            let what = quoted(&place, 200);
            let why =
                format!("{what} names what is bouncer's own: its files, or where people decide");
            let own = VerdictRecord::denial(Stage::Constraint, "guarded", why);
            self.block(context, &own, Outcome::Blocked);
            return None;
        }
        let call = context.call.call();
        self.judge.borrow_mut().judge(&call, attempt, |judgement| {
            self.act_on(context, judgement, held)
        })
    }

    /// Logs a judgement, and forwards or denies the call. Some: the verdict is ask.
    fn act_on(
        &self,
        context: &CallContext<'_>,
        judgement: Judgement<'_>,
        held: &[GrantedApproval],
    ) -> Option<VerdictRecord> {
        let Judgement { record, pass } = judgement;
        match (record.verdict, pass) {
            (Verdict::Allow, Some(Pass::Permit(permit))) => {
                if !self.use_up(held) {
                    let used =
                        proxy_denial("its approval has been used, or does not hold any more");
                    self.log(context, &used, Outcome::Blocked, None);
                    self.deny(context, &used, None);
                } else if self.log(
                    context,
                    &record,
                    Outcome::Forwarded,
                    held.last().map(GrantedApproval::id),
                ) {
                    self.pass_on(context, &Pass::Permit(permit));
                } else {
                    self.deny(context, &record.denied_because(UNLOGGED), None);
                }
                None
            }
            (Verdict::Ask | Verdict::Deny, Some(Pass::Observed(pass))) => {
                if self.log(context, &record, Outcome::Observed, None) {
                    self.pass_on(context, &Pass::Observed(pass));
                } else {
                    self.deny(context, &record.denied_because(UNLOGGED), None);
                }
                None
            }
            (Verdict::Ask, _) => Some(record),
            // An allow without a permit is a fault of the gate: it blocks.
            _ => {
                self.block(context, &record, Outcome::Blocked);
                None
            }
        }
    }

    /// Takes the approvals that a call rests on; `false`: it must not go out.
    fn use_up(&self, held: &[GrantedApproval]) -> bool {
        held.iter().all(|held| {
            let approvals = self.records.approvals.as_ref();
            approvals.is_some_and(|approvals| approvals.take(held))
        })
    }

    /// Sends what may go on to whom it is for.
    fn pass_on(&self, context: &CallContext<'_>, pass: &Pass<'_>) {
        match context.asker {
            Asker::Client => {
                if let Some(id) = &context.id {
                    let tool = context.call.tool().to_owned();
                    let kind = match context.call.is_request() {
                        true => RequestKind::Other { method: tool },
                        false => RequestKind::Call { tool },
                    };
                    let token = pass.message().and_then(progress_token_of);
                    let mut requests = self.requests.borrow_mut();
                    requests.open(id.key.clone(), id.raw, kind, token);
                }
                self.upstream.forward(pass);
            }
            Asker::Server => {
                let open = context.id.as_ref().is_none_or(|id| {
                    let requests = self.requests.borrow();
                    requests.has_server_request(&id.key)
                });
                if let Some(message) = pass.message().filter(|_| open) {
                    self.client.push(message);
                }
            }
            Asker::Answer(may) => may.set(true),
        }
    }

    /// Some: somebody can be asked.
    fn ask_or_deny(
        &self,
        context: &CallContext<'_>,
        record: VerdictRecord,
    ) -> Option<VerdictRecord> {
        if let Some(why) = self.cannot_ask(context, &record) {
            self.ask_out_of_band(context, &record, why);
            return None;
        }
        if !self.log(context, &record, Outcome::Asked, None) {
            self.deny(context, &record.denied_because(UNLOGGED), None);
            return None;
        }
        Some(record)
    }

    /// Denies the call for now. A human may approve it in another process, for when it is
    /// made again.
    pub(crate) fn ask_out_of_band(
        &self,
        context: &CallContext<'_>,
        record: &VerdictRecord,
        why: &str,
    ) {
        let approvals = self
            .records
            .approvals
            .as_ref()
            .filter(|_| record.approvable != Approvable::Never);
        let asked =
            approvals.map(|approvals| approvals.ask(self.server.as_deref(), context, record));
        let (denial, outcome, filed) = match asked {
            // What nobody could vouch for, and what a human has declined, is denied.
            None if record.approvable == Approvable::Never => {
                return self.block(context, &record.denied_because(why), Outcome::Blocked);
            }
            Some(Err(NotAsked::Declined(why))) => {
                return self.block(context, &record.denied_because(&why), Outcome::Declined);
            }
            None => (record.denied_because(why), Outcome::NobodyToAsk, None),
            Some(Err(NotAsked::Cannot(why))) => {
                (record.denied_because(&why), Outcome::NobodyToAsk, None)
            }
            Some(Ok(id)) => {
                let why = format!(
                    "a human has to approve it: tell your user that request {id} waits for them, and make exactly this call again once they have decided"
                );
                (record.denied_because(&why), Outcome::Filed, Some(id))
            }
        };
        // The line and the answer say what was asked; the reason, that the call did not go out.
        let asked = VerdictRecord {
            verdict: Verdict::Ask,
            ..denial
        };
        self.log(context, &asked, outcome, filed.as_deref());
        self.deny(context, &asked, filed.as_deref());
    }

    /// Why nobody can be asked, if so.
    fn cannot_ask(
        &self,
        context: &CallContext<'_>,
        record: &VerdictRecord,
    ) -> Option<&'static str> {
        if record.approvable == Approvable::Never {
            return Some("there is nothing that a human could vouch for");
        }
        if matches!(context.asker, Asker::Answer(_)) {
            return Some(
                "a human has to approve it, and no client is asked in the middle of an answer",
            );
        }
        if context.id.is_none() {
            return Some("a human has to approve it, and nobody waits for the answer");
        }
        if !self.requests.borrow().client.asks_humans {
            return Some(
                "a human has to approve it, and this client cannot ask one (it does not offer form elicitation)",
            );
        }
        None
    }

    /// Logs a denial and sends it.
    pub(crate) fn block(
        &self,
        context: &CallContext<'_>,
        record: &VerdictRecord,
        outcome: Outcome,
    ) {
        // A denial needs no log line to be safe; that the line is missing was said.
        self.log(context, record, outcome, None);
        self.deny(context, record, None);
    }

    /// Logs that the client took a call back; nobody waits for an answer.
    pub(crate) fn log_cancelled(&self, context: &CallContext<'_>) {
        let record = proxy_denial("the client took the call back");
        self.log(context, &record, Outcome::Cancelled, None);
    }

    /// Sends a denial. `approval` is the id under which a human is asked out of band.
    fn deny(&self, context: &CallContext<'_>, record: &VerdictRecord, approval: Option<&str>) {
        let Some(id) = &context.id else {
            return;
        };
        let denial = Denial { record, approval };
        if matches!(context.asker, Asker::Server) {
            // Who took it back is told nothing.
            if self.requests.borrow_mut().close_server_request(&id.key) {
                self.upstream
                    .say(&ProxyMessage::refused(denial.error(id.raw)));
            }
            return;
        }
        let is_result = !context.call.is_task() && !context.call.is_request();
        self.client.push(&if is_result {
            denial.tool_result(id.raw)
        } else {
            denial.error(id.raw)
        });
    }

    /// Writes an audit line about a call, and the approval that it waits for or rests on;
    /// `false` if that failed.
    fn log(
        &self,
        context: &CallContext<'_>,
        record: &VerdictRecord,
        outcome: Outcome,
        approval: Option<&str>,
    ) -> bool {
        let arguments = context.call.arguments();
        let entry = Entry {
            call: context.number,
            server: self.server.as_deref(),
            tool: Some(context.call.tool()),
            judged_as: None,
            arguments: arguments.map_or(Arguments::Absent, Arguments::Json),
            record,
            approval,
            outcome,
            latency: context.received.elapsed(),
        };
        #[cfg(feature = "otel")]
        if let Some(traces) = &self.records.metrics.traces {
            let audit = self.records.audit.borrow();
            let (conversation, plan) = audit.names();
            traces.call(&entry, conversation, plan, context.call.message());
        }
        self.write_audit(&entry)
    }

    fn write_audit(&self, entry: &Entry<'_>) -> bool {
        let written = self.records.audit.borrow_mut().write(entry);
        self.records.metrics.line(entry, written.is_ok());
        if let Err(error) = &written {
            let error = error.to_string();
            note(format_args!(
                "the audit log cannot be written: {}",
                visible(&error)
            ));
        }
        written.is_ok()
    }

    /// Logs and answers a line that holds no call this proxy can judge.
    pub(crate) async fn refuse(&self, line: &[u8], answer: &[u8], why: &str) {
        self.log_refused(line, why);
        self.client.room().await;
        self.client.push(answer);
    }

    /// Logs a line that holds no call this proxy can judge.
    pub(crate) fn log_refused(&self, line: &[u8], why: &str) {
        let (call, server) = (self.records.next_call(), self.server.as_deref());
        // What is refused needs no log line to be safe; that it is missing was said.
        let record = malformed(why);
        self.write_audit(&unreadable(call, server, line, &record));
    }

    /// Like [`Mediator::refuse`], with an error for `id`.
    pub(crate) async fn refuse_one(&self, line: &[u8], id: Option<&[u8]>, code: i32, why: &str) {
        let answer = jsonrpc::error(id.unwrap_or(b"null"), code, why, None);
        self.refuse(line, &answer, why).await;
    }
}

/// What the progress of a call is told under.
fn progress_token_of(message: &[u8]) -> Option<Key> {
    memchr::memmem::find(message, b"progressToken")?;
    let mut frames = FrameReader::new(message.len());
    let params = frames.read(message).ok()?.params();
    progress_key(&mut frames, params)
}

/// The verdict on a message that holds no call that can be judged.
pub(crate) fn malformed(why: &str) -> VerdictRecord {
    VerdictRecord::denial(Stage::Malformed, "malformed", why.to_owned())
}

/// The line about a message that holds no call that can be judged.
pub(crate) const fn unreadable<'a>(
    call: u64,
    server: Option<&'a str>,
    line: &'a [u8],
    record: &'a VerdictRecord,
) -> Entry<'a> {
    Entry {
        call,
        server,
        tool: None,
        judged_as: None,
        arguments: Arguments::Garbage(line),
        record,
        approval: None,
        outcome: Outcome::Blocked,
        latency: Duration::ZERO,
    }
}
