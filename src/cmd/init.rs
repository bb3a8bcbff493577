//! `bouncer init`: puts bouncer before the servers of MCP clients' configurations.

mod gateway;
pub mod review;

use super::client_config::Upstream;
use super::pin::{self, PinOptions};
use crate::cli::{InitArgs, Layers, PolicySource};
use crate::clients::remote::{self, Remote};
use crate::clients::{Client, Document, Entry, Kind, Launch, Places, file};
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_proxy::{HttpServer, ServerCommand};
use review::{Change, Decision};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the lock of a file's servers is called, after the file.
pub const LOCK: &str = ".bouncer.lock";

/// Runs the command.
pub fn run(args: &InitArgs) -> Outcome {
    let files = files(&args.config, args.client)?;
    check_policy(args)?;
    let program = match &args.program {
        Some(program) => program.clone(),
        None => this_program()?,
    };
    let mut out = anstream::stdout().lock();
    let mut plans = Vec::new();
    let mut named = args.server.clone();
    let mut failed = false;
    for (client, path) in files {
        let title = review::title(client, &path);
        match plan(args, &program, &path, &mut named) {
            Ok(plan) => {
                writeln!(out, "{title}")?;
                for (name, says) in &plan.notes {
                    writeln!(out, "  {}: {says}", escape(name))?;
                }
                if plan.notes.is_empty() {
                    writeln!(out, "  no servers")?;
                }
                if plan.wraps() {
                    review::show(&mut out, &plan.change)?;
                    plans.push(plan);
                }
            }
            // A file that cannot be understood is nothing to guess about; others can
            // still be guarded.
            Err(why) => {
                failed = true;
                crate::output::error_line(&format!("`{}`: {why}", path.display()));
            }
        }
    }
    if let Some(name) = named.first() {
        return Err(Failure::Message(format!(
            "there is no server `{}` in these files",
            escape(name)
        )));
    }
    if plans.is_empty() {
        writeln!(out, "nothing to change")?;
        return Ok(if failed { ERROR } else { 0 });
    }
    drop(out);
    let count = plans.len();
    match review::agree(args.yes, &format!("write {}?", review::files(count)))? {
        Decision::Yes => {}
        Decision::No => return Ok(ERROR),
    }
    for mut plan in plans {
        failed |= !apply(args, &program, &mut plan)?;
    }
    Ok(if failed { ERROR } else { 0 })
}

/// What is to be done to one file.
struct Plan {
    change: Change,
    /// The entries that will be wrapped, or replaced by the gateway.
    wrapped: Vec<Entry>,
    /// What is said of each entry.
    notes: Vec<(String, String)>,
    lock: PathBuf,
    /// The gateway's policy, and where it goes.
    policy: Option<(PathBuf, String)>,
}

impl Plan {
    const fn wraps(&self) -> bool {
        !self.wrapped.is_empty()
    }
}

/// The files to look at.
pub fn files(
    named: &[PathBuf],
    client: Option<Client>,
) -> Result<Vec<(Option<Client>, PathBuf)>, Failure> {
    if !named.is_empty() {
        return Ok(named.iter().map(|path| (None, path.clone())).collect());
    }
    let places = Places::of_this_machine().map_err(Failure::Message)?;
    let found = places.found(client);
    if found.is_empty() {
        return Err(Failure::Message(
            "no MCP client's configuration was found here or in the home directory: name one with `--config`"
                .to_owned(),
        ));
    }
    Ok(found.into_iter().map(|(c, path)| (Some(c), path)).collect())
}

/// A policy that does not compile would leave the client without its servers.
fn check_policy(args: &InitArgs) -> Result<(), Failure> {
    if args.policy.is_empty() && args.plan.is_none() {
        return Ok(());
    }
    let policy = PolicySource {
        plan: args.plan.clone(),
        map_plan: false,
        policy: args.policy.clone(),
        layers: Layers {
            no_packs: false,
            no_heuristics: false,
        },
    };
    source::plan(&policy).map(|_| ())
}

fn this_program() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::Message(format!("where bouncer lies is not known: {error}")))?;
    if is_cached(&path) {
        return Err(Failure::Message(format!(
            "this bouncer, `{}`, lies in a cache that may be emptied, and the client would lose its servers: \
             install it (`npm install --global`, `pip install`, `uv tool install`), or say with `--program` what to start",
            path.display()
        )));
    }
    path.into_os_string().into_string().map_err(|path| {
        let shown = PathBuf::from(path);
        Failure::Message(format!(
            "`{}` is not UTF-8: give `--program`",
            shown.display()
        ))
    })
}

/// Whether a program lies where `npx`, `uvx` and `pipx run` keep what they fetched.
fn is_cached(program: &Path) -> bool {
    let parts: Vec<&str> = program.iter().filter_map(|part| part.to_str()).collect();
    let of_uv = |pair: &[&str]| matches!(pair, ["uv", inner] if inner.starts_with("archive-v"));
    let of_pipx = |pair: &[&str]| matches!(pair, ["pipx", ".cache"] | [".cache", "pipx"]);
    parts.contains(&"_npx") || parts.windows(2).any(|pair| of_uv(pair) || of_pipx(pair))
}

/// What to do with one file. Names that were found are taken out of `named`.
fn plan(
    args: &InitArgs,
    program: &str,
    path: &Path,
    named: &mut Vec<String>,
) -> Result<Plan, String> {
    let read = file::read(path).map_err(|error| error.to_string())?;
    let mut document = Document::parse(&read.path, &read.text)?;
    let lock = file::beside(&read.path, LOCK);
    let mut notes = Vec::new();
    let mut wrapped = Vec::new();
    for entry in document.entries() {
        if !args.server.is_empty() {
            if !args.server.contains(&entry.name) {
                continue;
            }
            named.retain(|name| *name != entry.name);
        }
        let says = match &entry.kind {
            Kind::Plain(launch) => match args.gateway.then(|| gateway::servable(launch)) {
                Some(Err(why)) => format!("stays as it is, not guarded: {why}"),
                Some(Ok(_)) => {
                    wrapped.push(entry.clone());
                    "goes behind the gateway".to_owned()
                }
                None => {
                    wrapped.push(entry.clone());
                    "will be guarded".to_owned()
                }
            },
            Kind::Remote(remote) if !args.gateway && remote.unreachable.is_none() => {
                if let Some(Err(why)) = (!remote.has_placeholders())
                    .then(|| HttpServer::new(&remote.url, &remote.headers))
                {
                    format!("not guarded: {why}")
                } else if remote.has_credentials() {
                    wrapped.push(entry.clone());
                    "will be guarded".to_owned()
                } else if args.no_pin || remote.has_placeholders() {
                    "not guarded: nothing in it proves who asks, and whether the server wants a log-in, which bouncer does not do, \
                     is not known without asking it, which `init` only does without `--no-pin` and placeholders"
                        .to_owned()
                } else {
                    wrapped.push(entry.clone());
                    "will be guarded, if it answers without a log-in".to_owned()
                }
            }
            other => standing(other),
        };
        notes.push((entry.name, says));
    }
    let mut policy = None;
    if args.gateway {
        wrapped = gateway::one_section(wrapped, &mut notes);
        if !wrapped.is_empty() {
            policy = Some(gateway::replace(
                &mut document,
                &wrapped,
                program,
                &read.path,
                (!args.no_pin).then_some(&lock),
            )?);
        }
    } else {
        for entry in &wrapped {
            let lock = pinnable(args, entry).then_some(lock.as_path());
            wrap(&mut document, args, program, entry, lock)?;
        }
    }
    Ok(Plan {
        change: Change {
            new: document.text(),
            read,
        },
        wrapped,
        notes,
        lock,
        policy,
    })
}

/// What an entry that is left alone is.
pub fn standing(kind: &Kind) -> String {
    match kind {
        Kind::Plain(_) => "not guarded".to_owned(),
        Kind::Wrapped { .. } => "already guarded".to_owned(),
        Kind::Stashed(_) => "already guarded, by an older `init`".to_owned(),
        Kind::Bouncer { subcommand, .. } => format!("is `bouncer {}` itself", escape(subcommand)),
        Kind::Fronted { .. } => "already guarded".to_owned(),
        Kind::Remote(Remote {
            unreachable: Some(why),
            ..
        }) => format!("not guarded: {why}"),
        Kind::Remote(remote) => format!(
            "not guarded: it is reached at {}; {INSTEAD}",
            escape(&remote.url)
        ),
        Kind::Other(why) => format!("not guarded: {}", escape(why)),
    }
}

/// What to do about a server that is reached at a URL and stays as it is.
const INSTEAD: &str = "with a token of your own for it, in its `headers`, `bouncer init` guards it, and so does a gateway's policy, \
    `servers: {NAME: {url: …, headers: {…}}}`";

fn pinnable(args: &InitArgs, entry: &Entry) -> bool {
    let launched = entry
        .launch()
        .is_some_and(|launch| !launch.has_placeholders());
    let reached = entry
        .remote()
        .is_some_and(|remote| !remote.has_placeholders());
    !args.no_pin && (launched || reached)
}

/// Puts bouncer before an entry's server.
fn wrap(
    document: &mut Document,
    args: &InitArgs,
    program: &str,
    entry: &Entry,
    lock: Option<&Path>,
) -> Result<(), String> {
    let mut options = options(args, &entry.name, lock)?;
    if entry.remote().is_none() {
        options.push("--".to_owned());
        return document.wrap(entry, program, &options);
    }
    push(&mut options, remote::OPTION, remote::VARIABLE);
    document.front(entry, program, &options)
}

/// The arguments of bouncer before a server's own command.
fn options(args: &InitArgs, name: &str, lock: Option<&Path>) -> Result<Vec<String>, String> {
    let mut out = vec!["run".to_owned()];
    push(&mut out, "--server", name);
    for policy in &args.policy {
        push(&mut out, "--policy", &absolute(policy)?);
    }
    if let Some(plan) = &args.plan {
        push(&mut out, "--plan", &absolute(plan)?);
    }
    if let Some(lock) = lock {
        push(&mut out, "--tools", &absolute(lock)?);
    }
    Ok(out)
}

fn push(out: &mut Vec<String>, option: &str, value: &str) {
    if value.starts_with('-') {
        out.push(format!("{option}={value}"));
    } else {
        out.extend([option.to_owned(), value.to_owned()]);
    }
}

/// The client starts servers in a directory of its own choice.
fn absolute(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let shown = path.display().to_string();
    let text = path.into_os_string().into_string();
    text.map_err(|_| format!("`{shown}` is not UTF-8"))
}

/// Pins the tools and writes the file. Gives false if something is left to be done.
fn apply(args: &InitArgs, program: &str, plan: &mut Plan) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    let mut whole = true;
    if !args.no_pin {
        let mut unpinned = Vec::new();
        let mut refused = Vec::new();
        for entry in &plan.wrapped {
            let name = escape(&entry.name);
            let pinned = match (pin_entry(args, entry, plan)?, entry.remote()) {
                (Ok(()), _) => true,
                // Bouncer before it would break what works for the client.
                (Err(why), Some(remote)) => {
                    writeln!(
                        out,
                        "{name}: stays as it is, not guarded: it does not answer bouncer, which logs in nowhere: {why}; {INSTEAD}"
                    )?;
                    whole &= !remote.has_credentials();
                    refused.push(entry.clone());
                    continue;
                }
                (Err(why), None) => {
                    crate::output::error_line(&format!(
                        "{name}: its tools could not be written down: {why}; they are pinned whenever it starts"
                    ));
                    false
                }
            };
            whole &= pinned;
            // One lock holds all servers of a gateway, so it has to hold each.
            if !pinned || (args.gateway && !pinnable(args, entry)) {
                unpinned.push(entry.clone());
            }
        }
        if args.gateway && !unpinned.is_empty() {
            writeln!(
                out,
                "the gateway pins what its servers list whenever it starts"
            )?;
        }
        plan.wrapped.retain(|entry| !refused.contains(entry));
        if plan.wrapped.is_empty() {
            writeln!(out, "nothing was written")?;
            return Ok(whole);
        }
        // Held to a lock that lacks them, their tools would all be denied.
        if !unpinned.is_empty() || !refused.is_empty() {
            plan.change.new =
                without_lock(args, program, plan, &unpinned).map_err(Failure::Message)?;
        }
    }
    let path = plan.change.read.path.clone();
    let failed = |error: &std::io::Error| Failure::file("write", &path, error);
    if let Some((to, text)) = &plan.policy {
        bouncer_system::replace::write_private(to, text)
            .map_err(|error| Failure::file("write", to, &error))?;
        writeln!(out, "wrote the gateway's policy `{}`", to.display())?;
    }
    let copy = file::replace(&plan.change.read, &plan.change.new, true).map_err(|e| failed(&e))?;
    writeln!(out, "wrote `{}`", path.display())?;
    if let Some(copy) = copy {
        writeln!(out, "  the original is kept in `{}`", copy.display())?;
    }
    writeln!(out, "  restart the client so that it takes effect")?;
    Ok(whole)
}

/// Writes the tools of one server into the lock; inside, why it does not have them.
fn pin_entry(args: &InitArgs, entry: &Entry, plan: &Plan) -> Result<Result<(), String>, Failure> {
    let mut out = anstream::stdout().lock();
    let name = escape(&entry.name);
    let upstream = match (entry.launch(), entry.remote()) {
        (Some(launch), _) => Upstream::Launch {
            command: server_command(launch),
            name: entry.name.clone(),
        },
        (None, Some(remote)) => Upstream::Remote {
            remote: remote.clone(),
            name: entry.name.clone(),
        },
        (None, None) => return Ok(Ok(())),
    };
    if !pinnable(args, entry) {
        writeln!(
            out,
            "{name}: not pinned, since only the client can fill in its `${{…}}`; its tools are pinned whenever it starts"
        )?;
        return Ok(Ok(()));
    }
    let once = match entry.remote() {
        Some(_) => "asking it once",
        None => "starting it once",
    };
    writeln!(out, "{name}: {once}, to write down its tools")?;
    out.flush()?;
    let pinned = pin::pin(&PinOptions {
        upstream,
        server: None,
        output: plan.lock.clone(),
        force: true,
        accept: None,
        timeout: Duration::from_secs(args.timeout),
    });
    Ok(match pinned {
        Ok(pinned) => {
            writeln!(out, "{name}: {}", pinned.summary())?;
            Ok(())
        }
        Err(why) => Err(why),
    })
}

/// How a server is started, from its entry.
pub fn server_command(launch: &Launch) -> ServerCommand {
    let env = launch.env.iter();
    ServerCommand {
        program: launch.program.clone().into(),
        args: launch.args.iter().map(Into::into).collect(),
        env: env
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: launch.cwd.as_ref().map(PathBuf::from),
    }
}

/// The file again, where some servers could not be pinned.
fn without_lock(
    args: &InitArgs,
    program: &str,
    plan: &mut Plan,
    unpinned: &[Entry],
) -> Result<String, String> {
    let mut document = Document::parse(&plan.change.read.path, &plan.change.read.text)?;
    if args.gateway {
        let path = plan.change.read.path.clone();
        plan.policy = Some(gateway::replace(
            &mut document,
            &plan.wrapped,
            program,
            &path,
            None,
        )?);
        return Ok(document.text());
    }
    for entry in &plan.wrapped {
        let locked = pinnable(args, entry) && !unpinned.contains(entry);
        let lock = locked.then_some(plan.lock.as_path());
        wrap(&mut document, args, program, entry, lock)?;
    }
    Ok(document.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_no_place_to_start_from() {
        for cached in [
            "/home/me/.npm/_npx/6f5d1c/node_modules/bouncer-gate/bin/bouncer",
            "/home/me/.cache/uv/archive-v0/Xq2/bin/bouncer",
            "/home/me/.local/pipx/.cache/1f/bin/bouncer",
        ] {
            assert!(is_cached(Path::new(cached)), "{cached}");
        }
        for kept in [
            "/usr/bin/bouncer",
            "/home/me/.local/share/uv/tools/bouncer-gate/bin/bouncer",
            "/home/me/.local/pipx/venvs/bouncer-gate/bin/bouncer",
            "/home/me/.cache/target/release/bouncer",
        ] {
            assert!(!is_cached(Path::new(kept)), "{kept}");
        }
    }
}
