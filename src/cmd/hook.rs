//! `bouncer hook`: a decision before an agent's own tool runs, and a memory of what it
//! returned. Never fails in a way that lets the tool through.

use crate::cli::{HookArgs, Layers, PolicySource};
use crate::output::{self, Failure, Outcome};
use crate::source;
use bouncer_compiler::{Input, Options, packs};
use bouncer_engine::gate::Tally;
use bouncer_hook::agents;
use bouncer_hook::event::{Answer, Exit};
use bouncer_hook::{Hook, Policy, own_directory, plans};
use bouncer_plan::Plan;
use bouncer_store::SharedBudgets;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What decides where no policy is named.
const BUILT_IN: &str = include_str!("../../examples/hook.yaml");

/// Runs the command.
pub fn run(args: &HookArgs) -> Outcome {
    // The reason is told below; a backtrace would only hide it.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = std::panic::catch_unwind(|| answer(args))
        .unwrap_or_else(|_| agents::failed(args.agent, &"bouncer itself failed; please report it"));
    // If they are gone, so is the client.
    let _ = writeln!(std::io::stdout(), "{}", answer.stdout);
    if !answer.stderr.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}", answer.stderr);
    }
    Ok(match answer.exit {
        Exit::Success => 0,
        // Of all exit codes only this one blocks.
        Exit::Blocks => 2,
        Exit::Verdict(verdict) => output::code_of(verdict),
    })
}

fn answer(args: &HookArgs) -> Answer {
    let hook = Hook {
        agent: args.agent,
        home: home(),
        project: std::env::var_os("CLAUDE_PROJECT_DIR")
            .filter(|directory| !directory.is_empty())
            .map(PathBuf::from),
        memory: args.store.clone(),
        start: Instant::now(),
    };
    let policy = || policy(args, hook.home.as_deref()).map_err(Refused);
    hook.answer(std::io::stdin().lock(), policy)
        .unwrap_or_else(|error| agents::failed(args.agent, &error))
}

/// Why there is no policy, as the agent is told.
#[derive(Debug)]
struct Refused(Failure);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Message(why) => f.write_str(why),
            _ => f.write_str("the policy cannot be used; see above"),
        }
    }
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    home.filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn policy(args: &HookArgs, home: Option<&Path>) -> Result<Policy, Failure> {
    let plan = plan(&args.source, home)?;
    let audit = args
        .audit
        .clone()
        .or_else(|| source::beside(&plan, &args.source, |meta| &meta.audit_path));
    Ok(Policy {
        plan,
        audit,
        budgets: shared_budgets(args)?,
    })
}

/// The plan, which is made anew only where none is kept for these policies.
fn plan(source: &PolicySource, home: Option<&Path>) -> Result<Plan, Failure> {
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
    let directory = own_directory(home).map(|directory| directory.join("plans"));
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
fn shared_budgets(args: &HookArgs) -> Result<Option<Box<dyn Tally>>, Failure> {
    let Some(path) = &args.budgets.shared_budgets else {
        return Ok(None);
    };
    let budgets = SharedBudgets::open(path).map_err(|error| {
        let path = path.display();
        Failure::Message(format!("budgets cannot be counted in `{path}`: {error}"))
    })?;
    Ok(Some(Box::new(budgets)))
}
