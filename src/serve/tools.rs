//! The server's tools.

use super::{Server, Wrong};
use crate::cli::PolicySource;
use crate::request::judged;
use crate::source;
use bouncer_compiler::diagnostic;
use bouncer_compiler::{Input, Options, packs};
use bouncer_engine::gate::{Attempt, Call, Gate};
use bouncer_plan::format::GlobKind;
use bouncer_plan::{Plan, Tables, glob};
use bouncer_verify::report;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Steps of work that a proof may take; a client waits for it.
const BUDGET: u64 = 20_000_000;

#[derive(Deserialize)]
struct Arguments<'a, T> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(skip)]
    of: std::marker::PhantomData<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    tool: String,
    args: Option<Box<RawValue>>,
    #[serde(default)]
    untrusted_context: Vec<String>,
    user_policy_yaml: Option<String>,
    server: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verify {
    policy_yaml: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Active {
    pack_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Summary {
    limit: Option<u64>,
}

/// The definitions, with their schemas.
pub(super) fn list() -> Value {
    let read_only = json!({ "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false });
    let verdict = json!({ "type": "string", "enum": ["allow", "ask", "deny"] });
    let text = json!({ "type": "string" });
    let maybe_text = json!({ "type": ["string", "null"] });
    let finding = json!({ "type": "array", "items": { "type": "object" } });
    json!([
        {
            "name": "bouncer_check_verdict",
            "title": "Check a verdict",
            "description": "Judge a hypothetical tool call against a policy, without making it: allow, ask or deny, and why.",
            "annotations": read_only,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "tool": { "type": "string", "description": "The tool's name" },
                    "args": { "type": "object", "description": "The call's arguments" },
                    "untrusted_context": {
                        "type": "array", "items": text,
                        "description": "Texts that the agent has read before from sources that nobody vouches for",
                    },
                    "user_policy_yaml": { "type": "string", "description": "A policy to layer over the built-in packs, in place of the one in force" },
                    "server": { "type": "string", "description": "The name by which the policy knows the tool's server" },
                },
                "required": ["tool"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "verdict": verdict, "contract": text, "code": text, "reason": text,
                    "at": maybe_text,
                    "question": {
                        "type": ["object", "null"],
                        "properties": { "param": text, "destination": text },
                    },
                    "note": text,
                },
                "required": ["verdict", "contract", "code", "reason", "at", "question"],
            },
        },
        {
            "name": "bouncer_verify_policy",
            "title": "Verify a policy",
            "description": "Check whether a policy in YAML compiles, say which tools it covers, and prove what it gets wrong, with example calls.",
            "annotations": read_only,
            "inputSchema": {
                "type": "object",
                "properties": { "policy_yaml": { "type": "string", "description": "The policy" } },
                "required": ["policy_yaml"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "valid": { "type": "boolean" },
                    "errors": finding, "findings": finding,
                    "tools": { "type": "array", "items": text },
                    "rules": { "type": "integer" },
                },
                "required": ["valid", "errors", "findings", "tools", "rules"],
            },
        },
        {
            "name": "bouncer_get_active_policies",
            "title": "List active policies",
            "description": "The built-in packs and the policies in force; one pack's whole text if it is named.",
            "annotations": read_only,
            "inputSchema": {
                "type": "object",
                "properties": { "pack_name": { "type": "string", "description": "A pack, for example `filesystem`, `email`, `bash` or `http`" } },
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "packs": { "type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "name": text, "description": text,
                            "tools": { "type": "array", "items": text },
                            "gated": { "type": "integer" },
                            "policy_yaml": text,
                        },
                        "required": ["name", "description", "tools", "gated"],
                    } },
                    "user_policies": { "type": "array", "items": text },
                },
                "required": ["packs", "user_policies"],
            },
        },
        {
            "name": "bouncer_audit_summary",
            "title": "Summarize the audit log",
            "description": "How many calls were allowed, asked about and denied, by what, and the newest of them.",
            "annotations": read_only,
            "inputSchema": {
                "type": "object",
                "properties": { "limit": { "type": "integer", "minimum": 0, "maximum": 1000, "default": 20, "description": "How many of the newest entries" } },
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "log": maybe_text,
                    "total": { "type": "integer" },
                    "complete": { "type": "boolean" },
                    "verdicts": { "type": "object", "additionalProperties": { "type": "integer" } },
                    "contracts": { "type": "object", "additionalProperties": { "type": "integer" } },
                    "recent": { "type": "array", "items": { "type": "object" } },
                },
                "required": ["log", "total", "complete", "verdicts", "contracts", "recent"],
            },
        },
    ])
}

impl Server {
    /// Runs a tool; `params` is the raw JSON of the call's parameters.
    pub(super) fn call(&self, name: &str, params: &str) -> Result<Value, Wrong> {
        let result = match name {
            "bouncer_check_verdict" => read(params).and_then(|args| self.check(&args)),
            "bouncer_verify_policy" => {
                read(params).map(|args: Verify| verify_policy(&args.policy_yaml))
            }
            "bouncer_get_active_policies" => {
                read(params).and_then(|args: Active| self.active(args.pack_name.as_deref()))
            }
            "bouncer_audit_summary" => read(params).and_then(|args: Summary| {
                let limit = args.limit.unwrap_or(20).min(1000);
                self.audit_summary(usize::try_from(limit).unwrap_or(20))
            }),
            _ => return Err(Wrong::params(format!("there is no tool `{name}`"))),
        };
        Ok(match result {
            Ok(value) => json!({
                "content": [{ "type": "text", "text": format!("{value:#}") }],
                "structuredContent": value,
                "isError": false,
            }),
            Err(why) => json!({ "content": [{ "type": "text", "text": why }], "isError": true }),
        })
    }

    fn check(&self, args: &Check) -> Result<Value, String> {
        let plan = match &args.user_policy_yaml {
            Some(yaml) => plan_of(yaml)?,
            None => plan_in_force(&self.source)?,
        };
        let left_out = match args.server {
            Some(_) => Vec::new(),
            None => of_servers(plan.tables(), &args.tool),
        };
        let gate = Gate::new(plan);
        let mut conversation = gate.conversation();
        for text in &args.untrusted_context {
            let text = Value::String(text.clone());
            gate.record_untrusted(&mut conversation, None, "untrusted_context", &text);
        }
        let raw = args.args.as_deref().map(|raw| raw.get().as_bytes());
        let judged = raw.map(|raw| judged(args.server.as_deref(), &args.tool, raw));
        let judged = judged.transpose()?;
        let call = Call::hypothetical(args.server.as_deref(), &args.tool, judged.as_deref());
        let decision = gate.decide(&mut conversation, &call, Attempt::First, 0);
        let record = decision.record();
        let mut verdict = record.summary();
        if let Some(members) = verdict.as_object_mut() {
            let unvouched = record.unvouched().unwrap_or_default();
            members.insert("question".to_owned(), unvouched);
            if !left_out.is_empty() {
                let note = format!(
                    "no `server` was given, so what the policy says of a server's tools was left out: {}",
                    left_out.join(", ")
                );
                members.insert("note".to_owned(), note.into());
            }
        }
        Ok(verdict)
    }

    pub(super) fn active(&self, only: Option<&str>) -> Result<Value, String> {
        // The predecessor's name of it.
        let only = only.map(|name| if name == "email" { "gmail" } else { name });
        let mut found = Vec::new();
        for pack in packs::all() {
            if only.is_some_and(|only| only != pack.name) {
                continue;
            }
            found.push(describe(pack, only.is_some())?);
        }
        if found.is_empty() {
            let names: Vec<&str> = packs::all().iter().map(|pack| pack.name).collect();
            return Err(format!(
                "there is no such pack; there are: {}",
                names.join(", ")
            ));
        }
        let named = self.source.plan.iter().chain(&self.source.policy);
        let user: Vec<String> = named.map(|path| path.display().to_string()).collect();
        Ok(json!({ "packs": found, "user_policies": user }))
    }
}

/// What a plan says of a tool only as one of a server that it names.
fn of_servers(tables: &Tables<'_>, tool: &str) -> Vec<String> {
    let rules = tables.groups.iter();
    let rules = rules.map(|group| (group.kind, &group.pattern));
    let contracts = tables.contracts.iter();
    let contracts = contracts.map(|contract| (GlobKind::Exact, &contract.key));
    let mut found: Vec<String> = rules
        .chain(contracts)
        .filter_map(|(kind, pattern)| {
            let pattern = tables.text(pattern).ok()?;
            let (server, _) = pattern.split_once("__")?;
            let full = format!("{server}__{tool}");
            let matches = |name: &str| glob::matches(kind, pattern, name);
            (matches(&full) && !matches(tool)).then(|| format!("`{pattern}`"))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn describe(pack: &packs::Builtin, whole: bool) -> Result<Value, String> {
    let text = format!("version: 1\npacks: [{}]\n", pack.name);
    let options = Options {
        packs: true,
        heuristics: false,
    };
    let input = Input {
        name: "packs",
        text: &text,
    };
    let loaded = bouncer_compiler::load(&[input], &options)
        .map_err(|_| format!("the built-in pack `{}` does not load", pack.name))?;
    let contracts = &loaded.policy.contracts;
    let tools: Vec<&str> = contracts
        .iter()
        .map(|contract| contract.key.as_str())
        .collect();
    let said = pack
        .text
        .lines()
        .find_map(|line| line.strip_prefix("description:"));
    let mut value = json!({
        "name": pack.name,
        "description": said.map_or("", str::trim).trim_matches(['"', '\'']),
        "tools": tools,
        "gated": contracts.iter().filter(|contract| contract.exfiltrating).count(),
    });
    if let (true, Some(members)) = (whole, value.as_object_mut()) {
        members.insert("policy_yaml".to_owned(), pack.text.into());
    }
    Ok(value)
}

fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, String> {
    let params: Arguments<'a, T> =
        serde_json::from_str(params).map_err(|error| error.to_string())?;
    let raw = params.arguments.map_or("{}", RawValue::get);
    serde_json::from_str(raw).map_err(|error| format!("the arguments are wrong: {error}"))
}

const LAYERS: Options = Options {
    packs: true,
    heuristics: true,
};

fn plan_of(yaml: &str) -> Result<Plan, String> {
    let input = Input {
        name: "user_policy_yaml",
        text: yaml,
    };
    let refused = |diagnostics| {
        let shown = diagnostic::human(&diagnostics, false);
        format!("the policy does not compile\n{shown}")
    };
    let loaded = bouncer_compiler::load(&[input], &LAYERS).map_err(refused)?;
    let bytes = bouncer_compiler::compile(&loaded.policy).map_err(|errors| {
        refused(diagnostic::of_compile_errors(
            &errors,
            loaded.warnings.sources().clone(),
        ))
    })?;
    Plan::load(bytes).map_err(|error| error.to_string())
}

/// Reads it anew for each call: policies change.
fn plan_in_force(source: &PolicySource) -> Result<Plan, String> {
    let copy = source.clone();
    source::plan(&copy).map_err(|failure| match failure {
        crate::output::Failure::Message(why) => why,
        _ => "the policy in force does not compile".to_owned(),
    })
}

fn verify_policy(yaml: &str) -> Value {
    let input = Input {
        name: "policy_yaml",
        text: yaml,
    };
    let invalid = |diagnostics| {
        json!({
            "valid": false, "errors": diagnostic::json(&diagnostics), "findings": [],
            "tools": [], "rules": 0,
        })
    };
    let loaded = match bouncer_compiler::load(&[input], &LAYERS) {
        Ok(loaded) => loaded,
        Err(diagnostics) => return invalid(diagnostics),
    };
    let options = bouncer_verify::Options {
        budget: BUDGET,
        ..bouncer_verify::Options::default()
    };
    let found = match bouncer_verify::run(&loaded, &[], &options) {
        Ok(found) => found,
        Err(errors) => {
            let sources = loaded.warnings.sources().clone();
            return invalid(diagnostic::of_compile_errors(&errors, sources));
        }
    };
    let found = report::json(&found, loaded.warnings.sources());
    let own = loaded
        .policy
        .contracts
        .iter()
        .filter(|contract| contract.layer == bouncer_compiler::policy::Layer::User);
    let tools: Vec<&str> = own.map(|contract| contract.key.as_str()).collect();
    json!({
        "valid": true,
        "errors": [],
        "findings": found.get("findings").cloned().unwrap_or_else(|| json!([])),
        "tools": tools,
        "rules": loaded.policy.rules.as_ref().map_or(0, |set| set.rules.len()),
    })
}
