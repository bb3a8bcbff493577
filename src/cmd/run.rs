//! `bouncer run`: the proxy in front of one server.

use super::client_config::Upstream;
use crate::cli::{PolicySource, RunArgs};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_runtime::audit::Audit;
use bouncer_runtime::gate::Gate;
use bouncer_runtime::plan::Plan;
use bouncer_runtime::proxy::{Proxy, Settings, conversation_id};
use bouncer_runtime::tools::Lock;
use std::path::{Path, PathBuf};

/// What to run, and how.
#[derive(Debug)]
pub struct RunOptions {
    /// How to start the server.
    pub upstream: Upstream,
    /// The name the policy knows the server by; the configuration's if there is none.
    pub server: Option<String>,
    /// Judges the calls.
    pub gate: Gate,
    /// The accepted tools.
    pub lock: Option<Lock>,
    /// The audit log; `~/.bouncer/audit.jsonl` if there is none.
    pub audit: Option<PathBuf>,
    /// Times and limits.
    pub settings: Settings,
}

/// Runs the command.
pub fn command(args: RunArgs) -> Outcome {
    let plan = source::plan(&args.source)?;
    let lock = args.tools.as_deref().map(source::lock).transpose()?;
    let audit = args.audit.or_else(|| policy_audit(&plan, &args.source));
    let mut gate = Gate::new(plan);
    gate.limit_provenance((args.provenance_limit as usize) << 20);
    run(RunOptions {
        upstream: Upstream::new(args.config, args.upstream_name, args.command),
        server: args.server,
        gate,
        lock,
        audit,
        settings: Settings::default(),
    })
}

/// The audit log that the policy names (`audit: {path: …}`), from the directory of the
/// plan or of the first policy file.
fn policy_audit(plan: &Plan, source: &PolicySource) -> Option<PathBuf> {
    let tables = plan.tables();
    let path = tables.text(&tables.meta().ok()?.audit_path).ok()?;
    let file = source.plan.as_ref().or_else(|| source.policy.first())?;
    let base = file.parent().unwrap_or_else(|| Path::new(""));
    (!path.is_empty()).then(|| base.join(path))
}

/// Runs the proxy until one side ends; gives the exit code.
///
/// # Errors
/// If the server's command is not known, the audit log cannot be opened, or the server
/// cannot be started.
pub fn run(options: RunOptions) -> Outcome {
    let command = options.upstream.command().map_err(Failure::Message)?;
    let server = options
        .server
        .or_else(|| options.upstream.name().map(str::to_owned));
    source::warn_without_server(options.gate.plan(), server.as_deref());
    let path = options.audit.or_else(Audit::default_path).ok_or_else(|| {
        let why = "there is no home directory for the audit log: name a file with `--audit`";
        Failure::Message(why.to_owned())
    })?;
    let digest = options.gate.plan().short_digest();
    let audit = Audit::open(&path, &conversation_id(), &digest)
        .map_err(|error| Failure::file("write the audit log", &path, &error))?;
    let program = PathBuf::from(&command.program);
    let proxy = Proxy {
        gate: options.gate,
        lock: options.lock,
        audit,
        server,
        command,
        settings: options.settings,
    };
    proxy
        .run()
        .map_err(|error| Failure::file("start", &program, &error))
}
