//! What is guarded, what is not, and what an agent could still do. Changes nothing, and starts
//! no server.

mod bounds;
mod hooks;
mod report;

pub use hooks::hooks;
pub use report::{Level, Report};

use crate::LOCK;
use crate::clients::{Client, Document, Entry, Kind, file, title};
use crate::standing::standing;
use bouncer_engine::tools::{Lock, ToolDefinition};
use bouncer_plan::Plan;
use bouncer_reader::shown::escape;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Tools that are named, of those without a contract.
const SHOWN: usize = 8;

/// What decides before a server, as an entry's options say.
#[derive(Clone, Debug, Default)]
pub struct Decides {
    /// A plan's file.
    pub plan: Option<PathBuf>,
    /// Policies' files.
    pub policies: Vec<PathBuf>,
    /// Without the built-in packs.
    pub no_packs: bool,
    /// Without the heuristics.
    pub no_heuristics: bool,
}

/// What only the caller can find out, who knows how policies are compiled.
pub trait Policies {
    /// Why something cannot be used.
    type Error: fmt::Display;

    /// The plan that decides.
    ///
    /// # Errors
    /// If it cannot be used.
    fn plan(&self, decides: &Decides) -> Result<Plan, Self::Error>;

    /// A lock's tools.
    ///
    /// # Errors
    /// If it cannot be used.
    fn lock(&self, path: &Path) -> Result<Lock, Self::Error>;

    /// Whether heuristics take a tool for one that changes or runs something.
    fn changes_something(&self, tool: &ToolDefinition) -> bool;
}

/// One of the files that bouncer itself needs.
#[derive(Debug)]
pub struct OwnFile<E> {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used, if so.
    pub error: Option<E>,
}

/// What the files are in which bouncer writes down and keeps.
pub fn own_files<A: fmt::Display, S: fmt::Display>(
    report: &mut Report,
    audit: Option<OwnFile<A>>,
    approvals: Option<OwnFile<S>>,
) {
    report.add(Level::Heading, "bouncer's own files");
    match audit {
        Some(OwnFile { path, error: None }) => report.add(
            Level::Good,
            format!("the audit log `{}` can be written", path.display()),
        ),
        Some(OwnFile {
            path,
            error: Some(error),
        }) => report.add(
            Level::Gap,
            format!(
                "the audit log `{}` cannot be written, so every call is blocked: {error}",
                path.display()
            ),
        ),
        None => report.add(Level::Gap, "there is no home directory for the audit log"),
    }
    match approvals {
        Some(OwnFile { path, error: None }) => report.add(
            Level::Good,
            format!("approvals are kept in `{}`", path.display()),
        ),
        Some(OwnFile {
            path,
            error: Some(error),
        }) => report.add(
            Level::Gap,
            format!("approvals cannot be kept in `{}`: {error}", path.display()),
        ),
        None => {}
    }
}

/// What stays possible however well everything is set up.
pub fn limits(report: &mut Report) {
    report.add(Level::Heading, "what no gate before tools can stop");
    report.add(
        Level::Look,
        "an agent with a shell of its own, as your user, can change these files, approve its own calls, and start servers \
         directly: hooks narrow that, another user or a sandbox ends it",
    );
    report.add(
        Level::Look,
        "a server can do by itself whatever your user can: bouncer judges the calls to it, not what it does",
    );
}

/// Looks at one configuration.
pub fn configuration(
    report: &mut Report,
    policies: &impl Policies,
    client: Option<Client>,
    path: &Path,
) {
    report.add(Level::Heading, title(client, path));
    let read = match file::read(path) {
        Ok(read) => read,
        Err(error) => return report.add(Level::Gap, format!("it cannot be read: {error}")),
    };
    let document = match Document::parse(&read.path, &read.text) {
        Ok(document) => document,
        Err(why) => return report.add(Level::Gap, format!("it cannot be understood: {why}")),
    };
    let entries = document.entries();
    if entries.is_empty() {
        report.add(Level::Good, "no servers");
    }
    let gateway = entries.iter().any(
        |entry| matches!(&entry.kind, Kind::Bouncer { subcommand, .. } if subcommand == "gateway"),
    );
    for entry in &entries {
        let name = escape(&entry.name);
        match &entry.kind {
            Kind::Wrapped { options, .. } | Kind::Fronted { options, .. } => {
                guarded(report, policies, entry, options, &read.path)
            }
            Kind::Stashed(_) => {
                report.add(Level::Good, format!("{name}: {}", standing(&entry.kind)))
            }
            Kind::Bouncer { observes: true, .. } => report.add(
                Level::Gap,
                format!("{name}: only observed, `--observe` lets everything through"),
            ),
            Kind::Bouncer { .. } => {
                report.add(Level::Good, format!("{name}: {}", standing(&entry.kind)))
            }
            Kind::Plain(_) if gateway => report.add(
                Level::Gap,
                format!("{name}: not guarded, beside a gateway: the agent can go around it"),
            ),
            kind => report.add(Level::Gap, format!("{name}: {}", standing(kind))),
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

fn guarded(
    report: &mut Report,
    policies: &impl Policies,
    entry: &Entry,
    options: &[String],
    config: &Path,
) {
    let name = escape(&entry.name);
    if options.iter().any(|option| option == "--observe") {
        report.add(
            Level::Gap,
            format!("{name}: only observed, `--observe` lets everything through"),
        );
    }
    let policy = Decides {
        plan: values(options, "--plan").pop(),
        policies: values(options, "--policy"),
        no_packs: options.iter().any(|option| option == "--no-packs"),
        no_heuristics: options.iter().any(|option| option == "--no-heuristics"),
    };
    let by = match (&policy.plan, policy.policies.first()) {
        (Some(path), _) | (None, Some(path)) => format!("by `{}`", path.display()),
        (None, None) => "by the built-in packs and the default policy".to_owned(),
    };
    let plan = match policies.plan(&policy) {
        Ok(plan) => plan,
        Err(why) => {
            return report.add(
                Level::Gap,
                format!("{name}: will not start, its policy cannot be used: {why}"),
            );
        }
    };
    report.add(Level::Good, format!("{name}: guarded {by}"));
    let pinned = values(options, "--tools").pop();
    let lock = pinned.clone().unwrap_or_else(|| file::beside(config, LOCK));
    match policies.lock(&lock) {
        Ok(lock) => {
            if pinned.is_none() {
                report.add(Level::Look, format!("{name}: its tools are pinned whenever it starts; `bouncer pin` holds it to a list"));
            }
            uncovered(report, &name, entry, &lock, &plan);
            unbounded(report, policies, &name, entry, &lock, &plan);
        }
        Err(why) if pinned.is_some() => {
            report.add(Level::Gap, format!("{name}: will not start: {why}"));
        }
        Err(_) => report.add(
            Level::Look,
            format!(
                "{name}: its tools are pinned whenever it starts; `bouncer pin` holds it to a list"
            ),
        ),
    }
}

/// Tools of the lock that no contract names.
fn uncovered(report: &mut Report, name: &str, entry: &Entry, lock: &Lock, plan: &Plan) {
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
        return report.add(
            Level::Gap,
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
        return report.add(
            Level::Good,
            format!("{name}: {} tools pinned, each with a contract", names.len()),
        );
    }
    report.add(
        Level::Look,
        format!(
            "{name}: {} of {} tools have no contract, so heuristics and rules decide: {}; `bouncer policy suggest` writes some",
            open.len(),
            names.len(),
            some(&open)
        ),
    );
}

/// Tools of the lock that write, delete or run something, and pass.
fn unbounded(
    report: &mut Report,
    policies: &impl Policies,
    name: &str,
    entry: &Entry,
    lock: &Lock,
    plan: &Plan,
) {
    let own: Vec<&ToolDefinition> = lock
        .tools
        .iter()
        .filter(|tool| tool.server.as_deref() == Some(&entry.name))
        .map(|tool| &tool.definition)
        .collect();
    let open = bounds::unbounded(plan, &entry.name, &own, &|tool| {
        policies.changes_something(tool)
    });
    if open.is_empty() {
        return;
    }
    report.add(
        Level::Look,
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
