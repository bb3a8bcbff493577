//! Hosts that are numbers: the IPv4 host that an IPv6 spelling leads to, and ranges.
//!
//! Knows nothing of URLs: it is given what [`host`](super::host) writes.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IP address that a host is, as [`host`](super::host) writes it: IPv4 in decimal, IPv6
/// in brackets.
#[must_use]
pub fn numeric(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => Some(IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?)),
        None => Some(IpAddr::V4(host.parse().ok()?)),
    }
}

/// Writes the IPv4 host that a host in numbers also stands for to `out`, and whether there
/// is one: of IPv6 addresses that carry an IPv4 address, and of those that mean this machine
/// (`0.0.0.0`, `[::]`, `[::1]`), which is `127.0.0.1`. Does not allocate once `out` has room.
pub fn host_in_ipv4(host: &str, out: &mut String) -> bool {
    out.clear();
    let found = match numeric(host) {
        Some(IpAddr::V4(address)) if address.is_unspecified() => Some(Ipv4Addr::LOCALHOST),
        Some(IpAddr::V6(address)) => carried(address),
        Some(IpAddr::V4(_)) | None => None,
    };
    // Writing to a text cannot fail.
    found.is_some_and(|address| write!(out, "{address}").is_ok())
}

/// The IPv4 address that an IPv6 address carries, or this machine's.
#[must_use]
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    let local = |found: Option<Ipv4Addr>| {
        found.map(|found| match found.is_unspecified() {
            true => Ipv4Addr::LOCALHOST,
            false => found,
        })
    };
    local(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Some(Ipv4Addr::LOCALHOST),
        // Compatible, mapped, and translated (RFC 4291, RFC 2765).
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        // NAT64: the well-known prefix and the one for local use (RFC 6052, RFC 8215).
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        // 6to4 (RFC 3056).
        | [0x2002, high, low, _, _, _, _, _]
        // ISATAP (RFC 5214).
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        // Teredo hides the client's address (RFC 4380).
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<String> {
        let (mut host, mut out) = (String::new(), String::from("left over"));
        crate::address::host(url, &mut host).unwrap();
        host_in_ipv4(&host, &mut out).then_some(out)
    }

    #[test]
    fn other_spellings_are_the_ipv4_host() {
        for (url, expected) in [
            ("http://[::ffff:127.0.0.1]:80/", "127.0.0.1"),
            ("http://[::ffff:7f00:1]/", "127.0.0.1"),
            ("http://[::FFFF:a9fe:a9fe]/", "169.254.169.254"),
            ("http://[0:0:0:0:0:ffff:10.0.0.1]/", "10.0.0.1"),
            ("http://[::127.0.0.1]/", "127.0.0.1"),
            ("http://[::ffff:0:10.1.2.3]/", "10.1.2.3"),
            ("http://[64:ff9b::169.254.169.254]/", "169.254.169.254"),
            ("http://[64:ff9b:1::a9fe:a9fe]/", "169.254.169.254"),
            ("http://[2002:7f00:1::]/", "127.0.0.1"),
            ("http://[2002:a9fe:a9fe::1]/", "169.254.169.254"),
            ("http://[fe80::5efe:192.168.0.1]/", "192.168.0.1"),
            (
                "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
                "127.0.0.1",
            ),
            ("http://[::]/", "127.0.0.1"),
            ("http://[::1]/", "127.0.0.1"),
            ("http://[::ffff:0.0.0.0]/", "127.0.0.1"),
            ("http://0/", "127.0.0.1"),
            ("http://0.0.0.0:80", "127.0.0.1"),
            ("http://0x0/", "127.0.0.1"),
        ] {
            assert_eq!(of(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "http://127.0.0.1/",
            "http://10.0.0.1/",
            "http://[2606:4700::1]/",
            "http://[fe80::1]/",
            "https://corp.com/",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
    }
}
