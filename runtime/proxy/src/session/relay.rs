//! The life of a proxied connection: both pumps, and what happens when one side ends.
//!
//! Generic over the four streams; knows nothing of processes.

use crate::conversation::judge::Judge;
use crate::session::mediator::Mediator;
use crate::wire::outbox::Outbox;
use crate::wire::stop::Stop;
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The four streams.
#[derive(Debug)]
pub(crate) struct Streams<CI, CO, SI, SO> {
    /// What the client says.
    pub client_in: CI,
    /// What the client hears.
    pub client_out: CO,
    /// What the server hears.
    pub server_in: SI,
    /// What the server says.
    pub server_out: SO,
}

/// Who ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End<S> {
    /// The client closed its output, or cannot hear any more.
    Client,
    /// The server closed its output.
    Server,
    /// The proxy was told to stop.
    Stopped(S),
}

/// What still has to be written to the client.
#[derive(Debug)]
pub(crate) struct Farewell {
    drain: JoinHandle<io::Result<()>>,
}

impl Farewell {
    /// Writes what is queued for the client and closes it, within `limit`.
    pub(crate) async fn say(self, client: &Outbox, limit: Duration) {
        client.finish();
        // A client that does not listen must not keep the proxy alive.
        let _ = timeout(limit, self.drain).await;
    }
}

/// Runs both pumps until one side ends or `stop` resolves, and brings what is under
/// way to its end: the server's input is closed, and it has the grace time to say its
/// last, a sixteenth of it once the proxy is told to stop. The client is not closed yet.
/// Has to run on a [`tokio::task::LocalSet`].
pub(crate) async fn conduct<J, CI, CO, SI, SO, F>(
    mediator: &Rc<Mediator<J>>,
    streams: Streams<CI, CO, SI, SO>,
    stop: &mut Stop<F>,
) -> (End<F::Output>, Farewell)
where
    J: Judge + 'static,
    CI: AsyncRead + Unpin + 'static,
    CO: AsyncWrite + Unpin + 'static,
    SI: AsyncWrite + Unpin + 'static,
    SO: AsyncRead + Unpin + 'static,
    F: Future,
    F::Output: Copy + PartialEq,
{
    use tokio::task::spawn_local;
    let mut client_pump = spawn_local(Rc::clone(mediator).pump_client(streams.client_in));
    let mut server_pump = spawn_local(Rc::clone(mediator).pump_server(streams.server_out));
    let mut client_drain = spawn_local({
        let mediator = Rc::clone(mediator);
        async move { mediator.client.drain(streams.client_out).await }
    });
    spawn_local({
        let mediator = Rc::clone(mediator);
        async move { mediator.upstream.drain(streams.server_in).await }
    });
    let end = tokio::select! {
        _ = &mut client_pump => End::Client,
        _ = &mut client_drain => End::Client,
        _ = &mut server_pump => End::Server,
        signal = stop.told() => End::Stopped(signal),
    };
    let grace = mediator.settings.grace;
    if end == End::Client {
        // Calls that only wait for the tools to be listed still get through.
        let limit = mediator.settings.listing_timeout;
        stop.within(limit, grace / 16, mediator.last_calls()).await;
    }
    mediator.upstream.finish();
    mediator.stop_asking();
    if end != End::Server {
        stop.within(grace, grace / 16, &mut server_pump).await;
        server_pump.abort();
    }
    mediator.fail_open_requests();
    // What waits is answered now that it cannot be forwarded.
    let _ = timeout(Duration::from_millis(100), mediator.idle()).await;
    let drain = client_drain;
    (end, Farewell { drain })
}
