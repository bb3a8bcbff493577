//! `bouncer run`: the proxy in front of one server.

use super::client_config::Upstream;
use bouncer_runtime::audit::Audit;
use bouncer_runtime::gate::Gate;
use bouncer_runtime::proxy::{Proxy, Settings, conversation_id};
use bouncer_runtime::tools::Lock;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How to start the server.
    pub upstream: Upstream,
    /// The name the policy knows the server by; the configuration's if there is none.
    pub server: Option<String>,
    /// The accepted tools.
    pub lock: Option<PathBuf>,
    /// The audit log; `~/.bouncer/audit.jsonl` if there is none.
    pub audit: Option<PathBuf>,
    /// The plan's digest, for the audit log.
    pub plan_digest: String,
    /// Times and limits.
    pub settings: Settings,
}

/// Runs the proxy until one side ends. Errors go to standard error, exit code 2.
#[must_use]
pub fn run(options: RunOptions, gate: Gate) -> ExitCode {
    match start(options, gate) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            anstream::eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn start(options: RunOptions, gate: Gate) -> Result<u8, String> {
    let command = options.upstream.command()?;
    let server = options
        .server
        .or_else(|| options.upstream.name().map(str::to_owned));
    let lock = options.lock.as_deref().map(read_lock).transpose()?;
    let path = options
        .audit
        .or_else(Audit::default_path)
        .ok_or("there is no home directory for the audit log: name a file with `--audit`")?;
    let audit = Audit::open(&path, &conversation_id(), &options.plan_digest)
        .map_err(|error| format!("cannot write the audit log `{}`: {error}", path.display()))?;
    let program = command.program.clone();
    let proxy = Proxy {
        gate,
        lock,
        audit,
        server,
        command,
        settings: options.settings,
    };
    proxy
        .run()
        .map_err(|error| format!("cannot start `{}`: {error}", program.display()))
}

/// Reads a lock file.
///
/// # Errors
/// If it cannot be read or is not a lock, with the file's name.
pub fn read_lock(path: &Path) -> Result<Lock, String> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    Lock::parse(&text).map_err(|error| format!("`{shown}`: {error}"))
}
