//! The calls that a use of an agent's own tool stands for, as a policy sees them.
//!
//! A shell command becomes a call for each program it starts, each file it writes and
//! each place it connects to. Other tools become one call, under a name that is the same
//! for all clients.

use crate::SERVER;
use crate::event::Event;
use crate::shell::{self, Command};
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};

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

/// Directories to see paths from.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The project.
    pub project: PathBuf,
}

/// Actions that one use of a tool can stand for, at most.
const MAX_ACTIONS: usize = 500;

/// The server and the tool under which an event's outcome is remembered.
#[must_use]
pub fn name(event: &Event) -> (Option<&str>, &str) {
    match event.server.as_deref() {
        Some("") => (None, &event.tool),
        // Whoever calls itself so is judged like the agent's own tools.
        Some(SERVER) | None => (Some(SERVER), canonical(&event.tool)),
        Some(server) => (Some(server), &event.tool),
    }
}

fn canonical(tool: &str) -> &str {
    match tool.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "local_shell" | "exec_command" | "run_terminal_cmd" => "shell",
        "read" | "notebookread" | "glob" | "grep" | "ls" => "read",
        "write" | "edit" | "multiedit" | "notebookedit" | "delete" | "apply_patch" => "write",
        "webfetch" | "fetch" => "fetch",
        "websearch" | "search" => "search",
        _ => tool,
    }
}

/// What an event stands for.
#[must_use]
pub fn of(event: &Event, base: &Base) -> Actions {
    let mut actions = of_name(event, base);
    let also = event.also.iter().map(|(server, tool)| Action {
        server: Some(server.clone()),
        tool: tool.clone(),
        args: event.input.clone(),
        about: None,
    });
    actions.calls.extend(also);
    actions
}

fn of_name(event: &Event, base: &Base) -> Actions {
    let (server, tool) = name(event);
    if server != Some(SERVER) {
        return Actions {
            calls: vec![Action {
                server: server.map(str::to_owned),
                tool: tool.to_owned(),
                args: event.input.clone(),
                about: None,
            }],
            unread: None,
        };
    }
    let input: Map<String, Value> = match serde_json::from_slice(&event.input) {
        Ok(Value::Object(input)) => input,
        _ => return unread("its arguments are not an object"),
    };
    let mut actions = own(tool, &input, event, base);
    if actions.calls.len() > MAX_ACTIONS {
        actions.calls.truncate(MAX_ACTIONS);
        actions.unread = Some("it does very many things".to_owned());
    }
    actions
}

fn own(tool: &str, input: &Map<String, Value>, event: &Event, base: &Base) -> Actions {
    let texts = |keys: &[&str]| -> Vec<&str> {
        let found = keys.iter().filter_map(|key| input.get(*key));
        found.filter_map(Value::as_str).collect()
    };
    let paths = texts(&[
        "file_path",
        "notebook_path",
        "path",
        "target_file",
        "target_directory",
    ]);
    match tool {
        "shell" => match texts(&["command", "cmd"]).as_slice() {
            [command] => shell_actions(command, event, base),
            [] => unread("its `command` is not a string"),
            _ => unread("it has more than one command"),
        },
        "write" if event.tool.eq_ignore_ascii_case("apply_patch") => {
            match texts(&["command", "input", "patch"]).as_slice() {
                [patch] => patch_actions(patch, event, base),
                _ => unread("its patch is not a string"),
            }
        }
        "write" if paths.is_empty() => unread("it names no file"),
        "write" => files(tool, &paths, event, base),
        "read" => {
            let mut named: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            // What `Grep` searches for is a text, what `Glob` does is a path.
            let grep = event.tool.eq_ignore_ascii_case("grep");
            let patterns = texts(if grep {
                &["glob"]
            } else {
                &["glob", "pattern"]
            });
            if named.is_empty() {
                named.push(".".to_owned());
            }
            let among: Vec<String> = named
                .iter()
                .flat_map(|path| {
                    patterns
                        .iter()
                        .map(move |pattern| format!("{path}/{pattern}"))
                })
                .collect();
            named.extend(among);
            named.extend(patterns.iter().map(|pattern| (*pattern).to_owned()));
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            let mut actions = files(tool, &named, event, base);
            let odd = |pattern: &&str| {
                let mut parts = pattern.split('/');
                parts.any(|part| part.starts_with('.') && part.contains(['*', '?', '[', '{']))
            };
            if patterns.iter().any(odd) {
                actions.unread = Some("its pattern may stand for hidden files".to_owned());
            }
            actions
        }
        "fetch" | "search" => Actions {
            calls: vec![action(tool, event.input.clone(), None)],
            unread: None,
        },
        _ => {
            let runs = ["command", "cmd", "chars", "script", "code"];
            let run = runs.iter().find(|key| input.contains_key(**key));
            Actions {
                calls: vec![action(tool, event.input.clone(), None)],
                unread: run.map(|key| format!("`{tool}` is not known, and has a `{key}`")),
            }
        }
    }
}

fn unread(why: &str) -> Actions {
    Actions {
        calls: Vec::new(),
        unread: Some(why.to_owned()),
    }
}

fn action(tool: &str, args: Vec<u8>, about: Option<String>) -> Action {
    Action {
        server: Some(SERVER.to_owned()),
        tool: tool.to_owned(),
        args,
        about,
    }
}

/// Where relative paths are seen from.
fn start(event: &Event, base: &Base) -> PathBuf {
    let from = event.from.as_ref().or(event.cwd.as_ref());
    from.map_or_else(|| base.project.clone(), |from| base.project.join(from))
}

fn files(tool: &str, paths: &[&str], event: &Event, base: &Base) -> Actions {
    let from = start(event, base);
    let calls = paths
        .iter()
        .map(|path| path_action(tool, path, &from, base, None, true));
    Actions {
        calls: calls.collect(),
        unread: None,
    }
}

/// A call about a file: the path as written, whole, and as seen from the project. What lies
/// below is meant as well if `deep`.
fn path_action(
    tool: &str,
    path: &str,
    from: &Path,
    base: &Base,
    about: Option<String>,
    deep: bool,
) -> Action {
    let whole = whole(path, from, base);
    let relative = seen_from(&whole, &base.project);
    let home = base
        .home
        .as_ref()
        .map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
    let args = json!({
        "path": whole.to_string_lossy(),
        "relative": relative,
        "written": path,
        "holds_home": deep && home.is_some_and(|home| home.starts_with(&whole)),
    });
    action(tool, args.to_string().into_bytes(), about)
}

/// The path from the root, with `.` and `..` worked out and links followed as far as it
/// exists.
fn whole(path: &str, from: &Path, base: &Base) -> PathBuf {
    let expanded = match (path.strip_prefix('~'), &base.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => from.join(path),
    };
    let mut out = PathBuf::new();
    for part in expanded.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // Behind a link `..` leads elsewhere.
                out = out.canonicalize().unwrap_or(out);
                out.pop();
            }
            other => out.push(other),
        }
    }
    let mut ancestors = out.ancestors();
    let known = ancestors.find_map(|known| Some((known, known.canonicalize().ok()?)));
    match known {
        Some((known, real)) => match out.strip_prefix(known) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => out,
        },
        None => out,
    }
}

/// Below the project: the rest of the path; anywhere else: the path.
fn seen_from(path: &Path, project: &Path) -> String {
    let project = project
        .canonicalize()
        .unwrap_or_else(|_| project.to_owned());
    match path.strip_prefix(&project) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

fn shell_actions(text: &str, event: &Event, base: &Base) -> Actions {
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
    // Where `cd` stands among other commands, a relative path may be seen from either
    // directory.
    let mut places = vec![start(event, base)];
    for command in &script.commands {
        if let Some(to) = &command.directory {
            let moved: Option<Vec<PathBuf>> = places
                .iter()
                .map(|from| match to.as_str() {
                    shell::TOP => top(from),
                    to => Some(whole(to, from, base)),
                })
                .collect();
            let known = moved.is_some();
            places.extend(moved.unwrap_or_default());
            places.sort();
            places.dedup();
            if to == "-" || !known || places.len() > 16 {
                actions.unread =
                    Some("it changes directories in a way that is hard to follow".to_owned());
                places.truncate(16);
            }
        }
    }
    for command in &script.commands {
        if actions.calls.len() > MAX_ACTIONS {
            break;
        }
        if let Err(why) = command_actions(command, &places, base, &mut actions.calls) {
            actions.unread = Some(why);
        }
    }
    actions
}

/// Where the project of git begins in which a directory lies.
fn top(from: &Path) -> Option<PathBuf> {
    let mut ancestors = from.ancestors();
    ancestors
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

fn command_actions(
    command: &Command,
    places: &[PathBuf],
    base: &Base,
    out: &mut Vec<Action>,
) -> Result<(), String> {
    let line = command.words.join(" ");
    let about = Some(shortened(&line));
    let args = command.words.get(1..).unwrap_or_default();
    let value = json!({
        "program": command.program,
        "args": args,
        "command": line,
        "env": command.env,
        "known": command.known,
        "dynamic": command.dynamic,
        "piped": command.piped,
    });
    out.push(action(
        "shell",
        value.to_string().into_bytes(),
        about.clone(),
    ));
    let name = command.program.as_str();
    let names_only = matches!(
        name,
        "ls" | "stat" | "du" | "df" | "find" | "tree" | "fd" | "realpath" | "git"
    );
    let writes = command.writes.iter().map(|path| ("write", path));
    let reads = command
        .reads
        .iter()
        .chain(&command.scripts)
        .map(|path| ("read", path));
    for (tool, path) in writes.chain(reads) {
        for from in places {
            if out.len() > MAX_ACTIONS {
                return Err("it does very many things".to_owned());
            }
            let deep = tool == "read" && (!names_only || command.deep);
            out.push(path_action(tool, path, from, base, about.clone(), deep));
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
    if command.connects {
        let tool = if command.sends { "send" } else { "connect" };
        let value = json!({ "program": command.program, "destinations": command.destinations });
        out.push(action(tool, value.to_string().into_bytes(), about));
    }
    if command.scripts.iter().any(elsewhere) {
        return Err(format!("`{name}` takes its commands from elsewhere"));
    }
    Ok(())
}

fn shortened(line: &str) -> String {
    const MOST: usize = 80;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    line.chars().take(MOST).chain(['…']).collect()
}

fn patch_actions(patch: &str, event: &Event, base: &Base) -> Actions {
    let from = start(event, base);
    let heads = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let files = patch.lines().filter_map(|line| {
        let line = line.trim_start();
        heads.iter().find_map(|head| line.strip_prefix(head))
    });
    let calls: Vec<Action> = files
        .map(|path| path_action("write", path.trim(), &from, base, None, false))
        .collect();
    if calls.is_empty() {
        return unread("its patch names no file");
    }
    Actions {
        calls,
        unread: None,
    }
}
