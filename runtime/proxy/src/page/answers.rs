//! What every answer of the page carries, whatever it is.

use crate::page::Said;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

/// An answer.
pub(super) type Answer = Response<Full<Bytes>>;

/// Nothing from elsewhere, nothing inline, in no frame; and scripts cannot make HTML of text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

fn with(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A file of the page.
pub(super) fn file(kind: &'static str, text: &'static str) -> Answer {
    with(StatusCode::OK, kind, Bytes::from_static(text.as_bytes()))
}

/// What the site says.
pub(super) fn said(said: Said) -> Answer {
    let status = StatusCode::from_u16(said.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with(status, "application/json", said.body.into())
}

/// Why a request is turned away.
pub(super) fn refused(status: StatusCode, why: &str) -> Answer {
    let mut answer = said(Said::error(status.as_u16(), why));
    if status == StatusCode::UNAUTHORIZED {
        let value = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    answer
}

/// Another method is wanted.
pub(super) fn not_allowed(allowed: &'static str) -> Answer {
    let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, "that method is not taken");
    let allowed = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}
