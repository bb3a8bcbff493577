//! From the texts of policy files to one resolved [`Policy`]: reading, layering of
//! user files over packs, `extends`, and the warnings about what a layer drops.
//!
//! Knows nothing of YAML syntax or of the plan.

mod layers;
mod options;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Sink, SourceMap, Span, quote};
use crate::packs::{self, Builtin};
use crate::policy::{Fallback, Policy, RuleSet, Written, WrittenFile};
use crate::read::{self, File};
use bouncer_plan::Verdict;
use std::collections::HashMap;

/// A policy file that the user named.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name in messages, as the user wrote it.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What stands below the user's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Use the built-in packs (those that the files choose, or all).
    pub packs: bool,
    /// Use the heuristics, unless a file switches them off.
    pub heuristics: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            packs: true,
            heuristics: true,
        }
    }
}

/// What [`load`] gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// What its author should look at, with the sources that positions point into.
    pub warnings: Diagnostics,
}

/// Reads the files and layers them over the packs and heuristics.
///
/// # Errors
/// All mistakes of all files, and the warnings, sorted by file and place.
///
/// Takes time and memory linear in the texts, for any text: a file has at most 8 MiB.
pub fn load(inputs: &[Input<'_>], options: &Options) -> Result<Loaded, Diagnostics> {
    load_with(inputs, options, packs::all(), packs::heuristics())
}

/// As [`load`], with other packs.
pub(crate) fn load_with(
    inputs: &[Input<'_>],
    options: &Options,
    builtin: &[Builtin],
    heuristics: Option<Builtin>,
) -> Result<Loaded, Diagnostics> {
    let mut sources = SourceMap::default();
    let mut sink = Sink::default();
    for input in inputs {
        sources.add(input.name, input.text);
    }
    let mut files: Vec<File> = (0u32..)
        .zip(inputs)
        .map(|(index, _)| read::user_file(index, &sources, &mut sink))
        .collect();
    let chosen = if options.packs {
        options::packs(&files, builtin, &mut sink)
    } else {
        Vec::new()
    };
    let mut packs: Vec<read::Pack> = Vec::new();
    for pack in chosen {
        let index = sources.add(format!("pack:{}", pack.name), pack.text);
        packs.push(read::pack_file(index, &sources, &mut sink));
    }
    let wanted = options::heuristics(&files, &mut sink) && options.heuristics;
    let heuristics = heuristics.filter(|_| wanted).map(|file| {
        let index = sources.add(format!("pack:{}", file.name), file.text);
        read::heuristics_file(index, &sources, &mut sink)
    });
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
        rules: rules(&mut files, &sources, &mut sink),
        heuristics,
        servers: servers(&mut files, &mut sink),
        hide_denied: options::hide_denied(&files, &mut sink),
        provenance_limit: options::provenance_limit(&files, &mut sink),
        audit_path: options::audit(&files, &mut sink),
        approval_path,
        approval_timeout_ms,
        written: Some(Written {
            packs: options.packs,
            heuristics: options.heuristics,
            files: inputs
                .iter()
                .map(|input| WrittenFile {
                    name: input.name.to_owned(),
                    text: input.text.to_owned(),
                })
                .collect(),
        }),
        lists: files.into_iter().rev().flat_map(|f| f.lists).collect(),
    };
    let failed = sink.errors() > 0;
    let diagnostics = sink.finish(sources);
    if failed {
        return Err(diagnostics);
    }
    Ok(Loaded {
        policy,
        warnings: diagnostics,
    })
}

/// The built-in heuristics, whether or not a policy uses them.
#[must_use]
pub fn builtin_heuristics() -> Option<bouncer_engine::tools::Heuristics> {
    let file = packs::heuristics()?;
    let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
    let index = sources.add(file.name, file.text);
    Some(read::heuristics_file(index, &sources, &mut sink))
}

/// The rules of all files in order, and the defaults that they agree on.
fn rules(files: &mut [File], sources: &SourceMap, sink: &mut Sink) -> Option<RuleSet> {
    let opinion = files
        .iter()
        .any(|f| f.rules.is_some() || f.defaults.is_some());
    let mut default = |key: &str, built_in: Verdict, get: fn(&File) -> Option<(Verdict, Span)>| {
        let said = options::agreed(files.iter().filter_map(get), key, sink);
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
    let rules = files
        .iter_mut()
        .flat_map(|file| file.rules.take().unwrap_or_default())
        .collect();
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
