//! What a client's line is: a call to judge, or something that may pass.
//!
//! This is the only place that makes a [`PassThrough`], and it never makes one for a
//! call, nor for a line that another reader could take for a call.

use bouncer_engine::gate::{CallMessage, LISTEN, judged_as};
use bouncer_mcp::frame::{
    Frame, FrameReader, Unreadable, ids_of_garbage, is_batch, is_blank, text,
};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR};
use bouncer_mcp::splice::{splice, whole_member};
use bouncer_plan::requests;

/// The method that calls a tool. Others are judged as well: see [`CallMessage::of_request`].
const CALL: &str = "tools/call";

/// The longest method. Methods are kept while a request is open.
const MAX_METHOD: usize = 1024;

/// A line that may go upstream unjudged.
#[derive(Debug)]
pub(crate) struct PassThrough<'a>(&'a [u8]);

impl PassThrough<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0
    }
}

/// An id: how it was spelled, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Id<'a> {
    pub raw: &'a [u8],
    pub key: Key,
}

/// One line of a client.
#[derive(Debug)]
pub(crate) enum FromClient<'a> {
    /// White space.
    Blank,
    /// A call, or another request that is judged as one. Without an id it is a notification:
    /// nobody waits for its result.
    Call {
        id: Option<Id<'a>>,
        call: CallMessage<'a>,
    },
    /// Another request.
    Request {
        id: Id<'a>,
        method: String,
        params: Option<&'a [u8]>,
        line: PassThrough<'a>,
    },
    /// A notification.
    Notification {
        method: String,
        params: Option<&'a [u8]>,
        line: PassThrough<'a>,
    },
    /// An answer to a request of the server, or of this proxy.
    Answer {
        id: Id<'a>,
        result: Option<&'a [u8]>,
        line: PassThrough<'a>,
    },
    /// A batch: none of it is forwarded. The ids of its requests.
    Batch { ids: Vec<&'a [u8]> },
    /// Not forwarded.
    Refused(Refusal<'a>),
}

/// A line that is not forwarded.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    /// Raw JSON to echo, where one can be read.
    pub id: Option<&'a [u8]>,
    /// JSON-RPC error code.
    pub code: i32,
    /// What is wrong.
    pub why: String,
    /// It is an answer: there is nobody to send an error to.
    pub answer: bool,
}

/// Classifies a line. `server` is the name that calls are judged under.
pub(crate) fn classify<'a>(
    reader: &mut FrameReader,
    server: Option<&'a str>,
    line: &'a [u8],
) -> FromClient<'a> {
    if is_blank(line) {
        return FromClient::Blank;
    }
    if is_batch(line) {
        return FromClient::Batch {
            ids: batch_ids(reader, line),
        };
    }
    match reader.read(line) {
        Ok(frame) => classify_frame(reader, server, line, &frame),
        Err(why) => refuse_garbage(line, &why),
    }
}

/// A message without `arguments`, if it has some that are `null`: libraries write so what is
/// not there. What is judged and forwarded is the message without them.
pub(crate) fn without_null_arguments(reader: &mut FrameReader, line: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(line, b"null")?;
    let frame = reader.read(line).ok()?;
    let method = frame.method().and_then(text)?;
    let takes = method == CALL || method == "prompts/get";
    let arguments = frame.call()?.ok()?.arguments;
    let null = arguments.filter(|raw| takes && *raw == b"null")?;
    splice(
        line,
        vec![(whole_member(frame.params()?, null)?, Vec::new())],
    )
}

/// Reads a call once more, or another request that is judged, which was kept.
pub(crate) fn reread<'a>(
    reader: &mut FrameReader,
    server: Option<&'a str>,
    line: &'a [u8],
) -> Option<CallMessage<'a>> {
    let frame = reader.read(line).ok()?;
    let method = frame.method().and_then(text)?;
    if method == CALL {
        return CallMessage::of(server, &frame).ok();
    }
    let params = frame.params();
    let read = CallMessage::of_request(server, &method, params, line, reader);
    read.ok().flatten()
}

fn refuse_garbage<'a>(line: &'a [u8], why: &Unreadable) -> FromClient<'a> {
    // With several ids there is no telling which one the client waits for.
    let id = match ids_of_garbage(line).as_slice() {
        [id] => Some(*id),
        _ => None,
    };
    FromClient::Refused(Refusal {
        id,
        code: PARSE_ERROR,
        why: format!("the message is not forwarded: {why}"),
        answer: false,
    })
}

fn classify_frame<'a>(
    reader: &mut FrameReader,
    server: Option<&'a str>,
    line: &'a [u8],
    frame: &Frame<'a>,
) -> FromClient<'a> {
    let id = match frame.id() {
        None => None,
        Some(raw) => match Key::parse(raw) {
            Some(key) => Some(Id { raw, key }),
            None => return refuse(frame, None, INVALID_REQUEST, &Unreadable::Id.to_string()),
        },
    };
    let raw_id = frame.id();
    let Some(method) = frame.method() else {
        let one_outcome = frame.result().is_some() != frame.error().is_some();
        return match id {
            Some(id) if one_outcome && frame.params().is_none() => FromClient::Answer {
                id,
                result: frame.result(),
                line: PassThrough(line),
            },
            _ => refuse(
                frame,
                raw_id,
                INVALID_REQUEST,
                &Unreadable::Shape.to_string(),
            ),
        };
    };
    if frame.result().is_some() || frame.error().is_some() {
        return refuse(
            frame,
            raw_id,
            INVALID_REQUEST,
            &Unreadable::Shape.to_string(),
        );
    }
    let Some(method) = text(method).filter(|method| is_plain(method)) else {
        return refuse(
            frame,
            raw_id,
            INVALID_REQUEST,
            &Unreadable::Method.to_string(),
        );
    };
    if method == CALL {
        return match CallMessage::of(server, frame) {
            Ok(call) => FromClient::Call { id, call },
            Err(why) => refuse(frame, raw_id, INVALID_PARAMS, &why.to_string()),
        };
    }
    let judged = CallMessage::of_request(server, &method, frame.params(), line, reader);
    match judged {
        Ok(None) => {}
        Ok(Some(call)) => return FromClient::Call { id, call },
        Err(why) => return refuse(frame, raw_id, INVALID_PARAMS, &why.to_string()),
    }
    if looks_judged(&method) {
        return refuse(
            frame,
            raw_id,
            INVALID_REQUEST,
            &Unreadable::Method.to_string(),
        );
    }
    let (params, line) = (frame.params(), PassThrough(line));
    match id {
        Some(id) => FromClient::Request {
            id,
            method,
            params,
            line,
        },
        None => FromClient::Notification {
            method,
            params,
            line,
        },
    }
}

/// Whether somebody may take a method for one that is judged, though it is none.
fn looks_judged(method: &str) -> bool {
    let is = |judged: &str| method.trim().eq_ignore_ascii_case(judged);
    judged_as(method).is_none() && (is(CALL) || is(LISTEN) || requests::ALL.into_iter().any(is))
}

fn refuse<'a>(frame: &Frame<'a>, id: Option<&'a [u8]>, code: i32, why: &str) -> FromClient<'a> {
    FromClient::Refused(Refusal {
        id,
        code,
        why: format!("the message is not forwarded: {why}"),
        answer: frame.method().is_none() && (frame.result().is_some() || frame.error().is_some()),
    })
}

/// A method that every reader compares alike: a control character may end a string
/// for one reader and not for another, and look-alikes may be folded.
fn is_plain(method: &str) -> bool {
    (1..=MAX_METHOD).contains(&method.len()) && method.chars().all(|c| (' '..='~').contains(&c))
}

/// The ids of the requests in a batch; those that cannot be read are left out.
fn batch_ids<'a>(reader: &mut FrameReader, line: &'a [u8]) -> Vec<&'a [u8]> {
    let elements: Vec<&serde_json::value::RawValue> =
        serde_json::from_slice(line).unwrap_or_default();
    elements
        .into_iter()
        .filter_map(|element| reader.read(element.get().as_bytes()).ok())
        .filter(|frame| frame.method().is_some())
        .filter_map(|frame| frame.id().filter(|raw| Key::parse(raw).is_some()))
        .collect()
}
