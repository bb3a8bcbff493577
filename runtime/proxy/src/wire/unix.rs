//! What only Unix has: process groups, signals, and standard streams that can be
//! waited for without a thread.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::process::ExitStatus;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};

/// A stream to read from.
pub(crate) type Input = Pin<Box<dyn AsyncRead>>;
/// A stream to write to.
pub(crate) type Output = Pin<Box<dyn AsyncWrite>>;

/// Starts the command in a process group of its own, so that helpers it starts can be
/// ended with it.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Asks the whole group to end (`force`: makes it).
pub(crate) fn end_group(leader: u32, force: bool) {
    let signal = if force { Signal::KILL } else { Signal::TERM };
    if let Some(group) = pid(leader) {
        // An error means that nobody is left.
        let _ = kill_process_group(group, signal);
    }
}

/// Whether anybody is left in the group.
pub(crate) fn group_lives(leader: u32) -> bool {
    pid(leader).is_some_and(|group| test_kill_process_group(group).is_ok())
}

fn pid(raw: u32) -> Option<Pid> {
    // 0 and 1 would mean other groups than the child's.
    Pid::from_raw(i32::try_from(raw).ok().filter(|&raw| raw > 1)?)
}

/// The exit code as shells give it: 128 and the signal for a process that was killed.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Resolves when the process is told to end: the exit code for that. A hang-up does not
/// end it where it means that the policy is to be read again.
///
/// # Errors
/// If the signals cannot be watched.
pub(crate) fn told_to_stop(hang_up_ends: bool) -> io::Result<impl Future<Output = u8>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = hang_up_ends
        .then(|| signal(SignalKind::hangup()))
        .transpose()?;
    Ok(async move {
        let hung_up = async {
            match &mut hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => 143,
            _ = interrupt.recv() => 130,
            _ = hung_up => 129,
        }
    })
}

/// Standard input. A pipe or a socket is read as it becomes readable, which saves the
/// hop to a helper thread; a terminal or a file has to be read by one.
pub(crate) fn stdin() -> Input {
    match pollable(io::stdin().as_fd().try_clone_to_owned()) {
        Some(fd) => match ChildStdout::from_std(fd.into()) {
            Ok(pipe) => Box::pin(pipe),
            Err(_) => Box::pin(tokio::io::stdin()),
        },
        None => Box::pin(tokio::io::stdin()),
    }
}

/// Standard output; see [`stdin`].
pub(crate) fn stdout() -> Output {
    match pollable(io::stdout().as_fd().try_clone_to_owned()) {
        Some(fd) => match ChildStdin::from_std(fd.into()) {
            Ok(pipe) => Box::pin(pipe),
            Err(_) => Box::pin(tokio::io::stdout()),
        },
        None => Box::pin(tokio::io::stdout()),
    }
}

/// The descriptor, if it is a pipe or a socket.
fn pollable(fd: io::Result<OwnedFd>) -> Option<OwnedFd> {
    let file = File::from(fd.ok()?);
    let kind = file.metadata().ok()?.file_type();
    (kind.is_fifo() || kind.is_socket()).then(|| file.into())
}
