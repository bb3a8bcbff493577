//! `bouncer doctor`: what is guarded, what is not, and what an agent could still do.

mod bounds;

use super::init::{LOCK, standing};
use crate::cli::{DoctorArgs, Layers, PolicySource};
use crate::clients::{Client, Document, Entry, Kind, Places, file};
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_audit::Audit;
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Plan;
use bouncer_store::approvals::Store;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Tools that are named, of those without a contract.
const SHOWN: usize = 8;

/// What is said, line by line.
#[derive(Debug, Default)]
struct Said {
    lines: Vec<(Mark, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Head,
    Good,
    Look,
    Gap,
}

impl Said {
    fn add(&mut self, mark: Mark, text: impl Into<String>) {
        self.lines.push((mark, text.into()));
    }

    fn gaps(&self) -> usize {
        self.lines
            .iter()
            .filter(|(mark, _)| *mark == Mark::Gap)
            .count()
    }

    fn print(&self) -> std::io::Result<()> {
        let mut out = anstream::stdout().lock();
        for (mark, text) in &self.lines {
            match mark {
                Mark::Head => writeln!(out, "{text}")?,
                Mark::Good => writeln!(out, "  \u{1b}[32mok\u{1b}[0m    {text}")?,
                Mark::Look => writeln!(out, "  \u{1b}[33mlook\u{1b}[0m  {text}")?,
                Mark::Gap => writeln!(out, "  \u{1b}[31mgap\u{1b}[0m   {text}")?,
            }
        }
        Ok(())
    }
}

/// Runs the command. Exit code 1 if there are gaps.
pub fn run(args: &DoctorArgs) -> Outcome {
    let places = Places::of_this_machine().map_err(Failure::Message)?;
    let files: Vec<(Option<Client>, PathBuf)> = if args.config.is_empty() {
        places
            .found(None)
            .into_iter()
            .map(|(client, path)| (Some(client), path))
            .collect()
    } else {
        args.config
            .iter()
            .map(|path| (None, path.clone()))
            .collect()
    };
    let mut said = Said::default();
    if files.is_empty() {
        said.add(Mark::Head, "no MCP client's configuration was found");
    }
    for (client, path) in &files {
        config(&mut said, *client, path);
    }
    if args.config.is_empty() {
        hooks(&mut said, &places);
    }
    own_files(&mut said);
    said.add(Mark::Head, "what no gate before tools can stop");
    said.add(
        Mark::Look,
        "an agent with a shell of its own, as your user, can change these files, approve its own calls, and start servers \
         directly: hooks narrow that, another user or a sandbox ends it",
    );
    said.add(
        Mark::Look,
        "a server can do by itself whatever your user can: bouncer judges the calls to it, not what it does",
    );
    said.print()?;
    let gaps = said.gaps();
    let summary = match gaps {
        0 => "no gaps found".to_owned(),
        1 => "1 gap".to_owned(),
        n => format!("{n} gaps"),
    };
    writeln!(anstream::stdout(), "{summary}")?;
    Ok(if gaps > 0 { ERROR } else { 0 })
}

fn config(said: &mut Said, client: Option<Client>, path: &Path) {
    said.add(Mark::Head, super::init::review::title(client, path));
    let read = match file::read(path) {
        Ok(read) => read,
        Err(error) => return said.add(Mark::Gap, format!("it cannot be read: {error}")),
    };
    let document = match Document::parse(&read.path, &read.text) {
        Ok(document) => document,
        Err(why) => return said.add(Mark::Gap, format!("it cannot be understood: {why}")),
    };
    let entries = document.entries();
    if entries.is_empty() {
        said.add(Mark::Good, "no servers");
    }
    let gateway = entries.iter().any(
        |entry| matches!(&entry.kind, Kind::Bouncer { subcommand, .. } if subcommand == "gateway"),
    );
    for entry in &entries {
        let name = escape(&entry.name);
        match &entry.kind {
            Kind::Wrapped { options, .. } | Kind::Fronted { options, .. } => {
                guarded(said, entry, options, &read.path)
            }
            Kind::Stashed(_) => said.add(Mark::Good, format!("{name}: {}", standing(&entry.kind))),
            Kind::Bouncer { observes: true, .. } => said.add(
                Mark::Gap,
                format!("{name}: only observed, `--observe` lets everything through"),
            ),
            Kind::Bouncer { .. } => {
                said.add(Mark::Good, format!("{name}: {}", standing(&entry.kind)))
            }
            Kind::Plain(_) if gateway => said.add(
                Mark::Gap,
                format!("{name}: not guarded, beside a gateway: the agent can go around it"),
            ),
            kind => said.add(Mark::Gap, format!("{name}: {}", standing(kind))),
        }
    }
}

/// The values of an option, in both spellings.
fn values(options: &[String], name: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if option == name {
            out.extend(rest.next().map(PathBuf::from));
        } else if let Some(value) = option
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='))
        {
            out.push(PathBuf::from(value));
        }
    }
    out
}

fn guarded(said: &mut Said, entry: &Entry, options: &[String], config: &Path) {
    let name = escape(&entry.name);
    if options.iter().any(|option| option == "--observe") {
        said.add(
            Mark::Gap,
            format!("{name}: only observed, `--observe` lets everything through"),
        );
    }
    let policy = PolicySource {
        plan: values(options, "--plan").pop(),
        map_plan: false,
        policy: values(options, "--policy"),
        layers: Layers {
            no_packs: options.iter().any(|option| option == "--no-packs"),
            no_heuristics: options.iter().any(|option| option == "--no-heuristics"),
        },
    };
    let by = match (&policy.plan, policy.policy.first()) {
        (Some(path), _) | (None, Some(path)) => format!("by `{}`", path.display()),
        (None, None) => "by the built-in packs and the default policy".to_owned(),
    };
    let plan = match source::plan(&policy) {
        Ok(plan) => plan,
        Err(failure) => {
            let why = match failure {
                Failure::Message(why) => why,
                _ => "it does not compile".to_owned(),
            };
            return said.add(
                Mark::Gap,
                format!("{name}: will not start, its policy cannot be used: {why}"),
            );
        }
    };
    said.add(Mark::Good, format!("{name}: guarded {by}"));
    let pinned = values(options, "--tools").pop();
    let lock = pinned.clone().unwrap_or_else(|| file::beside(config, LOCK));
    match source::lock(&lock) {
        Ok(lock) => {
            if pinned.is_none() {
                said.add(Mark::Look, format!("{name}: its tools are pinned whenever it starts; `bouncer pin` holds it to a list"));
            }
            uncovered(said, &name, entry, &lock, &plan);
            unbounded(said, &name, entry, &lock, &plan);
        }
        Err(Failure::Message(why)) if pinned.is_some() => {
            said.add(Mark::Gap, format!("{name}: will not start: {why}"));
        }
        Err(_) => said.add(
            Mark::Look,
            format!(
                "{name}: its tools are pinned whenever it starts; `bouncer pin` holds it to a list"
            ),
        ),
    }
}

/// Tools of the lock that no contract names.
fn uncovered(said: &mut Said, name: &str, entry: &Entry, lock: &Lock, plan: &Plan) {
    let tables = plan.tables();
    let keys: BTreeSet<&str> = tables
        .contracts
        .iter()
        .filter_map(|contract| tables.text(&contract.key).ok())
        .collect();
    let own = lock
        .tools
        .iter()
        .filter(|tool| tool.server.as_deref() == Some(&entry.name));
    let names: Vec<&str> = own.map(|tool| tool.definition.name.as_str()).collect();
    if names.is_empty() {
        return said.add(
            Mark::Gap,
            format!("{name}: the lock has none of its tools, so all its calls are denied"),
        );
    }
    let open: Vec<&str> = names
        .iter()
        .copied()
        .filter(|tool| {
            !keys.contains(tool) && !keys.contains(format!("{}__{tool}", entry.name).as_str())
        })
        .collect();
    if open.is_empty() {
        return said.add(
            Mark::Good,
            format!("{name}: {} tools pinned, each with a contract", names.len()),
        );
    }
    said.add(
        Mark::Look,
        format!(
            "{name}: {} of {} tools have no contract, so heuristics and rules decide: {}; `bouncer policy suggest` writes some",
            open.len(),
            names.len(),
            some(&open)
        ),
    );
}

/// Tools of the lock that write, delete or run something, and pass.
fn unbounded(said: &mut Said, name: &str, entry: &Entry, lock: &Lock, plan: &Plan) {
    let own: Vec<&ToolDefinition> = lock
        .tools
        .iter()
        .filter(|tool| tool.server.as_deref() == Some(&entry.name))
        .map(|tool| &tool.definition)
        .collect();
    let open = bounds::unbounded(plan, &entry.name, &own);
    if open.is_empty() {
        return;
    }
    said.add(
        Mark::Look,
        format!(
            "{name}: {} of its tools write, delete or run something, and neither a bound nor a question stands before a call: {}; \
             `bouncer policy suggest` writes bounds",
            open.len(),
            some(&open)
        ),
    );
}

/// The first names, and how many more there are.
fn some(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| escape(name)).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

/// Whether the clients' own tools are guarded.
fn hooks(said: &mut Said, places: &Places) {
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
    said.add(Mark::Head, "agents' own tools");
    if !clients.iter().any(|(_, there, ..)| *there) {
        said.add(
            Mark::Look,
            "neither Claude Code nor Codex nor Cursor was found; the shell and the files of any other agent are not guarded: see docs/hook.md",
        );
    }
    for (client, there, files, event, form) in clients {
        if !there {
            continue;
        }
        let texts = files
            .iter()
            .filter_map(|path| std::fs::read_to_string(path).ok());
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
            Some(_) if off => said.add(
                Mark::Gap,
                format!("{client}: a hook is there, and `disableAllHooks` switches it off"),
            ),
            Some((command, _)) => match unusable(command, form) {
                Some(why) => said.add(Mark::Gap, format!("{client}: its hook does not guard: {why}")),
                None => called_for(said, client, event, &before, &ours("PostToolUse")),
            },
            None => said.add(
                Mark::Gap,
                format!("{client}: no hook guards its own shell, files and fetching; `bouncer help hook` and docs/hook.md say how"),
            ),
        }
    }
}

/// What hooks that work are called for, and what they are not.
fn called_for(
    said: &mut Said,
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
        said.add(
            Mark::Gap,
            format!(
                "{client}: a hook is not called for {}: its `matcher` should be `*`",
                left_out.join(", ")
            ),
        );
    } else if !left_out.is_empty() || !before.iter().any(all) {
        said.add(
            Mark::Look,
            format!("{client}: a hook guards some of its tools; its `matcher` leaves others out"),
        );
    } else {
        said.add(
            Mark::Good,
            format!("{client}: a hook guards its shell, its files and its fetching"),
        );
    }
    if event == "PreToolUse" && after.is_empty() {
        said.add(
            Mark::Look,
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

/// The files that bouncer itself needs.
fn own_files(said: &mut Said) {
    said.add(Mark::Head, "bouncer's own files");
    match Audit::default_path() {
        Some(path) => match Audit::open(&path, "doctor", "none") {
            Ok(_) => said.add(
                Mark::Good,
                format!("the audit log `{}` can be written", path.display()),
            ),
            Err(error) => said.add(
                Mark::Gap,
                format!(
                    "the audit log `{}` cannot be written, so every call is blocked: {error}",
                    path.display()
                ),
            ),
        },
        None => said.add(Mark::Gap, "there is no home directory for the audit log"),
    }
    if let Some(path) = Store::default_path() {
        match Store::open(&path, bouncer_store::approvals::Lifetimes::default()) {
            Ok(_) => said.add(
                Mark::Good,
                format!("approvals are kept in `{}`", path.display()),
            ),
            Err(error) => said.add(
                Mark::Gap,
                format!("approvals cannot be kept in `{}`: {error}", path.display()),
            ),
        }
    }
}
