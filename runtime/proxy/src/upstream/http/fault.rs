//! Why a server at a URL did not answer.

use bouncer_system::log::visible;
use hyper::body::Incoming;
use hyper::header::RETRY_AFTER;
use hyper::{Response, StatusCode};
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
    /// An answer that is none, and when it is worth another try.
    Refused(StatusCode, Option<String>),
    /// Its answer is longer than the limit.
    TooLong,
    /// It answered in another form than asked for.
    Form,
    /// The stream ended first.
    Unanswered,
    /// The only stream of all ended.
    StreamEnded,
}

/// How much is shown of when a server wants to be asked again.
const MAX_WAIT: usize = 64;

impl Fault {
    /// A refusal, with what it says of another try.
    pub(super) fn refused(response: &Response<Incoming>) -> Self {
        let wait = response.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok());
        let wait = wait.filter(|wait| wait.len() <= MAX_WAIT).map(visible);
        Self::Refused(response.status(), wait.map(|wait| wait.to_string()))
    }
}

/// What whoever set the server up can do about a status.
fn advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => {
            ": it wants to know who asks; give it a token with `headers: {Authorization: Bearer …}` in the server's entry"
        }
        StatusCode::FORBIDDEN => {
            ": it does not let the holder of this token do that; look at `headers` in the server's entry"
        }
        StatusCode::NOT_FOUND => {
            ": there is nothing at that address; look at `url` in the server's entry"
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            ": it speaks neither of the two transports there; look at `url` in the server's entry, which often ends in `/mcp` or `/sse`"
        }
        StatusCode::TOO_MANY_REQUESTS => ": it is asked too often",
        status if status.is_redirection() => {
            "; redirections are not followed, but to the same place with a slash or without"
        }
        _ => "",
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "cannot be reached: {why}"),
            Self::Broken(why) => write!(f, "broke the connection: {why}"),
            Self::SessionOver => f.write_str("has ended the session"),
            Self::Refused(status, wait) => {
                let code = status.as_u16();
                write!(f, "answered with the HTTP status {code}{}", advice(*status))?;
                match wait {
                    Some(wait) if wait.bytes().all(|byte| byte.is_ascii_digit()) => {
                        write!(f, "; try again in {wait} s")
                    }
                    Some(wait) => write!(f, "; try again after {wait}"),
                    None => Ok(()),
                }
            }
            Self::TooLong => f.write_str(
                "gave an answer that is longer than the limit (`--max-message` raises it)",
            ),
            Self::StreamEnded => f.write_str("ended the stream of all that it says"),
            Self::Form => f.write_str("answered neither with JSON nor with a stream of events"),
            Self::Unanswered => f.write_str("ended the stream before its answer"),
        }
    }
}
