//! Two streams that lead to an interpreter first, and to the server itself once it turns
//! out that nothing has to be interpreted.
//!
//! What the interpreter hands over is whole: it has read nothing that it keeps.

use crate::wire::unix::{Input, Output};
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, ReadHalf, WriteHalf};

/// Where the server's own streams are left for those who use them from now on.
#[derive(Default)]
pub(super) struct Handover {
    input: RefCell<Option<Output>>,
    output: RefCell<Option<(Vec<u8>, Input)>>,
    /// Nobody will say anything any more.
    said_all: Cell<bool>,
}

impl Handover {
    /// Leaves the server's streams. `said` is what the server has said that nobody has
    /// heard yet. The pipe's other end has to be dropped after this.
    pub(super) fn leave(&self, input: Option<Output>, said: Vec<u8>, output: Input) {
        self.input.replace(input.filter(|_| !self.said_all.get()));
        self.output.replace(Some((said, output)));
    }
}

/// What the server hears.
pub(super) struct Speaking {
    pipe: WriteHalf<DuplexStream>,
    direct: Option<Output>,
    handover: Rc<Handover>,
}

/// What the server says.
pub(super) struct Hearing {
    pipe: ReadHalf<DuplexStream>,
    said: Vec<u8>,
    direct: Option<Input>,
    handover: Rc<Handover>,
}

/// Both ends, before anything is handed over.
pub(super) fn switch(pipe: DuplexStream, handover: &Rc<Handover>) -> (Speaking, Hearing) {
    let (read, write) = tokio::io::split(pipe);
    let speaking = Speaking {
        pipe: write,
        direct: None,
        handover: Rc::clone(handover),
    };
    let hearing = Hearing {
        pipe: read,
        said: Vec::new(),
        direct: None,
        handover: Rc::clone(handover),
    };
    (speaking, hearing)
}

impl Drop for Speaking {
    /// The server's input ends with this, also if it was left here and not taken.
    fn drop(&mut self) {
        self.handover.said_all.set(true);
        self.handover.input.take();
    }
}

impl Speaking {
    fn with<T>(
        &mut self,
        then: impl FnOnce(Pin<&mut dyn AsyncWrite>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.direct.is_none() {
            self.direct = self.handover.input.take();
        }
        match &mut self.direct {
            Some(direct) => then(direct.as_mut()),
            None => {
                let pipe: Pin<&mut WriteHalf<DuplexStream>> = Pin::new(&mut self.pipe);
                then(pipe)
            }
        }
    }
}

impl AsyncWrite for Speaking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|sink| sink.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|sink| sink.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|sink| sink.poll_shutdown(cx))
    }
}

impl AsyncRead for Hearing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.direct.is_none() {
            let before = buffer.filled().len();
            match Pin::new(&mut this.pipe).poll_read(cx, buffer) {
                Poll::Ready(Ok(())) if buffer.filled().len() == before => {}
                other => return other,
            }
            let Some((said, direct)) = this.handover.output.take() else {
                return Poll::Ready(Ok(()));
            };
            this.said = said;
            this.direct = Some(direct);
        }
        if !this.said.is_empty() {
            let length = this.said.len().min(buffer.remaining());
            buffer.put_slice(this.said.get(..length).unwrap_or_default());
            this.said.drain(..length);
            return Poll::Ready(Ok(()));
        }
        match &mut this.direct {
            Some(direct) => direct.as_mut().poll_read(cx, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}
