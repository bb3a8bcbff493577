//! How long the gateway waits for what.

use std::time::Duration;

/// How long the gateway waits for what.
#[derive(Clone, Debug)]
pub struct Patience {
    /// How long the answer to the client's introduction waits for servers to say what
    /// they can do.
    pub hello: Duration,
    /// How long after that lists wait for servers that are still starting.
    pub lists: Duration,
    /// How long a server may take to introduce itself.
    pub start: Duration,
    /// How long one server may hold up an answer that is put together from all.
    pub answers: Duration,
    /// The pause before a server is started again the first time; it doubles.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Default for Patience {
    /// Half a second, five seconds, a minute, five seconds; pauses of half a second to
    /// half a minute.
    fn default() -> Self {
        Self {
            hello: Duration::from_millis(500),
            lists: Duration::from_secs(5),
            start: Duration::from_secs(60),
            answers: Duration::from_secs(5),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}
