//! Which of the three dialects a file is written in, told by its top-level keys.

use super::node::{Node, Value};
use super::suggest::nearest;
use crate::diagnostic::quote;
use crate::policy::Part;

/// A policy dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A mapping of tools to contracts.
    Contracts,
    /// `servers`, `rules`, `defaults`.
    Rules,
    /// `version: 1`.
    Native,
}

impl Dialect {
    /// What such a file is called in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Contracts => "a contract file",
            Self::Rules => "a file of rules",
            Self::Native => "a native policy",
        }
    }

    /// The same, of the file at hand.
    pub(crate) const fn this(self) -> &'static str {
        match self {
            Self::Contracts => "this contract file",
            Self::Rules => "this file of rules",
            Self::Native => "this native policy",
        }
    }
}

/// Keys of a contract.
pub(crate) const CONTRACT_KEYS: &[&str] = &[
    "exfiltrating",
    "sink_params",
    "optional_sinks",
    "trusted_destinations",
    "write_params",
    "allowed_path_prefixes",
    "arg_patterns",
    "confirm",
    "max_calls",
    "on_tainted",
    "rate",
    "resolve_symlinks",
    "base",
    "outputs",
    "dispatches",
    "effects",
    "extends",
    "checked",
];
/// Top-level keys of a file of rules.
pub(crate) const RULES_KEYS: &[&str] = &["rules", "defaults", "servers", "audit", "approval"];
/// Top-level keys of a native policy.
pub(crate) const NATIVE_KEYS: &[&str] = &[
    "version",
    "packs",
    "heuristics",
    "lists",
    "tools",
    "rules",
    "defaults",
    "servers",
    "audit",
    "approval",
    "hide_denied",
    "provenance_limit",
    "me",
    "assert",
];
/// Keys of a rule.
pub(crate) const RULE_KEYS: &[&str] = &["tool", "match", "action", "reason"];
/// Keys of a rule in a native policy.
pub(crate) const NATIVE_RULE_KEYS: &[&str] = &[
    "tool", "resource", "prompt", "match", "when", "action", "reason",
];
/// Tests of a file of rules.
pub(crate) const TESTS: &[&str] = &["regex", "notRegex", "equals", "contains"];
/// Tests of a native policy.
pub(crate) const NATIVE_TESTS: &[&str] = &[
    "regex",
    "notRegex",
    "equals",
    Part::Anywhere.name(),
    "in",
    "within",
    Part::Start.name(),
    Part::End.name(),
    "exists",
    "type",
    "gt",
    "lt",
    "ge",
    "le",
];
/// Keys of `defaults`.
pub(crate) const DEFAULT_KEYS: &[&str] = &[
    "onDestructiveHint",
    "onUnknown",
    "onEffect",
    "afterUntrusted",
    "resources",
    "prompts",
    "sampling",
    "elicitation",
];
/// Keys of `audit`.
pub(crate) const AUDIT_KEYS: &[&str] = &["path"];
/// Keys of `approval`.
pub(crate) const APPROVAL_KEYS: &[&str] = &["path", "timeoutSeconds", "pollIntervalMs"];
/// Keys of a server.
pub(crate) const SERVER_KEYS: &[&str] = &["command", "args", "env", "cwd", "url", "headers"];
/// Keys of `dispatches`.
pub(crate) const DISPATCH_KEYS: &[&str] = &["tool", "arguments"];
/// Keys of `outputs`.
pub(crate) const OUTPUT_KEYS: &[&str] = &["label", "private", "text", "fields"];
/// Keys of a field of `outputs`.
pub(crate) const FIELD_KEYS: &[&str] = &["label", "private"];
/// Top-level keys that only a native policy has, besides `version`.
pub(crate) const NATIVE_ONLY: &[&str] = &[
    "packs",
    "heuristics",
    "lists",
    "tools",
    "hide_denied",
    "provenance_limit",
    "me",
    "assert",
];

/// How many keys of a value are looked at.
const MOST_KEYS: usize = 64;

/// The dialect of a file, and why, to be put into messages.
///
/// A key decides only where its value does not look like a contract: a tool may well
/// be called `audit`, and then the file is one of contracts.
pub(crate) fn detect(root: &Node) -> (Dialect, String) {
    let Some(entries) = root.as_map() else {
        return (Dialect::Contracts, String::new());
    };
    let because = |key: &str| format!("because of the key {}", quote(key));
    let others: Vec<(&str, &Node)> = entries
        .iter()
        .filter_map(|(key, value)| Some((key.as_text()?, value)))
        .filter(|(_, value)| !is_contract(value))
        .collect();
    let keys = || others.iter().copied();
    if let Some((key, _)) = keys().find(|(key, _)| *key == "version") {
        return (Dialect::Native, because(key));
    }
    if let Some((key, _)) = keys().find(|(key, _)| NATIVE_ONLY.contains(key)) {
        return (Dialect::Native, because(key));
    }
    if let Some((key, _)) = keys().find(|(key, _)| RULES_KEYS.contains(key)) {
        return (Dialect::Rules, because(key));
    }
    let near = |known: &'static [&'static str]| {
        keys().find(|(key, value)| nearest(key, known).is_some() && !is_broken_contract(value))
    };
    if let Some((key, _)) = near(&["version"]) {
        return (Dialect::Native, because(key));
    }
    if let Some((key, _)) = near(RULES_KEYS) {
        return (Dialect::Rules, because(key));
    }
    let because = "because none of its keys belongs to the other formats".to_owned();
    (Dialect::Contracts, because)
}

/// Whether a value has a key of a contract, or one close to it.
pub(crate) fn is_contract(value: &Node) -> bool {
    value.as_map().is_some_and(|entries| {
        let keys = || {
            entries
                .iter()
                .take(MOST_KEYS)
                .filter_map(|(key, _)| key.as_text())
        };
        // Looking for near misses costs more, and is hardly ever needed.
        keys().any(|key| key == "<<" || CONTRACT_KEYS.contains(&key))
            || keys().any(|key| nearest(key, CONTRACT_KEYS).is_some())
    })
}

/// Whether a value says too little to tell: nothing, or an empty mapping.
fn is_broken_contract(value: &Node) -> bool {
    match &value.value {
        Value::Map(entries) => entries.is_empty(),
        Value::Scalar(scalar) => scalar.text.is_empty(),
        Value::List(_) => false,
    }
}
