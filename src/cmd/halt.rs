//! `bouncer halt` and `bouncer resume`: the user's stop, for every process of the user.

use crate::cli::{HaltArgs, ResumeArgs};
use crate::output::{Failure, Outcome};
use bouncer_reader::text::Quoted;
use bouncer_system::halt::{self, Stops};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Denies all calls, or those of one server, from now on.
pub fn halt(args: &HaltArgs) -> Outcome {
    let path = place()?;
    // A state that cannot be read stops everything, and goes on doing so.
    let mut stops = halt::read(&path).unwrap_or_else(|_| Stops {
        all: Some("what was halted before cannot be read".to_owned()),
        ..Stops::default()
    });
    let reason = args
        .reason
        .clone()
        .unwrap_or_else(|| "no reason given".to_owned());
    match &args.server {
        Some(server) => drop(stops.servers.insert(server.clone(), reason)),
        None => stops.all = Some(reason),
    }
    write(&path, &stops)?;
    let what = match &args.server {
        Some(server) => format!("every call to server {}", Quoted(server)),
        None => "every call, in every `run`, `gateway` and `hook` of yours,".to_owned(),
    };
    let mut out = anstream::stdout().lock();
    writeln!(out, "halted: {what} is denied until `bouncer resume`")?;
    Ok(0)
}

/// Lets calls be judged again.
pub fn resume(args: &ResumeArgs) -> Outcome {
    let path = place()?;
    let before = halt::read(&path);
    let after = match (&before, &args.server) {
        (Ok(before), Some(server)) => {
            let mut after = before.clone();
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
    write(&path, &after)?;
    let mut out = anstream::stdout().lock();
    match (before.is_ok_and(|before| before == after), &after.all) {
        (true, None) => writeln!(out, "nothing was halted")?,
        (_, Some(_)) => writeln!(
            out,
            "every call is still denied: `bouncer resume` without `--server` ends that"
        )?,
        (false, None) => writeln!(out, "resumed: calls are judged again")?,
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

fn write(path: &Path, stops: &Stops) -> Result<(), Failure> {
    halt::write(path, stops).map_err(|error| Failure::file("write", path, &error))
}
