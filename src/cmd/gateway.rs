//! `bouncer gateway`: one checkpoint in front of all servers that the policy names.

use super::reload;
use super::run::{audit_log, desk, kept, metrics, note};
use crate::cli::{GatewayArgs, PolicySource};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_runtime::gate::Gate;
use bouncer_runtime::plan::Plan;
use bouncer_runtime::plan::format::ServerEntry;
use bouncer_runtime::proxy::{Gateway, Patience, ServerCommand, Settings, conversation_id};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables that name the policy, the first that is set.
const VARIABLES: [&str; 2] = ["BOUNCER_CONFIG", "BORDER_PATROL_CONFIG"];
/// Files that are looked for in the current directory.
const FILES: [&str; 2] = ["bouncer.yaml", "border-patrol.yaml"];
/// Cannot happen to a plan that was loaded.
const CORRUPT: &str = "the plan's tables contradict themselves";

/// Runs the command.
pub fn command(args: GatewayArgs) -> Outcome {
    let policy = found(args.source)?;
    let plan = source::plan(&policy)?;
    let base = policy.plan.as_ref().or_else(|| policy.policy.first());
    let base = base.and_then(|file| file.parent()).unwrap_or(Path::new(""));
    let servers = servers(&plan, base, &|name| std::env::var_os(name)).map_err(Failure::Message)?;
    let lock = args.tools.as_deref().map(source::lock).transpose()?;
    let changes = reload::watch(&policy, args.tools.as_deref(), &plan);
    let metrics = metrics(&args.metrics)?;
    let kept = kept(&args.audit);
    let audit = args
        .audit
        .audit
        .or_else(|| source::beside(&plan, &policy, |meta| &meta.audit_path));
    let approvals = args
        .approvals
        .or_else(|| source::beside(&plan, &policy, |meta| &meta.approval_path));
    let conversation = conversation_id();
    let (path, audit) = audit_log(audit, &kept, &conversation, &plan)?;
    let desk = desk(&plan, approvals, conversation);
    let names: Vec<String> = servers
        .iter()
        .map(|(name, _)| format!("`{}`", escape(name)))
        .collect();
    note(&format!(
        "gating {} with plan {}, audit log `{}`",
        names.join(", "),
        plan.short_digest(),
        path.display()
    ));
    let mut gate = Gate::new(plan);
    gate.limit_provenance((args.provenance_limit as usize) << 20);
    let gateway = Gateway {
        gate,
        lock,
        audit,
        desk,
        servers,
        settings: Settings::default(),
        patience: Patience::default(),
        changes,
        metrics,
    };
    gateway
        .run()
        .map_err(|error| Failure::Message(format!("the gateway cannot run: {error}")))
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

/// How to start each server of the plan; `look_up` gives a variable of the environment.
fn servers(
    plan: &Plan,
    base: &Path,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, ServerCommand)>, String> {
    let tables = plan.tables();
    if tables.servers.is_empty() {
        return Err("the policy names no servers: add `servers:`, a mapping of names to `{command: ..., args: [...]}`".to_owned());
    }
    let mut out = Vec::new();
    for entry in tables.servers {
        let name = tables.text(&entry.name).map_err(|_| CORRUPT)?;
        let command = server(tables, entry, base, look_up)
            .map_err(|why| format!("server `{}`: {why}", escape(name)))?;
        out.push((name.to_owned(), command));
    }
    Ok(out)
}

fn server(
    tables: &bouncer_runtime::plan::Tables<'_>,
    entry: &ServerEntry,
    base: &Path,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Result<ServerCommand, String> {
    let json = tables.text(&entry.json).map_err(|_| CORRUPT)?;
    let options: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if options.get("url").is_some() {
        return Err(
            "it is reached by `url`, and this version only starts servers that have a `command`"
                .to_owned(),
        );
    }
    let text = |value: &Value, key: &str| -> Result<OsString, String> {
        let text = value
            .as_str()
            .ok_or_else(|| format!("`{key}` is not a text"))?;
        expand(text, look_up).map_err(|why| format!("`{key}`: {why}"))
    };
    let get = |key: &str| options.get(key).filter(|value| !value.is_null());
    let program = text(get("command").ok_or("it has no `command`")?, "command")?;
    let args = get("args").and_then(Value::as_array).into_iter().flatten();
    let args = args
        .map(|arg| text(arg, "args"))
        .collect::<Result<_, _>>()?;
    let env = get("env").and_then(Value::as_array).into_iter().flatten();
    let env = env
        .map(|pair| {
            let name = pair
                .get(0)
                .and_then(Value::as_str)
                .ok_or("`env` has no name")?;
            let value = pair.get(1).ok_or("`env` has no value")?;
            Ok((OsString::from(name), text(value, &format!("env.{name}"))?))
        })
        .collect::<Result<_, String>>()?;
    let cwd = get("cwd").map(|cwd| text(cwd, "cwd")).transpose()?;
    Ok(ServerCommand {
        program,
        args,
        env,
        cwd: cwd.map(|cwd| base.join(cwd)),
    })
}

/// Puts variables of the environment in the place of `${NAME}`. What they hold is never
/// part of a message.
fn expand(text: &str, look_up: &dyn Fn(&str) -> Option<OsString>) -> Result<OsString, String> {
    let mut out = OsString::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push(before);
        let (name, tail) = after
            .split_once('}')
            .ok_or("`${` is not closed: write `${NAME}`")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!(
                "`${{{}}}` does not name a variable of the environment: write `${{NAME}}`",
                escape(name)
            ));
        }
        let value = look_up(name).ok_or_else(|| {
            format!(
                "the variable `{name}` is not set in the environment: set it, or write its value"
            )
        })?;
        out.push(value);
        rest = tail;
    }
    out.push(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_their_places() {
        let look_up = |name: &str| (name == "A_1").then(|| OsString::from("${x}"));
        assert_eq!(
            expand("p${A_1}q${A_1}$r}", &look_up).unwrap(),
            "p${x}q${x}$r}"
        );
        assert_eq!(expand("$A_1 $$ {}", &look_up).unwrap(), "$A_1 $$ {}");
        for (text, named) in [
            ("${B}", "`B`"),
            ("${A_1", "not closed"),
            ("${}", "${}"),
            ("${a b}", "a b"),
        ] {
            let why = expand(text, &look_up).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }
}
