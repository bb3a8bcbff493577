//! Why a server at a URL did not answer.

use hyper::StatusCode;
use std::fmt;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nobody listens there.
    Unreachable(String),
    /// The connection broke.
    Broken(String),
    /// It does not know the session any more.
    SessionOver,
    /// An answer that is none.
    Refused(StatusCode),
    /// Its answer is longer than the limit.
    TooLong,
    /// It answered in another form than asked for.
    Form,
    /// The stream ended first.
    Unanswered,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "cannot be reached: {why}"),
            Self::Broken(why) => write!(f, "broke the connection: {why}"),
            Self::SessionOver => f.write_str("has ended the session"),
            Self::Refused(status) if status.is_redirection() => write!(
                f,
                "answered with the HTTP status {}; redirections are not followed",
                status.as_u16()
            ),
            Self::Refused(status) => write!(f, "answered with the HTTP status {}", status.as_u16()),
            Self::TooLong => f.write_str("gave an answer that is longer than the limit"),
            Self::Form => f.write_str("answered neither with JSON nor with a stream of events"),
            Self::Unanswered => f.write_str("ended the stream before its answer"),
        }
    }
}
