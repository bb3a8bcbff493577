//! `bouncer init`: puts bouncer before the servers of MCP clients' configurations.

pub mod review;

use super::client_config::Upstream;
use super::endpoint::server_command;
use super::pin::{self, PinError, PinOptions};
use crate::cli::{InitArgs, Layers, PolicySource};
use crate::output::{ERROR, Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_proxy::HttpServer;
use bouncer_setup::clients::remote::Remote;
use bouncer_setup::clients::{Client, Entry, Places, file};
use bouncer_setup::init::{self, Options, Plan};
use bouncer_setup::{INSTEAD, clients};
use review::Decision;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Runs the command.
pub fn run(args: &InitArgs) -> Outcome {
    let files = files(&args.config, args.client)?;
    check_policy(args)?;
    let program = match &args.program {
        Some(program) => program.clone(),
        None => this_program()?,
    };
    let options = Options {
        program: &program,
        servers: &args.server,
        gateway: args.gateway,
        no_pin: args.no_pin,
        policies: &args.policy,
        plan: args.plan.as_deref(),
        default_policy: source::DEFAULT,
        unreachable: &unreachable,
    };
    let mut out = anstream::stdout().lock();
    let mut plans = Vec::new();
    let mut named = args.server.clone();
    let mut failed = false;
    for (client, path) in files {
        let title = clients::title(client, &path);
        match init::plan(&options, &path, &mut named) {
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
        failed |= !apply(args, &options, &mut plan)?;
    }
    Ok(if failed { ERROR } else { 0 })
}

/// The files to look at.
pub fn files(
    named: &[PathBuf],
    client: Option<Client>,
) -> Result<Vec<(Option<Client>, PathBuf)>, Failure> {
    if !named.is_empty() {
        return Ok(named.iter().map(|path| (None, path.clone())).collect());
    }
    let places = Places::of_this_machine().map_err(Failure::of)?;
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

/// Why a server cannot be reached at its URL, if so.
fn unreachable(remote: &Remote) -> Option<String> {
    let error = HttpServer::new(&remote.url, &remote.headers).err()?;
    Some(error.to_string())
}

fn this_program() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::Message(format!("where bouncer lies is not known: {error}")))?;
    if init::is_cached(&path) {
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

/// Pins the tools and writes the file. Gives false if something is left to be done.
fn apply(args: &InitArgs, options: &Options<'_>, plan: &mut Plan) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    let mut whole = true;
    if !args.no_pin {
        let mut unpinned = Vec::new();
        let mut refused = Vec::new();
        for entry in &plan.wrapped {
            let name = escape(&entry.name);
            let pinned = match (pin_entry(args, options, entry, plan)?, entry.remote()) {
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
            if !pinned || (args.gateway && !options.pinnable(entry)) {
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
            plan.leave_out(options, &unpinned).map_err(Failure::of)?;
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
fn pin_entry(
    args: &InitArgs,
    options: &Options<'_>,
    entry: &Entry,
    plan: &Plan,
) -> Result<Result<(), PinError>, Failure> {
    let mut out = anstream::stdout().lock();
    let name = escape(&entry.name);
    let place = plan
        .wrapped
        .iter()
        .position(|other| other.name == entry.name);
    let called = match place {
        Some(place) if options.gateway => bouncer_setup::good_names(&plan.wrapped)
            .into_iter()
            .nth(place),
        _ => None,
    };
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
    if !options.pinnable(entry) {
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
        diff: false,
        upstream,
        server: called,
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
