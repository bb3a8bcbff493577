//! The host and the port that a URL, or `host:port`, leads to.

use super::{Malformed, host};

/// Ports that a scheme has by itself.
const PORTS: [(&str, u16); 5] = [
    ("http", 80),
    ("https", 443),
    ("ws", 80),
    ("wss", 443),
    ("ftp", 21),
];

/// Writes the host of a URL or of `host:port` to `out`, as [`host`] does, and gives the port:
/// the one that stands there, or the scheme's own. A bare host is none of both.
///
/// Costs what [`host`] costs.
///
/// # Errors
/// [`Malformed`] for a bare host, for a path without a scheme, and whatever [`host`] refuses.
pub fn origin(value: &str, out: &mut String) -> Result<Option<u16>, Malformed> {
    out.clear();
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None if value.contains(['/', '?', '#']) => return Err(Malformed),
        None => ("", value),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (_, port) = authority.rsplit_once(':').unwrap_or_default();
    let port = port.parse().ok();
    if scheme.is_empty() && port.is_none() {
        return Err(Malformed);
    }
    host(value, out)?;
    let own = || {
        PORTS
            .iter()
            .find(|(known, _)| scheme.eq_ignore_ascii_case(known))
    };
    Ok(port.or_else(|| own().map(|(_, port)| *port)))
}

/// Whether a text, but for a port behind it, can be the name of a host that others reach:
/// `corp.example`, `localhost`, an address of IP.
#[must_use]
pub fn names_host(text: &str) -> bool {
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => text,
    };
    host.eq_ignore_ascii_case("localhost")
        || host.starts_with('[')
        || (host.contains('.')
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::{names_host, origin};

    #[test]
    fn urls_and_hosts_with_ports_have_an_origin() {
        let of = |value: &str| {
            let mut host = String::new();
            origin(value, &mut host).ok().map(|port| (host, port))
        };
        for (value, host, port) in [
            ("https://Corp.example/a?b:9", "corp.example", Some(443)),
            ("http://corp.example:8080", "corp.example", Some(8080)),
            ("corp.example:8080", "corp.example", Some(8080)),
            ("gopher://corp.example/", "corp.example", None),
            ("http://0x7f.1/", "127.0.0.1", Some(80)),
            ("http://[::1]/", "[::1]", Some(80)),
        ] {
            assert_eq!(of(value), Some((host.to_owned(), port)), "{value}");
        }
        for value in [
            "corp.example",
            "corp.example/a",
            "https://a@corp.example/",
            "https:/corp.example/",
            "https://corp.example\\@evil.example/",
            "bob@corp.example",
            "",
        ] {
            assert_eq!(of(value), None, "{value}");
        }
    }

    #[test]
    fn names_of_hosts() {
        for text in ["corp.example", "localhost:8080", "10.0.0.1", "[::1]:80"] {
            assert!(names_host(text), "{text}");
        }
        for text in ["bob", "bob@corp.example", "", "a b.example", "/tmp/a.b"] {
            assert!(!names_host(text), "{text}");
        }
    }
}
