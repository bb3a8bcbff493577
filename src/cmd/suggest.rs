//! `bouncer policy suggest`: a first policy for the tools that there are.

mod folders;
mod log;

use super::endpoint::server_command;
use crate::cli::SuggestArgs;
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_compiler::policy::{Contract, Policy, Segment, WriteParam};
use bouncer_compiler::{Input, Options};
use bouncer_engine::tools::{Derived, ToolDefinition, guessed_effects};
use bouncer_plan::Effects;
use bouncer_proxy::{Endpoint, inspect};
use bouncer_setup::LOCK;
use bouncer_setup::clients::{Document, Places, file};
use bouncer_verify::{ListedTool, Severity};
use folders::Folders;
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
    let mut locks = args.tools.clone();
    if args.tools.is_empty() && args.config.is_empty() {
        locks = locks_of_clients()?;
    }
    let tools = tools(args, &locks)?;
    if tools.is_empty() {
        return Err(Failure::Message(
            "there are no tools to write a policy for".to_owned(),
        ));
    }
    let known = Sources {
        tools: &tools,
        folders: folders::of(args, &locks),
        audit: args.audit.as_deref(),
    };
    let text = suggest(&known)?;
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

/// What a policy is suggested from.
struct Sources<'a> {
    tools: &'a [ListedTool],
    folders: Folders,
    audit: Option<&'a Path>,
}

impl Sources<'_> {
    /// The folders that a server was started with.
    fn folders(&self, server: Option<&str>) -> &[String] {
        let found = server.and_then(|server| self.folders.get(server));
        found.map_or(&[], Vec::as_slice)
    }
}

fn tools(args: &SuggestArgs, locks: &[PathBuf]) -> Result<Vec<ListedTool>, Failure> {
    let mut all = source::tools(locks)?;
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
    let places = Places::of_this_machine().map_err(Failure::of)?;
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
fn suggest(known: &Sources<'_>) -> Result<String, Failure> {
    let tools = known.tools;
    let base = load("version: 1\n")?;
    let mut whole = BTreeSet::new();
    // A second look takes tools in whose pack knows other arguments than they have.
    for _ in 0..3 {
        let text = write(known, &base.policy, &whole)?;
        let loaded = load(&text)?;
        let options = bouncer_verify::Options {
            budget: BUDGET,
            ..bouncer_verify::Options::default()
        };
        let report = bouncer_verify::run(&loaded, tools, &options)
            .map_err(|_| Failure::Message("the suggested policy cannot be built".to_owned()))?;
        let complaints: Vec<&bouncer_verify::Finding> = report
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
    write(known, &base.policy, &whole)
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
fn write(known: &Sources<'_>, packs: &Policy, whole: &BTreeSet<String>) -> Result<String, Failure> {
    let tools = known.tools;
    let mut writers = Vec::new();
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
        if writes(tool, pack) && nameable(&full) {
            writers.push(full.clone());
        }
        if let Some(pack) = pack.filter(|_| !whole.contains(&full)) {
            let file = usize::try_from(pack.at.file)
                .ok()
                .and_then(|at| packs.files.get(at));
            let name = file.map_or("pack", |file| file.trim_start_matches("pack:"));
            covered.entry(name.to_owned()).or_default().push(&tool.name);
            if pack.write_params.is_empty() || !pack.prefixes.is_empty() {
                continue;
            }
            let folders = known.folders(server.as_deref());
            if !folders.is_empty() {
                bound(&mut entries, known, (&full, tool), pack, folders);
            }
            continue;
        }
        if !nameable(&full) {
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
        let folders = known.folders(server.as_deref());
        entry(&mut entries, &full, tool, &derived, folders);
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
    out.push('\n');
    if !writers.is_empty() {
        out.push_str(&guard(&writers));
    }
    if let Some(audit) = known.audit {
        out.push_str(&log::told(audit, tools)?);
    }
    out.push_str(
        "\n# What no rule speaks of: tools that call themselves destructive are asked about, each call. A rule such\n\
         # as `{ tool: \"files__write_file\", action: allow }` lets one pass that is bounded above. `onUnknown: ask` is\n\
         # stricter, and tells you about every new tool. Reading resources, getting prompts and what servers ask of\n\
         # the model are no tools: `ask` or `deny` for these, or rules such as `{ resource: \"file:///etc/*\", action: deny }`.\n\
         defaults: { onDestructiveHint: ask, onUnknown: allow, resources: allow, prompts: allow, sampling: allow }\n",
    );
    Ok(out)
}

/// Whether a policy can name the tool.
fn nameable(full: &str) -> bool {
    escape(full) == full && full.trim() == full
}

/// Whether a tool may write files: it has an argument for one, and does not say that it
/// only reads.
fn writes(tool: &ToolDefinition, pack: Option<&Contract>) -> bool {
    let declared = pack.is_some_and(|pack| !pack.write_params.is_empty());
    declared || (tool.read_only_hint != Some(true) && !paths(tool).is_empty())
}

/// The rules that keep an agent from taking its guard away, for these tools.
fn guard(writers: &[String]) -> String {
    let plain = |name: &&String| !name.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    let names: Vec<String> = writers
        .iter()
        .filter(plain)
        .map(|name| Value::from(name.as_str()).to_string())
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let lines = source::DEFAULT.lines();
    let rules = lines
        .skip_while(|line| *line != "rules:")
        .take_while(|line| !line.starts_with("defaults:"));
    let mut out = String::new();
    for line in rules {
        // Writing to a string cannot fail.
        let _ = match line.strip_prefix("  - tool: ") {
            Some(_) => writeln!(out, "  - tool: [{}]", names.join(", ")),
            None if line.is_empty() => Ok(()),
            None => writeln!(out, "{line}"),
        };
    }
    out
}

/// An entry that bounds a tool of a pack to the folders that its server was started with.
fn bound(
    out: &mut String,
    known: &Sources<'_>,
    (full, tool): (&str, &ToolDefinition),
    pack: &Contract,
    folders: &[String],
) {
    let list = yaml_list(folders);
    let namesakes = known
        .tools
        .iter()
        .filter(|(_, other)| other.name == tool.name);
    // Writing to a string cannot fail.
    if namesakes.count() == 1 {
        let _ = writeln!(
            out,
            "  # Its server was started with this.\n  {}:\n    extends: pack\n    allowed_path_prefixes: {list}",
            Value::from(tool.name.as_str())
        );
        return;
    }
    // An entry of one server cannot extend the pack's: it says the same again.
    let plain = |param: &WriteParam| match param.path.0.as_slice() {
        [Segment::Key(key)] if is_word(key) => Some(key.clone()),
        _ => None,
    };
    let paths: Option<Vec<String>> = pack.write_params.iter().map(plain).collect();
    let simple = !pack.exfiltrating
        && pack.arg_patterns.is_empty()
        && pack.rates.is_empty()
        && pack.dispatches.is_none();
    let Some(paths) = paths.filter(|_| simple && nameable(full)) else {
        let _ = writeln!(
            out,
            "  # {}: write an entry, with the pack's and `allowed_path_prefixes: {list}`",
            comment(full)
        );
        return;
    };
    let _ = writeln!(
        out,
        "  # Its server was started with this.\n  {}:\n    write_params: [{}]\n    allowed_path_prefixes: {list}",
        Value::from(full),
        paths.join(", ")
    );
    if pack.confirm {
        out.push_str("    confirm: true\n");
    }
    if let Some((limit, _)) = pack.max_calls {
        let _ = writeln!(out, "    max_calls: {limit}");
    }
    out.push_str("    outputs: { label: untrusted }\n");
}

/// JSON's strings are YAML's double-quoted ones.
fn yaml_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts
        .iter()
        .map(|text| Value::from(text.as_str()).to_string())
        .collect();
    format!("[{}]", texts.join(", "))
}

/// A name that a policy can write as a path by itself.
fn is_word(key: &str) -> bool {
    !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !key.starts_with(|c: char| c.is_ascii_digit())
}

/// The tool's arguments that may name files, by their names.
fn paths(tool: &ToolDefinition) -> Vec<&str> {
    let properties = tool
        .input_schema()
        .and_then(|schema| schema.get("properties"));
    let names = properties.and_then(Value::as_object).into_iter().flatten();
    let names = names.map(|(name, _)| name.as_str());
    names
        .filter(|name| is_word(name))
        .filter(|name| {
            let name = name.to_ascii_lowercase();
            ["path", "file", "directory", "folder", "dir"]
                .iter()
                .any(|word| name.contains(word))
        })
        .collect()
}

/// A text for a comment: on one line, whatever it holds.
fn comment(text: &str) -> String {
    let text: String = escape(text).chars().take(100).collect();
    text.replace(['\n', '\r'], " ")
}

fn entry(
    out: &mut String,
    full: &str,
    tool: &ToolDefinition,
    derived: &Derived,
    folders: &[String],
) {
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
    let plain = |path: &Vec<String>| !path.is_empty() && path.iter().all(|key| is_word(key));
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
    let hard = guessed_effects(tool, "").intersects(Effects::HARD);
    if hard || destructive {
        out.push_str("    confirm: true            # destroys, pays or changes access, by its name or its own word\n");
    }
    if let Some(limit) = derived.max_calls {
        let _ = writeln!(out, "    max_calls: {limit}");
    }
    let paths = paths(tool);
    if !paths.is_empty() && tool.read_only_hint != Some(true) {
        let names = paths.join(", ");
        // A bound on the wrong argument would only break the tool.
        let sure = |name: &&str| {
            let name = name.to_ascii_lowercase();
            ["path", "paths", "directory", "folder"]
                .iter()
                .any(|word| name.ends_with(word))
        };
        if !folders.is_empty() && paths.iter().all(sure) {
            let _ = writeln!(
                out,
                "    # Its server was started with this.\n    write_params: [{names}]\n    allowed_path_prefixes: {}",
                yaml_list(folders)
            );
        } else {
            let _ = writeln!(
                out,
                "    # Confine it, if these are paths that it writes:\n    # write_params: [{names}]\n    # allowed_path_prefixes: [/home/you/project]"
            );
        }
    }
    out.push_str("    outputs: { label: untrusted }\n");
}
