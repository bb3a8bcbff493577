//! Calls about files: what a path is, where it lies, and what else it reaches on the disk.

use crate::SERVER;
use crate::disk::{Base, Below, below, expand, is_pattern, seen_from, whole};
use crate::event::Event;
use crate::guarded::{Kind, kinds};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Calls about files that one use of a tool can stand for, at most.
pub const MAX_FILES: usize = 500;

/// What of a path is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// Names, sizes and dates only.
    Names,
    /// The file.
    File,
    /// What lies below as well.
    Below,
}

/// One call for a policy to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments, as raw JSON.
    pub args: Vec<u8>,
    /// The part of a shell command that it is about.
    pub about: Option<String>,
}

/// All that one use of a tool stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// The calls.
    pub calls: Vec<Action>,
    /// Why part of it could not be read: a human has to look.
    pub unread: Option<String>,
}

/// A call of one of the agent's own tools.
pub fn action(tool: &str, args: Vec<u8>, about: Option<String>) -> Action {
    Action {
        server: Some(SERVER.to_owned()),
        tool: tool.to_owned(),
        args,
        about,
    }
}

/// Where relative paths are seen from.
pub fn start(event: &Event, base: &Base) -> PathBuf {
    let from = event.from.as_ref().or(event.cwd.as_ref());
    from.map_or_else(|| base.project.clone(), |from| base.project.join(from))
}

/// Adds the calls about a path: itself, the files that it stands for as a pattern, and the
/// guarded ones below it that a program takes.
///
/// # Errors
/// If it stands for very many.
#[expect(
    clippy::too_many_arguments,
    reason = "one place for all that a path reaches"
)]
pub fn path_actions(
    tool: &str,
    path: &str,
    from: &Path,
    base: &Base,
    about: Option<&str>,
    looks: Looks,
    takes: Option<&Below>,
    out: &mut Vec<Action>,
) -> Result<(), String> {
    let many = || "it does very many things".to_owned();
    let mut files = vec![(whole(path, from, base), is_pattern(path))];
    if is_pattern(path) {
        let found = expand(path, from, base).ok_or_else(many)?;
        if !found.is_empty() {
            // Then it stands for these, and for its own text.
            for (_, pattern) in &mut files {
                *pattern = false;
            }
        }
        let resolved = found
            .iter()
            .map(|path| whole(&path.to_string_lossy(), from, base));
        files.extend(resolved.map(|path| (path, false)));
    }
    if let Some(takes) = takes {
        let roots: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        for root in roots {
            files.extend(
                below(&root, base, takes)
                    .into_iter()
                    .map(|path| (path, false)),
            );
        }
    }
    for (file, pattern) in files {
        if out.len() > MAX_FILES {
            return Err(many());
        }
        let found = kinds(&file, base.home.as_deref(), pattern);
        out.push(path_action(tool, path, &file, &found, base, about, looks));
    }
    Ok(())
}

fn path_action(
    tool: &str,
    written: &str,
    whole: &Path,
    kinds: &[Kind],
    base: &Base,
    about: Option<&str>,
    looks: Looks,
) -> Action {
    let home = base
        .home
        .as_ref()
        .map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let args = json!({
        "path": whole.to_string_lossy(),
        "relative": seen_from(whole, &base.project),
        "written": written,
        "kinds": names,
        "names_only": looks == Looks::Names,
        "holds_home": looks == Looks::Below && home.is_some_and(|home| home.starts_with(whole)),
    });
    action(
        tool,
        args.to_string().into_bytes(),
        about.map(str::to_owned),
    )
}
