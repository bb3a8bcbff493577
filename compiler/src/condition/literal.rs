//! Literals inside a condition: string escapes, JSON numbers, durations.

use super::{Error, Span};

/// Undoes the escapes of a quoted string; `at` is the offset of its first character.
pub(super) fn unescape(text: &str, at: usize) -> Result<String, Error> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.char_indices();
    while let Some((from, c)) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escaped = rest.next().map(|(_, c)| c);
        let bad = |what: String, len: usize| {
            let end = (from + len).min(text.len());
            Error::new(
                what,
                Span {
                    start: at + from,
                    end: at + end,
                },
            )
        };
        match escaped {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some(c @ ('"' | '\'' | '\\' | '/')) => out.push(c),
            Some('u') => {
                let unit = hex4(rest.as_str());
                let (c, used) = match unit {
                    Some(high @ 0xD800..0xDC00) => {
                        let low = rest
                            .as_str()
                            .get(4..)
                            .and_then(|more| more.strip_prefix("\\u"))
                            .and_then(hex4);
                        match low {
                            Some(low @ 0xDC00..0xE000) => (
                                char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)),
                                10,
                            ),
                            _ => (None, 4),
                        }
                    }
                    Some(unit) => (char::from_u32(unit), 4),
                    None => {
                        return Err(bad("`\\u` needs four hexadecimal digits".to_owned(), 2)
                            .help("for example `\\u00e9`"));
                    }
                };
                let Some(c) = c else {
                    return Err(bad(
                        "this escape is half of a surrogate pair, which is no character".to_owned(),
                        6,
                    ));
                };
                out.push(c);
                for _ in 0..used {
                    rest.next();
                }
            }
            Some(c) => {
                return Err(
                    bad(format!("unknown escape `\\{c}` in a string"), 1 + c.len_utf8()).help(
                        "the escapes are `\\\\ \\\" \\' \\/ \\n \\r \\t \\b \\f \\uXXXX`; write `\\\\` for a back-slash",
                    ),
                );
            }
            None => return Err(bad("the string ends in a back-slash".to_owned(), 1)),
        }
    }
    Ok(out)
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    digits
        .bytes()
        .all(|b| b.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Whether the text is a number as JSON spells it.
pub(super) fn is_json_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// Milliseconds of `30s`, `5m`, `1h`, `7d`; `None` where the form is wrong, the
/// duration is zero or too long for 64 bits of milliseconds.
pub(super) fn duration(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1000_u64,
        'm' => 60 * 1000,
        'h' => 60 * 60 * 1000,
        'd' => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ms = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    (ms > 0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(
            unescape(r#"a\"b\\\n\u00e9\ud83d\ude00"#, 0).unwrap(),
            "a\"b\\\né😀"
        );
        assert_eq!(unescape(r"\q", 5).unwrap_err().start, 5);
        assert!(unescape(r"\ud83d", 0).is_err());
        assert!(unescape(r"\ud83d\u0041", 0).is_err());
        assert!(unescape(r"\u12", 0).is_err());
        assert!(unescape(r"\u+123", 0).is_err());
    }

    #[test]
    fn numbers_are_json_numbers() {
        for good in ["0", "-0", "1", "10.50", "1e9", "1E+9", "1.5e-3"] {
            assert!(is_json_number(good), "{good}");
        }
        for bad in [
            "", "-", "+1", "01", "1.", ".5", "0x10", "1_000", "1e", "NaN", "1.2.3",
        ] {
            assert!(!is_json_number(bad), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("30s"), Some(30_000));
        assert_eq!(duration("7d"), Some(604_800_000));
        for bad in [
            "0s",
            "h",
            "1",
            "1w",
            "-1s",
            "1.5h",
            "99999999999999999999d",
            "s",
        ] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
