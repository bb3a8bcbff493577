//! `bouncer hook`: a decision before an agent's own tool runs, and a memory of what it
//! returned.

use crate::cli::{HookArgs, Layers, PolicySource};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_audit::{Arguments, Audit, Entry, Outcome as Fate};
use bouncer_compiler::{Input, Options, packs};
use bouncer_engine::gate::{Attempt as Try, Call, Conversation, Decision, Gate, Grounds};
use bouncer_hook::actions::{self, Action, Base};
use bouncer_hook::budgets::Once;
use bouncer_hook::forms::{self, Answer, Event, Phase};
use bouncer_hook::store::{Attempt, Held, Store};
use bouncer_hook::{SERVER, plans};
use bouncer_plan::Plan;
use bouncer_plan::Stage;
use bouncer_plan::Verdict;
use bouncer_proxy::SharedBudgets;
use bouncer_reader::json::{Limits, Scratch, validate_object};
use bouncer_system::moment::Moment;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What decides where no policy is named.
const BUILT_IN: &str = include_str!("../../examples/hook.yaml");
/// What the clock of rates shows now; earlier uses of tools were before.
const NOW_MS: u64 = 1 << 40;
/// Longer messages are not read.
const MAX_INPUT: u64 = 64 << 20;

/// Runs the command. Never fails in a way that lets the tool through.
pub fn run(args: &HookArgs) -> Outcome {
    let form = args.form;
    // The reason is told below; a backtrace would only hide it.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = std::panic::catch_unwind(|| answer(args))
        .unwrap_or_else(|_| forms::failed(form, "bouncer itself failed; please report it"));
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
        Ok(_) => Event::read(args.form, &bytes),
        Err(error) => Err(error.to_string()),
    };
    let event = match event {
        Ok(event) => event,
        Err(why) => return forms::failed(args.form, &why),
    };
    let result = match event.phase {
        Phase::Other => return Event::noted(args.form),
        Phase::After => remember(args, &event),
        Phase::Before => decide(args, &event, start),
    };
    match result {
        Ok(answer) => answer,
        Err(Failure::Message(why)) => forms::failed(args.form, &why),
        Err(_) => forms::failed(args.form, "the policy cannot be used; see above"),
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
    Store::open(&path).map_err(Failure::Message)
}

/// Clients choose their sessions' names; of two clients they may be the same.
fn session(args: &HookArgs, event: &Event) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{:?}\0", args.form).as_bytes());
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
        store.be_patient().map_err(Failure::Message)?;
        let held = store
            .hold(&session(args, event), &Moment::now())
            .map_err(Failure::Message)?;
        let (server, tool) = actions::name(event);
        held.remember(server, tool, output)
            .and_then(|()| held.finish())
            .map_err(Failure::Message)?;
    }
    Ok(Event::noted(args.form))
}

/// What one call was found to be.
struct Finding {
    /// The tool of the policy that was judged.
    judged_as: Option<String>,
    verdict: Verdict,
    stage: Stage,
    code: &'static str,
    reason: String,
    at: Option<String>,
    grounds: Option<Grounds>,
}

fn decide(args: &HookArgs, event: &Event, start: Instant) -> Result<Answer, Failure> {
    let plan = plan(&args.source)?;
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
        .or_else(|| source::beside(&plan, &args.source, |meta| &meta.audit_path));
    let always = plans::looks_at_provenance(&plan);
    let gate = Gate::new(plan);
    let session = session(args, event);
    let mut store = store(args)?;
    let now = Moment::now();
    let once = shared_budgets(args)?;
    let held = store.hold(&session, &now).map_err(Failure::Message)?;
    let (finding, call) =
        judge(&gate, event, &base, &held, &now, always, once.as_ref()).map_err(Failure::Message)?;
    let forgotten = held.forgotten().map_err(Failure::Message)?;
    if event.name == "beforeReadFile" && finding.verdict == Verdict::Allow {
        // There is no other time at which Cursor shows what it reads.
        if let Some(content) = &event.output {
            held.remember(Some(SERVER), "read", content)
                .map_err(Failure::Message)?;
        }
    }
    held.finish().map_err(Failure::Message)?;
    log(
        &gate,
        audit.as_deref(),
        &session,
        event,
        &finding,
        call,
        forgotten,
        start,
    )?;
    let details = json!({
        "verdict": finding.verdict.name(),
        "contract": finding.stage.name(),
        "code": finding.code,
        "reason": finding.reason,
        "at": finding.at,
    });
    Ok(event.answer(args.form, finding.verdict, &details))
}

/// The plan, which is made anew only where none is kept for these policies.
fn plan(source: &PolicySource) -> Result<Plan, Failure> {
    if source.plan.is_some() {
        return source::plan(source);
    }
    let mut texts = Vec::new();
    for path in &source.policy {
        texts.push((source::display_name(path), source::read_policy(path)?));
    }
    if texts.is_empty() {
        texts.push(("built-in:hook".to_owned(), BUILT_IN.to_owned()));
    }
    let directory = bouncer_directory().map(|directory| directory.join("plans"));
    let sources = digest(&texts, &source.layers);
    plans::load(&sources, directory.as_deref(), || {
        compile(&texts, &source.layers)
    })
}

fn compile(texts: &[(String, String)], layers: &Layers) -> Result<Vec<u8>, Failure> {
    let inputs: Vec<Input<'_>> = texts
        .iter()
        .map(|(name, text)| Input { name, text })
        .collect();
    let options = Options {
        packs: !layers.no_packs,
        heuristics: !layers.no_heuristics,
    };
    let refused = |diagnostics| {
        source::print_diagnostics(&diagnostics);
        Failure::Message("the policy does not compile".to_owned())
    };
    let loaded = bouncer_compiler::load(&inputs, &options).map_err(refused)?;
    bouncer_compiler::compile(&loaded.policy).map_err(|_| {
        Failure::Message("the policy cannot be built; see `bouncer compile`".to_owned())
    })
}

/// Of all that the plan depends on.
fn digest(texts: &[(String, String)], layers: &Layers) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    for (name, text) in texts {
        add(name);
        add(text);
    }
    for pack in packs::all().iter().chain(packs::heuristics().as_ref()) {
        add(pack.text);
    }
    for left_out in [layers.no_packs, layers.no_heuristics] {
        add(if left_out { "without" } else { "with" });
    }
    hasher.finalize()
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
    Ok(Some(Arc::new(Mutex::new(Once::new(Box::new(budgets))))))
}

/// The strictest of all that the use of the tool stands for, and how many uses of tools
/// there are with it.
fn judge(
    gate: &Gate,
    event: &Event,
    base: &Base,
    held: &Held<'_>,
    now: &Moment,
    always: bool,
    once: Option<&Arc<Mutex<Once>>>,
) -> Result<(Finding, u64), String> {
    let limits = Limits::default();
    let mut scratch = Scratch::new(&limits);
    let used = held.used()?;
    if let Err(error) = validate_object(&event.input, &limits, &mut scratch) {
        let malformed = Finding {
            judged_as: None,
            verdict: Verdict::Deny,
            stage: Stage::Malformed,
            code: "malformed",
            reason: format!("malformed arguments: {error}"),
            at: None,
            grounds: None,
        };
        return Ok((malformed, used));
    }
    let stands_for = actions::of(event, base);
    let remembers_attempts =
        |action: &Action| gate.remembers_attempts(action.server.as_deref(), &action.tool);
    let earlier = if stands_for.calls.iter().any(remembers_attempts) {
        held.attempts()?
    } else {
        Vec::new()
    };
    let fresh = |with_memory: bool| -> Result<Conversation, String> {
        let mut conversation = gate.conversation();
        if with_memory {
            for returned in held.returned()? {
                gate.record(
                    &mut conversation,
                    returned.server.as_deref(),
                    &returned.tool,
                    &returned.value,
                );
            }
        }
        // Budgets only count tools and times.
        for attempt in &earlier {
            let call = Call::hypothetical(attempt.server.as_deref(), &attempt.tool, Some(b"{}"));
            gate.decide(
                &mut conversation,
                &call,
                Try::First,
                NOW_MS.saturating_sub(now.since(&attempt.at)),
            );
        }
        // Only what follows is an attempt of now.
        if let Some(once) = once {
            once.lock().unwrap_or_else(PoisonError::into_inner).again();
            conversation.share_budgets(Arc::<Mutex<Once>>::clone(once));
        }
        Ok(conversation)
    };
    // What was read can only make a difference where somebody asks, or a rule looks at
    // it: an allow comes from a list of trusted destinations or from a tool without
    // destinations, and neither depends on it.
    let mut conversation = fresh(always)?;
    let mut remembers = always;
    let mut worst: Option<Finding> = None;
    for (at, action) in stands_for.calls.iter().enumerate() {
        let mut finding = one(gate, &mut conversation, action);
        if finding.verdict == Verdict::Ask && !remembers {
            conversation = fresh(true)?;
            remembers = true;
            for before in stands_for.calls.iter().take(at) {
                one(gate, &mut conversation, before);
            }
            finding = one(gate, &mut conversation, action);
        }
        if worst
            .as_ref()
            .is_none_or(|worst| finding.verdict > worst.verdict)
        {
            worst = Some(finding);
        }
    }
    // Those within others count for themselves: which they were is not known later.
    let tried = stands_for.calls.iter().flat_map(|action| {
        let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
        let within = gate.tools_within(&mut conversation, &call);
        std::iter::once((action.server.clone(), action.tool.clone())).chain(within)
    });
    let mut used = used;
    for (server, tool) in tried {
        let attempt = Attempt {
            server,
            tool,
            at: now.clone(),
        };
        held.attempt(used, &attempt)?;
        used = used.saturating_add(1);
    }
    if let Some(why) = stands_for.unread
        && worst
            .as_ref()
            .is_none_or(|worst| worst.verdict < Verdict::Ask)
    {
        let unread = Finding {
            judged_as: None,
            verdict: Verdict::Ask,
            stage: Stage::Default,
            code: "hook.unread",
            reason: format!("what it does cannot be read for certain: {why}"),
            at: None,
            grounds: None,
        };
        return Ok((unread, used));
    }
    let worst = worst.ok_or_else(|| "it stands for no call".to_owned())?;
    Ok((worst, used))
}

fn one(gate: &Gate, conversation: &mut Conversation, action: &Action) -> Finding {
    let call = Call::hypothetical(action.server.as_deref(), &action.tool, Some(&action.args));
    let decision: Decision<'_> = gate.decide(conversation, &call, Try::First, NOW_MS);
    let reason = decision.reason();
    let own = action.server.as_deref() == Some(SERVER);
    Finding {
        judged_as: own.then(|| format!("{SERVER}__{}", action.tool)),
        verdict: decision.verdict(),
        stage: decision.stage(),
        code: decision.code(),
        reason: match &action.about {
            Some(about) if decision.verdict() != Verdict::Allow => {
                format!(
                    "{reason} (in `{}`)",
                    bouncer_compiler::diagnostic::escape(about)
                )
            }
            _ => reason,
        },
        at: decision.position().map(|at| at.to_string()),
        grounds: decision.grounds(),
    }
}

/// Writes the verdict down before it is told.
#[expect(
    clippy::too_many_arguments,
    reason = "a line of the log has as many parts"
)]
fn log(
    gate: &Gate,
    path: Option<&Path>,
    session: &str,
    event: &Event,
    finding: &Finding,
    call: u64,
    forgotten: u64,
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
        judged_as: finding.judged_as.as_deref(),
        arguments,
        verdict: finding.verdict,
        contract: finding.stage,
        code: finding.code,
        reason: &finding.reason,
        at: finding.at.as_deref(),
        grounds: finding.grounds.as_ref(),
        forgotten,
        approval: None,
        outcome: match finding.verdict {
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
