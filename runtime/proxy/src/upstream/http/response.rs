//! What an answer over HTTP is, before anything of it is passed on: its form, its session, and
//! what a refusal means.

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, Uri};
use serde_json::Value;
use url::Url;

/// The session that a request belongs to.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The longest session id.
const MAX_SESSION: usize = 4096;

/// Whether a refusal means that the server does not know the session.
pub(super) fn is_lost(status: StatusCode, body: &[u8], answered: bool) -> bool {
    let names_it = memchr::memmem::find(&body.to_ascii_lowercase(), b"session").is_some();
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => names_it || !answered,
        StatusCode::BAD_REQUEST => names_it,
        _ => false,
    }
}

/// Whether a server that refuses an introduction so may speak the older transport.
pub(super) const fn may_be_older(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_ACCEPTABLE
    )
}

/// The session that a server gives in answer to an introduction.
pub(super) fn session_of(response: &Response<Incoming>) -> Option<HeaderValue> {
    let session = response.headers().get(&SESSION);
    let session = session.filter(|session| session.len() <= MAX_SESSION);
    session.cloned().map(|mut session| {
        session.set_sensitive(true);
        session
    })
}

/// The version that a server chose: it goes with every later request.
pub(super) fn read_version(result: Option<&[u8]>) -> Option<HeaderValue> {
    let result: Value = serde_json::from_slice(result?).ok()?;
    HeaderValue::from_str(result.get("protocolVersion")?.as_str()?).ok()
}

/// Without a mark of the order of bytes, which some servers put before what they say.
pub(super) fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body)
}

/// Where a server moved a request to, if that is the same place with a slash at its end, or
/// without.
pub(super) fn a_slash_away(from: &Uri, to: &HeaderValue) -> Option<Uri> {
    let base = Url::parse(&from.to_string()).ok()?;
    let to = base.join(to.to_str().ok()?).ok()?;
    let path = |url: &Url| url.path().trim_end_matches('/').to_owned();
    let same = to.origin() == base.origin() && path(&to) == path(&base);
    (same && to.query() == base.query() && to != base)
        .then(|| Uri::try_from(to.as_str()).ok())
        .flatten()
}

/// How a body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Events,
    Other,
}

pub(super) fn form(response: &Response<Incoming>) -> Form {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().map(str::trim) {
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => Form::Json,
        Some(kind) if kind.eq_ignore_ascii_case("text/event-stream") => Form::Events,
        _ => Form::Other,
    }
}

/// The cause at the bottom of an error: what is above repeats itself.
pub(super) fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
