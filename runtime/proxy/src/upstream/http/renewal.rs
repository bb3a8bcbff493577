//! A session that the server does not know any more: another begins, with the client's own
//! introduction, and nobody behind it has to begin anew.
//!
//! A server forgets sessions when it is restarted, or when a balancer sends a request
//! elsewhere. It says so before it does anything, so the request can be made again. Knows
//! nothing of calls.

use crate::upstream::http::bridge::Bridge;
use crate::upstream::http::fault::Fault;
use crate::upstream::http::pieces::one_line;
use crate::upstream::http::response::{Form, deepest, form, read_version, session_of};
use bouncer_mcp::id::Key;
use bouncer_mcp::sse::EventReader;
use bouncer_system::log::note;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Method, Response};
use std::time::Duration;
use tokio::time::timeout;

/// How long a server may take to begin another session.
const BEGIN: Duration = Duration::from_secs(30);

impl Bridge {
    /// Begins another session in the place of `old`, unless somebody did already.
    pub(super) async fn renew(&self, old: Option<&HeaderValue>) -> Result<(), Fault> {
        let _turn = self.renewing.lock().await;
        if self.session.borrow().as_ref() != old {
            return Ok(());
        }
        let began = timeout(BEGIN, self.begin_again()).await;
        began.unwrap_or(Err(Fault::SessionOver))?;
        note(format_args!(
            "a server did not know its session any more; another has begun"
        ));
        // It may be another server by now.
        for list in ["tools", "prompts", "resources"] {
            let changed =
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#);
            self.out.push(changed.as_bytes());
        }
        Ok(())
    }

    async fn begin_again(&self) -> Result<(), Fault> {
        let (hello, key) = {
            let beginning = self.beginning.borrow();
            beginning.hello.clone().ok_or(Fault::SessionOver)?
        };
        let response = self
            .send(self.posting(self.request(Method::POST, hello)))
            .await?;
        if !response.status().is_success() {
            return Err(Fault::SessionOver);
        }
        let session = session_of(&response);
        let answer = self.one_answer(response, &key).await?;
        let version = {
            let mut frames = self.frames.borrow_mut();
            let frame = frames.read(&answer).map_err(|_| Fault::SessionOver)?;
            read_version(frame.result())
        };
        // What was agreed on holds for the whole conversation.
        if version.is_none() || version != *self.version.borrow() {
            return Err(Fault::SessionOver);
        }
        self.session.replace(session);
        let initialized = self.beginning.borrow().initialized.clone();
        if let Some(line) = initialized {
            let request = self.posting(self.dress(self.request(Method::POST, line)));
            if !self.send(request).await?.status().is_success() {
                return Err(Fault::SessionOver);
            }
        }
        Ok(())
    }

    /// The answer to `key` in a response, without what else it says.
    async fn one_answer(&self, response: Response<Incoming>, key: &Key) -> Result<Vec<u8>, Fault> {
        match form(&response) {
            Form::Json => self.whole(response).await,
            Form::Events => {
                let mut body = response.into_body();
                let mut reader = EventReader::new(self.limit);
                while let Some(frame) = body.frame().await {
                    let frame = frame.map_err(|error| Fault::Broken(deepest(&error)))?;
                    let Ok(piece) = frame.into_data() else {
                        continue;
                    };
                    for event in reader.feed(&piece).map_err(|_| Fault::TooLong)? {
                        let line = one_line(&event.data);
                        if self.is_answer(&line, key) {
                            return Ok(line);
                        }
                    }
                }
                Err(Fault::Unanswered)
            }
            Form::Other => Err(Fault::Form),
        }
    }
}
