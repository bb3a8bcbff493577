//! Watches the files that a plan was made of, and makes another when they change: on
//! SIGHUP at once, else when they have been still for a moment.
//!
//! What does not compile, or does not load, is said and changes nothing.

use crate::cli::PolicySource;
use crate::output::Failure;
use crate::output::note;
use crate::source;
use bouncer_plan::Plan;
use bouncer_proxy::{Change, Changes, Watcher, changes};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};

/// How often the files are looked at.
const GLANCE: Duration = Duration::from_millis(500);

/// What tells a changed file from an unchanged one without reading it.
type Stamp = Option<(SystemTime, u64, u64)>;

/// What is watched, and what it was when it was last looked at.
struct Watched {
    source: PolicySource,
    lock: Option<PathBuf>,
    files: Vec<PathBuf>,
    stamps: Vec<Stamp>,
    digest: [u8; 32],
    lock_text: Option<String>,
    /// What the policy says about things that only take effect at the start.
    fixed: Vec<String>,
}

/// Starts to watch. `None`: there is nothing that could be read again, such as a policy
/// from standard input.
pub(super) fn watch(source: &PolicySource, lock: Option<&Path>, plan: &Plan) -> Option<Changes> {
    let mut files: Vec<PathBuf> = source.plan.iter().chain(&source.policy).cloned().collect();
    files.extend(lock.map(Path::to_path_buf));
    if files.iter().any(|file| file == Path::new("-")) {
        return None;
    }
    let mut watched = Watched {
        source: source.clone(),
        lock: lock.map(Path::to_path_buf),
        stamps: Vec::new(),
        files,
        digest: *plan.digest(),
        lock_text: lock.and_then(|path| bouncer_system::private::read_to_string(path).ok()),
        fixed: fixed(plan),
    };
    // What changed since the plan was read shows in its digest.
    watched.stamps = watched.look();
    let (watcher, changes) = changes();
    let (listening, listens) = mpsc::channel();
    let thread = std::thread::Builder::new().name("reload".to_owned());
    let spawned = thread.spawn(move || run(watched, &watcher, &listening));
    // From then on a hang-up does not end the process.
    match (spawned, listens.recv()) {
        (Ok(_), Ok(true)) => Some(changes),
        _ => {
            note("a changed policy will not be noticed: its files cannot be watched");
            None
        }
    }
}

fn run(mut watched: Watched, watcher: &Watcher, listening: &mpsc::Sender<bool>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        let _ = listening.send(false);
        return;
    };
    runtime.block_on(async {
        let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
            let _ = listening.send(false);
            return;
        };
        let _ = listening.send(true);
        let mut moving = watched.look() != watched.stamps;
        loop {
            let forced = tokio::select! {
                _ = hang_up.recv() => true,
                () = tokio::time::sleep(GLANCE) => false,
            };
            let now = watched.look();
            let changed = now != watched.stamps;
            watched.stamps = now;
            // Somebody may be writing still: until two looks are alike.
            if !forced && (changed || !moving) {
                moving |= changed;
                continue;
            }
            moving = false;
            for change in watched.read(forced) {
                if !watcher.report(change) {
                    return;
                }
            }
            // It was written to while it was read: what was read is read again.
            moving |= watched.look() != watched.stamps;
        }
    });
}

impl Watched {
    fn look(&self) -> Vec<Stamp> {
        self.files.iter().map(|file| stamp(file)).collect()
    }

    /// Reads everything again; gives what differs from what is in force.
    fn read(&mut self, say: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(path) = &self.lock {
            match source::read_text(path) {
                Ok(text) if self.lock_text.as_ref() == Some(&text) => {}
                Ok(text) => match source::lock(path) {
                    Ok(lock) => {
                        self.lock_text = Some(text);
                        changes.push(Change::Lock(lock));
                    }
                    Err(failure) => changes.push(Change::Failed(words(failure))),
                },
                Err(failure) => changes.push(Change::Failed(words(failure))),
            }
        }
        let before = self.look();
        match source::plan(&self.source) {
            // What was read while it was being written is not to be trusted.
            _ if self.look() != before => {}
            Ok(plan) if *plan.digest() == self.digest => {
                if say && changes.is_empty() {
                    note("the policy is the one that is in force");
                }
            }
            Ok(plan) => {
                self.digest = *plan.digest();
                let fixed = fixed(&plan);
                if fixed != self.fixed {
                    note(
                        "the policy's `servers`, `audit` or `approval` changed: that takes effect at the next start",
                    );
                    self.fixed = fixed;
                }
                changes.push(Change::Plan(Box::new(plan)));
            }
            Err(failure) => changes.push(Change::Failed(words(failure))),
        }
        changes
    }
}

fn words(failure: Failure) -> String {
    match failure {
        Failure::Message(message) => message,
        Failure::Code(_) => "the policy does not compile".to_owned(),
        Failure::Output(error) => error.to_string(),
    }
}

fn stamp(file: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}

/// What only takes effect at the start.
fn fixed(plan: &Plan) -> Vec<String> {
    let tables = plan.tables();
    let text = |text| tables.text(text).unwrap_or_default().to_owned();
    let mut fixed: Vec<String> = tables
        .servers
        .iter()
        .flat_map(|server| [text(&server.name), text(&server.json)])
        .collect();
    if let Ok(meta) = tables.meta() {
        fixed.extend([text(&meta.audit_path), text(&meta.approval_path)]);
    }
    fixed
}
