//! Which parts of a policy apply to which tools of a lock, as the runtime finds them.

use super::ListedTool;
use bouncer_compiler::policy::{
    Cond, Contract, Layer, Path, Policy, Rule, Subject, Test, ToolGlob,
};
use bouncer_plan::format::GlobKind;
use std::collections::HashMap;

/// A tool of the lock with what applies to it.
pub(super) struct Tool<'a> {
    pub server: Option<&'a str>,
    pub name: &'a str,
    pub definition: &'a bouncer_engine::tools::ToolDefinition,
    /// The name that rules match.
    pub full: String,
    pub contract: Option<&'a Contract>,
    /// Indices of the rules whose globs match, in order.
    pub rules: Vec<usize>,
}

/// All tools of a lock.
pub(super) fn tools<'a>(policy: &'a Policy, listed: &'a [ListedTool]) -> Vec<Tool<'a>> {
    let contracts: HashMap<(&str, Layer), &Contract> = policy
        .contracts
        .iter()
        .map(|contract| ((contract.key.as_str(), contract.layer), contract))
        .collect();
    let rules = policy.rules.as_ref().map_or(&[][..], |set| &set.rules);
    // Plain names are looked up; only patterns are tried one by one.
    let mut exact: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut patterns: Vec<(usize, &ToolGlob)> = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        for tool in &rule.tools {
            if is_plain(tool) {
                exact.entry(&tool.pattern).or_default().push(index);
            } else {
                patterns.push((index, tool));
            }
        }
    }
    listed
        .iter()
        .map(|(server, definition)| {
            let (server, name) = (server.as_deref(), definition.name.as_str());
            let full = server.map_or_else(|| name.to_owned(), |server| format!("{server}__{name}"));
            let mut rules = exact.get(full.as_str()).cloned().unwrap_or_default();
            rules.extend(
                patterns
                    .iter()
                    .filter(|(_, pattern)| matches(pattern, &full))
                    .map(|(index, _)| *index),
            );
            rules.sort_unstable();
            rules.dedup();
            let contract = [Layer::User, Layer::Pack].into_iter().find_map(|layer| {
                let of = |key: &str| contracts.get(&(key, layer)).copied();
                of(&full).or_else(|| of(name))
            });
            Tool {
                server,
                name,
                definition,
                full,
                contract,
                rules,
            }
        })
        .collect()
}

/// Whether the glob matches the name.
pub(super) fn matches(tool: &ToolGlob, full: &str) -> bool {
    tool.matches(full)
}

fn is_plain(tool: &ToolGlob) -> bool {
    tool.glob().0 == GlobKind::Exact
}

/// A name that the globs of a rule match, where it is plain to see: `(server, tool)`.
pub(super) fn some_tool(rule: &Rule) -> Option<(Option<String>, String)> {
    rule.tools.iter().find_map(|tool| {
        let name = tool.glob().1.replace("**", "*");
        let name = match name.as_str() {
            "*" => "tool".to_owned(),
            other => other.replace(['*', '?'], "x"),
        };
        if !matches(tool, &name) {
            return None;
        }
        Some(match name.split_once("__") {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                (Some(server.to_owned()), tool.to_owned())
            }
            _ => (None, name),
        })
    })
}

/// Calls `see` with every test of a condition, and whether it stands under an even number
/// of negations.
pub(super) fn each_test<'c>(cond: &'c Cond, see: &mut dyn FnMut(&'c Test, bool)) {
    fn walk<'c>(cond: &'c Cond, positive: bool, see: &mut dyn FnMut(&'c Test, bool)) {
        match cond {
            Cond::All(parts) | Cond::Any(parts) => {
                for part in parts {
                    walk(part, positive, see);
                }
            }
            Cond::Not(part) => walk(part, !positive, see),
            Cond::Test(test) => see(test, positive),
        }
    }
    walk(cond, true, see);
}

/// The argument path that a test looks at.
pub(super) fn tested(test: &Test) -> Option<&Path> {
    match &test.subject {
        Subject::Arg(path, _) | Subject::Count(path) | Subject::Provenance(path) => Some(path),
        Subject::Calls { .. } | Subject::Session => None,
    }
}
