//! Puts a question to the human behind the client, as an MCP form elicitation, and waits.

use crate::approval::prompt::{is_yes, request};
use crate::conversation::call::Case;
use crate::conversation::judge::Judge;
use crate::conversation::related::{Questions, Related};
use crate::session::mediator::Mediator;
use crate::session::open_requests::Waiting;
use serde_json::json;

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A clear yes.
    Approved,
    /// Anything else that was said.
    Declined,
    /// The client could not ask: it answered with an error.
    Unasked,
    /// Nobody will answer any more.
    Gone,
    /// Nothing was said in time.
    TimedOut,
    /// The client took the call back.
    Cancelled,
}

/// As long as it lives, it is known which call a question is about.
struct AboutCall<'a>(&'a Questions, &'a str);

impl<'a> AboutCall<'a> {
    fn note(asks: &'a Questions, id: &'a str, case: &Case<'_>) -> Self {
        if let Some(request) = &case.id {
            let related = Related {
                request: request.key.clone(),
                name: id.to_owned(),
                of: 1,
            };
            asks.borrow_mut().insert(id.to_owned(), related);
        }
        Self(asks, id)
    }
}

impl Drop for AboutCall<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().remove(self.1);
    }
}

impl<J: Judge> Mediator<J> {
    /// Asks, and waits for the answer, the time-out or the end of the call.
    pub(crate) async fn ask(&self, message: &str, case: &Case<'_>, waiting: &Waiting) -> Reply {
        self.client.room().await;
        if waiting.is_cancelled() {
            return Reply::Cancelled;
        }
        let id = self.next_ask_id();
        let answer = self.table.borrow_mut().expect_client(&id);
        // Whoever passes it on has to know which call it is about: a yes to it is none to
        // another.
        let asks = AboutCall::note(&self.asks, &id, case);
        self.client
            .push(request(&id, message).to_string().as_bytes());
        let reply = tokio::select! {
            answer = answer => match answer {
                Ok(Some(result)) if is_yes(&result) => return Reply::Approved,
                Ok(Some(_)) => return Reply::Declined,
                Ok(None) => return Reply::Unasked,
                Err(_) => return Reply::Gone,
            },
            () = waiting.cancelled() => Reply::Cancelled,
            () = tokio::time::sleep(self.settings.ask_timeout) => Reply::TimedOut,
        };
        drop(asks);
        // Whatever is answered now comes too late: close the form.
        self.table.borrow_mut().forget_client(&id);
        let notice = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the question is not open any more"},
        });
        self.client.push(notice.to_string().as_bytes());
        reply
    }
}
