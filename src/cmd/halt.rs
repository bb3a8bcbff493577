//! `bouncer halt` and `bouncer resume`: the user's stop, for every process of the user.

use super::audit::lines::{self, Line};
use crate::cli::{HaltArgs, ResumeArgs};
use crate::output::{Failure, Outcome};
use bouncer_audit::Audit;
use bouncer_reader::text::Quoted;
use bouncer_system::halt::{self, Stops};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Denies all calls, or those of one server, from now on.
pub fn halt(args: &HaltArgs) -> Outcome {
    let path = place()?;
    let reason = args
        .reason
        .clone()
        .unwrap_or_else(|| "no reason given".to_owned());
    change(&path, |stops| {
        // A state that cannot be read stops everything, and goes on doing so.
        let mut stops = stops.unwrap_or_else(|_| Stops {
            all: Some("what was halted before cannot be read".to_owned()),
            ..Stops::default()
        });
        match &args.server {
            Some(server) => drop(stops.servers.insert(server.clone(), reason)),
            None => stops.all = Some(reason),
        }
        Ok(stops)
    })?;
    let what = match &args.server {
        Some(server) => format!("every call to server {}", Quoted(server)),
        None => "every call, in every `run`, `gateway` and `hook` of yours,".to_owned(),
    };
    let mut out = anstream::stdout().lock();
    writeln!(out, "halted: {what} is denied until `bouncer resume`")?;
    if let Some(server) = &args.server {
        unknown(server, &known())?;
    }
    Ok(0)
}

/// The servers that the user's audit log speaks of.
fn known() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let Some(log) = Audit::default_path().filter(|path| path.exists()) else {
        return known;
    };
    // A log that cannot be read knows nobody.
    let _ = lines::each(&log, &mut |text| {
        known.extend(Line::parse(text).and_then(|line| line.server));
        Ok(())
    });
    known
}

/// Says that a server's name is none that is known: it may be mistyped.
fn unknown(server: &str, known: &BTreeSet<String>) -> io::Result<()> {
    if known.is_empty() || known.contains(server) {
        return Ok(());
    }
    let known: Vec<String> = known
        .iter()
        .take(20)
        .map(|name| Quoted(name).to_string())
        .collect();
    writeln!(
        anstream::stderr(),
        "note: the audit log knows no server {}; it knows {}",
        Quoted(server),
        known.join(", ")
    )
}

/// Lets calls be judged again.
pub fn resume(args: &ResumeArgs) -> Outcome {
    let path = place()?;
    let mut before = None;
    let after = change(&path, |stops| {
        let after = match (&stops, &args.server) {
            (Ok(stops), Some(server)) => {
                let mut after = stops.clone();
                after.servers.remove(server);
                after
            }
            (Err(error), Some(_)) => {
                return Err(Failure::Message(format!(
                    "`{}` cannot be read, so every call is denied: {error}; `bouncer resume` without `--server` takes it away",
                    path.display()
                )));
            }
            (_, None) => Stops::default(),
        };
        before = stops.ok();
        Ok(after)
    })?;
    let mut out = anstream::stdout().lock();
    let same = before.is_some_and(|before| before == after);
    match (same, &after.all, &args.server) {
        (_, Some(_), _) => writeln!(
            out,
            "every call is still denied: `bouncer resume` without `--server` ends that"
        )?,
        (true, None, Some(server)) => writeln!(out, "server {} was not halted", Quoted(server))?,
        (true, None, None) => writeln!(out, "nothing was halted")?,
        (false, None, _) => writeln!(out, "resumed: calls are judged again")?,
    }
    for (server, reason) in &after.servers {
        writeln!(
            out,
            "still halted: server {}: {}",
            Quoted(server),
            Quoted(reason)
        )?;
    }
    Ok(0)
}

fn place() -> Result<PathBuf, Failure> {
    halt::default_path().ok_or_else(|| {
        Failure::Message(
            "there is no home directory, in which `run`, `gateway` and `hook` would look"
                .to_owned(),
        )
    })
}

fn change(
    path: &Path,
    how: impl FnOnce(io::Result<Stops>) -> Result<Stops, Failure>,
) -> Result<Stops, Failure> {
    halt::change(path, how)
}
