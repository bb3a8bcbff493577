//! A server that is reached over HTTP, made to look like one that reads and writes lines.
//!
//! Behind the permit: what arrives here has been judged. Knows nothing of policies, and
//! nothing of messages but what the transport needs: ids, and the introduction.

mod bridge;
mod exchange;
mod fault;
pub(crate) mod headers;
mod older;
mod pieces;
mod renewal;
mod response;
mod shape;

pub(crate) use crate::upstream::http::headers::{MirroredHeaders, decoded};

use crate::upstream::http::bridge::Bridge;
use crate::wire::shutdown::Shutdown;
use crate::wire::unix::{Input, Output};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{duplex, split};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use url::Url;

/// What is buffered between the gateway and the bridge, in bytes.
const PIPE: usize = 64 * 1024;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// Connections to one server that are kept while nobody needs them, for half a minute.
const MAX_IDLE: usize = 64;
/// Headers that the transport sets itself.
const RESERVED: [&str; 12] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
    "upgrade",
];

/// Where a server is, and what it wants to be told on every request.
#[derive(Clone)]
pub struct HttpServer {
    uri: Uri,
    headers: HeaderMap,
    /// Whoever speaks to it has no other, and is there also while it cannot be reached.
    stays: bool,
    /// All conversations with it take their connections from here: each needs one only for
    /// as long as a request takes, and what belongs together is told by sessions.
    pool: Arc<OnceLock<HttpClient>>,
}

impl fmt::Debug for HttpServer {
    /// Addresses and headers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").finish_non_exhaustive()
    }
}

impl HttpServer {
    /// A server at `url`; `headers` go with every request.
    ///
    /// # Errors
    /// What is wrong with them, without quoting their values.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("`url` is no URL: {error}"))?;
        match parsed.scheme() {
            "http" => {}
            "https" if cfg!(feature = "tls") => {}
            "https" => {
                return Err("`url` is `https`, and this build has no TLS: build with the feature `tls`, or use a local proxy".to_owned());
            }
            _ => return Err("`url` is neither `http` nor `https`".to_owned()),
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            let why = "`url` holds a user name or a password: put credentials into `headers`";
            return Err(why.to_owned());
        }
        let mut parsed = parsed;
        parsed.set_fragment(None);
        let uri = Uri::try_from(parsed.as_str()).map_err(|_| "`url` cannot be requested")?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| format!("`headers`: {name:?} is no name of a header"))?;
            if RESERVED.contains(&header.as_str()) || header.as_str().starts_with(headers::PARAM) {
                return Err(format!(
                    "`headers`: `{header}` is set by the transport: remove it"
                ));
            }
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| {
                format!("`headers`: the value of `{header}` holds a line break or another control character")
            })?;
            value.set_sensitive(true);
            map.append(header, value);
        }
        Ok(Self {
            uri,
            headers: map,
            stays: false,
            pool: Arc::default(),
        })
    }

    /// The same, spoken to by somebody who has no other server: who does not end when it
    /// cannot be reached.
    #[must_use]
    pub fn staying(mut self) -> Self {
        self.stays = true;
        self
    }

    /// Hands a JSON text over that is no message of the protocol, and reads no answer.
    #[cfg(feature = "otel")]
    pub(crate) async fn post_json(&self, body: Vec<u8>) -> Result<(), String> {
        let mut request = self.request(Method::POST, body.into());
        let kind = HeaderValue::from_static("application/json");
        request
            .headers_mut()
            .insert(hyper::header::CONTENT_TYPE, kind);
        let answer = self.pool.get_or_init(client).request(request).await;
        match answer.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(format!(
                "it answers with the HTTP status {}",
                status.as_u16()
            )),
            Err(error) => Err(response::deepest(&error)),
        }
    }

    /// A request with the headers of this server.
    fn request(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

#[cfg(feature = "tls")]
type Connect = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connect = HttpConnector;

/// Keeps connections, and makes new ones.
type HttpClient = Client<Connect, Full<Bytes>>;

fn client() -> HttpClient {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(Duration::from_secs(30)));
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(MAX_IDLE);
    builder.build(connector(tcp))
}

#[cfg(not(feature = "tls"))]
fn connector(tcp: HttpConnector) -> Connect {
    tcp
}

/// With the authorities that the system trusts, or those in `SSL_CERT_FILE`.
#[cfg(feature = "tls")]
fn connector(mut tcp: HttpConnector) -> Connect {
    use rustls::{ClientConfig, RootCertStore};
    // Reading the authorities takes a while, and they do not change. Without any, no
    // server is trusted.
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth()
    });
    tcp.enforce_http(false);
    hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config.clone())
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp)
}

/// A connection to a server elsewhere.
pub(crate) struct Remote {
    task: JoinHandle<Option<String>>,
    hurry: Rc<Notify>,
    why: Rc<RefCell<Option<String>>>,
}

impl Remote {
    /// Starts a bridge to a server. Nothing is sent before the first line.
    pub(crate) fn connect(server: &HttpServer, max_message: usize) -> (Self, Output, Input) {
        let (near, far) = duplex(PIPE);
        let ((output, input), (lines, answers)) = (split(near), split(far));
        let hurry = Rc::new(Notify::new());
        let client = server.pool.get_or_init(client).clone();
        let bridge = Bridge::new(server.clone(), client, max_message);
        let why = bridge.why();
        let task = tokio::task::spawn_local(bridge.run(lines, answers, Rc::clone(&hurry)));
        let remote = Self { task, hurry, why };
        (remote, Box::pin(input), Box::pin(output))
    }

    /// Ends the session, once told to stop as fast as may be. Says why it ended if that
    /// was not this proxy's doing.
    pub(crate) async fn end<F>(mut self, grace: Duration, stop: &mut Shutdown<F>) -> Option<String>
    where
        F: Future,
        F::Output: Copy,
    {
        self.hurry.notify_one();
        // What does not end is dropped, with its connections.
        let _ = stop.within(grace, grace / 2, &mut self.task).await;
        self.why.take()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.task.abort();
    }
}
