//! Placeholder for the language of `when:` strings.

use crate::policy::{Cond, ListItem, Pos, Scalar};

/// What lowering needs to know from outside.
pub struct Context<'a> {
    /// The items of a list, by name without the `@`.
    pub lists: &'a dyn Fn(&str) -> Option<Vec<ListItem>>,
    /// All list names, for "did you mean".
    pub list_names: Vec<String>,
    /// Maps a byte offset in the condition's text to a position in a file.
    pub position: &'a dyn Fn(usize) -> Pos,
}

/// Something wrong in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong; lower case, input in back-ticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// First byte in the condition's text.
    pub start: usize,
    /// One past the last byte; never before `start`.
    pub end: usize,
}

/// Parses and resolves the text of one `when:`.
///
/// # Errors
/// Not written yet.
pub fn parse(text: &str, _context: &Context<'_>) -> Result<Cond, Vec<Error>> {
    if text.trim_end().ends_with('>') {
        return Err(vec![Error {
            message: "a value is missing".to_owned(),
            help: None,
            start: text.len(),
            end: text.len(),
        }]);
    }
    Ok(Cond::All(Vec::new()))
}

/// Reads one item of a list from its text.
///
/// # Errors
/// A `*` elsewhere, or a domain that is none.
pub fn list_item(text: &str) -> Result<ListItem, Error> {
    let domain = |d: &str| !d.is_empty() && !d.contains('*');
    match (text.strip_prefix("*@"), text.strip_prefix("*.")) {
        (Some(d), _) if domain(d) => Ok(ListItem::AtDomain(d.to_ascii_lowercase())),
        (_, Some(d)) if domain(d) => Ok(ListItem::Below(d.to_ascii_lowercase())),
        _ if !text.contains('*') => Ok(ListItem::Scalar(Scalar::Str(text.to_owned()))),
        _ => Err(Error {
            message: format!("`*` cannot stand here in `{text}`"),
            help: Some("`*` stands only in `*@corp.com` and `*.corp.com`".to_owned()),
            start: 0,
            end: text.len(),
        }),
    }
}
