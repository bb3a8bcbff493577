//! Values that a server may take for a path relative to a folder of its own.
//!
//! Where such a path leads, nobody here knows. Knows names of arguments and forms of
//! values, not prefixes.

use super::Path;
use crate::address::{ArgumentRole, argument_role, words_of};
use crate::text::is_space;

/// Words of names of arguments that are paths.
const PATHS: &[&str] = &[
    "cwd",
    "dest",
    "destination",
    "dir",
    "directories",
    "directory",
    "dirs",
    "dst",
    "file",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "files",
    "folder",
    "folders",
    "path",
    "pathname",
    "paths",
    "root",
    "source",
    "src",
    "subdir",
    "workdir",
];

/// Words of names of arguments that hold a slash and are no paths.
const OTHERS: &[&str] = &[
    "accept",
    "encoding",
    "format",
    "language",
    "locale",
    "mime",
    "mimetype",
    "model",
    "package",
    "repo",
    "repository",
    "timezone",
    "type",
    "tz",
];

/// Longer values are no paths anywhere.
const LONGEST: usize = 4096;

/// Whether a server may take `value`, in an argument of this name, for a relative path: the
/// name says so, or there is a separator in it and no white space around. A text that is
/// sent is none, nor what has no letter, a scheme or a drive. Linear; does not allocate.
#[must_use]
pub fn may_be_relative(value: &str, name: &str) -> bool {
    let value = value.trim_matches(is_space);
    if value.is_empty() || value.len() > LONGEST || value.starts_with(['/', '\\', '~']) {
        return false;
    }
    let path = Path {
        text: value,
        windows: true,
    };
    if !path.mark().is_empty() {
        return false;
    }
    let (mut named, mut other) = (false, false);
    words_of(name, &mut |word| {
        let listed = |list: &[&str]| list.iter().any(|one| one.eq_ignore_ascii_case(word));
        named |= listed(PATHS);
        other |= listed(OTHERS);
    });
    if other || argument_role(name) == ArgumentRole::Body {
        return false;
    }
    named
        || (value.contains(['/', '\\'])
            && !value.contains(is_space)
            && value.contains(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_separators_make_paths() {
        for (value, name) in [
            ("secret/a.txt", "x"),
            ("secret\\a.txt", "x"),
            ("a.txt", "path"),
            ("a.txt", "filePath"),
            ("my notes", "target_dir"),
            ("secret", "source"),
            (" secret/a ", "x"),
            (".", "cwd"),
        ] {
            assert!(may_be_relative(value, name), "{name}: {value}");
        }
        for (value, name) in [
            ("", "path"),
            ("/srv/a", "path"),
            ("https://a.example/b", "path"),
            ("C:\\a", "path"),
            ("secret", "x"),
            ("you need read/write access", "x"),
            ("read/write", "message"),
            ("text/plain", "mimeType"),
            ("me/project", "repo"),
            ("12/24/2026", "date"),
        ] {
            assert!(!may_be_relative(value, name), "{name}: {value}");
        }
    }
}
