//! Addresses: the host or domain in a value, the destinations that one value
//! holds, and the destination-shaped tokens inside recorded text.
//!
//! Nothing here trusts or blocks: it only says what a value names. Where a value
//! can be read in two ways, the answer is [`Malformed`], or every reading.

mod destinations;
mod headers;
mod network;
mod numeric;
mod origin;
mod scheme;
mod shapes;
mod tokens;

pub use destinations::{destinations, is_destination_shaped};
pub(crate) use headers::words_of;
pub use headers::{ArgumentRole, argument_role, may_name_recipients};
pub use network::{Lies, Network, NetworkError, NetworkName, Ranges};
pub use numeric::{host_in_ipv4, numeric};
pub use origin::{names_host, origin};
pub use scheme::scheme;
pub use shapes::{is_address, without_tag};
pub use tokens::{SHORTEST as SHORTEST_TOKEN, Token, TokenKind, token_stands_at, tokens};

use crate::text::{is_ignorable, is_space};
use shapes::{encoded_at, scheme_end};
use std::ops::ControlFlow;

/// The value names no host, or one that two readers could read differently. A test
/// on it cannot be evaluated: it holds in a restrictive rule and fails in a
/// permissive one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Writes the host of a URL, of `host:port` or of a bare host to `out`: lower case,
/// international names in punycode, IPv4 in decimal, IPv6 in brackets, without a
/// trailing dot. White space around the value does not count.
///
/// Plain ASCII names take linear time and no allocation once `out` has capacity;
/// numeric and international ones go through the `url` crate, which allocates.
///
/// # Errors
/// [`Malformed`] for anything that parsers disagree about: back-slashes, user
/// information, white space or control or invisible characters inside, percent
/// signs in the host, an empty host or label, characters that only normalise to
/// plain ASCII (`ｅvil.com`), a scheme without `//`, a port that is no number.
pub fn host(value: &str, out: &mut String) -> Result<(), Malformed> {
    out.clear();
    let value = value.trim_matches(is_space);
    if value
        .chars()
        .any(|c| c == '\\' || c.is_control() || is_space(c) || is_ignorable(c))
    {
        return Err(Malformed);
    }
    let rest = match scheme_end(value) {
        Some(end) => value.get(end..).ok_or(Malformed)?,
        None => value,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('@') {
        return Err(Malformed);
    }
    let name = match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => {
            let port = authority.get(colon + 1..).unwrap_or("");
            if port.parse::<u16>().is_err() || !port.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Malformed);
            }
            authority.get(..colon).unwrap_or("")
        }
        _ => authority,
    };
    host_name(name, out)
}

/// Writes the domain of an e-mail address to `out`, or else the [`host`] of `value`.
///
/// Takes `a@b`, `Name <a@b>` and `mailto:a@b`. Costs what [`host`] costs.
///
/// # Errors
/// [`Malformed`] for several addresses in one value, for more than one `@` in an
/// address, a quoted local part, and whatever [`host`] refuses.
pub fn domain(value: &str, out: &mut String) -> Result<(), Malformed> {
    out.clear();
    if scheme_end(value.trim_matches(is_space)).is_some() || !encoded_at(value) {
        return host(value, out);
    }
    let value = value.trim_matches(is_space);
    let mut count = 0;
    let mut result = Err(Malformed);
    let _ = destinations(value, &mut |piece| {
        count += 1;
        result = match piece.split_once('@') {
            Some((local, domain)) if shapes::is_local(local) => host_name(domain, out),
            _ => Err(Malformed),
        };
        if count > 1 || result.is_err() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    if count != 1 || result.is_err() {
        out.clear();
        return Err(Malformed);
    }
    Ok(())
}

/// Writes the normal form of a bare host name.
fn host_name(name: &str, out: &mut String) -> Result<(), Malformed> {
    out.clear();
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_literal = name.starts_with('[');
    if name.is_empty() || (!is_literal && name.split('.').any(str::is_empty)) {
        return Err(Malformed);
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let puny = name.split('.').any(|label| {
        label
            .get(..4)
            .is_some_and(|s| s.eq_ignore_ascii_case("xn--"))
    });
    // A last label that starts with a digit may be a number in some spelling.
    if plain && !puny && !last.starts_with(|c: char| c.is_ascii_digit()) {
        out.extend(name.chars().map(|c| c.to_ascii_lowercase()));
        return Ok(());
    }
    let allowed =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !is_literal && !name.chars().all(allowed) {
        return Err(Malformed);
    }
    let parsed = url::Host::parse(name).map_err(|_| Malformed)?.to_string();
    if !name.is_ascii() {
        // A label that was not ASCII has to stay visibly foreign.
        let mut labels = parsed.split('.');
        for label in name.split('.') {
            let ascii = labels.next().ok_or(Malformed)?;
            if !label.is_ascii() && !ascii.starts_with("xn--") {
                return Err(Malformed);
            }
        }
        if labels.next().is_some() {
            return Err(Malformed);
        }
    }
    out.push_str(&parsed);
    Ok(())
}

/// The domain that a pattern `*@domain` compares with: of a value that is one bare
/// address in its simplest spelling and nothing else. Mail systems read `%` and `!` in
/// a local part as routes, and decoders read `%40` as `@`, so values with these are
/// none. As written, not folded. Linear; does not allocate.
#[must_use]
pub fn pattern_domain(value: &str) -> Option<&str> {
    shapes::simple_address_domain(value)
}

/// Whether a value has an `@` without being an address that [`pattern_domain`] reads, so
/// that a pattern over addresses cannot be evaluated on it.
#[must_use]
pub fn is_unclear_address(value: &str) -> bool {
    value.contains('@') && pattern_domain(value).is_none()
}

/// Whether a value looks like something with a host, without a host that can be read.
#[must_use]
pub fn is_unclear_host(value: &str, buffer: &mut String) -> bool {
    let looks = value.contains("://")
        || value.contains('@')
        || value.starts_with("//")
        || value.contains('\\');
    looks && !is_address(value) && host(value, buffer).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_of(value: &str) -> Result<String, Malformed> {
        let mut out = String::from("left over");
        host(value, &mut out).map(|()| out)
    }

    fn domain_of(value: &str) -> Result<String, Malformed> {
        let mut out = String::from("left over");
        domain(value, &mut out).map(|()| out)
    }

    #[test]
    fn hosts_are_found_in_their_normal_form() {
        for (value, expected) in [
            ("https://Evil.COM/x?q=1#f", "evil.com"),
            ("https://evil.com.", "evil.com"),
            ("https://evil.com?x=https://corp.com", "evil.com"),
            ("https://evil.com#@corp.com", "evil.com"),
            ("http://evil.com:8080/", "evil.com"),
            ("evil.com:443", "evil.com"),
            ("evil.com/path?u=https://corp.com", "evil.com"),
            (" evil.com\n", "evil.com"),
            ("localhost", "localhost"),
            ("my_host", "my_host"),
            ("ftp://files.corp.com/a@b", "files.corp.com"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.1", "127.0.0.1"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]:80/", "[::1]"),
            ("https://bücher.example", "xn--bcher-kva.example"),
            ("https://XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(host_of(value).as_deref(), Ok(expected), "{value:?}");
        }
    }

    #[test]
    fn what_parsers_disagree_about_is_malformed() {
        for value in [
            "",
            "https://",
            "https:///evil.com",
            "https:/evil.com",
            "https:evil.com",
            "//evil.com",
            "https://corp.com@evil.com",
            "https://corp.com:x@evil.com",
            "https://evil.com\\@corp.com",
            "https:\\\\evil.com",
            "https://ev\til.com",
            "https://ev\u{200b}il.com",
            "https://evil .com",
            "https://%65vil.com",
            "https://ｅvil.com",
            "https://evil。com",
            "https://\u{212a}elvin.com",
            "https://evil..com",
            "https://.evil.com",
            "https://evil.com..",
            "https://evil.com:",
            "https://evil.com:99999",
            "https://evil.com:+80",
            "view-source:https://evil.com",
            "mailto:a@b.com",
            "a@b.com",
            "http://1.2.3.4.5",
            "http://[::1",
            "http://ev|il.com",
        ] {
            assert_eq!(host_of(value), Err(Malformed), "{value:?}");
        }
    }

    #[test]
    fn domains_of_addresses() {
        for (value, expected) in [
            ("a@Corp.com", "corp.com"),
            ("Name <a@corp.com>", "corp.com"),
            ("\"Doe, John\" <a@corp.com>", "corp.com"),
            ("mailto:a@corp.com", "corp.com"),
            ("mailto:a@corp.com?subject=hi", "corp.com"),
            ("a@corp.com.", "corp.com"),
            ("https://corp.com/x", "corp.com"),
            ("https://corp.com/@user", "corp.com"),
            ("corp.com", "corp.com"),
        ] {
            assert_eq!(domain_of(value).as_deref(), Ok(expected), "{value:?}");
        }
        for value in [
            "a@evil.com, b@corp.com",
            "a@evil.com b@corp.com",
            "a@evil.com\nb@corp.com",
            "a@evil.com@corp.com",
            "a@evil.com<b@corp.com>",
            "\"b@corp.com\" <a@evil.com>",
            "\"a@evil.com b\"@corp.com",
            "a@evil.com%00@corp.com",
            "a%40evil.com",
            "a＠evil.com",
            "mailto:a@evil.com?cc=b@corp.com",
            "@corp.com",
            "a@",
            "a@corp.com/x",
            "a@[127.0.0.1",
            "x@evil.com\0.corp.com",
            "",
        ] {
            assert_eq!(domain_of(value), Err(Malformed), "{value:?}");
        }
    }
}
