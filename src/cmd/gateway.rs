//! `bouncer gateway`: one checkpoint in front of all servers that the policy names.

use super::endpoint::{EndpointError, expand};
use super::run::{Desk, OBSERVING, audit_log, desk, kept, metrics, shared_budgets};
use super::{page, reload};
use crate::cli::{GatewayArgs, ListenArgs, PolicySource};
use crate::output::note;
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::gate::{Gate, SharedTally};
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_plan::format::ServerEntry;
use bouncer_proxy::{
    Changes, Endpoint, Gateway, Guarded, HttpGateway, HttpServer, Limits, Listen, Metrics,
    NewConversation, ServerCommand, Settings, Timeouts, TlsFiles, Tokens, conversation_id,
};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Variables that name the policy, the first that is set.
const VARIABLES: [&str; 2] = ["BOUNCER_CONFIG", "BORDER_PATROL_CONFIG"];
/// Files that are looked for in the current directory.
const FILES: [&str; 2] = ["bouncer.yaml", "border-patrol.yaml"];

/// Runs the command.
pub fn command(args: GatewayArgs) -> Outcome {
    let policy = found(args.source)?;
    let plan = source::plan(&policy)?;
    let base = policy.plan.as_ref().or_else(|| policy.policy.first());
    let base = base.and_then(|file| file.parent()).unwrap_or(Path::new(""));
    let servers = servers(&plan, base, &|name| std::env::var_os(name)).map_err(Failure::of)?;
    let guard = args.guard;
    let lock = guard.tools.as_deref().map(source::lock).transpose()?;
    let changes = reload::watch(&policy, guard.tools.as_deref(), &plan);
    let metrics = metrics(&guard.metrics)?;
    let kept = kept(&guard.audit);
    let tally = shared_budgets(&guard.budgets)?;
    let audit = guard
        .audit
        .audit
        .or_else(|| source::beside(&plan, &policy, |meta| &meta.audit_path));
    let approvals = guard
        .approvals
        .or_else(|| source::beside(&plan, &policy, |meta| &meta.approval_path));
    let shown = page::Shown {
        plan: &plan,
        lock: lock.as_ref(),
        metrics: &metrics,
        approvals: approvals.clone(),
        observes: guard.observe,
    };
    let page = page::bind(&args.page, shown)?;
    let listen = listen(&args.listen)?;
    let link = page.as_ref().and_then(page::Ready::link);
    let mut guarded = Guarded::new(approvals.as_deref()).and_file(link);
    let addresses = [
        page.as_ref().map(page::Ready::address),
        listen.as_ref().map(|listen| listen.address),
    ];
    for address in addresses.into_iter().flatten() {
        guarded = guarded.and_address(address);
    }
    let common = Common {
        plan,
        limit: guard.provenance_limit,
        tally,
        lock,
        audit,
        kept,
        approvals,
        servers,
        changes,
        metrics,
        page,
        settings: Settings {
            max_message: guard.max_message,
            longest_name: args.longest_tool_name.into(),
            observe: guard.observe,
            guarded: Arc::new(guarded),
            ..Settings::default()
        },
        timeouts: Timeouts {
            lists: Duration::from_secs(args.wait_for_servers.into()),
            ..Timeouts::default()
        },
    };
    match listen {
        Some(listen) => over_http(listen, common),
        None => over_stdio(common),
    }
}

/// What a gateway is made of, however its agents reach it.
struct Common {
    plan: Plan,
    /// How much a conversation remembers, in MiB.
    limit: Option<u32>,
    tally: Option<SharedTally>,
    lock: Option<Lock>,
    audit: Option<PathBuf>,
    kept: bouncer_audit::Options,
    approvals: Option<PathBuf>,
    servers: Vec<(String, Endpoint)>,
    changes: Option<Changes>,
    metrics: Metrics,
    page: Option<page::Ready>,
    settings: Settings,
    timeouts: Timeouts,
}

fn over_stdio(common: Common) -> Outcome {
    let plan = common.plan;
    let conversation = conversation_id();
    let (path, audit) = audit_log(common.audit, &common.kept, &conversation, &plan)?;
    let place = common.page.as_ref();
    let place = place.map(|page| page.status().conversation(&conversation));
    let desk = desk(&plan, common.approvals, conversation);
    announce(&common.servers, &plan, &path, common.settings.observe);
    let _link = common.page.and_then(|page| page.start(path));
    let mut gate = Gate::new(plan);
    gate.fronts_servers();
    gate.limit_provenance_to(common.limit);
    if let Some(tally) = common.tally {
        gate.share_budgets(tally);
    }
    let counted = common.metrics.clone();
    let gateway = Gateway {
        gate,
        lock: common.lock,
        audit,
        approvals: desk,
        servers: common.servers,
        settings: common.settings,
        timeouts: common.timeouts,
        changes: common.changes,
        metrics: common.metrics,
        status: place,
    };
    let ended = gateway.run();
    counted.finish();
    ended.map_err(|error| Failure::Message(format!("the gateway cannot run: {error}")))
}

fn announce(servers: &[(String, Endpoint)], plan: &Plan, audit: &Path, observes: bool) {
    let names: Vec<String> = servers
        .iter()
        .map(|(name, _)| format!("`{}`", escape(name)))
        .collect();
    note(&format!(
        "gating {} with plan {}, audit log `{}`",
        names.join(", "),
        plan.short_digest(),
        audit.display()
    ));
    if observes {
        note(OBSERVING);
    }
}

fn over_http(listen: Listen, common: Common) -> Outcome {
    let Common {
        plan,
        limit,
        tally,
        lock,
        audit,
        kept,
        approvals,
        servers,
        changes,
        metrics,
        page,
        settings,
        timeouts,
    } = common;
    // What would fail for every conversation fails at once.
    let (path, own) = audit_log(audit.clone(), &kept, &conversation_id(), &plan)?;
    announce(&servers, &plan, &path, settings.observe);
    let board = page.as_ref().map(|page| page.status().clone());
    let _link = page.and_then(|page| page.start(path));
    let places = board.clone();
    let desks = Desk::default();
    let open = Box::new(move |conversation: &str, plan: &Plan| {
        let (_, audit) = audit_log(audit.clone(), &kept, conversation, plan).map_err(
            |failure| match failure {
                Failure::Message(why) => why,
                _ => "the audit log cannot be opened".to_owned(),
            },
        )?;
        let desk = desks.of(plan, approvals.clone(), conversation.to_owned());
        let mut gate = Gate::new(plan.clone());
        gate.fronts_servers();
        gate.limit_provenance_to(limit);
        if let Some(tally) = &tally {
            gate.share_budgets(SharedTally::clone(tally));
        }
        Ok(NewConversation {
            gate,
            audit,
            approvals: desk,
            status: places
                .as_ref()
                .map(|status| status.conversation(conversation)),
        })
    });
    let address = listen.address;
    let counted = metrics.clone();
    let gateway = HttpGateway {
        listen,
        plan,
        open,
        audit: own,
        lock,
        servers,
        settings,
        timeouts,
        changes,
        metrics,
        status: board,
    };
    let ended = gateway.run();
    counted.finish();
    ended.map_err(|error| Failure::Message(format!("cannot listen at `{address}`: {error}")))
}

/// Where to listen, and to whom.
fn listen(args: &ListenArgs) -> Result<Option<Listen>, Failure> {
    let Some(listen) = &args.listen else {
        return Ok(None);
    };
    let address = page::address("--listen", listen)?;
    let tokens = match &args.tokens {
        Some(path) => Tokens::parse(&source::read_text(path)?)
            .map_err(|why| Failure::Message(format!("`{}`: {why}", path.display())))?,
        None => Tokens::default(),
    };
    let conversations = args.max_conversations as usize;
    let per_principal = match tokens.is_empty() {
        true => conversations,
        false => conversations.div_ceil(2),
    };
    Ok(Some(Listen {
        address,
        tls: (args.tls_cert.clone().zip(args.tls_key.clone()))
            .map(|(certificate, key)| TlsFiles { certificate, key }),
        tokens,
        hosts: args.allow_host.clone(),
        origins: args.allow_origin.clone(),
        limits: Limits {
            conversations,
            per_principal,
            idle: Duration::from_secs(args.idle.into()),
            drain: Duration::from_secs(args.drain.into()),
            ..Limits::default()
        },
    }))
}

/// The policy that the command line names, or else the environment, or else a file in
/// the current directory.
fn found(source: PolicySource) -> Result<PolicySource, Failure> {
    if source.plan.is_some() || !source.policy.is_empty() {
        return Ok(source);
    }
    let named = VARIABLES.iter().find_map(std::env::var_os);
    let named = named.filter(|path| !path.is_empty()).map(PathBuf::from);
    let here = || FILES.iter().map(PathBuf::from).find(|path| path.exists());
    let path = named.or_else(here).ok_or_else(|| {
        let why = "no policy is named: give `--policy` or `--plan`, set `BOUNCER_CONFIG`, or write \
            `bouncer.yaml` into the current directory";
        Failure::Message(why.to_owned())
    })?;
    let policy = vec![path];
    Ok(PolicySource { policy, ..source })
}

/// How to reach each server of the plan; `look_up` gives a variable of the environment.
fn servers(
    plan: &Plan,
    base: &Path,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, Endpoint)>, EndpointError> {
    let tables = plan.tables();
    if tables.servers.is_empty() {
        return Err(EndpointError::NoServers);
    }
    let mut out = Vec::new();
    for entry in tables.servers {
        let name = tables
            .text(&entry.name)
            .map_err(|_| EndpointError::Corrupt)?;
        let endpoint = server(tables, entry, base, look_up)
            .map_err(|why| EndpointError::Server(name.to_owned(), Box::new(why)))?;
        out.push((name.to_owned(), endpoint));
    }
    Ok(out)
}

fn server(
    tables: &bouncer_plan::Tables<'_>,
    entry: &ServerEntry,
    base: &Path,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Endpoint, EndpointError> {
    let json = tables
        .text(&entry.json)
        .map_err(|_| EndpointError::Corrupt)?;
    let options: Value = serde_json::from_str(json).map_err(EndpointError::Record)?;
    let text = |value: &Value, key: &str| -> Result<OsString, EndpointError> {
        let text = value
            .as_str()
            .ok_or_else(|| EndpointError::NotText(key.to_owned()))?;
        expand(text, look_up).map_err(|why| why.at(key))
    };
    let get = |key: &str| options.get(key).filter(|value| !value.is_null());
    if let Some(url) = get("url") {
        let plain = |value: &Value, key: &str| -> Result<String, EndpointError> {
            // Without the value: it may be a secret.
            let not_text = |_| EndpointError::NotText(key.to_owned());
            text(value, key)?.into_string().map_err(not_text)
        };
        let headers = pairs(get("headers"), "headers")?;
        let headers = headers
            .into_iter()
            .map(|(name, value)| {
                let value = plain(value, &format!("headers.{name}"))?;
                Ok((name.to_owned(), value))
            })
            .collect::<Result<Vec<_>, EndpointError>>()?;
        return HttpServer::new(&plain(url, "url")?, &headers)
            .map(Endpoint::Url)
            .map_err(|why| EndpointError::Url(why.to_string()));
    }
    let program = text(get("command").ok_or(EndpointError::NoCommand)?, "command")?;
    let args = get("args").and_then(Value::as_array).into_iter().flatten();
    let args = args
        .map(|arg| text(arg, "args"))
        .collect::<Result<_, _>>()?;
    let env = pairs(get("env"), "env")?
        .into_iter()
        .map(|(name, value)| Ok((OsString::from(name), text(value, &format!("env.{name}"))?)))
        .collect::<Result<_, EndpointError>>()?;
    let cwd = get("cwd").map(|cwd| text(cwd, "cwd")).transpose()?;
    Ok(Endpoint::Command(ServerCommand {
        program,
        args,
        env,
        cwd: cwd.map(|cwd| base.join(cwd)),
    }))
}

/// Names and values, as the plan keeps them.
fn pairs<'a>(
    list: Option<&'a Value>,
    key: &str,
) -> Result<Vec<(&'a str, &'a Value)>, EndpointError> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.map(|pair| {
        let name = pair.get(0).and_then(Value::as_str);
        name.zip(pair.get(1))
            .ok_or_else(|| EndpointError::NoPair(key.to_owned()))
    })
    .collect()
}
