//! Runs tests again whenever a file of theirs changes. Knows files, nothing of results.

use super::files;
use crate::cli::TestArgs;
use crate::output::{Failure, Outcome, error_line};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// When a file was written, and how long it is; `None`: it is not there.
type Stamps = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// Runs `once`, and again after each change, until the user ends it.
pub fn watch(args: &TestArgs, once: impl Fn() -> Outcome) -> Outcome {
    loop {
        let before = stamps(args);
        match once() {
            Ok(_) | Err(Failure::Code(_)) => {}
            Err(Failure::Message(why)) => error_line(&why),
            Err(failure) => return Err(failure),
        }
        // If standard error is gone there is nobody left to tell.
        if writeln!(anstream::stderr(), "waiting for a change; Ctrl-C ends").is_err() {
            return Ok(0);
        }
        while stamps(args) == before {
            std::thread::sleep(PAUSE);
        }
    }
}

/// The tests, their policies and their tools.
fn stamps(args: &TestArgs) -> Stamps {
    let mut paths: Vec<PathBuf> = args.policy.clone();
    for file in files::find(args).unwrap_or_default() {
        for case in files::quietly(&file, args) {
            paths.extend(case.setting.policy);
            paths.extend(case.tools);
        }
        paths.push(file);
    }
    let stamp = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    let each = paths.into_iter().map(|path| {
        let stamp = stamp(&path);
        (path, stamp)
    });
    each.collect()
}
