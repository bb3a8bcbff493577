//! Requests of clients that have no sessions.

use crate::conversation::envelope::{FromClient, Id};
use crate::http::answers;
use crate::http::answers::Answer;
use crate::http::early::{SOON, Stop, no_seat};
use crate::http::modern::{
    Again, Facts, Modern, Refusal, Wrong, discovered, raw_token, repeats_agree, respell,
};
use crate::http::registry::{Hall, NoSeat};
use crate::http::session::Seat;
use crate::http::stream::Receiver;
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::jsonrpc::METHOD_NOT_FOUND;
use bouncer_mcp::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use bouncer_mcp::splice::member;
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
pub(super) struct Asked<'a> {
    pub hall: &'a Rc<Hall>,
    pub principal: &'a str,
    pub headers: &'a HeaderMap,
    pub line: &'a [u8],
}

/// Takes a message whose `_meta` names a version of its own.
pub(super) async fn post(
    asked: Asked<'_>,
    frames: &mut FrameReader,
    message: &FromClient<'_>,
) -> Stop<Answer> {
    let (id, method, params) = match message {
        FromClient::Call { id: Some(id), .. } => {
            let params = frames
                .read(asked.line)
                .ok()
                .and_then(|frame| frame.params());
            (id, "tools/call", params)
        }
        FromClient::Request {
            id, method, params, ..
        } => (id, method.as_str(), *params),
        FromClient::Notification { .. } => return Ok(answers::empty(StatusCode::ACCEPTED)),
        FromClient::Refused(refusal) => {
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
    let facts = match Facts::read(frames, asked.headers, method, params) {
        Ok(facts) => facts,
        Err(wrong) => return Ok(turned_away(id, &wrong)),
    };
    if TASK_METHODS.contains(&method) && !facts.knows_tasks() {
        return Ok(without_tasks(id));
    }
    if asked.hall.draining.get() {
        let why = "the gateway is about to stop";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    }
    if asked.hall.open_requests(asked.principal) >= asked.hall.limits.requests {
        let why = "too many requests wait for an answer";
        let status = StatusCode::TOO_MANY_REQUESTS;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    }
    let (seat, modern) = conversation(&asked, &facts).await?;
    seat.touch();
    match method {
        "server/discover" => Ok(discover(id, &modern)),
        "subscriptions/listen" => listen(&seat, &modern, id, params, &facts).await,
        "initialize"
        | "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe" => {
            let why = format!("version {MODERN} of the protocol has no `{method}`");
            let status = StatusCode::NOT_FOUND;
            Ok(answers::error(status, Some(id.raw), METHOD_NOT_FOUND, &why))
        }
        _ => request(&asked, frames, &seat, &modern, id, params, facts).await,
    }
}

fn turned_away(id: &Id<'_>, wrong: &Wrong) -> Answer {
    let data = (wrong.code == UNSUPPORTED_VERSION)
        .then(|| json!({"supported": spoken(), "requested": wrong.version}));
    let body = jsonrpc::error(id.raw, wrong.code, &wrong.why, data);
    answers::refusal(StatusCode::BAD_REQUEST, body, &wrong.why)
}

/// The answer to who asks about tasks and does not say that it knows them.
fn without_tasks(id: &Id<'_>) -> Answer {
    let why = format!("the request needs the capability `{TASKS}` among its `extensions`");
    let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    let body = jsonrpc::error(id.raw, MISSING_CAPABILITY, &why, Some(data));
    answers::refusal(StatusCode::BAD_REQUEST, body, &why)
}

fn spoken() -> Vec<&'static str> {
    [&[MODERN], VERSIONS.as_slice()].concat()
}

/// The conversation that a request belongs to; the first opens it.
async fn conversation(asked: &Asked<'_>, facts: &Facts) -> Stop<(Rc<Seat>, Rc<Modern>)> {
    let (hall, principal) = (asked.hall, asked.principal);
    // No session id can hold this separator.
    let key = format!("{principal}\n{}", facts.conversation);
    let seat = match hall.find(&key, principal) {
        Some(seat) => seat,
        None => hall.open_named(principal, key.clone()).map_err(no_seat)?,
    };
    let Some(modern) = seat.modern.clone() else {
        return Err(no_seat(NoSeat::Failed));
    };
    // A client that hangs up meanwhile must not leave half an introduction behind: a
    // conversation has one only.
    let introduced = tokio::task::spawn_local({
        let (seat, modern) = (Rc::clone(&seat), Rc::clone(&modern));
        let (capabilities, client) = (facts.capabilities.clone(), facts.client.clone());
        async move {
            let hello = || introduce(&seat, &modern, &capabilities, client);
            modern.introduction.get_or_try_init(hello).await.is_ok()
        }
    });
    if !introduced.await.unwrap_or_default() {
        hall.close(&key);
        return Err(no_seat(NoSeat::Failed));
    }
    Ok((seat, modern))
}

/// Introduces the client to the gateway, as one of an older version.
async fn introduce(
    seat: &Rc<Seat>,
    modern: &Rc<Modern>,
    capabilities: &Value,
    client: Option<Value>,
) -> Result<Value, ()> {
    let inner = modern.next_id();
    let unknown = || json!({"name": "unknown", "version": "0"});
    let hello = json!({"jsonrpc": "2.0", "id": inner, "method": "initialize", "params": {
        "protocolVersion": VERSIONS.first(),
        "capabilities": capabilities,
        "clientInfo": client.unwrap_or_else(unknown),
    }});
    let own = Facts {
        method: "initialize".to_owned(),
        capabilities: json!({}),
        client: None,
        level: None,
        conversation: String::new(),
    };
    let raw = json!(inner).to_string();
    let mut receiver = modern.begin(&seat.channel, &inner, (raw.as_bytes(), None), own, [0; 32]);
    seat.say(hello.to_string().as_bytes()).await;
    let answer = receiver.next().await.ok_or(())?;
    let mut answer: Value = serde_json::from_slice(&answer.line).map_err(|_| ())?;
    let result = answer.get_mut("result").map(Value::take).ok_or(())?;
    seat.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    Ok(result)
}

fn discover(id: &Id<'_>, modern: &Modern) -> Answer {
    let nothing = Value::Null;
    let introduction = modern.introduction.get().unwrap_or(&nothing);
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
    seat: &Rc<Seat>,
    modern: &Rc<Modern>,
    id: &Id<'_>,
    params: Option<&[u8]>,
    facts: &Facts,
) -> Stop<Answer> {
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
    if filter.contains_key("taskIds") && !facts.knows_tasks() {
        return Ok(without_tasks(id));
    }
    let Some((receiver, resources)) = modern.subscribe(&seat.channel, id.raw, filter) else {
        let why = "too many streams of changes are open";
        let status = StatusCode::TOO_MANY_REQUESTS;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    };
    for uri in resources {
        let inner = modern.next_id();
        let line = json!({"jsonrpc": "2.0", "id": inner, "method": "resources/subscribe",
            "params": {"uri": uri}});
        seat.say(line.to_string().as_bytes()).await;
    }
    Ok(answers::events(None, receiver))
}

async fn request(
    asked: &Asked<'_>,
    frames: &mut FrameReader,
    seat: &Rc<Seat>,
    modern: &Rc<Modern>,
    id: &Id<'_>,
    params: Option<&[u8]>,
    facts: Facts,
) -> Stop<Answer> {
    let token = raw_token(frames, params);
    let params_raw = params.unwrap_or(b"{}");
    let names = ["name", "arguments", "requestState", "inputResponses"];
    // Not with a reader that gives up at a number it has no type for: what it does not see
    // would go on to the server.
    let read = frames.members(params_raw, names).ok();
    let whole = read.zip(digest(&facts.method, params_raw));
    let Some(([name, arguments, state, responses], digest)) = whole else {
        let why = "the parameters cannot be read";
        seat.note_refused(asked.line, why);
        let answer = answers::error(StatusCode::OK, Some(id.raw), INVALID_PARAMS, why);
        return Ok(answers::logged(answer));
    };
    // With a state, what is no reply is one that approves nothing.
    if state.is_none() && responses.is_some_and(|raw| !are_replies(raw)) {
        let why = "`inputResponses` has to be an object, and so does each reply in it";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INVALID_PARAMS, why));
    }
    if facts.method == "tools/call"
        && let Err(wrong) = repeats_agree(&modern.repeats.borrow(), asked.headers, name, arguments)
    {
        seat.note_refused(asked.line, &wrong.why);
        return Ok(answers::logged(turned_away(id, &wrong)));
    }
    if let Some(state) = state {
        let responses = responses.unwrap_or(b"{}");
        let responses: Option<Map<String, Value>> = serde_json::from_slice(responses).ok();
        let again = match text(state).zip(responses) {
            Some((state, responses)) => modern.again(
                &seat.channel,
                &state,
                &responses,
                (id.raw, token),
                facts,
                digest,
            ),
            None => Err(Refusal(
                "replies need the `requestState` that came with what was asked, a text, and `inputResponses`, an object",
            )),
        };
        return match again {
            Ok(Again::Waits(receiver)) => {
                let receiver = receiver.holding(asked.hall.ticket(asked.principal));
                Ok(wait(frames, receiver, id).await)
            }
            Ok(Again::Now(line)) => Ok(respelled(frames, &line, id)),
            Err(Refusal(why)) => {
                seat.note_refused(asked.line, why);
                let status = StatusCode::OK;
                let answer = answers::error(status, Some(id.raw), INVALID_PARAMS, why);
                Ok(answers::logged(answer))
            }
        };
    }
    if let Some(level) = facts
        .level
        .as_ref()
        .filter(|level| modern.changes_level(level))
    {
        let inner = modern.next_id();
        let line = json!({"jsonrpc": "2.0", "id": inner, "method": "logging/setLevel",
            "params": {"level": level}});
        seat.say(line.to_string().as_bytes()).await;
    }
    let inner = modern.next_id();
    let raw = json!(inner).to_string();
    // Replies to what nobody asked are left out. Those to a task are what such a request
    // is for.
    let params = params.filter(|_| facts.method != "tasks/update");
    let replies = params.and_then(|params| {
        let [replies] = frames.members(params, ["inputResponses"]).ok()?;
        member(params, replies?)
    });
    let Some(line) = respell(asked.line, id.raw, token, raw.as_bytes(), replies) else {
        let why = "the message cannot be rewritten";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    };
    let receiver = modern
        .begin(&seat.channel, &inner, (id.raw, token), facts, digest)
        .holding(asked.hall.ticket(asked.principal));
    seat.say(&line).await;
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

async fn wait(frames: &mut FrameReader, mut receiver: Receiver, id: &Id<'_>) -> Answer {
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
fn respelled(frames: &mut FrameReader, line: &[u8], id: &Id<'_>) -> Answer {
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
