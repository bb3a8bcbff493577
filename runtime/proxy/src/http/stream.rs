//! What is on its way to one waiting client: messages until the last, as one JSON body or
//! as a stream of events.
//!
//! Knows nothing of what the messages say.

use crate::wire::outbox::Outbox;
use hyper::body::{Body, Bytes, Frame};
use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

/// What may be queued for all streams of one conversation, in bytes.
const MAX_QUEUED: usize = 64 * 1024 * 1024;
/// A stream that is silent for so long says that it is still there.
const BEAT: Duration = Duration::from_secs(15);

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub line: Vec<u8>,
    /// Nothing follows it.
    pub last: bool,
}

/// The end that messages are put into.
#[derive(Debug)]
pub(super) struct Sender {
    sender: mpsc::UnboundedSender<Message>,
    queued: Rc<Cell<usize>>,
}

/// The end that they come out of.
pub(super) struct Receiver {
    receiver: mpsc::UnboundedReceiver<Message>,
    queued: Rc<Cell<usize>>,
    /// The last message was taken out.
    complete: bool,
    left: Option<Box<dyn FnOnce()>>,
    /// Counts the request as open for as long as somebody listens.
    ticket: Option<Ticket>,
}

/// One of the requests that `Ticket::new` counts, while it exists.
pub(super) struct Ticket(Rc<Cell<usize>>);

impl Ticket {
    pub(super) fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// What a session says to its gateway, and how much waits in all its streams.
#[derive(Debug, Default)]
pub(super) struct Channel {
    /// What the client says.
    pub said: Outbox,
    /// Bytes in all streams.
    pub queued: Rc<Cell<usize>>,
}

/// Both ends. `queued` counts the bytes in all streams of a conversation.
pub(super) fn channel(queued: &Rc<Cell<usize>>) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let queued = Rc::clone(queued);
    let sender = Sender {
        sender,
        queued: Rc::clone(&queued),
    };
    let receiver = Receiver {
        receiver,
        queued,
        complete: false,
        left: None,
        ticket: None,
    };
    (sender, receiver)
}

impl Sender {
    /// Whether somebody still listens.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Queues a message; `false`: nobody listens, or not fast enough.
    pub(super) fn send(&self, line: Vec<u8>, last: bool) -> bool {
        let length = line.len();
        if self.queued.get() + length > MAX_QUEUED {
            return false;
        }
        if self.sender.send(Message { line, last }).is_err() {
            return false;
        }
        self.queued.set(self.queued.get() + length);
        true
    }
}

impl Receiver {
    /// Calls `left` if the receiver is dropped before the last message.
    pub(super) fn when_left(mut self, left: impl FnOnce() + 'static) -> Self {
        self.left = Some(Box::new(left));
        self
    }

    /// Keeps `ticket` until the last message, or until nobody listens any more.
    pub(super) fn holding(mut self, ticket: Ticket) -> Self {
        self.ticket = Some(ticket);
        self
    }

    fn took(&mut self, message: Option<&Message>) {
        // Without another message there is nobody to be told either.
        self.complete |= message.is_none_or(|message| message.last);
        if self.complete {
            self.ticket = None;
        }
        let length = message.map_or(0, |message| message.line.len());
        self.queued.set(self.queued.get().saturating_sub(length));
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Option<Message> {
        let message = self.receiver.recv().await;
        self.took(message.as_ref());
        message
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        let polled = self.receiver.poll_recv(cx);
        if let Poll::Ready(message) = &polled {
            self.took(message.as_ref());
        }
        polled
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.receiver.close();
        while let Ok(message) = self.receiver.try_recv() {
            self.took(Some(&message));
        }
        if let Some(left) = self.left.take().filter(|_| !self.complete) {
            left();
        }
    }
}

/// The body of an answer.
pub(super) enum Reply {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events, as they come.
    Events(Box<Events>),
}

/// See [`Reply`].
pub(super) struct Events {
    receiver: Receiver,
    first: Option<Message>,
    beat: Pin<Box<Sleep>>,
    done: bool,
}

impl Reply {
    /// Events: `first`, if it was taken out already, then all others.
    pub(super) fn events(first: Option<Message>, receiver: Receiver) -> Self {
        let mut beat = Box::pin(sleep(BEAT));
        if first.is_none() {
            // Whoever waits is told at once that it will be an event.
            beat.as_mut().reset(Instant::now());
        }
        Self::Events(Box::new(Events {
            receiver,
            first,
            beat,
            done: false,
        }))
    }
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.done {
            return Poll::Ready(None);
        }
        let message = match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.receiver.poll_next(cx),
        };
        match message {
            Poll::Ready(Some(message)) => {
                self.done = message.last;
                self.beat.as_mut().reset(Instant::now() + BEAT);
                let mut event = b"event: message\ndata: ".to_vec();
                event.extend_from_slice(&message.line);
                event.extend_from_slice(b"\n\n");
                Poll::Ready(Some(event.into()))
            }
            Poll::Ready(None) => {
                self.done = true;
                Poll::Ready(None)
            }
            Poll::Pending => {
                if self.beat.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.beat.as_mut().reset(Instant::now() + BEAT);
                Poll::Ready(Some(Bytes::from_static(b": \n\n")))
            }
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.take()),
            Self::Events(events) => events.poll(cx),
        };
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(whole) => {
                let length = whole.as_ref().map_or(0, Bytes::len);
                hyper::body::SizeHint::with_exact(length as u64)
            }
            Self::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}
