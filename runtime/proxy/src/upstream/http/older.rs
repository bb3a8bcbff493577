//! The transport of 2024-11-05: one stream for all that the server says, and another address
//! for what is said to it.
//!
//! Many hosted servers still speak only that. They are recognised as the protocol says: they
//! refuse an introduction, and answer `GET` with a stream whose first event names the address.

use crate::upstream::http::bridge::Bridge;
use crate::upstream::http::fault::Fault;
use crate::upstream::http::pieces::one_line;
use crate::upstream::http::response::{Form, deepest, form};
use crate::upstream::http::shape::Shape;
use bouncer_mcp::sse::{Event, EventReader};
use bouncer_system::log::{note, visible};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Uri};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::timeout;
use url::Url;

/// How long a server may take to name its address.
const BEGIN: Duration = Duration::from_secs(10);

impl Bridge {
    /// Begins to listen to a server of the older transport; `false`: it is none.
    pub(super) async fn begin_older(self: &Rc<Self>) -> bool {
        let response = match timeout(BEGIN, self.listen_once(None)).await {
            Ok(Ok(response)) if response.status().is_success() => response,
            _ => return false,
        };
        if form(&response) != Form::Events {
            return false;
        }
        let mut body = response.into_body();
        let mut reader = EventReader::new(self.limit);
        let first = timeout(BEGIN, next_events(&mut body, &mut reader)).await;
        let Ok(Ok(Some(events))) = first else {
            return false;
        };
        let named = events.first().filter(|event| event.endpoint);
        let Some(address) = named.and_then(|event| self.address(&event.data)) else {
            return false;
        };
        self.older.replace(Some(address));
        note(format_args!(
            "a server speaks the older transport, with one stream for all that it says"
        ));
        let bridge = Rc::clone(self);
        let reading = spawn_local(async move {
            let ended = bridge.hear(events, body, reader).await;
            bridge.lose(visible(&ended.to_string()).to_string());
        });
        self.reading.replace(Some(reading.abort_handle()));
        true
    }

    /// The address that a server names: only one of its own, since tokens go there.
    fn address(&self, named: &[u8]) -> Option<Uri> {
        let base = Url::parse(&self.server.uri.to_string()).ok()?;
        let named = base.join(std::str::from_utf8(named).ok()?).ok()?;
        if named.origin() != base.origin() {
            note(format_args!(
                "a server wants to be spoken to at another origin, which is not done"
            ));
            return None;
        }
        Uri::try_from(named.as_str()).ok()
    }

    /// Passes on all that the server says; how that ended.
    async fn hear(
        &self,
        mut events: Vec<Event>,
        mut body: Incoming,
        mut reader: EventReader,
    ) -> Fault {
        loop {
            for event in events.into_iter().filter(|event| !event.endpoint) {
                let hello = self.beginning.borrow().hello.clone().map(|(_, key)| key);
                let introduces = self.version.borrow().is_none();
                self.pass(&one_line(&event.data), hello.as_ref(), introduces)
                    .await;
            }
            events = match next_events(&mut body, &mut reader).await {
                Ok(Some(events)) => events,
                Ok(None) => return Fault::StreamEnded,
                Err(fault) => return fault,
            };
        }
    }

    /// Says a line; its answer comes in the stream.
    pub(super) async fn say_older(&self, line: Bytes, to: Uri, shape: &Shape) -> Result<(), Fault> {
        let mut request = self.posting(self.request(Method::POST, line.clone()));
        *request.uri_mut() = to.clone();
        let response = match self.send(request).await {
            Err(Fault::Broken(_)) if shape.looks => {
                let mut request = self.posting(self.request(Method::POST, line));
                *request.uri_mut() = to;
                self.send(request).await?
            }
            other => other?,
        };
        match response.status() {
            status if status.is_success() => Ok(()),
            _ => Err(Fault::refused(&response)),
        }
    }
}

/// What comes next; `None` at the end.
async fn next_events(
    body: &mut Incoming,
    reader: &mut EventReader,
) -> Result<Option<Vec<Event>>, Fault> {
    loop {
        let Some(frame) = body.frame().await else {
            return Ok(None);
        };
        let frame = frame.map_err(|error| Fault::Broken(deepest(&error)))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        let events = reader.feed(&piece).map_err(|_| Fault::TooLong)?;
        if !events.is_empty() {
            return Ok(Some(events));
        }
    }
}
