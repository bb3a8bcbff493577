//! The JSON Schema of policy files, for editors. Its keys are the decoder's own lists of
//! keys; tests hold it against the policies that compile and those that do not.

use crate::packs;
use crate::policy::Part;
use crate::read::dialect::{
    APPROVAL_KEYS, AUDIT_KEYS, CONTRACT_KEYS, DEFAULT_KEYS, DISPATCH_KEYS, FIELD_KEYS, NATIVE_KEYS,
    NATIVE_ONLY, NATIVE_RULE_KEYS, NATIVE_TESTS, OUTPUT_KEYS, RULE_KEYS, RULES_KEYS, SERVER_KEYS,
    TESTS,
};
use bouncer_plan::Effect;
use serde_json::{Map, Value, json};

/// The schema of all three dialects, in draft 7, which editors' YAML servers know.
///
/// The dialect of a file is told by its keys, as the compiler does: the schema of the
/// others does not apply to it.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "bouncer policy",
        "description": "A policy for the tool calls of AI agents: native (`version: 1`), a file of rules, or a file of contracts.",
        "type": "object",
        "if": one_of_keys(&[&["version"], NATIVE_ONLY].concat()),
        "then": { "$ref": "#/definitions/native" },
        "else": {
            "if": one_of_keys(RULES_KEYS),
            "then": { "$ref": "#/definitions/ruleFile" },
            "else": { "$ref": "#/definitions/contractFile" },
        },
        "definitions": {
            "native": closed(NATIVE_KEYS, native_key, &["version"]),
            "ruleFile": closed(RULES_KEYS, rules_key, &[]),
            "contractFile": {
                "description": "Tools and their contracts.",
                "type": "object",
                "properties": { "<<": true },
                "additionalProperties": { "$ref": "#/definitions/mergedContract" },
            },
            "contract": closed(CONTRACT_KEYS, contract_key, &[]),
            "mergedContract": {
                "type": "object",
                "properties": { "<<": true },
                "if": { "required": ["<<"] },
                "else": { "$ref": "#/definitions/contract" },
            },
            "looksLikeContract": {
                "type": "object",
                "anyOf": CONTRACT_KEYS.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>(),
            },
            "rule": closed(RULE_KEYS, |key| rule_key(key, false), &["tool", "action"]),
            "nativeRule": about_one(closed(NATIVE_RULE_KEYS, |key| rule_key(key, true), &["action"])),
            "tests": at_least_one(closed(TESTS, test_key, &[])),
            "nativeTests": at_least_one(closed(NATIVE_TESTS, test_key, &[])),
            "server": {
                "allOf": [closed(SERVER_KEYS, server_key, &[])],
                "oneOf": [
                    { "required": ["command"], "not": { "required": ["headers"] } },
                    { "required": ["url"], "not": { "anyOf": [
                        { "required": ["args"] }, { "required": ["env"] }, { "required": ["cwd"] },
                    ]}},
                ],
            },
            "verdict": { "enum": ["allow", "ask", "deny"] },
            "label": { "enum": ["untrusted", "observed", "trusted"] },
            "scalar": { "type": ["string", "number", "boolean", "null"] },
            "name": { "anyOf": [
                { "type": "string", "minLength": 1 },
                { "type": "integer", "minimum": 0 },
            ]},
            "path": { "type": "string", "minLength": 1, "pattern": "\\S" },
            "rate": {
                "type": "string",
                "pattern": "^([1-9][0-9]{0,4}|100000)\\s*/\\s*(s|sec|min|h|hour|day)$",
            },
        },
    })
}

/// Holds for a file that has one of the keys with a value that is no contract: a tool may
/// be called `audit`.
fn one_of_keys(keys: &[&str]) -> Value {
    let has = |key: &&str| {
        json!({
            "required": [key],
            "properties": { *key: { "not": { "$ref": "#/definitions/looksLikeContract" } } },
        })
    };
    json!({ "anyOf": keys.iter().map(has).collect::<Vec<_>>() })
}

/// A mapping with these keys and no others.
fn closed(keys: &[&str], of: impl Fn(&str) -> Option<Value>, required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), of(key).unwrap_or(Value::Bool(true))))
        .collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let (Some(object), false) = (schema.as_object_mut(), required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    schema
}

/// A rule is about tools, or about resources or prompts.
fn about_one(mut schema: Value) -> Value {
    let keys = ["tool", "resource", "prompt"].map(|key| json!({ "required": [key] }));
    if let Some(object) = schema.as_object_mut() {
        object.insert("oneOf".to_owned(), json!(keys));
    }
    schema
}

fn at_least_one(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert("minProperties".to_owned(), json!(1));
    }
    schema
}

/// The schema with a description.
fn says(description: &str, mut schema: Value) -> Option<Value> {
    let object = schema.as_object_mut()?;
    object.insert("description".to_owned(), json!(description));
    Some(schema)
}

/// A reference with a description, which draft 7 wants beside, not in, the reference.
fn refers(description: &str, name: &str) -> Option<Value> {
    let target = format!("#/definitions/{name}");
    says(description, json!({ "allOf": [{ "$ref": target }] }))
}

fn list_of(name: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": format!("#/definitions/{name}") } })
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn pairs() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "string" } })
}

fn native_key(key: &str) -> Option<Value> {
    let names: Vec<&str> = packs::all().iter().map(|pack| pack.name).collect();
    match key {
        "version" => says("The language's version.", json!({ "const": 1 })),
        "packs" => says(
            "Which built-in packs stand below this policy; all, if the key is left out.",
            json!({ "type": "array", "items": { "enum": names } }),
        ),
        "heuristics" => says(
            "Whether tools that no contract names are judged by their names and schemas.",
            json!({ "type": "boolean" }),
        ),
        "hide_denied" => says(
            "Whether tools of which every call is denied are left out of the lists that agents see.",
            json!({ "type": "boolean" }),
        ),
        "provenance_limit" => says(
            "How much a conversation remembers of what it reads, in MiB, to tell where a destination came from.",
            json!({ "type": "integer", "minimum": 1, "maximum": 65535 }),
        ),
        "me" => says(
            "The account's own addresses, which forms are filled with.",
            texts(),
        ),
        "lists" => says(
            "Values to refer to as `@name`.",
            json!({
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$" },
                "additionalProperties": list_of("scalar"),
            }),
        ),
        "tools" => says(
            "What single tools may do, by `<tool>` or `<server>__<tool>`.",
            json!({
                "type": "object",
                "propertyNames": { "minLength": 1, "pattern": "^[^*]*$" },
                "additionalProperties": { "$ref": "#/definitions/contract" },
            }),
        ),
        "rules" => says(
            "Rules in order; the first that matches decides.",
            list_of("nativeRule"),
        ),
        "assert" => says(
            "What `bouncer verify` has to prove, e.g. `never allow tool \"pay\" when args.amount > 1000`.",
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        ),
        _ => rules_key(key),
    }
}

fn rules_key(key: &str) -> Option<Value> {
    match key {
        "rules" => says(
            "Rules in order; the first that matches decides.",
            list_of("rule"),
        ),
        "defaults" => says(
            "Verdicts for calls that no rule matches.",
            closed(DEFAULT_KEYS, default_key, &[]),
        ),
        "servers" => says(
            "Servers that a gateway starts or connects to.",
            json!({ "type": "object", "additionalProperties": { "$ref": "#/definitions/server" } }),
        ),
        "audit" => says(
            "Where the audit log is written.",
            closed(
                AUDIT_KEYS,
                |_| says("A file.", json!({ "type": "string", "minLength": 1 })),
                &[],
            ),
        ),
        "approval" => says(
            "border-patrol's settings: checked, and without effect.",
            closed(APPROVAL_KEYS, approval_key, &[]),
        ),
        _ => None,
    }
}

fn default_key(key: &str) -> Option<Value> {
    match key {
        "onDestructiveHint" => refers(
            "For tools that call themselves destructive; `ask` if the key is left out.",
            "verdict",
        ),
        "onUnknown" => refers(
            "For other tools; `allow` if the key is left out.",
            "verdict",
        ),
        "resources" => refers(
            "For reading resources, where no rule decides; `allow` if the key is left out.",
            "verdict",
        ),
        "prompts" => refers(
            "For getting prompts, where no rule decides; `allow` if the key is left out.",
            "verdict",
        ),
        "sampling" => refers(
            "For what servers ask of the client's model, and of its human; `allow` if the key is left out.",
            "verdict",
        ),
        "elicitation" => refers(
            "For what servers ask of the client's human; as `sampling` if the key is left out.",
            "verdict",
        ),
        "onEffect" => says(
            "By effect: verdicts for calls before anything untrusted was read; `ask` for run, grant, pay and destroy if left out, else `allow`.",
            by_effect(),
        ),
        "afterUntrusted" => says(
            "By effect: verdicts for calls after untrusted text was read, where nobody vouches for the target; `ask` if left out.",
            by_effect(),
        ),
        _ => None,
    }
}

/// One verdict for all effects, or a mapping of effects to verdicts.
fn by_effect() -> Value {
    let verdict = json!({ "$ref": "#/definitions/verdict" });
    let effects = Effect::ALL.map(|effect| (effect.name().to_owned(), verdict.clone()));
    let effects: Map<String, Value> = effects.into_iter().collect();
    json!({ "anyOf": [
        verdict,
        { "type": "object", "additionalProperties": false, "properties": effects },
    ]})
}

fn approval_key(key: &str) -> Option<Value> {
    match key {
        "path" => says("A file.", json!({ "type": "string", "minLength": 1 })),
        "timeoutSeconds" | "pollIntervalMs" => says(
            "A time.",
            json!({ "type": "number", "exclusiveMinimum": 0 }),
        ),
        _ => None,
    }
}

fn server_key(key: &str) -> Option<Value> {
    match key {
        "command" => says(
            "The program to start.",
            json!({ "type": "string", "minLength": 1 }),
        ),
        "args" => says("Its arguments.", texts()),
        "env" => says("Extra environment; `${VAR}` stays as it is.", pairs()),
        "cwd" => says(
            "The working directory.",
            json!({ "type": "string", "minLength": 1 }),
        ),
        "url" => says(
            "The endpoint to connect to.",
            json!({ "type": "string", "pattern": "^([Hh][Tt][Tt][Pp][Ss]?://|\\$\\{)" }),
        ),
        "headers" => says("Extra headers.", pairs()),
        _ => None,
    }
}

fn contract_key(key: &str) -> Option<Value> {
    let label = json!({ "$ref": "#/definitions/label" });
    match key {
        "exfiltrating" => says(
            "The tool can send data out: the sink gate applies.",
            json!({ "type": "boolean" }),
        ),
        "sink_params" => says(
            "The arguments that say where data goes; without any, every argument counts.",
            list_of("name"),
        ),
        "trusted_destinations" => says(
            "Destinations that may always be sent to: `a@corp.com`, `*@corp.com`, `*.corp.com`, in a native policy also `@list`.",
            list_of("name"),
        ),
        "write_params" => says(
            "Arguments that name files which are written.",
            list_of("name"),
        ),
        "allowed_path_prefixes" => says(
            "Where `write_params` may point.",
            json!({ "type": "array", "items": { "anyOf": [
                { "$ref": "#/definitions/path" }, { "type": "integer", "minimum": 0 },
            ]}}),
        ),
        "arg_patterns" => says(
            "Regular expressions that whole arguments have to match.",
            pairs(),
        ),
        "max_calls" => says(
            "Attempts in one conversation; 0 forbids the tool.",
            json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
        ),
        "optional_sinks" => says(
            "A call that names none of the declared sinks sends nothing out.",
            json!({ "type": "boolean" }),
        ),
        "confirm" => says("A human confirms every call.", json!({ "type": "boolean" })),
        "on_tainted" => says(
            "The verdict for a destination that stands in untrusted output.",
            json!({ "enum": ["deny", "ask"] }),
        ),
        "rate" => says(
            "Attempts in any window, e.g. `5/min`.",
            json!({ "anyOf": [
                { "$ref": "#/definitions/rate" },
                { "type": "array", "minItems": 1, "items": { "$ref": "#/definitions/rate" } },
            ]}),
        ),
        "resolve_symlinks" => says(
            "Follow symbolic links on this machine before paths are compared.",
            json!({ "type": "boolean" }),
        ),
        "base" => says(
            "The folder that the tool's relative paths start in.",
            json!({ "type": "string", "pattern": "^/" }),
        ),
        "outputs" => says(
            "How far the tool's results can be trusted.",
            json!({ "anyOf": [label, closed(OUTPUT_KEYS, output_key, &[])] }),
        ),
        "dispatches" => says(
            "The tool calls another, which these arguments name: that call is judged as well.",
            closed(
                DISPATCH_KEYS,
                |key| {
                    let what = match key {
                        "tool" => "The argument that holds the tool's name.",
                        _ => "The argument that holds its arguments.",
                    };
                    says(what, json!({ "type": "string", "minLength": 1 }))
                },
                DISPATCH_KEYS,
            ),
        ),
        "effects" => says(
            "All that the tool does, in place of what its name and a pack show.",
            json!({ "type": "array", "items": { "enum": Effect::ALL.map(Effect::name) } }),
        ),
        "extends" => says(
            "Merge with the pack's contract instead of replacing it.",
            json!({ "const": "pack" }),
        ),
        // Whatever it is, it has no effect.
        "checked" => says("A note: what this entry was compared with.", json!({})),
        _ => None,
    }
}

fn field_key(key: &str) -> Option<Value> {
    match key {
        "label" => refers("For this field; `untrusted` if left out.", "label"),
        "private" => says(
            "It should not go where it has not been.",
            json!({ "type": "boolean" }),
        ),
        _ => None,
    }
}

fn output_key(key: &str) -> Option<Value> {
    match key {
        "label" => refers("For everything that no field covers.", "label"),
        "private" => says(
            "What no field covers should not go where it has not been.",
            json!({ "type": "boolean" }),
        ),
        "text" => says(
            "What the text of a result is: JSON of the server's own making, or anything.",
            json!({ "enum": ["json", "prose"] }),
        ),
        "fields" => says(
            "Labels by field, e.g. `\"[*].email\": trusted`; the longest path wins.",
            json!({ "type": "object", "additionalProperties": { "anyOf": [
                { "$ref": "#/definitions/label" },
                closed(FIELD_KEYS, field_key, &[]),
            ]}}),
        ),
        _ => None,
    }
}

fn rule_key(key: &str, native: bool) -> Option<Value> {
    let glob = json!({ "type": "string", "minLength": 1 });
    let tests = if native { "nativeTests" } else { "tests" };
    match key {
        "tool" if native => says(
            "Which tools: a glob over `<server>__<tool>`, or a list of globs.",
            json!({ "anyOf": [glob, { "type": "array", "minItems": 1, "items": glob }] }),
        ),
        "tool" => says("Which tools: a glob over `<server>__<tool>`.", glob),
        "match" => says(
            "Tests by argument path; all have to hold.",
            json!({
                "type": "object",
                "additionalProperties": { "$ref": format!("#/definitions/{tests}") },
            }),
        ),
        "resource" if native => says(
            "In place of `tool`: which resources, a glob over URIs, or a list of globs.",
            json!({ "anyOf": [glob, { "type": "array", "minItems": 1, "items": glob }] }),
        ),
        "prompt" if native => says(
            "In place of `tool`: which prompts, a glob over `<server>__<prompt>`, or a list of globs.",
            json!({ "anyOf": [glob, { "type": "array", "minItems": 1, "items": glob }] }),
        ),
        "when" => says(
            "A condition, e.g. `args.amount > 1000 and not domain(args.to) == \"corp.com\"`.",
            json!({ "type": "string", "minLength": 1 }),
        ),
        "action" => refers("The verdict.", "verdict"),
        "reason" => says(
            "What the agent, the log and a human read.",
            json!({ "type": "string" }),
        ),
        _ => None,
    }
}

fn test_key(key: &str) -> Option<Value> {
    let text = json!({ "type": "string" });
    if let Some(part) = Part::named(key) {
        return says(part.says(), text);
    }
    match key {
        "regex" => says("The regular expression is found in the text.", text),
        "notRegex" => says("It is not found, or the argument is absent.", text),
        "equals" => refers("The value is this.", "scalar"),
        "in" => says(
            "The value is one of these; `*@…` and `*.…` are patterns, `@name` is a list.",
            json!({ "anyOf": [list_of("scalar"), { "type": "string", "pattern": "^@" }] }),
        ),
        "within" => says(
            "The path lies within one of these folders.",
            json!({ "anyOf": [
                { "$ref": "#/definitions/path" },
                { "type": "array", "minItems": 1, "items": { "$ref": "#/definitions/path" } },
            ]}),
        ),
        "exists" => says("Whether there is a value.", json!({ "type": "boolean" })),
        "type" => says(
            "The value has this JSON type.",
            json!({ "enum": ["string", "number", "integer", "bool", "null"] }),
        ),
        "gt" => says(
            "The number is greater than this.",
            json!({ "type": "number" }),
        ),
        "lt" => says("The number is less than this.", json!({ "type": "number" })),
        "ge" => says("The number is at least this.", json!({ "type": "number" })),
        "le" => says("The number is at most this.", json!({ "type": "number" })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key that the decoder knows has a schema of its own.
    #[test]
    fn no_key_is_left_open() {
        type Of = fn(&str) -> Option<Value>;
        let all: [(&[&str], Of); 11] = [
            (NATIVE_KEYS, native_key),
            (RULES_KEYS, rules_key),
            (CONTRACT_KEYS, contract_key),
            (NATIVE_RULE_KEYS, |key| rule_key(key, true)),
            (RULE_KEYS, |key| rule_key(key, false)),
            (NATIVE_TESTS, test_key),
            (TESTS, test_key),
            (SERVER_KEYS, server_key),
            (DEFAULT_KEYS, default_key),
            (APPROVAL_KEYS, approval_key),
            (OUTPUT_KEYS, output_key),
        ];
        for (keys, of) in all {
            for key in keys {
                let described = of(key).and_then(|schema| schema.get("description").cloned());
                assert!(described.is_some(), "{key}");
            }
        }
    }
}
