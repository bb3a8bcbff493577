//! The calls that a use of an agent's own tool stands for, as a policy sees them.
//!
//! A shell command becomes a call for each program it starts, each file it writes and
//! each place it connects to. Other tools become one call, under a name that is the same
//! for all clients.

use super::SERVER;
use super::forms::Event;
use super::shell::{self, Command};
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

/// The server and the tool under which an event's outcome is remembered.
#[must_use]
pub fn name(event: &Event) -> (Option<&str>, &str) {
    match event.server.as_deref() {
        Some("") => (None, &event.tool),
        Some(server) => (Some(server), &event.tool),
        None => (Some(SERVER), canonical(&event.tool)),
    }
}

fn canonical(tool: &str) -> &str {
    match tool {
        "Bash" | "Shell" | "shell" | "local_shell" | "exec_command" => "shell",
        "Read" | "NotebookRead" | "Glob" | "Grep" | "LS" | "read" => "read",
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Delete" | "apply_patch" | "write" => {
            "write"
        }
        "WebFetch" | "fetch" => "fetch",
        "WebSearch" | "search" => "search",
        other => other,
    }
}

/// What an event stands for.
#[must_use]
pub fn of(event: &Event, base: &Base) -> Actions {
    if let (Some(_), (server, tool)) = (&event.server, name(event)) {
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
    let tool = canonical(&event.tool);
    let input: Map<String, Value> = match serde_json::from_slice(&event.input) {
        Ok(Value::Object(input)) => input,
        _ => return unread("its arguments are not an object"),
    };
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| input.get(*key));
        found.and_then(Value::as_str)
    };
    let paths = ["file_path", "notebook_path", "path", "target_file"];
    match tool {
        "shell" => match text(&["command"]) {
            Some(command) => shell_actions(command, event, base),
            None => unread("its `command` is not a string"),
        },
        "write" if event.tool == "apply_patch" => match text(&["command", "input", "patch"]) {
            Some(patch) => patch_actions(patch, event, base),
            None => unread("its patch is not a string"),
        },
        "write" => match text(&paths) {
            Some(path) => file(tool, path, event, base),
            None => unread("it names no file"),
        },
        "read" => {
            let path = text(&paths).unwrap_or(".");
            let mut actions = file(tool, path, event, base);
            // A pattern may hold directories of its own.
            if let Some(pattern) = text(&["pattern", "glob"]).filter(|_| event.tool == "Glob") {
                actions.calls.extend(file(tool, pattern, event, base).calls);
            }
            actions
        }
        _ => Actions {
            calls: vec![action(tool, event.input.clone(), None)],
            unread: None,
        },
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

fn file(tool: &str, path: &str, event: &Event, base: &Base) -> Actions {
    let from = event.cwd.as_deref().unwrap_or(&base.project);
    Actions {
        calls: vec![path_action(tool, path, from, base, None)],
        unread: None,
    }
}

/// A call about a file: the path as written, whole, and as seen from the project.
fn path_action(tool: &str, path: &str, from: &Path, base: &Base, about: Option<String>) -> Action {
    let whole = whole(path, from, base);
    let relative = seen_from(&whole, &base.project);
    let args = json!({
        "path": whole.to_string_lossy(),
        "relative": relative,
        "written": path,
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
    let mut actions = Actions {
        calls: Vec::new(),
        unread: script.unread,
    };
    // Where `cd` stands among other commands, a relative path may be seen from either
    // directory.
    let start = event.cwd.clone().unwrap_or_else(|| base.project.clone());
    let mut places = vec![start];
    for command in &script.commands {
        if let Some(to) = &command.directory {
            let moved: Vec<PathBuf> = places.iter().map(|from| whole(to, from, base)).collect();
            places.extend(moved);
            places.sort();
            places.dedup();
            if to == "-" || places.len() > 16 {
                actions.unread =
                    Some("it changes directories in a way that is hard to follow".to_owned());
                places.truncate(16);
            }
        }
    }
    // The whole text once, whatever could be read of it.
    actions.calls.push(action(
        "script",
        json!({ "text": text }).to_string().into_bytes(),
        None,
    ));
    for command in &script.commands {
        command_actions(command, &places, base, &mut actions.calls);
    }
    actions
}

fn command_actions(command: &Command, places: &[PathBuf], base: &Base, out: &mut Vec<Action>) {
    let line = command.words.join(" ");
    let about = Some(shortened(&line));
    let args = command.words.get(1..).unwrap_or_default();
    let value = json!({
        "program": command.program,
        "args": args,
        "command": line,
        "env": command.env,
        "dynamic": command.dynamic,
        "piped": command.piped,
    });
    out.push(action(
        "shell",
        value.to_string().into_bytes(),
        about.clone(),
    ));
    let files = command.writes.iter().map(|path| ("write", path));
    for (tool, path) in files.chain(command.reads.iter().map(|path| ("read", path))) {
        for from in places {
            out.push(path_action(tool, path, from, base, about.clone()));
        }
    }
    if command.connects {
        let tool = if sends(command) { "send" } else { "connect" };
        let value = json!({ "program": command.program, "destinations": command.destinations });
        out.push(action(tool, value.to_string().into_bytes(), about));
    }
}

/// Whether a command that connects carries data along, as far as can be seen.
fn sends(command: &Command) -> bool {
    let plain = matches!(
        command.program.as_str(),
        "curl"
            | "wget"
            | "git"
            | "gh"
            | "dig"
            | "host"
            | "nslookup"
            | "ping"
            | "http"
            | "https"
            | "xh"
            | "aria2c"
            | "lynx"
            | "links"
            | "w3m"
            | "curlie"
    );
    let data = |word: &String| {
        let word = word.as_str();
        [
            "-d",
            "-F",
            "-T",
            "--data",
            "--form",
            "--upload",
            "--post",
            "--json",
            "--body",
            "--method",
            "--request",
        ]
        .iter()
        .any(|option| word.starts_with(option))
            || matches!(word, "POST" | "PUT" | "PATCH" | "push" | "send-email")
            || (word.starts_with("-X") && word != "-X" && word != "-XGET")
            || (word.contains('?') && word.contains('='))
            || (word.starts_with('-')
                && !word.starts_with("--")
                && word.contains(['d', 'F', 'T'])
                && matches!(command.program.as_str(), "curl"))
            || (matches!(command.program.as_str(), "http" | "https" | "xh")
                && word.contains('=')
                && !word.starts_with('-'))
    };
    !plain
        || command.dynamic
        || command.piped
        || !command.reads.is_empty()
        || command.words.iter().skip(1).any(data)
}

fn shortened(line: &str) -> String {
    const MOST: usize = 80;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    line.chars().take(MOST).chain(['…']).collect()
}

fn patch_actions(patch: &str, event: &Event, base: &Base) -> Actions {
    let from = event.cwd.as_deref().unwrap_or(&base.project);
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
        .map(|path| path_action("write", path.trim(), from, base, None))
        .collect();
    if calls.is_empty() {
        return unread("its patch names no file");
    }
    Actions {
        calls,
        unread: None,
    }
}
