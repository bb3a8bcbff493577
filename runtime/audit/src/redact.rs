//! Takes secrets out of arguments before they are logged.
//!
//! Works on raw text, so that everything else keeps its spelling, and on text that is
//! not JSON, because a malformed call may hold a secret too. Well-formed JSON stays
//! well-formed.

/// Stands for a value.
const REDACTED: &[u8] = b"\"[redacted]\"";

/// Words that make a name a secret's, wherever they stand in it.
const WORDS: [&str; 20] = [
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "jwt",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pwd",
    "secret",
    "secrets",
    "token",
];
/// Words that do so with `key` right behind them.
const KEY_WORDS: [&str; 7] = [
    "access",
    "api",
    "auth",
    "encryption",
    "private",
    "secret",
    "signing",
];
/// The same written as one word.
const JOINED: [&str; 8] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "authtoken",
    "clientsecret",
    "privatekey",
    "secretkey",
    "sessionid",
];
/// What such names end with, as in `PGPASSWORD`.
const ENDS: [&str; 4] = ["apikey", "passphrase", "passwd", "password"];
/// Members that name what another member of the same object holds, as headers are listed.
const NAMES: [&[u8]; 5] = [b"name", b"key", b"header", b"field", b"param"];
/// Members that hold it.
const VALUES: [&[u8]; 5] = [b"value", b"val", b"values", b"content", b"text"];
/// Values that are secrets whatever their name is: HTTP authorization.
const SCHEMES: [&[u8]; 2] = [b"\"bearer ", b"\"basic "];

/// A text with the values of secret-looking names replaced, and whether there were any.
#[must_use]
pub fn redacted(text: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(text.len());
    redact(text, &mut out);
    let changed = out != text;
    (out, changed)
}

/// Appends `text` to `out` with the values of secret-looking names replaced. Linear.
pub(super) fn redact(text: &[u8], out: &mut Vec<u8>) {
    let mut listed = Vec::new();
    let mut done = 0;
    for (from, to) in listed_values(text) {
        listed.extend_from_slice(text.get(done..from).unwrap_or_default());
        listed.extend_from_slice(REDACTED);
        done = to;
    }
    if done == 0 {
        return redact_named(text, out);
    }
    listed.extend_from_slice(text.get(done..).unwrap_or_default());
    redact_named(&listed, out);
}

/// What surrounds a value, while lists of names and values are looked for.
#[derive(Default)]
struct Around {
    is_list: bool,
    /// A member, or the first item, names a secret.
    names_secret: bool,
    /// The member that comes next holds a name, or a value.
    next: Option<Next>,
    /// Items so far.
    items: usize,
    values: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Name,
    Value,
}

/// The places of values that another member, or the item before, says the name of: `{name:
/// Authorization, value: …}` and `["Authorization", …]`. In order, and none within another.
fn listed_values(text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut stack: Vec<Around> = vec![Around::default()];
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        match byte {
            b'"' => {
                let length = string_len(rest);
                let string = rest.get(..length).unwrap_or_default();
                let after = rest.get(length..).unwrap_or_default().trim_ascii_start();
                if after.first() == Some(&b':') {
                    note_key(stack.last_mut(), string);
                } else {
                    note_value(stack.last_mut(), (at, at + length), Some(string));
                }
                at += length;
                continue;
            }
            b'{' | b'[' => {
                starts.push(at);
                stack.push(Around {
                    is_list: byte == b'[',
                    ..Around::default()
                });
            }
            b'}' | b']' => {
                if let (Some(start), Some(closed)) = (starts.pop(), stack.pop()) {
                    if closed.names_secret && (!closed.is_list || closed.items == 2) {
                        found.extend(closed.values);
                    }
                    note_value(stack.last_mut(), (start, at + 1), None);
                }
                if stack.is_empty() {
                    stack.push(Around::default());
                }
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                let length = rest
                    .iter()
                    .take_while(|b| !b.is_ascii_whitespace() && !b",:{}[]\"".contains(b))
                    .count()
                    .max(1);
                note_value(stack.last_mut(), (at, at + length), None);
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found.sort_unstable();
    let mut end = 0;
    found.retain(|&(from, to)| {
        let apart = from >= end;
        end = end.max(to);
        apart
    });
    found
}

fn note_key(around: Option<&mut Around>, string: &[u8]) {
    let Some(around) = around else { return };
    let name = string
        .get(1..string.len().saturating_sub(1))
        .unwrap_or_default();
    let is = |known: &[&[u8]]| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    around.next = if is(&NAMES) {
        Some(Next::Name)
    } else if is(&VALUES) {
        Some(Next::Value)
    } else {
        None
    };
}

fn note_value(around: Option<&mut Around>, place: (usize, usize), string: Option<&[u8]>) {
    let Some(around) = around else { return };
    around.items += 1;
    let next = match (around.is_list, around.items) {
        (false, _) => around.next.take(),
        (true, 1) => Some(Next::Name),
        (true, 2) => Some(Next::Value),
        (true, _) => None,
    };
    match next {
        Some(Next::Name) => around.names_secret |= string.is_some_and(is_secret_name),
        Some(Next::Value) => around.values.push(place),
        None => {}
    }
}

fn redact_named(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        if byte != b'"' {
            let plain = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            let (copy, tail) = rest.split_at(plain);
            // Outside of strings nothing is read but what is no JSON at all.
            within(copy, out);
            rest = tail;
            continue;
        }
        let (string, tail) = rest.split_at(string_len(rest));
        let value_at = tail
            .iter()
            .position(|b| !b.is_ascii_whitespace())
            .filter(|&at| tail.get(at) == Some(&b':'));
        let Some(colon) = value_at else {
            if is_authorization(string) {
                out.extend_from_slice(REDACTED);
            } else {
                within(string, out);
            }
            rest = tail;
            continue;
        };
        within(string, out);
        let (separator, value) = tail.split_at(colon + 1);
        out.extend_from_slice(separator);
        rest = value;
        if is_secret_name(string) {
            let value = value.trim_ascii_start();
            out.extend_from_slice(REDACTED);
            rest = value.split_at(value_len(value)).1;
        }
    }
}

/// Copies a text without the secrets inside it: who logs in at a URL, and what stands behind
/// the name of a secret, as in `Authorization: Bearer …` and `password=…`.
fn within(text: &[u8], out: &mut Vec<u8>) {
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr3(b':', b'=', b'@', text.get(at..).unwrap_or_default()) {
        let mark = at + found;
        at = mark + 1;
        let before = text.get(done..mark).unwrap_or_default();
        let secret = match text.get(mark) {
            Some(b'@') => None,
            Some(b':') if text.get(at..at + 2) == Some(b"//") => login(text, at + 2),
            _ => named(before, text, at),
        };
        if let Some((from, to)) = secret {
            out.extend_from_slice(text.get(done..from).unwrap_or_default());
            out.extend_from_slice(b"[redacted]");
            done = to;
            at = to.max(at);
        }
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
}

/// Where a URL whose host begins at `from` says who logs in.
fn login(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    let ends = |b: &u8| {
        matches!(b, b'/' | b'?' | b'#' | b'"' | b'\\' | b'<' | b'>') || b.is_ascii_whitespace()
    };
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let at = memchr::memrchr(b'@', rest.get(..end)?)?;
    (at > 0).then_some((from, from + at))
}

/// Where the value stands that `before` says the name of, if that is a secret's.
fn named(before: &[u8], text: &[u8], from: usize) -> Option<(usize, usize)> {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let before = before.trim_ascii_end();
    let length = before.iter().rev().take_while(|b| is_name(b)).count();
    let name = before.get(before.len() - length..)?;
    if name.is_empty()
        || !is_secret_name(format!("\"{}\"", String::from_utf8_lossy(name)).as_bytes())
    {
        return None;
    }
    let rest = text.get(from..)?;
    let mut start = from + rest.len() - rest.trim_ascii_start().len();
    // A quoted value, in a string or in a text inside of one.
    for quote in [&b"\\\""[..], b"'"] {
        if text
            .get(start..)
            .is_some_and(|rest| rest.starts_with(quote))
        {
            start += quote.len();
            break;
        }
    }
    let rest = text.get(start..)?;
    // The value of a header goes to the end of its line; others end at the next space.
    let is_header = text.get(from.checked_sub(1)?) == Some(&b':');
    let mut end = 0;
    while let Some(&byte) = rest.get(end) {
        let (over, length) = match (byte, rest.get(end + 1)) {
            (b'\\', Some(b'n' | b'r' | b'"') | None) => (true, 0),
            // Other escapes are a part of it, and stay whole.
            (b'\\', _) => (false, 2),
            (b'"' | b'\'' | b'\n' | b'\r', _) => (true, 0),
            (b'&' | b';' | b',' | b' ' | b'\t', _) => (!is_header, 1),
            _ => (false, 1),
        };
        if over {
            break;
        }
        end += length;
    }
    (end > 0).then_some((start, start + end.min(rest.len())))
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

/// The length of the value that `text` starts with: to the end if it is not closed.
fn value_len(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at += string_len(text.get(at..).unwrap_or_default());
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + depth,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn is_authorization(string: &[u8]) -> bool {
    SCHEMES.iter().any(|scheme| {
        string
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Whether a raw JSON string is the name of a secret.
fn is_secret_name(raw: &[u8]) -> bool {
    let decoded: Option<String> = serde_json::from_slice(raw).ok();
    let name = decoded.unwrap_or_else(|| String::from_utf8_lossy(raw).into_owned());
    let words = words(&name);
    let is_word = |word: &String| {
        let ends = |end: &&str| word.ends_with(end);
        WORDS.contains(&word.as_str()) || JOINED.contains(&word.as_str()) || ENDS.iter().any(ends)
    };
    words.iter().any(is_word)
        || words.windows(2).any(|pair| {
            matches!(pair, [first, second]
                if KEY_WORDS.contains(&first.as_str()) && (second == "key" || second == "keys"))
        })
}

/// The lower-cased words of an identifier: split at other than letters and digits and
/// at camel-case humps (`apiKey`, `APIKey`).
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (index, &c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|i| chars.get(i));
        let next_is_lower = chars.get(index + 1).is_some_and(|n| n.is_lowercase());
        let hump = c.is_uppercase() && before.is_some_and(|b| !b.is_uppercase() || next_is_lower);
        if hump || !c.is_alphanumeric() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> String {
        let mut out = Vec::new();
        redact(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn secrets_go_and_the_rest_keeps_its_spelling() {
        assert_eq!(
            run(r#"{ "b":1.0, "api_key" : "x\"y","n":[{"Password":{"a":["}"]},"z":2}],"k":"v"}"#),
            r#"{ "b":1.0, "api_key" :"[redacted]","n":[{"Password":"[redacted]","z":2}],"k":"v"}"#
        );
        for name in [
            "authorization",
            "X-Auth-Token",
            "accessToken",
            "APIKey",
            "apikey",
            "api-keys",
            "userPassword",
            "client_secret",
            "pass\\u0077ord",
            "Set-Cookie",
        ] {
            let text = run(&format!(r#"{{"{name}":[1,"s3"],"x":12}}"#));
            assert!(!text.contains("s3") && text.contains("\"x\":12"), "{text}");
        }
        for name in ["max_tokens", "key", "author", "compass", "monkey"] {
            let text = format!(r#"{{"{name}":7}}"#);
            assert_eq!(run(&text), text);
        }
        assert_eq!(
            run(r#"[{"name":"a","value":"Bearer abc"}]"#),
            r#"[{"name":"a","value":"[redacted]"}]"#
        );
    }

    #[test]
    fn secrets_stand_in_lists_of_headers_in_urls_and_in_texts() {
        for text in [
            r#"{"headers":[{"name":"Authorization","value":"s3"}]}"#,
            r#"{"headers":[{"value":["s3"], "Name":"x-api-key"}]}"#,
            r#"{"headers":[{"key":"Cookie","value":{"a":"s3"}},{"key":"x","value":1}]}"#,
            r#"{"headers":[["Authorization","s3"],["Accept","x"]]}"#,
            r#"{"headers":["Authorization: Bearer s3", "X-Api-Key:s3"]}"#,
            r#"{"url":"https://me:s3@example.com/x"}"#,
            r#"{"url":"postgres://s3@db/x","y":"a://b"}"#,
            r#"{"pass":"s3","db_pass":"s3"}"#,
            r#"{"command":"curl -H 'Authorization: Basic s3' https://x:s3@y.example/"}"#,
            r#"{"command":"PGPASSWORD=s3 psql; export API_KEY=s3"}"#,
            r#"{"x":"line\nPassword: s3\nnext"}"#,
            r#"{"https://u:s3@h/":1}"#,
            r#"{"command":"login --password=\"s3\" x"}"#,
            r#"{"command":"export TOKEN='s3'; X=1"}"#,
            r#"{"x":"pass: \u0061s3"}"#,
            r#""password=s3""#,
            r#"["Bearer s3"]"#,
            r#"[["token","s3"]]"#,
            "https://me:s3@example.com",
            r#"{"a":"https://me:s3@exa"#,
        ] {
            let out = run(text);
            assert!(
                !out.contains("s3") && out.contains("[redacted]"),
                "{text}: {out}"
            );
        }
        for text in [
            r#"{"name":"Ann","value":"x"}"#,
            r#"{"url":"https://example.com/@me?x=a@b"}"#,
            r#"{"to":"a@b.example","body":"the pass: is closed? No."}"#
                .replace("pass:", "way:")
                .as_str(),
            r#"["token","a","b"]"#,
            r#"{"q":"select a::text from b where c = 'd'"}"#,
        ] {
            assert_eq!(run(text), text);
        }
    }

    #[test]
    fn garbage_is_redacted_as_well_as_can_be() {
        assert!(!run(r#"{"password":"hunter2"#).contains("hunter2"));
        assert!(!run(r#"{"password":"hunter2","password":"hunter3""#).contains("hunter"));
        assert!(!run(r#"{"token":hunter2"#).contains("hunter2"));
        assert_eq!(run("\"\\"), "\"\\");
        assert_eq!(run("]]}},"), "]]}},");
    }

    #[test]
    fn what_was_json_stays_json() {
        for text in [
            r#"{"token":null,"secret":-1e5,"x":{"password":true}}"#,
            r#"{"token": [[[]]] , "y":"\\"}"#,
            r#"{"token":{}}"#,
            r#"[{"name":"token","value":-1.5e3},{"value":{"a":["b"]},"name":"pass"}]"#,
            r#"{"a":"password=\\\"x","b":"Authorization: a\u0062\"c\""}"#,
            r#"{"a":"x://\u0061@b","b":"y://a\\@b"}"#,
        ] {
            let out = run(text);
            assert!(
                serde_json::from_str::<serde_json::Value>(&out).is_ok(),
                "{out}"
            );
        }
    }
}
