//! Answers to requests that go no further.

use crate::http::answers;
use crate::http::answers::HttpResponse;
use crate::http::registry::NotOpened;
use bouncer_mcp::jsonrpc::INTERNAL_ERROR;
use hyper::StatusCode;
use std::time::Duration;

/// An answer that takes longer is a stream, so that nobody takes the silence for the end.
pub(super) const SOON: Duration = Duration::from_millis(1000);

/// An early answer.
pub(super) type EarlyAnswer<T> = Result<T, Box<HttpResponse>>;

pub(super) fn answer_early<T>(status: StatusCode, code: i32, why: &str) -> EarlyAnswer<T> {
    Err(Box::new(answers::error(status, None, code, why)))
}

/// Why no conversation is opened.
pub(super) fn not_opened(why: NotOpened) -> Box<HttpResponse> {
    let (status, why) = match why {
        NotOpened::Full => (
            StatusCode::SERVICE_UNAVAILABLE,
            "there are too many conversations: come back later",
        ),
        NotOpened::TooMany => (
            StatusCode::TOO_MANY_REQUESTS,
            "you have too many conversations: end one, or come back later",
        ),
        NotOpened::Failed => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "no conversation can be opened",
        ),
    };
    Box::new(answers::error(status, None, INTERNAL_ERROR, why))
}
