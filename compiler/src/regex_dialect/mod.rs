//! Placeholder for the translation of regex dialects.

/// A pattern that cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// First byte in the pattern.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A native pattern.
///
/// # Errors
/// If it is not one.
pub fn native(pattern: &str, _flags: &str) -> Result<String, RegexError> {
    match regex_syntax::Parser::new().parse(pattern) {
        Ok(_) => Ok(pattern.to_owned()),
        Err(_) => Err(RegexError {
            message: "the pattern does not parse".to_owned(),
            help: None,
            start: 0,
            end: pattern.len(),
        }),
    }
}

/// A JavaScript pattern.
///
/// # Errors
/// If it is not one.
pub fn javascript(pattern: &str) -> Result<String, RegexError> {
    native(pattern, "")
}

/// A Python pattern that matches whole values.
///
/// # Errors
/// If it is not one.
pub fn python_whole(pattern: &str) -> Result<String, RegexError> {
    if pattern.contains("\\p") {
        return native("(", "");
    }
    native(pattern, "").map(|pattern| format!(r"\A(?:{pattern})\z"))
}
