//! Request ids: kept as they were spelled, compared by value.
//!
//! A peer may spell an id differently in its answer (`"a"` for `"\u0061"`, `1` for
//! `1.0`), so the key of a map is the value; what is sent is the spelling.

/// An id's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A string, decoded.
    Text(String),
    /// A whole number within 128 bits.
    Whole(i128),
    /// Another number: the bits of its nearest double.
    Number(u64),
}

impl Key {
    /// The value of `raw`, one strictly read JSON value. `None` if it is neither a
    /// string nor a number.
    pub fn parse(raw: &[u8]) -> Option<Self> {
        match raw.first()? {
            b'"' => serde_json::from_slice(raw).ok().map(Self::Text),
            b'-' | b'0'..=b'9' => {
                let text = std::str::from_utf8(raw).ok()?;
                if let Ok(whole) = text.parse() {
                    return Some(Self::Whole(whole));
                }
                let number: f64 = text.parse().ok()?;
                // `1.0` and `1e0` are the number 1. Doubles below 2^53 are exact.
                if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                    #[allow(clippy::cast_possible_truncation)]
                    return Some(Self::Whole(number as i128));
                }
                Some(Self::Number(number.to_bits()))
            }
            _ => None,
        }
    }

    /// The number that this text spells, as some servers answer: `"5"` for `5`. Only the one
    /// way in which a number is written counts.
    #[must_use]
    pub fn spelled(&self) -> Option<Self> {
        let Self::Text(text) = self else { return None };
        let whole: i128 = text.parse().ok()?;
        (whole.to_string() == *text).then_some(Self::Whole(whole))
    }

    /// Whether an answer with the id `answer` is one to a request with this id.
    #[must_use]
    pub fn is_answered_by(&self, answer: &Self) -> bool {
        self == answer || answer.spelled().as_ref() == Some(self)
    }

    /// The number that `raw` stands for, if it is one that a program counts with.
    #[must_use]
    pub fn number(raw: &[u8]) -> Option<u64> {
        match Self::parse(raw)? {
            Self::Whole(whole) => u64::try_from(whole).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_come_back_as_a_text() {
        let key = |text: &str| Key::parse(text.as_bytes()).unwrap();
        assert!(key("5").is_answered_by(&key(r#""5""#)));
        assert!(key("-5").is_answered_by(&key(r#""-5""#)));
        assert!(key("5").is_answered_by(&key("5")));
        for other in [r#""05""#, r#""+5""#, r#"" 5""#, r#""5.0""#, r#""6""#, "6"] {
            assert!(!key("5").is_answered_by(&key(other)), "{other}");
        }
        assert!(!key(r#""5""#).is_answered_by(&key("5")));
    }

    #[test]
    fn compares_by_value() {
        let key = |text: &str| Key::parse(text.as_bytes());
        assert_eq!(key(r#""a""#), key(r#""\u0061""#));
        assert_eq!(key("1"), key("1.0"));
        assert_eq!(key("10"), key("1e1"));
        assert_ne!(key("1"), key(r#""1""#));
        assert_ne!(key("9007199254740993"), key("9007199254740992"));
        assert_ne!(key("1.5"), key("1.25"));
        assert_eq!(key("1.5"), key("15e-1"));
        assert!(key("123456789012345678901234567890123456789012345").is_some());
        for other in ["null", "true", "[1]", "{}", ""] {
            assert_eq!(key(other), None);
        }
    }
}
