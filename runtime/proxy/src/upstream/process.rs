//! The upstream server as a child process: how it is started and how it ends.

use crate::wire::stop::Stop;
use crate::wire::unix;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::sleep;

/// How to start a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program, looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables added to the environment, which is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; the current one if there is none.
    pub cwd: Option<PathBuf>,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// The child's id, which is also its group's.
    group: Option<u32>,
}

impl Server {
    /// Starts a server: its input and output are piped, its standard error is ours.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(command: &ServerCommand) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut builder = Command::new(&command.program);
        builder
            .args(&command.args)
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        if let Some(directory) = &command.cwd {
            builder.current_dir(directory);
        }
        unix::own_group(&mut builder);
        let mut child = builder.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = streams.ok_or_else(|| io::Error::other("no pipes to the server"))?;
        let group = child.id();
        Ok((Self { child, group }, stdin, stdout))
    }

    /// Waits for the server to end by itself, then asks it to, then makes it; `grace`
    /// is the time for each step, a sixteenth and then halves of it once told to stop. What it
    /// started is ended with it.
    pub(crate) async fn end<F>(mut self, grace: Duration, stop: &mut Stop<F>) -> Option<ExitStatus>
    where
        F: Future,
        F::Output: Copy,
    {
        let ended = stop.within(grace, grace / 16, self.child.wait()).await;
        let mut status = ended.and_then(Result::ok);
        for force in [false, true] {
            match self.group {
                Some(group) if status.is_none() || unix::group_lives(group) => {
                    unix::end_group(group, force);
                }
                _ => break,
            }
            if status.is_none() {
                let ended = stop.within(grace, grace / 2, self.child.wait()).await;
                status = ended.and_then(Result::ok);
            } else {
                stop.within(grace, grace / 2, self.group_ends()).await;
            }
        }
        status
    }

    /// Waits for helpers that outlive the server.
    async fn group_ends(&self) {
        while self.group.is_some_and(unix::group_lives) {
            sleep(Duration::from_millis(10)).await;
        }
    }
}
