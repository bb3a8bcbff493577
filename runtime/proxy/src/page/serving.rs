//! Connections of browsers, and what is looked at before the site is asked.

use crate::http::doorway::{Doorway, Place};
use crate::http::guard::only;
use crate::page::answers;
use crate::page::answers::HttpResponse;
use crate::page::{PageAccess, PageContent, PageResponse};
use bouncer_system::log::note;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::TcpListener as Taken;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at a time; more wait at the door.
const MAX_CONNECTIONS: usize = 64;
/// What the head of a request may take, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// How many headers it may have.
const MAX_HEADERS: usize = 64;
/// The longest body, in bytes.
const MAX_BODY: usize = 16 * 1024;
/// How long the head may take, and then the body.
const READING: Duration = Duration::from_secs(10);
/// How long a connection may last, answers included: what is broken goes away.
const LASTING: Duration = Duration::from_secs(600);
/// Answers that are worked on at a time.
const WORKERS: usize = 4;
/// How long one may take.
const WORKING: Duration = Duration::from_secs(60);

/// What only scripts of the page itself send: other pages would have to ask first.
const MARK: HeaderName = HeaderName::from_static("bouncer-page");
/// How browsers say whose page makes a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Why a request does not belong here.
const NOT_HERE: &str =
    "the page is not known under that host name, or another page asks: see `--ui-host`";

/// What all requests share.
struct PageServer {
    door: Arc<PageAccess>,
    site: Arc<dyn PageContent>,
    workers: Semaphore,
}

/// Hands the page out, for ever.
pub(super) fn run(listener: Taken, door: &Arc<PageAccess>, site: &Arc<dyn PageContent>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WORKERS)
        .build();
    let house = Arc::new(PageServer {
        door: Arc::clone(door),
        site: Arc::clone(site),
        workers: Semaphore::new(WORKERS),
    });
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener)?;
            accept(&house, &listener).await;
            Ok(())
        })
    });
    if let Err(error) = served {
        note(format_args!("the page cannot be handed out: {error}"));
    }
}

async fn accept(house: &Arc<PageServer>, listener: &TcpListener) {
    let doorway = Doorway::new(MAX_CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(place) = doorway.enter().await else {
                    return;
                };
                tokio::spawn(connection(Arc::clone(house), stream, place));
            }
            // Too many open files: others have to end first.
            Err(_) => {
                doorway.make_room();
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn connection(house: Arc<PageServer>, stream: TcpStream, place: Place) {
    let _ = stream.set_nodelay(true);
    let place = Arc::new(place);
    let service = service_fn({
        let place = Arc::clone(&place);
        move |request| {
            let (house, place) = (Arc::clone(&house), Arc::clone(&place));
            async move {
                place.is_known();
                let answer = answer(&house, request).await;
                if answer.status().is_client_error() {
                    place.is_stranger();
                }
                Ok::<_, Infallible>(answer)
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READING)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // What goes wrong here goes wrong for the browser.
    tokio::select! {
        _ = timeout(LASTING, connection) => {}
        () = place.is_needed() => {}
    }
}

async fn answer(house: &Arc<PageServer>, request: Request<Incoming>) -> HttpResponse {
    match admitted(house, request).await {
        Ok(answer) => answer,
        Err((status, why)) => answers::refused(status, why),
    }
}

type Refused = (StatusCode, &'static str);

async fn admitted(
    house: &Arc<PageServer>,
    request: Request<Incoming>,
) -> Result<HttpResponse, Refused> {
    let headers = request.headers();
    let target = request.uri().authority().map(|target| target.as_str());
    let placed = house.door.guard.place(headers, target);
    placed.map_err(|(status, _)| (status, NOT_HERE))?;
    let path = request.uri().path().to_owned();
    let asks = path.starts_with("/api/");
    house.door.own(headers, asks)?;
    if !asks {
        if *request.method() != Method::GET {
            return Ok(answers::not_allowed("GET"));
        }
        let found = house.site.file(&path);
        let (kind, text) = found.ok_or((StatusCode::NOT_FOUND, "there is nothing here"))?;
        return Ok(answers::file(kind, text));
    }
    house.door.guard.who(headers)?;
    let site = Arc::clone(&house.site);
    match *request.method() {
        Method::GET => {
            let query = request.uri().query().unwrap_or_default();
            let query: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect();
            house.work(move || site.get(&path, &query)).await
        }
        Method::POST => {
            if only(headers, &MARK) != Some("1") {
                return Err((
                    StatusCode::FORBIDDEN,
                    "only the page itself may ask for that",
                ));
            }
            if only(headers, &CONTENT_TYPE) != Some("application/json") {
                let why = "the body has to be `application/json`";
                return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
            }
            let body = body(request.into_body()).await?;
            house.work(move || site.post(&path, &body)).await
        }
        _ => Ok(answers::not_allowed("GET, POST")),
    }
}

async fn body(body: Incoming) -> Result<Vec<u8>, Refused> {
    match timeout(READING, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

impl PageServer {
    /// Has the site work on an answer beside everything else here.
    async fn work(
        &self,
        work: impl FnOnce() -> PageResponse + Send + 'static,
    ) -> Result<HttpResponse, Refused> {
        const BUSY: Refused = (
            StatusCode::SERVICE_UNAVAILABLE,
            "that takes too long: try again, or ask for less",
        );
        let done = async {
            let _place = self.workers.acquire().await;
            tokio::task::spawn_blocking(work).await
        };
        match timeout(WORKING, done).await {
            Ok(Ok(said)) => Ok(answers::said(said)),
            Ok(Err(_)) => Err((StatusCode::INTERNAL_SERVER_ERROR, "something went wrong")),
            Err(_) => Err(BUSY),
        }
    }
}

impl PageAccess {
    /// Whether a request comes from the page itself, as far as browsers say where it
    /// comes from. Pages of other ports of this machine are strangers too.
    fn own(&self, headers: &HeaderMap, asks: bool) -> Result<(), Refused> {
        const STRANGER: Refused = (
            StatusCode::FORBIDDEN,
            "requests of other pages are not taken",
        );
        if headers.contains_key(ORIGIN) {
            let origin = only(headers, &ORIGIN).unwrap_or_default();
            let origin = origin.to_ascii_lowercase();
            let host = only(headers, &HOST).unwrap_or_default();
            let own = format!("http://{}", host.to_ascii_lowercase());
            if origin != own && !self.origins.contains(&origin) {
                return Err(STRANGER);
            }
        }
        let site = only(headers, &FETCH_SITE);
        let opens = !asks && only(headers, &FETCH_MODE) == Some("navigate");
        match site {
            None if headers.contains_key(FETCH_SITE) => Err(STRANGER),
            None | Some("same-origin") => Ok(()),
            // A link in a mail may lead here, or somebody may have typed the address.
            Some(_) if opens => Ok(()),
            Some(_) => Err(STRANGER),
        }
    }
}
