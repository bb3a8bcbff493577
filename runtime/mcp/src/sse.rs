//! Server-sent events, read piece by piece with a bound on their size.
//!
//! Knows nothing of messages or of HTTP.

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// Its data; lines are joined by spaces, so that it is one line.
    pub data: Vec<u8>,
    /// It is the one that names an address, in the transport of 2024-11-05.
    pub endpoint: bool,
}

/// An event, or a line, is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Reads a stream of events.
#[derive(Debug)]
pub struct EventReader {
    limit: usize,
    /// The line so far.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Another kind of event than a message.
    other: bool,
    endpoint: bool,
    after_return: bool,
    first: bool,
    /// The id of the last event that had one.
    pub last_id: Option<Vec<u8>>,
    /// How long the sender wants readers to wait before they come back, in milliseconds.
    pub retry: Option<u64>,
}

/// Ids are kept while the stream is open.
const MAX_ID: usize = 1024;

impl EventReader {
    /// Events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            other: false,
            endpoint: false,
            after_return: false,
            first: true,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next piece; gives the events that it completes.
    pub fn feed(&mut self, mut piece: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        if std::mem::take(&mut self.after_return) {
            match piece.split_first() {
                Some((b'\n', rest)) => piece = rest,
                Some(_) => {}
                None => self.after_return = true,
            }
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', piece) {
            let (part, rest) = piece.split_at(at);
            let returned = rest.first() == Some(&b'\r');
            let mut rest = rest.get(1..).unwrap_or_default();
            if returned {
                match rest.split_first() {
                    Some((b'\n', tail)) => rest = tail,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            self.keep(part)?;
            events.extend(self.end_line());
            piece = rest;
        }
        self.keep(piece)?;
        Ok(events)
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        // The field's name comes on top of what it holds.
        if self.line.len() + self.data.len() + part.len() > self.limit + 64 {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let other = std::mem::take(&mut self.other);
            let has_data = std::mem::take(&mut self.has_data);
            let endpoint = std::mem::take(&mut self.endpoint);
            let known = has_data && !other && !data.is_empty();
            return known.then_some(Event { data, endpoint });
        }
        let at = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, rest) = line.split_at(at);
        let value = rest.strip_prefix(b":").unwrap_or(rest);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b' ');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.endpoint = value == b"endpoint";
                self.other = value != b"message" && !self.endpoint;
            }
            b"id" if value.len() <= MAX_ID && !value.contains(&0) => {
                self.last_id = Some(value.to_vec());
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let text = std::str::from_utf8(value).ok();
                self.retry = text.and_then(|text| text.parse().ok());
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<String> {
        let mut reader = EventReader::new(100);
        let mut all = Vec::new();
        for piece in pieces {
            for event in reader.feed(piece.as_bytes()).unwrap() {
                all.push(String::from_utf8(event.data).unwrap());
            }
        }
        all
    }

    #[test]
    fn however_it_is_cut_and_its_lines_end() {
        let text = "\u{feff}: hello\nid: 7\nretry: 20\ndata: a\ndata:b\r\n\r\nevent: ping\ndata: x\n\nevent: message\rdata: c\r\rdata\n\nid: 9\n\ndata: lost";
        let expected = ["a b", "c"];
        assert_eq!(read(&[text]), expected);
        for at in 0..text.len() {
            if text.is_char_boundary(at) {
                assert_eq!(read(&[&text[..at], &text[at..]]), expected, "{at}");
            }
        }
        let mut reader = EventReader::new(100);
        for byte in text.as_bytes() {
            reader.feed(&[*byte]).unwrap();
        }
        assert_eq!(reader.last_id.as_deref(), Some(&b"9"[..]));
        assert_eq!(reader.retry, Some(20));
    }

    #[test]
    fn nothing_grows_without_end() {
        let mut reader = EventReader::new(100);
        let endless = (0..1000).find(|_| reader.feed(b"data: xxxxxxxxxx\n").is_err());
        assert!(endless.is_some_and(|lines| lines < 20));
        let mut reader = EventReader::new(100);
        assert_eq!(reader.feed(&[b'x'; 200]), Err(TooLong));
    }
}
