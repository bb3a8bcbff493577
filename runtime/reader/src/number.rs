//! JSON numbers compared by value, exactly, from their text.
//!
//! Floats would round (`9007199254740993` is not `9007199254740992`) and overflow
//! (`1e400`), and a policy must not be wrong by a rounding. Knows nothing of
//! policies or of where the text comes from.

use std::cmp::Ordering;

/// Orders two JSON number texts by value: `-0` equals `0`, `1.0` equals `1`.
///
/// `None` if either is not exactly a JSON number (no white space either), or has
/// an exponent outside `i64`. Linear in both lengths, no allocation.
#[must_use]
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (small(a), small(b)) {
        return Some(a.cmp(&b));
    }
    let a = Decimal::parse(a.as_bytes())?;
    let b = Decimal::parse(b.as_bytes())?;
    Some(match (a.sign(), b.sign()) {
        (1, 1) => a.compare_magnitude(&b),
        (-1, -1) => b.compare_magnitude(&a),
        (a, b) => a.cmp(&b),
    })
}

/// A whole number of a few digits, as most are; `None` says nothing.
fn small(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    match digits {
        [b'0'] => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 18 => {}
        _ => return None,
    }
    let add = |number, &digit: &u8| {
        let digit = digit.wrapping_sub(b'0');
        (digit <= 9).then(|| number * 10 + i64::from(digit))
    };
    digits.iter().try_fold(0, add).map(|number| sign * number)
}

/// Whether two JSON number texts have the same value; `None` as for [`compare`].
#[must_use]
pub fn equal(a: &str, b: &str) -> Option<bool> {
    compare(a, b).map(Ordering::is_eq)
}

/// One spelling for all JSON numbers of the same value: significant digits and an
/// exponent. `None` as for [`compare`]. Linear in the length.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    let number = Decimal::parse(text.as_bytes())?;
    if number.sign() == 0 {
        return Some("0".to_owned());
    }
    let mut canonical = String::with_capacity(number.digits + 8);
    if number.negative {
        canonical.push('-');
    }
    canonical.extend(number.significant().map(|&digit| char::from(digit)));
    canonical.push('e');
    canonical.push_str(&number.point.to_string());
    Some(canonical)
}

/// Whether the value of a JSON number is whole; `None` as for [`compare`].
#[must_use]
pub fn is_whole(text: &str) -> Option<bool> {
    let number = Decimal::parse(text.as_bytes())?;
    // The last significant digit stands before the point.
    Some(number.digits == 0 || number.point >= number.digits as i128)
}

/// Whether a JSON number is written as an integer: without a point and an exponent.
#[must_use]
pub fn is_written_whole(text: &str) -> bool {
    is_number(text) && !text.contains(['.', 'e', 'E'])
}

/// Whether `text` is exactly one JSON number.
#[must_use]
pub fn is_number(text: &str) -> bool {
    scan(text.as_bytes()) == Ok(text.len())
}

/// The length of the JSON number at the start of `bytes`, or where it goes wrong.
/// What follows the number is not looked at.
pub fn scan(bytes: &[u8]) -> Result<usize, usize> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let digits = |mut at: usize| {
        while digit(at) {
            at += 1;
        }
        at
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    if !digit(at) {
        return Err(at);
    }
    if bytes.get(at) == Some(&b'0') {
        at += 1;
        if digit(at) {
            return Err(at);
        }
    } else {
        at = digits(at);
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        if !digit(at) {
            return Err(at);
        }
        at = digits(at);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        if !digit(at) {
            return Err(at);
        }
        at = digits(at);
    }
    Ok(at)
}

/// A number as `0.d1 d2 d3 … × 10^point`, `d1` and the last digit not zero.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Zeros before the first significant digit, in `whole` and `fraction` joined.
    leading: usize,
    /// How many significant digits there are; none means zero.
    digits: usize,
    /// Wide enough for any `i64` exponent plus any length.
    point: i128,
}

impl<'a> Decimal<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        if scan(text) != Ok(text.len()) {
            return None;
        }
        let (negative, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
            Some(at) => (text.get(..at)?, parse_exponent(text.get(at + 1..)?)?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.iter().position(|&b| b == b'.') {
            Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
            None => (mantissa, &[][..]),
        };
        let joined = || whole.iter().chain(fraction);
        let total = whole.len() + fraction.len();
        let zero = |b: &&u8| **b == b'0';
        let leading = joined().take_while(zero).count();
        let trailing = joined().rev().take_while(zero).count();
        Some(Self {
            negative,
            whole,
            fraction,
            leading,
            digits: total.saturating_sub(leading + trailing),
            point: i128::from(exponent) + whole.len() as i128 - leading as i128,
        })
    }

    fn sign(&self) -> i8 {
        match (self.digits, self.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    fn significant(&self) -> impl Iterator<Item = &'a u8> {
        let joined = self.whole.iter().chain(self.fraction);
        joined.skip(self.leading).take(self.digits)
    }

    /// Orders two numbers that are not zero, ignoring their signs.
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        // Where one runs out of digits first the other one's rest is not zero.
        self.point
            .cmp(&other.point)
            .then_with(|| self.significant().cmp(other.significant()))
    }
}

/// Reads an exponent's sign and digits; `None` if it does not fit.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    digits.iter().try_fold(0i64, |value, &byte| {
        let digit = i64::from(byte - b'0');
        let value = value.checked_mul(10)?;
        if negative {
            value.checked_sub(digit)
        } else {
            value.checked_add(digit)
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers() {
        for (text, whole, written) in [
            ("0", true, true),
            ("-12", true, true),
            ("1.0", true, false),
            ("1e0", true, false),
            ("150e-1", true, false),
            ("155e-1", false, false),
            ("0.0", true, false),
            ("0.5", false, false),
            ("1e400", true, false),
            ("1.25e2", true, false),
            ("1.255e2", false, false),
        ] {
            assert_eq!(is_whole(text), Some(whole), "{text}");
            assert_eq!(is_written_whole(text), written, "{text}");
        }
        assert_eq!(is_whole("1e9223372036854775808"), None);
        assert!(!is_written_whole("01"));
    }

    #[test]
    fn values_not_texts_are_compared() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, expected) in [
            ("0", "-0", Equal),
            ("0.000", "-0e7", Equal),
            ("1.0", "1", Equal),
            ("1e400", "10E+399", Equal),
            ("1e400", "1e401", Less),
            ("-1e400", "1", Less),
            ("-1", "-2", Greater),
            ("-1", "0", Less),
            ("0", "1e-99999999", Less),
            ("9007199254740993", "9007199254740992", Greater),
            ("0.1", "0.10000000000000000000001", Less),
            ("100", "1e2", Equal),
            ("0.001", "1e-3", Equal),
            ("12", "9", Greater),
            ("120", "12.1", Greater),
            ("5", "5e0000000000000000000000000000", Equal),
            ("1e9223372036854775807", "1e9223372036854775806", Greater),
            ("10e9223372036854775807", "1e9223372036854775807", Greater),
            (
                "1e-9223372036854775808",
                "0.1e-9223372036854775808",
                Greater,
            ),
        ] {
            assert_eq!(compare(a, b), Some(expected), "{a} {b}");
            assert_eq!(compare(b, a), Some(expected.reverse()), "{b} {a}");
            assert_eq!(equal(a, b), Some(expected == Equal));
            assert_eq!(canonical(a) == canonical(b), expected == Equal, "{a} {b}");
        }
    }

    #[test]
    fn anything_else_is_no_number() {
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-01",
            "1.",
            ".1",
            "1e",
            "1e+",
            "NaN",
            "Infinity",
            " 1",
            "1 ",
            "0x1",
            "1_0",
            "١",
            "1e9223372036854775808",
            "1e-9223372036854775809",
            "0e99999999999999999999",
        ] {
            assert_eq!(compare(text, "1"), None, "{text}");
            assert_eq!(compare("1", text), None, "{text}");
        }
        assert!(is_number("1e99999999999999999999") && !is_number("1 "));
    }

    /// The oracle: writes a number out in full, with 100 digits on either side.
    fn written_out(text: &str) -> (bool, String) {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = vec!['0'; 200];
        let first = 100 - whole.len() as i32 - exponent;
        for (n, c) in whole.chars().chain(fraction.chars()).enumerate() {
            digits[(first + n as i32) as usize] = c;
        }
        let digits: String = digits.into_iter().collect();
        (negative && digits.contains(|c| c != '0'), digits)
    }

    fn oracle(a: &str, b: &str) -> Ordering {
        match (written_out(a), written_out(b)) {
            ((false, a), (false, b)) => a.cmp(&b),
            ((true, a), (true, b)) => b.cmp(&a),
            ((a, _), (b, _)) => b.cmp(&a),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_numbers_written_out(
            a in "-?(0|[1-9][0-9]{0,12}|10{1,9})([.][0-9]{1,9}|[.]0{1,5})?([eE][+-]?[0-3]?[0-9])?",
            b in "-?(0|[1-9][0-9]{0,12}|10{1,9})([.][0-9]{1,9}|[.]0{1,5})?([eE][+-]?[0-3]?[0-9])?",
        ) {
            prop_assert_eq!(compare(&a, &b), Some(oracle(&a, &b)));
        }

        #[test]
        fn close_numbers_agree_too(
            a in "-?[01]([.][01]{1,2})?(e-?[0-2])?",
            b in "-?[01]([.][01]{1,2})?(e-?[0-2])?",
        ) {
            prop_assert_eq!(compare(&a, &b), Some(oracle(&a, &b)));
        }
    }
}
