//! Puts a question to the human behind the client, as an MCP form elicitation, and waits.

use crate::approval::prompt::{request, yes};
use crate::conversation::call::{Asker, CallContext};
use crate::conversation::judge::Judge;
use crate::conversation::related::{RelatedRequest, RelatedRequests};
use crate::session::mediator::Mediator;
use crate::session::open_requests::PendingCall;
use bouncer_engine::gate::VerdictRecord;
use bouncer_mcp::id::Key;
use serde_json::json;

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptOutcome {
    /// A clear yes; to whatever is sent to a destination in this conversation, if that was said.
    Approved(bool),
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
    fn note(asks: &'a RelatedRequests, id: &'a str, request: Option<Key>) -> Self {
        if let Some(request) = request {
            let related = RelatedRequest {
                request,
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
    /// The request of the client that a question belongs to.
    fn client_request(&self, context: &CallContext<'_>) -> Option<Key> {
        let id = context.id.as_ref()?;
        if !matches!(context.asker, Asker::Server) {
            return Some(id.key.clone());
        }
        // What a server asks is about a call that is under way, where that is known.
        let Key::Text(name) = &id.key else {
            return None;
        };
        let questions = self.questions_about.borrow();
        let related = questions.borrow().get(name).cloned();
        related.map(|related| related.request)
    }

    /// Asks, and waits for the answer, the time-out or the end of the call.
    pub(crate) async fn ask(
        &self,
        message: &str,
        asked: &VerdictRecord,
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
        let asks = AboutCall::note(&self.asks, &id, self.client_request(context));
        let question = request(&id, message, context.call.tool(), asked);
        self.client.push(question.to_string().as_bytes());
        let reply = tokio::select! {
            answer = answer => match answer {
                Ok(Some(result)) => {
                    let yes = yes(&result);
                    return yes.map_or(PromptOutcome::Declined, PromptOutcome::Approved);
                }
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
