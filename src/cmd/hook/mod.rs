//! `bouncer hook`: a decision before an agent's own tool runs, and a memory of what it
//! returned.

mod plans;

use crate::cli::HookArgs;
use crate::output::{Failure, Outcome};
use bouncer_audit::{Arguments, Audit, Entry, Outcome as Fate};
use bouncer_engine::gate::Gate;
use bouncer_hook::SERVER;
use bouncer_hook::actions::{self, Base};
use bouncer_hook::agents::{Answer, Event, Phase};
use bouncer_hook::budgets::Once;
use bouncer_hook::judge::{Judged, judge, looks_at_provenance};
use bouncer_hook::store::Store;
use bouncer_plan::Verdict;
use bouncer_store::SharedBudgets;
use bouncer_system::moment::Moment;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Longer messages are not read.
const MAX_INPUT: u64 = 64 << 20;

/// Runs the command. Never fails in a way that lets the tool through.
pub fn run(args: &HookArgs) -> Outcome {
    let agent = args.agent;
    // The reason is told below; a backtrace would only hide it.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = std::panic::catch_unwind(|| answer(args))
        .unwrap_or_else(|_| agent.failed("bouncer itself failed; please report it"));
    // If they are gone, so is the client.
    let _ = writeln!(std::io::stdout(), "{}", answer.stdout);
    if !answer.stderr.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}", answer.stderr);
    }
    Ok(answer.code)
}

fn answer(args: &HookArgs) -> Answer {
    let start = Instant::now();
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_INPUT + 1)
        .read_to_end(&mut bytes);
    let event = match read {
        Ok(length) if length as u64 > MAX_INPUT => Err("the message is very long".to_owned()),
        Ok(_) => args.agent.read(&bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let event = match event {
        Ok(event) => event,
        Err(why) => return args.agent.failed(&why),
    };
    let result = match event.phase {
        Phase::Other => return args.agent.hooks().noted(),
        Phase::After => remember(args, &event),
        Phase::Before => decide(args, &event, start),
    };
    match result {
        Ok(answer) => answer,
        Err(Failure::Message(why)) => args.agent.failed(&why),
        Err(_) => args.agent.failed("the policy cannot be used; see above"),
    }
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    home.filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn bouncer_directory() -> Option<PathBuf> {
    home().map(|home| home.join(".bouncer"))
}

fn store(args: &HookArgs) -> Result<Store, Failure> {
    let path = args
        .store
        .clone()
        .or_else(|| Some(bouncer_directory()?.join("hook.db")));
    let path = path.ok_or_else(|| {
        Failure::Message(
            "there is no home directory for what is remembered: give `--store`".to_owned(),
        )
    })?;
    Store::open(&path).map_err(|error| Failure::Message(error.to_string()))
}

/// Clients choose their sessions' names; of two clients they may be the same.
fn session(args: &HookArgs, event: &Event) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(args.agent.hooks().storage_key().as_bytes());
    hasher.update(b"\0");
    hasher.update(event.session.as_bytes());
    hasher
        .finalize()
        .to_hex()
        .get(..32)
        .unwrap_or_default()
        .to_owned()
}

fn remember(args: &HookArgs, event: &Event) -> Result<Answer, Failure> {
    if let Some(output) = &event.output {
        let mut store = store(args)?;
        store
            .be_patient()
            .map_err(|error| Failure::Message(error.to_string()))?;
        let held = store
            .hold(&session(args, event), &Moment::now())
            .map_err(|error| Failure::Message(error.to_string()))?;
        let (server, tool) = actions::name(event);
        held.remember(server, tool, output)
            .and_then(|()| held.finish())
            .map_err(|error| Failure::Message(error.to_string()))?;
    }
    Ok(args.agent.hooks().noted())
}

fn decide(args: &HookArgs, event: &Event, start: Instant) -> Result<Answer, Failure> {
    let plan = plans::load(
        &args.source,
        bouncer_directory().map(|d| d.join("plans")).as_deref(),
    )?;
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").filter(|dir| !dir.is_empty());
    let base = Base {
        home: home(),
        project: project
            .map(PathBuf::from)
            .or_else(|| event.cwd.clone())
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_default(),
    };
    let audit = args
        .audit
        .clone()
        .or_else(|| crate::source::beside(&plan, &args.source, |meta| &meta.audit_path));
    let always = looks_at_provenance(&plan);
    let gate = Gate::new(plan);
    let session = session(args, event);
    let mut store = store(args)?;
    let now = Moment::now();
    let once = shared_budgets(args)?;
    let held = store
        .hold(&session, &now)
        .map_err(|error| Failure::Message(error.to_string()))?;
    let (mut judged, call) = judge(&gate, event, &base, &held, &now, always, once.as_ref())
        .map_err(|error| Failure::Message(error.to_string()))?;
    judged.record.forgotten = held
        .forgotten()
        .map_err(|error| Failure::Message(error.to_string()))?;
    if event.name == "beforeReadFile" && judged.record.verdict == Verdict::Allow {
        // There is no other time at which Cursor shows what it reads.
        if let Some(content) = &event.output {
            held.remember(Some(SERVER), "read", content)
                .map_err(|error| Failure::Message(error.to_string()))?;
        }
    }
    held.finish()
        .map_err(|error| Failure::Message(error.to_string()))?;
    log(
        &gate,
        audit.as_deref(),
        &session,
        event,
        &judged,
        call,
        start,
    )?;
    Ok(args.agent.answer(event, &judged.record))
}

/// What budgets are counted in together with others, if the command line wants that.
fn shared_budgets(args: &HookArgs) -> Result<Option<Arc<Mutex<Once>>>, Failure> {
    let Some(path) = &args.budgets.shared_budgets else {
        return Ok(None);
    };
    let budgets = SharedBudgets::open(path).map_err(|error| {
        let path = path.display();
        Failure::Message(format!("budgets cannot be counted in `{path}`: {error}"))
    })?;
    Ok(Some(Arc::new(Mutex::new(Once::new(budgets)))))
}

/// Writes the verdict down before it is told.
fn log(
    gate: &Gate,
    path: Option<&Path>,
    session: &str,
    event: &Event,
    judged: &Judged,
    call: u64,
    start: Instant,
) -> Result<(), Failure> {
    let path = path
        .map(Path::to_owned)
        .or_else(Audit::default_path)
        .ok_or_else(|| {
            Failure::Message(
                "there is no home directory for the audit log: give `--audit`".to_owned(),
            )
        })?;
    let mut audit = Audit::open(&path, session, &gate.plan().short_digest())
        .map_err(|error| Failure::file("write the audit log", &path, &error))?;
    let (server, _) = actions::name(event);
    let one_line = serde_json::from_slice::<Value>(&event.input).map(|value| value.to_string());
    let arguments = one_line.as_deref().map_or_else(
        |_| Arguments::Garbage(&event.input),
        |text| Arguments::Json(text.as_bytes()),
    );
    let entry = Entry {
        call,
        server,
        tool: Some(&event.tool),
        judged_as: judged.judged_as.as_deref(),
        arguments,
        record: &judged.record,
        approval: None,
        outcome: match judged.record.verdict {
            Verdict::Allow => Fate::Forwarded,
            Verdict::Ask => Fate::Asked,
            Verdict::Deny => Fate::Blocked,
        },
        latency: start.elapsed(),
    };
    audit
        .write(&entry)
        .map_err(|error| Failure::file("write the audit log", &path, &error))
}
