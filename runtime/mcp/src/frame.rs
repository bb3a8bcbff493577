//! One line as a JSON-RPC message, read strictly: shared by both directions.

use bouncer_reader::json::{Limits, Malformed, Nested, Scratch, members, members_within};
use std::fmt;

/// Nesting of a message.
const MAX_DEPTH: usize = 128;
/// The longest id, in bytes of its spelling. Ids are kept while a request is open.
const MAX_ID: usize = 1024;

/// One message, strictly read: its bytes, and the members that routing and judging need as
/// raw JSON.
///
/// Only [`FrameReader::read`] makes one, and nothing changes it afterwards: whoever judges
/// what [`Frame::call`] says and forwards [`Frame::line`] speaks of the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    line: &'a [u8],
    id: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
    call: Option<Result<[Option<&'a [u8]>; 3], Malformed>>,
}

/// The members of the `params` of a `tools/call`.
const CALL_PARAMS: [&str; 3] = ["name", "arguments", "task"];

/// What the `params` of a message say, taken as those of a `tools/call`: raw JSON.
#[derive(Clone, Copy, Debug)]
pub struct CallParams<'a> {
    /// The tool.
    pub name: Option<&'a [u8]>,
    /// Its arguments.
    pub arguments: Option<&'a [u8]>,
    /// What the client wants to know of the task that the call becomes.
    pub task: Option<&'a [u8]>,
}

impl<'a> Frame<'a> {
    /// The whole line, as it was read.
    #[must_use]
    pub const fn line(&self) -> &'a [u8] {
        self.line
    }

    /// The id.
    #[must_use]
    pub const fn id(&self) -> Option<&'a [u8]> {
        self.id
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> Option<&'a [u8]> {
        self.method
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> Option<&'a [u8]> {
        self.params
    }

    /// The result.
    #[must_use]
    pub const fn result(&self) -> Option<&'a [u8]> {
        self.result
    }

    /// The error.
    #[must_use]
    pub const fn error(&self) -> Option<&'a [u8]> {
        self.error
    }

    /// What `params` say, if the message is a `tools/call`: they were read in the same pass.
    /// `None` where there are no `params`.
    ///
    /// # Errors
    /// If `params` cannot be read as one object that every reader takes alike.
    pub fn call(&self) -> Option<Result<CallParams<'a>, Malformed>> {
        self.call.map(|read| {
            read.map(|[name, arguments, task]| CallParams {
                name,
                arguments,
                task,
            })
        })
    }
}

/// Why a line is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// See the reader.
    Malformed(Malformed),
    /// A carriage return inside the line: readers that end lines at one would see
    /// other messages than this proxy.
    CarriageReturn,
    /// The id is neither a string nor a number, or absurdly long.
    Id,
    /// Neither a request nor an answer, or both.
    Shape,
    /// The method is not a string, or not one that all readers compare alike.
    Method,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::CarriageReturn => f.write_str("carriage return inside the line"),
            Self::Id => f.write_str("`id` is neither a string nor a number of sane length"),
            Self::Shape => f.write_str("neither a request nor an answer"),
            Self::Method => f.write_str("`method` is not a plain string"),
        }
    }
}

/// Reads lines. Keeps the scratch memory of the strict reader.
#[derive(Debug)]
pub struct FrameReader {
    limits: Limits,
    scratch: Scratch,
}

impl FrameReader {
    /// For lines of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        let limits = Limits {
            max_bytes,
            max_depth: MAX_DEPTH,
        };
        Self {
            limits,
            scratch: Scratch::new(&limits),
        }
    }

    /// Reads one line that holds one object.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> Result<Frame<'a>, Unreadable> {
        if has_inner_return(line) {
            return Err(Unreadable::CarriageReturn);
        }
        let Nested { outer, inner: call } = members_within(
            line,
            ["params", "id", "method", "result", "error"],
            0,
            CALL_PARAMS,
            &self.limits,
            &mut self.scratch,
        )
        .map_err(Unreadable::Malformed)?;
        let [params, id, method, result, error] = outer;
        // Libraries write members that they have no value for as `null`.
        let given = |member: Option<&'a [u8]>| member.filter(|raw| *raw != b"null");
        let (params, error) = (given(params), given(error));
        let result = if error.is_some() {
            given(result)
        } else {
            result
        };
        let call = call.filter(|_| params.is_some());
        if id.is_some_and(|id| id.len() > MAX_ID) {
            return Err(Unreadable::Id);
        }
        Ok(Frame {
            line,
            id,
            method,
            params,
            result,
            error,
            call,
        })
    }

    /// The named members of a strictly read object.
    pub fn members<'a, const N: usize>(
        &mut self,
        object: &'a [u8],
        names: [&str; N],
    ) -> Result<[Option<&'a [u8]>; N], Unreadable> {
        members(object, names, &self.limits, &mut self.scratch).map_err(Unreadable::Malformed)
    }
}

/// A raw JSON string, decoded. `None` for any other value.
pub fn text(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(raw).ok()
}

/// Whether there is nothing in the line.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Whether the line's first character opens an array: a batch.
pub fn is_batch(line: &[u8]) -> bool {
    line.iter()
        .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
        == Some(&b'[')
}

/// Whether a carriage return stands before the last byte of the line.
fn has_inner_return(line: &[u8]) -> bool {
    let body = line.strip_suffix(b"\r").unwrap_or(line);
    memchr::memchr(b'\r', body).is_some()
}

/// The values of all members `id` at the top of something that may not even be JSON,
/// so that whoever waits for an answer can be told. Strings and numbers only, each
/// well-formed by itself. Linear, without recursion.
pub fn ids_of_garbage(line: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut rest = line;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match byte {
            b'{' | b'[' => {
                depth += 1;
                tail
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                tail
            }
            b'"' => {
                let (string, tail) = rest.split_at(string_len(rest));
                let after = skip_space(tail);
                match after.split_first() {
                    Some((b':', value)) if depth == 1 && string == br#""id""# => {
                        let value = skip_space(value);
                        let (id, tail) = value.split_at(scalar_len(value));
                        if id.len() <= MAX_ID && crate::id::Key::parse(id).is_some() {
                            found.push(id);
                        }
                        tail
                    }
                    _ => tail,
                }
            }
            _ => tail,
        };
    }
    found
}

/// The length of the string that `text` starts with, quotes included.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
            None => return text.len(),
            Some(next) if text.get(at + next) == Some(&b'"') => return at + next + 1,
            Some(next) => at = (at + next + 2).min(text.len()),
        }
    }
}

/// The length of the string or the number that `text` starts with; 0 for others.
fn scalar_len(text: &[u8]) -> usize {
    match text.first() {
        Some(b'"') => string_len(text),
        _ => text
            .iter()
            .take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count(),
    }
}

fn skip_space(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_null_is_not_there() {
        let mut reader = FrameReader::new(1 << 20);
        let frame = reader
            .read(br#"{"id":1,"result":{},"error":null,"params": null}"#)
            .unwrap();
        assert_eq!((frame.result(), frame.error()), (Some(&b"{}"[..]), None));
        assert!(frame.params().is_none() && frame.call().is_none());
        let frame = reader
            .read(br#"{"id":1,"result":null,"error":{}}"#)
            .unwrap();
        assert_eq!((frame.result(), frame.error()), (None, Some(&b"{}"[..])));
        let frame = reader.read(br#"{"id":1,"result":null}"#).unwrap();
        assert_eq!(frame.result(), Some(&b"null"[..]));
    }

    #[test]
    fn carriage_returns_end_a_line_or_refuse_it() {
        let mut reader = FrameReader::new(1 << 20);
        assert!(reader.read(b"{\"id\":1}\r").is_ok());
        for line in [&b"{\"id\":\r1}"[..], b"{\"id\":1}\r\r", b"\r{}"] {
            assert_eq!(reader.read(line).unwrap_err(), Unreadable::CarriageReturn);
        }
    }

    #[test]
    fn finds_ids_in_garbage() {
        let ids = |line: &str| {
            ids_of_garbage(line.as_bytes())
                .into_iter()
                .map(|id| String::from_utf8_lossy(id).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(r#"{"id":7,"result":{"id":8}"#), ["7"]);
        assert_eq!(
            ids(r#"{"result":"\ud800 \" \"id\":1","id" : "x\"y"}"#),
            [r#""x\"y""#]
        );
        assert_eq!(ids(r#"{"id":1,"id":2}"#), ["1", "2"]);
        assert!(ids(r#"{"id":null,"id":[1],"x":{"id":5}} "id":1"#).is_empty());
        assert!(ids(r#"{"id":""#).is_empty());
        let deep = "[".repeat(1_000_000);
        assert!(ids(&deep).is_empty());
    }
}
