//! Numbers with a check digit: those of cards (Luhn, ISO/IEC 7812) and of accounts (IBAN,
//! ISO 13616), as a whole text or inside one.
//!
//! One in ten numbers passes Luhn by chance, and one in 97 of the right form is an IBAN.
//! Linear but for a small constant; nothing here allocates.

/// How long a card's number is.
const CARD: std::ops::RangeInclusive<usize> = 13..=19;
/// How many digits stand together at least, where a card's number is written in groups.
const GROUP: usize = 3;
/// The longest IBAN there can be.
const LONGEST_IBAN: usize = 34;

/// Which check digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Card numbers.
    Luhn,
    /// International account numbers.
    Iban,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Luhn, Self::Iban];

    /// The name as policies write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Luhn => "luhn",
            Self::Iban => "iban",
        }
    }

    /// Whether the whole text is such a number, groups of it between single spaces or
    /// hyphens.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        let text = text.as_bytes();
        match self {
            Self::Luhn => card_at(text).any(|end| end == text.len()),
            // In capitals, as banks write it; the other ways are for [`Self::is_in`].
            Self::Iban => {
                !text.iter().any(u8::is_ascii_lowercase) && iban_at(text) == Some(text.len())
            }
        }
    }

    /// Whether such a number stands in the text.
    #[must_use]
    pub fn is_in(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        (0..bytes.len()).any(|at| {
            let here = bytes.get(at..).unwrap_or_default();
            match self {
                Self::Luhn => {
                    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
                    // A number begins where digits do.
                    !before.is_some_and(u8::is_ascii_digit) && card_at(here).next().is_some()
                }
                Self::Iban => iban_at(here).is_some(),
            }
        })
    }
}

const fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'-')
}

/// Where card numbers end that begin with the first digit of `text`: behind a group.
fn card_at(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    // Digits doubled from the end: both sums are kept, since the end is not known yet.
    let (mut at, mut digits, mut group) = (0, 0, 0);
    let (mut even, mut odd) = (0_u32, 0_u32);
    let first = text
        .first()
        .copied()
        .filter(|byte| matches!(byte, b'1'..=b'9'));
    let mut over = first.is_none();
    std::iter::from_fn(move || {
        while !over {
            let byte = text.get(at).copied();
            match byte {
                Some(byte @ b'0'..=b'9') => {
                    let digit = u32::from(byte - b'0');
                    // `odd` doubles this one, `even` the one before it.
                    (even, odd) = (odd + digit, even + doubled(digit));
                    (digits, group, at) = (digits + 1, group + 1, at + 1);
                    over = digits > *CARD.end();
                }
                _ => {
                    let end = at;
                    let more = byte.is_some_and(is_separator)
                        && text.get(at + 1).is_some_and(u8::is_ascii_digit);
                    let whole = group >= GROUP;
                    over = !more || !whole;
                    (group, at) = (0, at + 1);
                    if whole && CARD.contains(&digits) && even % 10 == 0 {
                        return Some(end);
                    }
                }
            }
        }
        None
    })
}

const fn doubled(digit: u32) -> u32 {
    if digit > 4 { 2 * digit - 9 } else { 2 * digit }
}

/// Where the IBAN ends that `text` begins with.
fn iban_at(text: &[u8]) -> Option<usize> {
    let [a, b, c, d, ..] = *text else { return None };
    let country = [a.to_ascii_uppercase(), b.to_ascii_uppercase()];
    if !(c.is_ascii_digit() && d.is_ascii_digit() && a.is_ascii_alphabetic()) {
        return None;
    }
    let length = iban_length(country)?;
    let mut letters = [0_u8; LONGEST_IBAN];
    let (mut at, mut count) = (0, 0);
    while count < length {
        let byte = *text.get(at)?;
        if byte.is_ascii_alphanumeric() {
            *letters.get_mut(count)? = byte;
            count += 1;
        } else if !(is_separator(byte) && text.get(at + 1)?.is_ascii_alphanumeric()) {
            return None;
        }
        at += 1;
    }
    let letters = letters.get(..length)?;
    let (head, body) = letters.split_at_checked(4)?;
    let rest = body.iter().chain(head).fold(0_u32, |rest, byte| {
        let value = match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            _ => u32::from(byte.to_ascii_uppercase() - b'A') + 10,
        };
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    });
    (rest == 1).then_some(at)
}

/// How long the IBANs of a country are, from the registry of ISO 13616.
fn iban_length(country: [u8; 2]) -> Option<usize> {
    let found = LENGTHS.binary_search_by(|(known, _)| known.as_slice().cmp(&country));
    let entry = found.ok().and_then(|at| LENGTHS.get(at))?;
    Some(usize::from(entry.1))
}

/// Sorted by country.
const LENGTHS: &[(&[u8; 2], u8)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cards_as_they_are_written() {
        for text in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "378282246310005",
            "3782 822463 10005",
            "30569309025904",
            "4222222222222",
            "6304000000000000000",
        ] {
            assert_eq!(Check::Luhn.is(text), luhn(text), "{text}");
            assert!(Check::Luhn.is_in(&format!("pay with {text}, please")) == luhn(text));
            assert!(!Check::Luhn.is(&format!("{text}.")));
        }
        for text in [
            "",
            "4111111111111112",
            "411111111111",
            "41111111111111111111",
            "4111  1111 1111 1111",
            "4111.1111.1111.1111",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "0000000000000000",
            "2026-12-01 10:00:00",
        ] {
            assert!(!Check::Luhn.is_in(text), "{text}");
        }
        for text in [
            "card4111111111111111x",
            "12 4111 1111 1111 1111",
            "4111 1111 1111 1111 2 items",
            "1234 4111 1111 1111 1111 5678",
            "a,4111111111111111,b",
        ] {
            assert!(Check::Luhn.is_in(text), "{text}");
            assert!(!Check::Luhn.is(text), "{text}");
        }
    }

    #[test]
    fn accounts_as_they_are_written() {
        for text in [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "GB29 NWBK 6016 1331 9268 19",
            "NO9386011117947",
            "MT84MALT011000012345MTLCAST001S",
            "FR1420041010050500013M02606",
        ] {
            assert!(Check::Iban.is(text), "{text}");
            assert!(Check::Iban.is_in(&format!("to {text} today")), "{text}");
            assert!(Check::Iban.is_in(&text.to_lowercase()), "{text}");
            assert!(!Check::Iban.is(&text.to_lowercase()), "{text}");
            assert!(!Check::Iban.is(&format!("{text} ")), "{text}");
        }
        for text in [
            "",
            "DE8937040044053201300",
            "DE89370400440532013001",
            "XX89370400440532013000",
            "DE89  3704 0044 0532 0130 00",
        ] {
            assert!(!Check::Iban.is_in(text), "{text}");
        }
    }

    #[test]
    fn countries_are_sorted() {
        assert!(LENGTHS.is_sorted());
        assert!(
            LENGTHS
                .iter()
                .all(|(_, length)| usize::from(*length) <= LONGEST_IBAN)
        );
    }

    /// Luhn's sum, from the last digit on.
    fn luhn(text: &str) -> bool {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
        let sum: u32 = digits
            .iter()
            .rev()
            .enumerate()
            .map(|(at, digit)| match at % 2 {
                0 => *digit,
                _ => (2 * digit) / 10 + (2 * digit) % 10,
            })
            .sum();
        sum.is_multiple_of(10)
    }

    /// Whether a run of groups is a card's number, slowly.
    fn stands(text: &str) -> bool {
        let bytes: Vec<char> = text.chars().collect();
        (0..bytes.len()).any(|from| {
            (from..=bytes.len()).any(|to| {
                let part: String = bytes[from..to].iter().collect();
                let edge = |c: Option<&char>| !c.is_some_and(char::is_ascii_digit);
                let before = from.checked_sub(1).and_then(|at| bytes.get(at));
                let digits = part.chars().filter(char::is_ascii_digit).count();
                edge(before)
                    && edge(bytes.get(to))
                    && CARD.contains(&digits)
                    && part.starts_with(|c: char| ('1'..='9').contains(&c))
                    && part.split([' ', '-']).all(|group| {
                        group.len() >= GROUP && group.bytes().all(|byte| byte.is_ascii_digit())
                    })
                    && luhn(&part)
            })
        })
    }

    proptest! {
        #[test]
        fn numbers_are_found_as_they_are_slowly(text in "([0-9]{1,6}[ -]{0,2}|[0-9]{3,20}|[a. -]){0,9}") {
            prop_assert_eq!(Check::Luhn.is_in(&text), stands(&text));
        }

        #[test]
        fn what_is_one_holds_one(text in "[0-9]{3,8}([ -]?[0-9]{3,8}){1,4}|[A-Z]{2}[0-9]{2}([ ]?[0-9A-Z]{2,4}){3,8}") {
            for check in Check::ALL {
                prop_assert!(!check.is(&text) || check.is_in(&text));
            }
        }

        /// Two digits are chosen so that the number is one.
        #[test]
        fn made_up_accounts_pass(body in "[0-9]{18}") {
            let value = format!("{body}131400");
            let rest = value.bytes().fold(0, |rest, byte| (rest * 10 + u32::from(byte - b'0')) % 97);
            let text = format!("DE{:02}{body}", 98 - rest);
            prop_assert!(Check::Iban.is(&text));
        }
    }
}
