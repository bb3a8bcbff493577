//! What programs that read whole folders take of them.

use super::options::Parsed;
use crate::disk::Below;

/// What a program takes of what lies below the folders that it is given; `None` if it
/// looks at the files only that it names.
pub(super) fn below(name: &str, parsed: &Parsed<'_>) -> Option<Below> {
    let named = |names: &[&str]| -> Vec<String> {
        parsed
            .values
            .iter()
            .filter(|(option, _, _)| names.contains(&option.as_str()))
            .map(|(_, _, value)| value.text.to_ascii_lowercase())
            .collect()
    };
    let all = Below {
        hidden: true,
        ignored: true,
        own: true,
        ..Below::default()
    };
    let recursive = [
        "r",
        "R",
        "recursive",
        "dereference-recursive",
        "a",
        "archive",
    ];
    match name {
        "grep" | "egrep" | "fgrep" | "zgrep"
            if parsed.has(&["r", "R", "recursive", "dereference-recursive"]) =>
        {
            Some(Below {
                include: named(&["include"]),
                exclude: named(&["exclude", "exclude-dir"]),
                ..all
            })
        }
        "rg" | "ag" | "ack" => {
            let letters = |letter: &str| parsed.flags.iter().filter(|flag| *flag == letter).count();
            let more = letters("u") + letters("unrestricted");
            let globs = named(&["g", "glob", "iglob"]);
            Some(Below {
                hidden: more > 1 || parsed.has(&["hidden", "."]),
                ignored: more > 0 || parsed.has(&["no-ignore", "no-ignore-vcs"]),
                own: true,
                include: globs
                    .iter()
                    .filter(|glob| !glob.starts_with('!') && !glob.contains('{'))
                    .map(|glob| glob.rsplit('/').next().unwrap_or_default().to_owned())
                    .collect(),
                exclude: globs
                    .iter()
                    .filter_map(|glob| glob.strip_prefix('!'))
                    .map(|glob| glob.trim_start_matches("**/").to_owned())
                    .collect(),
                ..Below::default()
            })
        }
        "cp" | "rsync" | "scp" | "zip" | "gzip" | "diff" if parsed.has(&recursive) => Some(all),
        _ => None,
    }
}
