//! A position in a pattern.

/// A position in a pattern.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Cursor { text, at }
    }

    /// The byte offset.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Steps over `token` if it stands here.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Steps over exactly `n` hexadecimal digits and returns their value.
    pub(super) fn hex(&mut self, n: usize) -> Option<u32> {
        let digits = self.rest().get(..n)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(digits, 16).ok()?;
        self.at += n;
        Some(value)
    }

    /// Steps over up to `max` octal digits and returns their value.
    pub(super) fn octal(&mut self, max: usize, limit: u32) -> Option<u32> {
        let mut value = None;
        for _ in 0..max {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else {
                break;
            };
            let more = value.unwrap_or(0) * 8 + digit;
            if more > limit {
                break;
            }
            value = Some(more);
            self.next();
        }
        value
    }

    /// Steps over decimal digits; the value saturates.
    pub(super) fn decimal(&mut self) -> Option<u32> {
        let mut value = None;
        while let Some(digit) = self
            .peek()
            .filter(char::is_ascii_digit)
            .and_then(|c| c.to_digit(10))
        {
            value = Some(
                value
                    .unwrap_or(0_u32)
                    .saturating_mul(10)
                    .saturating_add(digit),
            );
            self.next();
        }
        value
    }
}
