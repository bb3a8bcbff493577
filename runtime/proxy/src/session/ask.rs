//! Puts a question to the human behind the client, as an MCP form elicitation, and waits.

use crate::approval::prompt::{is_yes, request};
use crate::conversation::call::CallContext;
use crate::conversation::judge::Judge;
use crate::conversation::related::{RelatedRequest, RelatedRequests};
use crate::session::mediator::Mediator;
use crate::session::open_requests::PendingCall;
use serde_json::json;

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptOutcome {
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
struct AboutCall<'a>(&'a RelatedRequests, &'a str);

impl<'a> AboutCall<'a> {
    fn note(asks: &'a RelatedRequests, id: &'a str, context: &CallContext<'_>) -> Self {
        if let Some(request) = &context.id {
            let related = RelatedRequest {
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
    pub(crate) async fn ask(
        &self,
        message: &str,
        context: &CallContext<'_>,
        waiting: &PendingCall,
    ) -> PromptOutcome {
        self.client.room().await;
        if waiting.is_cancelled() {
            return PromptOutcome::Cancelled;
        }
        let id = self.next_ask_id();
        let answer = self.requests.borrow_mut().expect_client(&id);
        // Whoever passes it on has to know which call it is about: a yes to it is none to
        // another.
        let asks = AboutCall::note(&self.asks, &id, context);
        self.client
            .push(request(&id, message).to_string().as_bytes());
        let reply = tokio::select! {
            answer = answer => match answer {
                Ok(Some(result)) if is_yes(&result) => return PromptOutcome::Approved,
                Ok(Some(_)) => return PromptOutcome::Declined,
                Ok(None) => return PromptOutcome::Unasked,
                Err(_) => return PromptOutcome::Gone,
            },
            () = waiting.cancelled() => PromptOutcome::Cancelled,
            () = tokio::time::sleep(self.settings.ask_timeout) => PromptOutcome::TimedOut,
        };
        drop(asks);
        // Whatever is answered now comes too late: close the form.
        self.requests.borrow_mut().forget_client(&id);
        let notice = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the question is not open any more"},
        });
        self.client.push(notice.to_string().as_bytes());
        reply
    }
}
