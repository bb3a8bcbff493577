//! Compares JSON numbers by value, exactly, from their texts.

use std::cmp::Ordering;

/// `0.d₁d₂… × 10^exponent` with `d₁ ≠ 0`, or zero.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

fn decimal(text: &str) -> Decimal {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // An exponent beyond 128 bits only has to stay huge.
        Some((mantissa, exponent)) => (
            mantissa,
            exponent
                .trim_start_matches('+')
                .parse::<i128>()
                .unwrap_or(if exponent.starts_with('-') {
                    i128::MIN / 4
                } else {
                    i128::MAX / 4
                })
                .clamp(i128::MIN / 4, i128::MAX / 4),
        ),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let leading_zeros = (all.len() - significant.len()) as i128;
    let digits = significant.trim_end_matches('0').to_owned();
    if digits.is_empty() {
        return Decimal {
            negative: false,
            digits,
            exponent: 0,
        };
    }
    Decimal {
        negative,
        digits,
        exponent: exponent + whole.len() as i128 - leading_zeros,
    }
}

/// Whether the value is whole, or its exponent so large that some readers refuse it.
pub fn is_whole(text: &str) -> bool {
    let number = decimal(text);
    number.exponent >= number.digits.len() as i128 || number.exponent.abs() > i128::from(i64::MAX)
}

/// Orders two JSON numbers by value. Both must be well-formed.
pub fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (decimal(left), decimal(right));
    let sign = |d: &Decimal| match (d.digits.is_empty(), d.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    if sign(&left) != sign(&right) {
        return sign(&left).cmp(&sign(&right));
    }
    let magnitude = if left.digits.is_empty() {
        Ordering::Equal
    } else {
        left.exponent
            .cmp(&right.exponent)
            .then_with(|| left.digits.cmp(&right.digits))
    };
    if left.negative {
        magnitude.reverse()
    } else {
        magnitude
    }
}

#[test]
fn orders_by_value() {
    for (left, right, expected) in [
        ("5", "5.0", Ordering::Equal),
        ("500e-2", "5", Ordering::Equal),
        ("-0", "0.0e7", Ordering::Equal),
        ("0.1", "0.10000000000000001", Ordering::Less),
        ("9007199254740993", "9007199254740992", Ordering::Greater),
        ("-2", "-10", Ordering::Greater),
        ("1e400", "1e399", Ordering::Greater),
        (
            "1e99999999999999999999999999999999999999999",
            "5",
            Ordering::Greater,
        ),
        ("-1e-5", "0", Ordering::Less),
        ("12", "1.3e1", Ordering::Less),
        ("0.05", "5e-2", Ordering::Equal),
    ] {
        assert_eq!(compare(left, right), expected, "{left} {right}");
        assert_eq!(compare(right, left), expected.reverse(), "{right} {left}");
    }
}
