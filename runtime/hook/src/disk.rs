//! Paths on the disk: where they lead behind links, which files a pattern stands for, and
//! which files worth a question lie below a folder. All of it within bounds. Knows no
//! commands.

use crate::guarded::{Kind, kinds, matches};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path, at most, as systems do.
const MAX_LINKS: usize = 40;
/// Names that are looked at for one pattern or folder, at most.
const MAX_NAMES: usize = 20_000;
/// Files that one pattern stands for, at most.
const MAX_FILES: usize = 200;
/// Files below one folder that are told, at most.
const MAX_FOUND: usize = 20;

/// Directories to see paths from.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The project.
    pub project: PathBuf,
}

/// What a program takes of what lies below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Hidden files too.
    pub hidden: bool,
    /// Files that git ignores too.
    pub ignored: bool,
    /// The project's own `.env` as well.
    pub own: bool,
    /// Only files with such names, if there are any.
    pub include: Vec<String>,
    /// No files and folders with such names.
    pub exclude: Vec<String>,
    /// No deeper than so many folders.
    pub depth: Option<usize>,
    /// Only what git knows.
    pub tracked: bool,
}

/// A path from the root, with `.` and `..` worked out and links followed, also those that
/// lead nowhere yet.
pub fn whole(path: &str, from: &Path, base: &Base) -> PathBuf {
    let expanded = match (path.strip_prefix('~'), &base.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => from.join(path),
    };
    resolve(&expanded)
}

fn resolve(path: &Path) -> PathBuf {
    let mut waiting: VecDeque<OsString> = VecDeque::new();
    let mut out = PathBuf::new();
    let push = |waiting: &mut VecDeque<OsString>, path: &Path| {
        for part in path.components().rev() {
            waiting.push_front(part.as_os_str().to_owned());
        }
    };
    push(&mut waiting, path);
    let mut links = 0;
    while let Some(part) = waiting.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::ParentDir) => {
                out.pop();
            }
            Some(Component::Normal(name)) => {
                let next = out.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        push(&mut waiting, &target);
                    }
                    _ => out = next,
                }
            }
            // The root, or a drive.
            Some(_) => out.push(&part),
        }
    }
    out
}

/// Below the project: the rest of the path; anywhere else: the path.
pub fn seen_from(path: &Path, project: &Path) -> String {
    match path.strip_prefix(resolve(project)) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

/// Whether a path has patterns of a shell.
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The files that a pattern stands for now. `None` if they are very many.
pub fn expand(path: &str, from: &Path, base: &Base) -> Option<Vec<PathBuf>> {
    let expanded = match (path.strip_prefix("~/"), &base.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => from.join(path),
    };
    let mut found = vec![PathBuf::new()];
    let mut looked = 0;
    for part in expanded.components() {
        let text = part.as_os_str().to_string_lossy();
        if !is_pattern(&text) {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            for name in names(folder) {
                looked += 1;
                if looked > MAX_NAMES || next.len() > MAX_FILES {
                    return None;
                }
                // Hidden ones are only meant where the pattern begins so.
                let shown = !name.starts_with('.') || text.starts_with(['.', '[']);
                if shown && (text == "**" || matches(&text, &name)) {
                    next.push(folder.join(name));
                }
            }
        }
        if text == "**" {
            next.extend(found);
        }
        found = next;
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    Some(found)
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).ok();
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Files of a kind below a folder, as far as a program takes them.
pub fn below(folder: &Path, base: &Base, takes: &Below) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(folder.to_owned(), 1)]);
    let mut looked = 0;
    let index = if takes.tracked { index(folder) } else { None };
    let ignored = if takes.ignored {
        Vec::new()
    } else {
        ignores(folder)
    };
    while let Some((folder, level)) = folders.pop_front() {
        if takes.depth.is_some_and(|depth| level > depth) {
            break;
        }
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            looked += 1;
            if looked > MAX_NAMES || found.len() >= MAX_FOUND {
                return found;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let hides = !takes.hidden && name.starts_with('.');
            let left_out = takes.exclude.iter().any(|pattern| matches(pattern, &name))
                || ignored.iter().any(|pattern| matches(pattern, &name));
            if hides || left_out {
                continue;
            }
            let path = entry.path();
            if is_folder {
                if name != "objects" || !path.ends_with(".git/objects") {
                    folders.push_back((path, level + 1));
                }
                continue;
            }
            let included =
                takes.include.is_empty() || takes.include.iter().any(|p| matches(p, &name));
            let kinds = kinds(&path, base.home.as_deref(), false);
            let secret = kinds
                .iter()
                .any(|kind| matches!(kind, Kind::Keys | Kind::Secrets | Kind::Gate));
            let own = !takes.own && name.starts_with(".env");
            let known = index.as_ref().is_none_or(|index| index.names(&path));
            if included && secret && !own && known {
                found.push(path);
            }
        }
    }
    found
}

/// The files that git knows.
struct Index {
    top: PathBuf,
    bytes: Vec<u8>,
}

impl Index {
    fn names(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.top) else {
            return true;
        };
        let mut name = rest.to_string_lossy().into_owned().into_bytes();
        name.push(0);
        self.bytes.windows(name.len()).any(|part| part == name)
    }
}

/// The index of the repository around a folder. `None` where its names cannot be told: then
/// git may know every file.
fn index(folder: &Path) -> Option<Index> {
    let top = folder.ancestors().find(|at| at.join(".git").is_dir())?;
    let bytes = match std::fs::read(top.join(".git/index")) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(_) => return None,
    };
    // From the fourth version on it holds only what differs from the name before.
    let version = bytes.get(4..8).and_then(|bytes| bytes.last()).copied();
    matches!(version, None | Some(2 | 3)).then(|| Index {
        top: top.to_owned(),
        bytes,
    })
}

/// Names that the project's `.gitignore` leaves out, as far as plain lines say so.
fn ignores(folder: &Path) -> Vec<String> {
    let top = folder.ancestors().find(|at| at.join(".git").exists());
    let mut names = Vec::new();
    for place in [Some(folder), top].into_iter().flatten() {
        let text = std::fs::read_to_string(place.join(".gitignore")).unwrap_or_default();
        // A line that takes some back makes all of them uncertain.
        if text
            .lines()
            .any(|line| line.starts_with("!.env") && !line.contains("example"))
        {
            return Vec::new();
        }
        let plain = text
            .lines()
            .map(|line| line.trim().trim_start_matches('/').trim_end_matches('/'))
            .filter(|line| {
                !line.is_empty() && !line.starts_with(['#', '!']) && !line.contains('/')
            });
        names.extend(plain.map(str::to_owned));
    }
    names
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_also_where_they_lead_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(at.join("a/b")).unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, at.join(name)).unwrap();
        };
        link(".git/hooks/x", "gen.txt");
        link("a/b", "down");
        link("loop", "loop");
        link("/etc/nowhere", "far");
        let base = Base::default();
        let seen = |path: &str| seen_from(&whole(path, &at, &base), &at);
        assert_eq!(seen("gen.txt"), ".git/hooks/x");
        assert_eq!(seen("./down/../c"), "a/c");
        assert_eq!(seen("down/x/../y"), "a/b/y");
        assert_eq!(seen("far"), "/etc/nowhere");
        assert_eq!(seen("loop/x"), "loop/x");
        assert_eq!(seen("new/file"), "new/file");
        assert_eq!(seen("."), ".");
    }

    #[test]
    fn patterns_and_folders_are_looked_at() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        for folder in [".git", "src", "deep/er"] {
            std::fs::create_dir_all(at.join(folder)).unwrap();
        }
        for file in [
            ".env",
            "src/a.rs",
            "src/b.rs",
            "deep/er/key.pem",
            ".env.example",
        ] {
            std::fs::write(at.join(file), "x").unwrap();
        }
        let base = Base::default();
        let count = |pattern: &str| expand(pattern, &at, &base).unwrap().len();
        assert_eq!(
            (
                count("src/*.rs"),
                count("*"),
                count(".e*"),
                count("nothing/*")
            ),
            (2, 2, 2, 0)
        );
        let all = Below {
            hidden: true,
            ignored: true,
            own: true,
            ..Below::default()
        };
        let found = |takes: &Below| below(&at, &base, takes).len();
        assert_eq!(found(&all), 2);
        assert_eq!(
            found(&Below {
                own: false,
                ..all.clone()
            }),
            1
        );
        assert_eq!(
            found(&Below {
                exclude: vec![".env*".to_owned()],
                ..all.clone()
            }),
            1
        );
        assert_eq!(
            found(&Below {
                include: vec!["*.rs".to_owned()],
                ..all.clone()
            }),
            0
        );
        std::fs::write(at.join(".gitignore"), "/.env\n*.pem\n").unwrap();
        assert_eq!(
            found(&Below {
                ignored: false,
                ..all
            }),
            0
        );
    }
}
