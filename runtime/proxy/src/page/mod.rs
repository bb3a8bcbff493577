//! A page for the human beside a running gateway: who may see it, and how it is handed out.
//!
//! Runs on a thread of its own, so that no reader holds up a call, and a fault here ends
//! nothing but the answer in question. What the page is and says comes from a [`Site`];
//! here is what all of it has in common. Loopback only. Its files are for everybody; what
//! they ask for needs the token that is in the link.

mod answers;
mod serving;

use crate::http::guard::Guard;
use crate::http::tokens::Tokens;
use bouncer_system::random;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// What the page is and says. Its functions may wait for disks; each runs on a thread of
/// its own, a few at a time.
pub trait Site: Send + Sync + 'static {
    /// A file of the page: its media type, and its text. The page itself is `/`.
    fn file(&self, path: &str) -> Option<(&'static str, &'static str)>;
    /// Answers what the page asks for below `/api/`.
    fn get(&self, path: &str, query: &[(String, String)]) -> Said;
    /// Does what the page wants done.
    fn post(&self, path: &str, body: &[u8]) -> Said;
}

/// An answer: a status of HTTP, and a JSON text.
#[derive(Clone, Debug)]
pub struct Said {
    /// The status.
    pub status: u16,
    /// The JSON text.
    pub body: Vec<u8>,
}

/// A page that is ready to be handed out.
pub struct Page {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    door: Door,
}

/// Who may come in.
#[derive(Debug)]
struct Door {
    guard: Guard,
    /// Origins of the page beside the one that it is asked at.
    origins: Vec<String>,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// Takes the address, and makes a token. `hosts` are names under which a proxy with
    /// TLS hands the page on.
    ///
    /// # Errors
    /// If the address is not on loopback, is taken, or there is no randomness.
    pub fn bind(address: SocketAddr, hosts: &[String]) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let why = "the page is only handed out on loopback, such as 127.0.0.1:8809: it has no TLS, so its token could be read on the way; \
                to reach it from elsewhere, forward the port with `ssh -L`, or put a proxy with TLS on this machine and name it with `--ui-host`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let token = random::secret().map_err(|error| io::Error::other(error.to_string()))?;
        let digest: String = Sha256::digest(token.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let tokens = Tokens::parse(&format!("page {digest}")).map_err(io::Error::other)?;
        let origins: Vec<String> = hosts
            .iter()
            .map(|host| format!("https://{}", host.to_ascii_lowercase()))
            .collect();
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            token,
            door: Door {
                guard: Guard::new(tokens, address.ip(), hosts, &origins),
                origins,
            },
        })
    }

    /// Where it is, without the token.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link to open. The token stands behind `#`: browsers keep that part to
    /// themselves, so it is in no request, no log of a proxy and no `Referer`.
    #[must_use]
    pub fn link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token)
    }

    /// Hands the page out for as long as the process runs.
    ///
    /// # Errors
    /// If there can be no further thread.
    pub fn start(self, site: Arc<dyn Site>) -> io::Result<()> {
        let (listener, door) = (self.listener, Arc::new(self.door));
        std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || serving::run(listener, &door, &site))?;
        Ok(())
    }
}

impl Said {
    /// A value.
    #[must_use]
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        let body = value.to_string().into_bytes();
        Self { status, body }
    }

    /// Why not, in words.
    #[must_use]
    pub fn error(status: u16, why: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": why }))
    }
}
