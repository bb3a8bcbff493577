//! `bouncer compile`: policies in, one plan out.

use crate::cli::CompileArgs;
use crate::output::{ERROR, Failure, Outcome};
use crate::source::{self, CompileFailure};
use bouncer_compiler::diagnostic as render;
use bouncer_compiler::policy::Policy;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_system::replace::write_whole;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &CompileArgs) -> Outcome {
    let lock = args.tools.as_deref().map(source::lock).transpose()?;
    let compiled = match source::compile_with(&args.policies, &args.layers, !args.no_source) {
        Ok(compiled) => compiled,
        Err(failure) => return Err(report(*failure, args.json)),
    };
    if !args.json {
        source::print_diagnostics(&compiled.warnings);
    }
    let plan = Plan::load(compiled.bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))?;
    let output = match &args.output {
        Some(output) => output.clone(),
        None => default_output(&args.policies)?,
    };
    write(&output, plan.bytes())?;
    let unknown = lock
        .as_ref()
        .map(|lock| unknown_keys(&compiled.policy, lock))
        .unwrap_or_default();
    if args.json {
        let summary = serde_json::json!({
            "plan": output.display().to_string(),
            "bytes": plan.bytes().len(),
            "digest": plan.short_digest(),
            "contracts": compiled.policy.contracts.len(),
            "rules": compiled.policy.rules.as_ref().map_or(0, |set| set.rules.len()),
            "warnings": render::json(&compiled.warnings),
            "not_in_lock": unknown,
        });
        writeln!(std::io::stdout(), "{summary}")?;
        return Ok(0);
    }
    let mut stderr = anstream::stderr();
    for name in unknown {
        let _ = writeln!(
            stderr,
            "note: the policy names `{name}`, which no tool of the lock matches"
        );
    }
    let rules = compiled
        .policy
        .rules
        .as_ref()
        .map_or(0, |set| set.rules.len());
    let _ = writeln!(
        stderr,
        "compiled {} contracts and {rules} rules into {} ({} bytes, digest {})",
        compiled.policy.contracts.len(),
        output.display(),
        plan.bytes().len(),
        plan.short_digest(),
    );
    Ok(0)
}

fn report(failure: CompileFailure, json: bool) -> Failure {
    match failure {
        CompileFailure::Policy(diagnostics) if json => {
            match writeln!(std::io::stdout(), "{}", render::json(&diagnostics)) {
                Ok(()) => Failure::Code(ERROR),
                Err(error) => error.into(),
            }
        }
        failure => failure.report(),
    }
}

/// Beside the first policy, with the ending `.plan`.
fn default_output(policies: &[PathBuf]) -> Result<PathBuf, Failure> {
    match policies.first() {
        Some(path) if path != Path::new("-") => Ok(path.with_extension("plan")),
        _ => Err(Failure::Message(
            "say where to write the plan: `-o PLAN`".to_owned(),
        )),
    }
}

/// Writes the plan whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        std::io::stdout().lock().write_all(bytes)?;
        return Ok(());
    }
    write_whole(path, bytes).map_err(|error| Failure::file("write", path, &error))
}

/// Keys of user contracts and globs of rules that match no tool of the lock.
fn unknown_keys(policy: &Policy, lock: &Lock) -> Vec<String> {
    let names: Vec<(String, String)> = lock
        .tools
        .iter()
        .map(|tool| {
            let name = tool.definition.name.clone();
            let full = tool
                .server
                .as_ref()
                .map_or_else(|| name.clone(), |server| format!("{server}__{name}"));
            (name, full)
        })
        .collect();
    let mut unknown = Vec::new();
    for contract in &policy.contracts {
        let user = contract.layer == bouncer_compiler::policy::Layer::User;
        if user
            && !names
                .iter()
                .any(|(name, full)| *name == contract.key || *full == contract.key)
        {
            unknown.push(contract.key.clone());
        }
    }
    for tool in policy
        .rules
        .iter()
        .flat_map(|set| &set.rules)
        .flat_map(|rule| &rule.tools)
        .filter(|tool| !tool.is_request())
    {
        if !names.iter().any(|(_, full)| tool.matches(full)) {
            unknown.push(tool.pattern.clone());
        }
    }
    unknown.sort();
    unknown.dedup();
    unknown
}
