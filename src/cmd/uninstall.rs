//! `bouncer uninstall`: takes bouncer out of MCP clients' configurations again.

use super::init::review::{self, Change, Decision};
use super::init::{LOCK, files};
use crate::cli::UninstallArgs;
use crate::clients::{Document, Kind, file};
use crate::output::{ERROR, Failure, Outcome};
use bouncer_compiler::diagnostic::escape;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &UninstallArgs) -> Outcome {
    let mut out = anstream::stdout().lock();
    let mut plans = Vec::new();
    let mut failed = false;
    for (client, path) in files(&args.config, args.client)? {
        match plan(args, &path) {
            Ok(Some(plan)) => {
                writeln!(out, "{}", review::title(client, &path))?;
                writeln!(out, "  {}", plan.says)?;
                review::show(&mut out, &plan.change)?;
                plans.push(plan);
            }
            Ok(None) => {}
            Err(why) => {
                failed = true;
                crate::output::error_line(&format!("`{}`: {why}", path.display()));
            }
        }
    }
    if plans.is_empty() {
        writeln!(out, "nothing to change")?;
        return Ok(if failed { ERROR } else { 0 });
    }
    drop(out);
    match review::agree(args.yes, &format!("write {}?", review::files(plans.len())))? {
        Decision::Yes => {}
        Decision::No => return Ok(ERROR),
    }
    let mut out = anstream::stdout().lock();
    for plan in plans {
        let path = &plan.change.read.path;
        file::replace(&plan.change.read, &plan.change.new, false)
            .map_err(|error| Failure::file("write", path, &error))?;
        // They served their purpose; that one stays is no harm.
        for leftover in &plan.leftovers {
            let _ = std::fs::remove_file(leftover);
        }
        writeln!(out, "wrote `{}`", path.display())?;
    }
    Ok(if failed { ERROR } else { 0 })
}

struct Plan {
    change: Change,
    says: &'static str,
    leftovers: Vec<PathBuf>,
}

fn plan(args: &UninstallArgs, path: &Path) -> Result<Option<Plan>, String> {
    let read = file::read(path).map_err(|error| error.to_string())?;
    let mut leftovers = Vec::new();
    if args.server.is_empty() {
        // `init` may have been run several times: back to the first.
        let mut text = read.text.clone();
        while let Some((copy, older)) = file::original(&read.path, &text) {
            if leftovers.contains(&copy) {
                break;
            }
            leftovers.push(copy);
            text = older;
        }
        if !leftovers.is_empty() {
            // A copy that does not lead here is of a run of `init` whose work was edited
            // afterwards: what it had changed is still there.
            let copies = file::copies(&read.path).map_err(|error| error.to_string())?;
            let edited = copies.iter().any(|copy| !leftovers.contains(copy));
            let (new, left) = match edited {
                true => without_bouncer(args, &read.path, &text)?,
                false => (text.clone(), false),
            };
            if !left {
                leftovers.push(file::beside(&read.path, LOCK));
            }
            let says = match new == text {
                true => "not changed since `init`: becomes what it was",
                false => CHANGED_BACK,
            };
            let change = Change { read, new };
            return Ok(Some(Plan {
                change,
                says,
                leftovers,
            }));
        }
    }
    let (new, left) = without_bouncer(args, &read.path, &read.text)?;
    if new == read.text {
        return Ok(None);
    }
    if args.server.is_empty() && !left {
        leftovers.push(file::beside(&read.path, LOCK));
    }
    Ok(Some(Plan {
        change: Change { read, new },
        says: CHANGED_BACK,
        leftovers,
    }))
}

const CHANGED_BACK: &str = "bouncer's entries are changed back; all else stays";

/// A configuration without bouncer, and whether an entry is left that may still need what
/// `init` wrote besides.
fn without_bouncer(
    args: &UninstallArgs,
    path: &Path,
    text: &str,
) -> Result<(String, bool), String> {
    let mut document = Document::parse(path, text)?;
    let mut left = false;
    for entry in document.entries() {
        if !args.server.is_empty() && !args.server.contains(&entry.name) {
            left = true;
            continue;
        }
        match &entry.kind {
            Kind::Wrapped { .. } | Kind::Stashed(_) | Kind::Fronted { .. } => {
                document.unwrap_entry(&entry)?;
            }
            Kind::Bouncer { subcommand, .. } if subcommand == "gateway" => {
                return Err(format!(
                    "the file was changed since a gateway took the place of its servers in `{}`, so they cannot be put \
                     back; the copy beside it, `{}.bouncer-backup-…`, has them",
                    escape(&entry.name),
                    path.display()
                ));
            }
            Kind::Bouncer { .. } => left = true,
            _ => {}
        }
    }
    Ok((document.text(), left))
}
