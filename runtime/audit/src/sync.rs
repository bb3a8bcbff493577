//! When lines reach the disk itself, and not only the system's memory.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often [`Sync::Second`] does its work.
const PERIOD: Duration = Duration::from_secs(1);

/// What is certain about a line when its call goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The system has it: it survives the end of this process, but perhaps not of the
    /// machine.
    #[default]
    None,
    /// The disk has it.
    Line,
    /// The disk has it a second later.
    Second,
}

/// A thread that brings a file to the disk once a second.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    file: Arc<File>,
    dirty: bool,
    /// What was written may be lost: for ever, because the system says so only once.
    failed: Option<String>,
    ends: bool,
}

impl Syncer {
    pub(super) fn start(file: &File) -> io::Result<Self> {
        let state = State {
            file: Arc::new(file.try_clone()?),
            dirty: false,
            failed: None,
            ends: false,
        };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("audit-sync".to_owned())
            .spawn(move || work(&of_thread))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn with<T>(&self, then: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        then(&mut state)
    }

    /// # Errors
    /// If lines did not reach the disk earlier.
    pub(super) fn check(&self) -> io::Result<()> {
        self.with(|state| match &state.failed {
            Some(why) => Err(io::Error::other(format!(
                "earlier lines did not reach the disk: {why}"
            ))),
            None => Ok(()),
        })
    }

    /// A line was written.
    pub(super) fn note(&self) {
        self.with(|state| state.dirty = true);
    }

    /// Another file is written to from now on; the one before is brought to the disk.
    pub(super) fn replace(&self, file: &File) -> io::Result<()> {
        let file = Arc::new(file.try_clone()?);
        let before = self.with(|state| {
            state.dirty = true;
            std::mem::replace(&mut state.file, file)
        });
        before.sync_data()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.with(|state| state.ends = true);
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(shared: &(Mutex<State>, Condvar)) {
    let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if !state.ends {
            let waited = shared.1.wait_timeout(state, PERIOD);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let ends = state.ends;
        if std::mem::take(&mut state.dirty) {
            let file = Arc::clone(&state.file);
            // Nobody who writes waits for the disk.
            drop(state);
            let synced = file.sync_data();
            state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = synced {
                state.failed = Some(error.to_string());
            }
        }
        if ends {
            return;
        }
    }
}
