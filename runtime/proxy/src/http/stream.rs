//! What is on its way to one waiting client: messages until the last, as one JSON body or
//! as a stream of events.
//!
//! Knows nothing of what the messages say.

use crate::wire::outbox::Outbox;
use hyper::body::{Body, Bytes, Frame};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
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

/// Messages that are kept for clients that come back.
const MAX_KEPT: usize = 256;
/// Their bytes.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub line: Vec<u8>,
    /// Nothing follows it.
    pub last: bool,
    /// Under which it can be asked for again what follows.
    pub id: Option<EventId>,
}

/// A message's place: its stream, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub stream: u64,
    pub number: u64,
}

impl EventId {
    /// As a client says it in `Last-Event-ID`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        Some(Self {
            stream: stream.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}

/// What was said last in all streams of a conversation: for clients whose connection broke.
#[derive(Debug, Default)]
pub(super) struct History {
    kept: VecDeque<(EventId, Vec<u8>, bool)>,
    bytes: usize,
    /// The highest number that is not kept any more, by stream.
    lost: BTreeMap<u64, u64>,
    /// Of streams up to this one nothing is known.
    forgotten: u64,
}

impl History {
    fn keep(&mut self, id: EventId, line: &[u8], last: bool) {
        self.bytes += line.len();
        self.kept.push_back((id, line.to_vec(), last));
        while self.bytes > MAX_KEPT_BYTES || self.kept.len() > MAX_KEPT {
            let Some((id, line, _)) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= line.len();
            self.lost.insert(id.stream, id.number);
            if self.lost.len() > MAX_KEPT
                && let Some((stream, _)) = self.lost.pop_first()
            {
                self.forgotten = stream;
            }
        }
    }

    /// What followed `id` in its stream; `None`: some of that is not kept any more.
    pub(super) fn after(&self, id: EventId) -> Option<Vec<Message>> {
        let lost = self.lost.get(&id.stream);
        if id.stream <= self.forgotten || lost.is_some_and(|lost| *lost > id.number) {
            return None;
        }
        let follows = |kept: &EventId| kept.stream == id.stream && kept.number > id.number;
        let all = self.kept.iter().filter(|(kept, ..)| follows(kept));
        let message = |(id, line, last): &(EventId, Vec<u8>, bool)| Message {
            line: line.clone(),
            last: *last,
            id: Some(*id),
        };
        Some(all.map(message).collect())
    }
}

/// The end that messages are put into.
#[derive(Debug)]
pub(super) struct Sender {
    sender: mpsc::UnboundedSender<Message>,
    queued: Rc<Cell<usize>>,
    /// Where what is said is kept, and the place of what was said last.
    kept: Option<(Rc<RefCell<History>>, Cell<EventId>)>,
}

/// The end that they come out of.
pub(super) struct Receiver {
    receiver: mpsc::UnboundedReceiver<Message>,
    queued: Rc<Cell<usize>>,
    /// The last message was taken out.
    complete: bool,
    left: Option<Box<dyn FnOnce()>>,
    /// Counts the request as open for as long as somebody listens.
    ticket: Option<InFlight>,
}

/// One of the requests that `InFlight::new` counts, while it exists.
pub(super) struct InFlight(Rc<Cell<usize>>);

impl InFlight {
    pub(super) fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for InFlight {
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
        kept: None,
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

    /// Keeps what is said from now on, as what follows `last`.
    pub(super) fn keeping(mut self, kept: &Rc<RefCell<History>>, last: EventId) -> Self {
        self.kept = Some((Rc::clone(kept), Cell::new(last)));
        self
    }

    /// The place of what was said last, if that is kept.
    pub(super) fn at(&self) -> Option<EventId> {
        self.kept.as_ref().map(|(_, at)| at.get())
    }

    /// Queues a message; `false`: nobody listens, or not fast enough.
    pub(super) fn send(&self, line: Vec<u8>, last: bool) -> bool {
        let id = self.kept.as_ref().map(|(kept, at)| {
            let EventId { stream, number } = at.get();
            let id = EventId {
                stream,
                number: number + 1,
            };
            at.set(id);
            kept.borrow_mut().keep(id, &line, last);
            id
        });
        self.queue(Message { line, last, id })
    }

    /// Queues a message that was said before.
    pub(super) fn queue(&self, message: Message) -> bool {
        let length = message.line.len();
        if self.queued.get() + length > MAX_QUEUED || self.sender.send(message).is_err() {
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
    pub(super) fn holding(mut self, ticket: InFlight) -> Self {
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
pub(super) enum ResponseBody {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events, as they come.
    Events(Box<Events>),
}

/// See [`ResponseBody`].
pub(super) struct Events {
    receiver: Receiver,
    first: Option<Message>,
    beat: Pin<Box<Sleep>>,
    done: bool,
}

impl ResponseBody {
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
                let id = message
                    .id
                    .map(|EventId { stream, number }| format!("id: {stream}-{number}\n"));
                let mut event = id.unwrap_or_default().into_bytes();
                event.extend_from_slice(b"event: message\ndata: ");
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

impl Body for ResponseBody {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_followed_is_kept_and_what_is_lost_is_not_skipped() {
        let kept = Rc::new(RefCell::new(History::default()));
        let start = EventId {
            stream: 7,
            number: 0,
        };
        let (sender, receiver) = channel(&Rc::default());
        let sender = sender.keeping(&kept, start);
        let (other, _other) = channel(&Rc::default());
        let other = other.keeping(
            &kept,
            EventId {
                stream: 8,
                number: 0,
            },
        );
        assert!(sender.send(b"a".to_vec(), false) && other.send(b"x".to_vec(), false));
        drop(receiver);
        // Nobody hears it any more, and it is kept.
        assert!(!sender.send(b"b".to_vec(), true));
        let after = |number| {
            let found = kept.borrow().after(EventId { stream: 7, number })?;
            Some(
                found
                    .into_iter()
                    .map(|message| message.line)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(after(0), Some(vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(after(1), Some(vec![b"b".to_vec()]));
        assert_eq!(after(2), Some(vec![]));
        for _ in 0..MAX_KEPT {
            other.send(b"y".to_vec(), false);
        }
        assert_eq!(after(0), None);
        assert_eq!(after(2), Some(vec![]));
        other.send(vec![b'z'; 2 * MAX_KEPT_BYTES], false);
        assert!(kept.borrow().kept.is_empty());
        assert_eq!(
            EventId::parse("7-2"),
            Some(EventId {
                stream: 7,
                number: 2
            })
        );
        for wrong in ["", "7", "7-", "-2", "7-2-1", "a-b"] {
            assert_eq!(EventId::parse(wrong), None, "{wrong}");
        }
    }
}
