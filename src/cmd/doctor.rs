//! `bouncer doctor`: what is guarded, what is not, and what an agent could still do.

use super::audit::lines::{self, Line};
use crate::cli::{DoctorArgs, Layers, PolicySource};
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_audit::Audit;
use bouncer_engine::tools::{Lock, ToolDefinition, guessed_effects};
use bouncer_plan::{Effects, Plan};
use bouncer_reader::text::Quoted;
use bouncer_setup::clients::{Client, Places};
use bouncer_setup::doctor::{self, Decides, Level, OwnFile, Policies, Report};
use bouncer_store::approvals::{Lifetimes, Store};
use bouncer_system::halt;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command. Exit code 1 if there are gaps.
pub fn run(args: &DoctorArgs) -> Outcome {
    let places = Places::of_this_machine().map_err(Failure::of)?;
    let files: Vec<(Option<Client>, PathBuf)> = if args.config.is_empty() {
        let found = places.found(None).into_iter();
        found.map(|(client, path)| (Some(client), path)).collect()
    } else {
        args.config
            .iter()
            .map(|path| (None, path.clone()))
            .collect()
    };
    let mut report = Report::default();
    if files.is_empty() {
        report.add(Level::Heading, "no MCP client's configuration was found");
    }
    for (client, path) in &files {
        doctor::configuration(&mut report, &Compiled, *client, path);
    }
    if args.config.is_empty() {
        doctor::hooks(&mut report, &places);
    }
    halted(&mut report);
    updates(&mut report);
    doctor::own_files(&mut report, audit(), approvals());
    doctor::limits(&mut report);
    print(&report)?;
    Ok(if report.gaps() > 0 { ERROR } else { 0 })
}

/// Whether the user has stopped calls.
fn halted(report: &mut Report) {
    let Some(path) = halt::default_path() else {
        return;
    };
    match halt::read(&path) {
        Ok(stops) if stops.is_nothing() => {}
        Ok(stops) => {
            report.add(Level::Heading, "`bouncer halt` is on; `bouncer resume` ends it");
            if let Some(reason) = &stops.all {
                report.add(Level::Look, format!("every call is denied: {}", Quoted(reason)));
            }
            for (server, reason) in &stops.servers {
                let (server, reason) = (Quoted(server), Quoted(reason));
                report.add(Level::Look, format!("calls of server {server} are denied: {reason}"));
            }
        }
        Err(error) => report.add(
            Level::Gap,
            format!(
                "`{}` cannot be read, so every call is denied: {error}; `bouncer resume` takes it away",
                path.display()
            ),
        ),
    }
}

/// Lines at the end of the log that are looked at for tools that changed.
const RECENT: usize = 5000;

/// Whether calls were denied lately because their tools are not as they were accepted.
fn updates(report: &mut Report) {
    let Some(path) = Audit::default_path().filter(|path| path.exists()) else {
        return;
    };
    let mut recent: VecDeque<(bool, String)> = VecDeque::new();
    let read = lines::each(&path, &mut |text| {
        let Some(line) = Line::parse(text) else {
            return Ok(());
        };
        let Some(tool) = line.tool else { return Ok(()) };
        let named = line
            .server
            .map_or_else(|| tool.clone(), |server| format!("{server}__{tool}"));
        let pinning = line.contract.as_deref() == Some("pinning");
        recent.push_back((pinning && line.verdict.as_deref() == Some("deny"), named));
        if recent.len() > RECENT {
            recent.pop_front();
        }
        Ok(())
    });
    // That the log cannot be read is said elsewhere.
    if read.is_err() {
        return;
    }
    let mut changed = BTreeSet::new();
    for (denied, tool) in recent {
        match denied {
            true => changed.insert(tool),
            false => changed.remove(&tool),
        };
    }
    if changed.is_empty() {
        return;
    }
    let names: Vec<String> = changed
        .iter()
        .take(20)
        .map(|tool| Quoted(tool).to_string())
        .collect();
    report.add(Level::Heading, "tools that are not as they were accepted");
    report.add(
        Level::Look,
        format!(
            "calls of {} were denied for that: `bouncer pin --diff`, with the server's command, shows what changed, and `bouncer pin --accept` accepts it",
            names.join(", ")
        ),
    );
}

fn print(report: &Report) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for (level, text) in report.lines() {
        match level {
            Level::Heading => writeln!(out, "{text}")?,
            Level::Good => writeln!(out, "  \u{1b}[32mok\u{1b}[0m    {text}")?,
            Level::Look => writeln!(out, "  \u{1b}[33mlook\u{1b}[0m  {text}")?,
            Level::Gap => writeln!(out, "  \u{1b}[31mgap\u{1b}[0m   {text}")?,
        }
    }
    match report.gaps() {
        0 => writeln!(out, "no gaps found"),
        1 => writeln!(out, "1 gap"),
        n => writeln!(out, "{n} gaps"),
    }
}

fn audit() -> Option<OwnFile<impl fmt::Display>> {
    let path = Audit::default_path()?;
    let error = Audit::open(&path, "doctor", "none").err();
    Some(OwnFile { path, error })
}

fn approvals() -> Option<OwnFile<impl fmt::Display>> {
    let path = Store::default_path()?;
    let error = Store::open(&path, Lifetimes::default()).err();
    Some(OwnFile { path, error })
}

/// Policies as the compiler makes plans of them.
struct Compiled;

/// Why a policy or a lock cannot be used, in one line.
struct Unusable(Failure);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Message(why) => f.write_str(why),
            _ => f.write_str("it does not compile"),
        }
    }
}

impl Policies for Compiled {
    type Error = Unusable;

    fn plan(&self, decides: &Decides) -> Result<Plan, Unusable> {
        let source = PolicySource {
            plan: decides.plan.clone(),
            map_plan: false,
            policy: decides.policies.clone(),
            layers: Layers {
                no_packs: decides.no_packs,
                no_heuristics: decides.no_heuristics,
            },
        };
        source::plan(&source).map_err(Unusable)
    }

    fn lock(&self, path: &Path) -> Result<Lock, Unusable> {
        source::lock(path).map_err(Unusable)
    }

    fn changes_something(&self, tool: &ToolDefinition) -> bool {
        guessed_effects(tool, "").intersects(Effects::HARD)
    }
}
