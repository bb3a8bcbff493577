//! What waits to be written to one side, bounded.
//!
//! Knows nothing of messages: see [`crate::upstream::writer`] for who may write what. A
//! writer first waits for [`Outbox::room`] and then pushes without a further await,
//! so that nothing can happen between a decision and its message being queued.

use std::cell::{Cell, RefCell};
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// Writers wait while this many bytes are queued.
const HIGH_WATER: usize = 1024 * 1024;
/// A buffer larger than this is given back once it is empty.
const KEEP: usize = 1024 * 1024;

/// A queue of whole lines.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    buffer: RefCell<Vec<u8>>,
    /// Nothing more will be pushed: write what is there, then close.
    finished: Cell<bool>,
    /// The other side is gone: pushes are dropped.
    broken: Cell<bool>,
    filled: Notify,
    drained: Notify,
}

impl Outbox {
    /// Waits until there is room for a line. Returns at once when the other side is gone.
    pub(crate) async fn room(&self) {
        while !self.broken.get() && self.buffer.borrow().len() >= HIGH_WATER {
            self.drained.notified().await;
        }
        // One wake-up is stored for one waiter: pass it on.
        self.drained.notify_one();
    }

    /// Queues one line; the newline is added.
    pub(crate) fn push(&self, line: &[u8]) {
        if self.broken.get() || self.finished.get() {
            return;
        }
        let mut buffer = self.buffer.borrow_mut();
        buffer.reserve(line.len() + 1);
        buffer.extend_from_slice(line);
        buffer.push(b'\n');
        drop(buffer);
        self.filled.notify_one();
    }

    /// How many bytes are queued.
    pub(crate) fn len(&self) -> usize {
        self.buffer.borrow().len()
    }

    /// Lets the writer end once everything is written.
    pub(crate) fn finish(&self) {
        self.finished.set(true);
        self.filled.notify_one();
    }

    /// Whether the other side is gone or is about to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.broken.get() || self.finished.get()
    }

    /// Writes what is queued to `sink` until [`Outbox::finish`], then closes it.
    ///
    /// # Errors
    /// If the sink cannot be written; from then on pushes are dropped.
    pub(crate) async fn drain<W: AsyncWrite + Unpin>(&self, mut sink: W) -> io::Result<()> {
        let result = self.drain_into(&mut sink).await;
        self.broken.set(true);
        self.buffer.borrow_mut().clear();
        self.drained.notify_one();
        result
    }

    async fn drain_into<W: AsyncWrite + Unpin>(&self, sink: &mut W) -> io::Result<()> {
        let mut writing = Vec::new();
        loop {
            std::mem::swap(&mut *self.buffer.borrow_mut(), &mut writing);
            if writing.is_empty() {
                if self.finished.get() {
                    return sink.shutdown().await;
                }
                self.filled.notified().await;
                continue;
            }
            self.drained.notify_one();
            sink.write_all(&writing).await?;
            sink.flush().await?;
            writing.clear();
            if writing.capacity() > KEEP {
                writing = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    #[test]
    fn waits_for_a_slow_reader_and_writes_all() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let (near, mut far) = tokio::io::duplex(4096);
            let outbox = Rc::new(Outbox::default());
            let drain = tokio::task::spawn_local({
                let outbox = Rc::clone(&outbox);
                async move { outbox.drain(near).await }
            });
            let line = vec![b'x'; 300_000];
            let producers: Vec<_> = (0..2)
                .map(|_| {
                    let (outbox, line) = (Rc::clone(&outbox), line.clone());
                    tokio::task::spawn_local(async move {
                        for _ in 0..10 {
                            outbox.room().await;
                            outbox.push(&line);
                        }
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(outbox.buffer.borrow().len() <= HIGH_WATER + 2 * 300_001);
            assert!(!producers[0].is_finished());
            let read = tokio::task::spawn_local(async move {
                let mut all = Vec::new();
                far.read_to_end(&mut all).await.unwrap();
                all.len()
            });
            for producer in producers {
                producer.await.unwrap();
            }
            outbox.finish();
            drain.await.unwrap().unwrap();
            assert_eq!(read.await.unwrap(), 20 * 300_001);
        });
    }

    #[test]
    fn a_reader_that_is_gone_blocks_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, far) = tokio::io::duplex(16);
            drop(far);
            let outbox = Outbox::default();
            outbox.push(&vec![b'x'; HIGH_WATER]);
            assert!(outbox.drain(near).await.is_err());
            outbox.room().await;
            assert!(outbox.is_closed());
        });
    }
}
