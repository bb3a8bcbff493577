//! The calls that a shell command stands for: the whole text, each program that it starts,
//! each place it connects to, each file that it reads, writes or runs.

use crate::disk::{Base, expand, is_pattern, seen_from, whole};
use crate::event::Event;
use crate::files::{Action, Actions, Looks, action, path_actions, start};
use crate::shell::{self, Command};
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Directories that a script may change to and be followed, at most.
const MAX_PLACES: usize = 16;

/// What a shell command stands for.
pub fn shell_actions(text: &str, event: &Event, base: &Base) -> Actions {
    let script = shell::read(text);
    // The whole text once, whatever could be read of it.
    let whole_text = json!({
        "text": text,
        "certain": script.unread.is_none() && !script.dynamic,
    });
    let mut actions = Actions {
        calls: vec![action("script", whole_text.to_string().into_bytes(), None)],
        unread: script.unread,
    };
    let (places, lost) = places(&script.commands, start(event, base), base);
    if lost {
        actions.unread = Some("it changes directories in a way that is hard to follow".to_owned());
    }
    // Programs and hosts first: there may be more files than are looked at.
    let mut seen = HashSet::new();
    for command in &script.commands {
        for call in programs(command, &places, base) {
            if seen.insert((call.tool.clone(), call.args.clone())) {
                actions.calls.push(call);
            }
        }
    }
    let mut calls = Vec::new();
    for command in &script.commands {
        if let Err(why) = file_actions(command, &places, base, &mut calls) {
            actions.unread = Some(why);
            break;
        }
    }
    actions.calls.extend(calls);
    actions
}

/// Where `cd` stands among other commands, a relative path may be seen from either
/// directory. Whether one could not be told.
fn places(commands: &[Command], start: PathBuf, base: &Base) -> (Vec<PathBuf>, bool) {
    let mut places = vec![start];
    let mut lost = false;
    for command in commands {
        let Some(to) = &command.directory else {
            continue;
        };
        let moved: Option<Vec<PathBuf>> = places
            .iter()
            .map(|from| match to.as_str() {
                shell::TOP => top(from),
                to => Some(whole(to, from, base)),
            })
            .collect();
        // Back to where an earlier one came from.
        lost |= moved.is_none() || (to == "-" && places.len() < 2);
        if to != "-" {
            places.extend(moved.unwrap_or_default());
        }
        places.sort();
        places.dedup();
        lost |= places.len() > MAX_PLACES;
        places.truncate(MAX_PLACES);
    }
    (places, lost)
}

/// Where the project of git begins in which a directory lies.
fn top(from: &Path) -> Option<PathBuf> {
    let mut ancestors = from.ancestors();
    ancestors
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

/// The calls about a program that is started, and about what it connects to.
fn programs(command: &Command, places: &[PathBuf], base: &Base) -> Vec<Action> {
    let line = command.words.join(" ");
    let about = Some(shortened(&line));
    let args = command.words.get(1..).unwrap_or_default();
    let exists = |path: &String| {
        places
            .iter()
            .any(|from| from.join(path).symlink_metadata().is_ok())
    };
    let maybe: Vec<&String> = command.maybe.iter().filter(|path| exists(path)).collect();
    let mut paths: Vec<&String> = command.paths.iter().chain(maybe).collect();
    if command.verb.is_empty() {
        paths.extend(
            command
                .reads
                .iter()
                .chain(&command.writes)
                .chain(&command.runs),
        );
    }
    paths.sort_unstable();
    paths.dedup();
    let words: Vec<&String> = command
        .operands
        .iter()
        .filter(|word| !paths.contains(word))
        .collect();
    let value = json!({
        "program": command.program,
        "verb": command.verb,
        "flags": command.flags,
        "paths": paths,
        "words": words,
        "args": args,
        "command": line,
        "env": command.env,
        "known": command.known,
        "dynamic": command.dynamic,
        "piped": command.piped,
    });
    let mut calls = vec![action(
        "shell",
        value.to_string().into_bytes(),
        about.clone(),
    )];
    if command.connects {
        let tool = if command.sends { "send" } else { "connect" };
        let value = json!({ "program": command.program, "destinations": command.destinations });
        calls.push(action(tool, value.to_string().into_bytes(), about.clone()));
    }
    let texts: Vec<&str> = command.words.iter().map(String::as_str).collect();
    calls.extend(gates(&texts, base, about));
    calls
}

/// A call about the page on which a human approves, if texts name it.
pub fn gates(texts: &[&str], base: &Base, about: Option<String>) -> Option<Action> {
    let mut ports = vec!["28839".to_owned()];
    let own = base.home.as_ref().map(|home| home.join(".bouncer"));
    let entries = own.and_then(|own| std::fs::read_dir(own).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let port = name
            .strip_prefix("page-")
            .and_then(|rest| rest.strip_suffix(".link"));
        ports.extend(port.map(str::to_owned));
    }
    let names = |text: &&&str| {
        text.contains("bouncer-page")
            || text.contains("/api/approvals")
            || ports.iter().any(|port| {
                text.split(':').skip(1).any(|rest| {
                    rest.strip_prefix(port.as_str())
                        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
                }) || text.trim() == port
            })
    };
    let found = texts.iter().find(names)?;
    let value = json!({ "page": found });
    Some(action("gate", value.to_string().into_bytes(), about))
}

/// The calls about the files of a command.
fn file_actions(
    command: &Command,
    places: &[PathBuf],
    base: &Base,
    out: &mut Vec<Action>,
) -> Result<(), String> {
    let about = shortened(&command.words.join(" "));
    let name = command.program.as_str();
    let looks = match name {
        _ if command.deep => Looks::Below,
        _ if shell::names_only(name) => Looks::Names,
        // Of a folder it looks at what was committed.
        "git" => Looks::File,
        _ => Looks::Below,
    };
    let writes = command.writes.iter().map(|path| ("write", path));
    let reads = command
        .reads
        .iter()
        .chain(&command.scripts)
        .map(|path| ("read", path));
    let runs = command
        .scripts
        .iter()
        .chain(&command.runs)
        .map(|path| ("run", path));
    for (tool, path) in writes.chain(reads).chain(runs) {
        for from in places {
            let looks = if tool == "read" { looks } else { Looks::File };
            let takes = command.below.as_ref().filter(|_| tool == "read");
            path_actions(tool, path, from, base, Some(&about), looks, takes, out)?;
        }
    }
    for (pattern, folder) in &command.spread {
        for from in places {
            let files = expand(pattern, from, base).unwrap_or_default();
            if files.is_empty() {
                return Err(format!("which files `{name}` changes is not known yet"));
            }
            for file in files {
                let last = file.file_name().unwrap_or_default();
                let path = Path::new(folder).join(last);
                let path = path.to_string_lossy();
                path_actions(
                    "write",
                    &path,
                    from,
                    base,
                    Some(&about),
                    Looks::File,
                    None,
                    out,
                )?;
            }
        }
    }
    if let Some((from, to)) = &command.replaced {
        for place in places {
            out.extend(lost(name, from, to, place, base, &about));
        }
    }
    let elsewhere = |path: &String| {
        places.iter().any(|from| {
            let expanded = whole(path, from, base);
            ["/dev", "/proc"]
                .iter()
                .any(|root| expanded.starts_with(root) || from.join(path).starts_with(root))
        })
    };
    if command.scripts.iter().any(elsewhere) {
        return Err(format!("`{name}` takes its commands from elsewhere"));
    }
    Ok(())
}

/// Folders that `mv` takes out of the project, and files that `ln -f` puts a link in the
/// place of.
fn lost(
    name: &str,
    words: &[String],
    to: &str,
    from: &Path,
    base: &Base,
    about: &str,
) -> Vec<Action> {
    let inside = |path: &Path| Path::new(&seen_from(path, &base.project)).is_relative();
    let target = whole(to, from, base);
    let files: Vec<PathBuf> = if name == "mv" {
        let sources = words.iter().flat_map(|word| {
            if is_pattern(word) {
                expand(word, from, base).unwrap_or_default()
            } else {
                vec![whole(word, from, base)]
            }
        });
        let folders = sources.filter(|path| path.is_dir() && inside(path));
        folders.filter(|_| !inside(&target)).collect()
    } else {
        // A link is not followed: it is replaced itself.
        let at = from.join(to);
        let named = words.iter().filter_map(|word| Path::new(word).file_name());
        let below = named.map(|name| at.join(name));
        let all = std::iter::once(at.clone()).chain(below);
        let file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
        all.filter(file).collect()
    };
    let call = |path: &PathBuf| {
        let args = json!({
            "path": path.to_string_lossy(),
            "relative": seen_from(path, &base.project),
            "written": to,
            "kinds": [],
            "names_only": false,
            "holds_home": false,
            "lost": true,
        });
        action(
            "write",
            args.to_string().into_bytes(),
            Some(about.to_owned()),
        )
    };
    files.iter().map(call).collect()
}

fn shortened(line: &str) -> String {
    const MOST: usize = 80;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    line.chars().take(MOST).chain(['…']).collect()
}
