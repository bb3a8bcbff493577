//! Argument paths as policies write them.

use crate::policy::{Path, Segment};

/// A path that cannot be read: what is wrong, and where in it (in bytes).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathError {
    pub message: String,
    pub start: usize,
    pub end: usize,
}

/// A path of the rules dialect: an optional `args.`, then keys between dots. Every
/// text is a path there.
pub(crate) fn dotted(text: &str) -> Path {
    let rest = text.strip_prefix("args.").unwrap_or(text);
    Path(
        rest.split('.')
            .map(|key| Segment::Key(key.to_owned()))
            .collect(),
    )
}

/// A native path below the arguments: an optional `args.`, then steps.
pub(crate) fn argument(text: &str) -> Result<Path, PathError> {
    match text.strip_prefix("args") {
        Some("") => Ok(Path::default()),
        Some(rest) if rest.starts_with('[') => steps(rest, "args".len()),
        Some(rest) if rest.starts_with('.') => steps(&rest[1..], "args.".len()),
        _ => steps(text, 0),
    }
}

/// A native path below the root of an output.
pub(crate) fn output(text: &str) -> Result<Path, PathError> {
    steps(text, 0)
}

/// Keys joined by dots, with `[*]`, `[0]` and `["any key"]`. `offset` is where `text`
/// starts in what the author wrote.
fn steps(text: &str, offset: usize) -> Result<Path, PathError> {
    let error = |start: usize, end: usize, message: &str| PathError {
        message: message.to_owned(),
        start: offset + start,
        end: offset + end.max(start),
    };
    let mut path = Vec::new();
    let mut at = 0;
    let mut key_expected = true;
    loop {
        let rest = text.get(at..).unwrap_or("");
        if let Some(inner) = rest.strip_prefix('[') {
            if key_expected && !path.is_empty() {
                return Err(error(at, at + 1, "a name is missing before the bracket"));
            }
            let (step, length) = bracket(inner).ok_or_else(|| {
                error(
                    at,
                    text.len(),
                    "brackets hold `*`, a number or a quoted key",
                )
            })?;
            path.push(step);
            at += 1 + length;
        } else if key_expected {
            let length = rest.find(['.', '[']).unwrap_or(rest.len());
            let key = rest.get(..length).unwrap_or("");
            if key.is_empty() {
                return Err(error(at, at + 1, "a name is missing here"));
            }
            if key.contains('*') {
                return Err(error(
                    at,
                    at + length,
                    "write `[*]` for each element of a list",
                ));
            }
            let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ']' | '"');
            if key.contains(odd) {
                let message = "a key with such characters is written in brackets: `[\"a key\"]`";
                return Err(error(at, at + length, message));
            }
            path.push(Segment::Key(key.to_owned()));
            at += length;
        } else {
            return Err(error(at, at + 1, "a dot is missing here"));
        }
        match text.get(at..).and_then(|rest| rest.chars().next()) {
            None => return Ok(Path(path)),
            Some('.') => {
                at += 1;
                key_expected = true;
            }
            Some(_) => key_expected = false,
        }
    }
}

/// What stands after a `[`, and its length with the closing bracket.
fn bracket(inner: &str) -> Option<(Segment, usize)> {
    if let Some(quoted) = inner.strip_prefix('"') {
        let mut key = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => key.push(chars.next().filter(|(_, c)| matches!(c, '"' | '\\'))?.1),
                '"' => {
                    let close = quoted.get(at + 1..)?.starts_with(']');
                    return close.then_some((Segment::Key(key), 1 + at + 2));
                }
                c => key.push(c),
            }
        }
        return None;
    }
    let close = inner.find(']')?;
    let text = inner.get(..close)?;
    let step = if text == "*" {
        Segment::Each
    } else if text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0')) {
        Segment::Index(text.parse().ok()?)
    } else {
        return None;
    };
    Some((step, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Segment {
        Segment::Key(text.to_owned())
    }

    #[test]
    fn native_paths() {
        let path = |text| argument(text).map(|p| p.0);
        assert_eq!(path("args"), Ok(vec![]));
        assert_eq!(path("args.query"), Ok(vec![key("query")]));
        assert_eq!(path("argsx.0"), Ok(vec![key("argsx"), key("0")]));
        assert_eq!(
            path("args.items[*].to[2].x"),
            Ok(vec![
                key("items"),
                Segment::Each,
                key("to"),
                Segment::Index(2),
                key("x")
            ])
        );
        assert_eq!(
            path("args[\"a.\\\"b\"].c"),
            Ok(vec![key("a.\"b"), key("c")])
        );
        assert_eq!(
            output("[*].body").unwrap().0,
            vec![Segment::Each, key("body")]
        );
        for bad in [
            "", "args.", "a..b", "a.", ".a", "a[", "a[x]", "a[01]", "a[0]b", "a.[0]", "a[\"b]",
            "a.*", "a b", "a]",
        ] {
            assert!(argument(bad).is_err(), "{bad}");
        }
        assert_eq!(argument("args.a..b").unwrap_err().start, 7);
    }

    #[test]
    fn dotted_paths_take_anything() {
        assert_eq!(dotted("args.list.0").0, vec![key("list"), key("0")]);
        assert_eq!(dotted("args").0, vec![key("args")]);
        assert_eq!(dotted("args..q").0, vec![key(""), key("q")]);
        assert_eq!(dotted("").0, vec![key("")]);
    }
}
