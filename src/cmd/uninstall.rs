//! `bouncer uninstall`: takes bouncer out of MCP clients' configurations again.

use super::init::files;
use super::init::review::{self, Decision};
use crate::cli::UninstallArgs;
use crate::output::{ERROR, Failure, Outcome};
use bouncer_setup::clients::{self, file};
use bouncer_setup::uninstall;
use std::io::Write;

/// Runs the command.
pub fn run(args: &UninstallArgs) -> Outcome {
    let mut out = anstream::stdout().lock();
    let mut plans = Vec::new();
    let mut failed = false;
    for (client, path) in files(&args.config, args.client)? {
        match uninstall::plan(&args.server, &path) {
            Ok(Some(plan)) => {
                writeln!(out, "{}", clients::title(client, &path))?;
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
