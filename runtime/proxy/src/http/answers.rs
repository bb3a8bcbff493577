//! HTTP answers, and what all of them have in common.

use crate::http::stream::{Receiver, ResponseBody};
use bouncer_mcp::jsonrpc;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};

/// An answer.
pub(super) type HttpResponse = Response<ResponseBody>;

const NO_SNIFFING: HeaderName = HeaderName::from_static("x-content-type-options");
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

fn with(status: StatusCode, kind: Option<&'static str>, body: ResponseBody) -> HttpResponse {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(NO_SNIFFING, HeaderValue::from_static("nosniff"));
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    answer
}

/// Nothing but a status.
pub(super) fn empty(status: StatusCode) -> HttpResponse {
    with(status, None, ResponseBody::Whole(None))
}

/// One JSON text.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    with(
        status,
        Some("application/json"),
        ResponseBody::Whole(Some(body.into())),
    )
}

/// Why a message goes no further, as long as nothing of it stands in the audit log.
#[derive(Clone, Debug)]
struct Unlogged(String);

/// A JSON-RPC error for what goes no further; `id` as it was spelled, if it is known.
pub(super) fn error(status: StatusCode, id: Option<&[u8]>, code: i32, why: &str) -> HttpResponse {
    let body = jsonrpc::error(id.unwrap_or(b"null"), code, why, None);
    refusal(status, body, why)
}

/// The same, with a body of its own.
pub(super) fn refusal(status: StatusCode, body: Vec<u8>, why: &str) -> HttpResponse {
    let mut answer = json(status, body);
    answer.extensions_mut().insert(Unlogged(why.to_owned()));
    let headers = answer.headers_mut();
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    answer
}

/// Why the message was refused that `answer` answers, unless that was logged; from now on
/// it counts as logged.
pub(super) fn take_unlogged(answer: &mut HttpResponse) -> Option<String> {
    let unlogged = answer.extensions_mut().remove::<Unlogged>();
    unlogged.map(|Unlogged(why)| why)
}

/// The answer to a message that stands in the audit log already.
pub(super) fn logged(mut answer: HttpResponse) -> HttpResponse {
    answer.extensions_mut().remove::<Unlogged>();
    answer
}

/// Events as they come.
pub(super) fn events(
    first: Option<crate::http::stream::Message>,
    receiver: Receiver,
) -> HttpResponse {
    stream(ResponseBody::events(first, receiver))
}

fn stream(body: ResponseBody) -> HttpResponse {
    let mut answer = with(StatusCode::OK, Some("text/event-stream"), body);
    let headers = answer.headers_mut();
    let value = HeaderValue::from_static("no-cache, no-transform");
    headers.insert(CACHE_CONTROL, value);
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    answer
}

/// Lets a page of that origin read the answer, and ask with the headers of the protocol.
pub(super) fn readable(answer: &mut HttpResponse, origin: HeaderValue) {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, DELETE"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (ACCESS_CONTROL_EXPOSE_HEADERS, "mcp-session-id"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
