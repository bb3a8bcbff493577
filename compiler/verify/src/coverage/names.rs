//! What a tool does, going by its name: for lints only, never for a verdict.

use super::Tool;

/// Words that begin the names of tools that return what somebody wrote.
const READERS: [&str; 17] = [
    "get", "list", "read", "search", "fetch", "find", "query", "show", "view", "download",
    "browse", "lookup", "load", "open", "retrieve", "scrape", "crawl",
];

/// Whether the tool reads, going by its name and its hints.
pub(super) fn reads(tool: &Tool<'_>) -> bool {
    tool.definition.read_only_hint == Some(true) || has_word(tool.name, &READERS)
}

/// Whether the tool removes something, going by its name.
pub(super) fn removes(tool: &Tool<'_>) -> bool {
    has_word(
        tool.name,
        &["delete", "remove", "revoke", "unshare", "unsubscribe"],
    )
}

/// Whether one of the first two words of a name is one of these: servers often put their
/// own name in front.
fn has_word(name: &str, words: &[&str]) -> bool {
    let spaced: String = name
        .chars()
        .flat_map(|c| match c {
            c if c.is_ascii_uppercase() => [' ', c.to_ascii_lowercase()],
            c if c.is_ascii_alphanumeric() => ['\0', c],
            _ => ['\0', ' '],
        })
        .filter(|c| *c != '\0')
        .collect();
    let mut first = spaced.split_whitespace().take(2);
    first.any(|word| words.contains(&word))
}

/// Whether an argument of this name is a place on the net.
pub(super) fn is_link(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "url", "uri", "webhook", "endpoint", "href", "host", "callback", "proxy",
    ]
    .iter()
    .any(|part| key.contains(part))
}
