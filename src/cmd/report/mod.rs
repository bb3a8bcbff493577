//! `bouncer report`: what is guarded and how that is known, for people who have to judge it.
//!
//! Puts together what `verify`, `test`, `inspect --tools` and `audit` find; decides and finds
//! nothing of its own. The same inputs give the same bytes: nothing of the clock or the machine
//! is in it.

mod html;
mod markdown;
mod missing;
mod outline;

use crate::cli::{ReportArgs, ReportFormat};
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_compiler::CompileError;
use bouncer_engine::effects::common_prefix;
use bouncer_engine::tools::guessed_effects;
use bouncer_plan::Plan;
use bouncer_system::replace::write_whole;
use bouncer_verify::{ListedTool, Options, report};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Runs the command. The report is about what it finds; that there is something to find is no
/// failure of it.
pub fn run(args: &ReportArgs) -> Outcome {
    let value = gather(args)?;
    let format = args
        .format
        .unwrap_or_else(|| format_of(args.output.as_deref()));
    let text = match format {
        ReportFormat::Html => html::page(&outline::of(&value)),
        ReportFormat::Markdown => markdown::text(&outline::of(&value)),
        ReportFormat::Json => format!("{value:#}\n"),
    };
    match &args.output {
        Some(path) => write_whole(path, text.as_bytes())
            .map_err(|error| Failure::file("write", path, &error))?,
        None => write!(std::io::stdout(), "{text}")?,
    }
    Ok(0)
}

/// A file's name says what is to be in it.
fn format_of(output: Option<&Path>) -> ReportFormat {
    let ending = output.and_then(Path::extension).and_then(|e| e.to_str());
    match ending {
        Some("html" | "htm") => ReportFormat::Html,
        Some("json") => ReportFormat::Json,
        _ => ReportFormat::Markdown,
    }
}

fn gather(args: &ReportArgs) -> Result<Value, Failure> {
    let tools = source::tools(&args.tools)?;
    let loaded = source::load(&args.policies, &args.layers).map_err(|failure| failure.report())?;
    let options = Options::default();
    let built = |errors: Vec<CompileError>| source::build_failure(&errors, &loaded).report();
    let found =
        bouncer_verify::run_telling(&loaded, &tools, &options, &mut |_| {}).map_err(built)?;
    let table = bouncer_verify::effects_table(&loaded.policy, &tools, &options, &mut |_| {})
        .map_err(built)?;
    let sources = loaded.warnings.sources();
    let compiled =
        source::compile(&args.policies, &args.layers).map_err(|failure| failure.report())?;
    let plan = Plan::load(compiled.bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))?;
    let digest: String = plan
        .digest()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut value = json!({
        "bouncer": env!("CARGO_PKG_VERSION"),
        "policy": {
            "files": args.policies.iter().map(|path| source::display_name(path)).collect::<Vec<_>>(),
            "plan": digest,
            "packs": !args.layers.no_packs,
            "heuristics": !args.layers.no_heuristics,
            "servers": loaded.policy.servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
            "rules": loaded.policy.rules.as_ref().map_or(0, |set| set.rules.len()),
            "assertions": loaded.policy.assertions.len(),
            "proved": found.proved,
        },
        "verified": report::json(&found, sources),
        "effects": report::effects_json(&table, sources),
        "tools": listed(&tools),
        "tests": super::test::evidence(&args.policies)?,
        "log": args.audit.as_deref().map(super::audit::evidence).transpose()?,
    });
    let missing = missing::of(&value);
    if let Some(members) = value.as_object_mut() {
        members.insert("not_covered".to_owned(), missing);
    }
    Ok(value)
}

/// Each tool, what it is taken to do, and the digest of its definition.
fn listed(tools: &[ListedTool]) -> Value {
    let all = tools.iter().map(|(server, tool)| {
        let same = tools.iter().filter(|(other, _)| other == server);
        let prefix = common_prefix(same.map(|(_, tool)| tool.name.as_str()));
        let effects = guessed_effects(tool, prefix);
        let digest: String = tool
            .digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        json!({
            "server": server,
            "tool": tool.name,
            "effects": effects.iter().map(|effect| effect.name()).collect::<Vec<_>>(),
            "digest": digest,
        })
    });
    all.collect()
}

/// The text at a place of the report; nothing if there is none.
fn text(value: &Value, at: &str) -> String {
    let found = value.pointer(at).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn number(value: &Value, at: &str) -> u64 {
    value
        .pointer(at)
        .and_then(Value::as_u64)
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, at: &str) -> &'a [Value] {
    let found = value.pointer(at).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// The words of a list, one after the other.
fn words(value: &Value, at: &str) -> String {
    let words = list(value, at).iter().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(", ")
}

/// A tool's name as rules match it.
fn tool_name(tool: &Value) -> String {
    let name = text(tool, "/tool");
    match tool.pointer("/server").and_then(Value::as_str) {
        Some(server) => format!("{server}__{name}"),
        None => name,
    }
}
