//! How a proxy behaves, whatever the policy says.

use crate::conversation::guarded::Guarded;
use std::sync::Arc;
use std::time::Duration;

/// How the proxy behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The longest message, in bytes, in either direction.
    pub max_message: usize,
    /// The longest name under which a gateway shows a tool.
    pub longest_name: usize,
    /// How long a human has to answer a question.
    pub ask_timeout: Duration,
    /// How long a call waits for the tools to be listed, before it is judged as a call
    /// of an unknown tool.
    pub listing_timeout: Duration,
    /// How long an upstream has to end by itself, and again after it was told to.
    pub grace: Duration,
    /// Forward what the policy asks about or denies, and log what it would have said.
    pub observe: bool,
    /// What is bouncer's own: no call may name it.
    pub guarded: Arc<Guarded>,
}

impl Settings {
    /// The limit of a message, in words.
    pub(crate) fn limit(&self) -> String {
        limit(self.max_message)
    }
}

/// The limit of a message, in words that say how it is raised.
pub(crate) fn limit(bytes: usize) -> String {
    const MIB: usize = 1024 * 1024;
    if bytes.is_multiple_of(MIB) {
        format!(
            "the limit of {} MiB (`--max-message` raises it)",
            bytes / MIB
        )
    } else {
        format!("the limit of {bytes} bytes (`--max-message` raises it)")
    }
}

impl Default for Settings {
    /// 16 MiB, 50 signs, five minutes, ten seconds, two seconds; the policy is held.
    fn default() -> Self {
        Self {
            max_message: 16 * 1024 * 1024,
            longest_name: 50,
            ask_timeout: Duration::from_secs(300),
            listing_timeout: Duration::from_secs(10),
            grace: Duration::from_secs(2),
            observe: false,
            guarded: Arc::default(),
        }
    }
}
