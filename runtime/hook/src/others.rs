//! What the arguments of another server's tool show: files, commands and addresses,
//! whatever the tool is called. Knows no server.

use crate::commands::{gates, shell_actions};
use crate::disk::{Base, whole};
use crate::event::Event;
use crate::files::{Actions, Looks, action, path_actions, start};
use crate::guarded::{Kind, kinds};
use serde_json::{Value, json};

/// Texts of a call that are looked at, at most.
const MAX_TEXTS: usize = 400;
/// Longer texts name no file.
const MAX_PATH: usize = 1024;

/// Parts of a member's name that say what stands in it.
const COMMANDS: [&str; 6] = ["command", "cmd", "shell", "bash", "script", "exec"];
const PATHS: [&str; 14] = [
    "path",
    "file",
    "dir",
    "folder",
    "root",
    "source",
    "destination",
    "target",
    "src",
    "dest",
    "workspace",
    "location",
    "uri",
    "document",
];
const ADDRESSES: [&str; 8] = [
    "url", "uri", "href", "link", "endpoint", "webhook", "host", "address",
];
/// Parts of a tool's name that say that it only looks.
const LOOKS: [&str; 14] = [
    "read", "get", "list", "view", "search", "find", "show", "open", "load", "stat", "info",
    "head", "tree", "grep",
];
/// Parts of a tool's name that say that it runs what it is given.
const RUNS: [&str; 8] = [
    "shell", "command", "bash", "exec", "terminal", "process", "run", "cmd",
];

struct Text<'v> {
    /// The names of the members around it, small.
    key: String,
    text: &'v str,
}

/// The calls that the arguments of an event show.
pub fn shown(event: &Event, base: &Base) -> Actions {
    let mut actions = Actions::default();
    let Ok(value) = serde_json::from_slice::<Value>(&event.input) else {
        return actions;
    };
    let mut texts = Vec::new();
    collect("", &value, &mut texts);
    let tool = event.tool.to_ascii_lowercase();
    let has = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    for (command, key) in commands(&value, &tool) {
        let run = shell_actions(&command, event, base);
        actions.calls.extend(run.calls);
        if let Some(why) = run.unread {
            actions.unread.get_or_insert(format!("{why} (in `{key}`)"));
        }
    }
    let words: Vec<&str> = texts.iter().map(|text| text.text).collect();
    actions.calls.extend(gates(&words, base, None));
    let looks = has(&tool, &LOOKS);
    let from = start(event, base);
    for Text { key, text } in &texts {
        let named = has(key, &PATHS);
        if let Some(path) = path(text, named) {
            let file = whole(path, &from, base);
            let found = kinds(&file, base.home.as_deref(), true);
            // What is not guarded is for rules about the tool itself.
            let tools: &[&str] = match found.as_slice() {
                [] => &[],
                [Kind::Starts] if looks => &[],
                _ if looks => &["read"],
                _ => &["read", "write"],
            };
            for tool in tools {
                let about = Some(*text);
                let calls = &mut actions.calls;
                if let Err(why) =
                    path_actions(tool, path, &from, base, about, Looks::Below, None, calls)
                {
                    actions.unread = Some(why);
                }
            }
        }
        if has(key, &ADDRESSES) && text.contains("://") && !text.starts_with("file:") {
            let args = json!({ "url": text }).to_string();
            actions.calls.push(action("fetch", args.into_bytes(), None));
        }
    }
    actions
}

fn collect<'v>(key: &str, value: &'v Value, out: &mut Vec<Text<'v>>) {
    if out.len() > MAX_TEXTS {
        return;
    }
    match value {
        Value::String(text) => out.push(Text {
            key: key.to_ascii_lowercase(),
            text,
        }),
        Value::Array(values) => values.iter().for_each(|value| collect(key, value, out)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| collect(name, value, out)),
        _ => {}
    }
}

/// Commands among the members: a text, or the words of one.
fn commands(value: &Value, tool: &str) -> Vec<(String, String)> {
    let Value::Object(members) = value else {
        return Vec::new();
    };
    let runs = RUNS.iter().any(|part| tool.contains(part));
    let mut found = Vec::new();
    for (name, value) in members {
        let key = name.to_ascii_lowercase();
        let says = COMMANDS.iter().any(|part| key.contains(part))
            || runs && matches!(key.as_str(), "input" | "text" | "line" | "code" | "args");
        if !says {
            continue;
        }
        match value {
            Value::String(text) => {
                // The words may stand beside it.
                let rest = ["args", "arguments", "argv"]
                    .iter()
                    .find_map(|name| members.get(*name)?.as_array());
                let mut text = text.clone();
                for word in rest.into_iter().flatten().filter_map(Value::as_str) {
                    text.push(' ');
                    text.push_str(&quoted(word));
                }
                found.push((text, name.clone()));
            }
            Value::Array(words) if key != "args" => {
                let words: Vec<String> =
                    words.iter().filter_map(Value::as_str).map(quoted).collect();
                found.push((words.join(" "), name.clone()));
            }
            _ => {}
        }
    }
    found
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The path that a text is, if it may be one.
fn path(text: &str, named: bool) -> Option<&str> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let plain = !text.is_empty() && text.len() <= MAX_PATH && !text.contains(['\n', '\0']);
    let looks = text.starts_with(['/', '~', '.']) || !text.contains(char::is_whitespace);
    (plain && (named || looks) && !text.contains("://")).then_some(text)
}
