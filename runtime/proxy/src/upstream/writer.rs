//! The only way to write to an upstream server.
//!
//! Three doors, one for each kind of line: a judged call needs the gate's
//! [`Pass`] (a permit, or what stands for one where the policy is only observed), other client traffic needs a [`PassThrough`] that only the classifier
//! makes (and never for a call), and what the proxy itself says is an [`ProxyMessage`],
//! whose methods are fixed. A line that is none of these cannot be written.

use crate::conversation::envelope::PassThrough;
use crate::conversation::judge::Pass;
use crate::upstream::proxy_message::ProxyMessage;
use crate::wire::outbox::Outbox;
use std::io;
use tokio::io::AsyncWrite;

/// What waits to be written to the upstream server.
#[derive(Debug, Default)]
pub(crate) struct Upstream {
    outbox: Outbox,
}

impl Upstream {
    /// Queues the call that `pass` lets through, byte for byte. `false` if it is for a
    /// hypothetical call, which has no message, or if the upstream is gone.
    pub(crate) fn forward(&self, pass: &Pass<'_>) -> bool {
        match pass.message() {
            Some(message) if !self.outbox.is_closed() => {
                self.outbox.push(message);
                true
            }
            _ => false,
        }
    }

    /// Queues a line that is not a call, byte for byte.
    pub(crate) fn pass(&self, line: &PassThrough<'_>) {
        self.outbox.push(line.bytes());
    }

    /// Queues what the proxy itself says.
    pub(crate) fn say(&self, line: &ProxyMessage) {
        self.outbox.push(line.bytes());
    }

    /// See [`Outbox::room`].
    pub(crate) async fn room(&self) {
        self.outbox.room().await;
    }

    /// Closes the upstream's input once everything is written.
    pub(crate) fn finish(&self) {
        self.outbox.finish();
    }

    /// Whether lines can still reach the upstream.
    pub(crate) fn is_closed(&self) -> bool {
        self.outbox.is_closed()
    }

    /// See [`Outbox::drain`].
    pub(crate) async fn drain<W: AsyncWrite + Unpin>(&self, sink: W) -> io::Result<()> {
        self.outbox.drain(sink).await
    }
}
