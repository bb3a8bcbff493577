//! The scheme of a URL, where every reader takes the same.

use super::Malformed;
use crate::text::{is_ignorable, is_space};

/// Schemes of addresses, whose `@` stands behind no user information.
const OF_ADDRESSES: &[&str] = &[
    "acct", "cid", "im", "mailto", "mid", "news", "pres", "sip", "sips", "ssh", "tel", "urn",
    "xmpp",
];

/// Writes the scheme of a URL to `out`, in lower case and without the colon, and calls
/// `other` with each scheme that stands inside it and that some readers go by
/// (`view-source:file:…`, `jar:file:…`).
///
/// Linear; does not allocate once `out` has capacity.
///
/// # Errors
/// [`Malformed`] where there is no scheme (what a reader then takes it for is its own
/// affair), or one that readers disagree about: control or invisible characters, white
/// space or a back-slash before or right behind the colon, a drive letter, a host with a
/// port, a user with a password.
pub fn scheme(value: &str, out: &mut String, other: &mut dyn FnMut(&str)) -> Result<(), Malformed> {
    out.clear();
    let value = value.trim_matches(is_space);
    if value.chars().any(|c| c.is_control() || is_ignorable(c)) {
        return Err(Malformed);
    }
    let (name, rest) = split(value).ok_or(Malformed)?;
    out.extend(name.chars().map(|c| c.to_ascii_lowercase()));
    let bad = is_port(rest)
        || rest.starts_with(|c: char| c == '\\' || is_space(c))
        || (is_user(rest) && !OF_ADDRESSES.contains(&out.as_str()));
    if bad {
        out.clear();
        return Err(Malformed);
    }
    // Few are nested, and none deeply.
    let mut inner = rest;
    for _ in 0..4 {
        // Behind two slashes stands a host, perhaps with a user before it.
        if inner.starts_with("//") {
            break;
        }
        let inside = inner.trim_start_matches([':', '/']);
        let Some((name, rest)) = split(inside).filter(|(_, rest)| !is_port(rest)) else {
            break;
        };
        other(name);
        inner = rest;
    }
    Ok(())
}

/// The scheme at the start of a text, and what follows the colon.
fn split(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let named = name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    named.then_some((name, rest))
}

/// Whether what follows a colon is a port: `localhost:8080/x`.
fn is_port(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = rest.get(digits..).unwrap_or_default();
    digits > 0 && (behind.is_empty() || behind.starts_with(['/', '?', '#']))
}

/// Whether what follows a colon may be a password: `user:word@host`.
fn is_user(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Result<(String, Vec<String>), Malformed> {
        let (mut out, mut others) = (String::from("left over"), Vec::new());
        scheme(value, &mut out, &mut |other| others.push(other.to_owned()))?;
        Ok((out, others))
    }

    #[test]
    fn schemes_in_lower_case() {
        for (value, expected) in [
            ("https://corp.com/a:b", "https"),
            (" HTTPS://corp.com", "https"),
            ("https:corp.com", "https"),
            ("https:/corp.com", "https"),
            ("mailto:a@corp.com", "mailto"),
            ("data:text/html,x", "data"),
            ("javascript:alert(1)", "javascript"),
            ("git+ssh://git@corp.com/x", "git+ssh"),
            ("ftp://user:word@corp.com:21/", "ftp"),
            ("file:///etc/passwd", "file"),
        ] {
            assert_eq!(of(value), Ok((expected.to_owned(), vec![])), "{value}");
        }
    }

    #[test]
    fn schemes_within_schemes() {
        let (outer, inner) = of("view-source:file:///etc/passwd").unwrap();
        assert_eq!(
            (outer.as_str(), inner.join(" ")),
            ("view-source", "file".to_owned())
        );
        let (outer, inner) = of("jar:https://corp.com/a.jar!/b").unwrap();
        assert_eq!(
            (outer.as_str(), inner.join(" ")),
            ("jar", "https".to_owned())
        );
        let (outer, inner) = of("git::ssh://corp.com/a").unwrap();
        assert_eq!((outer.as_str(), inner.join(" ")), ("git", "ssh".to_owned()));
    }

    #[test]
    fn what_readers_disagree_about_is_malformed() {
        for value in [
            "",
            "corp.com",
            "/etc/passwd",
            "//corp.com/a",
            "corp.com:443",
            "localhost:8080/x",
            "C:\\a",
            "c:/a",
            "user:word@corp.com/x",
            "ht\ttps://corp.com",
            "\u{1}https://corp.com",
            "ht tps://corp.com",
            "https :// corp.com",
            "https:\\\\corp.com",
            "ht\u{200b}tps://corp.com",
            "1https://corp.com",
            "https%3a//corp.com",
            "ｈttps://corp.com",
        ] {
            assert_eq!(of(value), Err(Malformed), "{value:?}");
        }
    }
}
