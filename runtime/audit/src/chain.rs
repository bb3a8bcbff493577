//! How lines of the log hang together: every line begins with its number and the hash of
//! the line before it, so none can be changed, dropped or moved without the next one
//! telling.
//!
//! Knows nothing of files.

use std::fmt;

/// What every chained line starts with.
const SEQ: &[u8] = b"{\"seq\":";
/// What stands between its number and the hash.
const PREV: &[u8] = b",\"prev\":\"";

/// One line of the chain: its number, from 1, and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Counts the lines of a log, across its files.
    pub seq: u64,
    /// BLAKE3 of the line's bytes, without its newline.
    pub hash: [u8; 32],
}

impl Link {
    /// What the first line of all hangs on.
    pub const START: Self = Self {
        seq: 0,
        hash: [0; 32],
    };

    /// The link that `line` makes, whatever it hangs on, and the hash that it names.
    /// `None`: it is no line of a chain.
    #[must_use]
    pub fn of(line: &[u8]) -> Option<(Self, [u8; 32])> {
        let rest = line.strip_prefix(SEQ)?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let (number, rest) = rest.split_at(digits);
        let seq: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
        let (hash, rest) = rest.strip_prefix(PREV)?.split_at_checked(64)?;
        if seq == 0 || !rest.starts_with(b"\",") || line.last() != Some(&b'}') {
            return None;
        }
        let link = Self {
            seq,
            hash: *blake3::hash(line).as_bytes(),
        };
        Some((link, from_hex(hash)?))
    }

    /// Appends the next line to `out`, and gives its link. `body` is an object's members
    /// with the closing brace.
    pub(super) fn push_next(&self, body: &[u8], out: &mut Vec<u8>) -> Self {
        let start = out.len();
        let seq = self.seq + 1;
        out.extend_from_slice(SEQ);
        out.extend_from_slice(seq.to_string().as_bytes());
        out.extend_from_slice(PREV);
        push_hex(&self.hash, out);
        out.extend_from_slice(b"\",");
        out.extend_from_slice(body);
        let hash = blake3::hash(out.get(start..).unwrap_or_default());
        out.push(b'\n');
        Self {
            seq,
            hash: *hash.as_bytes(),
        }
    }

    /// Reads what [`Link`]'s `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.split_once(':')?;
        Some(Self {
            seq: seq.parse().ok()?,
            hash: from_hex(hash.as_bytes())?,
        })
    }
}

impl fmt::Display for Link {
    /// `SEQ:HASH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, hex(&self.hash))
    }
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    let mut out = Vec::with_capacity(64);
    push_hex(bytes, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn push_hex(bytes: &[u8; 32], out: &mut Vec<u8>) {
    let digit = |value: u8| match value {
        0..=9 => b'0' + value,
        _ => b'a' + (value - 10),
    };
    for byte in bytes {
        out.extend([digit(byte >> 4), digit(byte & 15)]);
    }
}

pub(super) fn from_hex(text: &[u8]) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut out = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (slot, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *slot = (digit(*high)? << 4) | digit(*low)?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hang_on_each_other() {
        let mut out = Vec::new();
        let one = Link::START.push_next(br#""a":1}"#, &mut out);
        let two = one.push_next(br#""a":2}"#, &mut out);
        let lines: Vec<&[u8]> = out.split(|&byte| byte == b'\n').collect();
        assert_eq!(Link::of(lines[0]), Some((one, [0; 32])));
        assert_eq!(Link::of(lines[1]), Some((two, one.hash)));
        assert_eq!(Link::parse(&two.to_string()), Some(two));
        let value: serde_json::Value = serde_json::from_slice(lines[1]).unwrap();
        assert_eq!((&value["seq"], &value["a"]), (&2.into(), &2.into()));
        for broken in [
            &lines[0][..lines[0].len() - 1],
            &lines[0][1..],
            br#"{"seq":0,"prev":"""#,
            b"",
            b"{\"seq\":",
        ] {
            assert_eq!(Link::of(broken), None);
        }
        for text in ["", "1", "1:", "1:zz", ":", "x:00"] {
            assert_eq!(Link::parse(text), None);
        }
    }
}
