//! The pull reader: one event per call, from validated bytes.
//!
//! Knows JSON's grammar; duplicate keys are the business of [`super::keys`].

use super::text::Text;
use super::{Limits, Malformed, MalformedKind, Scratch};
use crate::block::{self, Set, wanted};
use crate::number;

/// One step through a JSON text.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// A member's key; its value is next.
    Key(Text<'a>),
    /// A string value.
    String(Text<'a>),
    /// A number, as its JSON text; see [`crate::number`].
    Number(&'a str),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
}

/// What [`Reader::next`] returns, built in place: every step of the way returns this
/// same type, since repacking it costs more than reading a short token.
type Step<'a> = Result<Option<Event<'a>>, Malformed>;

/// What may stand next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value: at the start, after a key, or after a comma in an array.
    Value,
    /// After `[`.
    ValueOrEnd,
    /// After a comma in an object.
    Key,
    /// After `{`.
    KeyOrEnd,
    /// After a value in an object or array.
    CommaOrEnd,
    /// The value is complete; only white space may follow.
    Done,
    /// The text is malformed; every further call says so again.
    Failed,
}

/// Reads one JSON text, event by event.
///
/// A text is known to be well-formed only once [`next`](Self::next) has returned
/// `None`: a defect further on, such as a duplicate key in a large object, shows
/// up when the reader gets there. Act on nothing before that.
#[derive(Debug)]
pub struct Reader<'a, 's> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    token_start: usize,
    max_depth: usize,
    state: State,
    /// What [`State::Failed`] reports; kept apart so that a state is one byte.
    failure: Malformed,
    scratch: &'s mut Scratch,
}

impl<'a, 's> Reader<'a, 's> {
    /// Starts on `bytes`, after checking their length and that they are UTF-8.
    ///
    /// # Errors
    /// Too long, not UTF-8, or a byte order mark at the front.
    pub fn new(
        bytes: &'a [u8],
        limits: &Limits,
        scratch: &'s mut Scratch,
    ) -> Result<Self, Malformed> {
        // Offsets are kept in 32 bits.
        let max_bytes = limits.max_bytes.min(u32::MAX as usize);
        if bytes.len() > max_bytes {
            return Err(MalformedKind::TooLong.at(max_bytes));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| MalformedKind::InvalidUtf8.at(error.valid_up_to()))?;
        if text.starts_with('\u{FEFF}') {
            return Err(MalformedKind::ByteOrderMark.at(0));
        }
        scratch.reset();
        Ok(Self {
            text,
            bytes,
            position: 0,
            token_start: 0,
            max_depth: limits.max_depth,
            state: State::Value,
            failure: MalformedKind::UnexpectedEnd.at(0),
            scratch,
        })
    }

    /// The whole text.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The next event, or `None` after the value and the white space behind it.
    ///
    /// # Errors
    /// The first defect; later calls return the same one.
    #[allow(clippy::should_implement_trait)] // An iterator could not stop at errors by itself.
    pub fn next(&mut self) -> Result<Option<Event<'a>>, Malformed> {
        let result = self.step();
        if let Err(malformed) = result {
            self.fail(malformed);
        }
        result
    }

    /// Validates and passes over the next value, whole, and returns its raw text.
    ///
    /// `None`, with nothing consumed, where no value is next: before a key, before
    /// the end of an object or array, or after the text's one value.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn skip_value(&mut self) -> Result<Option<&'a str>, Malformed> {
        let due = match self.state {
            State::Value | State::Failed => true,
            State::ValueOrEnd => self.peek() != Some(b']'),
            State::CommaOrEnd => !self.scratch.in_object() && self.peek() != Some(b']'),
            State::Key | State::KeyOrEnd | State::Done => false,
        };
        if !due {
            return Ok(None);
        }
        let outer = self.depth();
        self.next()?;
        let start = self.token_start;
        self.finish_to(outer)?;
        Ok(self.text.get(start..self.position))
    }

    /// Whether an object is next, after a key.
    pub(super) fn at_object(&mut self) -> bool {
        self.state == State::Value && self.peek() == Some(b'{')
    }

    /// Validates and passes over the rest of the innermost open object or array,
    /// its end included. Does nothing where none is open.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn skip_rest(&mut self) -> Result<(), Malformed> {
        self.finish_to(self.depth().saturating_sub(1))
    }

    /// Reads the start of the one object that the text has to be.
    ///
    /// # Errors
    /// As [`next`](Self::next), or [`MalformedKind::NotAnObject`].
    pub fn open_object(&mut self) -> Result<(), Malformed> {
        match self.next()? {
            Some(Event::ObjectStart) => Ok(()),
            _ => {
                let malformed = MalformedKind::NotAnObject.at(self.token_start);
                self.fail(malformed);
                Err(malformed)
            }
        }
    }

    /// How many objects and arrays are open.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.scratch.depth()
    }

    /// How many bytes have been read.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.position
    }

    /// Where the last event's first byte stands.
    #[must_use]
    pub const fn token_start(&self) -> usize {
        self.token_start
    }

    #[cold]
    fn fail(&mut self, malformed: Malformed) {
        self.failure = malformed;
        self.state = State::Failed;
    }

    /// Reads on until only `depth` containers are open.
    fn finish_to(&mut self, depth: usize) -> Result<(), Malformed> {
        // Ends: inside a container a step consumes something or fails.
        while self.depth() > depth {
            if let Err(malformed) = self.step() {
                self.fail(malformed);
                return Err(malformed);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn step(&mut self) -> Step<'a> {
        let mut next = self.peek();
        if self.state == State::CommaOrEnd {
            match (next, self.scratch.in_object()) {
                (Some(b','), in_object) => {
                    self.position += 1;
                    self.state = if in_object { State::Key } else { State::Value };
                    next = self.peek();
                }
                (Some(b'}'), true) => return self.close_object(),
                (Some(b']'), false) => return self.close_array(),
                _ => return Err(self.unexpected()),
            }
        }
        match (self.state, next) {
            (State::Value, Some(byte)) => self.value(byte),
            (State::Key | State::KeyOrEnd, Some(b'"')) => self.key(),
            (State::KeyOrEnd, Some(b'}')) => self.close_object(),
            (State::ValueOrEnd, Some(b']')) => self.close_array(),
            (State::ValueOrEnd, Some(byte)) => self.value(byte),
            (State::Done, None) => Ok(None),
            (State::Done, Some(_)) => Err(MalformedKind::TrailingBytes.at(self.position)),
            (State::Failed, _) => Err(self.failure),
            _ => Err(self.unexpected()),
        }
    }

    /// Passes over white space and returns the byte after it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.bytes.get(self.position).copied()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.position += 1;
        }
    }

    /// The error for whatever stands, or does not stand, at the position.
    #[cold]
    fn unexpected(&self) -> Malformed {
        if self.position < self.bytes.len() {
            MalformedKind::UnexpectedByte.at(self.position)
        } else {
            MalformedKind::UnexpectedEnd.at(self.position)
        }
    }

    /// Reads the value that starts with `first`, or its opening bracket.
    fn value(&mut self, first: u8) -> Step<'a> {
        self.token_start = self.position;
        let event = match first {
            b'"' => Event::String(self.string()?),
            b'{' => {
                self.open()?;
                self.scratch.open_object();
                self.state = State::KeyOrEnd;
                return Ok(Some(Event::ObjectStart));
            }
            b'[' => {
                self.open()?;
                self.scratch.open_array();
                self.state = State::ValueOrEnd;
                return Ok(Some(Event::ArrayStart));
            }
            b'-' | b'0'..=b'9' => Event::Number(self.number()?),
            b't' => {
                self.literal("true")?;
                Event::Bool(true)
            }
            b'f' => {
                self.literal("false")?;
                Event::Bool(false)
            }
            b'n' => {
                self.literal("null")?;
                Event::Null
            }
            b'+' | b'.' => return Err(MalformedKind::BadNumber.at(self.position)),
            _ => return Err(self.unexpected()),
        };
        self.after_value();
        Ok(Some(event))
    }

    fn open(&mut self) -> Result<(), Malformed> {
        if self.depth() >= self.max_depth {
            return Err(MalformedKind::TooDeep.at(self.position));
        }
        self.position += 1;
        Ok(())
    }

    fn close_array(&mut self) -> Step<'a> {
        self.token_start = self.position;
        self.position += 1;
        self.scratch.close_array();
        self.after_value();
        Ok(Some(Event::ArrayEnd))
    }

    fn close_object(&mut self) -> Step<'a> {
        self.token_start = self.position;
        self.position += 1;
        self.scratch.close_object(self.text)?;
        self.after_value();
        Ok(Some(Event::ObjectEnd))
    }

    fn after_value(&mut self) {
        self.state = if self.depth() == 0 {
            State::Done
        } else {
            State::CommaOrEnd
        };
    }

    /// Reads a key and the colon behind it.
    fn key(&mut self) -> Step<'a> {
        self.token_start = self.position;
        let key = self.string()?;
        self.scratch.add_key(self.text, key, self.token_start + 1)?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.position += 1;
        self.state = State::Value;
        Ok(Some(Event::Key(key)))
    }

    #[inline]
    fn literal(&mut self, word: &str) -> Result<(), Malformed> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            // Stop at the first byte that differs.
            let same = rest.iter().zip(word.bytes()).take_while(|(a, b)| **a == *b);
            self.position += same.count();
            return Err(self.unexpected());
        }
        self.position += word.len();
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self) -> Result<&'a str, Malformed> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match number::scan(rest) {
            Ok(len) => {
                self.position += len;
                Ok(self.slice(self.token_start, self.position))
            }
            Err(bad) => Err(MalformedKind::BadNumber.at(self.position + bad)),
        }
    }

    /// Reads the string whose opening quote is at the position.
    #[inline(always)]
    fn string(&mut self) -> Result<Text<'a>, Malformed> {
        let start = self.position + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = find_special(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at = self.escape(at)?;
                }
                Some(_) => return Err(MalformedKind::ControlCharacter.at(at)),
                None => return Err(MalformedKind::UnexpectedEnd.at(at)),
            }
        }
        self.position = at + 1;
        Ok(Text::new(self.slice(start, at), escaped))
    }

    /// Checks the escape whose backslash stands at `at`; returns where it ends.
    fn escape(&self, at: usize) -> Result<usize, Malformed> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(at + 2),
            Some(b'u') => {}
            Some(_) => return Err(MalformedKind::BadEscape.at(at)),
            None => return Err(MalformedKind::UnexpectedEnd.at(at + 1)),
        }
        let unit = self.hex4(at)?;
        match unit {
            0xD800..0xDC00 => {
                let low = at + 6;
                if self.bytes.get(low..low + 2) != Some(b"\\u") {
                    return Err(MalformedKind::LoneSurrogate.at(at));
                }
                match self.hex4(low)? {
                    0xDC00..0xE000 => Ok(at + 12),
                    _ => Err(MalformedKind::LoneSurrogate.at(at)),
                }
            }
            0xDC00..0xE000 => Err(MalformedKind::LoneSurrogate.at(at)),
            _ => Ok(at + 6),
        }
    }

    /// The value of the `\uXXXX` at `at`.
    fn hex4(&self, at: usize) -> Result<u32, Malformed> {
        let digits = self.bytes.get(at + 2..at + 6);
        let digits = digits.ok_or(MalformedKind::BadEscape.at(at))?;
        digits.iter().try_fold(0, |value, &byte| {
            let digit = char::from(byte).to_digit(16);
            Ok(value << 4 | digit.ok_or(MalformedKind::BadEscape.at(at))?)
        })
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        // Both ends are ASCII bytes that the reader has looked at.
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The first quote, backslash or control byte in `bytes` from `at` on, or the end.
#[inline(always)]
fn find_special(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    const MARKS: Set<2> = Set::of(*b"\"\\");
    let special = wanted!(|block| block.within(0, 0x1f) | block.among(&MARKS));
    at + block::find(rest, special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_special_byte_is_found_at_any_place_and_for_any_byte() {
        for len in [0usize, 1, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 100] {
            for byte in 0..=255u8 {
                for place in [0, len / 2, len.saturating_sub(1)] {
                    for filler in [b'a', 0x80, 0xFF, 0x21, 0x7F] {
                        let mut bytes = vec![filler; len];
                        if let Some(slot) = bytes.get_mut(place) {
                            *slot = byte;
                        }
                        let special = |b: &u8| *b < 0x20 || matches!(b, b'"' | b'\\');
                        let expected = bytes.iter().position(special);
                        assert_eq!(find_special(&bytes, 0), expected.unwrap_or(len));
                    }
                }
            }
        }
    }
}
