//! `bouncer run`: the proxy in front of one server.

use super::client_config::Upstream;
use super::reload;
use crate::cli::{AuditOptions, BudgetOptions, MetricsOptions, RunArgs, SyncWhen};
use crate::output::{Failure, Outcome, note};
use crate::source;
use bouncer_audit::{self, Audit};
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::gate::{Gate, SharedTally};
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_proxy::{
    Approvals, Changes, Endpoint, Guarded, Metrics, Proxy, Settings, conversation_id,
};
use bouncer_store::SharedBudgets;
use bouncer_store::approvals::{Lifetimes, Store};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Said at the start, where nobody is to overlook it.
pub(super) const OBSERVING: &str = "NOTHING IS BLOCKED: with `--observe` calls that the policy asks about or denies go through; \
    the audit log says what it would have done (outcome `observed`)";

/// What to run, and how.
#[derive(Debug)]
pub struct RunOptions {
    /// How to reach the server.
    pub upstream: Upstream,
    /// The name the policy knows the server by; the configuration's if there is none.
    pub server: Option<String>,
    /// Judges the calls.
    pub gate: Gate,
    /// The accepted tools.
    pub lock: Option<Lock>,
    /// The audit log; `~/.bouncer/audit.jsonl` if there is none.
    pub audit: Option<PathBuf>,
    /// How it is kept.
    pub kept: bouncer_audit::Options,
    /// Where approvals are kept; `~/.bouncer/approvals.db` if there is none.
    pub approvals: Option<PathBuf>,
    /// Times and limits.
    pub settings: Settings,
    /// Where a changed policy comes from.
    pub changes: Option<Changes>,
    /// What counts.
    pub metrics: Metrics,
}

/// Runs the command.
pub fn command(args: RunArgs) -> Outcome {
    let plan = source::plan(&args.source)?;
    let guard = args.guard;
    let lock = guard.tools.as_deref().map(source::lock).transpose()?;
    let changes = reload::watch(&args.source, guard.tools.as_deref(), &plan);
    let metrics = metrics(&guard.metrics)?;
    let kept = kept(&guard.audit);
    let audit = guard
        .audit
        .audit
        .or_else(|| source::beside(&plan, &args.source, |meta| &meta.audit_path));
    let approvals = guard
        .approvals
        .or_else(|| source::beside(&plan, &args.source, |meta| &meta.approval_path));
    let mut gate = Gate::new(plan);
    gate.fronts_servers();
    gate.limit_provenance_to(guard.provenance_limit);
    if let Some(tally) = shared_budgets(&guard.budgets)? {
        gate.share_budgets(tally);
    }
    run(RunOptions {
        upstream: match args.upstream_env {
            Some(name) => Upstream::Variable(name),
            None => Upstream::new(args.config, args.upstream_name, args.command),
        },
        server: args.server,
        gate,
        lock,
        audit,
        kept,
        settings: Settings {
            max_message: guard.max_message,
            observe: guard.observe,
            guarded: Arc::new(Guarded::new(approvals.as_deref())),
            ..Settings::default()
        },
        approvals,
        changes,
        metrics,
    })
}

/// Runs the proxy until one side ends; gives the exit code.
///
/// # Errors
/// If the server's command is not known, the audit log cannot be opened, or the server
/// cannot be started.
pub fn run(options: RunOptions) -> Outcome {
    let endpoint = match options.upstream.endpoint().map_err(Failure::of)? {
        Endpoint::Url(server) => Endpoint::Url(server.staying()),
        command => command,
    };
    let server = options
        .server
        .or_else(|| options.upstream.name().map(str::to_owned));
    source::warn_without_server(options.gate.plan(), server.as_deref(), None);
    let plan = options.gate.plan();
    let conversation = conversation_id();
    let (path, audit) = audit_log(options.audit, &options.kept, &conversation, plan)?;
    let desk = desk(plan, options.approvals, conversation);
    let of_server = server
        .as_deref()
        .map(|name| format!("server `{}`, ", escape(name)));
    note(&format!(
        "gating {}with plan {}, audit log `{}`",
        of_server.unwrap_or_default(),
        plan.short_digest(),
        path.display()
    ));
    if options.settings.observe {
        note(OBSERVING);
    }
    let counted = options.metrics.clone();
    let proxy = Proxy {
        gate: options.gate,
        lock: options.lock,
        audit,
        approvals: desk,
        server,
        endpoint: endpoint.clone(),
        settings: options.settings,
        changes: options.changes,
        metrics: options.metrics,
    };
    let ended = proxy.run();
    counted.finish();
    ended.map_err(|error| match endpoint {
        Endpoint::Command(command) => Failure::file("start", Path::new(&command.program), &error),
        Endpoint::Url(_) => Failure::Message(format!("the proxy cannot run: {error}")),
    })
}

/// The counters, handed out if the command line wants that.
pub(super) fn metrics(options: &MetricsOptions) -> Result<Metrics, Failure> {
    #[cfg_attr(not(feature = "otel"), expect(unused_mut, reason = "nothing is added"))]
    let mut metrics = Metrics::default();
    #[cfg(feature = "otel")]
    {
        metrics.traces = super::traces::start(options.otlp_endpoint.as_deref())?;
    }
    if let Some(address) = options.metrics {
        let address = metrics.serve(address).map_err(|error| {
            Failure::Message(format!("cannot hand out metrics at `{address}`: {error}"))
        })?;
        note(&format!("counters at http://{address}/metrics"));
    }
    Ok(metrics)
}

/// How the command line wants the audit log kept.
pub(super) fn kept(options: &AuditOptions) -> bouncer_audit::Options {
    bouncer_audit::Options {
        rotate: options.audit_rotate,
        sync: match options.audit_sync {
            SyncWhen::None => bouncer_audit::Sync::None,
            SyncWhen::Line => bouncer_audit::Sync::Line,
            SyncWhen::Second => bouncer_audit::Sync::Second,
        },
    }
}

/// What attempts are counted in together with others, if the command line wants that.
/// Without it nothing may go out, so one that cannot be opened is a reason not to start.
pub(super) fn shared_budgets(options: &BudgetOptions) -> Result<Option<SharedTally>, Failure> {
    let Some(path) = &options.shared_budgets else {
        return Ok(None);
    };
    let budgets = SharedBudgets::open(path).map_err(|error| {
        let path = path.display();
        Failure::Message(format!("budgets cannot be counted in `{path}`: {error}"))
    })?;
    Ok(Some(Arc::new(Mutex::new(budgets))))
}

/// Opens the audit log.
pub(super) fn audit_log(
    path: Option<PathBuf>,
    kept: &bouncer_audit::Options,
    conversation: &str,
    plan: &Plan,
) -> Result<(PathBuf, Audit), Failure> {
    let path = path.or_else(Audit::default_path).ok_or_else(|| {
        let why = "there is no home directory for the audit log: name a file with `--audit`";
        Failure::Message(why.to_owned())
    })?;
    let audit = Audit::open_with(&path, conversation, &plan.short_digest(), kept)
        .map_err(|error| Failure::file("write the audit log", &path, &error))?;
    Ok((path, audit))
}

/// The approvals given out of band. Without them such calls are denied, so a store that
/// cannot be opened is no reason not to start.
pub(super) fn desk(plan: &Plan, path: Option<PathBuf>, conversation: String) -> Option<Approvals> {
    Desk::default().of(plan, path, conversation)
}

/// The store of approvals, which is opened once for all conversations.
#[derive(Default)]
pub(super) struct Desk(RefCell<Option<(Lifetimes, Rc<Store>)>>);

impl Desk {
    /// See [`desk`].
    pub(super) fn of(
        &self,
        plan: &Plan,
        path: Option<PathBuf>,
        conversation: String,
    ) -> Option<Approvals> {
        let digest = plan.digest().iter().map(|b| format!("{b:02x}"));
        let store = self.store(path, source::lifetimes(plan))?;
        Some(Approvals::new(store, conversation, digest.collect()))
    }

    fn store(&self, path: Option<PathBuf>, lifetimes: Lifetimes) -> Option<Rc<Store>> {
        // Another policy may say how long approvals hold.
        if let Some((known, store)) = &*self.0.borrow()
            && *known == lifetimes
        {
            return Some(Rc::clone(store));
        }
        let path = path.or_else(Store::default_path)?;
        match Store::open(&path, lifetimes) {
            Ok(store) => {
                let store = Rc::new(store);
                *self.0.borrow_mut() = Some((lifetimes, Rc::clone(&store)));
                Some(store)
            }
            Err(error) => {
                note(&format!(
                    "nobody can approve calls out of band: `{}` cannot be used: {error}",
                    path.display()
                ));
                None
            }
        }
    }
}
