//! Whether agents' hooks call bouncer for the tools that agents have of their own.

use super::report::{Level, Report};
use crate::clients::Places;
use bouncer_reader::shown::escape;
use serde_json::Value;
use std::path::Path;

/// Whether the clients' own tools are guarded.
pub fn hooks(report: &mut Report, places: &Places) {
    let claude = [
        places.home.join(".claude/settings.json"),
        places.here.join(".claude/settings.json"),
        places.here.join(".claude/settings.local.json"),
    ];
    let codex = [
        places.codex.join("hooks.json"),
        places.here.join(".codex/hooks.json"),
    ];
    let cursor = [
        places.home.join(".cursor/hooks.json"),
        places.here.join(".cursor/hooks.json"),
    ];
    let there = |path: &str| places.home.join(path).exists();
    let clients = [
        (
            "Claude Code",
            there(".claude")
                || there(".claude.json")
                || places.here.join(".mcp.json").exists()
                || places.here.join(".claude").exists(),
            &claude[..],
            "PreToolUse",
            "claude-code",
        ),
        (
            "Codex",
            places.codex.exists(),
            &codex[..],
            "PreToolUse",
            "codex",
        ),
        (
            "Cursor",
            there(".cursor") || places.here.join(".cursor").exists(),
            &cursor[..],
            "beforeShellExecution",
            "cursor",
        ),
    ];
    report.add(Level::Heading, "agents' own tools");
    if !clients.iter().any(|(_, there, ..)| *there) {
        report.add(
            Level::Look,
            "neither Claude Code nor Codex nor Cursor was found; the shell and the files of any other agent are not guarded: see docs/hook.md",
        );
    }
    for (client, there, files, event, form) in clients {
        if !there {
            continue;
        }
        let texts = files
            .iter()
            .filter_map(|path| bouncer_system::private::read_to_string(path).ok());
        let calls = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        let calls: Vec<Value> = calls.collect();
        let ours = |event: &str| -> Vec<(String, String)> {
            let all = calls.iter().flat_map(|settings| commands(settings, event));
            all.filter(|(command, _)| command.contains("bouncer") && command.contains(" hook "))
                .collect()
        };
        let off = calls
            .iter()
            .any(|settings| settings.get("disableAllHooks") == Some(&Value::Bool(true)));
        let before = ours(event);
        match before.first() {
            Some(_) if off => report.add(
                Level::Gap,
                format!("{client}: a hook is there, and `disableAllHooks` switches it off"),
            ),
            Some((command, _)) => match unusable(command, form) {
                Some(why) => report.add(Level::Gap, format!("{client}: its hook does not guard: {why}")),
                None => called_for(report, client, event, &before, &ours("PostToolUse")),
            },
            None => report.add(
                Level::Gap,
                format!("{client}: no hook guards its own shell, files and fetching; `bouncer help hook` and docs/hook.md say how"),
            ),
        }
    }
}

/// What hooks that work are called for, and what they are not.
fn called_for(
    report: &mut Report,
    client: &str,
    event: &str,
    before: &[(String, String)],
    after: &[(String, String)],
) {
    let left_out = if client == "Claude Code" {
        unmatched(before)
    } else {
        Vec::new()
    };
    let changes = ["Bash", "Write", "Edit"];
    let all = |(_, matcher): &(String, String)| matches!(matcher.as_str(), "" | "*" | ".*");
    if left_out.iter().any(|tool| changes.contains(tool)) {
        report.add(
            Level::Gap,
            format!(
                "{client}: a hook is not called for {}: its `matcher` should be `*`",
                left_out.join(", ")
            ),
        );
    } else if !left_out.is_empty() || !before.iter().any(all) {
        report.add(
            Level::Look,
            format!("{client}: a hook guards some of its tools; its `matcher` leaves others out"),
        );
    } else {
        report.add(
            Level::Good,
            format!("{client}: a hook guards its shell, its files and its fetching"),
        );
    }
    if event == "PreToolUse" && after.is_empty() {
        report.add(
            Level::Look,
            format!("{client}: no hook remembers what its tools read (`PostToolUse`), so that nothing is known to come from there"),
        );
    }
}

/// Why a hook's command cannot do its work, as far as that shows without running it.
fn unusable(command: &str, form: &str) -> Option<String> {
    let words: Vec<&str> = command
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .collect();
    let at = words.iter().position(|word| *word == "hook")?;
    let program = words.get(at.checked_sub(1)?)?;
    let found = if program.contains(['/', '\\']) {
        Path::new(program).is_file()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut directories = std::env::split_paths(&path);
        directories.any(|directory| directory.join(program).is_file())
    };
    // A path with a variable or a blank in it is not followed.
    if !found && !program.contains(['$', '~']) && !command.contains(['"', '\'']) {
        return Some(format!("there is no program `{}`", escape(program)));
    }
    let client = words.get(at + 1)?;
    if *client != form {
        return Some(format!(
            "it is `hook {}`, and this client needs `hook {form}`",
            escape(client)
        ));
    }
    let files = words.windows(2).filter_map(|pair| match pair {
        ["--policy" | "--plan", file] => Some(*file),
        _ => None,
    });
    // A client may start its hooks in another directory, but mostly does so here.
    let mut missing = files.filter(|file| !file.contains(['$', '~']) && !Path::new(file).is_file());
    missing.next().map(|file| {
        format!(
            "there is no file `{}`, so it blocks everything",
            escape(file)
        )
    })
}

/// Claude Code's own tools that a hook should be called for.
const OWN_TOOLS: [&str; 6] = ["Bash", "Write", "Edit", "NotebookEdit", "Read", "WebFetch"];

/// Which of them no hook's matcher names. An expression beyond a list of names is not read.
fn unmatched(hooks: &[(String, String)]) -> Vec<&'static str> {
    let names = |tool: &str| {
        let mut all = hooks.iter().flat_map(|(_, matcher)| matcher.split('|'));
        all.any(|name| matches!(name.trim(), "" | "*" | ".*") || name.trim() == tool)
    };
    OWN_TOOLS.into_iter().filter(|tool| !names(tool)).collect()
}

/// The commands of an event's hooks, with the tools that they are called for.
fn commands(settings: &Value, event: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let groups = settings
        .get("hooks")
        .and_then(|hooks| hooks.get(event))
        .and_then(Value::as_array);
    for group in groups.into_iter().flatten() {
        let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or("*");
        let inner = group
            .get("hooks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for hook in inner.chain([group]) {
            if let Some(command) = hook.get("command").and_then(Value::as_str) {
                out.push((command.to_owned(), matcher.to_owned()));
            }
        }
    }
    out
}
