//! Answers to requests that go no further.

use crate::http::answers;
use crate::http::answers::Answer;
use crate::http::registry::NoSeat;
use bouncer_mcp::jsonrpc::INTERNAL_ERROR;
use hyper::StatusCode;
use std::time::Duration;

/// An answer that takes longer is a stream, so that nobody takes the silence for the end.
pub(super) const SOON: Duration = Duration::from_millis(1000);

/// An early answer.
pub(super) type Stop<T> = Result<T, Box<Answer>>;

pub(super) fn stop<T>(status: StatusCode, code: i32, why: &str) -> Stop<T> {
    Err(Box::new(answers::error(status, None, code, why)))
}

/// Why no conversation is opened.
pub(super) fn no_seat(why: NoSeat) -> Box<Answer> {
    let (status, why) = match why {
        NoSeat::Full => (
            StatusCode::SERVICE_UNAVAILABLE,
            "there are too many conversations: come back later",
        ),
        NoSeat::TooMany => (
            StatusCode::TOO_MANY_REQUESTS,
            "you have too many conversations: end one, or come back later",
        ),
        NoSeat::Failed => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "no conversation can be opened",
        ),
    };
    Box::new(answers::error(status, None, INTERNAL_ERROR, why))
}
