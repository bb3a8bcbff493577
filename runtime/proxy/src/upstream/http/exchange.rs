//! One request and what comes back, and the stream of what a server says by itself.

use crate::upstream::http::bridge::Bridge;
use crate::upstream::http::fault::Fault;
use crate::upstream::http::pieces::Pieces;
use crate::upstream::http::pieces::one_line;
use crate::upstream::http::shape::{Kind, Shape};
use bouncer_mcp::id::Key;
use bouncer_mcp::sse::EventReader;
use bouncer_system::log::{note, visible};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The longest session id.
const MAX_SESSION: usize = 4096;
/// The pause before a stream is opened again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often an answer is asked for again whose stream ended before it.
const MAX_RESUMES: u32 = 8;

/// How a stream of events ended.
struct StreamEnd {
    answered: bool,
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl Bridge {
    /// Adds what every request of the session has.
    pub(super) fn dress(&self, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
        let headers = request.headers_mut();
        if let Some(session) = &*self.session.borrow() {
            headers.insert(SESSION, session.clone());
        }
        if let Some(version) = &*self.version.borrow() {
            headers.insert(VERSION, version.clone());
        }
        request
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        self.client.request(request).await.map_err(|error| {
            let why = deepest(&error);
            if error.is_connect() {
                Fault::Unreachable(why)
            } else {
                Fault::Broken(why)
            }
        })
    }

    async fn post(&self, line: Bytes, shape: &Shape) -> Result<Response<Incoming>, Fault> {
        let mut request = self.dress(self.server.request(Method::POST, line));
        let headers = request.headers_mut();
        if let Some((version, more)) = &shape.newer {
            headers.remove(SESSION);
            headers.insert(VERSION, version.clone());
            headers.extend(more.iter().cloned());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        self.send(request).await
    }

    /// Sends what has no answer.
    pub(super) async fn tell(&self, line: Bytes, shape: &Shape) -> Result<(), Fault> {
        let response = self.post(line, shape).await?;
        let status = response.status();
        if status.is_success() {
            // Read, so that the connection can be used again.
            let _ = Limited::new(response.into_body(), 4096).collect().await;
            return Ok(());
        }
        Err(self.refused(status))
    }

    fn refused(&self, status: StatusCode) -> Fault {
        if status == StatusCode::NOT_FOUND && self.session.borrow().is_some() {
            return Fault::SessionOver;
        }
        Fault::Refused(status)
    }

    /// Sends a request, and passes on all that comes back with the answer.
    pub(super) async fn ask(&self, line: Bytes, shape: &Shape, key: &Key) -> Result<(), Fault> {
        let response = match self.post(line.clone(), shape).await {
            // A server may close a connection at the very moment that a request is sent on
            // it. What has not reached it is sent again anyway; what may have is, if it does
            // no harm.
            Err(Fault::Broken(_)) if shape.looks => self.post(line, shape).await?,
            other => other?,
        };
        let status = response.status();
        let introduces = shape.kind == Kind::Initialize;
        if introduces && status.is_success() {
            let session = response.headers().get(&SESSION);
            let session = session.filter(|session| session.len() <= MAX_SESSION);
            self.session.replace(session.cloned().map(|mut session| {
                session.set_sensitive(true);
                session
            }));
        }
        match form(&response) {
            Form::Json => {
                let answered = if shape.newer.is_some() {
                    self.values(response, key, shape).await?
                } else {
                    let body = self.whole(response).await?;
                    self.pass(body.as_ref(), Some(key), introduces).await
                };
                match (answered, status.is_success()) {
                    (true, _) => Ok(()),
                    (false, true) => Err(Fault::Unanswered),
                    (false, false) => Err(self.refused(status)),
                }
            }
            _ if !status.is_success() => Err(self.refused(status)),
            Form::Events if shape.newer.is_some() => {
                // There are no streams that go on in another.
                let end = self.stream(response, Some(key), Some(shape)).await?;
                end.answered.then_some(()).ok_or(Fault::Unanswered)
            }
            Form::Events => self.answer_in_stream(response, key, shape).await,
            Form::Other => Err(Fault::Form),
        }
    }

    /// The values of a JSON body, passed on as they come; whether one answers `key`.
    async fn values(
        &self,
        response: Response<Incoming>,
        key: &Key,
        shape: &Shape,
    ) -> Result<bool, Fault> {
        let mut body = response.into_body();
        let mut pieces = Pieces::default();
        let mut answered = false;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Fault::Broken(deepest(&error)))?;
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            for value in pieces.feed(&piece) {
                answered |= self.pass_newer(&value, key, shape).await;
            }
            if pieces.len() > self.limit {
                return Err(Fault::TooLong);
            }
        }
        if let Some(rest) = pieces.rest() {
            answered |= self.pass_newer(&rest, key, shape).await;
        }
        Ok(answered)
    }

    /// Passes a message of the newer version on; whether it answers `key`.
    async fn pass_newer(&self, line: &[u8], key: &Key, shape: &Shape) -> bool {
        if shape.lists {
            let mut frames = self.frames.borrow_mut();
            if let Some(result) = frames.read(line).ok().and_then(|frame| frame.result()) {
                self.repeats.borrow_mut().note(result);
            }
        }
        self.pass(line, Some(key), false).await
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Vec<u8>, Fault> {
        let body = Limited::new(response.into_body(), self.limit).collect();
        match body.await {
            Ok(body) => Ok(one_line(&body.to_bytes())),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Fault::TooLong),
            Err(error) => Err(Fault::Broken(deepest(error.as_ref()))),
        }
    }

    /// An answer that comes in a stream; one that ends too early is asked for again.
    async fn answer_in_stream(
        &self,
        response: Response<Incoming>,
        key: &Key,
        shape: &Shape,
    ) -> Result<(), Fault> {
        let mut end = self.stream(response, Some(key), Some(shape)).await?;
        for _ in 0..MAX_RESUMES {
            if end.answered {
                return Ok(());
            }
            let Some(last_id) = end.last_id.take() else {
                break;
            };
            sleep(end.retry.unwrap_or(FIRST_PAUSE)).await;
            let response = self.listen_once(Some(&last_id)).await?;
            if !response.status().is_success() || form(&response) != Form::Events {
                break;
            }
            end = self.stream(response, Some(key), Some(shape)).await?;
            end.last_id.get_or_insert(last_id);
        }
        if end.answered {
            return Ok(());
        }
        Err(Fault::Unanswered)
    }

    /// Passes on the events of a stream until it ends, or until `key` is answered.
    async fn stream(
        &self,
        response: Response<Incoming>,
        key: Option<&Key>,
        shape: Option<&Shape>,
    ) -> Result<StreamEnd, Fault> {
        let introduces = shape.is_some_and(|shape| shape.kind == Kind::Initialize);
        let newer = shape.filter(|shape| shape.newer.is_some()).zip(key);
        let mut body = response.into_body();
        let mut reader = EventReader::new(self.limit);
        let mut answered = false;
        while !answered {
            let Some(frame) = body.frame().await else {
                break;
            };
            let frame = match frame {
                Ok(frame) => frame,
                // It may go on in another stream.
                Err(_) if reader.last_id.is_some() || key.is_none() => break,
                Err(error) => return Err(Fault::Broken(deepest(&error))),
            };
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            let events = reader.feed(&piece).map_err(|_| Fault::TooLong)?;
            for event in events {
                let line = one_line(&event.data);
                answered |= match newer {
                    Some((shape, key)) => self.pass_newer(&line, key, shape).await,
                    None => self.pass(&line, key, introduces).await,
                };
            }
        }
        let last_id = reader.last_id.as_deref();
        Ok(StreamEnd {
            answered,
            last_id: last_id.and_then(|id| HeaderValue::from_bytes(id).ok()),
            retry: reader
                .retry
                .map(|ms| Duration::from_millis(ms).min(LONGEST_PAUSE)),
        })
    }

    /// Passes one message on; whether it answers `key`.
    async fn pass(&self, line: &[u8], key: Option<&Key>, introduces: bool) -> bool {
        let answers = {
            let mut frames = self.frames.borrow_mut();
            match (frames.read(line), key) {
                (Ok(frame), Some(key)) if frame.method().is_none() => {
                    let ours = frame.id().and_then(Key::parse).as_ref() == Some(key);
                    if ours && introduces {
                        self.note_version(frame.result());
                    }
                    ours
                }
                _ => false,
            }
        };
        self.out.room().await;
        self.out.push(line);
        answers
    }

    /// The version that the server chose goes with every later request.
    fn note_version(&self, result: Option<&[u8]>) {
        let result = result.and_then(|raw| serde_json::from_slice::<Value>(raw).ok());
        let version = result.as_ref().and_then(|result| {
            let version = result.get("protocolVersion")?.as_str()?;
            HeaderValue::from_str(version).ok()
        });
        self.version.replace(version);
    }

    async fn listen_once(&self, last: Option<&HeaderValue>) -> Result<Response<Incoming>, Fault> {
        let mut request = self.dress(self.server.request(Method::GET, Bytes::new()));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            headers.insert(LAST_EVENT, last.clone());
        }
        self.send(request).await
    }

    /// Passes on what the server says by itself, until it has no such stream, or is lost.
    pub(super) async fn listen(self: Rc<Self>) {
        let (mut last_id, mut pause, mut listened) = (None, FIRST_PAUSE, false);
        loop {
            let began = Instant::now();
            let mut retry = None;
            match self.listen_once(last_id.as_ref()).await {
                Ok(response) if response.status().is_success() => {
                    if form(&response) != Form::Events {
                        return;
                    }
                    listened = true;
                    match self.stream(response, None, None).await {
                        Ok(end) => {
                            last_id = end.last_id.or(last_id);
                            retry = end.retry;
                        }
                        Err(fault) => note(format_args!("a server {fault}; listening again")),
                    }
                }
                // A stream of its own is a server's choice.
                Ok(response) if !listened && response.status().is_client_error() => return,
                Ok(response)
                    if matches!(
                        response.status(),
                        StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
                    ) =>
                {
                    return self.lose(Fault::SessionOver.to_string());
                }
                Ok(response) if !response.status().is_server_error() => return,
                Ok(_) | Err(Fault::Broken(_)) => {}
                Err(fault) => return self.lose(visible(&fault.to_string())),
            }
            if began.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            sleep(retry.unwrap_or(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// How a body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Events,
    Other,
}

fn form(response: &Response<Incoming>) -> Form {
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
