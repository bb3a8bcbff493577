//! Requests of clients that have no sessions.

use super::super::super::denial::{self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use super::super::super::envelope::{FromClient, Id};
use super::super::super::era::MISSING_CAPABILITY;
use super::super::super::frame::{FrameReader, text};
use super::super::hello::VERSIONS;
use super::super::splice::member;
use super::answers::{self, Answer};
use super::hall::{Hall, NoSeat};
use super::modern::{
    Again, Facts, MODERN, Modern, Refusal, UNSUPPORTED_VERSION, Wrong, discovered, raw_token,
    repeats_agree, respell,
};
use super::requests::{SOON, Stop, no_seat};
use super::seat::Seat;
use super::stream::Receiver;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::{Map, Value, json};
use std::rc::Rc;
use tokio::time::timeout;

/// JSON-RPC: no such method.
const METHOD_NOT_FOUND: i32 = -32601;

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
            let params = frames.read(asked.line).ok().and_then(|frame| frame.params);
            (id, "tools/call", params)
        }
        FromClient::Request {
            id, method, params, ..
        } => (id, method.as_str(), *params),
        FromClient::Notification { .. } => return Ok(answers::empty(StatusCode::ACCEPTED)),
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
        "subscriptions/listen" => listen(&seat, &modern, id, params).await,
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
    let body = denial::error(id.raw, wrong.code, &wrong.why, data);
    answers::json(StatusCode::BAD_REQUEST, body)
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
    let introduced = modern
        .introduction
        .get_or_try_init(|| introduce(&seat, &modern, facts))
        .await;
    if introduced.is_err() {
        hall.close(&key);
        return Err(no_seat(NoSeat::Failed));
    }
    Ok((seat, modern))
}

/// Introduces the client to the gateway, as one of an older version.
async fn introduce(seat: &Rc<Seat>, modern: &Rc<Modern>, facts: &Facts) -> Result<Value, ()> {
    let inner = modern.next_id();
    let unknown = || json!({"name": "unknown", "version": "0"});
    let hello = json!({"jsonrpc": "2.0", "id": inner, "method": "initialize", "params": {
        "protocolVersion": VERSIONS.first(),
        "capabilities": facts.capabilities,
        "clientInfo": facts.client.clone().unwrap_or_else(unknown),
    }});
    let own = Facts {
        method: "initialize".to_owned(),
        capabilities: json!({}),
        client: None,
        level: None,
        conversation: String::new(),
    };
    let raw = json!(inner).to_string();
    let mut receiver = modern.begin(seat, &inner, (raw.as_bytes(), None), own, [0; 32]);
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
    let Some((receiver, resources)) = modern.subscribe(seat, id.raw, filter) else {
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
    let plain: Map<String, Value> = params
        .and_then(|raw| serde_json::from_slice(raw).ok())
        .unwrap_or_default();
    if facts.method == "tools/call"
        && let Err(wrong) = repeats_agree(&modern.repeats.borrow(), asked.headers, &plain)
    {
        return Ok(turned_away(id, &wrong));
    }
    let digest = digest(&facts.method, &plain);
    if plain.contains_key("requestState") {
        let nothing = Map::new();
        let state = plain.get("requestState").and_then(Value::as_str);
        let responses = plain.get("inputResponses");
        let responses = responses.map_or(Some(&nothing), Value::as_object);
        let again = match state.zip(responses) {
            Some((state, responses)) => {
                modern.again(seat, state, responses, (id.raw, token), facts, digest)
            }
            None => Err(Refusal(
                "replies need the `requestState` that came with what was asked, a text, and `inputResponses`, an object",
            )),
        };
        return match again {
            Ok(Again::Waits(receiver)) => Ok(wait(frames, receiver, id).await),
            Ok(Again::Now(line)) => Ok(respelled(frames, &line, id)),
            Err(Refusal(why)) => {
                seat.note_refused(asked.line, why);
                let status = StatusCode::OK;
                Ok(answers::error(status, Some(id.raw), INVALID_PARAMS, why))
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
    // Replies to what nobody asked are left out.
    let replies = params.and_then(|params| {
        let [replies] = frames.members(params, ["inputResponses"]).ok()?;
        member(params, replies?)
    });
    let Some(line) = respell(asked.line, id.raw, token, raw.as_bytes(), replies) else {
        let why = "the message cannot be rewritten";
        let status = StatusCode::OK;
        return Ok(answers::error(status, Some(id.raw), INTERNAL_ERROR, why));
    };
    let receiver = modern.begin(seat, &inner, (id.raw, token), facts, digest);
    seat.say(&line).await;
    Ok(wait(frames, receiver, id).await)
}

/// What makes a request the same request.
fn digest(method: &str, params: &Map<String, Value>) -> [u8; 32] {
    let mut rest = params.clone();
    for changing in ["_meta", "requestState", "inputResponses"] {
        rest.remove(changing);
    }
    // Objects are kept sorted, so that the order of members does not count.
    let text = json!([method, rest]).to_string();
    *blake3::hash(text.as_bytes()).as_bytes()
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
            answers::error(status, Some(id.raw), INTERNAL_ERROR, why)
        }
        Err(_) => answers::events(None, receiver),
    }
}

/// An answer that was kept, under the id of the request that fetches it.
fn respelled(frames: &mut FrameReader, line: &[u8], id: &Id<'_>) -> Answer {
    let old = frames.read(line).ok().and_then(|frame| frame.id);
    let line = old.and_then(|old| respell(line, old, None, id.raw, None));
    let line = line.unwrap_or_default();
    answers::json(status(frames, &line), line)
}

/// Some errors have a status of their own.
fn status(frames: &mut FrameReader, line: &[u8]) -> StatusCode {
    let error = frames.read(line).ok().and_then(|frame| frame.error);
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
    super::modern::version(frames, line).is_some()
        || named.is_some_and(|version| version.as_bytes() == MODERN.as_bytes())
        || frames
            .read(line)
            .ok()
            .and_then(|frame| frame.method.and_then(text))
            .is_some_and(|method| method == "server/discover")
}
