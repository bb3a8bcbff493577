//! What clients ask of the endpoint: messages (POST), the stream of all that belongs to
//! no request (GET), and the end of a session (DELETE).

use crate::conversation::envelope::{FromClient, Id, classify};
use crate::http::answers;
use crate::http::answers::HttpResponse;
use crate::http::early::{EarlyAnswer, SOON, answer_early, not_opened};
use crate::http::guard::only;
use crate::http::registry::SessionRegistry;
use crate::http::session::HttpSession;
use crate::http::stateless;
use crate::http::stateless::IncomingRequest;
use crate::http::stream::{EventId, InFlight};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR};
use bouncer_mcp::params::progress_key;
use bouncer_mcp::version::MODERN;
use bouncer_mcp::version::VERSIONS;
use bouncer_reader::json::{Limits as JsonLimits, Scratch, validate_object};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::{Method, Request, StatusCode};
use serde_json::value::RawValue;
use std::rc::Rc;
use tokio::time::timeout;

/// The only place that requests go to.
const PATH: &str = "/mcp";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Answers one request.
pub(super) async fn handle(
    registry: Rc<SessionRegistry>,
    request: Request<Incoming>,
) -> HttpResponse {
    let reader = registry.guard.reader(request.headers()).cloned();
    let mut answer = match admitted(&registry, request).await {
        Ok(answer) => answer,
        Err(answer) => *answer,
    };
    if let Some(reader) = reader {
        answers::readable(&mut answer, reader);
    }
    answer
}

async fn admitted(
    registry: &Rc<SessionRegistry>,
    request: Request<Incoming>,
) -> EarlyAnswer<HttpResponse> {
    let target = request.uri().authority().map(|target| target.as_str());
    if let Err((status, why)) = registry.guard.place(request.headers(), target) {
        return answer_early(status, INVALID_REQUEST, why);
    }
    // Browsers ask first whether a page may ask, without saying who asks.
    if *request.method() == Method::OPTIONS && registry.guard.reader(request.headers()).is_some() {
        return Ok(answers::empty(StatusCode::NO_CONTENT));
    }
    let principal = match registry.guard.who(request.headers()) {
        Ok(principal) => principal.to_owned(),
        Err((status, why)) => return answer_early(status, INVALID_REQUEST, why),
    };
    let path = request.uri().path();
    if path.strip_suffix('/').unwrap_or(path) != PATH {
        let why = "there is nothing here: the endpoint is `/mcp`";
        return answer_early(StatusCode::NOT_FOUND, INVALID_REQUEST, why);
    }
    if *request.method() == Method::POST {
        return post(registry, &principal, request).await;
    }
    let rounds = only(request.headers(), &VERSION) == Some(MODERN);
    if !rounds {
        check_version(request.headers())?;
    }
    match *request.method() {
        // Versions without sessions have no such requests.
        Method::GET | Method::DELETE if rounds => Ok(not_allowed("POST")),
        Method::GET => {
            let (_, session) = session(registry, &principal, request.headers())?;
            if !accepts(request.headers(), "text/event-stream") {
                let why = "the request has to accept `text/event-stream`";
                return answer_early(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, why);
            }
            session.touch();
            let last = only(request.headers(), &LAST_EVENT).and_then(EventId::parse);
            let again = last.and_then(|last| session.resume(last));
            let receiver = again.unwrap_or_else(|| session.listen());
            Ok(answers::events(None, receiver))
        }
        Method::DELETE => {
            let (key, _) = session(registry, &principal, request.headers())?;
            registry.close(&key);
            Ok(answers::empty(StatusCode::NO_CONTENT))
        }
        _ => Ok(not_allowed("POST, GET, DELETE")),
    }
}

fn not_allowed(allowed: &'static str) -> HttpResponse {
    let why = format!("the endpoint takes {allowed}");
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut answer = answers::error(status, None, INVALID_REQUEST, &why);
    let allowed = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

fn check_version(headers: &HeaderMap) -> EarlyAnswer<()> {
    if !headers.contains_key(VERSION) {
        return Ok(());
    }
    match only(headers, &VERSION) {
        Some(version) if VERSIONS.contains(&version) => Ok(()),
        _ => answer_early(
            StatusCode::BAD_REQUEST,
            INVALID_REQUEST,
            "the version of the protocol in `MCP-Protocol-Version` is not known",
        ),
    }
}

/// The session that a request belongs to.
fn session(
    registry: &SessionRegistry,
    principal: &str,
    headers: &HeaderMap,
) -> EarlyAnswer<(String, Rc<HttpSession>)> {
    if !headers.contains_key(SESSION) {
        let why = "the request needs a header `Mcp-Session-Id`: send `initialize` first";
        return answer_early(StatusCode::BAD_REQUEST, INVALID_REQUEST, why);
    }
    let key = only(headers, &SESSION).unwrap_or_default();
    // Another's session and none at all look the same.
    match registry.find(key, principal) {
        Some(session) => Ok((key.to_owned(), session)),
        None => answer_early(
            StatusCode::NOT_FOUND,
            INVALID_REQUEST,
            "there is no such session: send `initialize` without a session",
        ),
    }
}

/// Whether the client takes answers of that kind.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let group = kind.split('/').next().unwrap_or_default();
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .peekable();
    if ranges.peek().is_none() {
        return true;
    }
    ranges.any(|range| {
        range.eq_ignore_ascii_case(kind)
            || range == "*/*"
            || range
                .strip_suffix("/*")
                .is_some_and(|g| g.eq_ignore_ascii_case(group))
    })
}

/// Takes a message. Whatever of it is refused here and may be a call is logged here: what
/// is behind this does not hear of it.
async fn post(
    registry: &Rc<SessionRegistry>,
    principal: &str,
    request: Request<Incoming>,
) -> EarlyAnswer<HttpResponse> {
    let (head, body) = request.into_parts();
    let mut line = Vec::new();
    let message = message(registry, principal, &head.headers, body, &mut line).await;
    let mut answer = message.unwrap_or_else(|answer| *answer);
    if let Some(why) = answers::take_unlogged(&mut answer)
        && may_be_a_call(registry, &line)
    {
        match session(registry, principal, &head.headers) {
            Ok((_, session)) => session.note_refused(&line, &why),
            Err(_) => registry.note_refused(principal, &line, &why),
        }
    }
    Ok(answer)
}

/// Whether a refused message is a call, or may be one: what cannot be read may.
fn may_be_a_call(registry: &SessionRegistry, line: &[u8]) -> bool {
    let mut frames = FrameReader::new(registry.settings.max_message);
    match classify(&mut frames, None, line) {
        FromClient::Request { .. } | FromClient::Notification { .. } => false,
        FromClient::Answer { .. } => false,
        FromClient::Call { .. } | FromClient::Batch { .. } | FromClient::Blank => true,
        FromClient::Refused(refusal) => !refusal.answer,
    }
}

/// Takes a message; what was read of it is left in `read`.
async fn message(
    registry: &Rc<SessionRegistry>,
    principal: &str,
    headers: &HeaderMap,
    body: Incoming,
    read: &mut Vec<u8>,
) -> EarlyAnswer<HttpResponse> {
    let kind = only(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let why = "the body has to be `application/json`";
        return answer_early(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, why);
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        let why = "the request has to accept `application/json` and `text/event-stream`";
        return answer_early(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, why);
    }
    *read = body_line(registry, headers, body, read).await?;
    let line = &*read;
    let mut frames = FrameReader::new(registry.settings.max_message);
    let message = classify(&mut frames, None, line);
    if stateless::is_modern(&mut frames, headers, line) {
        let asked = IncomingRequest {
            registry,
            principal,
            headers,
            line,
        };
        return stateless::post(asked, &mut frames, &message).await;
    }
    check_version(headers)?;
    let id = match &message {
        FromClient::Call { id, .. } => id.clone(),
        FromClient::Request { id, .. } => Some(id.clone()),
        FromClient::Notification { .. } | FromClient::Answer { .. } => None,
        FromClient::Blank => {
            return answer_early(StatusCode::BAD_REQUEST, PARSE_ERROR, "the body is empty");
        }
        FromClient::Batch { .. } => {
            let why = "batches are not forwarded: send each message by itself";
            return refused(registry, principal, headers, None, INVALID_REQUEST, why);
        }
        FromClient::Refused(refusal) => {
            let (id, code) = (refusal.id, refusal.code);
            return refused(registry, principal, headers, id, code, &refusal.why);
        }
    };
    let introduces =
        matches!(&message, FromClient::Request { method, .. } if method == "initialize");
    let answers = matches!(&message, FromClient::Answer { .. });
    if registry.draining.get() && (id.is_some() || !answers) {
        let why = "the gateway is about to stop";
        return answer_early(StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, why);
    }
    if introduces && !headers.contains_key(SESSION) {
        return begin(registry, principal, line, id.as_ref()).await;
    }
    let (_, session) = session(registry, principal, headers)?;
    let Some(id) = id else {
        session.say(line).await;
        return Ok(answers::empty(StatusCode::ACCEPTED));
    };
    if registry.open_requests(principal) >= registry.limits.requests {
        let why = "too many requests wait for an answer";
        return answer_early(StatusCode::TOO_MANY_REQUESTS, INTERNAL_ERROR, why);
    }
    let token = token(&mut frames, line);
    ask(&session, line, &id, token, registry.ticket(principal)).await
}

/// A message that is not forwarded, whoever sent it.
fn refused(
    registry: &SessionRegistry,
    principal: &str,
    headers: &HeaderMap,
    id: Option<&[u8]>,
    code: i32,
    why: &str,
) -> EarlyAnswer<HttpResponse> {
    session(registry, principal, headers)?;
    let status = StatusCode::BAD_REQUEST;
    Ok(answers::error(status, id, code, why))
}

/// The body, as one line.
async fn body_line(
    registry: &SessionRegistry,
    headers: &HeaderMap,
    body: Incoming,
    read: &mut Vec<u8>,
) -> EarlyAnswer<Vec<u8>> {
    let limit = registry.settings.max_message;
    let said = only(headers, &CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    let too_long = || {
        let why = "the message is longer than the limit";
        answer_early(StatusCode::PAYLOAD_TOO_LARGE, PARSE_ERROR, why)
    };
    if said.is_some_and(|length| length > limit) {
        return too_long();
    }
    let whole = Limited::new(body, limit).collect();
    let bytes = match timeout(registry.limits.reading, whole).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return too_long(),
        Ok(Err(_)) => {
            let why = "the body broke off";
            return answer_early(StatusCode::BAD_REQUEST, PARSE_ERROR, why);
        }
        Err(_) => {
            let why = "the body took too long";
            return answer_early(StatusCode::REQUEST_TIMEOUT, PARSE_ERROR, why);
        }
    };
    let bytes = plain(bytes);
    let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !bytes.iter().any(breaks) {
        return Ok(bytes.into());
    }
    // Line breaks between the parts of a JSON text mean nothing; inside a string they
    // are a mistake, which is not to be mended in passing.
    let limits = JsonLimits {
        max_bytes: limit,
        ..JsonLimits::default()
    };
    let mut scratch = Scratch::new(&limits);
    let start = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if start == Some(&b'{')
        && let Err(why) = validate_object(&bytes, &limits, &mut scratch)
    {
        let why = format!("the message is not forwarded: {why}");
        *read = bytes.into();
        return answer_early(StatusCode::BAD_REQUEST, PARSE_ERROR, &why);
    }
    let space = |byte: &u8| if breaks(byte) { b' ' } else { *byte };
    Ok(bytes.iter().map(space).collect())
}

/// A body without what libraries put around a message: a mark of the order of bytes, and an
/// array that holds only that message.
fn plain(body: Bytes) -> Bytes {
    let marked = body.starts_with("\u{feff}".as_bytes());
    let body = if marked { body.slice(3..) } else { body };
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'[') {
        return body;
    }
    match serde_json::from_slice::<Vec<&RawValue>>(&body).as_deref() {
        Ok([only]) => body.slice_ref(only.get().as_bytes()),
        _ => body,
    }
}

fn token(frames: &mut FrameReader, line: &[u8]) -> Option<Key> {
    let params = frames.read(line).ok()?.params();
    progress_key(frames, params)
}

/// The introduction: begins a session.
async fn begin(
    registry: &Rc<SessionRegistry>,
    principal: &str,
    line: &[u8],
    id: Option<&Id<'_>>,
) -> EarlyAnswer<HttpResponse> {
    let (key, session) = registry.open(principal).map_err(not_opened)?;
    let Some(id) = id else {
        registry.close(&key);
        return answer_early(
            StatusCode::BAD_REQUEST,
            INVALID_REQUEST,
            "`initialize` needs an id",
        );
    };
    let Ok(mut receiver) = session.wait(id.key.clone(), None) else {
        return answer_early(StatusCode::BAD_REQUEST, INVALID_REQUEST, "the id is in use");
    };
    session.say(line).await;
    let message = receiver.next().await;
    let introduced = message.as_ref().is_some_and(|message| {
        let mut frames = FrameReader::new(registry.settings.max_message.saturating_mul(3));
        let frame = frames.read(&message.line);
        frame.is_ok_and(|frame| frame.result().is_some())
    });
    let Some(message) = message else {
        let why = "the conversation ended before it began";
        return answer_early(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, why);
    };
    let mut answer = answers::json(StatusCode::OK, message.line);
    if introduced {
        if let Ok(mut key) = HeaderValue::from_str(&key) {
            key.set_sensitive(true);
            answer.headers_mut().insert(SESSION, key);
        }
    } else {
        registry.close(&key);
    }
    Ok(answer)
}

/// A request of a session.
async fn ask(
    session: &Rc<HttpSession>,
    line: &[u8],
    id: &Id<'_>,
    token: Option<Key>,
    ticket: InFlight,
) -> EarlyAnswer<HttpResponse> {
    let Ok(receiver) = session.wait(id.key.clone(), token) else {
        let why = "the message is not forwarded: its id is in use";
        let status = StatusCode::BAD_REQUEST;
        return Ok(answers::error(status, Some(id.raw), INVALID_REQUEST, why));
    };
    let mut receiver = receiver.holding(ticket);
    session.say(line).await;
    match timeout(SOON, receiver.next()).await {
        Ok(Some(message)) if message.last => Ok(answers::json(StatusCode::OK, message.line)),
        Ok(Some(message)) => Ok(answers::events(Some(message), receiver)),
        Ok(None) => {
            let why = "the session has ended";
            let status = StatusCode::NOT_FOUND;
            let answer = answers::error(status, Some(id.raw), INTERNAL_ERROR, why);
            Ok(answers::logged(answer))
        }
        Err(_) => Ok(answers::events(None, receiver)),
    }
}
