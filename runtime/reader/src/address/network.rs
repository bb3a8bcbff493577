//! Networks that hosts in numbers lie in: ranges of addresses, and the kinds of address
//! that have a name.
//!
//! A host name is never looked up. Where a name is known to mean such an address on every
//! machine, or on those of a cloud, it *may* lie there.

use super::numeric;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// `10.0.0.0/8`: an address, and how many of its bits count.
    V4(Ipv4Addr, u8),
    /// `fd00::/8`
    V6(Ipv6Addr, u8),
    /// A kind of address by its name.
    Named(NetworkName),
}

/// Kinds of address, from IANA's registries of special-purpose addresses and the manuals of
/// clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkName {
    /// This machine.
    Loopback,
    /// Networks that are not reached from everywhere.
    Private,
    /// The wire that a machine is on.
    LinkLocal,
    /// Where clouds tell a machine what it is and may do.
    Metadata,
}

/// Whether a host lies in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lies {
    /// It does not.
    Outside,
    /// It may.
    Perhaps,
    /// It does.
    Inside,
}

/// Ranges of IPv4 and of IPv6 addresses, each with the number of bits that count.
pub type Ranges = (&'static [(Ipv4Addr, u8)], &'static [(Ipv6Addr, u8)]);

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> (Ipv4Addr, u8) {
    (Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(segments: [u16; 8], bits: u8) -> (Ipv6Addr, u8) {
    let [a, b, c, d, e, f, g, h] = segments;
    (Ipv6Addr::new(a, b, c, d, e, f, g, h), bits)
}

impl NetworkName {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Loopback,
        Self::Private,
        Self::LinkLocal,
        Self::Metadata,
    ];

    /// The name as policies write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link_local",
            Self::Metadata => "metadata",
        }
    }

    /// The ranges that surely are of the kind.
    #[must_use]
    pub const fn sure(self) -> Ranges {
        match self {
            Self::Loopback => {
                const { (&[v4(127, 0, 0, 0, 8)], &[v6([0, 0, 0, 0, 0, 0, 0, 1], 128)]) }
            }
            // RFC 1918, RFC 4193.
            Self::Private => {
                const {
                    (
                        &[
                            v4(10, 0, 0, 0, 8),
                            v4(172, 16, 0, 0, 12),
                            v4(192, 168, 0, 0, 16),
                        ],
                        &[v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7)],
                    )
                }
            }
            Self::LinkLocal => {
                const {
                    (
                        &[v4(169, 254, 0, 0, 16)],
                        &[v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10)],
                    )
                }
            }
            Self::Metadata => {
                const {
                    (
                        &[
                            // Most clouds; Amazon's containers; Tencent; Scaleway.
                            v4(169, 254, 169, 254, 32),
                            v4(169, 254, 170, 2, 32),
                            v4(169, 254, 170, 23, 32),
                            v4(169, 254, 0, 23, 32),
                            v4(169, 254, 42, 42, 32),
                            // Alibaba, Azure, Oracle's older cloud.
                            v4(100, 100, 100, 200, 32),
                            v4(168, 63, 129, 16, 32),
                            v4(192, 0, 0, 192, 32),
                        ],
                        &[
                            // Amazon, Google, Scaleway.
                            v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
                            v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128),
                            v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
                            v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
                        ],
                    )
                }
            }
        }
    }

    /// The ranges that only a restrictive rule counts: what the registries call not globally
    /// reachable and is of no other kind.
    #[must_use]
    pub const fn perhaps(self) -> Ranges {
        match self {
            Self::Private => {
                const {
                    (
                        &[
                            v4(0, 0, 0, 0, 8),
                            v4(100, 64, 0, 0, 10),
                            v4(192, 0, 0, 0, 24),
                            v4(192, 0, 2, 0, 24),
                            v4(198, 18, 0, 0, 15),
                            v4(198, 51, 100, 0, 24),
                            v4(203, 0, 113, 0, 24),
                            v4(240, 0, 0, 0, 4),
                        ],
                        &[
                            v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
                            v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
                            v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64),
                            v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
                            v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
                            v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
                            v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
                            // Site-local, which RFC 3879 took back.
                            v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
                        ],
                    )
                }
            }
            Self::Loopback | Self::LinkLocal | Self::Metadata => (&[], &[]),
        }
    }

    /// The names that may mean a host of the kind: those that machines and clouds give it.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            // RFC 6761, and what `/etc/hosts` of Debian and Fedora holds.
            Self::Loopback => &[
                "localhost",
                "localhost.localdomain",
                "localhost4",
                "localhost4.localdomain4",
                "localhost6",
                "localhost6.localdomain6",
                "ip6-localhost",
                "ip6-loopback",
            ],
            Self::Metadata => &[
                "metadata",
                "metadata.google.internal",
                "metadata.goog",
                "metadata.azure.internal",
                "metadata.tencentyun.com",
                "metadata.platformequinix.com",
                "metadata.packet.net",
                "instance-data",
                "instance-data.ec2.internal",
            ],
            Self::Private | Self::LinkLocal => &[],
        }
    }

    /// Whether a host that is no number may be of the kind.
    fn may_be(self, host: &str) -> bool {
        let below = |parent: &str| {
            host.strip_suffix(parent)
                .is_some_and(|rest| rest.ends_with('.'))
        };
        self.names().contains(&host) || (self == Self::Loopback && below("localhost"))
    }
}

impl Network {
    /// The network that a policy names: `10.0.0.0/8`, `fd00::/8`, `private`.
    ///
    /// # Errors
    /// Why it is none, if it looks like a range. A range's address may have no bits behind
    /// those that count.
    pub fn parse(text: &str) -> Option<Result<Self, NetworkError>> {
        let name = NetworkName::ALL.into_iter().find(|one| one.name() == text);
        if let Some(name) = name {
            return Some(Ok(Self::Named(name)));
        }
        let (address, bits) = text.split_once('/')?;
        let bare = address
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(address);
        let address: IpAddr = bare.parse().ok()?;
        Some(Self::range(address, bits))
    }

    fn range(address: IpAddr, bits: &str) -> Result<Self, NetworkError> {
        let plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let number = bits.parse::<u8>().ok().filter(|_| plain);
        match (address, number) {
            (IpAddr::V4(address), Some(bits @ 0..=32)) => {
                let kept = Ipv4Addr::from_bits(address.to_bits() & mask4(bits));
                match kept == address {
                    true => Ok(Self::V4(address, bits)),
                    false => Err(NetworkError::Inside(IpAddr::V4(kept), bits)),
                }
            }
            // Written so, an IPv4 range would hold none of the IPv4 hosts.
            (IpAddr::V6(address), Some(bits @ 96..=128)) if address.to_ipv4_mapped().is_some() => {
                let v4 = address.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
                Err(NetworkError::Mapped(v4, bits - 96))
            }
            (IpAddr::V6(address), Some(bits @ 0..=128)) => {
                let kept = Ipv6Addr::from_bits(address.to_bits() & mask6(bits));
                match kept == address {
                    true => Ok(Self::V6(address, bits)),
                    false => Err(NetworkError::Inside(IpAddr::V6(kept), bits)),
                }
            }
            (IpAddr::V4(_), _) => Err(NetworkError::Bits(32)),
            (IpAddr::V6(_), _) => Err(NetworkError::Bits(128)),
        }
    }

    /// Whether a host, in the form that [`host`](super::host) writes, lies in it. Linear in
    /// the host; does not allocate.
    #[must_use]
    pub fn holds(&self, host: &str) -> Lies {
        let address = numeric(host);
        match self {
            Self::Named(name) => match address {
                Some(address) if any(name.sure(), address) => Lies::Inside,
                Some(address) if any(name.perhaps(), address) => Lies::Perhaps,
                None if name.may_be(host) => Lies::Perhaps,
                _ => Lies::Outside,
            },
            Self::V4(network, bits) => match address {
                Some(IpAddr::V4(address)) if in4(address, (*network, *bits)) => Lies::Inside,
                _ => Lies::Outside,
            },
            Self::V6(network, bits) => match address {
                Some(IpAddr::V6(address)) if in6(address, (*network, *bits)) => Lies::Inside,
                _ => Lies::Outside,
            },
        }
    }

    /// The network as five numbers.
    #[must_use]
    pub const fn to_cells(self) -> [u32; 5] {
        match self {
            Self::V4(address, bits) => [4 << 8 | bits as u32, address.to_bits(), 0, 0, 0],
            Self::V6(address, bits) => {
                let all = address.to_bits();
                [
                    6 << 8 | bits as u32,
                    (all >> 96) as u32,
                    (all >> 64) as u32,
                    (all >> 32) as u32,
                    all as u32,
                ]
            }
            Self::Named(name) => [name as u32, 0, 0, 0, 0],
        }
    }

    /// The network that five numbers stand for.
    #[must_use]
    pub fn from_cells([kind, a, b, c, d]: [u32; 5]) -> Option<Self> {
        let bits = (kind & 0xff) as u8;
        match kind >> 8 {
            0 => NetworkName::ALL
                .get(kind as usize)
                .map(|name| Self::Named(*name)),
            4 if bits <= 32 => Some(Self::V4(Ipv4Addr::from_bits(a), bits)),
            6 if bits <= 128 => {
                let all = [a, b, c, d]
                    .into_iter()
                    .fold(0, |all, word| all << 32 | u128::from(word));
                Some(Self::V6(Ipv6Addr::from_bits(all), bits))
            }
            _ => None,
        }
    }
}

/// Why a text names no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// So many bits there are at most.
    Bits(u8),
    /// The address has bits behind those that count; the range is this.
    Inside(IpAddr, u8),
    /// An IPv4 range is written as this.
    Mapped(Ipv4Addr, u8),
}

fn any((four, six): Ranges, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => four.iter().any(|range| in4(address, *range)),
        IpAddr::V6(address) => six.iter().any(|range| in6(address, *range)),
    }
}

const fn in4(address: Ipv4Addr, (network, bits): (Ipv4Addr, u8)) -> bool {
    (address.to_bits() ^ network.to_bits()) & mask4(bits) == 0
}

const fn in6(address: Ipv6Addr, (network, bits): (Ipv6Addr, u8)) -> bool {
    (address.to_bits() ^ network.to_bits()) & mask6(bits) == 0
}

/// The first bits of an address.
const fn mask4(bits: u8) -> u32 {
    match u32::MAX.checked_shr(bits as u32) {
        Some(rest) => !rest,
        None => u32::MAX,
    }
}

const fn mask6(bits: u8) -> u128 {
    match u128::MAX.checked_shr(bits as u32) {
        Some(rest) => !rest,
        None => u128::MAX,
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::V4(address, bits) => write!(f, "{address}/{bits}"),
            Self::V6(address, bits) => write!(f, "{address}/{bits}"),
            Self::Named(name) => f.write_str(name.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(network: &str, host: &str) -> Lies {
        Network::parse(network).unwrap().unwrap().holds(host)
    }

    #[test]
    fn hosts_lie_in_ranges() {
        use Lies::{Inside, Outside, Perhaps};
        for (network, host, expected) in [
            ("10.0.0.0/8", "10.255.0.1", Inside),
            ("10.0.0.0/8", "11.0.0.0", Outside),
            ("10.0.0.0/8", "10.evil.com", Outside),
            ("0.0.0.0/0", "8.8.8.8", Inside),
            ("0.0.0.0/0", "[::1]", Outside),
            ("10.1.2.3/32", "10.1.2.3", Inside),
            ("10.1.2.3/32", "10.1.2.2", Outside),
            ("172.16.0.0/12", "172.31.255.255", Inside),
            ("172.16.0.0/12", "172.32.0.0", Outside),
            ("fd00::/8", "[fd12::1]", Inside),
            ("fd00::/8", "[fe80::1]", Outside),
            ("[::1]/128", "[::1]", Inside),
            ("::/0", "[2606:4700::1]", Inside),
            ("loopback", "127.9.9.9", Inside),
            ("loopback", "[::1]", Inside),
            ("loopback", "localhost", Perhaps),
            ("loopback", "a.b.localhost", Perhaps),
            ("loopback", "notlocalhost", Outside),
            ("loopback", "localhost.evil.com", Outside),
            ("loopback", "10.0.0.1", Outside),
            ("private", "192.168.1.1", Inside),
            ("private", "100.64.0.1", Perhaps),
            ("private", "[fdff::1]", Inside),
            ("private", "[fec0::1]", Perhaps),
            ("private", "127.0.0.1", Outside),
            ("private", "8.8.8.8", Outside),
            ("private", "intranet", Outside),
            ("link_local", "169.254.1.1", Inside),
            ("link_local", "[fe80::1]", Inside),
            ("metadata", "169.254.169.254", Inside),
            ("metadata", "[fd00:ec2::254]", Inside),
            ("metadata", "metadata.google.internal", Perhaps),
            ("metadata", "169.254.169.253", Outside),
        ] {
            assert_eq!(holds(network, host), expected, "{host} in {network}");
        }
    }

    #[test]
    fn what_is_no_network() {
        use NetworkError::{Bits, Inside, Mapped};
        let error = |text: &str| Network::parse(text).unwrap().unwrap_err();
        assert_eq!(error("10.0.0.0/33"), Bits(32));
        assert_eq!(error("10.0.0.0/+8"), Bits(32));
        assert_eq!(error("10.0.0.0/"), Bits(32));
        assert_eq!(error("fd00::/129"), Bits(128));
        let kept = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));
        assert_eq!(error("10.0.0.1/8"), Inside(kept, 8));
        let v4 = Ipv4Addr::new(10, 0, 0, 0);
        assert_eq!(error("::ffff:10.0.0.0/104"), Mapped(v4, 8));
        for text in [
            "corp.com",
            "10.0.0.1",
            "a/b",
            "10.0.0/8",
            "https://10.0.0.1/8",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }

    /// The registries' ranges as the standard library knows them, where it does.
    #[test]
    fn sure_kinds_agree_with_the_standard_library() {
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                let address = Ipv4Addr::new(a, b, 1, 1);
                let host = address.to_string();
                let inside = |name: &str| holds(name, &host) == Lies::Inside;
                assert_eq!(inside("loopback"), address.is_loopback(), "{host}");
                assert_eq!(inside("private"), address.is_private(), "{host}");
                assert_eq!(inside("link_local"), address.is_link_local(), "{host}");
                let address = Ipv6Addr::new(u16::from_be_bytes([a, b]), 0, 0, 0, 0, 0, 0, 9);
                let host = format!("[{address}]");
                let inside = |name: &str| holds(name, &host) == Lies::Inside;
                assert_eq!(inside("private"), address.is_unique_local(), "{host}");
                assert_eq!(
                    inside("link_local"),
                    address.is_unicast_link_local(),
                    "{host}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn cells_and_texts_stand_for_networks(v4: u32, v6: u128, bits in 0..=128_u8) {
            let four = bits.min(32);
            let networks = [
                Network::V4(Ipv4Addr::from_bits(v4 & mask4(four)), four),
                Network::V6(Ipv6Addr::from_bits(v6 & mask6(bits)), bits),
                Network::Named(NetworkName::Metadata),
            ];
            for network in networks {
                prop_assert_eq!(Network::from_cells(network.to_cells()), Some(network));
                let text = network.to_string();
                let again = Network::parse(&text);
                if !matches!(again, Some(Err(NetworkError::Mapped(..)))) {
                    prop_assert_eq!(again, Some(Ok(network)), "{}", text);
                }
            }
        }

        #[test]
        fn the_first_bits_decide(network: u32, address: u32, bits in 0..=32_u8) {
            let network = network & mask4(bits);
            let host = Ipv4Addr::from_bits(address).to_string();
            let found = Network::V4(Ipv4Addr::from_bits(network), bits).holds(&host);
            let same = (0..bits).all(|bit| (address ^ network) >> (31 - bit) & 1 == 0);
            prop_assert_eq!(found == Lies::Inside, same);
        }
    }
}
