//! One request and what comes back, and the stream of what a server says by itself.

use crate::upstream::http::bridge::Bridge;
use crate::upstream::http::fault::Fault;
use crate::upstream::http::pieces::{Pieces, one_line};
use crate::upstream::http::response::{
    Form, SESSION, a_slash_away, deepest, form, is_lost, may_be_older, read_version, session_of,
    without_mark,
};
use crate::upstream::http::shape::{LineKind, Shape};
use bouncer_mcp::frame::is_batch;
use bouncer_mcp::id::Key;
use bouncer_mcp::sse::EventReader;
use bouncer_system::log::{note, visible};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::value::RawValue;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
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

    /// A request to where the server is, which may have said that it is a slash away.
    pub(super) fn request(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = self.server.request(method, body);
        if let Some(moved) = &*self.moved.borrow() {
            *request.uri_mut() = moved.clone();
        }
        request
    }

    /// Adds what every message has.
    pub(super) fn posting(&self, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        request
    }

    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Fault> {
        let again = request.clone();
        let response = self.send_once(request).await?;
        let moved = matches!(
            response.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let Some(moved) = moved
            .then(|| a_slash_away(again.uri(), response.headers().get(LOCATION)?))
            .flatten()
        else {
            return Ok(response);
        };
        let mut request = again;
        *request.uri_mut() = moved.clone();
        if self.older.borrow().is_none() {
            self.moved.replace(Some(moved));
        }
        self.send_once(request).await
    }

    async fn send_once(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
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
        let mut request = self.posting(self.dress(self.request(Method::POST, line)));
        let headers = request.headers_mut();
        if shape.kind == LineKind::Initialize {
            headers.remove(SESSION);
            headers.remove(VERSION);
        }
        if let Some((version, more)) = &shape.newer {
            headers.remove(SESSION);
            headers.insert(VERSION, version.clone());
            headers.extend(more.iter().cloned());
        }
        self.send(request).await
    }

    /// Sends what has no answer.
    pub(super) async fn tell(&self, line: Bytes, shape: &Shape) -> Result<(), Fault> {
        if shape.kind == LineKind::Initialized {
            self.beginning.borrow_mut().initialized = Some(line.clone());
        }
        let older = self.older.borrow().clone();
        if let Some(to) = older {
            return self.say_older(line, to, shape).await;
        }
        let response = self.post(line, shape).await?;
        if response.status().is_success() {
            // Read, so that the connection can be used again.
            let _ = Limited::new(response.into_body(), 4096).collect().await;
            return Ok(());
        }
        // If it does not know the session, the next request finds that, and begins another.
        Err(Fault::refused(&response))
    }

    /// Sends a request, and passes on all that comes back with the answer. One that the server
    /// did not take, since it does not know the session, is made again in another.
    pub(super) async fn ask(
        self: &Rc<Self>,
        line: Bytes,
        shape: &Shape,
        key: &Key,
    ) -> Result<(), Fault> {
        if shape.kind == LineKind::Initialize {
            self.beginning.borrow_mut().hello = Some((line.clone(), key.clone()));
        }
        let older = self.older.borrow().clone();
        if let Some(to) = older {
            return self.say_older(line, to, shape).await;
        }
        let session = self.session.borrow().clone();
        match self
            .ask_once(line.clone(), shape, key, session.is_some())
            .await
        {
            Err(Fault::SessionOver) => {
                self.renew(session.as_ref()).await?;
                self.ask_once(line, shape, key, false).await
            }
            Err(Fault::Refused(status, _))
                if shape.kind == LineKind::Initialize
                    && may_be_older(status)
                    && self.begin_older().await =>
            {
                let to = self.older.borrow().clone().ok_or(Fault::Unanswered)?;
                self.say_older(line, to, shape).await
            }
            other => other,
        }
    }

    async fn ask_once(
        &self,
        line: Bytes,
        shape: &Shape,
        key: &Key,
        in_session: bool,
    ) -> Result<(), Fault> {
        let response = match self.post(line.clone(), shape).await {
            // A server may close a connection at the very moment that a request is sent on
            // it. What has not reached it is sent again anyway; what may have is, if it does
            // no harm.
            Err(Fault::Broken(_)) if shape.looks => self.post(line, shape).await?,
            other => other?,
        };
        let status = response.status();
        let introduces = shape.kind == LineKind::Initialize;
        if introduces && status.is_success() {
            self.session.replace(session_of(&response));
        }
        if !status.is_success() {
            let in_session = in_session && shape.newer.is_none() && !introduces;
            return self.not_taken(response, key, in_session).await;
        }
        match form(&response) {
            Form::Json if shape.newer.is_some() => {
                let answered = self.values(response, key, shape).await?;
                answered.then_some(()).ok_or(Fault::Unanswered)
            }
            Form::Json => {
                let body = self.whole(response).await?;
                let answered = self.pass(body.as_ref(), Some(key), introduces).await;
                answered.then_some(()).ok_or(Fault::Unanswered)
            }
            Form::Events if shape.newer.is_some() => {
                // There are no streams that go on in another.
                let end = self.stream(response, Some(key), Some(shape)).await?;
                end.answered.then_some(()).ok_or(Fault::Unanswered)
            }
            Form::Events => self.answer_in_stream(response, key, shape).await,
            Form::Other => Err(Fault::Form),
        }
    }

    /// A status that says no: an answer all the same, a session that is not known, or neither.
    async fn not_taken(
        &self,
        response: Response<Incoming>,
        key: &Key,
        in_session: bool,
    ) -> Result<(), Fault> {
        let (status, refused) = (response.status(), Fault::refused(&response));
        let is_json = form(&response) == Form::Json;
        if !is_json && !in_session {
            return Err(refused);
        }
        let body = self.whole(response).await?;
        let answered = is_json && self.is_answer(&body, key);
        if in_session && is_lost(status, &body, answered) {
            return Err(Fault::SessionOver);
        }
        if answered {
            self.pass(&body, Some(key), false).await;
            return Ok(());
        }
        Err(refused)
    }

    /// Whether a line answers `key`.
    pub(super) fn is_answer(&self, line: &[u8], key: &Key) -> bool {
        let mut frames = self.frames.borrow_mut();
        frames.read(line).is_ok_and(|frame| {
            let id = frame.id().and_then(Key::parse);
            frame.method().is_none() && id.is_some_and(|id| key.is_answered_by(&id))
        })
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
        let mut first = true;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Fault::Broken(deepest(&error)))?;
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            let piece = match std::mem::take(&mut first) {
                true => without_mark(&piece),
                false => &piece,
            };
            for value in pieces.feed(piece) {
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
                self.mirrored.borrow_mut().note(result);
            }
        }
        self.pass(line, Some(key), false).await
    }

    /// The whole body, as one line.
    pub(super) async fn whole(&self, response: Response<Incoming>) -> Result<Vec<u8>, Fault> {
        let body = Limited::new(response.into_body(), self.limit).collect();
        match body.await {
            Ok(body) => Ok(one_line(without_mark(&body.to_bytes()))),
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
        let introduces = shape.is_some_and(|shape| shape.kind == LineKind::Initialize);
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
            for event in events.into_iter().filter(|event| !event.endpoint) {
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

    /// Passes what was said on, message by message; whether it answers `key`. Some servers
    /// put their messages into an array.
    pub(super) async fn pass(&self, line: &[u8], key: Option<&Key>, introduces: bool) -> bool {
        let parts: Option<Vec<&RawValue>> = is_batch(line)
            .then(|| serde_json::from_slice(line).ok())
            .flatten();
        let Some(parts) = parts else {
            return self.pass_one(line, key, introduces).await;
        };
        let mut answers = false;
        for part in parts {
            let part = part.get().as_bytes();
            answers |= self.pass_one(part, key, introduces).await;
        }
        answers
    }

    async fn pass_one(&self, line: &[u8], key: Option<&Key>, introduces: bool) -> bool {
        let answers = key.is_some_and(|key| self.is_answer(line, key));
        if answers && introduces {
            let mut frames = self.frames.borrow_mut();
            let result = frames.read(line).ok().and_then(|frame| frame.result());
            self.version.replace(read_version(result));
        }
        self.out.room().await;
        self.out.push(line);
        answers
    }

    pub(super) async fn listen_once(
        &self,
        last: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, Fault> {
        let mut request = self.dress(self.request(Method::GET, Bytes::new()));
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
            let session = self.session.borrow().clone();
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
                Ok(response) if is_lost(response.status(), b"session", false) => {
                    if let Err(fault) = self.renew(session.as_ref()).await {
                        return self.lose(visible(&fault.to_string()).to_string());
                    }
                    last_id = None;
                }
                Ok(response) if !response.status().is_server_error() => return,
                Ok(_) | Err(Fault::Broken(_)) => {}
                Err(Fault::Unreachable(_)) if self.server.stays => {}
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
