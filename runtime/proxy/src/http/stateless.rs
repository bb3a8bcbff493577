//! Requests of clients that have no sessions.

use crate::conversation::envelope::{FromClient, Id};
use crate::http::answers;
use crate::http::answers::HttpResponse;
use crate::http::early::{EarlyAnswer, SOON, not_opened};
use crate::http::modern::{
    MetaError, RequestMeta, RetryOutcome, RetryRefused, RoundTrips, discovered,
    mirrored_headers_agree, raw_token, respell,
};
use crate::http::registry::{NotOpened, SessionRegistry};
use crate::http::session::HttpSession;
use crate::http::stream::Receiver;
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use bouncer_mcp::splice::whole_member;
use bouncer_mcp::version::VERSIONS;
use bouncer_mcp::version::{MISSING_CAPABILITY, TASK_METHODS, TASKS};
use bouncer_mcp::version::{MODERN, UNSUPPORTED_VERSION};
use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::time::timeout;

/// A request, and whose it is.
pub(super) struct IncomingRequest<'a> {
    pub registry: &'a Rc<SessionRegistry>,
    pub principal: &'a str,
    pub headers: &'a HeaderMap,
    pub line: &'a [u8],
}

/// Takes a message whose `_meta` names a version of its own.
pub(super) async fn post(
    asked: IncomingRequest<'_>,
    frames: &mut FrameReader,
    message: &FromClient<'_>,
) -> EarlyAnswer<HttpResponse> {
    let called;
    let (id, method, params) = match message {
        FromClient::Call { id: Some(id), .. } => {
            let frame = frames.read(asked.line).ok();
            called = frame.and_then(|frame| frame.method()).and_then(text);
            let params = frame.and_then(|frame| frame.params());
            (id, called.as_deref().unwrap_or_default(), params)
        }
        FromClient::Request {
            id, method, params, ..
        } => (id, method.as_str(), *params),
        FromClient::Notification { .. } => return Ok(answers::empty(StatusCode::ACCEPTED)),
        FromClient::Refused(refusal) => {
            // A method that this version does not have is none, whatever is wrong with it.
            let method = frames
                .read(asked.line)
                .ok()
                .and_then(|frame| frame.method());
            if let Some(method) = method.and_then(text)
                && is_gone(&method)
            {
                return Ok(gone(refusal.id, &method));
            }
            let status = StatusCode::BAD_REQUEST;
            return Ok(answers::error(
                status,
                refusal.id,
                refusal.code,
                &refusal.why,
            ));
        }
        _ => {
            let why = "the body has to be a request";
            let status = StatusCode::BAD_REQUEST;
            return Ok(answers::error(status, None, INVALID_REQUEST, why));
        }
    };
    let request_meta = match RequestMeta::read(frames, asked.headers, method, params) {
        Ok(request_meta) => request_meta,
        Err(wrong) => return Ok(turned_away(id, &wrong)),
    };
    if TASK_METHODS.contains(&method) && !request_meta.knows_tasks() {
        return Ok(without_tasks(id));
    }
    if asked.registry.draining.get() {
        let why = "the gateway is about to stop";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    }
    if asked.registry.open_requests(asked.principal) >= asked.registry.limits.requests {
        let why = "too many requests wait for an answer";
        let status = StatusCode::TOO_MANY_REQUESTS;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    }
    let (session, rounds) = conversation(&asked, &request_meta).await?;
    session.touch();
    match method {
        "server/discover" => Ok(discover(id, &rounds)),
        "subscriptions/listen" => listen(&session, &rounds, id, params, &request_meta).await,
        _ if is_gone(method) => Ok(gone(Some(id.raw), method)),
        _ => request(&asked, frames, &session, &rounds, id, params, request_meta).await,
    }
}

/// Whether a method is one that only earlier versions have.
fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
    )
}

fn gone(id: Option<&[u8]>, method: &str) -> HttpResponse {
    let why = format!("version {MODERN} of the protocol has no `{method}`");
    answers::error(StatusCode::NOT_FOUND, id, METHOD_NOT_FOUND, &why)
}

fn turned_away(id: &Id<'_>, wrong: &MetaError) -> HttpResponse {
    let data = (wrong.code == UNSUPPORTED_VERSION)
        .then(|| json!({"supported": spoken(), "requested": wrong.version}));
    let body = jsonrpc::error(id.raw, wrong.code, &wrong.why, data);
    answers::refusal(StatusCode::BAD_REQUEST, body, &wrong.why)
}

/// The answer to who asks about tasks and does not say that it knows them.
fn without_tasks(id: &Id<'_>) -> HttpResponse {
    let why = format!("the request needs the capability `{TASKS}` among its `extensions`");
    let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    let body = jsonrpc::error(id.raw, MISSING_CAPABILITY, &why, Some(data));
    answers::refusal(StatusCode::BAD_REQUEST, body, &why)
}

fn spoken() -> Vec<&'static str> {
    [&[MODERN], VERSIONS.as_slice()].concat()
}

/// The conversation that a request belongs to; the first opens it.
async fn conversation(
    asked: &IncomingRequest<'_>,
    request_meta: &RequestMeta,
) -> EarlyAnswer<(Rc<HttpSession>, Rc<RoundTrips>)> {
    let (registry, principal) = (asked.registry, asked.principal);
    // No session id can hold this separator.
    let key = format!("{principal}\n{}", request_meta.conversation);
    let session = match registry.find(&key, principal) {
        Some(session) => session,
        None => registry
            .open_named(principal, key.clone())
            .map_err(not_opened)?,
    };
    let Some(rounds) = session.rounds.clone() else {
        return Err(not_opened(NotOpened::Failed));
    };
    // A client that hangs up meanwhile must not leave half an introduction behind: a
    // conversation has one only.
    let introduced = tokio::task::spawn_local({
        let (session, rounds) = (Rc::clone(&session), Rc::clone(&rounds));
        let (capabilities, client) = (
            request_meta.capabilities.clone(),
            request_meta.client.clone(),
        );
        async move {
            let hello = || introduce(&session, &rounds, &capabilities, client);
            rounds.introduction.get_or_try_init(hello).await.is_ok()
        }
    });
    if !introduced.await.unwrap_or_default() {
        registry.close(&key);
        return Err(not_opened(NotOpened::Failed));
    }
    Ok((session, rounds))
}

/// Introduces the client to the gateway, as one of an older version.
async fn introduce(
    session: &Rc<HttpSession>,
    rounds: &Rc<RoundTrips>,
    capabilities: &Value,
    client: Option<Value>,
) -> Result<Value, ()> {
    let inner = rounds.next_id();
    let unknown = || json!({"name": "unknown", "version": "0"});
    let hello = json!({"jsonrpc": "2.0", "id": inner, "method": "initialize", "params": {
        "protocolVersion": VERSIONS.first(),
        "capabilities": capabilities,
        "clientInfo": client.unwrap_or_else(unknown),
    }});
    let own = RequestMeta {
        method: "initialize".to_owned(),
        capabilities: json!({}),
        client: None,
        level: None,
        conversation: String::new(),
    };
    let raw = json!(inner).to_string();
    let mut receiver = rounds.begin(
        &session.channel,
        &inner,
        (raw.as_bytes(), None),
        own,
        [0; 32],
    );
    session.say(hello.to_string().as_bytes()).await;
    let answer = receiver.next().await.ok_or(())?;
    let mut answer: Value = serde_json::from_slice(&answer.line).map_err(|_| ())?;
    let result = answer.get_mut("result").map(Value::take).ok_or(())?;
    session
        .say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    Ok(result)
}

fn discover(id: &Id<'_>, rounds: &RoundTrips) -> HttpResponse {
    let nothing = Value::Null;
    let introduction = rounds.introduction.get().unwrap_or(&nothing);
    let result = discovered(introduction, &spoken());
    answers::json(StatusCode::OK, answer(id.raw, &result))
}

fn answer(id: &[u8], result: &Value) -> Vec<u8> {
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    line.extend_from_slice(id);
    line.extend_from_slice(format!(r#","result":{result}}}"#).as_bytes());
    line
}

async fn listen(
    session: &Rc<HttpSession>,
    rounds: &Rc<RoundTrips>,
    id: &Id<'_>,
    params: Option<&[u8]>,
    request_meta: &RequestMeta,
) -> EarlyAnswer<HttpResponse> {
    let params: Option<Value> = params.and_then(|raw| serde_json::from_slice(raw).ok());
    let filter = params
        .as_ref()
        .and_then(|params| params.get("notifications")?.as_object());
    let Some(filter) = filter else {
        let why = "`subscriptions/listen` needs `notifications`, an object";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INVALID_PARAMS, why));
    };
    // Tasks are not listened to here, which the acknowledgement says; but who cannot take
    // one must hear that.
    if filter.contains_key("taskIds") && !request_meta.knows_tasks() {
        return Ok(without_tasks(id));
    }
    let Some((receiver, resources)) = rounds.subscribe(&session.channel, id.raw, filter) else {
        let why = "too many streams of changes are open";
        let status = StatusCode::TOO_MANY_REQUESTS;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    };
    for uri in resources {
        let inner = rounds.next_id();
        let line = json!({"jsonrpc": "2.0", "id": inner, "method": "resources/subscribe",
            "params": {"uri": uri}});
        session.say(line.to_string().as_bytes()).await;
    }
    Ok(answers::events(None, receiver))
}

async fn request(
    asked: &IncomingRequest<'_>,
    frames: &mut FrameReader,
    session: &Rc<HttpSession>,
    rounds: &Rc<RoundTrips>,
    id: &Id<'_>,
    params: Option<&[u8]>,
    request_meta: RequestMeta,
) -> EarlyAnswer<HttpResponse> {
    let token = raw_token(frames, params);
    let params_raw = params.unwrap_or(b"{}");
    let names = ["name", "arguments", "requestState", "inputResponses"];
    // Not with a reader that gives up at a number it has no type for: what it does not see
    // would go on to the server.
    let read = frames.members(params_raw, names).ok();
    let whole = read.zip(digest(&request_meta.method, params_raw));
    let Some(([name, arguments, state, responses], digest)) = whole else {
        let why = "the parameters cannot be read";
        session.note_refused(asked.line, why);
        let answer = answers::error(StatusCode::OK, Some(id.raw), INVALID_PARAMS, why);
        return Ok(answers::logged(answer));
    };
    // With a state, what is no reply is one that approves nothing.
    if state.is_none() && responses.is_some_and(|raw| !are_replies(raw)) {
        let why = "`inputResponses` has to be an object, and so does each reply in it";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INVALID_PARAMS, why));
    }
    if request_meta.method == "tools/call"
        && let Err(wrong) =
            mirrored_headers_agree(&rounds.mirrored.borrow(), asked.headers, name, arguments)
    {
        session.note_refused(asked.line, &wrong.why);
        return Ok(answers::logged(turned_away(id, &wrong)));
    }
    if let Some(state) = state {
        let responses = responses.unwrap_or(b"{}");
        let responses: Option<Map<String, Value>> = serde_json::from_slice(responses).ok();
        let again = match text(state).zip(responses) {
            Some((state, responses)) => rounds.again(
                &session.channel,
                &state,
                &responses,
                (id.raw, token),
                request_meta,
                digest,
            ),
            None => Err(RetryRefused(
                "replies need the `requestState` that came with what was asked, a text, and `inputResponses`, an object",
            )),
        };
        return match again {
            Ok(RetryOutcome::Waits(receiver)) => {
                let receiver = receiver.holding(asked.registry.ticket(asked.principal));
                Ok(wait(frames, receiver, id).await)
            }
            Ok(RetryOutcome::Now(line)) => Ok(respelled(frames, &line, id)),
            Err(RetryRefused(why)) => {
                session.note_refused(asked.line, why);
                let status = StatusCode::OK;
                let answer = answers::error(status, Some(id.raw), INVALID_PARAMS, why);
                Ok(answers::logged(answer))
            }
        };
    }
    if let Some(level) = request_meta
        .level
        .as_ref()
        .filter(|level| rounds.changes_level(level))
    {
        let inner = rounds.next_id();
        let line = json!({"jsonrpc": "2.0", "id": inner, "method": "logging/setLevel",
            "params": {"level": level}});
        session.say(line.to_string().as_bytes()).await;
    }
    let inner = rounds.next_id();
    let raw = json!(inner).to_string();
    // Replies to what nobody asked are left out. Those to a task are what such a request
    // is for.
    let params = params.filter(|_| request_meta.method != "tasks/update");
    let replies = params.and_then(|params| {
        let [replies] = frames.members(params, ["inputResponses"]).ok()?;
        whole_member(params, replies?)
    });
    let Some(line) = respell(asked.line, id.raw, token, raw.as_bytes(), replies) else {
        let why = "the message cannot be rewritten";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    };
    let receiver = rounds
        .begin(
            &session.channel,
            &inner,
            (id.raw, token),
            request_meta,
            digest,
        )
        .holding(asked.registry.ticket(asked.principal));
    session.say(&line).await;
    Ok(wait(frames, receiver, id).await)
}

/// Whether these are replies: an object of objects.
fn are_replies(raw: &[u8]) -> bool {
    let all: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_slice(raw);
    all.is_ok_and(|all| all.values().all(|reply| reply.get().starts_with('{')))
}

/// What makes a request the same request. `None`: the parameters are no object.
fn digest(method: &str, params: &[u8]) -> Option<[u8; 32]> {
    let mut rest: BTreeMap<String, &RawValue> = serde_json::from_slice(params).ok()?;
    for changing in ["_meta", "requestState", "inputResponses"] {
        rest.remove(changing);
    }
    // Objects are kept sorted, so that the order of members does not count; but what holds a
    // number that has no type counts as it was spelled.
    let rest = rest.into_iter().map(|(name, raw)| {
        let value: Option<Value> = serde_json::from_str(raw.get()).ok();
        let spelled = || json!({"spelled": raw.get()});
        json!([name, value.is_some(), value.unwrap_or_else(spelled)])
    });
    let text = json!([method, rest.collect::<Vec<_>>()]).to_string();
    Some(*blake3::hash(text.as_bytes()).as_bytes())
}

async fn wait(frames: &mut FrameReader, mut receiver: Receiver, id: &Id<'_>) -> HttpResponse {
    match timeout(SOON, receiver.next()).await {
        Ok(Some(message)) if message.last => {
            answers::json(status(frames, &message.line), message.line)
        }
        Ok(Some(message)) => answers::events(Some(message), receiver),
        Ok(None) => {
            let why = "the conversation has ended, or the client cannot be asked any more: make the request again";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            answers::logged(answers::error(status, Some(id.raw), INTERNAL_ERROR, why))
        }
        Err(_) => answers::events(None, receiver),
    }
}

/// An answer that was kept, under the id of the request that fetches it.
fn respelled(frames: &mut FrameReader, line: &[u8], id: &Id<'_>) -> HttpResponse {
    let old = frames.read(line).ok().and_then(|frame| frame.id());
    let line = old.and_then(|old| respell(line, old, None, id.raw, None));
    let line = line.unwrap_or_default();
    answers::json(status(frames, &line), line)
}

/// Some errors have a status of their own.
fn status(frames: &mut FrameReader, line: &[u8]) -> StatusCode {
    let error = frames.read(line).ok().and_then(|frame| frame.error());
    let code = error.and_then(|error| frames.members(error, ["code"]).ok()?[0]);
    match code.and_then(|code| serde_json::from_slice(code).ok()) {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(MISSING_CAPABILITY) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Only for messages that name a version: everything else is of an older client.
pub(super) fn is_modern(frames: &mut FrameReader, headers: &HeaderMap, line: &[u8]) -> bool {
    let named = headers.get("mcp-protocol-version");
    crate::http::modern::version(frames, line).is_some()
        || named.is_some_and(|version| version.as_bytes() == MODERN.as_bytes())
        || frames
            .read(line)
            .ok()
            .and_then(|frame| frame.method().and_then(text))
            .is_some_and(|method| method == "server/discover")
}
