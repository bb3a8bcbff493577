//! The calls that a use of a tool stands for, as a policy sees them. An agent's own tools
//! become calls under names that are the same for all clients. A tool of another server is
//! one call under its own name, and beside it those that its arguments show.

use crate::SERVER;
use crate::commands::{gates, shell_actions};
use crate::disk::{Base, Below};
use crate::event::Event;
use crate::files::{Looks, action, path_actions, start};
use crate::others;
use serde_json::{Map, Value};

pub use crate::files::{Action, Actions};

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
        let own = Action {
            server: server.map(str::to_owned),
            tool: tool.to_owned(),
            args: event.input.clone(),
            about: None,
        };
        let mut actions = others::shown(event, base);
        actions.calls.insert(0, own);
        return actions;
    }
    let input: Map<String, Value> = match serde_json::from_slice(&event.input) {
        Ok(Value::Object(input)) => input,
        _ => return unread("its arguments are not an object"),
    };
    own(tool, &input, event, base)
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
        "write" => files(tool, &paths, event, base, None),
        "read" => reads(&paths, input, event, base),
        "fetch" | "search" => {
            let mut calls = vec![action(tool, event.input.clone(), None)];
            calls.extend(gates(&texts(&["url"]), base, None));
            Actions {
                calls,
                unread: None,
            }
        }
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

/// Files that are read, searched or listed.
fn reads(paths: &[&str], input: &Map<String, Value>, event: &Event, base: &Base) -> Actions {
    let mut named: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let searches = event.tool.eq_ignore_ascii_case("grep");
    // What `Grep` searches for is a text, what `Glob` does is a path.
    let keys: &[&str] = if searches {
        &["glob"]
    } else {
        &["glob", "pattern"]
    };
    let patterns: Vec<String> = keys
        .iter()
        .filter_map(|key| input.get(*key)?.as_str())
        .map(str::to_owned)
        .collect();
    if named.is_empty() {
        named.push(".".to_owned());
    }
    // What lies below is read by searching only.
    let below = searches.then(|| Below {
        hidden: true,
        ignored: false,
        own: true,
        include: patterns
            .iter()
            .filter(|pattern| !pattern.starts_with('!') && !pattern.contains('{'))
            .map(|pattern| {
                pattern
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_ascii_lowercase()
            })
            .collect(),
        exclude: patterns
            .iter()
            .filter_map(|pattern| pattern.strip_prefix('!'))
            .map(str::to_owned)
            .collect(),
        ..Below::default()
    });
    if !searches {
        let among: Vec<String> = named
            .iter()
            .flat_map(|path| {
                patterns
                    .iter()
                    .map(move |pattern| format!("{path}/{pattern}"))
            })
            .collect();
        named.extend(among);
    }
    if !searches
        || patterns
            .iter()
            .any(|pattern| pattern.starts_with(['/', '~', '.']))
    {
        named.extend(
            patterns
                .iter()
                .filter(|pattern| !pattern.starts_with('!'))
                .cloned(),
        );
    }
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    files("read", &named, event, base, below.as_ref())
}

fn files(tool: &str, paths: &[&str], event: &Event, base: &Base, below: Option<&Below>) -> Actions {
    let from = start(event, base);
    let mut calls = Vec::new();
    let mut unread = None;
    for path in paths {
        if let Err(why) = path_actions(
            tool,
            path,
            &from,
            base,
            None,
            Looks::Below,
            below,
            &mut calls,
        ) {
            unread = Some(why);
        }
    }
    Actions { calls, unread }
}

fn patch_actions(patch: &str, event: &Event, base: &Base) -> Actions {
    let heads = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let named: Vec<&str> = patch
        .lines()
        .filter_map(|line| {
            let line = line.trim_start();
            heads.iter().find_map(|head| line.strip_prefix(head))
        })
        .map(str::trim)
        .collect();
    if named.is_empty() {
        return unread("its patch names no file");
    }
    files("write", &named, event, base, None)
}
