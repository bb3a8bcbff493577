//! What is known of files by their names: which hold secrets, which decide what runs next,
//! and which guard the agent. The list is `packs/files.list`, with a reason beside each
//! entry. Knows no disk, and no policy.

use std::path::{Component, Path};
use std::sync::OnceLock;

const LIST: &str = include_str!("../../../packs/files.list");

/// What a file is. A policy knows it by [`name`](Kind::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// It holds keys or passwords.
    Keys,
    /// It may hold passwords.
    Secrets,
    /// A human approves with it.
    Gate,
    /// It decides what runs next, or guards the agent.
    Starts,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Keys, Self::Secrets, Self::Gate, Self::Starts];

    /// The kind in the list, and in a call's arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Secrets => "secrets",
            Self::Gate => "gate",
            Self::Starts => "starts",
        }
    }
}

/// Where the beginning of a pattern has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Anywhere,
    Root,
    Home,
}

struct Entry {
    kind: Kind,
    /// It takes the kind back.
    not: bool,
    anchor: Anchor,
    parts: Vec<String>,
}

fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut all: Vec<Entry> = Vec::new();
        for line in LIST.lines() {
            let text = line.split('#').next().unwrap_or_default().trim();
            let Some((word, pattern)) = text.split_once(char::is_whitespace) else {
                continue;
            };
            let named = Kind::ALL.into_iter().find(|kind| kind.name() == word);
            let before = all.last().map(|entry| entry.kind);
            let Some(kind) = named.or(before) else {
                continue;
            };
            let pattern = pattern.trim().to_ascii_lowercase();
            let (anchor, rest) = match (pattern.strip_prefix("~/"), pattern.strip_prefix('/')) {
                (Some(rest), _) => (Anchor::Home, rest),
                (_, Some(rest)) => (Anchor::Root, rest),
                _ => (Anchor::Anywhere, pattern.as_str()),
            };
            all.push(Entry {
                kind,
                not: named.is_none(),
                anchor,
                parts: rest.split('/').map(str::to_owned).collect(),
            });
        }
        all
    })
}

/// What a file is, by its whole path. With `pattern` the path may have patterns of a
/// shell, which are taken for every name that they can stand for.
#[must_use]
pub fn kinds(path: &Path, home: Option<&Path>, pattern: bool) -> Vec<Kind> {
    let parts = parts_of(path);
    let home = home.map(parts_of);
    let mut found = Vec::new();
    for entry in entries() {
        // What a pattern may stand for takes nothing back.
        let pattern = pattern && !entry.not;
        let holds = match entry.anchor {
            Anchor::Root => at(&parts, &entry.parts, pattern),
            Anchor::Home => home.as_ref().is_some_and(|home| {
                parts
                    .strip_prefix(home.as_slice())
                    .is_some_and(|rest| at(rest, &entry.parts, pattern))
            }),
            Anchor::Anywhere => (0..parts.len())
                .any(|from| at(parts.get(from..).unwrap_or_default(), &entry.parts, pattern)),
        };
        if holds {
            found.retain(|kind| *kind != entry.kind);
            if !entry.not {
                found.push(entry.kind);
            }
        }
    }
    found.sort_unstable();
    found
}

fn parts_of(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

/// Whether a path begins with an entry's parts.
fn at(parts: &[String], entry: &[String], pattern: bool) -> bool {
    if parts.len() < entry.len() {
        return false;
    }
    let mut certain = 0;
    parts.iter().zip(entry).all(|(part, known)| {
        if matches(known, part) {
            certain += 1;
            return true;
        }
        // A pattern alone stands for what it begins like: `*` is not taken for every name.
        let odd = part.contains(['*', '?', '[']);
        pattern
            && odd
            && !known.contains(['*', '?'])
            && (certain > 0 || part.starts_with('.'))
            && matches(part, known)
    })
}

/// Whether a name matches a pattern with `*`, `?` and `[…]`. Letters between brackets match
/// whatever could be meant.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => brackets(&pattern, p, name.get(n).copied()),
            Some(c) if name.get(n) == Some(c) => Some(p + 1),
            _ => None,
        };
        match (step, star) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((behind, from))) => {
                star = Some((behind, from + 1));
                (p, n) = (behind, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|c| *c == '*')
}

/// Where the pattern goes on behind `[…]`, if the character is among them.
fn brackets(pattern: &[char], open: usize, c: Option<char>) -> Option<usize> {
    let c = c?;
    let rest = pattern.get(open + 1..)?;
    let negated = matches!(rest.first(), Some('!' | '^'));
    let skip = usize::from(negated);
    let length = rest
        .iter()
        .skip(skip + 1)
        .position(|c| *c == ']')
        .map(|at| at + skip + 1);
    let Some(end) = length else {
        // It stands for itself.
        return (c == '[').then_some(open + 1);
    };
    let inside = rest.get(skip..end)?;
    // A class such as `[:alpha:]` is taken for anything.
    let class = inside.contains(&'[') || inside.contains(&'\\');
    let mut found = false;
    let mut at = 0;
    while let Some(first) = inside.get(at) {
        match (inside.get(at + 1), inside.get(at + 2)) {
            (Some('-'), Some(last)) => {
                found |= (*first..=*last).contains(&c);
                at += 3;
            }
            _ => {
                found |= *first == c;
                at += 1;
            }
        }
    }
    // Which letters a range has depends on the language.
    let ranged = inside.contains(&'-') && c.is_alphabetic();
    (class || ranged || found != negated).then_some(open + end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> String {
        let found = kinds(Path::new(path), Some(Path::new("/home/u")), true);
        let names: Vec<&str> = found.into_iter().map(Kind::name).collect();
        names.join(" ")
    }

    #[test]
    fn entries_have_a_reason() {
        for line in LIST.lines().filter(|line| !line.starts_with('#')) {
            let (entry, reason) = line.split_once('#').unwrap_or((line, ""));
            let reasoned = reason.trim().len() > 3 || entry.trim().is_empty();
            let known = entry.trim().is_empty()
                || ["keys ", "secrets ", "gate ", "starts ", "not "]
                    .iter()
                    .any(|kind| entry.starts_with(kind));
            assert!(reasoned && known, "{line}");
        }
        assert!(entries().len() > 200);
    }

    #[test]
    fn files_are_known_by_their_names() {
        for (path, expected) in [
            ("/home/u/.ssh/id_rsa", "keys"),
            ("/home/u/.SSH/config", "keys"),
            ("/home/u/.ssh/id_rsa.pub", ""),
            ("/home/u/p/.env", "secrets"),
            ("/home/u/p/.env.local", "secrets"),
            ("/home/u/p/.env.example", ""),
            ("/home/u/p/src/env.rs", ""),
            ("/home/u/p/.git/hooks/x", "starts"),
            ("/home/u/p/.gitignore", ""),
            ("/home/u/p/.claude/settings.json", "starts"),
            ("/home/u/p/.claude/worktrees/a/src/x.rs", ""),
            ("/home/u/p/.claude/worktrees/a/.env", "secrets"),
            ("/home/u/.bouncer/hook.db", "gate"),
            ("/home/u/.docker/config.json", "keys"),
            ("/home/u/.docker/*", "keys"),
            ("/home/u/.docker/x", ""),
            ("/home/u/p/.e[n]v", "secrets"),
            ("/home/u/p/*", ""),
            ("/home/u/bin/x", "starts"),
            ("/home/u/p/bin/x", ""),
            ("/proc/17/environ", "secrets"),
            ("/home/u/.npmrc", "secrets starts"),
            ("/home/u/p/certs/server.pem", "secrets"),
        ] {
            assert_eq!(names(path), expected, "{path}");
        }
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("?x", "ax", true),
            ("[ab]x", "bx", true),
            ("[!ab]x", "bx", false),
            ("[^1-3]x", "4x", true),
            ("[1-3]x", "4x", false),
            ("[", "[", true),
            ("*.*.a", "x.y.a", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
