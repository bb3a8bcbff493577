//! `bouncer list`, `approve`, `deny` and `watch`: the human's side of calls that wait.

use super::why;
use crate::cli::Layers;
use crate::cli::{ApproveArgs, DenyArgs, ListArgs, PolicySource, Standing, StoreArgs, WatchArgs};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::gate::First;
use bouncer_store::approvals::{Choice, DecideError, Lifetimes, Record, Status, Store};
use bouncer_system::private;
use std::collections::HashSet;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often `watch` looks for new calls.
const GLANCE: Duration = Duration::from_millis(300);
/// Calls that `watch` looks at in one go.
const MANY: usize = 1000;
/// Characters of arguments that are shown on a terminal; nobody reads more there.
const SHOWN: usize = 4000;

/// Opens the store that the arguments name.
fn open(args: &StoreArgs) -> Result<Store, Failure> {
    let mut path = args.approvals.clone();
    let mut lifetimes = Lifetimes::default();
    if args.plan.is_some() || !args.policy.is_empty() {
        let source = PolicySource {
            plan: args.plan.clone(),
            map_plan: false,
            policy: args.policy.clone(),
            layers: Layers {
                no_packs: false,
                no_heuristics: false,
            },
        };
        let plan = source::plan(&source)?;
        lifetimes = source::lifetimes(&plan);
        path = source::beside(&plan, &source, |meta| &meta.approval_path);
    }
    let path = path.or_else(Store::default_path).ok_or_else(|| {
        let why = "there is no home directory for the approvals: name a file with `--approvals`";
        Failure::Message(why.to_owned())
    })?;
    Store::open(&path, lifetimes).map_err(|error| Failure::file("use", &path, &error))
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::Message(error.to_string())
}

/// Runs `list`.
pub fn list(args: &ListArgs) -> Outcome {
    let status = args.status.map(|standing| match standing {
        Standing::Pending => Status::Pending,
        Standing::Approved => Status::Approved,
        Standing::Denied => Status::Denied,
        Standing::Used => Status::Used,
        Standing::Expired => Status::Expired,
    });
    let store = open(&args.store)?;
    let records = match &args.id {
        Some(id) => vec![one(&store, id)?],
        None => store.list(status, args.limit).map_err(|e| failed(&e))?,
    };
    if let (Some(path), Some(record)) = (&args.save, records.first()) {
        save(path, record).map_err(|error| Failure::file("write", path, &error))?;
    }
    let mut stdout = anstream::stdout().lock();
    for record in &records {
        if args.json {
            let line = serde_json::to_string(record).map_err(|e| failed(&e))?;
            writeln!(stdout, "{line}")?;
        } else {
            show(&mut stdout, record)?;
        }
    }
    if records.is_empty() && !args.json {
        writeln!(stdout, "no calls to show")?;
    }
    Ok(0)
}

fn one(store: &Store, id: &str) -> Result<Record, Failure> {
    let record = store.get(id).map_err(|e| failed(&e))?;
    record.ok_or_else(|| failed(&DecideError::Unknown(id.to_owned())))
}

/// Writes the arguments where only their reader sees them.
fn save(path: &Path, record: &Record) -> std::io::Result<()> {
    let taken = std::io::ErrorKind::AlreadyExists;
    if path.symlink_metadata().is_ok() {
        return Err(taken.into());
    }
    private::private_file(path)?.write_all(record.arguments.as_bytes())
}

/// Whether more is to be read than is shown on a terminal.
fn is_long(record: &Record) -> bool {
    record.arguments.chars().nth(SHOWN).is_some()
}

/// Runs `approve`.
pub fn approve(args: &ApproveArgs) -> Outcome {
    let record = one(&open(&args.store)?, &args.id)?;
    let id = escape(&record.id);
    match &args.saved {
        // Nobody says yes to what they cannot have seen.
        None if is_long(&record) && record.status == Status::Pending => {
            return Err(Failure::Message(format!(
                "{id} is too long to be shown here: write it into a file with `bouncer list {id} --save FILE`, read that, and say `bouncer approve {id} --saved FILE`"
            )));
        }
        None => {}
        Some(path) => {
            let saved = source::read_text(path)?;
            if saved != record.arguments {
                return Err(Failure::Message(format!(
                    "`{}` does not hold the arguments of {id}",
                    path.display()
                )));
            }
        }
    }
    let choice = match args.for_conversation {
        true => Choice::ApproveForConversation,
        false => Choice::Approve,
    };
    decide(&args.id, &args.store, choice)
}

/// Runs `deny`.
pub fn deny(args: &DenyArgs) -> Outcome {
    decide(&args.id, &args.store, Choice::Deny)
}

fn decide(id: &str, store: &StoreArgs, choice: Choice) -> Outcome {
    let record = open(store)?.decide(id, choice).map_err(|e| failed(&e))?;
    let mut stdout = anstream::stdout().lock();
    show(&mut stdout, &record)?;
    if choice != Choice::Deny {
        writeln!(stdout, "{}", holds(&record))?;
    }
    Ok(0)
}

/// Runs `watch`.
pub fn watch(args: &WatchArgs) -> Outcome {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::Message(
            "`watch` asks on a terminal: use `list`, `approve` and `deny` in scripts".to_owned(),
        ));
    }
    let store = open(&args.store)?;
    let mut stdout = anstream::stdout().lock();
    let mut seen = HashSet::new();
    writeln!(stdout, "waiting for calls to decide; stop with ctrl-c")?;
    loop {
        let waiting = store
            .list(Some(Status::Pending), MANY)
            .map_err(|e| failed(&e))?;
        // The oldest first.
        for record in waiting.iter().rev() {
            if !seen.insert(record.id.clone()) {
                continue;
            }
            writeln!(stdout)?;
            show(&mut stdout, record)?;
            if is_long(record) {
                let id = escape(&record.id);
                writeln!(
                    stdout,
                    "too long to be approved here: `bouncer approve {id} --saved FILE` does, once it is read; `bouncer deny {id}` says no"
                )?;
                continue;
            }
            let (yes, wide) = choices(record);
            let choice = loop {
                write!(
                    stdout,
                    "[y]es, {yes}; for the [c]onversation, {wide}; [n]o; [l]ater: "
                )?;
                stdout.flush()?;
                let mut answer = String::new();
                if std::io::stdin().lock().read_line(&mut answer)? == 0 {
                    return Ok(0);
                }
                match answer.trim() {
                    "y" | "yes" => break Some(Choice::Approve),
                    "c" | "conversation" => break Some(Choice::ApproveForConversation),
                    "n" | "no" => break Some(Choice::Deny),
                    "l" | "later" => break None,
                    _ => {}
                }
            };
            match choice.map(|choice| store.decide(&record.id, choice)) {
                None => {}
                Some(Ok(record)) if record.status == Status::Approved => {
                    writeln!(stdout, "{}", holds(&record))?;
                }
                Some(Ok(record)) => writeln!(stdout, "{}", record.status.name())?,
                // It may have been decided elsewhere, or have expired, meanwhile.
                Some(Err(error)) => writeln!(stdout, "{error}")?,
            }
        }
        std::thread::sleep(GLANCE);
    }
}

/// One request: what will run, why it was asked, where it stands.
fn show(out: &mut impl Write, record: &Record) -> std::io::Result<()> {
    let colour = match record.status {
        Status::Pending => "33",
        Status::Approved | Status::Used => "32",
        Status::Denied => "31",
        Status::Expired => "2",
    };
    let server = record
        .server
        .as_deref()
        .map(|name| format!("{}: ", escape(name)));
    writeln!(
        out,
        "{}  \u{1b}[{colour}m{}\u{1b}[0m  {}{}",
        escape(&record.id),
        record.status.name(),
        server.unwrap_or_default(),
        escape(&record.tool),
    )?;
    if let (Some(param), Some(destination)) = (&record.param, &record.destination) {
        writeln!(
            out,
            "    destination  {} = {}",
            escape(param),
            escape(destination)
        )?;
    }
    let arguments = escape(&record.arguments.chars().take(SHOWN).collect::<String>());
    writeln!(out, "    arguments    {arguments}")?;
    if is_long(record) {
        let (left, id) = (record.arguments.chars().count() - SHOWN, escape(&record.id));
        writeln!(
            out,
            "                 … and {left} more characters: `bouncer list {id} --save FILE` writes all of it"
        )?;
    }
    if record.around.redacted {
        writeln!(out, "                 (secrets are not shown)")?;
    }
    writeln!(out, "    why          {}", escape(&record.reason))?;
    if let Some(grounds) = record.grounds.as_ref().filter(|g| g.seen.is_some()) {
        writeln!(out, "    first seen   {}", why::seen(grounds))?;
    }
    for (what, first) in [
        ("untrusted text", &record.around.read.untrusted),
        ("private text", &record.around.read.private),
    ] {
        if let Some(first) = first {
            writeln!(out, "    read before  {what}, {}", read(first))?;
        }
    }
    if let Some(client) = &record.around.client {
        writeln!(out, "    client       {}", escape(client))?;
    }
    writeln!(out, "    conversation {}", escape(&record.conversation))?;
    if let Some(at) = &record.at {
        writeln!(out, "    policy       {}", escape(at))?;
    }
    if record.lasting {
        let times = match record.uses {
            1 => "once".to_owned(),
            uses => format!("{uses} times"),
        };
        writeln!(out, "    approved     for the conversation; used {times}")?;
    }
    let asked = ago(record.created_ms);
    match record.status {
        Status::Pending | Status::Approved => {
            writeln!(
                out,
                "    asked        {asked}, lapses {}",
                ahead(record.expires_ms)
            )
        }
        _ => writeln!(out, "    asked        {asked}"),
    }
}

/// Where something was read first.
fn read(first: &First) -> String {
    let server = first
        .server
        .as_deref()
        .map(|name| format!("{}: ", escape(name)));
    let server = server.unwrap_or_default();
    format!(
        "first in {server}{} (result {})",
        escape(&first.tool),
        first.call
    )
}

/// What a yes is good for: once, and for the conversation.
const fn choices(record: &Record) -> (&'static str, &'static str) {
    let wide = match record.destination {
        Some(_) => {
            "whatever this tool sends to this destination, as often as the conversation does"
        }
        None => "exactly this call, as often as the conversation makes it",
    };
    ("exactly this call, once", wide)
}

fn holds(record: &Record) -> String {
    if record.lasting {
        return format!(
            "approved: {}; `bouncer deny {}` takes that back",
            choices(record).1,
            escape(&record.id)
        );
    }
    let what = choices(record).0;
    format!(
        "approved: {what}; the agent has to make the call again {}",
        ahead(record.expires_ms).replacen("in ", "within ", 1)
    )
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    })
}

fn ago(ms: i64) -> String {
    format!("{} ago", span(now_ms().saturating_sub(ms)))
}

fn ahead(ms: i64) -> String {
    format!("in {}", span(ms.saturating_sub(now_ms())))
}

/// A length of time in one unit.
fn span(ms: i64) -> String {
    let seconds = (ms / 1000).max(0);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
