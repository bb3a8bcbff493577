//! Identifiers as words, and the two ways in which patterns are compared with them.
//!
//! Knows nothing of tools or schemas.

use crate::identifier::parts;

/// The words of an identifier, lower-cased. Linear in the identifier.
pub(super) fn words(identifier: &str) -> Vec<String> {
    parts(identifier).map(str::to_lowercase).collect()
}

/// Whether any pattern matches any of `words`.
pub(super) fn any_word_matches(patterns: &[String], words: &[String]) -> bool {
    patterns
        .iter()
        .any(|pattern| words.iter().any(|word| matches(pattern, word)))
}

/// Whether any pattern matches the whole identifier, both without case, separators
/// and trailing digits.
pub(super) fn any_name_matches(patterns: &[String], identifier: &str) -> bool {
    let name = compact(identifier);
    patterns.iter().any(|pattern| {
        let stars = (pattern.starts_with('*'), pattern.ends_with('*'));
        let pattern = compact(pattern);
        !pattern.is_empty() && matches_with(&pattern, stars, &name)
    })
}

/// Lower-cased letters and digits of `text`, without trailing digits.
fn compact(text: &str) -> String {
    let mut compact: String = text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let kept = compact.trim_end_matches(char::is_numeric).len();
    if kept > 0 {
        compact.truncate(kept);
    }
    compact
}

/// Compares a lower-cased word with a pattern. A pattern without letters matches nothing.
fn matches(pattern: &str, word: &str) -> bool {
    let stars = (pattern.starts_with('*'), pattern.ends_with('*'));
    let pattern = pattern.trim_matches('*').to_lowercase();
    !pattern.is_empty() && matches_with(&pattern, stars, word)
}

/// `stars`: whether anything may stand before, and after.
fn matches_with(pattern: &str, stars: (bool, bool), word: &str) -> bool {
    match stars {
        (false, false) => word == pattern,
        (false, true) => word.starts_with(pattern),
        (true, false) => word.ends_with(pattern),
        (true, true) => word.contains(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_split_into_words() {
        for (identifier, expected) in [
            ("", ""),
            ("to", "to"),
            ("sendEmail", "send email"),
            ("SendEmail", "send email"),
            ("send_email", "send email"),
            ("send-email.now", "send email now"),
            ("URLPath", "url path"),
            ("pathURL", "path url"),
            ("imageURLs", "image urls"),
            ("URLs", "urls"),
            ("URLset", "ur lset"),
            ("IDs_of", "ids of"),
            ("DROP_TABLE", "drop table"),
            ("email2", "email 2"),
            ("x2y", "x 2 y"),
            ("__a__b__", "a b"),
            ("createDropdown", "create dropdown"),
            ("ÜberMail", "über mail"),
            ("e\u{301}t", "e t"),
        ] {
            assert_eq!(words(identifier).join(" "), expected, "{identifier}");
        }
    }

    #[test]
    fn stars_stand_at_either_end() {
        let word =
            |pattern: &str, word: &str| any_word_matches(&[pattern.to_owned()], &[word.to_owned()]);
        assert!(word("delete*", "deleted") && !word("delete*", "undelete"));
        assert!(word("*delete", "undelete") && !word("*delete", "deleted"));
        assert!(word("*delete*", "undeleted") && !word("delete", "deleted"));
        assert!(!word("*", "x") && !word("", "x") && !word("**", ""));
    }

    #[test]
    fn names_ignore_case_separators_and_trailing_digits() {
        let name = |pattern: &str, name: &str| any_name_matches(&[pattern.to_owned()], name);
        assert!(name("share_with", "shareWith") && name("share_with", "SHARE-WITH_2"));
        assert!(name("*email", "userEmail") && !name("*email", "email_body"));
        assert!(!name("to", "t") && !name("to", "") && !name("*", "x") && !name("_", ""));
        assert!(name("2fa", "2FA") && !name("7", "x7"));
    }
}
