//! A JSON body, value by value: some servers answer with several, one after the other, and
//! leave the body open.
//!
//! Looks at brackets and quotes only; whether a value is JSON is for its reader to say.

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    buffer: Vec<u8>,
    /// What of it was looked at.
    seen: usize,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Pieces {
    /// Takes the next piece; gives the values that it completes, each as one line.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        self.buffer.extend_from_slice(piece);
        let mut whole = Vec::new();
        while let Some(&byte) = self.buffer.get(self.seen) {
            self.seen += 1;
            if std::mem::take(&mut self.escaped) {
                continue;
            }
            match byte {
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                b'{' | b'[' if !self.quoted => self.depth += 1,
                b'}' | b']' if !self.quoted => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        let rest = self.buffer.split_off(self.seen);
                        let value = std::mem::replace(&mut self.buffer, rest);
                        self.seen = 0;
                        whole.push(one_line(&value));
                    }
                }
                _ => {}
            }
        }
        whole
    }

    /// How much is waiting for its end.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// What has no end.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        let blank = self.buffer.iter().all(u8::is_ascii_whitespace);
        (!blank).then(|| one_line(&self.buffer))
    }
}

/// Line breaks stand between the parts of a JSON text, never in them.
pub(super) fn one_line(text: &[u8]) -> Vec<u8> {
    let space = |byte: &u8| match byte {
        b'\n' | b'\r' => b' ',
        byte => *byte,
    };
    text.iter().map(space).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_one_by_one_however_they_are_cut() {
        let text = "\n{\"a\":\"}]\\\"{\",\n\"b\":[{}]}\n[1]\r\n  {\"c\":1} {\"d\"";
        let expected = [" {\"a\":\"}]\\\"{\", \"b\":[{}]}", " [1]", "    {\"c\":1}"];
        for at in 0..text.len() {
            let mut pieces = Pieces::default();
            let mut all = pieces.feed(&text.as_bytes()[..at]);
            all.extend(pieces.feed(&text.as_bytes()[at..]));
            let all: Vec<&str> = all
                .iter()
                .map(|v| std::str::from_utf8(v).unwrap())
                .collect();
            assert_eq!(all, expected, "{at}");
            assert_eq!(pieces.rest().unwrap(), b" {\"d\"");
        }
        let mut pieces = Pieces::default();
        assert!(pieces.feed(b"}}]] \"").is_empty() || pieces.len() < 8);
    }
}
