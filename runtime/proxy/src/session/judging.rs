//! One judgement of one call and what follows at once: the audit line, then the call
//! goes out or the denial goes back. Nothing here waits, so nothing can come between.

use crate::approval::out_of_band::{Held, NotAsked};
use crate::conversation::call::{Case, Finding};
use crate::conversation::judge::{Approval, Judge, Judgement};
use crate::session::denial::Denial;
use crate::session::mediator::Mediator;
use crate::session::open_requests::Kind;
use bouncer_audit::{Arguments, Entry, Outcome};
use bouncer_engine::gate::Attempt;
use bouncer_mcp::jsonrpc;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_system::log::{note, visible};
use std::time::Duration;

/// Approvals that one attempt may find given already, one after the other.
const MAX_APPROVALS: usize = 32;

impl<J: Judge> Mediator<J> {
    /// Judges, logs, and forwards or denies. Some: a human has to be asked first.
    pub(crate) fn attempt(&self, case: &Case<'_>, mut attempt: Attempt) -> Option<Finding> {
        let desk = self
            .office
            .desk
            .as_ref()
            .filter(|_| attempt == Attempt::First);
        if desk.is_some_and(|desk| desk.comes_back(self.server.as_deref(), case)) {
            attempt = Attempt::AfterApproval;
        }
        let mut held = None;
        for _ in 0..MAX_APPROVALS {
            let asked = self.judge_once(case, attempt, held.as_ref())?;
            // An approval of the whole call lifts all there is to lift, once.
            let given = self
                .office
                .desk
                .as_ref()
                .filter(|_| held.is_none() || asked.approval != Approval::ThisCall)
                .and_then(|desk| desk.held(self.server.as_deref(), case, &asked));
            match (&asked.approval, given) {
                (Approval::Destination(question), Some(_)) => {
                    let mut judge = self.judge.borrow_mut();
                    judge.approve(case.call.tool(), question);
                    if attempt == Attempt::First {
                        attempt = Attempt::AfterApproval;
                    }
                }
                (Approval::ThisCall, Some(given)) => {
                    attempt = Attempt::ApprovedOnce;
                    held = Some(given);
                }
                _ => return self.ask_or_deny(case, asked),
            }
        }
        self.block(
            case,
            &Finding::own("too many approvals for one call"),
            Outcome::Blocked,
        );
        None
    }

    /// One judgement. Some: the verdict is ask. `held` is an approval of this very call,
    /// used up if the call goes out.
    fn judge_once(
        &self,
        case: &Case<'_>,
        attempt: Attempt,
        held: Option<&Held>,
    ) -> Option<Finding> {
        if self.upstream.is_closed() {
            self.block(case, &Finding::own(&self.gone()), Outcome::Blocked);
            return None;
        }
        let call = case.call.call();
        self.judge.borrow_mut().judge(&call, attempt, |judgement| {
            self.act_on(case, judgement, held)
        })
    }

    /// Logs a judgement, and forwards or denies the call. Some: the verdict is ask.
    fn act_on(
        &self,
        case: &Case<'_>,
        judgement: Judgement<'_>,
        held: Option<&Held>,
    ) -> Option<Finding> {
        let finding = Finding {
            verdict: judgement.verdict,
            stage: judgement.stage,
            code: judgement.code,
            forgotten: judgement.forgotten,
            reason: judgement.reason,
            at: judgement.at,
            grounds: judgement.grounds,
            approval: judgement.approval,
            filed: None,
        };
        match (finding.verdict, judgement.permit) {
            (Verdict::Allow, Some(permit)) => {
                if !self.use_up(held) {
                    let used =
                        Finding::own("its approval has been used, or does not hold any more");
                    self.log(case, &used, Outcome::Blocked);
                    self.deny(case, &used);
                } else if self.log_resting(case, &finding, Outcome::Forwarded, held.map(Held::id)) {
                    self.note_forwarded(case);
                    self.upstream.forward(&permit);
                } else {
                    self.deny(case, &finding.because("the audit log cannot be written"));
                }
                None
            }
            // Only where the policy is observed does such a verdict come with a permit.
            (Verdict::Ask | Verdict::Deny, Some(permit)) => {
                if self.log(case, &finding, Outcome::Observed) {
                    self.note_forwarded(case);
                    self.upstream.forward(&permit);
                } else {
                    self.deny(case, &finding.because("the audit log cannot be written"));
                }
                None
            }
            (Verdict::Ask, _) => Some(finding),
            // An allow without a permit is a fault of the gate: it blocks.
            _ => {
                self.block(case, &finding, Outcome::Blocked);
                None
            }
        }
    }

    /// Takes the approval that a call rests on; `false`: it must not go out.
    fn use_up(&self, held: Option<&Held>) -> bool {
        let Some(held) = held else {
            return true;
        };
        self.office
            .desk
            .as_ref()
            .is_some_and(|desk| desk.take(held))
    }

    fn note_forwarded(&self, case: &Case<'_>) {
        if let Some(id) = &case.id {
            let tool = case.call.tool().to_owned();
            let mut table = self.table.borrow_mut();
            table.open(id.key.clone(), id.raw, Kind::Call { tool });
        }
    }

    /// Some: somebody can be asked.
    fn ask_or_deny(&self, case: &Case<'_>, finding: Finding) -> Option<Finding> {
        if let Some(why) = self.cannot_ask(case, &finding) {
            self.ask_out_of_band(case, &finding, why);
            return None;
        }
        if !self.log(case, &finding, Outcome::Asked) {
            self.deny(case, &finding.because("the audit log cannot be written"));
            return None;
        }
        Some(finding)
    }

    /// Denies the call for now. A human may approve it in another process, for when it is
    /// made again.
    pub(crate) fn ask_out_of_band(&self, case: &Case<'_>, finding: &Finding, why: &str) {
        let desk = self
            .office
            .desk
            .as_ref()
            .filter(|_| finding.approval != Approval::Never);
        let asked = desk.map(|desk| desk.ask(self.server.as_deref(), case, finding));
        let (finding, outcome) = match asked {
            // What nobody could vouch for, and what a human has declined, is denied.
            None if finding.approval == Approval::Never => {
                return self.block(case, &finding.because(why), Outcome::Blocked);
            }
            Some(Err(NotAsked::Declined(why))) => {
                return self.block(case, &finding.because(&why), Outcome::Declined);
            }
            None => (finding.because(why), Outcome::NobodyToAsk),
            Some(Err(NotAsked::Cannot(why))) => (finding.because(&why), Outcome::NobodyToAsk),
            Some(Ok(id)) => {
                let why = format!(
                    "a human has to approve it: `bouncer approve {id}` does, then make exactly this call again"
                );
                let filed = Finding {
                    filed: Some(id),
                    ..finding.because(&why)
                };
                (filed, Outcome::Filed)
            }
        };
        // The line says what was asked; the answer says that the call did not go out.
        let asked = Finding {
            verdict: Verdict::Ask,
            ..finding.clone()
        };
        self.log(case, &asked, outcome);
        self.deny(case, &finding);
    }

    /// Why nobody can be asked, if so.
    fn cannot_ask(&self, case: &Case<'_>, finding: &Finding) -> Option<&'static str> {
        if finding.approval == Approval::Never {
            return Some("there is nothing that a human could vouch for");
        }
        if case.id.is_none() {
            return Some("a human has to approve it, and nobody waits for the answer");
        }
        if !self.table.borrow().client.asks_humans {
            return Some(
                "a human has to approve it, and this client cannot ask one (it does not offer form elicitation)",
            );
        }
        None
    }

    /// Logs a denial and sends it.
    pub(crate) fn block(&self, case: &Case<'_>, finding: &Finding, outcome: Outcome) {
        // A denial needs no log line to be safe; that the line is missing was said.
        self.log(case, finding, outcome);
        self.deny(case, finding);
    }

    /// Logs that the client took a call back; nobody waits for an answer.
    pub(crate) fn log_cancelled(&self, case: &Case<'_>) {
        let finding = Finding::own("the client took the call back");
        self.log(case, &finding, Outcome::Cancelled);
    }

    fn deny(&self, case: &Case<'_>, finding: &Finding) {
        let Some(id) = &case.id else {
            return;
        };
        let denial = Denial {
            stage: finding.stage,
            code: finding.code,
            reason: &finding.reason,
            at: finding.at.as_deref(),
            approval: finding.filed.as_deref(),
        };
        self.client.push(&if case.call.is_task() {
            denial.error(id.raw)
        } else {
            denial.tool_result(id.raw)
        });
    }

    /// Writes an audit line; `false` if that failed.
    fn log(&self, case: &Case<'_>, finding: &Finding, outcome: Outcome) -> bool {
        self.log_resting(case, finding, outcome, finding.filed.as_deref())
    }

    /// Writes an audit line about a call that waits for an approval, or rests on one.
    fn log_resting(
        &self,
        case: &Case<'_>,
        finding: &Finding,
        outcome: Outcome,
        approval: Option<&str>,
    ) -> bool {
        let arguments = case.call.arguments();
        let entry = Entry {
            call: case.number,
            server: self.server.as_deref(),
            tool: Some(case.call.tool()),
            judged_as: None,
            arguments: arguments.map_or(Arguments::Absent, Arguments::Json),
            verdict: finding.verdict,
            contract: finding.stage,
            code: finding.code,
            reason: &finding.reason,
            at: finding.at.as_deref(),
            grounds: finding.grounds.as_ref(),
            forgotten: finding.forgotten,
            approval,
            outcome,
            latency: case.received.elapsed(),
        };
        #[cfg(feature = "otel")]
        if let Some(traces) = &self.office.metrics.traces {
            let audit = self.office.audit.borrow();
            let (conversation, plan) = audit.names();
            traces.call(&entry, conversation, plan, case.call.message());
        }
        self.write_audit(&entry)
    }

    fn write_audit(&self, entry: &Entry<'_>) -> bool {
        let written = self.office.audit.borrow_mut().write(entry);
        self.office.metrics.line(entry, written.is_ok());
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
        let (call, server) = (self.office.next_call(), self.server.as_deref());
        // What is refused needs no log line to be safe; that it is missing was said.
        self.write_audit(&unreadable(call, server, line, why));
    }

    /// Like [`Mediator::refuse`], with an error for `id`.
    pub(crate) async fn refuse_one(&self, line: &[u8], id: Option<&[u8]>, code: i32, why: &str) {
        let answer = jsonrpc::error(id.unwrap_or(b"null"), code, why, None);
        self.refuse(line, &answer, why).await;
    }
}

/// The line about a message that holds no call that can be judged.
pub(crate) fn unreadable<'a>(
    call: u64,
    server: Option<&'a str>,
    line: &'a [u8],
    why: &'a str,
) -> Entry<'a> {
    Entry {
        call,
        server,
        tool: None,
        judged_as: None,
        arguments: Arguments::Garbage(line),
        verdict: Verdict::Deny,
        contract: Stage::Malformed,
        code: "malformed",
        reason: why,
        at: None,
        grounds: None,
        forgotten: 0,
        approval: None,
        outcome: Outcome::Blocked,
        latency: Duration::ZERO,
    }
}
