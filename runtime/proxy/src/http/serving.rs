//! Connections: how many, how long they may take, and how they end.

use crate::http::doorway::{Doorway, Place};
use crate::http::registry::SessionRegistry;
use crate::http::requests::handle;
use crate::http::tls::Tls;
use bouncer_system::log::note;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{sleep, timeout};

/// What the head of a request may take, in bytes.
const MAX_HEAD: usize = 32 * 1024;
/// How many headers it may have.
const MAX_HEADERS: usize = 64;
/// How long connections have to end once all conversations have.
const LAST: Duration = Duration::from_secs(1);

/// Serves until `told` resolves; gives the exit code.
pub(super) async fn serve<F>(
    registry: Rc<SessionRegistry>,
    listener: TcpListener,
    tls: Option<Rc<Tls>>,
    told: F,
) -> io::Result<u8>
where
    F: Future<Output = u8>,
{
    let address = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    note(format_args!("listening at {scheme}://{address}/mcp"));
    let mut told = pin!(told);
    let over = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let sweep = spawn_local({
        let registry = Rc::clone(&registry);
        async move { registry.sweep().await }
    });
    let code = {
        let mut accept = pin!(accept(
            &registry,
            &listener,
            tls.as_ref(),
            &mut connections,
            &over
        ));
        let code = tokio::select! {
            code = told.as_mut() => code,
            never = accept.as_mut() => match never {},
        };
        registry.draining.set(true);
        note(format_args!("told to stop: no more requests are taken"));
        let drained = timeout(registry.limits.drain, registry.settled());
        tokio::select! {
            _ = drained => {}
            never = accept.as_mut() => match never {},
        }
        code
    };
    sweep.abort();
    drop(listener);
    registry.end(code).await;
    over.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    // Clients that do not hang up are hung up on.
    let _ = timeout(LAST, all).await;
    Ok(code)
}

async fn accept(
    registry: &Rc<SessionRegistry>,
    listener: &TcpListener,
    tls: Option<&Rc<Tls>>,
    connections: &mut JoinSet<()>,
    over: &watch::Sender<bool>,
) -> Infallible {
    let doorway = Doorway::new(registry.limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(place) = doorway.enter().await else {
                    return std::future::pending().await;
                };
                while connections.try_join_next().is_some() {}
                connections.spawn_local(connection(
                    Rc::clone(registry),
                    stream,
                    tls.cloned(),
                    over.subscribe(),
                    place,
                ));
            }
            Err(error) => {
                note(format_args!("a connection cannot be taken: {error}"));
                // Too many open files: others have to end first.
                doorway.make_room();
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn connection(
    registry: Rc<SessionRegistry>,
    stream: TcpStream,
    tls: Option<Rc<Tls>>,
    over: watch::Receiver<bool>,
    place: Place,
) {
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    let place = Rc::new(place);
    let Some(tls) = tls else {
        return speak(registry, stream, over, place).await;
    };
    let mut ends = over.clone();
    let shaken = tokio::select! {
        shaken = timeout(registry.limits.reading, tls.accept(stream)) => shaken,
        () = place.is_needed() => return,
        _ = ends.wait_for(|over| *over) => return,
    };
    // Who speaks no TLS, or takes too long over it, is hung up on.
    if let Ok(Some(stream)) = shaken {
        speak(registry, stream, over, place).await;
    }
}

/// Speaks HTTP over a connection.
async fn speak<S>(
    registry: Rc<SessionRegistry>,
    stream: S,
    mut over: watch::Receiver<bool>,
    place: Rc<Place>,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let reading = registry.limits.reading;
    let service = service_fn({
        let place = Rc::clone(&place);
        move |request| {
            let (registry, place) = (Rc::clone(&registry), Rc::clone(&place));
            async move {
                place.is_known();
                let answer = handle(registry, request).await;
                if answer.status().is_client_error() {
                    place.is_stranger();
                }
                Ok::<_, Infallible>(answer)
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reading)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // What goes wrong here goes wrong for the client.
        _ = connection.as_mut() => {}
        () = place.is_needed() => {}
        _ = over.wait_for(|over| *over) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
