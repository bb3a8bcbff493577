//! What the transport has to know of a line.

use crate::upstream::http::headers::Head;
use bouncer_mcp::id::Key;
use hyper::body::Bytes;
use hyper::header::HeaderValue;

/// What the transport has to know of a line.
#[derive(Debug)]
pub(super) struct Shape {
    /// Of a request: how its id was spelled, and its value.
    pub id: Option<(Vec<u8>, Key)>,
    pub kind: LineKind,
    /// Of a message of the newer version: its version, and what else its headers say.
    pub newer: Option<(HeaderValue, Head)>,
    /// It only looks: asking twice changes nothing.
    pub looks: bool,
    /// It lists tools.
    pub lists: bool,
    /// It asks whether the server speaks the newer version. Many do not, which is said by
    /// whoever finds that the server speaks no version at all.
    pub probes: bool,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Initialize,
    Initialized,
    /// Takes a request back.
    Cancelled(Option<Key>),
    Other,
}

/// What began the session.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// The client's `initialize`, and its id.
    pub hello: Option<(Bytes, Key)>,
    /// The client's `notifications/initialized`.
    pub initialized: Option<Bytes>,
}
