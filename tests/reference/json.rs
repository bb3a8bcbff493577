//! A strict JSON reader, written from RFC 8259 and nothing else: numbers keep
//! their text, duplicate keys are errors, so are lone surrogates and invalid UTF-8.
//!
//! It may not share anything with the runtime's reader: it is what that reader is
//! compared with.

/// Levels of arrays and objects that an argument may have, the root included.
pub const MAX_DEPTH: usize = 128;

/// Bytes that arguments may have.
pub const MAX_BYTES: usize = 8 << 20;

/// A JSON value. Objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Str(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Reads arguments: one JSON object within the limits, or nothing.
pub fn arguments(bytes: &[u8]) -> Option<Json> {
    if bytes.len() > MAX_BYTES {
        return None;
    }
    match parse(bytes) {
        Some(object @ Json::Object(_)) if !has_odd_names(&object) => Some(object),
        _ => None,
    }
}

/// Whether a member has a name that some readers take for another.
pub fn has_odd_names(value: &Json) -> bool {
    match value {
        Json::Object(members) => members.iter().any(|(name, value)| {
            name.contains('\0') || name == "__proto__" || has_odd_names(value)
        }),
        Json::Array(items) => items.iter().any(has_odd_names),
        _ => false,
    }
}

/// Reads one JSON value with nothing after it.
pub fn parse(bytes: &[u8]) -> Option<Json> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut reader = Reader {
        rest: text,
        depth: 0,
    };
    let value = reader.value()?;
    reader.space();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn value(&mut self) -> Option<Json> {
        self.space();
        match self.peek()? {
            'n' => self.eat("null").map(|()| Json::Null),
            't' => self.eat("true").map(|()| Json::Bool(true)),
            'f' => self.eat("false").map(|()| Json::Bool(false)),
            '"' => self.string().map(Json::Str),
            '[' => self.nested(Self::array),
            '{' => self.nested(Self::object),
            _ => self.number().map(Json::Number),
        }
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Option<Json>) -> Option<Json> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let value = read(self)?;
        self.depth -= 1;
        Some(value)
    }

    fn array(&mut self) -> Option<Json> {
        self.eat("[")?;
        self.space();
        let mut items = Vec::new();
        if self.eat("]").is_some() {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Some(Json::Array(items)),
                _ => return None,
            }
        }
    }

    fn object(&mut self) -> Option<Json> {
        self.eat("{")?;
        self.space();
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.eat("}").is_some() {
            return Some(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            if members.iter().any(|(other, _)| *other == key) {
                return None;
            }
            self.space();
            self.eat(":")?;
            let value = self.value()?;
            members.push((key, value));
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Some(Json::Object(members)),
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.eat("\"")?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.next()? {
            '"' => '"',
            '\\' => '\\',
            '/' => '/',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.hex4()?;
                if (0xD800..0xDC00).contains(&first) {
                    self.eat("\\u")?;
                    let second = self.hex4()?;
                    if !(0xDC00..0xE000).contains(&second) {
                        return None;
                    }
                    char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?
                } else {
                    // `None` for a low surrogate that stands alone.
                    char::from_u32(first)?
                }
            }
            _ => return None,
        })
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut value = 0;
        for _ in 0..4 {
            value = value * 16 + self.next()?.to_digit(16)?;
        }
        Some(value)
    }

    fn number(&mut self) -> Option<String> {
        let start = self.rest;
        let _ = self.eat("-");
        if self.eat("0").is_none() {
            self.digits()?;
        }
        if self.eat(".").is_some() {
            self.digits()?;
        }
        if self.eat("e").or_else(|| self.eat("E")).is_some() {
            let _ = self.eat("+").or_else(|| self.eat("-"));
            self.digits()?;
        }
        Some(start[..start.len() - self.rest.len()].to_owned())
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let any = rest.len() < self.rest.len();
        self.rest = rest;
        any.then_some(())
    }
}

#[test]
fn accepts_json_and_nothing_else() {
    for good in [
        "null",
        " true ",
        "[]",
        "{}",
        "[1,-0,0.5,1e400,1E+2,-1.5e-3]",
        r#"{"a":{"a":1}}"#,
        r#""\ud83d\ude00\u0000\/""#,
        "\"\u{7f}\u{feff}\"",
    ] {
        assert!(parse(good.as_bytes()).is_some(), "{good}");
    }
    for bad in [
        "",
        "nul",
        "[1,]",
        "{,}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "- 1",
        r#"{"a":1,"\u0061":2}"#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        "\"\n\"",
        "[1] 2",
        "\u{feff}{}",
        r#"{"a" 1}"#,
        "NaN",
    ] {
        assert!(parse(bad.as_bytes()).is_none(), "{bad}");
    }
    assert!(parse(b"\"\xff\"").is_none());
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(deep(MAX_DEPTH).as_bytes()).is_some());
    assert!(parse(deep(MAX_DEPTH + 1).as_bytes()).is_none());
    assert!(arguments(b"[]").is_none());
}
