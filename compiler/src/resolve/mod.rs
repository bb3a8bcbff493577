//! From the texts of policy files to one resolved [`Policy`]: reading, layering of
//! user files over packs, `extends`, and the warnings about what a layer drops.
//!
//! Knows nothing of YAML syntax or of the plan.

mod doubts;
mod layers;
mod options;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Sink, SourceMap, Span, quote};
use crate::policy::{Fallback, Policy, Rule, RuleSet, Written};
use crate::read::{self, File, ReadFiles};
use bouncer_plan::Verdict;
use std::collections::HashMap;

/// What the names of policies begin with that come with the program.
const BUILT_IN: &str = "built-in:";

/// What [`load`](crate::load) gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// What its author should look at, with the sources that positions point into.
    pub warnings: Diagnostics,
}

/// Layers the files over the packs and heuristics.
///
/// # Errors
/// All mistakes of all files, and the warnings, sorted by file and place.
pub(crate) fn resolve(read: ReadFiles, written: Written) -> Result<Loaded, Diagnostics> {
    let ReadFiles {
        sources,
        mut sink,
        mut files,
        mut packs,
        heuristics,
    } = read;
    let assertions = |files: &mut Vec<File>, packs: &mut Vec<read::Pack>| {
        let of_files = files.iter_mut().map(|f| std::mem::take(&mut f.assertions));
        let mut all: Vec<_> = of_files.flatten().collect();
        let of_packs = packs.iter_mut().map(|p| std::mem::take(&mut p.assertions));
        all.extend(of_packs.flatten());
        all
    };
    let assertions = assertions(&mut files, &mut packs);
    let (contracts, replaced) = layers::contracts(&mut files, packs, &mut sink);
    let (approval_path, approval_timeout_ms) = options::approval(&files, &mut sink);
    let policy = Policy {
        assertions,
        files: sources.files().iter().map(|f| f.name.clone()).collect(),
        contracts,
        replaced,
        built_in: sources
            .files()
            .first()
            .is_some_and(|file| file.name.starts_with(BUILT_IN)),
        effects: options::effects(&files, &mut sink),
        said_of_requests: options::said_of_requests(&files),
        rules: rules(&mut files, &sources, &mut sink),
        heuristics,
        servers: servers(&mut files, &mut sink),
        hide_denied: options::hide_denied(&files, &mut sink),
        provenance_limit: options::provenance_limit(&files, &mut sink),
        audit_path: options::audit(&files, &mut sink),
        approval_path,
        approval_timeout_ms,
        written: Some(written),
        lists: files.into_iter().rev().flat_map(|f| f.lists).collect(),
    };
    let failed = sink.errors() > 0;
    if !failed {
        doubts::check(&policy, &sources, &mut sink);
    }
    let diagnostics = sink.finish(sources);
    if failed {
        return Err(diagnostics);
    }
    Ok(Loaded {
        policy,
        warnings: diagnostics,
    })
}

/// The rules of all files in order, and the defaults that they agree on.
fn rules(files: &mut [File], sources: &SourceMap, sink: &mut Sink) -> Option<RuleSet> {
    let opinion = files
        .iter()
        .any(|f| f.rules.is_some() || f.defaults.is_some());
    let mut default = |key: &str, built_in: Verdict, get: fn(&File) -> Option<(Verdict, Span)>| {
        let said = read::agreed(files.iter().filter_map(get), key, sink);
        said.map_or(
            Fallback {
                action: built_in,
                at: None,
            },
            |(action, span)| Fallback {
                action,
                at: Some(sources.pos(span)),
            },
        )
    };
    let on_destructive_hint = default("onDestructiveHint", Verdict::Ask, |f| {
        f.defaults.as_ref()?.on_destructive_hint
    });
    let on_unknown = default("onUnknown", Verdict::Allow, |f| {
        f.defaults.as_ref()?.on_unknown
    });
    let mut rules: Vec<Rule> = files
        .iter_mut()
        .flat_map(|file| file.rules.take().unwrap_or_default())
        .collect();
    rules.extend(options::request_rules(files, sources, sink));
    opinion.then_some(RuleSet {
        rules,
        on_destructive_hint,
        on_unknown,
    })
}

/// The servers of all files, sorted by name. One name in two files is a mistake.
fn servers(files: &mut [File], sink: &mut Sink) -> Vec<crate::policy::Server> {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut out = Vec::new();
    for (server, span) in files
        .iter_mut()
        .flat_map(|f| std::mem::take(&mut f.servers))
    {
        if let Some(first) = seen.insert(server.name.clone(), span) {
            let message = format!("the server {} stands in two files", quote(&server.name));
            sink.push(
                Diagnostic::new(Code::SERVER_TWICE, span, message)
                    .here("and again here")
                    .also(first, "first here")
                    .help("keep it in one file"),
            );
        }
        out.push(server);
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}
