//! Reads newline-delimited messages with a bound on their length.
//!
//! Knows nothing of JSON. A line longer than the limit is skipped without being
//! kept, so a sender without newlines cannot make the proxy grow.

use std::io;
use std::pin::Pin;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// What is read at once.
const CHUNK: usize = 64 * 1024;
/// A buffer larger than this is given back once it is empty.
const KEEP: usize = 1024 * 1024;

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line within the limit.
    Whole(&'a [u8]),
    /// A line past the limit. Nothing of it was kept.
    TooLong,
}

/// Reads lines from `source`.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of `buffer` was handed out already.
    start: usize,
    /// What of `buffer` was searched for a newline already.
    searched: usize,
    limit: usize,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Lines of at most `limit` bytes, not counting the newline.
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
        }
    }

    /// The next line; `None` at the end of the input. A last line without a newline
    /// counts as one.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unsearched) {
                let (start, end) = (self.start, self.searched + at);
                self.start = end + 1;
                self.searched = self.start;
                return Ok(Some(self.take(start, end)));
            }
            self.searched = self.buffer.len();
            if self.searched - self.start > self.limit {
                self.skipping = true;
            }
            if self.skipping {
                self.start = self.searched;
            }
            self.make_room();
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                let (start, end) = (self.start, self.buffer.len());
                if start == end && !self.skipping {
                    return Ok(None);
                }
                self.start = end;
                self.searched = end;
                return Ok(Some(self.take(start, end)));
            }
        }
    }

    fn take(&mut self, start: usize, end: usize) -> Line<'_> {
        if std::mem::take(&mut self.skipping) || end - start > self.limit {
            return Line::TooLong;
        }
        Line::Whole(self.buffer.get(start..end).unwrap_or_default())
    }

    /// Moves what is unread to the front and makes room for one more chunk.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(CHUNK);
    }

    /// What was read and not handed out, with what can be read without waiting; and whether
    /// that is the end of it. Has to be empty before the source is given to another reader.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut rest = self.buffer.split_off(self.start);
        self.buffer.clear();
        (self.start, self.searched) = (0, 0);
        let mut chunk = [0; 4096];
        let source = &mut self.source;
        let ended = std::future::poll_fn(|cx| {
            loop {
                let mut piece = ReadBuf::new(&mut chunk);
                match Pin::new(&mut *source).poll_read(cx, &mut piece) {
                    Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
                        rest.extend_from_slice(piece.filled());
                    }
                    poll => return Poll::Ready(poll.is_ready()),
                }
            }
        })
        .await;
        (rest, ended)
    }

    /// Reads on without looking at what comes; 0 at the end of the input.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub(crate) async fn more(&mut self) -> io::Result<usize> {
        self.buffer.reserve(CHUNK);
        self.source.read_buf(&mut self.buffer).await
    }

    /// The source itself.
    pub(crate) fn into_source(self) -> R {
        self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], limit: usize) -> Vec<Option<Vec<u8>>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut reader = LineReader::new(input, limit);
            let mut found = Vec::new();
            while let Some(line) = reader.next().await.unwrap() {
                found.push(match line {
                    Line::Whole(bytes) => Some(bytes.to_vec()),
                    Line::TooLong => None,
                });
            }
            found
        })
    }

    #[test]
    fn splits_at_newlines_only() {
        assert_eq!(
            lines(b"a\r\n\nb\x00\xff\nlast", 10),
            [
                Some(b"a\r".to_vec()),
                Some(vec![]),
                Some(b"b\x00\xff".to_vec()),
                Some(b"last".to_vec())
            ]
        );
    }

    #[test]
    fn skips_what_is_too_long_and_goes_on() {
        let mut input = vec![b'x'; 300_000];
        input.extend_from_slice(b"\nshort\n");
        input.extend(vec![b'y'; 200_000]);
        assert_eq!(
            lines(&input, 100_000),
            [None, Some(b"short".to_vec()), None]
        );
        assert_eq!(
            lines(b"12345\n123456\n", 5),
            [Some(b"12345".to_vec()), None]
        );
    }
}
