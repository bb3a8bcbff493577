//! Connections: how many, how long they may take, and how they end.

use crate::http::registry::Hall;
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
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
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
    hall: Rc<Hall>,
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
        let hall = Rc::clone(&hall);
        async move { hall.sweep().await }
    });
    let code = {
        let mut accept = pin!(accept(
            &hall,
            &listener,
            tls.as_ref(),
            &mut connections,
            &over
        ));
        let code = tokio::select! {
            code = told.as_mut() => code,
            never = accept.as_mut() => match never {},
        };
        hall.draining.set(true);
        note(format_args!("told to stop: no more requests are taken"));
        let drained = timeout(hall.limits.drain, hall.settled());
        tokio::select! {
            _ = drained => {}
            never = accept.as_mut() => match never {},
        }
        code
    };
    sweep.abort();
    drop(listener);
    hall.end(code).await;
    over.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    // Clients that do not hang up are hung up on.
    let _ = timeout(LAST, all).await;
    Ok(code)
}

async fn accept(
    hall: &Rc<Hall>,
    listener: &TcpListener,
    tls: Option<&Rc<Tls>>,
    connections: &mut JoinSet<()>,
    over: &watch::Sender<bool>,
) -> Infallible {
    let places = Arc::new(Semaphore::new(hall.limits.connections));
    loop {
        // Who comes when all places are taken waits at the door.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return std::future::pending().await;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                while connections.try_join_next().is_some() {}
                connections.spawn_local(connection(
                    Rc::clone(hall),
                    stream,
                    tls.cloned(),
                    over.subscribe(),
                    place,
                ));
            }
            Err(error) => {
                note(format_args!("a connection cannot be taken: {error}"));
                // Too many open files: others have to end first.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(
    hall: Rc<Hall>,
    stream: TcpStream,
    tls: Option<Rc<Tls>>,
    over: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        return speak(hall, stream, over).await;
    };
    let mut ends = over.clone();
    let shaken = tokio::select! {
        shaken = timeout(hall.limits.reading, tls.accept(stream)) => shaken,
        _ = ends.wait_for(|over| *over) => return,
    };
    // Who speaks no TLS, or takes too long over it, is hung up on.
    if let Ok(Some(stream)) = shaken {
        speak(hall, stream, over).await;
    }
}

/// Speaks HTTP over a connection.
async fn speak<S>(hall: Rc<Hall>, stream: S, mut over: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let reading = hall.limits.reading;
    let service = service_fn(move |request| {
        let hall = Rc::clone(&hall);
        async move { Ok::<_, Infallible>(handle(hall, request).await) }
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
        _ = over.wait_for(|over| *over) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
