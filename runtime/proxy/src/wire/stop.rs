//! Being told to stop, at any time, also while the end is under way already.
//!
//! Whoever starts a proxy may kill it two seconds after telling it to stop: the MCP
//! SDKs do. A server that is still alive then would be left behind, so what waits for
//! it waits less once the signal has come.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::time::timeout;

/// A future that may be waited for again and again.
pub(crate) struct Stop<F: Future> {
    signal: Pin<Box<F>>,
    told: Option<F::Output>,
}

impl<F> Stop<F>
where
    F: Future,
    F::Output: Copy,
{
    /// Resolves when `signal` does.
    pub(crate) fn new(signal: F) -> Self {
        Self {
            signal: Box::pin(signal),
            told: None,
        }
    }

    /// Waits for the signal; at once if it has come before.
    pub(crate) async fn told(&mut self) -> F::Output {
        match self.told {
            Some(signal) => signal,
            None => {
                let signal = self.signal.as_mut().await;
                self.told = Some(signal);
                signal
            }
        }
    }

    /// Waits for `work`, for `limit` at most; once told to stop, for `hurried` at most
    /// from then on. `None`: it did not end in time.
    pub(crate) async fn within<T>(
        &mut self,
        limit: Duration,
        hurried: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        if self.told.is_none() {
            tokio::select! {
                done = timeout(limit, work.as_mut()) => return done.ok(),
                _ = self.told() => {}
            }
        }
        timeout(hurried, work).await.ok()
    }
}
