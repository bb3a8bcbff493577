//! `bouncer policy suggest`: a first policy for the tools that there are.

use super::init::{LOCK, server_command};
use crate::cli::SuggestArgs;
use crate::clients::{Document, Places, file};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_compiler::policy::Policy;
use bouncer_compiler::verify::{self, ListedTool, Severity};
use bouncer_compiler::{Input, Options};
use bouncer_proxy::{Endpoint, inspect};
use bouncer_runtime::tools::{Derived, ToolDefinition};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Steps of work that the proof of a suggestion may take.
const BUDGET: u64 = 50_000_000;

/// Runs the command.
pub fn run(args: &SuggestArgs) -> Outcome {
    let tools = tools(args)?;
    if tools.is_empty() {
        return Err(Failure::Message(
            "there are no tools to write a policy for".to_owned(),
        ));
    }
    let text = suggest(&tools, args.audit.as_deref())?;
    match &args.output {
        Some(path) if path.exists() => {
            return Err(Failure::Message(format!(
                "`{}` exists already and was left as it is",
                path.display()
            )));
        }
        Some(path) => {
            std::fs::write(path, &text).map_err(|error| Failure::file("write", path, &error))?;
        }
        None => write!(std::io::stdout(), "{text}")?,
    }
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(
        anstream::stderr(),
        "suggested a policy for {} tools; read it before you use it",
        tools.len()
    );
    Ok(0)
}

fn tools(args: &SuggestArgs) -> Result<Vec<ListedTool>, Failure> {
    let mut locks = args.tools.clone();
    if args.tools.is_empty() && args.config.is_empty() {
        locks = locks_of_clients()?;
    }
    let mut all = source::tools(&locks)?;
    for path in &args.config {
        let read = file::read(path).map_err(|error| Failure::file("read", path, &error))?;
        let document = Document::parse(&read.path, &read.text)
            .map_err(|why| Failure::file("use", path, &why))?;
        for entry in document.entries() {
            let Some(launch) = entry.launch() else {
                continue;
            };
            let found = inspect(
                &Endpoint::Command(server_command(launch)),
                Duration::from_secs(args.timeout),
            );
            match found {
                Ok(tools) => all.extend(
                    tools
                        .into_iter()
                        .map(|tool| (Some(entry.name.clone()), tool)),
                ),
                Err(error) => {
                    let name = escape(&entry.name);
                    crate::output::error_line(&format!("`{name}` is left out: {error}"));
                }
            }
        }
    }
    Ok(all)
}

/// The locks that `init` wrote.
fn locks_of_clients() -> Result<Vec<PathBuf>, Failure> {
    let places = Places::of_this_machine().map_err(Failure::Message)?;
    let found = places.found(None).into_iter();
    let locks: Vec<PathBuf> = found
        .filter_map(|(_, path)| Some(file::beside(&path.canonicalize().ok()?, LOCK)))
        .filter(|lock| lock.exists())
        .collect();
    if locks.is_empty() {
        return Err(Failure::Message(
            "no tools are known: run `bouncer init` first, or give `--tools LOCK`, or `--config CONFIG` to start its servers"
                .to_owned(),
        ));
    }
    Ok(locks)
}

/// Writes the policy, and proves it.
fn suggest(tools: &[ListedTool], audit: Option<&Path>) -> Result<String, Failure> {
    let base = load("version: 1\n")?;
    let mut whole = BTreeSet::new();
    // A second look takes tools in whose pack knows other arguments than they have.
    for _ in 0..3 {
        let text = write(tools, &base.policy, &whole, audit)?;
        let loaded = load(&text)?;
        let options = verify::Options {
            budget: BUDGET,
            ..verify::Options::default()
        };
        let report = verify::run(&loaded, tools, &options)
            .map_err(|_| Failure::Message("the suggested policy cannot be built".to_owned()))?;
        let complaints: Vec<&verify::Finding> = report
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Note)
            .collect();
        if complaints.is_empty() {
            return Ok(text);
        }
        let before = whole.len();
        for (server, tool) in tools {
            let full = full_name(server.as_deref(), &tool.name);
            if complaints
                .iter()
                .any(|finding| finding.message.contains(&format!("`{full}`")))
            {
                whole.insert(full);
            }
        }
        if whole.len() == before {
            let first = complaints
                .first()
                .map_or("", |finding| finding.message.as_str());
            let _ = writeln!(
                anstream::stderr(),
                "`bouncer verify` has something to say about it, for example: {first}"
            );
            return Ok(text);
        }
    }
    write(tools, &base.policy, &whole, audit)
}

fn load(text: &str) -> Result<bouncer_compiler::Loaded, Failure> {
    let input = Input {
        name: "suggested",
        text,
    };
    let options = Options {
        packs: true,
        heuristics: true,
    };
    bouncer_compiler::load(&[input], &options).map_err(|diagnostics| {
        source::print_diagnostics(&diagnostics);
        Failure::Message("the suggested policy does not compile; please report it".to_owned())
    })
}

fn full_name(server: Option<&str>, tool: &str) -> String {
    server.map_or_else(|| tool.to_owned(), |server| format!("{server}__{tool}"))
}

/// `whole`: tools to write out although a pack has them.
fn write(
    tools: &[ListedTool],
    packs: &Policy,
    whole: &BTreeSet<String>,
    audit: Option<&Path>,
) -> Result<String, Failure> {
    let mut covered: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut entries = String::new();
    let mut seen = BTreeSet::new();
    for (server, tool) in tools {
        let full = full_name(server.as_deref(), &tool.name);
        if !seen.insert(full.clone()) {
            continue;
        }
        let pack = packs
            .contracts
            .iter()
            .find(|contract| contract.key == tool.name);
        if let Some(pack) = pack.filter(|_| !whole.contains(&full)) {
            let file = usize::try_from(pack.at.file)
                .ok()
                .and_then(|at| packs.files.get(at));
            let name = file.map_or("pack", |file| file.trim_start_matches("pack:"));
            covered.entry(name.to_owned()).or_default().push(&tool.name);
            continue;
        }
        if escape(&full) != full || full.trim() != full {
            let _ = writeln!(
                entries,
                "  # left out: no policy can name {}",
                comment(&full)
            );
            continue;
        }
        let derived = packs
            .heuristics
            .as_ref()
            .map(|words| words.derive(tool))
            .unwrap_or_default();
        entry(&mut entries, &full, tool, &derived);
    }
    let mut out = String::from(
        "# A first policy, suggested from the tools that there are. Read it: what a tool does is guessed from\n\
         # its name and its arguments. `bouncer verify FILE --tools LOCK` says what is missing, and\n\
         # `bouncer test` keeps it that way.\n\
         version: 1\n\n",
    );
    if !covered.is_empty() {
        out.push_str("# Covered by built-in packs; `bouncer packs show NAME` has the text. To change one, write an entry\n# below with `extends: pack`.\n");
        for (pack, tools) in &covered {
            let names: Vec<String> = tools.iter().map(|tool| comment(tool)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(out, "#   {}: {}", comment(pack), names.join(", "));
        }
        out.push('\n');
    }
    if !entries
        .lines()
        .any(|line| !line.trim_start().starts_with('#'))
    {
        out.push_str(&entries);
        out.push_str("# tools:\n#   write_file:\n#     extends: pack\n#     allowed_path_prefixes: [/home/you/project]\n");
    } else {
        out.push_str("tools:\n");
        out.push_str(&entries);
    }
    if let Some(audit) = audit {
        out.push_str(&from_log(audit)?);
    }
    out.push_str(
        "\n# What no rule speaks of. `ask` is stricter, and tells you about every new tool.\n\
         # defaults: { onUnknown: ask, onDestructiveHint: ask }\n",
    );
    Ok(out)
}

/// A text for a comment: on one line, whatever it holds.
fn comment(text: &str) -> String {
    let text: String = escape(text).chars().take(100).collect();
    text.replace(['\n', '\r'], " ")
}

fn entry(out: &mut String, full: &str, tool: &ToolDefinition, derived: &Derived) {
    let said = tool
        .json
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let first = said
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    if !first.is_empty() {
        let _ = writeln!(out, "  # says: {}", comment(first.trim()));
    }
    let _ = writeln!(out, "  {}:", Value::from(full));
    let plain = |path: &Vec<String>| {
        let word = |key: &String| {
            !key.is_empty()
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !key.starts_with(|c: char| c.is_ascii_digit())
        };
        !path.is_empty() && path.iter().all(word)
    };
    if !derived.sinks.is_empty() {
        out.push_str("    exfiltrating: true\n");
        if derived.sinks.iter().all(plain) {
            let sinks: Vec<String> = derived.sinks.iter().map(|path| path.join(".")).collect();
            let _ = writeln!(out, "    sink_params: [{}]", sinks.join(", "));
            out.push_str("    # Who may be written to without being asked about:\n    # trusted_destinations: [\"*@example.com\", \"*.example.com\"]\n");
        } else {
            out.push_str("    # Its schema cannot be read to its end: every argument counts as a destination.\n");
        }
    }
    let destructive = tool.destructive_hint == Some(true) && tool.read_only_hint != Some(true);
    if derived.consequential || destructive {
        out.push_str("    confirm: true            # destroys, pays or changes access, by its name or its own word\n");
    }
    if let Some(limit) = derived.max_calls {
        let _ = writeln!(out, "    max_calls: {limit}");
    }
    let properties = tool
        .input_schema()
        .and_then(|schema| schema.get("properties"));
    let names = properties
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    let paths: Vec<&String> = names
        .filter(|name| plain(&vec![(*name).clone()]))
        .filter(|name| {
            let name = name.to_ascii_lowercase();
            ["path", "file", "directory", "folder", "dir"]
                .iter()
                .any(|word| name.contains(word))
        })
        .collect();
    if !paths.is_empty() && tool.read_only_hint != Some(true) {
        let names: Vec<&str> = paths.iter().map(|name| name.as_str()).collect();
        let _ = writeln!(
            out,
            "    # Confine it, if these are paths that it writes:\n    # write_params: [{}]\n    # allowed_path_prefixes: [/home/you/project]",
            names.join(", ")
        );
    }
    out.push_str("    outputs: { label: untrusted }\n");
}

/// What the log says was asked about: candidates for trust.
fn from_log(path: &Path) -> Result<String, Failure> {
    let text = source::read_text(path)?;
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut denied: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let get = |key: &str| line.get(key).and_then(Value::as_str);
        let (Some(tool), Some(code)) = (get("tool"), get("code")) else {
            continue;
        };
        let full = full_name(get("server"), tool);
        let destination = line.pointer("/grounds/value").and_then(Value::as_str);
        match (code, destination) {
            ("sink_gate.unproven" | "sink_gate.observed", Some(to)) => {
                *counts.entry((full, to.to_owned())).or_default() += 1;
            }
            (_, _) if get("verdict") == Some("deny") => {
                let reason = get("reason").unwrap_or_default().to_owned();
                *denied.entry((full, reason)).or_default() += 1;
            }
            _ => {}
        }
    }
    let mut out = String::new();
    let mut list = |head: &str, counts: &BTreeMap<(String, String), u64>| {
        let mut rows: Vec<_> = counts.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        if !rows.is_empty() {
            let _ = writeln!(out, "\n# {head}");
        }
        for ((tool, what), count) in rows.into_iter().take(30) {
            let _ = writeln!(out, "#   {count}x {}: {}", comment(tool), comment(what));
        }
    };
    list(
        "Asked about in the log. Those that you know belong in `trusted_destinations`:",
        &counts,
    );
    list("Denied in the log, or would have been:", &denied);
    Ok(out)
}
