//! Takes secrets out of arguments before they are logged.
//!
//! Works on raw text, so that everything else keeps its spelling, and on text that is
//! not JSON, because a malformed call may hold a secret too. Well-formed JSON stays
//! well-formed.

/// Stands for a value.
const REDACTED: &[u8] = b"\"[redacted]\"";

/// Words that make a name a secret's, wherever they stand in it.
const WORDS: [&str; 19] = [
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
/// Values that are secrets whatever their name is: HTTP authorization.
const SCHEMES: [&[u8]; 2] = [b"\"bearer ", b"\"basic "];

/// Appends `text` to `out` with the values of secret-looking names replaced. Linear.
pub(super) fn redact(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        if byte != b'"' {
            let plain = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            let (copy, tail) = rest.split_at(plain);
            out.extend_from_slice(copy);
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
                out.extend_from_slice(string);
            }
            rest = tail;
            continue;
        };
        out.extend_from_slice(string);
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
    let is_word = |word: &String| WORDS.contains(&word.as_str()) || JOINED.contains(&word.as_str());
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
        ] {
            let out = run(text);
            assert!(
                serde_json::from_str::<serde_json::Value>(&out).is_ok(),
                "{out}"
            );
        }
    }
}
