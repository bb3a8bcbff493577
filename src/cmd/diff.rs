//! `bouncer diff`: which calls two policies judge differently.

use crate::cli::{DiffArgs, DiffFormat, FailIf};
use crate::output::{ERROR, Failure, Outcome};
use crate::progress;
use crate::source;
use bouncer_compiler::Loaded;
use bouncer_compiler::diagnostic::{SourceMap, escape};
use bouncer_plan::Plan;
use bouncer_plan::format::MAGIC;
use bouncer_verify::report;
use bouncer_verify::{Change, Options, Relation, ToolDiff};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &DiffArgs) -> Outcome {
    let json = args.json || args.format == DiffFormat::Json;
    let tools = source::tools(&args.tools)?;
    let old = load(args, &args.old)?;
    let new = load(args, &args.new)?;
    let mut line = progress::Line::new("tools");
    let options = Options {
        budget: args.budget.unwrap_or(Options::default().budget),
        ..Options::default()
    };
    let diffs = bouncer_verify::diff(
        &old.policy,
        &new.policy,
        &tools,
        &options,
        &mut |progress| line.show(progress),
    );
    drop(line);
    let diffs = diffs.map_err(|errors| {
        // The first that does not build is the one to tell about.
        let loaded = match bouncer_compiler::compile(&old.policy) {
            Err(_) => &old,
            Ok(_) => &new,
        };
        source::build_failure(&errors, loaded).report()
    })?;
    let sources = new.warnings.sources();
    if json {
        let tools: Vec<Value> = diffs.iter().map(|diff| object(diff, sources)).collect();
        let value = json!({ "relation": overall(&diffs).name(), "tools": tools });
        writeln!(io::stdout(), "{value:#}")?;
    } else {
        human(&diffs, sources)?;
    }
    let fails = args
        .fail_if
        .iter()
        .any(|what| diffs.iter().any(|diff| fails(*what, diff)));
    Ok(if fails { ERROR } else { 0 })
}

fn load(args: &DiffArgs, path: &Path) -> Result<Loaded, Failure> {
    if path != Path::new("-") && is_plan(path) {
        let bytes = bouncer_system::private::read(path)
            .map_err(|error| Failure::file("read", path, &error))?;
        let plan = Plan::load(bytes).map_err(|error| Failure::file("load", path, &error))?;
        if !args.with.is_empty() {
            return Err(Failure::Message(format!(
                "`{}` is a plan, which holds all of its policies: `--with` is for policy files",
                path.display()
            )));
        }
        return source::decompile(&plan, &path.display().to_string());
    }
    let mut policies: Vec<PathBuf> = vec![path.to_owned()];
    policies.extend(args.with.iter().cloned());
    source::load(&policies, &args.layers).map_err(|failure| failure.report())
}

fn is_plan(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; MAGIC.len()];
    bouncer_system::private::open(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| start == MAGIC)
}

/// What was not decided may be so.
const fn fails(what: FailIf, diff: &ToolDiff) -> bool {
    match what {
        FailIf::Looser => diff.looser.is_some() || diff.maybe_looser,
        FailIf::Tighter => diff.tighter.is_some() || diff.maybe_tighter,
        FailIf::Changed => !matches!(diff.relation, Relation::Equivalent),
    }
}

/// The relation in words, as far as it is known.
fn in_words(diff: &ToolDiff) -> &'static str {
    if diff.relation != Relation::Undecided {
        return diff.relation.name();
    }
    match (&diff.tighter, &diff.looser) {
        (Some(_), _) => "tighter, perhaps looser too:",
        (_, Some(_)) => "looser, perhaps tighter too:",
        _ if !diff.maybe_looser => "not looser, perhaps tighter:",
        _ if !diff.maybe_tighter => "not tighter, perhaps looser:",
        _ => "undecided",
    }
}

/// The relation of the whole policies.
fn overall(diffs: &[ToolDiff]) -> Relation {
    let any = |relation| diffs.iter().any(|diff| diff.relation == relation);
    let both = any(Relation::Looser) && any(Relation::Tighter);
    if any(Relation::Incomparable) || both {
        Relation::Incomparable
    } else if any(Relation::Undecided) {
        Relation::Undecided
    } else if any(Relation::Looser) {
        Relation::Looser
    } else if any(Relation::Tighter) {
        Relation::Tighter
    } else {
        Relation::Equivalent
    }
}

fn object(diff: &ToolDiff, sources: &SourceMap) -> Value {
    let change = |change: &Option<Change>| {
        change.as_ref().map(|change| {
            json!({
                "old": change.old.name(),
                "new": change.example.verdict.name(),
                "example": report::example_json(&change.example, sources),
            })
        })
    };
    json!({
        "server": diff.server,
        "tool": diff.tool,
        "relation": diff.relation.name(),
        "tighter": change(&diff.tighter),
        "looser": change(&diff.looser),
        "undecided": diff.undecided,
        "maybe": { "tighter": diff.maybe_tighter, "looser": diff.maybe_looser },
    })
}

fn human(diffs: &[ToolDiff], sources: &SourceMap) -> io::Result<()> {
    let mut stdout = anstream::stdout();
    let mut same = 0;
    for diff in diffs {
        if diff.relation == Relation::Equivalent {
            same += 1;
            continue;
        }
        let name = match &diff.server {
            Some(server) => format!("{server}__{}", diff.tool),
            None => diff.tool.clone(),
        };
        let colour = match diff.relation {
            Relation::Tighter => "32",
            Relation::Undecided => "33",
            _ => "31",
        };
        writeln!(
            stdout,
            "\u{1b}[1;{colour}m{}\u{1b}[0m {}",
            in_words(diff),
            escape(&name)
        )?;
        for (word, change) in [("looser", &diff.looser), ("tighter", &diff.tighter)] {
            let Some(change) = change else { continue };
            writeln!(
                stdout,
                "  {word}: was {}, is {}",
                change.old.name(),
                change.example.verdict.name()
            )?;
            for line in report::example(&change.example, sources).lines() {
                writeln!(stdout, "    {line}")?;
            }
        }
        if let Some(why) = &diff.undecided {
            writeln!(stdout, "  undecided: {}", escape(why))?;
        }
    }
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(
        anstream::stderr(),
        "{}: {} of {} tools or patterns of tools differ",
        overall(diffs).name(),
        diffs.len() - same,
        diffs.len()
    );
    Ok(())
}
