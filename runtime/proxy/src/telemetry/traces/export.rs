//! The thread that takes spans to the collector, many at once.

use crate::telemetry::traces::{Message, Span, otlp};
use crate::upstream::http::HttpServer;
use bouncer_system::log::{note, visible};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

/// Spans of one request.
const MAX_AT_ONCE: usize = 512;
/// How long spans wait for others to go with them.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Hands spans over until nobody makes any more.
pub(super) fn run(server: &HttpServer, spans: &Receiver<Message>, service: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return note(format_args!(
            "spans are not handed over: there is no runtime"
        ));
    };
    let mut fails = false;
    while let Ok(first) = spans.recv() {
        let (batch, waiting) = gather(first, spans);
        let told = || {
            if let Some(waiting) = &waiting {
                // Who waited too long is gone.
                let _ = waiting.try_send(());
            }
        };
        if batch.is_empty() {
            told();
            continue;
        }
        let body = otlp::body(service, &batch);
        let sent = runtime.block_on(async {
            match tokio::time::timeout(PATIENCE, server.post_json(body)).await {
                Ok(sent) => sent,
                Err(_) => Err("it does not answer".to_owned()),
            }
        });
        // Once when it begins, and once when it is over.
        if let Err(why) = &sent
            && !fails
        {
            note(format_args!(
                "spans of calls are lost, as the collector cannot be used: {}",
                visible(why)
            ));
        } else if sent.is_ok() && fails {
            note(format_args!("spans of calls arrive at the collector again"));
        }
        fails = sent.is_err();
        told();
    }
}

/// Spans that go together, and who waits until they are gone.
fn gather(first: Message, spans: &Receiver<Message>) -> (Vec<Span>, Option<SyncSender<()>>) {
    let until = Instant::now() + PAUSE;
    let mut batch = Vec::new();
    let mut next = first;
    loop {
        match next {
            Message::Span(span) => batch.push(*span),
            Message::Finish(waiting) => return (batch, Some(waiting)),
        }
        if batch.len() >= MAX_AT_ONCE {
            return (batch, None);
        }
        match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => next = message,
            // Nothing more comes for now, or ever.
            Err(_) => return (batch, None),
        }
    }
}
